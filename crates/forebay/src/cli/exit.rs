//! What a command's end tells a script.

use std::process::ExitCode;

use forebay_core::job::State;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// What was asked for is done.
    Done,
    /// It failed: here, or inside the server.
    Failed,
    /// The command, its configuration or its definitions are written wrongly. Nothing was done.
    Usage,
    /// The job ended without a result: FAILED_TERMINAL or CANCELLED.
    JobFailed,
    /// The job waits for a person: REVIEW_REQUIRED.
    ReviewRequired,
    /// The server can't be reached.
    Unreachable,
    /// The server refused the request (4xx). Repeating it unchanged will not help.
    Refused,
    /// Stopped by a signal before the end.
    Interrupted,
}

impl Exit {
    /// Every end.
    pub const ALL: [Exit; 8] = [
        Exit::Done,
        Exit::Failed,
        Exit::Usage,
        Exit::JobFailed,
        Exit::ReviewRequired,
        Exit::Unreachable,
        Exit::Refused,
        Exit::Interrupted,
    ];

    /// The process's exit code.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::JobFailed => 3,
            Exit::ReviewRequired => 4,
            Exit::Unreachable => 5,
            Exit::Refused => 6,
            Exit::Interrupted => 130,
        }
    }

    /// What a job's state means to whoever waited for the job.
    pub const fn of_state(state: State) -> Exit {
        match state {
            State::Succeeded => Exit::Done,
            State::FailedTerminal | State::Cancelled => Exit::JobFailed,
            State::ReviewRequired => Exit::ReviewRequired,
            State::Ready | State::Running | State::Waiting | State::RetryScheduled => Exit::Done,
        }
    }

    /// The end of a command that did several things: the one that needs attention most.
    #[must_use]
    pub const fn worst(self, other: Exit) -> Exit {
        if other.gravity() > self.gravity() { other } else { self }
    }

    const fn gravity(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::ReviewRequired => 1,
            Exit::JobFailed => 2,
            Exit::Refused => 3,
            Exit::Failed => 4,
            Exit::Usage => 5,
            Exit::Unreachable => 6,
            Exit::Interrupted => 7,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_contract() {
        assert_eq!(Exit::ALL.map(Exit::code), [0, 1, 2, 3, 4, 5, 6, 130]);
    }

    #[test]
    fn only_a_job_that_ended_badly_changes_the_code() {
        let codes = State::ALL.map(|state| (state.name(), Exit::of_state(state).code()));
        assert_eq!(
            codes,
            [
                ("READY", 0),
                ("RUNNING", 0),
                ("WAITING", 0),
                ("RETRY_SCHEDULED", 0),
                ("REVIEW_REQUIRED", 4),
                ("SUCCEEDED", 0),
                ("FAILED_TERMINAL", 3),
                ("CANCELLED", 3),
            ]
        );
    }

    #[test]
    fn the_documented_table_is_this_one() {
        let page = include_str!("../../../../docs/cli.md");
        for exit in Exit::ALL {
            assert!(page.contains(&format!("\n| {} |", exit.code())), "{exit:?} is missing in docs/cli.md");
        }
    }

    #[test]
    fn the_worst_of_several_ends_counts() {
        assert_eq!(Exit::Done.worst(Exit::ReviewRequired), Exit::ReviewRequired);
        assert_eq!(Exit::JobFailed.worst(Exit::ReviewRequired), Exit::JobFailed);
        assert_eq!(Exit::JobFailed.worst(Exit::Unreachable), Exit::Unreachable);
    }
}
