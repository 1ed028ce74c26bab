//! `approve`, `correct`, `reject`, `rerun`: a person's decision about a job in review.

use super::finish::{End, ended};
use super::{Change, Command, Refusal};
use crate::event::EventType;
use crate::failure::FailureClass;
use crate::job::{Failure, Job, State};
use crate::time::Timestamp;

/// The person takes the stored output as it is.
///
/// # Errors
///
/// When the job is not in review, has changed since the person looked, or has no output.
pub fn approve(job: &Job, seen: u64, has_output: bool) -> Result<Change, Refusal> {
    in_review(job, seen, Command::Approve)?;
    if has_output { Ok(ended(job, End::Succeeded)) } else { Err(Refusal::NoOutput) }
}

/// The person gives another output, which has passed the schema.
///
/// # Errors
///
/// When the job is not in review or has changed since the person looked.
pub fn correct(job: &Job, seen: u64) -> Result<Change, Refusal> {
    in_review(job, seen, Command::Correct)?;
    Ok(ended(job, End::Succeeded))
}

/// The person refuses the result.
///
/// # Errors
///
/// When the job is not in review or has changed since the person looked.
pub fn reject(job: &Job, seen: u64, comment: &str) -> Result<Change, Refusal> {
    in_review(job, seen, Command::Reject)?;
    Ok(ended(job, End::Failed(Failure::new(FailureClass::Rejected, comment))))
}

/// The person wants it done again: a new generation with its own deadline and attempts.
///
/// # Errors
///
/// When the job is not in review or has changed since the person looked.
pub fn rerun(job: &Job, seen: u64, now: Timestamp, deadline: Timestamp) -> Result<Change, Refusal> {
    in_review(job, seen, Command::Rerun)?;
    let job = Job {
        generation: job.generation + 1,
        step: 1,
        attempts: 0,
        deferrals: 0,
        step_since: now,
        available_at: now,
        deadline,
        failure: None,
        ..job.turned(State::Ready)
    };
    Ok(Change { job, event: EventType::Ready })
}

fn in_review(job: &Job, seen: u64, command: Command) -> Result<(), Refusal> {
    match job.state {
        State::ReviewRequired if job.state_version == seen => Ok(()),
        State::ReviewRequired => Err(Refusal::VersionMoved { seen, current: job.state_version }),
        State::Ready
        | State::Running
        | State::Waiting
        | State::RetryScheduled
        | State::Succeeded
        | State::FailedTerminal
        | State::Cancelled => Err(Refusal::state(job, command)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::testing::{NOW, job_in};
    use crate::time::Millis;

    #[test]
    fn a_decision_about_an_older_version_is_refused() {
        let job = job_in(State::ReviewRequired);
        assert_eq!(correct(&job, 4), Err(Refusal::VersionMoved { seen: 4, current: 5 }));
    }

    #[test]
    fn nothing_can_not_be_approved() {
        assert_eq!(approve(&job_in(State::ReviewRequired), 5, false), Err(Refusal::NoOutput));
    }

    #[test]
    fn a_rerun_is_a_new_generation_with_its_own_attempts_and_deadline() {
        let deadline = NOW.after(Millis::from_secs(60));
        let put_off = Job { step: 2, deferrals: 7, ..job_in(State::ReviewRequired) };
        let job = rerun(&put_off, 5, NOW, deadline).unwrap().job;
        assert_eq!((job.generation, job.step, job.attempts, job.deferrals, job.fence), (2, 1, 0, 0, 3));
        assert_eq!((job.step_since, job.available_at), (NOW, NOW));
        assert_eq!(job.deadline, deadline);
    }
}
