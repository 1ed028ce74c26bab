//! A real server that nobody here wrote: llama.cpp with a small model, which speaks chat completions, OpenAI's
//! Responses and Anthropic's Messages.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use forebay_core::attempt::Outcome;
use forebay_core::definition::{Deadlines, ProviderKind};
use forebay_core::failure::FailureClass;
use forebay_core::time::Millis;
use forebay_gateway::{Answer, Call, ChatCall, CountedBy, Gateway, Report, ResponseFormat, Target};
use serde_json::{Map, Value, json};

use crate::{NOW, assert_failed, attempt, target};

/// The model server's address. It is started once, and goes on for the next run.
static MODEL: LazyLock<String> = LazyLock::new(|| {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/local-model");
    let started = Command::new(script).arg("start").output().expect("scripts/local-model runs");
    let said = String::from_utf8_lossy(&started.stdout).into_owned();
    let problem = String::from_utf8_lossy(&started.stderr).into_owned();
    assert!(started.status.success(), "the local model does not start:\n{said}\n{problem}");
    said.trim().lines().last().expect("its address").to_owned()
});

/// The three formats, each with the kind of provider that is called by it.
fn formats(call: &ChatCall) -> [(ProviderKind, Call); 3] {
    [
        (ProviderKind::LlamaCpp, Call::Chat(call.clone())),
        (ProviderKind::Compatible, Call::Responses(call.clone())),
        (ProviderKind::Anthropic, Call::Chat(call.clone())),
    ]
}

fn hello(max_output_tokens: u64) -> ChatCall {
    ChatCall {
        model: "local".to_owned(),
        messages: json!([
            {"role": "system", "content": "You are a helpful assistant."},
            {"role": "user", "content": "Name a colour."},
        ]),
        params: Map::from_iter([("temperature".to_owned(), json!(0))]),
        max_output_tokens: Some(max_output_tokens),
        response_format: None,
    }
}

fn local(kind: ProviderKind) -> Target {
    Target { kind, ..target(&MODEL) }
}

async fn call(kind: ProviderKind, call: Call) -> Report {
    Gateway::new().unwrap().call(&local(kind), call, Deadlines::default(), attempt(1), NOW).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_by_schema() {
    let schema = json!({"type": "object", "properties": {"colour": {"type": "string", "enum": ["red", "blue"]}},
        "required": ["colour"], "additionalProperties": false});
    let format = ResponseFormat::JsonSchema { name: "answer".to_owned(), schema, strict: true };
    let chat = ChatCall { response_format: Some(format), ..hello(200) };
    // In its other formats this server ignores the schema.
    let report = call(ProviderKind::LlamaCpp, Call::Chat(chat)).await;
    let Ok(Answer::Chat { text, .. }) = &report.result else { panic!("{report:?}") };
    let answer: Value = serde_json::from_str(text).unwrap();
    assert!(answer["colour"] == "red" || answer["colour"] == "blue", "{text}");
    let usage = report.usage.unwrap();
    assert!(usage.input_tokens > 10 && usage.output_tokens > 3, "{usage:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_cut_at_its_limit() {
    for (kind, chat) in formats(&hello(2)) {
        // As Responses this server calls the answer complete; that it is as long as the limit gives it away.
        let report = call(kind, chat).await;
        assert_failed(&report, Outcome::FailedAfterSend, FailureClass::Truncated);
        assert_eq!(report.usage.unwrap().output_tokens, 2, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_count_before_the_call_is_what_the_call_reports() {
    for (kind, chat) in formats(&hello(200)) {
        if kind == ProviderKind::Compatible {
            continue;
        }
        let counted = Gateway::new().unwrap().count_tokens(&local(kind), &chat, Millis::from_secs(60)).await;
        assert_eq!(counted.by, CountedBy::Provider, "{kind:?}");
        let usage = call(kind, chat).await.usage.unwrap();
        assert_eq!(counted.tokens, usage.input_tokens, "{kind:?}: {usage:?}");
    }
}
