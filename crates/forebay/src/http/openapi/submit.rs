//! The schema of a submission, with the bounds that its parser holds. What depends on the task (which input,
//! which parameters) or on the time is not in it.

use forebay_core::limits::{
    EMBED_TEXTS, KEY_CHARS, METADATA_KEY_CHARS, METADATA_MEMBERS, METADATA_VALUE_CHARS,
};
use forebay_core::request::input::ROLES;
use serde_json::{Value, json};

use super::schemas::NAME;

/// The schema's name in the document.
pub(super) const SUBMIT: &str = "Submit";

/// No control characters.
const PLAIN: &str = r"^[^\u0000-\u001f\u007f-\u009f]*$";
/// No control characters but line breaks and tabs.
pub(super) const LINES: &str = r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]*$";

/// The schema.
pub(super) fn schema() -> Value {
    let key = |description: &str| json!({"type": "string", "minLength": 1, "maxLength": KEY_CHARS, "pattern": PLAIN, "description": description});
    let time =
        |description: &str| json!({"type": "string", "format": "date-time", "description": description});
    let span = |least: u8| json!({"type": "integer", "minimum": least, "maximum": i64::MAX, "description": "The same as a span from now."});
    json!({
        "type": "object",
        "description": "What a job is asked for with.",
        "required": ["task", "input"],
        "properties": {
            "task": {"type": "string", "pattern": task(), "examples": ["invoice"],
                     "description": "A task's name, or `name@revision`."},
            "input": input(),
            "params": params(),
            "deadline": time("Until when machines may work on it; the task's default where absent."),
            "ttl_ms": span(1),
            "not_before": time("From when on it may run."),
            "delay_ms": span(0),
            "priority": {"type": "string", "enum": ["high", "normal", "low"], "default": "normal"},
            "ordering_key": key("Jobs of one tenant, task and key run one at a time, in accept order."),
            "correlation_id": key("Carried by every event of the job; the idempotency key where absent."),
            "metadata": metadata(),
            "user": key("Whom the caller acts for: counted by where there is a limit for each, and no part of the job."),
            "series": {
                "type": "object",
                "description": "Which version of which document it is about.",
                "required": ["key", "version"],
                "properties": {
                    "key": key("Names what has versions."),
                    "version": {"type": "integer", "minimum": 0, "maximum": i64::MAX},
                },
            },
        },
        "allOf": [
            {"not": {"required": ["deadline", "ttl_ms"]}},
            {"not": {"required": ["not_before", "delay_ms"]}},
        ],
    })
}

fn task() -> String {
    format!("{}(@[1-9][0-9]{{0,8}})?$", NAME.trim_end_matches('$'))
}

fn input() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let only = |name: &str, schema: Value| json!({"type": "object", "required": [name], "properties": {name: schema}});
    json!({
        "description": "By the task's kind. `llm`: messages, a prompt, or texts to embed. `extract`: a document or a text.",
        "oneOf": [
            only("messages", json!({"type": "array", "minItems": 1, "items": message()})),
            only("prompt", text.clone()),
            only("embed", json!({"oneOf": [text, {"type": "array", "minItems": 1, "maxItems": EMBED_TEXTS, "items": text}]})),
            only("document", json!({"type": "string", "pattern": "^doc_[0-9a-f]{64}$"})),
            only("text", text.clone()),
        ],
    })
}

/// The two members that are checked here; the others go to the provider as they are.
fn message() -> Value {
    let content = json!({"oneOf": [{"type": "string"}, {"type": "array"}]});
    json!({
        "type": "object",
        "required": ["role", "content"],
        "properties": {"role": {"type": "string", "enum": ROLES}, "content": content},
        "additionalProperties": true,
    })
}

fn params() -> Value {
    json!({
        "type": "object",
        "description": "Parameters of the model call that the task allows.",
        "properties": {"max_output_tokens": {"type": "integer", "minimum": 1}},
        "additionalProperties": true,
    })
}

fn metadata() -> Value {
    json!({
        "type": "object",
        "description": "The caller's own words, given back with the job.",
        "maxProperties": METADATA_MEMBERS,
        "propertyNames": {"minLength": 1, "maxLength": METADATA_KEY_CHARS, "pattern": PLAIN},
        "additionalProperties": {"type": "string", "maxLength": METADATA_VALUE_CHARS, "pattern": LINES},
    })
}
