//! Attempts: one claim of a step and what came of it.

use serde::{Deserialize, Serialize};

use crate::failure::FailureClass;

/// What came of an attempt, as far as the money is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The call returned a whole answer; whether the job liked it is another question.
    Succeeded,
    /// Nothing reached the provider: nothing is billed.
    FailedBeforeSend,
    /// The provider answered that it failed, or answered something useless.
    FailedAfterSend,
    /// The call may have been billed: a timeout, a cut stream, a lost worker. The reservation stays on the
    /// books as uncertain until somebody who knows settles it.
    Unknown,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Outcome; 4] =
        [Outcome::Succeeded, Outcome::FailedBeforeSend, Outcome::FailedAfterSend, Outcome::Unknown];

    /// The name in the API and the database.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::FailedBeforeSend => "failed_before_send",
            Outcome::FailedAfterSend => "failed_after_send",
            Outcome::Unknown => "unknown",
        }
    }

    /// The outcome of that name.
    pub fn from_name(name: &str) -> Option<Outcome> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }
}

/// Tokens that a provider says it used, in one shape for all providers: `input_tokens` includes what was
/// read from the provider's cache, `output_tokens` includes reasoning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens sent, cached ones included.
    pub input_tokens: u64,
    /// Of those, tokens that the provider read from its cache.
    #[serde(default)]
    pub cached_input_tokens: u64,
    /// Of those, tokens that the provider wrote to its cache for later calls. No price of their own yet: they
    /// cost what input costs.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// Tokens generated, reasoning included; 0 for embeddings.
    pub output_tokens: u64,
    /// Of those, tokens of reasoning that the answer does not show.
    #[serde(default)]
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Tokens in both directions.
    pub const fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// Why an attempt did not give the job what it needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttemptFailure {
    /// Which kind of failure; decides about retry, charge and blame.
    pub class: FailureClass,
    /// What a person reads, in our own words: it may stand in events and with the job.
    pub message: String,
    /// What the provider or the model wrote, made storable by [`crate::text::storable`]. It may repeat what it was
    /// sent, so it stands with the attempt, for those who may look behind jobs, and nowhere else (I31).
    pub words: Option<String>,
    /// What the provider said about when to come back.
    pub hint: Option<crate::retry::Hint>,
}

impl AttemptFailure {
    /// Message and words: what the attempt keeps.
    pub fn in_full(&self) -> String {
        match &self.words {
            Some(words) if !words.is_empty() => format!("{}: {words}", self.message),
            _ => self.message.clone(),
        }
    }
}
