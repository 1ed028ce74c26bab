//! A failure together with what it means for the ledger.

use std::error::Error;

use forebay_core::attempt::{AttemptFailure, Outcome};
use forebay_core::failure::FailureClass;
use forebay_core::limits::MESSAGE_CHARS;
use forebay_core::retry::Hint;
use forebay_core::text::storable;

/// Why a call has no answer, and whether it may have been billed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) outcome: Outcome,
    pub(crate) failure: AttemptFailure,
}

impl Failed {
    /// Nothing reached the provider.
    pub(crate) fn before_send(class: FailureClass, message: impl AsRef<str>) -> Self {
        Self::new(Outcome::FailedBeforeSend, class, message.as_ref())
    }

    /// The provider answered that it failed, or answered something useless.
    pub(crate) fn after_send(class: FailureClass, message: impl AsRef<str>) -> Self {
        Self::new(Outcome::FailedAfterSend, class, message.as_ref())
    }

    /// The provider has the request, and nobody knows what it made of it.
    pub(crate) fn unknown(class: FailureClass, message: impl AsRef<str>) -> Self {
        Self::new(Outcome::Unknown, class, message.as_ref())
    }

    /// The same failure with what the provider said about when to come back.
    pub(crate) fn with_hint(mut self, hint: Option<Hint>) -> Self {
        self.failure.hint = hint;
        self
    }

    /// The same failure with what the provider or the model wrote about it.
    pub(crate) fn saying(mut self, words: impl AsRef<str>) -> Self {
        self.failure.words = Some(storable(words.as_ref(), MESSAGE_CHARS));
        self
    }

    fn new(outcome: Outcome, class: FailureClass, message: &str) -> Self {
        let message = storable(message, MESSAGE_CHARS);
        Self { outcome, failure: AttemptFailure { class, message, words: None, hint: None } }
    }
}

/// An error of the HTTP client with all its causes, without the address: that may hold a secret.
pub(crate) fn in_words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(": ");
        words.push_str(&error.to_string());
        cause = error.source();
    }
    words
}
