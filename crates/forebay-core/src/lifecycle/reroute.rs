//! `reroute`: a queued job moves to another pool.

use super::{Change, Command, Refusal};
use crate::event::EventType;
use crate::job::{Job, State};

/// Moves a queued job's step to another pool, which the store notes beside the job; its state stays.
///
/// # Errors
///
/// When the job is not in the queue.
pub fn reroute(job: &Job) -> Result<Change, Refusal> {
    match job.state {
        State::Ready | State::RetryScheduled => {
            Ok(Change { job: job.turned(job.state), event: EventType::Ready })
        }
        State::Running
        | State::Waiting
        | State::ReviewRequired
        | State::Succeeded
        | State::FailedTerminal
        | State::Cancelled => Err(Refusal::state(job, Command::Reroute)),
    }
}
