//! What successful jobs were about: a second one that says the same is noticed, at the commit at the latest.

use forebay_core::digest::Digest;
use forebay_core::event::EventType;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_store::record::{Claimed, Committed, NewJob, Then};
use tokio::task::JoinSet;

use crate::bundle::{Bundle, LEASE, review, succeed_about, succeeded, used};

fn invoice() -> Digest {
    Digest::of(b"Coolblue, 993548900, 717.97 EUR")
}

fn success() -> Then {
    succeed_about(Some(invoice()))
}

async fn commit(b: &Bundle, claimed: &Claimed, then: Then) -> Committed {
    b.commit(claimed, succeeded(used(1, 1)), then).await
}

async fn holder(b: &Bundle, tenant: i64, task: &str) -> Option<JobId> {
    b.store().fingerprint_holder(tenant, task, invoice()).await.unwrap()
}

async fn claimed(b: &Bundle, job: NewJob) -> Claimed {
    b.accept(job).await;
    b.claim_one().await
}

pub async fn a_second_success_about_the_same_is_refused_and_may_be_committed_otherwise(b: &Bundle) {
    let first = claimed(b, b.new_job()).await;
    assert_eq!(holder(b, b.alpha, "chat").await, None);
    assert!(matches!(commit(b, &first, success()).await, Committed::Done { state: State::Succeeded, .. }));
    b.restart().await;
    assert_eq!(holder(b, b.alpha, "chat").await, Some(first.job_id));
    let second = claimed(b, b.new_job()).await;
    let duplicate = Committed::Duplicate { of: first.job_id };
    assert_eq!(commit(b, &second, success()).await, duplicate);
    assert_eq!(commit(b, &second, success()).await, duplicate, "nothing was written: the answer is the same");
    let job = b.job(second.job_id).await;
    assert_eq!((job.job.state, job.usage), (State::Running, Default::default()));
    assert_eq!(b.attempts(second.job_id).await[0].outcome, None);
    assert_eq!(b.store().result(b.alpha, second.job_id).await.unwrap(), None);
    assert_eq!(b.commit_own(&second, succeeded(used(1, 1)), review()).await, State::ReviewRequired);
    assert_eq!(
        b.story(second.job_id).await,
        [EventType::Accepted, EventType::Claimed, EventType::ReviewRequired]
    );
    assert_eq!(holder(b, b.alpha, "chat").await, Some(first.job_id), "whoever came first keeps it");
}

pub async fn of_many_at_once_one_succeeds(b: &Bundle) {
    b.accept_of(b.alpha, 8).await;
    let mut commits = JoinSet::new();
    for claimed in b.claim(8).await {
        let (store, commit) = (b.store(), b.new_commit(&claimed, succeeded(used(1, 1)), success()));
        commits.spawn(async move { (claimed, store.commit_step(commit).await.unwrap()) });
    }
    let outcomes = commits.join_all().await;
    let (done, rest): (Vec<_>, Vec<_>) =
        outcomes.iter().partition(|(_, committed)| matches!(committed, Committed::Done { .. }));
    assert_eq!((done.len(), rest.len()), (1, 7));
    for (claimed, committed) in rest {
        assert_eq!(*committed, Committed::Duplicate { of: done[0].0.job_id });
        b.commit_own(claimed, succeeded(used(1, 1)), review()).await;
    }
}

pub async fn fingerprints_belong_to_a_tenant_and_a_task(b: &Bundle) {
    let other_task = NewJob { task: "receipts".to_owned(), ..b.new_job() };
    for job in [b.new_job(), b.new_job_of(b.beta), other_task] {
        let (tenant, task) = (job.tenant, job.task.clone());
        let claimed = claimed(b, job).await;
        assert!(matches!(commit(b, &claimed, success()).await, Committed::Done { .. }));
        assert_eq!(holder(b, tenant, &task).await, Some(claimed.job_id));
    }
    let about_something_else = claimed(b, b.new_job()).await;
    let other = succeed_about(Some(Digest::of(b"Coolblue, 993548901")));
    assert!(matches!(commit(b, &about_something_else, other).await, Committed::Done { .. }));
    let about_nothing = claimed(b, b.new_job()).await;
    assert!(matches!(commit(b, &about_nothing, succeed_about(None)).await, Committed::Done { .. }));
}

/// I12: also for what a job is about.
pub async fn who_is_not_the_owner_takes_nothing(b: &Bundle) {
    let late = claimed(b, b.new_job()).await;
    b.wait(LEASE);
    b.rescue(late.job_id).await.unwrap();
    assert_eq!(commit(b, &late, success()).await, Committed::Lost);
    assert_eq!(holder(b, b.alpha, "chat").await, None);
}
