//! What a rule makes go wrong.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::shape::{MAX_SPAN_MS, ShortOrTable};

/// One way in which a provider fails. Written as its name when every member has its default
/// (`fault = "hang"`), else as a table (`fault = { kind = "cut", after_chunks = 5, reset = true }`).
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// An error answer.
    Status(StatusFault),
    /// The connection stays open and silent before the head of the answer.
    Hang {
        /// The connection closes after this many milliseconds; without it, when the client leaves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// Head and first token arrive, then nothing.
    HangAfterFirstToken {
        /// The connection closes after this many milliseconds; without it, when the client leaves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// One token at a time, this far apart.
    Drip {
        /// Milliseconds between two tokens.
        #[serde(default = "drip_interval")]
        every_ms: f64,
    },
    /// The connection ends in the middle of the answer.
    Cut {
        /// Chunks of content that arrive before the end.
        #[serde(default = "cut_chunks")]
        after_chunks: u64,
        /// Whether the end is a TCP reset and not an orderly close.
        #[serde(default)]
        reset: bool,
    },
    /// The stream ends in good order, but without a finish reason and without `[DONE]`; an answer in one
    /// piece has the finish reason null.
    NoFinishReason {},
    /// An error event in the stream after the head said 200; an answer in one piece is 200 with an error body.
    ErrorMidStream {
        /// Chunks of content that arrive before the error.
        #[serde(default = "error_chunks")]
        after_chunks: u64,
        /// The message of the error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// JSON that ends too early.
    MalformedJson {},
    /// The bytes FF FE inside a text.
    InvalidUtf8 {},
    /// `choices` (or `data`, or `output`) is empty.
    EmptyChoices {},
    /// The model refuses.
    Refusal {
        /// What the refusal says.
        #[serde(default = "refusal_text")]
        text: String,
    },
    /// The text ends in its middle with the finish reason `length`.
    FinishLength {},
    /// No text, and the finish reason `content_filter`.
    ContentFilter {},
    /// A tool call instead of text, whether or not the request had tools.
    ToolCall {
        /// The name of the function.
        #[serde(default = "tool_name")]
        name: String,
        /// Its arguments, as the text that the model wrote.
        #[serde(default = "tool_arguments")]
        arguments: String,
    },
    /// The answer names another model than was asked for.
    WrongModel {
        /// The model that it names.
        #[serde(default = "other_model")]
        model: String,
    },
    /// A redirect to elsewhere.
    Redirect {
        /// The status, 300 to 399.
        #[serde(default = "redirect_status")]
        status: u16,
        /// The `Location`. The default is a path of the simulator that answers 404 and logs the call, so
        /// that the log shows whether the client followed.
        #[serde(default = "redirect_location")]
        location: String,
    },
    /// A text of this many bytes in one line.
    GiantLine {
        /// Bytes of the text.
        #[serde(default = "giant_bytes")]
        bytes: u64,
    },
    /// The connection closes after the request was read, before any byte of an answer.
    CloseBeforeResponse {
        /// Whether the end is a TCP reset and not an orderly close.
        #[serde(default)]
        reset: bool,
    },
}

/// The members of an error answer.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct StatusFault {
    /// The status, 400 to 599.
    pub status: u16,
    /// The message of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The `type` of the error; the default follows from the status.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The `code` of the error; the default follows from the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The body in place of OpenAI's: a string is sent as it is, anything else as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Headers, sent as they are written.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Seconds, before the time scale: sent as `retry-after` (rounded up) and `retry-after-ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<f64>,
}

fn drip_interval() -> f64 {
    5_000.0
}
fn cut_chunks() -> u64 {
    3
}
fn error_chunks() -> u64 {
    1
}
fn refusal_text() -> String {
    "[simulated] I can't help with that.".to_owned()
}
fn tool_name() -> String {
    "simulated_tool".to_owned()
}
fn tool_arguments() -> String {
    r#"{"simulated":true}"#.to_owned()
}
fn other_model() -> String {
    "simulated-other-model".to_owned()
}
fn redirect_status() -> u16 {
    307
}
fn redirect_location() -> String {
    "/v1/redirected".to_owned()
}
fn giant_bytes() -> u64 {
    2 * 1024 * 1024
}

impl Fault {
    /// The name by which scenarios and the log call it.
    pub fn name(&self) -> &'static str {
        match self {
            Fault::Status(_) => "status",
            Fault::Hang { .. } => "hang",
            Fault::HangAfterFirstToken { .. } => "hang_after_first_token",
            Fault::Drip { .. } => "drip",
            Fault::Cut { .. } => "cut",
            Fault::NoFinishReason {} => "no_finish_reason",
            Fault::ErrorMidStream { .. } => "error_mid_stream",
            Fault::MalformedJson {} => "malformed_json",
            Fault::InvalidUtf8 {} => "invalid_utf8",
            Fault::EmptyChoices {} => "empty_choices",
            Fault::Refusal { .. } => "refusal",
            Fault::FinishLength {} => "finish_length",
            Fault::ContentFilter {} => "content_filter",
            Fault::ToolCall { .. } => "tool_call",
            Fault::WrongModel { .. } => "wrong_model",
            Fault::Redirect { .. } => "redirect",
            Fault::GiantLine { .. } => "giant_line",
            Fault::CloseBeforeResponse { .. } => "close_before_response",
        }
    }

    /// What is wrong with the members, if anything.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Fault::Status(fault) => fault.check(),
            Fault::Redirect { status, location } => check_redirect(*status, location),
            Fault::Drip { every_ms } => check_span("every_ms", *every_ms),
            Fault::Hang { for_ms: Some(span) } | Fault::HangAfterFirstToken { for_ms: Some(span) } => {
                check_span("for_ms", *span)
            }
            _ => Ok(()),
        }
    }
}

impl StatusFault {
    fn check(&self) -> Result<(), String> {
        if !(400..=599).contains(&self.status) {
            return Err(format!("status {}: expected 400 to 599", self.status));
        }
        for (name, value) in &self.headers {
            let name_fits = http::HeaderName::try_from(name.as_str()).is_ok();
            if !name_fits || http::HeaderValue::try_from(value.as_str()).is_err() {
                return Err(format!("headers: `{name}: {value}` is not a header"));
            }
        }
        self.retry_after.map_or(Ok(()), |seconds| check_span("retry_after", seconds * 1_000.0))
    }
}

fn check_redirect(status: u16, location: &str) -> Result<(), String> {
    if !(300..=399).contains(&status) {
        return Err(format!("status {status}: expected 300 to 399"));
    }
    match http::HeaderValue::try_from(location) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("location `{location}` is not a header value")),
    }
}

fn check_span(member: &str, millis: f64) -> Result<(), String> {
    if (0.0..=MAX_SPAN_MS).contains(&millis) {
        return Ok(());
    }
    Err(format!("{member}: {millis} ms is outside of 0 to {MAX_SPAN_MS}"))
}

/// Reads a fault by its name or as a table.
pub(super) fn fault_or_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Fault>, D::Error> {
    match ShortOrTable::<String, Fault>::deserialize(deserializer)? {
        ShortOrTable::Table(fault) => Ok(Some(fault)),
        ShortOrTable::Short(name) => {
            let named = serde_json::json!({ "kind": name });
            Fault::deserialize(named).map(Some).map_err(serde::de::Error::custom)
        }
    }
}
