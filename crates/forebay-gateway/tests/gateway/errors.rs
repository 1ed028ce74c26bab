//! Answers with an error status, and calls that never leave.

use forebay_core::attempt::Outcome;
use forebay_core::definition::Deadlines;
use forebay_core::failure::FailureClass;
use forebay_gateway::{Gateway, Report};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::provider::{Provider, Step, json_response, response};
use crate::{assert_failed, attempt, call, chat, target};

#[tokio::test]
async fn a_rate_limit_with_its_hints() {
    let body = json!({"error": {"message": "slow down", "type": "tokens", "code": "rate_limit_exceeded"}});
    let headers = "content-type: application/json\r\nx-request-id: req_9\r\nretry-after: 2\r\n\
        x-ratelimit-remaining-tokens: 0\r\nx-ratelimit-reset-tokens: 6m0s\r\n\
        x-ratelimit-remaining-requests: 5\r\nx-ratelimit-reset-requests: 1h0m0s\r\n";
    let sent = response("429 Too Many Requests", headers, body.to_string());
    let report = call(&Provider::answering(sent).await, &chat()).await;
    assert_failed(&report, Outcome::FailedAfterSend, FailureClass::RateLimited);
    assert_eq!(report.provider_request_id.as_deref(), Some("req_9"));
    let failure = report.result.unwrap_err();
    assert_eq!(failure.in_full(), "the provider answered HTTP 429: slow down");
    assert_eq!(failure.hint.map(|hint| hint.wait.get()), Some(360_000));
}

#[tokio::test]
async fn a_date_to_come_back_is_measured_from_the_providers_date_or_else_from_now() {
    let at = "retry-after: Tue, 01 Dec 2026 10:00:07 GMT\r\n";
    for (date, wait) in [("", 7_000), ("date: Tue, 01 Dec 2026 10:00:05 GMT\r\n", 2_000)] {
        let sent = response("503 Service Unavailable", &format!("{at}{date}"), "");
        let report = call(&Provider::answering(sent).await, &chat()).await;
        assert_failed(&report, Outcome::FailedAfterSend, FailureClass::Overloaded);
        assert_eq!(report.result.unwrap_err().hint.map(|hint| hint.wait.get()), Some(wait));
    }
}

#[tokio::test]
async fn statuses() {
    use FailureClass as F;
    for (status, class) in [
        ("400 Bad Request", F::InvalidRequest),
        ("401 Unauthorized", F::Auth),
        ("402 Payment Required", F::QuotaExhausted),
        ("404 Not Found", F::InvalidRequest),
        ("408 Request Timeout", F::ProviderError),
        ("500 Internal Server Error", F::ProviderError),
        ("502 Bad Gateway", F::ProviderError),
        ("504 Gateway Timeout", F::ProviderError),
        ("529 Overloaded", F::Overloaded),
    ] {
        let provider = Provider::answering(response(status, "", "<html>no JSON</html>")).await;
        let report = call(&provider, &chat()).await;
        assert_failed(&report, Outcome::FailedAfterSend, class);
        assert_eq!(provider.requests().len(), 1, "{status}: nothing is tried again");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Provider::answering(json_response("200 OK", &json!({}))).await;
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent"] {
        let location = format!("location: {}/chat/completions\r\n", elsewhere.base_url);
        let provider = Provider::answering(response(status, &location, "")).await;
        let report = call(&provider, &chat()).await;
        assert_failed(&report, Outcome::FailedAfterSend, FailureClass::ProviderError);
        assert!(report.result.unwrap_err().message.contains("redirects are not followed"));
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn an_error_body_without_end_is_read_to_a_bound() {
    let head = "HTTP/1.1 500 Oops\r\ncontent-type: text/plain\r\n\r\n";
    let flood = Step::Flood(vec![b'x'; 1 << 16]);
    let provider = Provider::start(move |_| vec![Step::Write(head.into()), flood.clone()]).await;
    let report = call(&provider, &chat()).await;
    assert_failed(&report, Outcome::FailedAfterSend, FailureClass::ProviderError);
    assert!(report.result.unwrap_err().words.unwrap().chars().count() <= 2_001);
    provider.closed().await;
}

#[tokio::test]
async fn a_compressed_error_keeps_its_status() {
    let sent = response("503 Busy", "content-encoding: gzip\r\n", "\u{1f}\u{8b}garbage");
    let report = call(&Provider::answering(sent).await, &chat()).await;
    assert_failed(&report, Outcome::FailedAfterSend, FailureClass::Overloaded);
}

async fn call_at(base_url: &str) -> Report {
    let gateway = Gateway::new().unwrap();
    gateway.call(&target(base_url), chat(), Deadlines::default(), attempt(1), crate::NOW).await
}

#[tokio::test]
async fn what_never_leaves_costs_nothing() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    for base_url in [format!("http://{nobody}/v1"), "ftp://localhost/v1".to_owned(), "no address".to_owned()]
    {
        let report = call_at(&base_url).await;
        assert_failed(&report, Outcome::FailedBeforeSend, FailureClass::NotSent);
    }
}

#[tokio::test]
async fn a_server_that_does_not_speak_tls_gets_nothing() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("https://{}/v1", listener.local_addr().unwrap());
    let server = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        socket
    };
    let (report, _socket) = tokio::join!(call_at(&base_url), server);
    assert_failed(&report, Outcome::FailedBeforeSend, FailureClass::NotSent);
}

#[tokio::test]
async fn a_name_that_nobody_has_costs_nothing() {
    let report = call_at("http://nobody.invalid/v1").await;
    assert_eq!(report.outcome, Outcome::FailedBeforeSend);
}
