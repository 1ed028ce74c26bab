//! `POST /v1/responses`, answered at once and in one piece.

use axum::response::Response;
use serde_json::{Value, json};

use super::compose::{Composition, Content, Finish, billed, compose};
use super::provider::Task;
use super::scenario::{Fault, UsageCounts};
use super::script::Exchange;
use super::wire::deliver;

/// Composes the answer and sends it.
pub(super) async fn answer(mut task: Task<'_>, mut exchange: Exchange) -> Response {
    let rule = task.applied.map(|applied| &*applied.rule);
    let composition = compose(&task.ask, rule, &task.active.scenario.defaults, &mut task.rng);
    if let Some(usage) = billed(composition.usage, rule) {
        exchange.call.says(usage);
    }
    let created = exchange.call.sim().clock.now() / 1_000_000;
    let is_empty = matches!(task.fault, Some(Fault::EmptyChoices {}));
    let body = response(exchange.call.seq(), created, &composition, is_empty);
    deliver(body, composition.output_tokens, task.fault, exchange).await
}

fn response(seq: u64, created: u64, composition: &Composition, is_empty: bool) -> Value {
    let (status, reason) = match composition.finish {
        Finish::Stop | Finish::ToolCalls => ("completed", None),
        Finish::Length => ("incomplete", Some("max_output_tokens")),
        Finish::ContentFilter => ("incomplete", Some("content_filter")),
        Finish::Unknown => ("in_progress", None),
    };
    let output = if is_empty { vec![] } else { vec![output_item(seq, composition, status)] };
    let mut body = json!({
        "id": format!("resp_sim_{seq}"),
        "object": "response",
        "created_at": created,
        "status": status,
        "background": false,
        "error": null,
        "incomplete_details": reason.map(|reason| json!({ "reason": reason })),
        "model": composition.model,
        "output": output,
        "parallel_tool_calls": true,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
        "system_fingerprint": "forebay-sim",
    });
    if status == "completed" {
        body["completed_at"] = json!(created);
    }
    if let Some(usage) = composition.usage {
        body["usage"] = usage_of(usage);
    }
    body
}

fn output_item(seq: u64, composition: &Composition, status: &str) -> Value {
    let part = match &composition.content {
        Content::Text(text) => json!({ "type": "output_text", "text": text, "annotations": [] }),
        Content::Refusal(text) => json!({ "type": "refusal", "refusal": text }),
        Content::ToolCall { name, arguments } => {
            return json!({
                "id": format!("fc_sim_{seq}"), "type": "function_call", "call_id": format!("call_sim_{seq}"),
                "name": name, "arguments": arguments, "status": status,
            });
        }
    };
    json!({
        "id": format!("msg_sim_{seq}"), "type": "message", "role": "assistant", "status": status,
        "content": [part],
    })
}

fn usage_of(usage: UsageCounts) -> Value {
    let UsageCounts { input_tokens, output_tokens } = usage;
    json!({
        "input_tokens": input_tokens,
        "input_tokens_details": { "cached_tokens": 0, "cache_write_tokens": 0 },
        "output_tokens": output_tokens,
        "output_tokens_details": { "reasoning_tokens": 0 },
        "total_tokens": input_tokens.saturating_add(output_tokens),
    })
}
