//! Each kind of provider in its own words: what is sent, and what its documented answers come to.

use forebay_core::attempt::{Outcome, Usage};
use forebay_core::definition::{Deadlines, ProviderKind};
use forebay_core::failure::FailureClass;
use forebay_gateway::{Answer, Call, ChatCall, Gateway, Report, ResponseFormat, Target};
use serde_json::{Map, Value, json};

use crate::provider::{Provider, json_response, stream_in};
use crate::{NOW, assert_failed, attempt, chat, embeddings, target, text};

const MESSAGES: &str = include_str!("golden/messages.sse");
const RESPONSES: &str = include_str!("golden/responses.sse");

/// One call of a provider of this kind.
async fn call_as(kind: ProviderKind, provider: &Provider, call: Call) -> Report {
    let target = Target { kind, ..target(&provider.base_url) };
    Gateway::new().unwrap().call(&target, call, Deadlines::default(), attempt(1), NOW).await
}

/// What a call that is answered by this stream comes to.
async fn streamed(kind: ProviderKind, call: Call, stream: &str) -> Report {
    let provider = Provider::answering(stream_in([stream.as_bytes()])).await;
    call_as(kind, &provider, call).await
}

/// What a call that is answered by this document comes to.
async fn answered(kind: ProviderKind, call: Call, document: &Value) -> Report {
    let provider = Provider::answering(json_response("200 OK", document)).await;
    call_as(kind, &provider, call).await
}

fn responses() -> Call {
    let Call::Chat(call) = chat() else { panic!("a chat") };
    Call::Responses(call)
}

fn rich() -> ChatCall {
    let parts = json!([
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]);
    let params = json!({"temperature": 0, "stop": "END", "reasoning_effort": "low", "prompt_cache_key": "invoice",
        "model": "other", "stream": false, "messages": [], "response_format": {"type": "json_object"}});
    let Value::Object(params) = params else { panic!("an object") };
    ChatCall {
        model: "m-1".to_owned(),
        messages: json!([{"role": "system", "content": "Answer in JSON."}, {"role": "user", "content": parts}]),
        params,
        max_output_tokens: Some(64),
        response_format: Some(ResponseFormat::JsonSchema {
            name: "answer".to_owned(),
            schema: json!({"type": "object", "properties": {"what": {"type": "string", "minLength": 1}},
                "required": ["what"]}),
            strict: true,
        }),
    }
}

#[tokio::test]
async fn requests_on_the_wire() {
    let golden: Value = serde_json::from_str(include_str!("golden/requests.json")).unwrap();
    for (name, kind, call) in [
        ("openai chat", ProviderKind::Openai, Call::Chat(rich())),
        ("openai chat", ProviderKind::Azure, Call::Chat(rich())),
        ("openai responses", ProviderKind::Openai, Call::Responses(rich())),
        ("openai responses", ProviderKind::Azure, Call::Responses(rich())),
        ("anthropic chat", ProviderKind::Anthropic, Call::Chat(rich())),
        ("vllm chat", ProviderKind::Vllm, Call::Chat(rich())),
        ("vllm chat", ProviderKind::LlamaCpp, Call::Chat(rich())),
        ("vllm chat", ProviderKind::Compatible, Call::Chat(rich())),
    ] {
        let provider = Provider::answering(json_response("200 OK", &json!({}))).await;
        call_as(kind, &provider, call).await;
        let [request] = provider.requests().try_into().unwrap();
        let line = format!("POST {} HTTP/1.1\r\n", golden[name]["path"].as_str().unwrap());
        assert!(request.head.starts_with(&line), "{kind:?}: {}", request.head);
        assert_eq!(request.body, golden[name]["body"], "{name} as {kind:?}");
    }
}

#[tokio::test]
async fn the_documented_answer_of_messages() {
    let report = streamed(ProviderKind::Anthropic, chat(), MESSAGES).await;
    let answer = Answer::Chat { text: "Hello!".to_owned(), finish_reason: "end_turn".to_owned() };
    assert_eq!((report.outcome, report.result), (Outcome::Succeeded, Ok(answer)));
    let usage = Usage {
        input_tokens: 425,
        cached_input_tokens: 300,
        cache_write_tokens: 100,
        output_tokens: 15,
        reasoning_tokens: 0,
    };
    assert_eq!(report.usage, Some(usage));
    assert_eq!(report.model.as_deref(), Some("claude-opus-4-6"));
}

#[tokio::test]
async fn the_documented_answer_of_responses() {
    let report = streamed(ProviderKind::Openai, responses(), RESPONSES).await;
    let answer = Answer::Chat { text: "Hi there!".to_owned(), finish_reason: "completed".to_owned() };
    assert_eq!((report.outcome, report.result), (Outcome::Succeeded, Ok(answer)));
    let usage = Usage {
        input_tokens: 37,
        cached_input_tokens: 12,
        output_tokens: 11,
        reasoning_tokens: 3,
        ..Usage::default()
    };
    assert_eq!(report.usage, Some(usage));
    assert_eq!(report.model.as_deref(), Some("gpt-4.1-2025-04-14"));
}

#[tokio::test]
async fn a_stream_that_is_cut_anywhere_is_no_answer() {
    for (kind, call, stream) in
        [(ProviderKind::Anthropic, chat(), MESSAGES), (ProviderKind::Openai, responses(), RESPONSES)]
    {
        let events: Vec<&str> = stream.split_inclusive("\n\n").collect();
        // Messages are complete when they say why they stopped; what follows says no more.
        let needed = if kind == ProviderKind::Anthropic { events.len() - 1 } else { events.len() };
        for count in 0..needed {
            let report = streamed(kind, call.clone(), &events[..count].concat()).await;
            assert_failed(&report, Outcome::Unknown, FailureClass::StreamBroken);
            assert_eq!(report.usage, None, "what was counted so far is not what it cost");
        }
    }
}

#[tokio::test]
async fn why_messages_stopped() {
    for (reason, class) in [
        ("max_tokens", FailureClass::Truncated),
        ("model_context_window_exceeded", FailureClass::Truncated),
        ("refusal", FailureClass::Refused),
        ("tool_use", FailureClass::InvalidOutput),
        ("pause_turn", FailureClass::ProviderError),
    ] {
        let stream = MESSAGES.replace("end_turn", reason);
        let report = streamed(ProviderKind::Anthropic, chat(), &stream).await;
        assert_failed(&report, Outcome::FailedAfterSend, class);
        assert_eq!(report.partial.as_deref(), Some("Hello!"));
        assert_eq!(report.usage.map(|usage| usage.output_tokens), Some(15));
    }
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let stream = MESSAGES.replace("event: message_stop", &format!("{overloaded}event: message_stop"));
    let report = streamed(ProviderKind::Anthropic, chat(), &stream).await;
    assert_failed(&report, Outcome::Unknown, FailureClass::StreamBroken);
}

fn response(status: &str, members: &Value) -> Value {
    let content = json!([{"type": "output_text", "text": "{\"a\":"}]);
    let mut response = json!({"id": "resp_1", "object": "response", "model": "m-1", "status": status,
        "output": [{"type": "message", "role": "assistant", "content": content}],
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}});
    let members = members.as_object().unwrap().clone();
    response.as_object_mut().unwrap().extend(members);
    response
}

#[tokio::test]
async fn why_responses_ended() {
    let refusal = json!([{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]);
    let tool = json!([{"type": "function_call", "name": "rm", "arguments": "{}"}]);
    let why = |reason: &str| json!({"incomplete_details": {"reason": reason}});
    let error = |code: &str| json!({"error": {"code": code, "message": "words"}});
    for (status, members, class) in [
        ("incomplete", why("max_output_tokens"), FailureClass::Truncated),
        ("incomplete", why("content_filter"), FailureClass::ContentFiltered),
        ("incomplete", json!({}), FailureClass::ProviderError),
        ("cancelled", json!({}), FailureClass::ProviderError),
        ("failed", error("server_error"), FailureClass::ProviderError),
        ("failed", error("rate_limit_exceeded"), FailureClass::RateLimited),
        ("failed", error("invalid_prompt"), FailureClass::InvalidRequest),
        ("failed", error("bio_policy"), FailureClass::ContentFiltered),
        ("completed", json!({"output": refusal}), FailureClass::Refused),
        ("completed", json!({"output": tool}), FailureClass::InvalidOutput),
        ("completed", json!({"output": []}), FailureClass::InvalidOutput),
    ] {
        let last = response(status, &members);
        let event = json!({"type": format!("response.{status}"), "response": last});
        if status != "cancelled" {
            let report = streamed(ProviderKind::Openai, responses(), &format!("data: {event}\n\n")).await;
            assert_failed(&report, Outcome::FailedAfterSend, class);
            assert_eq!(report.usage.map(|usage| usage.total()), Some(5), "{status}");
        }
        // An error within a document is an error, whatever the status beside it says.
        if status != "failed" {
            let report = answered(ProviderKind::Openai, responses(), &last).await;
            assert_failed(&report, Outcome::FailedAfterSend, class);
        }
    }
    let report = answered(ProviderKind::Openai, responses(), &response("in_progress", &json!({}))).await;
    assert_failed(&report, Outcome::Unknown, FailureClass::StreamBroken);
}

#[tokio::test]
async fn whole_messages() {
    let message = json!({"type": "message", "model": "claude-opus-4-6", "stop_reason": "end_turn",
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello"}],
        "usage": {"input_tokens": 3, "output_tokens": 2}});
    assert_eq!(text(&answered(ProviderKind::Anthropic, chat(), &message).await), "Hello");
    let report = answered(ProviderKind::Anthropic, chat(), &json!({"type": "message"})).await;
    assert_failed(&report, Outcome::FailedAfterSend, FailureClass::InvalidOutput);
}

#[tokio::test]
async fn what_a_provider_has_no_way_to_do_is_not_sent() {
    let plain = ChatCall { response_format: Some(ResponseFormat::JsonObject), ..rich() };
    let tool = json!([{"role": "tool", "tool_call_id": "c", "content": "42"}]);
    let tool = ChatCall { messages: tool, params: Map::new(), ..rich() };
    let provider = Provider::answering(json_response("200 OK", &json!({}))).await;
    for (kind, call) in [
        (ProviderKind::Anthropic, embeddings(&["a"])),
        (ProviderKind::Anthropic, responses()),
        (ProviderKind::LlamaCpp, responses()),
        (ProviderKind::Anthropic, Call::Chat(plain)),
        (ProviderKind::Anthropic, Call::Chat(tool.clone())),
        (ProviderKind::Openai, Call::Responses(tool)),
    ] {
        let report = call_as(kind, &provider, call).await;
        assert_failed(&report, Outcome::FailedBeforeSend, FailureClass::InvalidRequest);
    }
    assert_eq!(provider.connections(), 0);
}
