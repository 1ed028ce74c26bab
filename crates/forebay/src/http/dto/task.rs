use forebay_core::definition;
use forebay_core::definition::TaskKind;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// A task: a named definition of work.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Task {
    name: String,
    /// `llm` or `extract`.
    kind: &'static str,
    description: String,
    /// The active revision of the definitions, which a new job of it runs by.
    revision: u32,
    /// The model that its calls go to.
    model: String,
    /// The pool whose capacity they need.
    pool: String,
    /// A JSON Schema of `input` in a submitted job.
    #[schema(value_type = Object)]
    input: Value,
    /// A JSON Schema of the result's `output`, where the task has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    output: Option<Value>,
    limits: TaskLimits,
}

/// What a job of the task may take.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct TaskLimits {
    max_output_tokens: u64,
    /// Tokens of input and output together.
    context_tokens: u64,
    /// Until the deadline of a job that does not name one.
    default_ttl_ms: i64,
    attempt_total_ms: i64,
    max_attempts: u32,
    /// Calls at the same time, over all pools and tenants; no limit where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_in_flight: Option<u64>,
    /// Parameters that a job may set.
    allowed_params: Vec<String>,
}

impl Task {
    /// A task as callers see it.
    pub(in crate::http) fn new(task: &definition::Task, revision: u32) -> Self {
        Self {
            name: task.name.clone(),
            kind: task.kind.name(),
            description: task.description.clone(),
            revision,
            model: task.model.name.clone(),
            pool: task.model.pool.name.clone(),
            input: input_schema(task),
            output: match &task.kind {
                TaskKind::Llm { .. } => None,
                TaskKind::Extract(extraction) => Some(extraction.schema.source().clone()),
            },
            limits: TaskLimits {
                max_output_tokens: task.max_output_tokens,
                context_tokens: task.model.context_tokens,
                default_ttl_ms: task.default_ttl.get(),
                attempt_total_ms: task.attempt_total.get(),
                max_attempts: task.retry.max_attempts,
                max_in_flight: task.max_in_flight,
                allowed_params: task.allowed_params.clone(),
            },
        }
    }
}

fn input_schema(task: &definition::Task) -> Value {
    let one_of = match (&task.kind, task.model.endpoint) {
        (TaskKind::Extract(_), _) => json!([
            only("document", &json!({"type": "string", "pattern": "^doc_[0-9a-f]{64}$"})),
            only("text", &json!({"type": "string"})),
        ]),
        (TaskKind::Llm { .. }, definition::Endpoint::Embeddings) => {
            let text = json!({"type": "string"});
            json!([only("embed", &json!({"anyOf": [text, {"type": "array", "items": text}]}))])
        }
        (TaskKind::Llm { .. }, definition::Endpoint::Chat | definition::Endpoint::Responses) => json!([
            only("messages", &json!({"type": "array", "items": {"type": "object"}})),
            only("prompt", &json!({"type": "string"})),
        ]),
    };
    json!({"oneOf": one_of})
}

/// An object with one member.
fn only(name: &str, schema: &Value) -> Value {
    json!({"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": false})
}

/// Tasks by name.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct TaskList {
    pub(in crate::http) data: Vec<Task>,
}
