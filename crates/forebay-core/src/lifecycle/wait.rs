//! `wait`: a step is finished and the next one depends on something outside the machine room.

use super::step_done::at_next_step;
use super::{Change, Command, Refusal};
use crate::event::EventType;
use crate::job::{Job, State};
use crate::time::Timestamp;

/// What a job waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    /// Its children's ends.
    Children,
    /// A person's word on what it wants to do.
    Approval,
    /// A call from outside.
    Callback,
    /// A time.
    Timer,
}

/// Lays the job aside until `wake`. Children that have all ended already are nothing to wait for: then the
/// job goes on at once, so that the last child's end can't be missed.
///
/// # Errors
///
/// When the job is not running or belongs to another owner.
pub fn wait(job: &Job, fence: u64, what: WaitFor, now: Timestamp) -> Result<Change, Refusal> {
    match job.state {
        State::Running => {
            job.owned_by(fence)?;
            let nothing_to_wait_for = what == WaitFor::Children && job.open_children == 0;
            let (state, event) = if nothing_to_wait_for {
                (State::Ready, EventType::StepDone)
            } else {
                (State::Waiting, EventType::Waiting)
            };
            Ok(Change { job: at_next_step(job, state, now), event })
        }
        State::Ready
        | State::Waiting
        | State::RetryScheduled
        | State::ReviewRequired
        | State::Succeeded
        | State::FailedTerminal
        | State::Cancelled => Err(Refusal::state(job, Command::Wait)),
    }
}
