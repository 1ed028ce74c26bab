//! OpenAI's wire format, as its many imitators speak it: chat completions and embeddings.

mod chat;
mod embeddings;
mod request;
mod usage;

use crate::call::EmbeddingsCall;
use crate::wire::Reader;

pub(crate) use request::{chat, embeddings};

/// What reads the answer of a chat completion.
pub(crate) fn chat_reader() -> Box<dyn Reader> {
    Box::new(chat::Draft::default())
}

/// What reads the answer of a call of embeddings.
pub(crate) fn embeddings_reader(call: &EmbeddingsCall) -> Box<dyn Reader> {
    Box::new(embeddings::Draft::new(call.inputs.len()))
}
