//! `cancel`: the caller does not want the job any more.

use super::{Change, Command, Refusal};
use crate::event::EventType;
use crate::failure::FailureClass;
use crate::job::{Failure, Job, State};

/// Ends a job that has not ended and raises its fence, so that a call under way is aborted and what it
/// still brings is evidence only. That cancelling a cancelled job is no error is its caller's business.
///
/// # Errors
///
/// When the job has ended.
pub fn cancel(job: &Job) -> Result<Change, Refusal> {
    match job.state {
        State::Ready | State::Running | State::Waiting | State::RetryScheduled | State::ReviewRequired => {
            let job = Job {
                fence: job.fence + 1,
                failure: Some(Failure::new(FailureClass::Cancelled, "cancelled by request")),
                ..job.turned(State::Cancelled)
            };
            Ok(Change { job, event: EventType::Cancelled })
        }
        State::Succeeded | State::FailedTerminal | State::Cancelled => {
            Err(Refusal::state(job, Command::Cancel))
        }
    }
}
