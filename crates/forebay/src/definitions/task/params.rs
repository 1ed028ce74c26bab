//! Parameters of the model call that the task sets, and those that a request may set.

use serde_json::Value;

use super::Reading;
use crate::definitions::fault::Faults;
use crate::definitions::parts::within;
use crate::definitions::written::Kind;

/// Parameters that Forebay sets itself, with what to write instead.
const OWN: [(&str, &str); 10] = [
    ("model", "the task's `model` says that"),
    ("messages", "they come from the prompt and the request"),
    ("input", "it comes from the request"),
    ("prompt", "the task's `prompt` says that"),
    ("stream", "answers are always read as a stream"),
    ("stream_options", "answers are always read as a stream"),
    ("n", "a job has one answer; submit more jobs"),
    ("max_tokens", "the task's `max_output_tokens` says that"),
    ("max_completion_tokens", "the task's `max_output_tokens` says that"),
    ("max_output_tokens", "the task's `max_output_tokens` says that"),
];

/// A request may ask for less output than the task allows.
const MAY_BE_ALLOWED: &str = "max_output_tokens";

/// How the toml crate hands a date over.
const DATE_MARK: &str = "$__toml_private_datetime";

/// Checks `params` and `allowed_params`.
pub(super) fn check(faults: &mut Faults<'_>, reading: &Reading<'_>) {
    let path = reading.at("params");
    for (name, value) in &reading.written.params {
        let path = within(&path, name);
        if let Some(instead) = own(reading, name) {
            faults.at(&path, format!("a task does not set this parameter: {instead}"));
        }
        faults.when(!is_json(value), &path, "a parameter is JSON: no date, no infinity, no NaN");
    }
    let path = reading.at("allowed_params");
    for name in reading.written.allowed_params.iter().filter(|name| *name != MAY_BE_ALLOWED) {
        if let Some(instead) = own(reading, name) {
            faults.at(&path, format!("a request can't set `{name}`: {instead}"));
        }
    }
}

fn own(reading: &Reading<'_>, name: &str) -> Option<&'static str> {
    if name == "response_format" && reading.written.kind == Kind::Extract {
        return Some("the schema and the model's `structured_output` say that");
    }
    OWN.iter().find(|(own, _)| *own == name).map(|(_, instead)| *instead)
}

/// Whether a value came through as JSON: TOML has no null, so a null is a number that JSON can't say.
fn is_json(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(elements) => elements.iter().all(is_json),
        Value::Object(members) => !members.contains_key(DATE_MARK) && members.values().all(is_json),
    }
}
