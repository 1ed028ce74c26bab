//! What a model has said so far, whoever's format it came in, and whether that is an answer.

use forebay_core::attempt::Usage;
use forebay_core::failure::FailureClass;
use forebay_core::limits::KEY_CHARS;
use forebay_core::text::storable;
use serde_json::Value;

use crate::failed::Failed;
use crate::provider_error::{self, ProviderError};
use crate::report::Answer;
use crate::sse::Event;
use crate::wire::Reading;

/// More tokens than any call can use; a larger number is a fault of the provider's and counts as none.
const MOST_TOKENS: u64 = 1_000_000_000;

/// What a model has said so far.
#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) refusal: String,
    /// The name of the tool that the model wants called; empty if it gave none.
    pub(crate) tool: Option<String>,
    /// Why the model stopped, in the provider's word for it.
    pub(crate) finish_reason: Option<String>,
    pub(crate) usage: Option<Usage>,
    pub(crate) model: Option<String>,
}

impl Said {
    /// What it amounts to.
    pub(crate) fn finish(self) -> Reading {
        let answer = self.verdict();
        let text = [self.text, self.refusal].into_iter().find(|text| !text.is_empty());
        Reading { answer, text, usage: self.usage, model: self.model }
    }

    /// Whether this is an answer. Only a reason that is known to mean completeness makes it one.
    fn verdict(&self) -> Result<Answer, Failed> {
        let Some(reason) = &self.finish_reason else {
            return Err(broken("the answer ended without saying that it is complete"));
        };
        match reason.as_str() {
            "length"
            | "max_tokens"
            | "max_output_tokens"
            | "model_length"
            | "model_context_window_exceeded" => {
                Err(useless(FailureClass::Truncated, &format!("the model stopped at its limit ({reason})")))
            }
            "content_filter" => {
                Err(useless(FailureClass::ContentFiltered, "the provider's content filter cut the answer"))
            }
            _ if !self.refusal.is_empty() => Err(refused(&self.refusal)),
            "refusal" => Err(refused(&self.text)),
            "tool_calls" | "function_call" | "tool_use" => Err(self.unwanted_tool()),
            _ if self.tool.is_some() => Err(self.unwanted_tool()),
            "stop" | "stop_sequence" | "end_turn" | "eos" | "eos_token" | "completed" => {
                self.complete(reason)
            }
            _ => Err(useless(
                FailureClass::ProviderError,
                "the model stopped for a reason that is not known here",
            )
            .saying(reason)),
        }
    }

    fn complete(&self, reason: &str) -> Result<Answer, Failed> {
        if self.text.trim().is_empty() {
            return Err(useless(FailureClass::InvalidOutput, "the answer is empty"));
        }
        Ok(Answer::Chat { text: self.text.clone(), finish_reason: reason.to_owned() })
    }

    fn unwanted_tool(&self) -> Failed {
        let name = self.tool.as_deref().unwrap_or_default();
        useless(FailureClass::InvalidOutput, "the model wants a tool called; this call takes only text")
            .saying(format!("`{name}`"))
    }
}

/// The provider answered, but not with what was asked for.
pub(crate) fn useless(class: FailureClass, message: &str) -> Failed {
    Failed::after_send(class, message)
}

/// The answer broke off, so nobody knows what the provider counts.
pub(crate) fn broken(message: &str) -> Failed {
    Failed::unknown(FailureClass::StreamBroken, message)
}

fn refused(words: &str) -> Failed {
    useless(FailureClass::Refused, "the model refused").saying(words)
}

/// Reads an event that is JSON. An error in mid-stream ends the answer, whatever its name.
pub(crate) fn parse_event(event: &Event) -> Result<Value, Failed> {
    let json: Value = serde_json::from_str(&event.data)
        .map_err(|error| broken(&format!("an event of the stream is not JSON: {error}")))?;
    if event.name == "error" || provider_error::is_error(&json) {
        let error = ProviderError::from_json(&json);
        return Err(broken("an error in mid-stream").saying(&error.message).with_hint(error.hint()));
    }
    Ok(json)
}

/// Reads an answer that came as one JSON document. An error in it is the provider's word that it failed,
/// whatever the status said.
pub(crate) fn parse_document(body: &[u8]) -> Result<Value, Failed> {
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
pub(crate) fn model_of(body: &Value) -> Option<String> {
    let model = body["model"].as_str().filter(|model| !model.is_empty())?;
    Some(storable(model, KEY_CHARS))
}

/// A number of tokens that can be true.
pub(crate) fn tokens(value: &Value) -> Option<u64> {
    value.as_u64().filter(|count| *count <= MOST_TOKENS)
}

/// Some servers send zeros where they don't know.
pub(crate) fn believable(usage: Usage) -> Option<Usage> {
    (usage.total() > 0).then_some(usage)
}
