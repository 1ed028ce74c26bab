//! Answers that come as one document: embeddings, and chats of servers that don't stream.

use forebay_core::attempt::{Outcome, Usage};
use forebay_core::failure::FailureClass;
use forebay_gateway::Answer;
use serde_json::json;

use crate::provider::{Provider, Step, json_response, response};
use crate::{assert_failed, call, chat, embeddings, text};

#[tokio::test]
async fn embeddings_as_floats_and_as_base64() {
    let floats = json!([{"index": 1, "embedding": [0.25]}, {"index": 0, "embedding": [-1.5]}]);
    let base64 = json!([{"index": 0, "embedding": "AADAvw=="}, {"index": 1, "embedding": "AACAPg=="}]);
    for data in [floats, base64] {
        let usage = json!({"prompt_tokens": 4, "total_tokens": 4});
        let body = json!({"object": "list", "data": data, "model": "e-1-large", "usage": usage});
        let provider = Provider::answering(json_response("200 OK", &body)).await;
        let report = call(&provider, &embeddings(&["a", "b"])).await;
        let vectors = vec![vec![-1.5], vec![0.25]];
        assert_eq!(report.result, Ok(Answer::Embeddings { vectors }));
        assert_eq!(report.usage, Some(Usage { input_tokens: 4, ..Usage::default() }));
        assert_eq!(report.model.as_deref(), Some("e-1-large"));
        let [request] = provider.requests().try_into().unwrap();
        assert!(request.head.starts_with("POST /v1/embeddings "));
        assert_eq!(request.body, json!({"model": "e-1", "input": ["a", "b"]}));
    }
}

#[tokio::test]
async fn too_few_vectors_are_no_answer_but_cost_what_was_used() {
    let body = json!({"data": [{"index": 0, "embedding": [1]}], "usage": {"prompt_tokens": 4}});
    let provider = Provider::answering(json_response("200 OK", &body)).await;
    let report = call(&provider, &embeddings(&["a", "b"])).await;
    assert_failed(&report, Outcome::FailedAfterSend, FailureClass::InvalidOutput);
    assert_eq!(report.usage.map(|usage| usage.input_tokens), Some(4));
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_accepted() {
    let message = json!({"role": "assistant", "content": "Hello", "refusal": null});
    let body = json!({
        "model": "m-1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
    });
    let provider = Provider::answering(json_response("200 OK", &body)).await;
    let report = call(&provider, &chat()).await;
    assert_eq!(text(&report), "Hello");
    assert_eq!(report.usage.map(|usage| usage.total()), Some(11));
}

#[tokio::test]
async fn an_error_body_is_never_a_success() {
    let body = json!({"error": {"message": "Please try again in 12s", "code": 429}});
    let provider = Provider::answering(json_response("200 OK", &body)).await;
    let report = call(&provider, &chat()).await;
    assert_failed(&report, Outcome::FailedAfterSend, FailureClass::RateLimited);
    assert_eq!(report.result.unwrap_err().hint.map(|hint| hint.wait.get()), Some(12_000));
}

#[tokio::test]
async fn a_document_that_is_cut_is_broken() {
    let sent =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"choices\":";
    let provider = Provider::start(|_| vec![Step::Write(sent.into()), Step::Close]).await;
    for kind in [chat(), embeddings(&["a"])] {
        assert_failed(&call(&provider, &kind).await, Outcome::Unknown, FailureClass::StreamBroken);
    }
}

#[tokio::test]
async fn what_nobody_asked_for_is_no_answer() {
    let html = "content-type: text/html\r\n";
    let gzip = "content-type: application/json\r\ncontent-encoding: gzip\r\n";
    let json = "content-type: application/json\r\n";
    for (status, headers, body) in [
        ("200 OK", html, "<h1>Log in</h1>"),
        ("200 OK", "", "{}"),
        ("200 OK", gzip, "\u{1f}\u{8b}"),
        ("200 OK", json, "<h1>Log in</h1>"),
        ("204 No Content", "", ""),
    ] {
        let provider = Provider::answering(response(status, headers, body)).await;
        for kind in [chat(), embeddings(&["a"])] {
            let report = call(&provider, &kind).await;
            assert_failed(&report, Outcome::FailedAfterSend, FailureClass::ProviderError);
        }
    }
    let stream = response("200 OK", "content-type: text/event-stream\r\n", "data: {}\n\n");
    let report = call(&Provider::answering(stream).await, &embeddings(&["a"])).await;
    assert_failed(&report, Outcome::FailedAfterSend, FailureClass::ProviderError);
}

#[tokio::test]
async fn a_document_that_is_not_utf8_is_an_invalid_output() {
    let sent = response("200 OK", "content-type: application/json\r\n", b"{\"model\": \"\xff\"}");
    let report = call(&Provider::answering(sent).await, &chat()).await;
    assert_failed(&report, Outcome::FailedAfterSend, FailureClass::InvalidOutput);
}
