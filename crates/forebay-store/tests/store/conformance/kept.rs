//! Ordering keys that a job keeps which failed: nothing behind it goes on until somebody has dealt with that.

use forebay_core::definition::OnFailure;
use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_store::record::{
    Accepted, Actor, Claimed, LetterChange, LetterState, NewJob, NewReplay, ReplayRefused,
};

use super::letters::replay_of;
use crate::bundle::Bundle;

fn blocking(b: &Bundle) -> NewJob {
    NewJob { on_failure: OnFailure::Block, ..b.ordered_job("k") }
}

/// A job that has failed, and two behind it.
async fn blocked(b: &Bundle) -> (JobId, Vec<JobId>) {
    let failed = b.accept(blocking(b)).await;
    let behind = vec![b.accept(blocking(b)).await];
    let claimed = b.claim_one().await;
    assert_eq!((claimed.job_id, fail(b, &claimed).await), (failed, State::FailedTerminal));
    (failed, [behind, vec![b.accept(blocking(b)).await]].concat())
}

async fn fail(b: &Bundle, claimed: &Claimed) -> State {
    b.fail(claimed, FailureClass::InvalidRequest).await
}

fn again(b: &Bundle, original: JobId) -> NewReplay {
    let replay = replay_of(b, original);
    NewReplay { job: NewJob { replay_of: Some(original), ..blocking(b) }, ..replay }
}

async fn replay(b: &Bundle, original: JobId) -> JobId {
    accepted(b.store().replay(again(b, original)).await.unwrap())
}

fn accepted(answer: Result<Accepted, ReplayRefused>) -> JobId {
    answer.expect("it may be done again").job_id
}

async fn kept_by(b: &Bundle, job: JobId) -> Option<JobId> {
    b.store().queue(b.alpha, job).await.unwrap().unwrap().kept_by
}

async fn deal_with(b: &Bundle, letter: JobId, state: LetterState) {
    let change = LetterChange { state: Some(state), ..LetterChange::default() };
    b.store().change_letters(b.alpha, vec![letter], change, Actor::program()).await.unwrap();
}

/// What waits is taken one after the other, in accept order.
async fn goes_on(b: &Bundle, behind: &[JobId]) {
    for job in behind {
        let claimed = b.claim(9).await;
        assert_eq!(claimed.iter().map(|claimed| claimed.job_id).collect::<Vec<_>>(), [*job]);
        assert_eq!(kept_by(b, *job).await, None);
        b.succeed(&claimed[0]).await;
    }
    assert_eq!(b.claim(9).await, []);
}

pub async fn a_job_that_fails_keeps_its_key(b: &Bundle) {
    let (failed, behind) = blocked(b).await;
    assert_eq!(b.claim(9).await, []);
    for job in &behind {
        assert!(b.job(*job).await.behind_key);
        assert_eq!(kept_by(b, *job).await, Some(failed));
    }
    let free = b.accept(b.ordered_job("another")).await;
    let other_task = b.accept(NewJob { task: "invoice".to_owned(), ..blocking(b) }).await;
    let theirs = b.accept(NewJob { tenant: b.beta, ..blocking(b) }).await;
    let mut claimed = b.claim_ids(9).await;
    claimed.sort();
    let mut expected = vec![free, other_task, theirs];
    expected.sort();
    assert_eq!(claimed, expected, "nobody else is held up");
}

/// The task's word counts, and it is the one that the job was accepted under.
pub async fn where_the_task_does_not_say_so_it_goes_on(b: &Bundle) {
    let failed = b.accept(b.ordered_job("k")).await;
    let behind = b.accept(blocking(b)).await;
    let claimed = b.claim_one().await;
    assert_eq!((claimed.job_id, fail(b, &claimed).await), (failed, State::FailedTerminal));
    goes_on(b, &[behind]).await;
}

pub async fn a_success_or_a_cancellation_keeps_nothing(b: &Bundle) {
    let jobs = [b.accept(blocking(b)).await, b.accept(blocking(b)).await, b.accept(blocking(b)).await];
    b.store().cancel(b.alpha, jobs[0], Actor::program()).await.unwrap();
    goes_on(b, &jobs[1..]).await;
}

pub async fn a_replay_that_succeeds_frees_the_key(b: &Bundle) {
    let (failed, behind) = blocked(b).await;
    let replay = replay(b, failed).await;
    goes_on(b, &[&[replay], &behind[..]].concat()).await;
}

/// The work may be done again by another task: what counts is whose it is.
pub async fn a_replay_by_another_task_frees_the_key(b: &Bundle) {
    let (failed, behind) = blocked(b).await;
    let wanted = again(b, failed);
    let wanted = NewReplay { job: NewJob { task: "mended".to_owned(), ..wanted.job }, ..wanted };
    let replay = accepted(b.store().replay(wanted).await.unwrap());
    goes_on(b, &[&[replay], &behind[..]].concat()).await;
}

pub async fn a_replay_that_fails_keeps_the_key_on(b: &Bundle) {
    let (failed, behind) = blocked(b).await;
    let first = replay(b, failed).await;
    let claimed = b.claim_one().await;
    assert_eq!((claimed.job_id, fail(b, &claimed).await), (first, State::FailedTerminal));
    assert_eq!(b.claim(9).await, []);
    assert_eq!(kept_by(b, behind[0]).await, Some(first), "that is the letter that is left");
    let second = replay(b, first).await;
    goes_on(b, &[&[second], &behind[..]].concat()).await;
}

pub async fn a_replay_that_is_cancelled_leaves_the_key_kept(b: &Bundle) {
    let (failed, behind) = blocked(b).await;
    let first = replay(b, failed).await;
    b.store().cancel(b.alpha, first, Actor::program()).await.unwrap();
    assert_eq!(b.claim(9).await, []);
    assert_eq!(kept_by(b, behind[0]).await, Some(failed));
    let second = replay(b, failed).await;
    goes_on(b, &[&[second], &behind[..]].concat()).await;
}

/// One at a time, these too.
pub async fn a_second_replay_goes_when_the_first_has_failed(b: &Bundle) {
    let (failed, behind) = blocked(b).await;
    let first = replay(b, failed).await;
    let twice = NewReplay { again: true, ..again(b, failed) };
    let second = accepted(b.store().replay(twice).await.unwrap());
    let claimed = b.claim(9).await;
    assert_eq!(claimed.iter().map(|claimed| claimed.job_id).collect::<Vec<_>>(), [first]);
    assert_eq!(fail(b, &claimed[0]).await, State::FailedTerminal);
    goes_on(b, &[&[second], &behind[..]].concat()).await;
}

pub async fn a_letter_that_is_dealt_with_frees_the_key(b: &Bundle) {
    for state in [LetterState::Resolved, LetterState::Dismissed] {
        let (failed, behind) = blocked(b).await;
        deal_with(b, failed, state).await;
        goes_on(b, &behind).await;
    }
}

/// A replay that is under way is one of the key's jobs: those that were waiting wait for it.
pub async fn a_letter_that_is_dealt_with_during_a_replay_lets_it_end_first(b: &Bundle) {
    let (failed, behind) = blocked(b).await;
    let replay = replay(b, failed).await;
    let claimed = b.claim_one().await;
    assert_eq!(claimed.job_id, replay);
    deal_with(b, failed, LetterState::Resolved).await;
    assert_eq!(b.claim(9).await, []);
    b.succeed(&claimed).await;
    goes_on(b, &behind).await;
}

/// What is cancelled was not wanted; what failed without having run is missing, too.
pub async fn what_fails_behind_a_kept_key_keeps_it_as_well(b: &Bundle) {
    let (failed, behind) = blocked(b).await;
    b.store().cancel(b.alpha, behind[0], Actor::program()).await.unwrap();
    assert_eq!(b.claim(9).await, []);
    b.wait_secs(3_600);
    b.store().expire(behind[1]).await.unwrap().expect("it is late");
    let last = b.accept(blocking(b)).await;
    assert_eq!((b.claim(9).await, kept_by(b, last).await), (vec![], Some(failed)));
    let late = replay(b, behind[1]).await;
    goes_on(b, &[late]).await;
    assert_eq!(kept_by(b, last).await, Some(failed));
    deal_with(b, failed, LetterState::Resolved).await;
    goes_on(b, &[last]).await;
}

/// Jobs are handed in while the key is freed: none is left behind.
pub async fn who_comes_while_the_key_is_freed_is_let_go(b: &Bundle) {
    let (failed, behind) = blocked(b).await;
    let coming: Vec<_> = (0..20).map(|_| blocking(b)).collect();
    let (_, _) = tokio::join!(b.accept_together(coming), deal_with(b, failed, LetterState::Dismissed));
    let mut taken = Vec::new();
    while let Some(claimed) = b.claim(9).await.pop() {
        taken.push(claimed.job_id);
        b.succeed(&claimed).await;
    }
    assert_eq!((taken.len(), &taken[..2]), (22, &behind[..]));
}
