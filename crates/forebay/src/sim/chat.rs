//! `POST /v1/chat/completions`, in one piece and as a stream.

use axum::body::Bytes;
use axum::response::Response;
use http::StatusCode;
use serde_json::{Value, json};

use super::compose::{Composition, Content, Finish, billed, chat_usage, compose};
use super::error::envelope;
use super::provider::Task;
use super::scenario::{Fault, Span};
use super::script::{Exchange, Step, content_type_header};
use super::text::{count_tokens, pieces};
use super::wire::{deliver, giant_parts, malformed, with_invalid_utf8};

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";

/// Composes the answer and sends it.
pub(super) async fn answer(mut task: Task<'_>, mut exchange: Exchange) -> Response {
    let rule = task.applied.map(|applied| &*applied.rule);
    let defaults = &task.active.scenario.defaults;
    let composition = compose(&task.ask, rule, defaults, &mut task.rng);
    if let Some(usage) = billed(composition.usage, rule) {
        exchange.call.says(usage);
    }
    let created = exchange.call.sim().clock.now() / 1_000_000;
    let completion = Completion {
        id: format!("chatcmpl-sim-{}", exchange.call.seq()),
        created,
        composition,
        include_usage: task.ask.include_usage,
    };
    if task.ask.stream {
        let chunk_tokens = rule.and_then(|rule| rule.chunk_tokens).unwrap_or(defaults.chunk_tokens);
        stream(&completion, task.fault, chunk_tokens, exchange).await
    } else {
        whole(&completion, task.fault, exchange).await
    }
}

struct Completion {
    id: String,
    created: u64,
    composition: Composition,
    include_usage: bool,
}

impl Finish {
    fn chat_word(self) -> Option<&'static str> {
        match self {
            Finish::Stop => Some("stop"),
            Finish::Length => Some("length"),
            Finish::ContentFilter => Some("content_filter"),
            Finish::ToolCalls => Some("tool_calls"),
            Finish::Unknown => None,
        }
    }
}

async fn whole(completion: &Completion, fault: Option<&Fault>, exchange: Exchange) -> Response {
    if let Some(Fault::ErrorMidStream { message, .. }) = fault {
        let body = error_body(message.as_deref()).to_string().into_bytes();
        return exchange.whole(StatusCode::OK, content_type_header(JSON), body, 0);
    }
    deliver(completion.body(fault), completion.composition.output_tokens, fault, exchange).await
}

impl Completion {
    fn body(&self, fault: Option<&Fault>) -> Value {
        let choice = json!({
            "index": 0,
            "message": self.message(),
            "finish_reason": self.composition.finish.chat_word(),
            "logprobs": null,
        });
        let choices = if matches!(fault, Some(Fault::EmptyChoices {})) { vec![] } else { vec![choice] };
        let mut body = json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.composition.model,
            "choices": choices,
            "service_tier": "default",
            "system_fingerprint": "forebay-sim",
        });
        if let Some(usage) = self.composition.usage {
            body["usage"] = chat_usage(usage);
        }
        body
    }

    fn message(&self) -> Value {
        let mut message = json!({ "role": "assistant", "content": null, "refusal": null });
        match &self.composition.content {
            Content::Text(text) => message["content"] = json!(text),
            Content::Refusal(text) => message["refusal"] = json!(text),
            Content::ToolCall { name, arguments } => {
                message["tool_calls"] = json!([self.tool_call(name, arguments)]);
            }
        }
        message
    }

    fn tool_call(&self, name: &str, arguments: &str) -> Value {
        let id = format!("call_{}", self.id);
        json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
    }

    fn chunk(&self, choices: Value) -> Value {
        let mut chunk = json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.composition.model,
            "choices": choices,
            "service_tier": "default",
            "system_fingerprint": "forebay-sim",
        });
        if self.include_usage {
            chunk["usage"] = Value::Null;
        }
        chunk
    }

    fn choice(&self, delta: Value, finish: Option<&str>) -> Value {
        self.chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish, "logprobs": null }]))
    }

    fn first_delta(&self) -> Value {
        match &self.composition.content {
            Content::Text(_) => json!({ "role": "assistant", "content": "", "refusal": null }),
            Content::Refusal(_) => json!({ "role": "assistant", "content": null, "refusal": "" }),
            Content::ToolCall { name, .. } => {
                let mut call = self.tool_call(name, "");
                call["index"] = json!(0);
                json!({ "role": "assistant", "content": null, "tool_calls": [call] })
            }
        }
    }

    fn delta(&self, piece: &str) -> Value {
        match &self.composition.content {
            Content::Text(_) => json!({ "content": piece }),
            Content::Refusal(_) => json!({ "refusal": piece }),
            Content::ToolCall { .. } => {
                json!({ "tool_calls": [{ "index": 0, "function": { "arguments": piece } }] })
            }
        }
    }
}

/// The head goes out together with the first token.
async fn stream(
    completion: &Completion,
    fault: Option<&Fault>,
    chunk_tokens: u32,
    mut exchange: Exchange,
) -> Response {
    let mut chunk_tokens = chunk_tokens;
    if let Some(Fault::Drip { every_ms }) = fault {
        exchange.pace.set_per_token(Span::Fixed(*every_ms));
        chunk_tokens = 1;
    }
    exchange.pace.first_token().await;
    exchange.play(EVENT_STREAM, None, steps(completion, fault, chunk_tokens))
}

/// The steps of a stream: the role, the chunks of content with what goes wrong between them, and the end.
fn steps(completion: &Completion, fault: Option<&Fault>, chunk_tokens: u32) -> Vec<Step> {
    if matches!(fault, Some(Fault::EmptyChoices {})) {
        return vec![Step::Frame(event(&completion.chunk(json!([])))), Step::Frame(done())];
    }
    let mut steps = vec![Step::Frame(event(&completion.choice(completion.first_delta(), None)))];
    if let Some(Fault::GiantLine { bytes }) = fault {
        steps.extend(giant_event(completion, *bytes));
    }
    for (index, piece) in pieces(completion.composition.content.text(), chunk_tokens).iter().enumerate() {
        if breaks_off(fault, index as u64) {
            break;
        }
        let chunk = completion.choice(completion.delta(piece), None);
        let bytes = if index == 0 { spoilt(&chunk, fault) } else { event(&chunk) };
        // The first token has had its own wait.
        let tokens = count_tokens(piece.len());
        steps.push(Step::Tokens { bytes, tokens, waits: if index == 0 { tokens - 1 } else { tokens } });
        if let (0, Some(Fault::HangAfterFirstToken { for_ms })) = (index, fault) {
            steps.push(Step::Stall(*for_ms));
        }
    }
    steps.extend(ending(completion, fault));
    steps
}

/// Whether the stream breaks off before the chunk with this index.
fn breaks_off(fault: Option<&Fault>, index: u64) -> bool {
    match fault {
        Some(Fault::Cut { after_chunks, .. } | Fault::ErrorMidStream { after_chunks, .. }) => {
            index >= *after_chunks
        }
        _ => false,
    }
}

fn ending(completion: &Completion, fault: Option<&Fault>) -> Vec<Step> {
    match fault {
        Some(Fault::Cut { reset, .. }) => return vec![Step::Cut(*reset)],
        Some(Fault::ErrorMidStream { message, .. }) => {
            return vec![Step::Frame(event(&error_body(message.as_deref())))];
        }
        Some(Fault::HangAfterFirstToken { for_ms }) => return vec![Step::Stall(*for_ms)],
        Some(Fault::NoFinishReason {}) => return Vec::new(),
        _ => {}
    }
    let finish = completion.composition.finish.chat_word();
    let mut frames = vec![event(&completion.choice(json!({}), finish))];
    if let (true, Some(usage)) = (completion.include_usage, completion.composition.usage) {
        let mut chunk = completion.chunk(json!([]));
        chunk["usage"] = chat_usage(usage);
        frames.push(event(&chunk));
    }
    frames.push(done());
    frames.into_iter().map(Step::Frame).collect()
}

/// A chunk as an event, with what the fault does to its bytes.
fn spoilt(chunk: &Value, fault: Option<&Fault>) -> Bytes {
    let json = chunk.to_string().into_bytes();
    let json = match fault {
        Some(Fault::MalformedJson {}) => malformed(json),
        Some(Fault::InvalidUtf8 {}) => with_invalid_utf8(json),
        _ => json,
    };
    framed(&json)
}

fn giant_event(completion: &Completion, bytes: u64) -> [Step; 3] {
    let chunk = completion.choice(json!({ "content": "" }), None).to_string().into_bytes();
    let (before, after) = giant_parts(&chunk);
    let before = [b"data: ", before].concat();
    let after = [after, b"\n\n"].concat();
    [Step::Frame(before.into()), Step::Filling(bytes), Step::Frame(after.into())]
}

fn error_body(message: Option<&str>) -> Value {
    let message = message.unwrap_or("[simulated] The server had an error while it answered.");
    envelope(message, "server_error", None, None)
}

fn event(value: &Value) -> Bytes {
    framed(value.to_string().as_bytes())
}

fn done() -> Bytes {
    Bytes::from_static(b"data: [DONE]\n\n")
}

fn framed(json: &[u8]) -> Bytes {
    [b"data: ", json, b"\n\n"].concat().into()
}
