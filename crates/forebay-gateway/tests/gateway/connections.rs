//! Connections that are used again, and what happens when the provider closes them.

use std::collections::HashSet;

use forebay_core::attempt::Outcome;
use forebay_core::definition::Deadlines;
use forebay_core::failure::FailureClass;
use forebay_core::id::AttemptId;
use forebay_gateway::{Gateway, Report};
use serde_json::json;

use crate::provider::{Provider, Step, json_response};
use crate::{assert_failed, chat, target};

fn answer() -> Step {
    let body = json!({"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]});
    Step::Write(json_response("200 OK", &body))
}

/// So many calls, one after the other, through one gateway; each is an attempt of its own.
async fn calls(provider: &Provider, count: u16) -> Vec<Report> {
    let gateway = Gateway::new().unwrap();
    let target = target(&provider.base_url);
    let mut reports = Vec::new();
    for nth in 0..count {
        let [high, low] = nth.to_be_bytes();
        let id = AttemptId::new(crate::NOW, [0, 0, 0, 0, 0, 0, 0, 0, high, low]);
        reports.push(gateway.call(&target, chat(), Deadlines::default(), id, crate::NOW).await);
    }
    reports
}

fn count(reports: &[Report], outcome: Outcome) -> usize {
    reports.iter().filter(|report| report.outcome == outcome).count()
}

#[tokio::test]
async fn calls_share_a_connection() {
    let provider = Provider::start(|_| vec![answer()]).await;
    let reports = calls(&provider, 20).await;
    assert_eq!(count(&reports, Outcome::Succeeded), 20);
    assert!(provider.connections() < 5, "{} connections", provider.connections());
}

/// The provider takes each second request from a connection that is in use again, and closes instead of
/// answering: it may have done the work.
#[tokio::test]
async fn a_request_that_was_taken_and_not_answered_is_unknown_and_not_sent_again() {
    let provider = Provider::start(|nth| if nth % 2 == 0 { vec![answer()] } else { vec![Step::Close] }).await;
    let reports = calls(&provider, 200).await;
    for pair in reports.chunks(2) {
        assert_eq!(pair[0].outcome, Outcome::Succeeded);
        assert_failed(&pair[1], Outcome::Unknown, FailureClass::StreamBroken);
    }
    assert_eq!(provider.requests().len(), 200, "as many requests as calls");
}

/// The provider closes right after each answer, while the client may be writing the next request.
#[tokio::test]
async fn a_connection_that_closes_as_the_request_is_written_never_doubles_it() {
    let provider = Provider::start(|_| vec![answer(), Step::Close]).await;
    let reports = calls(&provider, 300).await;
    let received = provider.requests();
    let attempts: HashSet<_> = received.iter().map(|request| request.header("x-forebay-attempt")).collect();
    assert_eq!(attempts.len(), received.len(), "no attempt arrived twice");
    let sent = reports.len() - count(&reports, Outcome::FailedBeforeSend);
    assert!((count(&reports, Outcome::Succeeded)..=sent).contains(&received.len()));
    assert_eq!(count(&reports, Outcome::FailedAfterSend), 0);
}
