//! What a worker's commit writes, and what one that comes too late does not.

use forebay_core::attempt::Outcome;
use forebay_core::digest::Digest;
use forebay_core::event::EventType;
use forebay_core::failure::FailureClass;
use forebay_core::id::Incarnation;
use forebay_core::job::{Failure, State};
use forebay_core::money::Micros;
use forebay_core::text::storable;
use forebay_core::time::Millis;
use forebay_store::record::{
    Actor, AttemptClose, Bytes, Claimed, Committed, NewJob, NewResult, NewStep, StepCommit, Then,
};

use crate::bundle::{Bundle, LEASE, failed, next, not_sent, review, succeed, succeeded, used};

pub async fn the_next_step_is_planned_and_journaled(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    let second = NewStep { kind: "correct", pool: "other".to_owned(), input_tokens: 7, ..b.new_step() };
    b.step_on(&claimed, second).await;
    let record = b.job(job).await;
    assert_eq!((record.job.state, record.job.step, record.job.attempts), (State::Ready, 2, 0));
    assert_eq!((&record.pool[..], record.usage.cost), ("other", Micros(200)));
    assert_eq!(b.story(job).await, [EventType::Accepted, EventType::Claimed, EventType::StepDone]);
    let steps = b.store().steps(b.alpha, job).await.unwrap();
    assert_eq!(steps[0].finished_at, Some(b.now()));
    assert_eq!(steps[0].entry, Some(Bytes::Inline(br#"{"answer":"yes"}"#.to_vec())));
    assert_eq!((steps[0].attempts, steps[1].attempts), (1, 0));
    assert_eq!((steps[1].number, &steps[1].kind[..], steps[1].input_tokens), (2, "correct", 7));
    assert_eq!((steps[1].finished_at, &steps[1].entry), (None, &None));
    let work = b.store().work(vec![job]).await.unwrap().remove(0);
    assert_eq!((work.step, work.journal.len()), (2, 1));
    assert_eq!(b.tenant(b.alpha).await.pending_jobs, 1);
}

/// I24: result and event commit together.
pub async fn success_leaves_a_result(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    assert_eq!(b.store().result(b.alpha, job).await.unwrap(), None);
    b.wait_secs(3);
    b.succeed(&claimed).await;
    let record = b.job(job).await;
    assert_eq!((record.job.state, record.finished_at), (State::Succeeded, Some(b.now())));
    assert_eq!(b.story(job).await.last(), Some(&EventType::Succeeded));
    let result = b.store().result(b.alpha, job).await.unwrap().unwrap();
    assert_eq!(result.output, Bytes::Inline(br#""yes""#.to_vec()));
    let attempt = b.attempts(job).await.remove(0);
    assert_eq!((attempt.outcome, attempt.ended_at), (Some(Outcome::Succeeded), Some(b.now())));
    assert_eq!((attempt.cost, attempt.usage), (Some(Micros(200)), Some(used(100, 50))));
    assert_eq!(attempt.provider_request_id.as_deref(), Some("req-1"));
    assert_eq!(attempt.provider_model.as_deref(), Some("small-2026"));
    let tenant = b.tenant(b.alpha).await;
    assert_eq!((tenant.pending_jobs, tenant.in_flight, b.in_flight().await), (0, 0, 0));
}

/// I21: doubt is a review, never a quiet null.
pub async fn doubt_leaves_a_review(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    let state = b.commit_own(&claimed, succeeded(used(1, 1)), review()).await;
    assert_eq!(state, State::ReviewRequired);
    let record = b.job(job).await;
    assert_eq!(record.job.failure.unwrap().class, FailureClass::PolicyFailed);
    assert_eq!(record.finished_at, None);
    assert_eq!(b.story(job).await.last(), Some(&EventType::ReviewRequired));
    assert!(b.store().review(b.alpha, job).await.unwrap().is_some());
    assert_eq!(b.store().result(b.alpha, job).await.unwrap(), None);
    assert_eq!(b.tenant(b.alpha).await.pending_jobs, 1, "what a person has not decided has not ended");
}

pub async fn a_job_that_can_not_be_done_fails(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    let failure = Failure::new(FailureClass::DocumentUnavailable, "no text in it");
    let then = Then::FailJob { entry: None, failure: failure.clone() };
    assert_eq!(b.commit_own(&claimed, not_sent(), then).await, State::FailedTerminal);
    assert_eq!(b.job(job).await.job.failure, Some(failure));
    assert_eq!(b.story(job).await.last(), Some(&EventType::Failed));
    assert_eq!(b.tenant(b.alpha).await.pending_jobs, 0);
}

pub async fn a_release_gives_everything_back(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    assert_eq!(b.commit_own(&claimed, not_sent(), Then::Release).await, State::Ready);
    let record = b.job(job).await;
    assert_eq!((record.job.attempts, record.job.deferrals, record.job.fence), (0, 0, 1));
    let tenant = b.tenant(b.alpha).await;
    assert_eq!((tenant.in_flight, tenant.account.reserved, b.in_flight().await), (0, Micros::ZERO, 0));
    let again = b.claim_one().await;
    assert_eq!((again.job_id, again.fence), (job, 2));
    let numbers: Vec<_> = b.attempts(job).await.iter().map(|attempt| attempt.number).collect();
    assert_eq!(numbers, [1, 2], "both are on record");
}

pub async fn bytes_in_blobs_stay_references(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    let (entry, output) = (Bytes::Blob(Digest::of(b"entry")), Bytes::Blob(Digest::of(b"output")));
    let result = NewResult { output: output.clone(), provenance: b"{}".to_vec() };
    let then = Then::Succeed { entry: entry.clone(), result, fingerprint: None };
    b.commit_own(&claimed, succeeded(used(1, 1)), then).await;
    assert_eq!(b.store().steps(b.alpha, job).await.unwrap()[0].entry, Some(entry));
    assert_eq!(b.store().result(b.alpha, job).await.unwrap().unwrap().output, output);
}

/// Commits what is not the worker's any more, twice: nothing but the first evidence is written (I12, I13).
async fn nothing_but_evidence(b: &Bundle, commit: StepCommit) {
    let (job, attempt) = (commit.job_id, commit.attempt_id);
    let (record, tenant) = (b.job(job).await, b.tenant(b.alpha).await);
    let before = b.attempts(job).await;
    let events = b.events(b.alpha, None).await;
    let again = StepCommit { close: succeeded(used(78, 6)), ..commit.clone() };
    for commit in [commit, again] {
        assert_eq!(b.store().commit_step(commit).await.unwrap(), Committed::Lost);
    }
    assert_eq!(b.job(job).await, record);
    assert_eq!(b.events(b.alpha, None).await, events);
    assert_eq!(b.tenant(b.alpha).await.account, tenant.account, "late success does not change money");
    for (was, is) in before.into_iter().zip(b.attempts(job).await) {
        let evidence = is.evidence.clone();
        assert_eq!(evidence.is_some(), is.id == attempt);
        assert!(evidence.is_none_or(|text| text.contains(r#""input_tokens":77"#)));
        assert_eq!(forebay_store::record::AttemptRecord { evidence: was.evidence.clone(), ..is }, was);
    }
}

fn late_success(b: &Bundle, claimed: &Claimed) -> StepCommit {
    b.new_commit(claimed, succeeded(used(77, 5)), succeed())
}

pub async fn a_stale_fence_changes_nothing(b: &Bundle) {
    let job = b.accept_one().await;
    let lost = b.claim_one().await;
    b.wait(LEASE);
    b.rescue(job).await.unwrap();
    nothing_but_evidence(b, late_success(b, &lost)).await;
    b.wait_secs(60);
    let owner = b.claim_one().await;
    assert_eq!((owner.job_id, owner.fence), (job, 3));
    assert_eq!(b.in_flight().await, 1);
    nothing_but_evidence(b, late_success(b, &lost)).await;
    assert_eq!(b.in_flight().await, 1, "the new owner's permit stays");
    b.succeed(&owner).await;
}

pub async fn another_life_of_the_store_changes_nothing(b: &Bundle) {
    b.accept_one().await;
    let claimed = b.claim_one().await;
    let incarnation = Incarnation(b.store().origin().incarnation.0.wrapping_add(1));
    nothing_but_evidence(b, StepCommit { incarnation, ..late_success(b, &claimed) }).await;
}

pub async fn after_a_cancel_only_evidence_is_kept(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    b.store().cancel(b.alpha, job, Actor::program()).await.unwrap();
    assert_eq!(b.in_flight().await, 1, "the call may still be running");
    nothing_but_evidence(b, late_success(b, &claimed)).await;
    assert_eq!((b.in_flight().await, b.tenant(b.alpha).await.in_flight), (0, 0), "now it is over");
}

pub async fn after_an_expiry_only_evidence_is_kept(b: &Bundle) {
    let soon = b.now().after(Millis::from_secs(5));
    let job = b.accept(NewJob { deadline: soon, ..b.new_job() }).await;
    let claimed = b.claim_one().await;
    b.wait_secs(5);
    b.store().expire(job).await.unwrap().unwrap();
    assert_eq!(b.in_flight().await, 1, "the call may still be running");
    nothing_but_evidence(b, late_success(b, &claimed)).await;
    assert_eq!(b.in_flight().await, 0);
}

/// I12: a commit that is sent twice counts once.
pub async fn an_attempt_is_settled_once(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    let step = || b.new_commit(&claimed, succeeded(used(10, 10)), next(b.new_step()));
    assert!(matches!(b.store().commit_step(step()).await.unwrap(), Committed::Done { .. }));
    let record = b.job(job).await;
    assert_eq!(b.store().commit_step(step()).await.unwrap(), Committed::Lost);
    assert_eq!(b.job(job).await, record);
    assert_eq!(b.tenant(b.alpha).await.account.spent, Micros(30));
}

/// An owner settles its own attempt, whatever else it names.
pub async fn the_attempt_of_another_owner_is_not_touched(b: &Bundle) {
    b.accept_of(b.alpha, 2).await;
    let claimed = b.claim(2).await;
    let mixed = Claimed { attempt_id: claimed[1].attempt_id, ..claimed[0].clone() };
    let older = Claimed { fence: 0, ..claimed[1].clone() };
    for not_its_own in [mixed, older] {
        assert_eq!(b.commit(&not_its_own, succeeded(used(1, 1)), succeed()).await, Committed::Lost);
        let untouched = b.attempts(claimed[1].job_id).await.remove(0);
        assert_eq!((untouched.outcome, untouched.evidence), (None, None));
        assert_eq!(b.in_flight().await, 2);
    }
    b.succeed(&claimed[0]).await;
    b.succeed(&claimed[1]).await;
}

pub async fn an_unknown_job_is_lost(b: &Bundle) {
    let claimed = Claimed {
        job_id: b.store().new_job_id(),
        tenant: b.alpha,
        attempt_id: b.store().new_attempt_id(),
        fence: 1,
        granted_at: b.now(),
        reserved: Default::default(),
    };
    assert_eq!(b.commit(&claimed, failed(FailureClass::Internal), succeed()).await, Committed::Lost);
}

/// A paid result is not thrown away because a heartbeat or the deadline was missed.
pub async fn commit_beats_time(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    b.wait_secs(2 * 3_600);
    b.succeed(&claimed).await;
    assert_eq!(b.store().expire(job).await.unwrap(), None);
    assert_eq!(b.rescue(job).await, None);
}

/// Text from outside passes one rule on its way in, and comes back as that leaves it.
pub async fn odd_text_is_kept(b: &Bundle) {
    let odd = "NUL \u{0}, escape \u{1b}[31m, \u{202e}right to left, 💶, é, \u{ffff}, 'quote\" -- ; %s $1 ?1";
    let message = storable(odd, 2_000);
    let metadata = serde_json::json!({ "odd": odd }).to_string();
    let job = b.accept(NewJob { metadata: Some(metadata.clone()), ..b.new_job() }).await;
    let claimed = b.claim_one().await;
    let failure = Failure::new(FailureClass::Refused, message.clone());
    let close = AttemptClose { failure: Some(failure.clone()), ..failed(FailureClass::Refused) };
    b.commit_own(&claimed, close, Then::FailJob { entry: None, failure }).await;
    let record = b.job(job).await;
    assert_eq!(record.job.failure.unwrap().message, message);
    assert_eq!(record.metadata, Some(metadata));
    assert_eq!(b.attempts(job).await[0].message.as_ref(), Some(&message));
    let last = b.events(b.alpha, Some(job)).await.pop().unwrap();
    let envelope: serde_json::Value = serde_json::from_slice(&last.body).unwrap();
    assert_eq!(envelope["data"]["failure"]["message"], message);
    assert_eq!(envelope["data"]["metadata"]["odd"], odd);
}
