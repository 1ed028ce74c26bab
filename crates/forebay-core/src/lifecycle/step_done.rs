//! `step_done`: a step is finished and the next one needs capacity.

use super::{Change, Command, Refusal};
use crate::event::EventType;
use crate::job::{Job, State};
use crate::time::Timestamp;

/// Puts the job back into the queue for its next step, with that step's attempts still to come.
///
/// # Errors
///
/// When the job is not running or belongs to another owner.
pub fn step_done(job: &Job, fence: u64, now: Timestamp) -> Result<Change, Refusal> {
    match job.state {
        State::Running => {
            job.owned_by(fence)?;
            Ok(Change { job: at_next_step(job, State::Ready, now), event: EventType::StepDone })
        }
        State::Ready
        | State::Waiting
        | State::RetryScheduled
        | State::ReviewRequired
        | State::Succeeded
        | State::FailedTerminal
        | State::Cancelled => Err(Refusal::state(job, Command::StepDone)),
    }
}

/// The job at the start of its next step.
pub(super) fn at_next_step(job: &Job, state: State, now: Timestamp) -> Job {
    Job {
        step: job.step + 1,
        attempts: 0,
        deferrals: 0,
        step_since: now,
        available_at: now,
        failure: None,
        ..job.turned(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::testing::{NOW, job_in};

    #[test]
    fn the_next_step_starts_with_no_attempts() {
        let put_off = Job { deferrals: 7, ..job_in(State::Running) };
        let next = step_done(&put_off, 3, NOW).unwrap().job;
        assert_eq!((next.step, next.attempts, next.deferrals, next.fence), (2, 0, 0, 3));
        assert_eq!((next.step_since, next.available_at), (NOW, NOW));
    }

    #[test]
    fn commit_beats_time() {
        let lapsed = Job { lease_until: Some(Timestamp::from_millis(0)), ..job_in(State::Running) };
        assert!(step_done(&lapsed, 3, NOW).is_ok());
    }
}
