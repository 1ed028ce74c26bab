//! Answers that are larger than what is read.

use forebay_core::attempt::Outcome;
use forebay_core::failure::FailureClass;
use forebay_core::limits::PROVIDER_REPLY_BYTES;
use serde_json::json;

use crate::provider::{Provider, Step, response};
use crate::{assert_failed, call, chat, text};

/// What socket buffers may hold beyond what the client reads.
const BUFFERS: usize = 16 << 20;

async fn flood(content_type: &str, bytes: &str) {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\n\r\n");
    let steps = vec![Step::Write(head.into_bytes()), Step::Flood(bytes.repeat(1 << 14).into_bytes())];
    let provider = Provider::start(move |_| steps.clone()).await;
    let report = call(&provider, &chat()).await;
    assert_failed(&report, Outcome::Unknown, FailureClass::TooLarge);
    provider.closed().await;
    assert!(provider.flooded() < PROVIDER_REPLY_BYTES + BUFFERS, "{} bytes were taken", provider.flooded());
}

#[tokio::test]
async fn a_line_without_end() {
    flood("text/event-stream", "data").await;
}

#[tokio::test]
async fn events_without_end() {
    flood("text/event-stream", "data: {}\n\n").await;
}

#[tokio::test]
async fn comments_without_end() {
    flood("text/event-stream", ":\n").await;
}

#[tokio::test]
async fn a_document_without_end() {
    flood("application/json", "    ").await;
}

#[tokio::test]
async fn a_reply_may_have_the_published_size_and_no_byte_more() {
    let document = json!({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}).to_string();
    let event = "data: {\"choices\": [{\"delta\": {\"content\": \"a\"}, \"finish_reason\": \"stop\"}]}\n\n";
    for (kind, body, padding) in
        [("application/json", document, " "), ("text/event-stream", event.to_owned(), "\n")]
    {
        let headers = format!("content-type: {kind}\r\n");
        let padded = body.clone() + &padding.repeat(PROVIDER_REPLY_BYTES - body.len());
        let report = call(&Provider::answering(response("200 OK", &headers, &padded)).await, &chat()).await;
        assert_eq!(text(&report), "a");
        let longer = padded + padding;
        let report = call(&Provider::answering(response("200 OK", &headers, &longer)).await, &chat()).await;
        assert_failed(&report, Outcome::Unknown, FailureClass::TooLarge);
    }
}
