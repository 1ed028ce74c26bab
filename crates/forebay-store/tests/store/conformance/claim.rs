//! Handing jobs out: ownership and capacity in one step.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use forebay_core::event::EventType;
use forebay_core::failure::FailureClass;
use forebay_core::job::State;
use forebay_core::money::Micros;
use forebay_core::time::Millis;
use forebay_store::record::{Bytes, Claim, NewJob, NewStep, TenantSettings};

use crate::bundle::{Bundle, LEASE};

/// I11.
pub async fn a_claim_raises_fence_and_attempts_together(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    assert_eq!((claimed.job_id, claimed.tenant, claimed.fence), (job, b.alpha, 1));
    let record = b.job(job).await;
    assert_eq!((record.job.state, record.job.fence, record.job.attempts), (State::Running, 1, 1));
    assert_eq!(record.job.lease_until, Some(b.now().after(LEASE)));
    assert_eq!(b.story(job).await, [EventType::Accepted, EventType::Claimed]);
}

/// I14: a persisted attempt before anything outside is called.
pub async fn the_attempt_is_written_before_the_claim_returns(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    let attempt = b.attempts(job).await.remove(0);
    assert_eq!((attempt.id, attempt.fence, attempt.number), (claimed.attempt_id, 1, 1));
    assert_eq!((&attempt.worker[..], &attempt.build[..]), ("worker-1", "test"));
    assert_eq!((&attempt.pool[..], &attempt.model[..]), ("main", "small"));
    assert_eq!((attempt.claimed_at, attempt.ended_at, attempt.outcome), (b.now(), None, None));
    assert_eq!((attempt.reserved_tokens, attempt.reserved), (150, Micros(200)));
    assert_eq!(claimed.reserved.micros, Micros(200));
    assert_eq!(b.tenant(b.alpha).await.account.reserved, Micros(200));
    assert_eq!((b.tenant(b.alpha).await.in_flight, b.in_flight().await), (1, 1));
}

pub async fn never_more_than_slots(b: &Bundle) {
    b.accept_of(b.alpha, 5).await;
    assert_eq!(b.claim(0).await, []);
    assert_eq!(b.claim(3).await.len(), 3);
    assert_eq!(b.claim(3).await.len(), 2);
}

pub async fn nothing_due_is_nothing_claimed(b: &Bundle) {
    let reply = b.take(b.new_claim()).await;
    assert_eq!((reply.claimed, reply.full, reply.next), (vec![], None, None));
}

/// I11 under concurrency.
pub async fn no_job_is_claimed_twice(b: &Bundle) {
    let accepted = b.accept_together((0..500).map(|_| b.new_job()).collect()).await;
    assert!(accepted.iter().all(Result::is_ok));
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..16 {
        let (store, claim) = (b.store(), Claim { slots: 7, worker: format!("w{worker}"), ..b.new_claim() });
        workers.spawn(async move {
            let mut mine = Vec::new();
            loop {
                let claimed = store.claim(claim.clone()).await.unwrap().claimed;
                if claimed.is_empty() {
                    return mine;
                }
                assert!(claimed.len() <= 7);
                mine.extend(claimed);
            }
        });
    }
    let all: Vec<_> = workers.join_all().await.into_iter().flatten().collect();
    assert_eq!(all.len(), 500);
    assert_eq!(all.iter().map(|claimed| claimed.job_id).collect::<HashSet<_>>().len(), 500);
    assert_eq!(all.iter().map(|claimed| claimed.attempt_id).collect::<HashSet<_>>().len(), 500);
}

pub async fn only_jobs_of_the_pool(b: &Bundle) {
    let elsewhere = NewStep { pool: "other".to_owned(), ..b.new_step() };
    let job = b.accept(NewJob { first_step: elsewhere, ..b.new_job() }).await;
    assert_eq!(b.claim(1).await, []);
    let claimed = b.take(Claim { pool: "other".to_owned(), ..b.new_claim() }).await.claimed;
    assert_eq!(claimed[0].job_id, job);
}

pub async fn a_worker_reads_what_it_needs(b: &Bundle) {
    let jobs = b.accept_of(b.alpha, 2).await;
    b.claim(2).await;
    let work = b.store().work(vec![jobs[1], jobs[0]]).await.unwrap();
    assert_eq!(
        work.iter().map(|work| work.job_id).collect::<Vec<_>>(),
        [jobs[1], jobs[0]],
        "in the order asked"
    );
    let work = &work[0];
    assert_eq!((work.tenant, &work.task[..], work.revision), (b.alpha, "chat", 1));
    assert_eq!((work.generation, work.step, &work.step_kind[..]), (1, 1, "call"));
    assert_eq!((&work.model[..], work.output_tokens), ("small", 50));
    assert_eq!((&work.input, &work.journal[..]), (&Bytes::Inline(br#"{"messages":[]}"#.to_vec()), &[][..]));
    assert_eq!(work.deadline, b.job(jobs[1]).await.job.deadline);
}

/// I29 without the help of maintenance.
pub async fn late_jobs_at_the_head_are_expired_and_not_claimed(b: &Bundle) {
    let soon = b.now().after(Millis::from_secs(10));
    let mut late = Vec::new();
    for _ in 0..3 {
        late.push(b.accept(NewJob { deadline: soon, ..b.new_job() }).await);
    }
    let in_time = b.accept_one().await;
    b.wait_secs(10);
    assert_eq!(b.claim_ids(1).await, [in_time]);
    for job in late {
        let record = b.job(job).await.job;
        assert_eq!((record.state, record.attempts), (State::FailedTerminal, 0));
        assert_eq!(record.failure.unwrap().class, FailureClass::Deadline);
        assert_eq!(b.story(job).await, [EventType::Accepted, EventType::Failed]);
    }
}

/// A claim does not make all others wait until a backlog of late jobs is gone; it says to come again at once.
pub async fn many_late_jobs_are_ended_by_several_claims(b: &Bundle) {
    let deadline = b.now().after(Millis::from_secs(10));
    let late = (0..1_500).map(|_| NewJob { deadline, ..b.new_job() });
    assert!(b.accept_together(late.collect()).await.iter().all(Result::is_ok));
    let in_time = b.accept_one().await;
    b.wait_secs(10);
    let mut looks = 0;
    let claimed = loop {
        let reply = b.take(b.new_claim()).await;
        looks += 1;
        if let Some(claimed) = reply.claimed.first() {
            break claimed.job_id;
        }
        assert!(reply.next.is_some_and(|next| next <= b.now()), "there is more to look at");
    };
    assert_eq!(claimed, in_time);
    assert!(looks > 1);
    assert_eq!(b.count(b.alpha, State::FailedTerminal).await, 1_500);
}

pub async fn a_model_without_a_price_is_not_claimed(b: &Bundle) {
    let job = b.accept_one().await;
    let unpriced = Claim { prices: BTreeMap::new(), ..b.new_claim() };
    let reply = b.take(unpriced).await;
    let revision = b.job(job).await.revision;
    assert_eq!((reply.claimed, reply.unpriced), (vec![], [("small".to_owned(), revision)].into()));
    assert_eq!(b.claim_ids(1).await, [job]);
}

pub async fn the_reply_says_when_to_look_again(b: &Bundle) {
    let at = |secs| b.now().after(Millis::from_secs(secs));
    b.accept(NewJob { not_before: Some(at(90)), ..b.new_job() }).await;
    b.accept(NewJob { not_before: Some(at(60)), ..b.new_job() }).await;
    assert_eq!(b.take(b.new_claim()).await.next, Some(at(60)));
}

/// I10: the hint only saves time, but it is there when it is wanted.
pub async fn whoever_waits_for_a_pool_is_told(b: &Bundle) {
    let signal = b.store().pool_signal("main");
    b.accept_one().await;
    told(&signal).await;
    let claimed = b.claim_one().await;
    b.step_on(&claimed, b.new_step()).await;
    told(&signal).await;
    // What a call in flight stood in the way of.
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    told(&signal).await;
    // What a tenant's limit stood in the way of.
    b.allow(b.beta, TenantSettings { max_in_flight: Some(3), ..TenantSettings::default() }).await;
    told(&signal).await;
    // What time alone stood in the way of, whichever pool's claim is the first to find that out.
    let elsewhere = b.store().pool_signal("other");
    let first_step = NewStep { pool: "other".to_owned(), ..b.new_step() };
    let later = b.now().after(Millis::from_secs(60));
    b.accept(NewJob { not_before: Some(later), first_step, ..b.new_job() }).await;
    b.wait_secs(60);
    assert_eq!(b.claim_ids(1).await, []);
    told(&elsewhere).await;
}

pub async fn a_read_that_fails_leaves_the_next_alone(b: &Bundle) {
    let job = b.accept_one().await;
    for _ in 0..20 {
        assert!(b.store().work(vec![job, b.store().new_job_id()]).await.is_err());
    }
    assert_eq!(b.store().work(vec![job]).await.unwrap().len(), 1);
}

async fn told(signal: &Arc<tokio::sync::Notify>) {
    let waited = tokio::time::timeout(std::time::Duration::from_secs(10), signal.notified()).await;
    assert!(waited.is_ok(), "nobody was told");
}
