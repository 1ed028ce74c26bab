//! What came of a call.

use forebay_core::attempt::{AttemptFailure, Outcome, Usage};
use forebay_core::time::Millis;

use crate::hints::Signals;

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// What came of it for the ledger.
    pub outcome: Outcome,
    /// The answer, or why there is none. `Ok` exactly when the outcome is [`Outcome::Succeeded`].
    pub result: Result<Answer, AttemptFailure>,
    /// What the provider says it used; also of an answer that failed, where it said so. Absent when it said
    /// nothing, or nothing that can be true.
    pub usage: Option<Usage>,
    /// The text that had arrived when the call failed: evidence, never a result.
    pub partial: Option<String>,
    /// The provider's own name for the call, for asking its support.
    pub provider_request_id: Option<String>,
    /// What the answer said about the provider's limits; nothing where there was no answer.
    pub signals: Signals,
    /// The model that the provider says answered, which may be another than the one asked for.
    pub model: Option<String>,
    /// Time from the start of the call to the first byte of the answer's body.
    pub first_byte: Option<Millis>,
    /// Time from the start of the call to its end.
    pub total: Millis,
}

/// An answer that is whole.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The text of a chat completion; not empty, and complete in the provider's words.
    Chat {
        /// The text.
        text: String,
        /// Why the model stopped, as the provider calls it: `stop`.
        finish_reason: String,
    },
    /// Vectors, one for each input and in the same order, all of the same length and all finite.
    Embeddings {
        /// The vectors.
        vectors: Vec<Vec<f32>>,
    },
}
