//! The planner of `llm` tasks: one call, and its answer is the output.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Conclusion, Entry, ModelRequest, message_bytes, output_limit, params};
use crate::definition::Task;
use crate::failure::FailureClass;
use crate::job::Failure;
use crate::prompt::Prompt;
use crate::request::{Input, StoredRequest};

pub(super) fn request_bytes(prompt: Option<&Prompt>, request: &StoredRequest) -> usize {
    let instructions = prompt.map_or(0, |prompt| prompt.source().len());
    instructions
        + match &request.input {
            Input::Messages(messages) => messages.iter().map(message_bytes).sum(),
            Input::Embed(texts) => texts.iter().map(String::len).sum(),
            Input::Document(_) => 0,
            Input::Text(text) => text.len(),
        }
}

pub(super) fn compose(
    task: &Task,
    prompt: Option<&Prompt>,
    request: &StoredRequest,
) -> Result<ModelRequest, Failure> {
    match &request.input {
        Input::Embed(texts) => {
            Ok(ModelRequest::Embeddings { inputs: texts.clone(), params: params(task, request) })
        }
        Input::Messages(messages) => {
            let instructions = prompt.map(instructions).transpose()?;
            Ok(ModelRequest::Chat {
                messages: instructions.into_iter().chain(messages.iter().cloned()).collect(),
                params: params(task, request),
                max_output_tokens: output_limit(task, &request.params),
            })
        }
        Input::Document(_) | Input::Text(_) => {
            let message = "an `llm` task takes messages or texts to embed, not a document";
            Err(Failure::new(FailureClass::Undecodable, message))
        }
    }
}

/// The task's own instructions, before what the caller says.
fn instructions(prompt: &Prompt) -> Result<Value, Failure> {
    let content = prompt
        .render(&BTreeMap::new())
        .map_err(|error| Failure::new(FailureClass::Undecodable, error.to_string()))?;
    Ok(json!({"role": "system", "content": content}))
}

pub(super) fn conclude(last: &Entry) -> Conclusion {
    match last {
        Entry::Chat { text, finish_reason } => {
            Conclusion::Succeed(json!({"text": text, "finish_reason": finish_reason}))
        }
        Entry::Embeddings { vectors } => Conclusion::Succeed(json!({"embeddings": vectors})),
        Entry::Extraction { .. } => {
            let message = "the journal of an `llm` job has an extraction in it";
            Conclusion::Fail(Failure::new(FailureClass::Undecodable, message))
        }
    }
}
