//! `fail`: a try did not give the job what it needed.

use super::finish::{End, ended};
use super::{Change, Command, Refusal};
use crate::attempt::Outcome;
use crate::definition::OnUnknown;
use crate::event::EventType;
use crate::failure::FailureClass;
use crate::job::{Failure, Job, State};
use crate::retry::{Hint, NextTry, RetryPolicy, Try};
use crate::time::{Millis, Timestamp};

/// A failed try and what the task says about it.
#[derive(Debug, Clone)]
pub struct Failed {
    /// The fence under which it ran.
    pub fence: u64,
    /// Whether it may have been billed.
    pub outcome: Outcome,
    /// Why it failed.
    pub failure: Failure,
    /// What the provider said about when to come back.
    pub hint: Option<Hint>,
    /// What the task says about tries of which nobody knows whether they were billed.
    pub on_unknown: OnUnknown,
    /// What the task says about retries.
    pub retry: RetryPolicy,
    /// The longest that another attempt can take.
    pub attempt_total: Millis,
    /// Now, by the store's clock.
    pub now: Timestamp,
    /// A random number from 0 to 1, 1 excluded.
    pub random: f64,
}

/// Schedules the next try, or ends the job: by its class, by `on_unknown`, and by the attempts and the
/// time that are left.
///
/// # Errors
///
/// When the job is not running or belongs to another owner.
pub fn fail(job: &Job, failed: &Failed) -> Result<Change, Refusal> {
    match job.state {
        State::Running => {
            job.owned_by(failed.fence)?;
            Ok(after_failure(job, failed))
        }
        State::Ready
        | State::Waiting
        | State::RetryScheduled
        | State::ReviewRequired
        | State::Succeeded
        | State::FailedTerminal
        | State::Cancelled => Err(Refusal::state(job, Command::Fail)),
    }
}

/// The job after a failed try, whoever noticed it.
pub(super) fn after_failure(job: &Job, failed: &Failed) -> Change {
    let job = counted(job, failed.failure.class);
    if failed.outcome == Outcome::Unknown {
        match failed.on_unknown {
            OnUnknown::Retry => {}
            OnUnknown::Once => return ended(&job, End::Failed(failed.failure.clone())),
            OnUnknown::Review => return ended(&job, End::Review(failed.failure.clone())),
        }
    }
    let failure = failed.failure.clone();
    match failed.retry.next(&facts(&job, failed)) {
        NextTry::At(at) => {
            let waiting = job.turned(State::RetryScheduled);
            let job = Job { available_at: at, failure: Some(failure), ..waiting };
            Change { job, event: EventType::RetryScheduled }
        }
        NextTry::GiveUp => ended(&job, End::Failed(failure)),
        NextTry::Review => ended(&job, End::Review(failure)),
        NextTry::Exhausted => ended(&job, End::Failed(exhausted(&job, &failure))),
        NextTry::TooLate => ended(&job, End::Failed(too_late(&failure))),
    }
}

/// The claim counted the try as an attempt; one that only waits for a limit is a deferral instead.
fn counted(job: &Job, class: FailureClass) -> Job {
    if class.facts().counts {
        job.clone()
    } else {
        Job { attempts: job.attempts.saturating_sub(1), deferrals: job.deferrals + 1, ..job.clone() }
    }
}

fn facts(job: &Job, failed: &Failed) -> Try {
    Try {
        class: failed.failure.class,
        attempts: job.attempts,
        deferrals: job.deferrals,
        step_since: job.step_since,
        now: failed.now,
        deadline: job.deadline,
        attempt_total: failed.attempt_total,
        hint: failed.hint,
        random: failed.random,
    }
}

fn exhausted(job: &Job, last: &Failure) -> Failure {
    let message = format!(
        "no try is left after {} attempts and {} deferrals of step {}; the last one: {}: {}",
        job.attempts,
        job.deferrals,
        job.step,
        last.class.name(),
        last.message
    );
    Failure::new(FailureClass::AttemptsExhausted, message)
}

fn too_late(last: &Failure) -> Failure {
    let message = format!(
        "too little time is left for another try before the deadline or the policy's max_elapsed; the last one: {}: {}",
        last.class.name(),
        last.message
    );
    Failure::new(FailureClass::Deadline, message)
}

#[cfg(test)]
impl Failed {
    /// A try that failed with a class, at a time when everything else allows another.
    pub(crate) fn example(class: FailureClass) -> Self {
        Self {
            fence: 3,
            outcome: Outcome::FailedAfterSend,
            failure: Failure::new(class, "boom"),
            hint: None,
            on_unknown: OnUnknown::Retry,
            retry: RetryPolicy::default(),
            attempt_total: Millis::from_secs(120),
            now: crate::lifecycle::testing::NOW,
            random: 0.5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::testing::{NOW, job_in};

    fn after(job: &Job, failed: &Failed) -> Job {
        fail(job, failed).unwrap().job
    }

    #[test]
    fn a_retry_is_scheduled_with_its_time() {
        let job = after(&job_in(State::Running), &Failed::example(FailureClass::ProviderError));
        assert_eq!((job.state, job.attempts, job.deferrals), (State::RetryScheduled, 1, 0));
        assert_eq!(job.available_at, NOW.after(Millis::from_secs(1)));
    }

    #[test]
    fn a_rate_limit_is_a_deferral_and_no_attempt() {
        let job = after(&job_in(State::Running), &Failed::example(FailureClass::RateLimited));
        assert_eq!((job.state, job.attempts, job.deferrals), (State::RetryScheduled, 0, 1));
    }

    #[test]
    fn the_last_attempt_says_what_the_last_failure_was() {
        let last = Job { attempts: 5, ..job_in(State::Running) };
        let job = after(&last, &Failed::example(FailureClass::ProviderError));
        let failure = job.failure.unwrap();
        assert_eq!((job.state, failure.class), (State::FailedTerminal, FailureClass::AttemptsExhausted));
        assert!(failure.message.ends_with("provider_error: boom"), "{}", failure.message);
    }

    #[test]
    fn on_unknown_decides_about_tries_that_may_have_been_billed() {
        let unknown = |on_unknown| Failed {
            outcome: Outcome::Unknown,
            on_unknown,
            ..Failed::example(FailureClass::TimeoutIdle)
        };
        let state = |on_unknown| after(&job_in(State::Running), &unknown(on_unknown)).state;
        assert_eq!(state(OnUnknown::Retry), State::RetryScheduled);
        assert_eq!(state(OnUnknown::Once), State::FailedTerminal);
        assert_eq!(state(OnUnknown::Review), State::ReviewRequired);
    }

    #[test]
    fn too_little_time_ends_the_job_with_deadline() {
        let late = Job { deadline: NOW.after(Millis::from_secs(60)), ..job_in(State::Running) };
        let job = after(&late, &Failed::example(FailureClass::ProviderError));
        assert_eq!(job.failure.unwrap().class, FailureClass::Deadline);
    }
}
