//! `extend`: a heartbeat.

use super::{Command, Refusal};
use crate::job::{Job, State};
use crate::time::{Millis, Timestamp};

/// Prolongs the owner's lease. The only command without an event and without a new version; and the only
/// one that needs a live lease beside the fence, so that a paused worker can't creep back (I12).
///
/// # Errors
///
/// When the job is not running, belongs to another owner, or its lease has lapsed.
pub fn extend(job: &Job, fence: u64, now: Timestamp, lease: Millis) -> Result<Job, Refusal> {
    match job.state {
        State::Running => {
            job.owned_by(fence)?;
            match job.lease_until {
                Some(until) if until > now => Ok(Job { lease_until: Some(now.after(lease)), ..job.clone() }),
                lapsed => Err(Refusal::LeaseLapsed { at: lapsed.unwrap_or(now) }),
            }
        }
        State::Ready
        | State::Waiting
        | State::RetryScheduled
        | State::ReviewRequired
        | State::Succeeded
        | State::FailedTerminal
        | State::Cancelled => Err(Refusal::state(job, Command::Extend)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::testing::{NOW, job_in};

    #[test]
    fn an_extension_needs_the_fence_and_a_live_lease() {
        let running = job_in(State::Running);
        let lease = Millis::from_secs(30);
        let extended = extend(&running, 3, NOW.after(Millis::from_secs(10)), lease).unwrap();
        assert_eq!(extended.lease_until, Some(NOW.after(Millis::from_secs(40))));
        assert_eq!(extended.state_version, running.state_version);
        assert!(matches!(extend(&running, 2, NOW, lease), Err(Refusal::StaleFence { .. })));
        assert!(matches!(extend(&running, 3, NOW.after(lease), lease), Err(Refusal::LeaseLapsed { .. })));
    }
}
