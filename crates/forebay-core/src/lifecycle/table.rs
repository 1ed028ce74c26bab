//! The lifecycle as data.

use crate::job::State;
use crate::job::State::{
    Cancelled, FailedTerminal, Ready, RetryScheduled, ReviewRequired, Running, Succeeded, Waiting,
};

/// What can be asked of a job. `submit` is not here: it makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is a function of this module, documented there")]
pub enum Command {
    Claim,
    Reroute,
    Extend,
    Release,
    StepDone,
    Wait,
    Wake,
    Finish,
    Fail,
    Rescue,
    Expire,
    Cancel,
    Approve,
    Correct,
    Reject,
    Rerun,
    Replay,
}

impl Command {
    /// Every command.
    pub const ALL: [Command; 17] = [
        Command::Claim,
        Command::Reroute,
        Command::Extend,
        Command::Release,
        Command::StepDone,
        Command::Wait,
        Command::Wake,
        Command::Finish,
        Command::Fail,
        Command::Rescue,
        Command::Expire,
        Command::Cancel,
        Command::Approve,
        Command::Correct,
        Command::Reject,
        Command::Rerun,
        Command::Replay,
    ];

    /// Its name in messages and in the documentation.
    pub const fn name(self) -> &'static str {
        match self {
            Command::Claim => "claim",
            Command::Reroute => "reroute",
            Command::Extend => "extend",
            Command::Release => "release",
            Command::StepDone => "step_done",
            Command::Wait => "wait",
            Command::Wake => "wake",
            Command::Finish => "finish",
            Command::Fail => "fail",
            Command::Rescue => "rescue",
            Command::Expire => "expire",
            Command::Cancel => "cancel",
            Command::Approve => "approve",
            Command::Correct => "correct",
            Command::Reject => "reject",
            Command::Rerun => "rerun",
            Command::Replay => "replay",
        }
    }
}

/// From where a command leads where. What is not here is refused.
pub const TABLE: &[(State, Command, &[State])] = &[
    (Ready, Command::Claim, &[Running]),
    (RetryScheduled, Command::Claim, &[Running]),
    (Ready, Command::Reroute, &[Ready]),
    (RetryScheduled, Command::Reroute, &[RetryScheduled]),
    (Running, Command::Extend, &[Running]),
    (Running, Command::Release, &[Ready]),
    (Running, Command::StepDone, &[Ready]),
    (Running, Command::Wait, &[Waiting, Ready]),
    (Waiting, Command::Wake, &[Ready]),
    (Running, Command::Finish, &[Succeeded, ReviewRequired, FailedTerminal]),
    (Running, Command::Fail, &[RetryScheduled, ReviewRequired, FailedTerminal]),
    (Running, Command::Rescue, &[RetryScheduled, ReviewRequired, FailedTerminal]),
    (Ready, Command::Expire, &[FailedTerminal]),
    (Running, Command::Expire, &[FailedTerminal]),
    (Waiting, Command::Expire, &[FailedTerminal]),
    (RetryScheduled, Command::Expire, &[FailedTerminal]),
    (Ready, Command::Cancel, &[Cancelled]),
    (Running, Command::Cancel, &[Cancelled]),
    (Waiting, Command::Cancel, &[Cancelled]),
    (RetryScheduled, Command::Cancel, &[Cancelled]),
    (ReviewRequired, Command::Cancel, &[Cancelled]),
    (ReviewRequired, Command::Approve, &[Succeeded]),
    (ReviewRequired, Command::Correct, &[Succeeded]),
    (ReviewRequired, Command::Reject, &[FailedTerminal]),
    (ReviewRequired, Command::Rerun, &[Ready]),
    (FailedTerminal, Command::Replay, &[FailedTerminal]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureClass;
    use crate::job::{Failure, Job};
    use crate::lifecycle::testing::{NOW, job_in};
    use crate::lifecycle::{self, Change, End, Failed, Refusal, WaitFor};
    use crate::time::Millis;

    /// Every way in which a command can be given with everything else in order.
    fn tries(job: &Job, command: Command) -> Vec<Result<Change, Refusal>> {
        let fence = job.fence;
        let version = job.state_version;
        let failure = || Failure::new(FailureClass::PolicyFailed, "the sums differ");
        let failing = |class| lifecycle::fail(job, &Failed { fence, ..Failed::example(class) });
        let lapsed = Job { lease_until: job.lease_until.map(|_| NOW), ..job.clone() };
        let late = Job { deadline: NOW, ..job.clone() };
        let parent = Job { open_children: 1, ..job.clone() };
        match command {
            Command::Claim => vec![lifecycle::claim(job, NOW, Millis::from_secs(30))],
            Command::Reroute => vec![lifecycle::reroute(job)],
            Command::Extend => vec![
                lifecycle::extend(job, fence, NOW, Millis::from_secs(30))
                    .map(|job| Change { job, event: crate::event::EventType::Progress }),
            ],
            Command::Release => vec![lifecycle::release(job, fence)],
            Command::StepDone => vec![lifecycle::step_done(job, fence, NOW)],
            Command::Wait => vec![
                lifecycle::wait(&parent, fence, WaitFor::Children, NOW),
                lifecycle::wait(job, fence, WaitFor::Children, NOW),
            ],
            Command::Wake => vec![lifecycle::wake(job, NOW)],
            Command::Finish => vec![
                lifecycle::finish(job, fence, End::Succeeded),
                lifecycle::finish(job, fence, End::Review(failure())),
                lifecycle::finish(job, fence, End::Failed(failure())),
            ],
            Command::Fail => vec![
                failing(FailureClass::ProviderError),
                failing(FailureClass::InvalidOutput),
                failing(FailureClass::Auth),
            ],
            Command::Rescue => [FailureClass::WorkerLost, FailureClass::InvalidOutput, FailureClass::Auth]
                .map(|class| lifecycle::rescue(&lapsed, &Failed { fence, ..Failed::example(class) }))
                .to_vec(),
            Command::Expire => vec![lifecycle::expire(&late, NOW)],
            Command::Cancel => vec![lifecycle::cancel(job)],
            Command::Approve => vec![lifecycle::approve(job, version, true)],
            Command::Correct => vec![lifecycle::correct(job, version)],
            Command::Reject => vec![lifecycle::reject(job, version, "not ours")],
            Command::Rerun => vec![lifecycle::rerun(job, version, NOW, NOW.after(Millis::from_secs(60)))],
            Command::Replay => vec![lifecycle::replay(job)],
        }
    }

    #[test]
    fn the_commands_do_what_the_table_says_and_nothing_else() {
        for state in State::ALL {
            for command in Command::ALL {
                let listed = TABLE.iter().find(|row| (row.0, row.1) == (state, command));
                for outcome in tries(&job_in(state), command) {
                    match (listed, outcome) {
                        (Some((_, _, targets)), Ok(change)) => {
                            assert!(targets.contains(&change.job.state), "{state:?} {command:?}: {change:?}");
                        }
                        (None, Err(refusal)) => assert_eq!(refusal, Refusal::State { state, command }),
                        (listed, outcome) => panic!("{state:?} {command:?}: {listed:?}, but {outcome:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn every_target_of_the_table_is_reached() {
        for (state, command, targets) in TABLE {
            let reached: Vec<State> = tries(&job_in(*state), *command)
                .into_iter()
                .filter_map(|outcome| outcome.ok().map(|change| change.job.state))
                .collect();
            assert!(
                targets.iter().all(|target| reached.contains(target)),
                "{state:?} {command:?}: {reached:?}"
            );
        }
    }

    #[test]
    fn terminal_states_lead_nowhere() {
        for (state, command, targets) in TABLE {
            if state.is_terminal() {
                assert_eq!((*command, *targets), (Command::Replay, [*state].as_slice()));
            }
        }
    }
}
