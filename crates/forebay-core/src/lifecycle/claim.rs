//! `claim`: a worker takes ownership of a due job.

use super::{Change, Command, Refusal};
use crate::event::EventType;
use crate::job::{Job, State};
use crate::time::{Millis, Timestamp};

/// Gives a due job to a worker: the fence and the attempt rise in one step (I11), before anything outside
/// is called (I14). A job past its deadline is left for `expire`.
///
/// # Errors
///
/// When the job is not in the queue, not due, or past its deadline.
pub fn claim(job: &Job, now: Timestamp, lease: Millis) -> Result<Change, Refusal> {
    match job.state {
        State::Ready | State::RetryScheduled => {
            if job.available_at > now {
                return Err(Refusal::NotDue { at: job.available_at });
            }
            if job.deadline <= now {
                return Err(Refusal::PastDeadline { at: job.deadline });
            }
            let job = Job {
                fence: job.fence + 1,
                attempts: job.attempts + 1,
                lease_until: Some(now.after(lease)),
                ..job.turned(State::Running)
            };
            Ok(Change { job, event: EventType::Claimed })
        }
        State::Running
        | State::Waiting
        | State::ReviewRequired
        | State::Succeeded
        | State::FailedTerminal
        | State::Cancelled => Err(Refusal::state(job, Command::Claim)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::testing::{NOW, job_in};

    #[test]
    fn a_claim_raises_fence_and_attempts_together() {
        let claimed = claim(&job_in(State::RetryScheduled), NOW, Millis::from_secs(30)).unwrap().job;
        assert_eq!((claimed.fence, claimed.attempts, claimed.state_version), (4, 2, 6));
        assert_eq!(claimed.lease_until, Some(NOW.after(Millis::from_secs(30))));
    }

    #[test]
    fn neither_early_nor_late() {
        let early = Job { available_at: NOW.after(Millis::new(1)), ..job_in(State::Ready) };
        assert!(matches!(claim(&early, NOW, Millis::ZERO), Err(Refusal::NotDue { .. })));
        let late = Job { deadline: NOW, ..job_in(State::Ready) };
        assert!(matches!(claim(&late, NOW, Millis::ZERO), Err(Refusal::PastDeadline { .. })));
    }
}
