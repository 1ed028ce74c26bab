//! `replay`: a failed job is done again, as a new job.

use super::{Change, Command, Refusal};
use crate::event::EventType;
use crate::job::{Job, State};

/// Notes on a failed job that a new one, linked to it, does its work again. The row itself does not change:
/// the event repeats its version.
///
/// # Errors
///
/// When the job did not fail.
pub fn replay(job: &Job) -> Result<Change, Refusal> {
    match job.state {
        State::FailedTerminal => Ok(Change { job: job.clone(), event: EventType::Replayed }),
        State::Ready
        | State::Running
        | State::Waiting
        | State::RetryScheduled
        | State::ReviewRequired
        | State::Succeeded
        | State::Cancelled => Err(Refusal::state(job, Command::Replay)),
    }
}
