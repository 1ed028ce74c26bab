//! `release`: a worker hands back a job for which nothing was sent yet.

use super::{Change, Command, Refusal};
use crate::event::EventType;
use crate::job::{Job, State};

/// Puts the job back into the queue where it was. The attempt is closed as not sent and does not count: a
/// release happens at shutdown, or when a grant came too late to be used.
///
/// # Errors
///
/// When the job is not running or belongs to another owner.
pub fn release(job: &Job, fence: u64) -> Result<Change, Refusal> {
    match job.state {
        State::Running => {
            job.owned_by(fence)?;
            let job = Job { attempts: job.attempts.saturating_sub(1), ..job.turned(State::Ready) };
            Ok(Change { job, event: EventType::Ready })
        }
        State::Ready
        | State::Waiting
        | State::RetryScheduled
        | State::ReviewRequired
        | State::Succeeded
        | State::FailedTerminal
        | State::Cancelled => Err(Refusal::state(job, Command::Release)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::testing::job_in;

    #[test]
    fn a_release_takes_the_attempt_back() {
        let released = release(&job_in(State::Running), 3).unwrap().job;
        assert_eq!((released.attempts, released.fence, released.lease_until), (0, 3, None));
        assert!(matches!(release(&job_in(State::Running), 4), Err(Refusal::StaleFence { .. })));
    }
}
