//! OpenAI's wire format, as its many imitators speak it: chat completions and embeddings.

mod chat;
mod embeddings;
mod request;
mod usage;

use forebay_core::failure::FailureClass;
use forebay_core::limits::KEY_CHARS;
use forebay_core::text::storable;
use serde_json::Value;

use crate::call::Call;
use crate::failed::Failed;
use crate::provider_error::{self, ProviderError};
use crate::wire::Reader;

pub(crate) use request::encode;

/// What reads the answer of a call.
pub(crate) fn reader(call: &Call) -> Box<dyn Reader> {
    match call {
        Call::Chat(_) => Box::new(chat::Draft::default()),
        Call::Embeddings(call) => Box::new(embeddings::Draft::new(call.inputs.len())),
    }
}

/// Reads an answer that came as one JSON document. An error in it is the provider's word that it failed,
/// whatever the status said.
fn parse_document(body: &[u8]) -> Result<Value, Failed> {
    let text = str::from_utf8(body)
        .map_err(|_| Failed::after_send(FailureClass::InvalidOutput, "the answer is not UTF-8"))?;
    let document: Value = serde_json::from_str(text).map_err(|error| {
        Failed::after_send(FailureClass::ProviderError, format!("the answer is not JSON: {error}"))
    })?;
    if provider_error::is_error(&document) {
        return Err(provider_error::in_success(&ProviderError::from_json(&document)));
    }
    Ok(document)
}

/// The model that an answer or a chunk says it comes from.
fn model_of(body: &Value) -> Option<String> {
    let model = body["model"].as_str().filter(|model| !model.is_empty())?;
    Some(storable(model, KEY_CHARS))
}
