//! `finish`: the last step is done and says how the job ends.

use super::{Change, Command, Refusal};
use crate::event::EventType;
use crate::job::{Failure, Job, State};

/// How a job ends by its own work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Its output passed the validation policy.
    Succeeded,
    /// Its output raises a doubt that a person must decide.
    Review(Failure),
    /// It can't be done.
    Failed(Failure),
}

/// Ends the machines' work on a job. A result that commits before `expire` wins even after the deadline.
///
/// # Errors
///
/// When the job is not running or belongs to another owner.
pub fn finish(job: &Job, fence: u64, end: End) -> Result<Change, Refusal> {
    match job.state {
        State::Running => {
            job.owned_by(fence)?;
            Ok(ended(job, end))
        }
        State::Ready
        | State::Waiting
        | State::RetryScheduled
        | State::ReviewRequired
        | State::Succeeded
        | State::FailedTerminal
        | State::Cancelled => Err(Refusal::state(job, Command::Finish)),
    }
}

/// The job at its end.
pub(super) fn ended(job: &Job, end: End) -> Change {
    let (state, event, failure) = match end {
        End::Succeeded => (State::Succeeded, EventType::Succeeded, None),
        End::Review(failure) => (State::ReviewRequired, EventType::ReviewRequired, Some(failure)),
        End::Failed(failure) => (State::FailedTerminal, EventType::Failed, Some(failure)),
    };
    Change { job: Job { failure, ..job.turned(state) }, event }
}
