//! What a job does next: a pure function of its task, its request and its journal.
//!
//! The journal holds what each finished step left behind. Planning again from the same journal gives the same
//! step, so that a crash between two steps changes nothing.

pub mod extract;
mod llm;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::dataset::DatasetStamp;
use crate::definition::{Task, TaskKind};
use crate::extract::Evaluation;
use crate::id::JobId;
use crate::job::Failure;
use crate::request::StoredRequest;

/// A kind of step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepKind {
    /// A call of a model.
    ModelCall,
    /// A call of a model that is told what is wrong with its answer.
    Correction,
}

impl StepKind {
    /// All of them.
    pub const ALL: [StepKind; 2] = [StepKind::ModelCall, StepKind::Correction];

    /// The name in the API and the database.
    pub const fn name(self) -> &'static str {
        match self {
            StepKind::ModelCall => "model_call",
            StepKind::Correction => "correction",
        }
    }

    /// The kind of that name; none where another build has planned the step.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A step to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its kind.
    pub kind: StepKind,
    /// Tokens that its request is expected to have.
    pub input_tokens: u64,
    /// Tokens that its answer may have.
    pub output_tokens: u64,
}

/// What a finished step left behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// A chat's answer.
    Chat {
        /// The text.
        text: String,
        /// Why the model stopped.
        finish_reason: String,
    },
    /// Embeddings.
    Embeddings {
        /// One vector for each text, in its order.
        vectors: Vec<Vec<f32>>,
    },
    /// An answer about a document, and what it is worth.
    Extraction {
        /// What the model said.
        answer: String,
        /// What our rules found.
        evaluation: Evaluation,
        /// What they held it against.
        #[serde(default)]
        against: Against,
    },
}

/// What an answer was held against beside its document. It changes from day to day; an evaluation that is in the
/// journal is not made again, and explains itself by this.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Against {
    /// The day, UTC, as `YYYY-MM-DD`.
    pub day: String,
    /// The datasets, in the versions that were the latest.
    pub datasets: Vec<DatasetStamp>,
    /// The job that had succeeded with the same fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<JobId>,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// A step that needs capacity.
    Step(Step),
    /// Nothing: this is how the job ends.
    End(Conclusion),
}

/// How a job ends by its own work.
#[derive(Debug, Clone, PartialEq)]
pub enum Conclusion {
    /// With this output.
    Succeed(Value),
    /// With a doubt that a person must decide.
    Review(Failure),
    /// Not at all.
    Fail(Failure),
}

/// What is sent to a model, in the terms of no provider.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelRequest {
    /// A chat.
    Chat {
        /// The messages in OpenAI's form.
        messages: Vec<Value>,
        /// Further parameters.
        params: Map<String, Value>,
        /// The most tokens of the answer.
        max_output_tokens: u64,
    },
    /// Embeddings.
    Embeddings {
        /// The texts.
        inputs: Vec<String>,
        /// Further parameters.
        params: Map<String, Value>,
    },
}

/// Tokens that a text of so many bytes is expected to have: a third of them, rounded up. English text has
/// about four bytes a token in common vocabularies, other languages and numbers fewer; an estimate on the
/// high side reserves too much for a moment, one on the low side breaks a limit.
pub const fn estimated_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(3)
}

/// The first step of a job whose document, if it has one, is of this many bytes.
pub fn first(task: &Task, request: &StoredRequest, document_bytes: usize) -> Step {
    let input_bytes = match &task.kind {
        TaskKind::Llm { prompt } => llm::request_bytes(prompt.as_deref(), request),
        TaskKind::Extract(extraction) => extract::request_bytes(extraction, document_bytes),
    };
    Step {
        kind: StepKind::ModelCall,
        input_tokens: estimated_tokens(input_bytes),
        output_tokens: output_limit(task, &request.params),
    }
}

/// What a job does after the steps in its journal. `document` is the text that it reads, if it reads one.
pub fn next(task: &Task, request: &StoredRequest, document: &str, journal: &[Entry]) -> Next {
    match (&task.kind, journal.last()) {
        (_, None) => Next::Step(first(task, request, document.len())),
        (TaskKind::Llm { .. }, Some(last)) => Next::End(llm::conclude(last)),
        (TaskKind::Extract(extraction), Some(last)) => {
            extract::after(task, extraction, document.len(), journal, last)
        }
    }
}

/// What the current step sends.
///
/// # Errors
///
/// When the prompt can't be filled in, or the request is larger than the model's context.
pub fn compose(
    task: &Task,
    request: &StoredRequest,
    document: &str,
    journal: &[Entry],
) -> Result<ModelRequest, Failure> {
    let composed = match &task.kind {
        TaskKind::Llm { prompt } => llm::compose(task, prompt.as_deref(), request)?,
        TaskKind::Extract(extraction) => extract::compose(task, extraction, request, document, journal)?,
    };
    fits(task, composed)
}

/// The most tokens that an answer may have: what the request asks for, within the task's limit.
pub fn output_limit(task: &Task, params: &Map<String, Value>) -> u64 {
    if task.model.endpoint == crate::definition::Endpoint::Embeddings {
        return 0;
    }
    let asked = params.get(MAX_OUTPUT_TOKENS).and_then(Value::as_u64);
    asked.unwrap_or(task.max_output_tokens).min(task.max_output_tokens)
}

/// The parameter of a request that every task has, within the task's own limit.
pub const MAX_OUTPUT_TOKENS: &str = "max_output_tokens";

/// The task's own parameters, and those of the request over them.
fn params(task: &Task, request: &StoredRequest) -> Map<String, Value> {
    let mut params = task.params.clone();
    params.extend(request.params.iter().map(|(name, value)| (name.clone(), value.clone())));
    params.remove(MAX_OUTPUT_TOKENS);
    params
}

/// Refuses a request of which even a low estimate is larger than the model's context. What is near the edge
/// is the provider's to judge.
fn fits(task: &Task, composed: ModelRequest) -> Result<ModelRequest, Failure> {
    let bytes = match &composed {
        ModelRequest::Chat { messages, .. } => messages.iter().map(message_bytes).sum(),
        ModelRequest::Embeddings { inputs, .. } => inputs.iter().map(String::len).max().unwrap_or_default(),
    };
    check_context(task, bytes)?;
    Ok(composed)
}

/// Refuses what can't fit a model's context: five bytes a token is more than any vocabulary reaches on the
/// average.
///
/// # Errors
///
/// Says by how much it is too large.
pub fn check_context(task: &Task, bytes: usize) -> Result<(), Failure> {
    const MOST_BYTES_PER_TOKEN: u64 = 5;
    let at_least = (bytes as u64) / MOST_BYTES_PER_TOKEN;
    let context = task.model.context_tokens;
    if at_least <= context {
        return Ok(());
    }
    let message = format!(
        "the request has {bytes} bytes, at least {at_least} tokens, and the model `{}` takes {context}: \
         send less, or use a task whose model has a larger context",
        task.model.name
    );
    Err(Failure::new(crate::failure::FailureClass::InvalidRequest, message))
}

fn message_bytes(message: &Value) -> usize {
    match message.get("content") {
        Some(Value::String(text)) => text.len(),
        Some(other) => other.to_string().len(),
        None => 0,
    }
}

#[cfg(test)]
mod tests;
