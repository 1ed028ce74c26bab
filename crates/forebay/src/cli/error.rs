//! Why a command did not do what it was asked.

use super::exit::Exit;
use super::problem::Problem;
use crate::config::ConfigFault;

/// Why a command ended early.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The command is written wrongly in a way that the argument parser can't see.
    #[error("{problem}\n  fix: {fix}")]
    Usage {
        /// What is wrong.
        problem: String,
        /// What to write instead.
        fix: String,
    },
    /// The configuration is wrong.
    #[error("the configuration can't be used:\n{}", list(.0))]
    Configuration(Vec<ConfigFault>),
    /// Definitions are wrong; the text shows where.
    #[error("{0}")]
    Definitions(String),
    /// Something failed on this machine.
    #[error("{0}")]
    Failed(String),
    /// Nobody answers at the server's address.
    #[error(
        "{url} can't be reached: {reason}\n  fix: start it with `forebay serve`, or set FOREBAY_URL to where it is"
    )]
    Unreachable {
        /// The address.
        url: String,
        /// What the operating system says.
        reason: String,
    },
    /// The store can't be opened.
    #[error("{problem}\n  fix: {fix}")]
    NoStore {
        /// What is wrong.
        problem: String,
        /// What to do about it.
        fix: String,
    },
    /// The server answered that it did not do it.
    #[error("{0}")]
    Problem(Box<Problem>),
    /// A signal came.
    #[error("interrupted")]
    Interrupted,
    /// Whoever read the output has closed it: `forebay jobs | head`.
    #[error("the output is closed")]
    OutputClosed,
}

impl CliError {
    /// A command that is written wrongly.
    pub fn usage(problem: impl Into<String>, fix: impl Into<String>) -> Self {
        CliError::Usage { problem: problem.into(), fix: fix.into() }
    }

    /// Something that failed, with what led to it.
    pub fn failed(what: &str, error: &dyn std::error::Error) -> Self {
        CliError::Failed(format!("{what}: {}", chain(error)))
    }

    /// The same, said about one of several things.
    #[must_use]
    pub fn about(self, name: &str) -> Self {
        let prefixed = |text: String| if text.starts_with(name) { text } else { format!("{name}: {text}") };
        match self {
            CliError::Usage { problem, fix } => CliError::Usage { problem: prefixed(problem), fix },
            CliError::Failed(message) => CliError::Failed(prefixed(message)),
            CliError::Problem(mut problem) => {
                problem.title = prefixed(problem.title);
                CliError::Problem(problem)
            }
            whole @ (CliError::Configuration(_)
            | CliError::Definitions(_)
            | CliError::NoStore { .. }
            | CliError::Unreachable { .. }
            | CliError::Interrupted
            | CliError::OutputClosed) => whole,
        }
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self {
            CliError::Usage { .. } | CliError::Configuration(_) | CliError::Definitions(_) => Exit::Usage,
            CliError::Failed(_) => Exit::Failed,
            CliError::Unreachable { .. } | CliError::NoStore { .. } => Exit::Unreachable,
            CliError::Problem(problem) if (400..500).contains(&problem.status) => Exit::Refused,
            CliError::Problem(_) => Exit::Failed,
            CliError::Interrupted => Exit::Interrupted,
            CliError::OutputClosed => Exit::Done,
        }
    }

    /// The problem that the server answered with.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            CliError::Problem(problem) => Some(problem),
            CliError::Usage { .. }
            | CliError::Configuration(_)
            | CliError::Definitions(_)
            | CliError::Failed(_)
            | CliError::Unreachable { .. }
            | CliError::NoStore { .. }
            | CliError::Interrupted
            | CliError::OutputClosed => None,
        }
    }
}

fn list(faults: &[ConfigFault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// An error and what led to it, without what the outer message already says.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        source = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_error_has_its_exit_code() {
        let problem = |status| CliError::Problem(Box::new(Problem { status, ..Problem::default() }));
        let unreachable = CliError::Unreachable { url: String::new(), reason: String::new() };
        for (error, code) in [
            (CliError::usage("", ""), 2),
            (CliError::Configuration(Vec::new()), 2),
            (CliError::Definitions(String::new()), 2),
            (CliError::Failed(String::new()), 1),
            (unreachable, 5),
            (CliError::NoStore { problem: String::new(), fix: String::new() }, 5),
            (problem(400), 6),
            (problem(429), 6),
            (problem(500), 1),
            (problem(503), 1),
            (CliError::Interrupted, 130),
            (CliError::OutputClosed, 0),
        ] {
            assert_eq!(error.exit().code(), code, "{error:?}");
        }
    }
}
