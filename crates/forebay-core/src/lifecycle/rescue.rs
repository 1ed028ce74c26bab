//! `rescue`: the owner of a running job has not been heard of.

use super::fail::{Failed, after_failure};
use super::{Change, Command, Refusal};
use crate::attempt::Outcome;
use crate::job::{Job, State};

/// Takes a job away from an owner whose lease has lapsed: the fence rises (I15), and the try ends as one
/// that may have been billed. `lost.fence` and `lost.outcome` do not matter.
///
/// # Errors
///
/// When the job is not running, or its lease is live.
pub fn rescue(job: &Job, lost: &Failed) -> Result<Change, Refusal> {
    match job.state {
        State::Running => {
            if let Some(until) = job.lease_until.filter(|until| *until > lost.now) {
                return Err(Refusal::LeaseHeld { until });
            }
            let taken = Job { fence: job.fence + 1, ..job.clone() };
            Ok(after_failure(&taken, &Failed { outcome: Outcome::Unknown, ..lost.clone() }))
        }
        State::Ready
        | State::Waiting
        | State::RetryScheduled
        | State::ReviewRequired
        | State::Succeeded
        | State::FailedTerminal
        | State::Cancelled => Err(Refusal::state(job, Command::Rescue)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureClass;
    use crate::lifecycle::testing::{NOW, job_in};

    #[test]
    fn a_live_lease_is_left_alone() {
        let lost = Failed::example(FailureClass::WorkerLost);
        assert!(matches!(rescue(&job_in(State::Running), &lost), Err(Refusal::LeaseHeld { .. })));
    }

    #[test]
    fn a_lapsed_one_loses_the_job_and_its_fence() {
        let lapsed = Job { lease_until: Some(NOW), ..job_in(State::Running) };
        let job = rescue(&lapsed, &Failed::example(FailureClass::WorkerLost)).unwrap().job;
        assert_eq!((job.state, job.fence, job.attempts), (State::RetryScheduled, 4, 1));
    }

    #[test]
    fn a_job_that_kills_its_workers_runs_out_of_attempts() {
        let last = Job { attempts: 5, lease_until: Some(NOW), ..job_in(State::Running) };
        let job = rescue(&last, &Failed::example(FailureClass::WorkerLost)).unwrap().job;
        assert_eq!(job.failure.unwrap().class, FailureClass::AttemptsExhausted);
    }
}
