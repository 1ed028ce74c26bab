//! Failed tries: again later, or not (I14, I16).

use forebay_core::attempt::Outcome;
use forebay_core::definition::OnUnknown;
use forebay_core::event::EventType;
use forebay_core::failure::FailureClass;
use forebay_core::job::State;
use forebay_core::lifecycle::Failed;
use forebay_core::retry::Hint;
use forebay_core::time::Millis;
use forebay_store::record::{Bytes, Committed, NewJob, Then};

use crate::bundle::{Bundle, closed, failed, try_failed};

/// A failed try with something changed.
fn try_with(class: FailureClass, change: impl FnOnce(&mut Failed)) -> Then {
    let Then::Fail(mut tried, review) = try_failed(class) else { unreachable!("it is a failed try") };
    change(&mut tried);
    Then::Fail(tried, review)
}

pub async fn a_failure_is_tried_again_at_its_time(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    let committed = b
        .commit(&claimed, failed(FailureClass::ProviderError), try_failed(FailureClass::ProviderError))
        .await;
    // Half of two seconds: the random number is one half.
    let due = b.now().after(Millis::from_secs(1));
    assert_eq!(committed, Committed::Done { state: State::RetryScheduled, available_at: due });
    let record = b.job(job).await;
    assert_eq!((record.job.available_at, record.job.attempts), (due, 1));
    assert_eq!(record.job.failure.unwrap().class, FailureClass::ProviderError);
    assert_eq!(b.story(job).await.last(), Some(&EventType::RetryScheduled));
    assert_eq!(b.take(b.new_claim()).await.next, Some(due));
    b.wait(Millis::new(999));
    assert_eq!(b.claim(1).await, []);
    b.wait(Millis::new(1));
    let again = b.claim_one().await;
    assert_eq!((again.job_id, again.fence), (job, 2));
    assert_eq!(b.job(job).await.job.attempts, 2);
}

pub async fn the_last_attempt_ends_the_job(b: &Bundle) {
    let job = b.accept_one().await;
    for nth in 1..=5 {
        b.wait_secs(60);
        let claimed = b.claim_one().await;
        let state = b.fail(&claimed, FailureClass::ProviderError).await;
        assert_eq!(state, if nth < 5 { State::RetryScheduled } else { State::FailedTerminal });
    }
    assert_eq!(b.job(job).await.job.failure.unwrap().class, FailureClass::AttemptsExhausted);
    assert_eq!(b.attempts(job).await.len(), 5);
}

pub async fn a_deferral_is_no_attempt(b: &Bundle) {
    let job = b.accept_one().await;
    for nth in 1..=7 {
        b.wait_secs(60);
        let claimed = b.claim_one().await;
        assert_eq!(b.fail(&claimed, FailureClass::RateLimited).await, State::RetryScheduled);
        let record = b.job(job).await.job;
        assert_eq!((record.attempts, record.deferrals), (0, nth));
    }
}

pub async fn never_before_a_providers_word(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    let class = FailureClass::Overloaded;
    let hinted = try_with(class, |tried| tried.hint = Some(Hint { wait: Millis::from_secs(40) }));
    b.commit_own(&claimed, failed(class), hinted).await;
    assert_eq!(b.job(job).await.job.available_at, b.now().after(Millis::from_secs(41)));
}

pub async fn not_where_it_could_not_finish_in_time(b: &Bundle) {
    let deadline = b.now().after(Millis::from_secs(100));
    let job = b.accept(NewJob { deadline, ..b.new_job() }).await;
    let claimed = b.claim_one().await;
    assert_eq!(b.fail(&claimed, FailureClass::ProviderError).await, State::FailedTerminal);
    assert_eq!(b.job(job).await.job.failure.unwrap().class, FailureClass::Deadline);
}

pub async fn a_class_that_is_never_tried_again_ends_the_job(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    assert_eq!(b.fail(&claimed, FailureClass::Auth).await, State::FailedTerminal);
    assert_eq!(b.job(job).await.job.failure.unwrap().class, FailureClass::Auth);
}

pub async fn a_class_for_persons_asks_one(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    assert_eq!(b.fail(&claimed, FailureClass::InvalidOutput).await, State::ReviewRequired);
    let review = b.store().review(b.alpha, job).await.unwrap().unwrap();
    assert_eq!(review.output, Some(Bytes::Inline(br#"{"total":"1.10"}"#.to_vec())));
}

pub async fn what_may_have_been_billed_goes_by_the_tasks_word(b: &Bundle) {
    let table = [
        (OnUnknown::Retry, State::RetryScheduled),
        (OnUnknown::Once, State::FailedTerminal),
        (OnUnknown::Review, State::ReviewRequired),
    ];
    let class = FailureClass::TimeoutTotal;
    for (on_unknown, state) in table {
        b.accept_one().await;
        let claimed = b.claim_one().await;
        let then = try_with(class, |tried| tried.on_unknown = on_unknown);
        let close = closed(Outcome::Unknown, Some(class), None);
        assert_eq!(b.commit_own(&claimed, close, then).await, state);
    }
}

pub async fn attempts_are_counted_a_step(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    b.fail(&claimed, FailureClass::ProviderError).await;
    b.wait_secs(60);
    let claimed = b.claim_one().await;
    b.step_on(&claimed, b.new_step()).await;
    b.claim_one().await;
    assert_eq!(b.job(job).await.job.attempts, 1);
    let numbers: Vec<_> = b.attempts(job).await.iter().map(|tried| (tried.step, tried.number)).collect();
    assert_eq!(numbers, [(1, 1), (1, 2), (2, 1)]);
}

/// C04: they fail in the same way and are ready again at the same moment, while their callers ask for them once more.
pub async fn keyed_jobs_that_are_ready_again_at_once_all_run(b: &Bundle) {
    const JOBS: usize = 60;
    let keyed = || (0..JOBS).map(|nth| b.keyed_job(&format!("order-{nth}"))).collect();
    let accepted = b.accept_together(keyed()).await;
    let mut jobs: Vec<_> = accepted.into_iter().map(|answer| answer.unwrap().job_id).collect();
    jobs.sort();
    for claimed in b.claim(JOBS).await {
        assert_eq!(b.fail(&claimed, FailureClass::ProviderError).await, State::RetryScheduled);
    }
    b.wait_secs(1);
    let claiming = async {
        let mut again = Vec::new();
        while again.len() < JOBS {
            let some = b.claim(7).await;
            assert!(!some.is_empty(), "{} of {JOBS} are ready again", again.len());
            again.extend(some);
        }
        again
    };
    let (again, answers) = tokio::join!(claiming, b.accept_together(keyed()));
    let mut replayed: Vec<_> = answers
        .into_iter()
        .map(|answer| answer.unwrap())
        .map(|answer| answer.replayed.then_some(answer.job_id).expect("it is there already"))
        .collect();
    replayed.sort();
    assert_eq!(replayed, jobs);
    for claimed in &again {
        assert_eq!(claimed.fence, 2);
        b.succeed(claimed).await;
    }
    assert_eq!(
        b.count(b.alpha, State::Succeeded).await,
        JOBS as u64,
        "none is thrown away, and no other came"
    );
}
