//! Reviews that nobody decides in time (I29).

use forebay_core::digest::Digest;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::review::ReviewDefault;
use forebay_core::time::Millis;
use forebay_store::record::{Actor, AuditAction, AuditQuery, NewDecision, NewReview, ReviewRefused, Verdict};

use super::decisions::decided;
use super::reviews::{actions, ask_a_person, hold, in_review, in_review_as, of, reviewer};
use crate::bundle::{Bundle, REVIEW_DUE, review, review_with};

async fn due(b: &Bundle) -> Vec<JobId> {
    b.store().due_reviews(9).await.unwrap().into_iter().map(|review| review.job_id).collect()
}

async fn with_default(b: &Bundle, due_default: ReviewDefault) -> JobId {
    in_review_as(b, b.new_job(), review_with(|review| NewReview { due_default, ..review })).await
}

fn by_program(b: &Bundle, job: JobId, verdict: Verdict) -> NewDecision {
    let comment = Some("nobody decided".to_owned());
    NewDecision {
        tenant: b.alpha,
        job_id: job,
        seen: 3,
        verdict,
        comment,
        fingerprint: None,
        digest: Digest::of(b"due"),
        by: Actor::program(),
    }
}

pub async fn a_review_that_is_due_is_noted_once(b: &Bundle) {
    let job = in_review(b).await;
    b.wait(Millis::new(REVIEW_DUE.get() - 1));
    assert_eq!((due(b).await, b.store().count_overdue_reviews().await.unwrap()), (vec![], 0));
    assert!(!b.store().alert_review(job, 1).await.unwrap(), "not before");
    b.wait(Millis::new(1));
    assert_eq!((due(b).await, b.store().count_overdue_reviews().await.unwrap()), (vec![job], 1));
    let found = b.store().due_reviews(9).await.unwrap().remove(0);
    assert_eq!((found.tenant, found.generation, found.state_version), (b.alpha, 1, 3));
    assert_eq!((found.due_default, found.has_output), (ReviewDefault::None, true));
    assert!(b.store().alert_review(job, 1).await.unwrap());
    assert!(!b.store().alert_review(job, 1).await.unwrap(), "once");
    assert_eq!(of(b, job).await.entry.alerted_at, Some(b.now()));
    assert_eq!(actions(b, job).await, [AuditAction::ReviewOverdue]);
    assert_eq!(due(b).await, [], "whoever was told is not told again");
    assert_eq!(b.store().count_overdue_reviews().await.unwrap(), 1, "overdue it stays");
    assert_eq!(b.state(job).await, State::ReviewRequired);
}

pub async fn a_default_decision_waits_for_whoever_holds_the_review(b: &Bundle) {
    let job = with_default(b, ReviewDefault::Reject).await;
    let alerting = in_review(b).await;
    for job in [job, alerting] {
        hold(b, job, 3_660, "anna").await.unwrap();
    }
    b.wait(REVIEW_DUE);
    assert_eq!(due(b).await, [alerting], "an alert does not wait");
    let refused = b.store().decide_review(by_program(b, job, Verdict::Reject)).await.unwrap().unwrap_err();
    assert!(matches!(refused, ReviewRefused::Held(_)));
    b.wait_secs(60);
    assert_eq!(due(b).await, [job, alerting]);
}

pub async fn the_program_decides_as_anybody_does(b: &Bundle) {
    let approved = with_default(b, ReviewDefault::Approve).await;
    let rejected = with_default(b, ReviewDefault::Reject).await;
    b.wait(REVIEW_DUE);
    for (job, verdict, state) in
        [(approved, Verdict::Approve, State::Succeeded), (rejected, Verdict::Reject, State::FailedTerminal)]
    {
        let decided = b.store().decide_review(by_program(b, job, verdict.clone())).await.unwrap().unwrap();
        assert_eq!(decided.job.job.state, state);
        let record = decided.review.decided.unwrap();
        assert_eq!((record.by, record.name.as_deref()), (None, Some("forebay")));
        let again = b.store().decide_review(by_program(b, job, verdict)).await.unwrap().unwrap();
        assert!(again.replayed, "a pass that was cut short is made again");
    }
    let query = AuditQuery { tenant: Some(b.alpha), limit: 9, ..AuditQuery::default() };
    let records = b.store().audit(query).await.unwrap().records;
    assert!(
        records.iter().filter(|record| record.subject.starts_with("job_")).all(|r| r.actor.key.is_none())
    );
    let result = b.store().result(b.alpha, approved).await.unwrap().unwrap();
    let provenance: serde_json::Value = serde_json::from_slice(&result.provenance).unwrap();
    assert_eq!(provenance["review"]["decided_by_name"], "forebay");
    assert_eq!(provenance["review"].get("decided_by"), None);
}

pub async fn what_is_decided_is_not_due(b: &Bundle) {
    let job = in_review(b).await;
    b.wait(REVIEW_DUE);
    let decision = NewDecision { by: reviewer("anna"), ..by_program(b, job, Verdict::Approve) };
    b.store().decide_review(decision).await.unwrap().unwrap();
    assert_eq!((due(b).await, b.store().count_overdue_reviews().await.unwrap()), (vec![], 0));
    assert!(!b.store().alert_review(job, 1).await.unwrap());
    assert_eq!(actions(b, job).await, [AuditAction::ReviewApprove]);
}

/// Whoever has seen that a review is due and then stood still, while it was decided and the job came back with another one.
pub async fn what_was_seen_of_an_earlier_review_is_not_said_of_the_next(b: &Bundle) {
    let job = with_default(b, ReviewDefault::Approve).await;
    b.wait(REVIEW_DUE);
    let seen = b.store().due_reviews(9).await.unwrap().remove(0);
    let deadline = b.now().after(Millis::from_secs(900));
    decided(b, job, Verdict::Rerun { step: b.new_step(), deadline }).await;
    let late = || NewDecision { seen: seen.state_version, ..by_program(b, job, Verdict::Approve) };
    assert!(b.store().decide_review(late()).await.unwrap().is_err(), "the job is at work again");
    let claimed = b.claim_one().await;
    ask_a_person(b, &claimed, review()).await;
    let before = (b.job(job).await, of(b, job).await);
    assert!(!b.store().alert_review(job, seen.generation).await.unwrap());
    let refused = b.store().decide_review(late()).await.unwrap().unwrap_err();
    assert!(matches!(refused, ReviewRefused::Rules(_)), "{refused:?}");
    assert_eq!((b.job(job).await, of(b, job).await), before);
}
