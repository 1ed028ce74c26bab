//! The gateway against a provider whose every byte the test decides.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that panics has failed")]

mod connections;
mod count;
mod deadlines;
mod documents;
mod errors;
mod kinds;
mod limits;
mod provider;
mod real;
mod secrets;
mod streams;

use forebay_core::attempt::Outcome;
use forebay_core::definition::{Deadlines, ProviderKind};
use forebay_core::failure::FailureClass;
use forebay_core::id::AttemptId;
use forebay_core::time::{Millis, Timestamp};
use forebay_gateway::{Answer, Call, ChatCall, EmbeddingsCall, Gateway, Report, Target};
use provider::Provider;
use secrecy::SecretString;
use serde_json::{Map, json};

/// 2026-12-01T10:00:00Z.
const NOW: Timestamp = Timestamp::from_millis(1_796_119_200_000);

const KEY: &str = "sk-test-0123456789";

fn target(base_url: &str) -> Target {
    let api_key = Some(SecretString::from(KEY));
    Target {
        provider: "stub".to_owned(),
        kind: ProviderKind::Compatible,
        base_url: base_url.to_owned(),
        api_key,
    }
}

fn chat() -> Call {
    Call::Chat(ChatCall {
        model: "m-1".to_owned(),
        messages: json!([{"role": "user", "content": "hi"}]),
        params: Map::new(),
        max_output_tokens: Some(64),
        response_format: None,
    })
}

fn embeddings(inputs: &[&str]) -> Call {
    let inputs = inputs.iter().map(|&input| input.to_owned()).collect();
    Call::Embeddings(EmbeddingsCall { model: "e-1".to_owned(), inputs, params: Map::new() })
}

fn attempt(nth: u8) -> AttemptId {
    AttemptId::new(NOW, [nth; 10])
}

/// One call with a gateway of its own and the default deadlines.
async fn call(provider: &Provider, call: &Call) -> Report {
    call_within(provider, call, Deadlines::default()).await
}

/// One call with a gateway of its own.
async fn call_within(provider: &Provider, call: &Call, deadlines: Deadlines) -> Report {
    call_through(&Gateway::new().unwrap(), provider, call, deadlines).await
}

/// One call through this gateway.
async fn call_through(gateway: &Gateway, provider: &Provider, call: &Call, deadlines: Deadlines) -> Report {
    gateway.call(&target(&provider.base_url), call.clone(), deadlines, attempt(1), NOW).await
}

/// Deadlines in milliseconds: connect, first byte, idle, total.
fn deadlines(connect: i64, first_byte: i64, idle: i64, total: i64) -> Deadlines {
    let [connect, first_byte, idle, total] = [connect, first_byte, idle, total].map(Millis::new);
    Deadlines { connect, first_byte, idle, total }
}

/// The report without what differs between two runs.
fn timeless(report: Report) -> Report {
    Report { first_byte: None, total: Millis::ZERO, ..report }
}

/// The text of a chat that succeeded.
fn text(report: &Report) -> &str {
    match &report.result {
        Ok(Answer::Chat { text, .. }) => text,
        other => panic!("expected the text of a chat, got {other:?}"),
    }
}

/// Checks how a call failed, and that it is no success in any other way.
#[track_caller]
fn assert_failed(report: &Report, outcome: Outcome, class: FailureClass) {
    let failure = report.result.as_ref().expect_err("the call failed");
    assert_eq!((report.outcome, failure.class), (outcome, class), "{}", failure.message);
    assert!(!failure.message.is_empty());
}
