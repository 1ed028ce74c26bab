//! What is wrong with a configuration.

use std::fmt;

use super::given::{Given, Origin};
use super::key::Key;

/// One thing that is wrong, in words for whoever wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFault {
    /// Where it was written: `forebay.toml:4`, `FOREBAY_SLOTS`, `--listen`.
    pub place: String,
    /// What was written: `lease_ms = 20000`; absent when the text could not be read so far.
    pub written: Option<String>,
    /// What is wrong with it.
    pub problem: String,
    /// What to write instead.
    pub fix: String,
}

impl ConfigFault {
    /// A value that can't be used.
    pub(super) fn of(key: Key, given: &Given, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            place: given.origin.to_string(),
            written: Some(match given.text() {
                Some(text) if may_hold_secret(key, text) => format!("{} = (not shown)", key.name()),
                _ => format!("{} = {}", key.name(), given.raw),
            }),
            problem: problem.into(),
            fix: fix.into(),
        }
    }

    /// A text that can't be read.
    pub(super) fn unreadable(origin: &Origin, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { place: origin.to_string(), written: None, problem: problem.into(), fix: fix.into() }
    }
}

/// Whether a value may be the URL of a store with its password, or a key in the place of where it is.
fn may_hold_secret(key: Key, text: &str) -> bool {
    key == Key::BlobsCredentials || text.contains('@') || text.contains("password")
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if let Some(written) = &self.written {
            write!(f, "{written}: ")?;
        }
        write!(f, "{}\n  fix: {}", self.problem, self.fix)
    }
}

impl std::error::Error for ConfigFault {}
