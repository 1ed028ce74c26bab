//! Deciding reviews: once, by one person, whole or not at all.

use forebay_core::digest::Digest;
use forebay_core::event::EventType;
use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::lifecycle::Refusal;
use forebay_core::review::{Decision, changes};
use forebay_core::time::Millis;
use forebay_store::record::{
    Actor, AuditAction, AuditQuery, AuditRecord, Bytes, Decided, DecidedQuery, NewDecision, NewJob,
    NewResult, ResultRecord, ReviewRefused, Verdict,
};
use serde_json::{Value, json};

use super::reviews::{actions, ask_a_person, hold, in_review, in_review_as, of, reviewer};
use crate::bundle::{Bundle, LEASE, REVIEW_DUE, review, review_with};

/// A decision about a job of alpha in the version that a review finds it in.
fn decision(b: &Bundle, job: JobId, seen: u64, who: &str, verdict: Verdict) -> NewDecision {
    let digest = Digest::of(format!("{verdict:?}").as_bytes());
    NewDecision {
        tenant: b.alpha,
        job_id: job,
        seen,
        verdict,
        comment: Some("as seen".to_owned()),
        fingerprint: None,
        digest,
        by: reviewer(who),
    }
}

async fn decide(b: &Bundle, decision: NewDecision) -> Result<Decided, ReviewRefused> {
    b.store().decide_review(decision).await.unwrap()
}

/// Decides as it stands now, which must be taken.
pub(super) async fn decided(b: &Bundle, job: JobId, verdict: Verdict) -> Decided {
    let seen = b.job(job).await.job.state_version;
    let decided = decide(b, decision(b, job, seen, "anna", verdict)).await.unwrap();
    assert!(!decided.replayed);
    assert_eq!(decided.job, b.job(job).await, "what is answered is what is stored");
    assert_eq!(Some(&decided.review), b.store().review(b.alpha, job).await.unwrap().as_ref());
    let event = b.events(b.alpha, Some(job)).await.last().map(|event| event.seq);
    assert_eq!(decided.review.decided.as_ref().unwrap().seq, event, "it names its own event");
    decided
}

fn correction(total: &str) -> Verdict {
    let (before, after) = (json!({"total": "1.10"}), json!({"total": total}));
    Verdict::Correct {
        result: NewResult {
            output: Bytes::Inline(after.to_string().into_bytes()),
            provenance: br#"{"policy":"invoice@1","evidence":[]}"#.to_vec(),
        },
        changes: changes(Some(&before), &after),
        findings: br#"[{"code":"net_tax_total","pointer":"/total"}]"#.to_vec(),
    }
}

fn rerun(b: &Bundle) -> Verdict {
    Verdict::Rerun { step: b.new_step(), deadline: b.now().after(Millis::from_secs(900)) }
}

async fn result(b: &Bundle, job: JobId) -> Option<ResultRecord> {
    b.store().result(b.alpha, job).await.unwrap()
}

fn signature(result: &ResultRecord) -> Value {
    serde_json::from_slice::<Value>(&result.provenance).unwrap()["review"].clone()
}

pub async fn an_approval_makes_the_output_the_result(b: &Bundle) {
    let job = in_review(b).await;
    b.wait_secs(5);
    let decided = decided(b, job, Verdict::Approve).await;
    assert_eq!((decided.job.job.state, decided.job.finished_at), (State::Succeeded, Some(b.now())));
    assert_eq!(decided.job.job.failure, None);
    assert_eq!(b.story(job).await.last(), Some(&EventType::Succeeded));
    let result = result(b, job).await.unwrap();
    assert_eq!(result.output, Bytes::Inline(br#"{"total":"1.10"}"#.to_vec()), "to the byte");
    assert!(String::from_utf8_lossy(&result.provenance).contains(r#""policy":"invoice@1""#));
    let key = reviewer("anna").key;
    assert_eq!(
        signature(&result),
        json!({"decision": "approve", "decided_by": key, "decided_by_name": "anna", "decided_at": b.now(),
               "comment": "as seen", "findings": ["line_sum"]})
    );
    let record = decided.review.decided.unwrap();
    assert_eq!(
        (record.decision, record.at, record.by, record.seen),
        (Decision::Approve, b.now(), key, Some(3))
    );
    assert_eq!(b.tenant(b.alpha).await.pending_jobs, 0);
}

pub async fn nothing_can_not_be_approved(b: &Bundle) {
    let nothing = review_with(|review| forebay_store::record::NewReview { output: None, ..review });
    let job = in_review_as(b, b.new_job(), nothing).await;
    let refused = decide(b, decision(b, job, 3, "anna", Verdict::Approve)).await.unwrap_err();
    assert_eq!(refused, ReviewRefused::Rules(Refusal::NoOutput));
    assert_eq!((b.state(job).await, result(b, job).await), (State::ReviewRequired, None));
    decided(b, job, correction("2.20")).await;
}

pub async fn a_correction_stands_beside_what_the_model_said(b: &Bundle) {
    let job = in_review(b).await;
    let decided = decided(b, job, correction("2.20")).await;
    assert_eq!(decided.job.job.state, State::Succeeded);
    let result = result(b, job).await.unwrap();
    assert_eq!(result.output, Bytes::Inline(br#"{"total":"2.20"}"#.to_vec()));
    assert_eq!(signature(&result)["changed"], json!(["/total"]));
    assert_eq!(signature(&result)["findings"], json!(["net_tax_total"]));
    let review = decided.review;
    assert_eq!(review.output, Some(Bytes::Inline(br#"{"total":"1.10"}"#.to_vec())), "the model's stays");
    let findings = review.decided.unwrap().findings.unwrap();
    assert_eq!(findings, br#"[{"code":"net_tax_total","pointer":"/total"}]"#);
}

pub async fn a_rejection_ends_the_job(b: &Bundle) {
    let job = in_review(b).await;
    let decided = decided(b, job, Verdict::Reject).await;
    let failure = decided.job.job.failure.unwrap();
    assert_eq!(decided.job.job.state, State::FailedTerminal);
    assert_eq!((failure.class, failure.message.as_str()), (FailureClass::Rejected, "as seen"));
    assert_eq!(b.story(job).await.last(), Some(&EventType::Failed));
    assert_eq!(result(b, job).await, None);
    assert_eq!(b.tenant(b.alpha).await.pending_jobs, 0);
}

pub async fn a_rerun_is_a_generation_of_its_own(b: &Bundle) {
    let job = in_review(b).await;
    b.wait_secs(7_200);
    let step = forebay_store::record::NewStep { output_tokens: 60, ..b.new_step() };
    let deadline = b.now().after(Millis::from_secs(900));
    let decided = decided(b, job, Verdict::Rerun { step, deadline }).await;
    let now = &decided.job.job;
    assert_eq!((now.state, now.generation, now.step, now.attempts), (State::Ready, 2, 1, 0));
    assert_eq!((now.deadline, now.failure.clone()), (deadline, None));
    assert_eq!(b.story(job).await.last(), Some(&EventType::Ready));
    assert_eq!(b.tenant(b.alpha).await.pending_jobs, 1, "it has not ended");

    let claimed = b.claim_one().await;
    assert_eq!((claimed.job_id, claimed.reserved.output_tokens), (job, 60));
    let work = b.store().work(vec![job]).await.unwrap().remove(0);
    assert_eq!((work.generation, work.step, work.journal.len()), (2, 1, 0), "its journal is empty");
    assert_eq!(work.deadline, deadline);
    let attempt = b.attempts(job).await.pop().unwrap();
    assert_eq!((attempt.generation, attempt.number), (2, 1));
    b.step_on(&claimed, b.new_step()).await;
    let claimed = b.claim_one().await;
    let work = b.store().work(vec![job]).await.unwrap().remove(0);
    assert_eq!((work.generation, work.step, work.journal.len()), (2, 2, 1), "and then has its own entries");
    b.succeed(&claimed).await;
    let steps = b.store().steps(b.alpha, job).await.unwrap();
    let places: Vec<_> = steps.iter().map(|step| (step.generation, step.number)).collect();
    assert_eq!(places, [(1, 1), (2, 1), (2, 2)], "what was done before stays");
}

pub async fn a_rerun_can_be_rerun(b: &Bundle) {
    let job = in_review(b).await;
    for generation in 2..=3 {
        decided(b, job, rerun(b)).await;
        let claimed = b.claim_one().await;
        ask_a_person(b, &claimed, review()).await;
        assert_eq!(of(b, job).await.entry.generation, generation);
    }
    let decided = decided(b, job, Verdict::Approve).await;
    assert_eq!((decided.job.job.generation, decided.job.job.state), (3, State::Succeeded));
    let expected = [AuditAction::ReviewRerun, AuditAction::ReviewRerun, AuditAction::ReviewApprove];
    assert_eq!(actions(b, job).await, expected);
}

/// A result belongs to the generation that made it.
pub async fn a_result_of_a_rerun_is_the_jobs_result(b: &Bundle) {
    let job = in_review(b).await;
    decided(b, job, rerun(b)).await;
    assert_eq!(result(b, job).await, None);
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    let result = result(b, job).await.unwrap();
    assert_eq!(
        (result.output.clone(), signature(&result)),
        (Bytes::Inline(br#""yes""#.to_vec()), Value::Null)
    );
    assert_eq!(b.job(job).await.usage.input_tokens, 101, "what both generations used is the job's");
}

/// I11: whoever is second finds that somebody has decided.
pub async fn two_reviewers_never_both_decide(b: &Bundle) {
    let job = in_review(b).await;
    let mut calls = tokio::task::JoinSet::new();
    for nth in 0..8 {
        let verdict = match nth % 4 {
            0 => Verdict::Approve,
            1 => correction("2.20"),
            2 => Verdict::Reject,
            _ => rerun(b),
        };
        let decision = decision(b, job, 3, &format!("reviewer-{nth}"), verdict);
        let store = b.store();
        calls.spawn(async move { store.decide_review(decision).await.unwrap() });
    }
    let answers = calls.join_all().await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    for refused in answers.into_iter().filter_map(Result::err) {
        assert!(matches!(refused, ReviewRefused::Rules(Refusal::State { .. })), "{refused:?}");
    }
    assert_eq!(actions(b, job).await.len(), 1);
    assert_eq!(b.job(job).await.job.state_version, 4);
}

pub async fn whoever_holds_a_review_decides_it(b: &Bundle) {
    let job = in_review(b).await;
    let claim = hold(b, job, 60, "anna").await.unwrap().entry.claim.unwrap();
    let by_bert = || decide(b, decision(b, job, 3, "bert", Verdict::Approve));
    assert_eq!(by_bert().await.unwrap_err(), ReviewRefused::Held(claim));
    let by_nobody = NewDecision { by: Actor::program(), ..decision(b, job, 3, "x", Verdict::Approve) };
    assert!(matches!(decide(b, by_nobody).await, Err(ReviewRefused::Held(_))));
    assert_eq!(actions(b, job).await, [AuditAction::ReviewClaim]);
    b.wait_secs(60);
    let decided = by_bert().await.unwrap();
    assert_eq!(decided.review.entry.claim, None, "who holds it does so no longer");
    let after = hold(b, job, 60, "anna").await;
    assert_eq!(after, Err(ReviewRefused::NotOpen(State::Succeeded)));
}

pub async fn a_version_that_moved_is_not_decided(b: &Bundle) {
    let job = in_review(b).await;
    decided(b, job, rerun(b)).await;
    let claimed = b.claim_one().await;
    ask_a_person(b, &claimed, review()).await;
    let current = b.job(job).await.job.state_version;
    let refused = decide(b, decision(b, job, 3, "bert", Verdict::Approve)).await.unwrap_err();
    assert_eq!(refused, ReviewRefused::Rules(Refusal::VersionMoved { seen: 3, current }));
    assert_eq!(b.state(job).await, State::ReviewRequired);
}

/// A decision whose answer was lost is sent again.
pub async fn the_same_decision_sent_again_is_the_same(b: &Bundle) {
    for verdict in [Verdict::Approve, correction("2.20"), Verdict::Reject, rerun(b)] {
        let job = in_review(b).await;
        let first = decision(b, job, 3, "anna", verdict);
        let made = decide(b, first.clone()).await.unwrap();
        b.wait_secs(10);
        let again = decide(b, first.clone()).await.unwrap();
        assert!(again.replayed && !made.replayed);
        assert_eq!((&again.job, &again.review), (&made.job, &made.review));
        assert_eq!(actions(b, job).await.len(), 1, "once on record");
        let by_bert = NewDecision { by: reviewer("bert"), ..first.clone() };
        let in_other_words = NewDecision { digest: Digest::of(b"other"), ..first.clone() };
        let of_another_version = NewDecision { seen: 2, ..first };
        for other in [by_bert, in_other_words, of_another_version] {
            assert!(decide(b, other).await.is_err());
        }
        b.store().cancel(b.alpha, job, Actor::program()).await.unwrap();
    }
    // Also where the job has gone on since.
    let job = in_review(b).await;
    let first = decision(b, job, 3, "anna", rerun(b));
    decide(b, first.clone()).await.unwrap();
    let claimed = b.claim_one().await;
    ask_a_person(b, &claimed, review()).await;
    let again = decide(b, first).await.unwrap();
    assert_eq!((again.replayed, again.review.entry.generation), (true, 1));
    assert_eq!(again.job.job.state, State::ReviewRequired);
}

/// I13.
pub async fn after_a_cancel_nothing_is_decided(b: &Bundle) {
    let job = in_review(b).await;
    b.store().cancel(b.alpha, job, Actor::program()).await.unwrap();
    let (before, events) = (b.job(job).await, b.story(job).await);
    for verdict in [Verdict::Approve, correction("2.20"), Verdict::Reject, rerun(b)] {
        for seen in [3, 4] {
            let refused = decide(b, decision(b, job, seen, "anna", verdict.clone())).await.unwrap_err();
            assert!(matches!(refused, ReviewRefused::Rules(Refusal::State { .. })), "{refused:?}");
        }
    }
    assert_eq!((b.job(job).await, b.story(job).await), (before, events));
    assert_eq!(result(b, job).await, None);
}

/// A deadline bounds machines, not persons.
pub async fn a_deadline_does_not_end_a_decision(b: &Bundle) {
    let soon = b.now().after(Millis::from_secs(200));
    let job = in_review_as(b, NewJob { deadline: soon, ..b.new_job() }, review()).await;
    b.wait(REVIEW_DUE.plus(Millis::from_secs(1_000_000)));
    assert_eq!(b.store().overdue(9).await.unwrap(), []);
    decided(b, job, rerun(b)).await;
    let claimed = b.claim_one().await;
    assert_eq!(claimed.job_id, job, "the new generation has a deadline of its own");
    b.wait(LEASE);
    b.rescue(job).await.unwrap();
    b.wait_secs(900);
    let expired = b.store().expire(job).await.unwrap().unwrap();
    assert_eq!(expired.job.state, State::FailedTerminal, "and ends by it");
}

pub async fn a_foreign_job_is_not_decided(b: &Bundle) {
    let job = in_review(b).await;
    let theirs = NewDecision { tenant: b.beta, ..decision(b, job, 3, "anna", Verdict::Approve) };
    assert_eq!(decide(b, theirs).await.unwrap_err(), ReviewRefused::NoJob);
    let unknown = decision(b, b.store().new_job_id(), 1, "anna", Verdict::Approve);
    assert_eq!(decide(b, unknown).await.unwrap_err(), ReviewRefused::NoJob);
    let ready = b.accept_one().await;
    let refused = decide(b, decision(b, ready, 1, "anna", Verdict::Reject)).await.unwrap_err();
    assert!(matches!(refused, ReviewRefused::Rules(Refusal::State { state: State::Ready, .. })));
}

async fn on_record(b: &Bundle, job: JobId) -> AuditRecord {
    let query = AuditQuery { subject: Some(job.to_string()), limit: 1, ..AuditQuery::default() };
    b.store().audit(query).await.unwrap().records.remove(0)
}

pub async fn every_decision_is_on_record(b: &Bundle) {
    let cases = [
        (Verdict::Approve, AuditAction::ReviewApprove, "SUCCEEDED"),
        (correction("2.20"), AuditAction::ReviewCorrect, "SUCCEEDED"),
        (Verdict::Reject, AuditAction::ReviewReject, "FAILED_TERMINAL"),
        (rerun(b), AuditAction::ReviewRerun, "READY"),
    ];
    for (verdict, action, state) in cases {
        let job = in_review(b).await;
        let name = verdict.decision().name();
        let is_correction = matches!(verdict, Verdict::Correct { .. });
        decided(b, job, verdict).await;
        let record = on_record(b, job).await;
        assert_eq!(
            (record.actor, record.at, *record.action.known().unwrap()),
            (reviewer("anna"), b.now(), action)
        );
        assert_eq!(record.tenant.as_deref(), Some("alpha"));
        let (before, after) = (record.before.unwrap(), record.after.unwrap());
        assert_eq!(
            before,
            json!({"state": "REVIEW_REQUIRED", "state_version": 3, "generation": 1, "findings": ["line_sum"]})
        );
        assert_eq!((&after["state"], &after["state_version"]), (&json!(state), &json!(4)));
        assert_eq!((&after["decision"], &after["comment"]), (&json!(name), &json!("as seen")));
        if is_correction {
            let changes = json!([{"pointer": "/total", "before": "1.10", "after": "2.20"}]);
            assert_eq!((&after["changes"], &after["findings"]), (&changes, &json!(["net_tax_total"])));
        }
        b.store().cancel(b.alpha, job, Actor::program()).await.unwrap();
    }
}

pub async fn decided_reviews_are_listed_in_their_order(b: &Bundle) {
    let mut jobs = Vec::new();
    for _ in 0..4 {
        jobs.push(in_review(b).await);
    }
    decided(b, jobs[2], correction("2.20")).await;
    b.wait_secs(10);
    let later = b.now();
    decided(b, jobs[0], Verdict::Approve).await;
    decided(b, jobs[1], Verdict::Reject).await;
    let by_itself = NewDecision { by: Actor::program(), ..decision(b, jobs[3], 3, "x", Verdict::Reject) };
    decide(b, by_itself).await.unwrap();
    let listed = |query: DecidedQuery| async move {
        let query = DecidedQuery { limit: if query.limit == 0 { 9 } else { query.limit }, ..query };
        b.store().decided_reviews(b.alpha, query).await.unwrap()
    };
    let ids = |found: &[forebay_store::record::DecidedReview]| -> Vec<JobId> {
        found.iter().map(|decided| decided.review.entry.job_id).collect()
    };
    let all = listed(DecidedQuery::default()).await;
    assert_eq!(ids(&all), [jobs[2], jobs[0], jobs[1]], "persons' decisions, in their order");
    assert_eq!(all[0].result, Some(Bytes::Inline(br#"{"total":"2.20"}"#.to_vec())));
    assert_eq!((&all[1].result, &all[2].result), (&all[1].review.output, &None));
    let after = all[0].review.decided.as_ref().unwrap().seq.unwrap();
    assert_eq!(ids(&listed(DecidedQuery { after, limit: 1, ..DecidedQuery::default() }).await), [jobs[0]]);
    let since = listed(DecidedQuery { since: Some(later), ..DecidedQuery::default() }).await;
    assert_eq!(ids(&since), [jobs[0], jobs[1]]);
    let until = listed(DecidedQuery { until: Some(later), ..DecidedQuery::default() }).await;
    assert_eq!(ids(&until), [jobs[2]]);
    let rejected = DecidedQuery { decision: Some(Decision::Reject), ..DecidedQuery::default() };
    assert_eq!(ids(&listed(rejected).await), [jobs[1]]);
    let other = DecidedQuery { task: Some("other".to_owned()), ..DecidedQuery::default() };
    assert_eq!(ids(&listed(other).await), []);
    let theirs = DecidedQuery { limit: 9, ..DecidedQuery::default() };
    assert_eq!(b.store().decided_reviews(b.beta, theirs).await.unwrap(), []);
}

/// A person may take a duplicate for right; whoever was first stays the first.
pub async fn a_decision_takes_the_fingerprint_of_its_result(b: &Bundle) {
    let fingerprint = Some(Digest::of(b"acme 4711"));
    let holder =
        || async { b.store().fingerprint_holder(b.alpha, "chat", Digest::of(b"acme 4711")).await.unwrap() };
    let rejected = in_review(b).await;
    let about = |job, verdict| NewDecision { fingerprint, ..decision(b, job, 3, "anna", verdict) };
    decide(b, about(rejected, Verdict::Reject)).await.unwrap();
    assert_eq!(holder().await, None, "what is refused holds nothing");
    let first = in_review(b).await;
    decide(b, about(first, correction("2.20"))).await.unwrap();
    let second = in_review(b).await;
    decide(b, about(second, Verdict::Approve)).await.unwrap();
    assert_eq!(holder().await, Some(first));
}

pub async fn a_decision_outlives_a_restart(b: &Bundle) {
    let job = in_review(b).await;
    let held = in_review(b).await;
    hold(b, held, 60, "bert").await.unwrap();
    let first = decision(b, job, 3, "anna", correction("2.20"));
    let made = decide(b, first.clone()).await.unwrap();
    b.restart().await;
    assert_eq!(b.job(job).await, made.job);
    assert_eq!(of(b, job).await, made.review);
    assert!(decide(b, first).await.unwrap().replayed);
    assert_eq!(of(b, held).await.entry.claim.unwrap().name, "bert");
}
