//! `wake`: what a job waited for has come.

use super::{Change, Command, Refusal};
use crate::event::EventType;
use crate::job::{Job, State};
use crate::time::Timestamp;

/// Puts a waiting job back into the queue.
///
/// # Errors
///
/// When the job is not waiting, or children of it have not ended.
pub fn wake(job: &Job, now: Timestamp) -> Result<Change, Refusal> {
    match job.state {
        State::Waiting => {
            if job.open_children > 0 {
                return Err(Refusal::ChildrenOpen { open: job.open_children });
            }
            let job = Job { available_at: now, ..job.turned(State::Ready) };
            Ok(Change { job, event: EventType::Ready })
        }
        State::Ready
        | State::Running
        | State::RetryScheduled
        | State::ReviewRequired
        | State::Succeeded
        | State::FailedTerminal
        | State::Cancelled => Err(Refusal::state(job, Command::Wake)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::testing::{NOW, job_in};

    #[test]
    fn open_children_keep_their_parent_waiting() {
        let parent = Job { open_children: 2, ..job_in(State::Waiting) };
        assert_eq!(wake(&parent, NOW), Err(Refusal::ChildrenOpen { open: 2 }));
    }
}
