//! Ending a job by request (I13).

use forebay_core::attempt::Outcome;
use forebay_core::event::EventType;
use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::review::Decision;
use forebay_store::record::{Actor, Cancelled, Held, JobRecord, ReviewQuery};

use crate::bundle::{Bundle, LEASE, review, succeed, succeeded, used};

async fn cancelled(b: &Bundle, job: JobId) -> JobRecord {
    match b.store().cancel(b.alpha, job, Actor::program()).await.unwrap() {
        Some(Cancelled::Done(record)) => *record,
        other => panic!("{other:?}"),
    }
}

pub async fn a_waiting_job_is_cancelled(b: &Bundle) {
    let job = b.accept_one().await;
    let record = cancelled(b, job).await;
    assert_eq!((record.job.state, record.finished_at), (State::Cancelled, Some(b.now())));
    assert_eq!(record.job.failure.unwrap().class, FailureClass::Cancelled);
    assert_eq!(b.story(job).await, [EventType::Accepted, EventType::Cancelled]);
    assert_eq!(b.tenant(b.alpha).await.pending_jobs, 0);
    assert_eq!(b.claim(1).await, []);
}

pub async fn a_running_job_is_taken_from_its_worker(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    let record = cancelled(b, job).await;
    assert_eq!(record.job.fence, claimed.fence + 1);
    let held = Held { job_id: job, attempt_id: claimed.attempt_id, fence: claimed.fence };
    assert!(!b.store().extend(vec![held], LEASE).await.unwrap()[0].kept, "its worker learns of it");
    let attempt = b.attempts(job).await.remove(0);
    assert_eq!(
        (attempt.outcome, attempt.failure_class),
        (Some(Outcome::Unknown), Some(FailureClass::Cancelled))
    );
}

pub async fn a_review_is_closed_by_it(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    b.commit_own(&claimed, succeeded(used(1, 1)), review()).await;
    cancelled(b, job).await;
    assert_eq!(
        b.store().reviews(b.alpha, ReviewQuery { limit: 9, ..ReviewQuery::default() }).await.unwrap().reviews,
        []
    );
    let decided = b.store().review(b.alpha, job).await.unwrap().unwrap().decided.unwrap();
    assert_eq!((decided.decision, decided.at, decided.seq), (Decision::Cancelled, b.now(), None));
}

pub async fn twice_is_once(b: &Bundle) {
    let job = b.accept_one().await;
    let first = cancelled(b, job).await;
    b.wait_secs(1);
    assert_eq!(cancelled(b, job).await, first);
}

pub async fn a_job_that_has_ended_stays_as_it_is(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    let ended = b.job(job).await;
    let answer = b.store().cancel(b.alpha, job, Actor::program()).await.unwrap();
    assert!(matches!(answer, Some(Cancelled::EndedOtherwise(record)) if *record == ended));
    assert_eq!(b.job(job).await, ended);
}

pub async fn its_permit_comes_back_once(b: &Bundle) {
    b.accept_of(b.alpha, 2).await;
    let claimed = b.claim(2).await;
    cancelled(b, claimed[0].job_id).await;
    assert_eq!(b.in_flight().await, 2);
    b.commit(&claimed[0], succeeded(used(1, 1)), succeed()).await;
    assert_eq!(b.in_flight().await, 1, "the worker reported");
    b.wait(LEASE);
    assert_eq!(b.store().sweep_grants(9).await.unwrap(), 0);
    assert_eq!(b.in_flight().await, 1);
}
