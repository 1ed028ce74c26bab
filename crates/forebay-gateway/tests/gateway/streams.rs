//! Chats that come as streams of events.

use forebay_core::attempt::{Outcome, Usage};
use forebay_core::definition::Deadlines;
use forebay_core::failure::FailureClass;
use forebay_gateway::{Gateway, Report};
use serde_json::{Value, json};

use crate::provider::{Provider, STREAM_HEAD, Step, chunk, response, stream_in};
use crate::{assert_failed, attempt, call, call_through, chat, text, timeless};

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn token(content: &str) -> String {
    event(&json!({"model": "m-1-2026", "choices": [{"index": 0, "delta": {"content": content}}]}))
}

fn finish(reason: &str) -> String {
    event(&json!({"model": "m-1-2026", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

fn usage() -> String {
    let usage = json!({"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11,
        "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": null});
    event(&json!({"model": "m-1-2026", "choices": [], "usage": usage}))
}

const DONE: &str = "data: [DONE]\n\n";

fn whole() -> String {
    [token("Grüße "), token("🦀"), finish("stop"), usage(), DONE.to_owned()].concat()
}

/// What a chat that is answered by this stream comes to.
async fn chat_by(stream: impl AsRef<[u8]>) -> Report {
    let provider = Provider::answering(stream_in([stream.as_ref()])).await;
    call(&provider, &chat()).await
}

#[tokio::test]
async fn a_whole_stream_is_a_success() {
    let report = chat_by(whole()).await;
    assert_eq!(report.outcome, Outcome::Succeeded);
    assert_eq!(text(&report), "Grüße 🦀");
    let usage = Usage { input_tokens: 9, cached_input_tokens: 4, output_tokens: 2, ..Usage::default() };
    assert_eq!(report.usage, Some(usage));
    assert_eq!(report.model.as_deref(), Some("m-1-2026"));
    assert_eq!(report.partial, None);
    assert!(report.first_byte.is_some_and(|first| first <= report.total));
}

#[tokio::test]
async fn what_is_sent() {
    let provider = Provider::answering(stream_in([whole().as_bytes()])).await;
    call(&provider, &chat()).await;
    let [request] = provider.requests().try_into().unwrap();
    assert!(request.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"));
    assert_eq!(request.header("authorization"), Some("Bearer sk-test-0123456789"));
    assert_eq!(request.header("x-forebay-attempt"), Some(attempt(1).to_string().as_str()));
    assert_eq!(request.header("accept-encoding"), Some("identity"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.body["stream"], true);
    assert_eq!(request.body["stream_options"], json!({"include_usage": true}));
    assert_eq!(request.body["max_tokens"], 64);
}

#[tokio::test]
async fn the_same_report_wherever_the_stream_is_cut() {
    let dressed = [
        "\u{feff}: welcome\r\n\r\n",
        &token("Grüße ").replace('\n', "\r\n"),
        &token("🦀").replace('\n', "\r"),
        ": ping\n\n",
        &finish("stop"),
        &usage().replace('\n', "\r\n"),
        DONE,
    ]
    .concat();
    let stream = dressed.into_bytes();
    let cuts = stream.len();
    let pieces = stream.clone();
    let provider = Provider::start(move |nth| {
        let (first, second) = pieces.split_at(nth % (pieces.len() + 1));
        vec![Step::Write(stream_in([first, second]))]
    })
    .await;
    let gateway = Gateway::new().unwrap();
    let expected = timeless(chat_by(&stream).await);
    assert_eq!(text(&expected), "Grüße 🦀");
    for cut in 0..=cuts {
        let report = call_through(&gateway, &provider, &chat(), Deadlines::default()).await;
        assert_eq!(timeless(report), expected, "cut at byte {cut}");
    }
    assert!(provider.connections() < cuts / 10, "a whole answer leaves the connection usable");
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    let provider = Provider::answering(stream_in(bytes)).await;
    assert_eq!(timeless(call(&provider, &chat()).await), expected, "byte by byte");
}

#[tokio::test]
async fn the_same_report_wherever_tcp_cuts_the_response() {
    let response = stream_in([token("Grüße 🦀"), finish("stop") + DONE].iter().map(String::as_bytes));
    let expected = {
        let provider = Provider::answering(response.clone()).await;
        timeless(call(&provider, &chat()).await)
    };
    let cuts = response.len();
    let provider = Provider::start(move |nth| {
        let (first, second) = response.split_at(nth.min(response.len()));
        vec![Step::Write(first.to_vec()), Step::Write(second.to_vec())]
    })
    .await;
    let gateway = Gateway::new().unwrap();
    for cut in 0..=cuts {
        let report = call_through(&gateway, &provider, &chat(), Deadlines::default()).await;
        assert_eq!(timeless(report), expected, "cut at byte {cut}");
    }
}

#[tokio::test]
async fn a_stream_without_a_finish_reason_is_broken_whatever_ends_it() {
    for end in ["", DONE, ": bye\n\n", "data: [DONE]"] {
        let report = chat_by(token("Hel") + &token("lo") + end).await;
        assert_failed(&report, Outcome::Unknown, FailureClass::StreamBroken);
        assert_eq!(report.partial.as_deref(), Some("Hello"), "{end:?}");
    }
    let report = chat_by("").await;
    assert_failed(&report, Outcome::Unknown, FailureClass::StreamBroken);
    assert_eq!(report.partial, None);
}

#[tokio::test]
async fn a_finish_reason_counts_only_when_its_event_is_whole() {
    let finish = finish("stop");
    let gateway = Gateway::new().unwrap();
    for cut in 0..finish.len() {
        let stream = token("Hello") + &finish[..cut];
        let provider = Provider::answering(stream_in([stream.as_bytes()])).await;
        let report = call_through(&gateway, &provider, &chat(), Deadlines::default()).await;
        assert_failed(&report, Outcome::Unknown, FailureClass::StreamBroken);
    }
    assert_eq!(text(&chat_by(token("Hello") + &finish).await), "Hello", "[DONE] is not needed");
}

#[tokio::test]
async fn a_connection_that_breaks_is_never_a_success() {
    let before = [STREAM_HEAD.as_bytes(), &chunk(token("Hello"))].concat();
    let after = [before.as_slice(), &chunk(finish("stop")), &chunk(usage())].concat();
    for sent in [before, after] {
        for end in [Step::Close, Step::Reset] {
            let steps = vec![Step::Write(sent.clone()), end];
            let provider = Provider::start(move |_| steps.clone()).await;
            let report = call(&provider, &chat()).await;
            assert_failed(&report, Outcome::Unknown, FailureClass::StreamBroken);
            assert_eq!(provider.requests().len(), 1);
        }
    }
}

#[tokio::test]
async fn an_error_in_mid_stream_is_never_a_success() {
    let error = json!({"error": {"message": "out of memory", "code": 500}});
    for (what, rest) in [
        ("an error object", event(&error)),
        ("an error event", format!("event: error\n{}", event(&json!({"message": "out of memory"})))),
        ("an error after the finish reason", finish("stop") + &event(&error)),
        ("an error, and on it goes", event(&error) + &token("more") + &finish("stop") + DONE),
    ] {
        let report = chat_by(token("Hello") + &rest).await;
        assert_failed(&report, Outcome::Unknown, FailureClass::StreamBroken);
        assert_eq!(report.partial.as_deref(), Some("Hello"), "{what}");
        assert!(report.result.unwrap_err().in_full().contains("out of memory"), "{what}");
    }
}

#[tokio::test]
async fn bytes_that_are_not_utf8_are_an_invalid_output() {
    let stream = [token("Hello").as_bytes(), b"data: {\"choices\": \"\xff\"}\n\n", DONE.as_bytes()].concat();
    let report = chat_by(&stream).await;
    assert_failed(&report, Outcome::FailedAfterSend, FailureClass::InvalidOutput);
    assert_eq!(report.partial.as_deref(), Some("Hello"));
}

#[tokio::test]
async fn an_answer_that_is_cut_at_its_limit_is_kept_as_evidence_with_its_usage() {
    let report = chat_by(token("{\"total\": 5}") + &finish("length") + &usage() + DONE).await;
    assert_failed(&report, Outcome::FailedAfterSend, FailureClass::Truncated);
    assert_eq!(report.partial.as_deref(), Some("{\"total\": 5}"));
    assert_eq!(report.usage.map(|usage| usage.total()), Some(11));
}

#[tokio::test]
async fn usage_that_is_missing_is_not_invented() {
    let report = chat_by(token("Hello") + &finish("stop") + DONE).await;
    assert_eq!(report.outcome, Outcome::Succeeded);
    assert_eq!(report.usage, None);
}

#[tokio::test]
async fn a_stream_that_only_the_end_of_the_connection_ends() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let steps = vec![Step::Write((head.to_owned() + &whole()).into_bytes()), Step::Close];
    let provider = Provider::start(move |_| steps.clone()).await;
    assert_eq!(text(&call(&provider, &chat()).await), "Grüße 🦀");
    let steps = vec![Step::Write((head.to_owned() + &token("Hel")).into_bytes()), Step::Close];
    let provider = Provider::start(move |_| steps.clone()).await;
    assert_failed(&call(&provider, &chat()).await, Outcome::Unknown, FailureClass::StreamBroken);
}

#[tokio::test]
async fn a_server_that_never_closes_after_done_does_not_hold_the_call() {
    let sent = [STREAM_HEAD.as_bytes(), &chunk(whole())].concat();
    let provider = Provider::start(move |_| vec![Step::Write(sent.clone()), Step::Hang]).await;
    assert_eq!(text(&call(&provider, &chat()).await), "Grüße 🦀");
    provider.closed().await;
}

#[tokio::test]
async fn the_providers_name_for_the_call_is_kept() {
    for header in ["x-request-id", "request-id", "apim-request-id"] {
        let headers = format!("content-type: text/event-stream\r\n{header}: req_7\r\n");
        let provider = Provider::answering(response("200 OK", &headers, whole())).await;
        let report = call(&provider, &chat()).await;
        assert_eq!(report.provider_request_id.as_deref(), Some("req_7"), "{header}");
    }
}
