//! `expire`: the deadline of a job that waits for machines has passed.

use super::finish::{End, ended};
use super::{Change, Command, Refusal};
use crate::failure::FailureClass;
use crate::job::{Failure, Job, State};
use crate::time::Timestamp;

/// Ends a job past its deadline and raises its fence. The deadline bounds machines, not people: a job in
/// review stays (I29).
///
/// # Errors
///
/// When the job waits for no machine, or its deadline has not passed.
pub fn expire(job: &Job, now: Timestamp) -> Result<Change, Refusal> {
    match job.state {
        State::Ready | State::Running | State::Waiting | State::RetryScheduled => {
            if job.deadline > now {
                return Err(Refusal::NotDue { at: job.deadline });
            }
            let taken = Job { fence: job.fence + 1, ..job.clone() };
            Ok(ended(&taken, End::Failed(Failure::new(FailureClass::Deadline, message(job)))))
        }
        State::ReviewRequired | State::Succeeded | State::FailedTerminal | State::Cancelled => {
            Err(Refusal::state(job, Command::Expire))
        }
    }
}

fn message(job: &Job) -> String {
    let doing = match job.state {
        State::Running => "while a call was running",
        State::Waiting => "while it waited for something outside",
        State::RetryScheduled => "while it waited for its next try",
        _ => "before a call could start",
    };
    let last = job
        .failure
        .as_ref()
        .map(|failure| format!("; the last try failed: {}: {}", failure.class.name(), failure.message));
    format!("the deadline passed at {} {doing}{}", job.deadline, last.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::testing::{NOW, job_in};

    #[test]
    fn it_waits_for_the_deadline_and_raises_the_fence() {
        let job = job_in(State::Running);
        assert!(matches!(expire(&job, NOW), Err(Refusal::NotDue { .. })));
        let expired = expire(&job, job.deadline).unwrap().job;
        assert_eq!((expired.state, expired.fence), (State::FailedTerminal, 4));
    }
}
