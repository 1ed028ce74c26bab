//! Jobs against a real model: llama.cpp with 135 million parameters, on this machine.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::json;

use crate::harness::{Home, Server, data};

/// A document that names no currency.
const NOTE: &str = "Delivery note 17\nAcme Tools\nTwo hammers, 12.00 each.\nAmount due: 24.00\n";

/// A task whose answer is short, for a model that writes slowly.
const NOTE_TASK: &str = r#"
[policies.note]
version = 1
required = ["/currency", "/total"]

[policies.note.currency]
field = "/currency"
allowed = ["EUR", "USD"]

[policies.note.evidence]

[tasks.note]
kind = "extract"
model = "small"
policy = "note"
max_output_tokens = 160
variables = ["document"]
prompt = """
Read the document and answer with JSON: {"output": {"currency": "...", "total": "..."},
"evidence": [{"field": "/total", "quote": "..."}]}.
{{ document }}
"""
schema = """
{"type": "object", "properties": {"currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
 "total": {"type": "string", "pattern": "^[0-9]{1,6}[.][0-9]{2}$"}},
 "required": ["currency", "total"], "additionalProperties": false}
"""
"#;

/// The model server's address. It is started once, and goes on for the next run.
static MODEL: LazyLock<String> = LazyLock::new(|| {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/local-model");
    let started = Command::new(script).arg("start").output().expect("scripts/local-model runs");
    let said = String::from_utf8_lossy(&started.stdout).into_owned();
    let problem = String::from_utf8_lossy(&started.stderr).into_owned();
    assert!(started.status.success(), "the local model does not start:\n{said}\n{problem}");
    said.trim().lines().last().expect("its address").to_owned()
});

fn definitions(provider: &str) -> String {
    let chat = "[tasks.chat]\nkind = \"llm\"\nmodel = \"small\"\nmax_output_tokens = 60\n";
    format!(
        "[providers.local]\nbase_url = \"{provider}\"\nfirst_byte_ms = 110000\n\n\
         [pools.local]\nprovider = \"local\"\nmax_in_flight = 2\n\n\
         [models.small]\npool = \"local\"\nprovider_model = \"local\"\ncontext_tokens = 2048\n\
         max_output_tokens = 1000\ninput_micros_per_mtok = 100000\noutput_micros_per_mtok = 200000\n\n\
         {chat}\n{NOTE_TASK}"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_model_answers_a_prompt() {
    let home = Home::new();
    let server = Server::start(&home, &MODEL);
    server.apply(&definitions(&MODEL)).await;
    let body = json!({"task": "chat", "input": {"prompt": "Say hello."}});
    let job_id = server.submit(&body).await;
    let job = server.settled(&job_id).await;
    // It may talk until its limit; then the answer is cut, and never called a success.
    let state = job["state"].as_str().unwrap();
    if state == "SUCCEEDED" {
        let result = server.get(&format!("/v1/jobs/{job_id}/result")).await;
        assert!(!result["output"]["text"].as_str().unwrap().is_empty());
    } else {
        assert_eq!((state, &job["failure"]["class"]), ("FAILED_TERMINAL", &json!("truncated")), "{job}");
    }
    assert!(job["usage"]["output_tokens"].as_u64().unwrap() > 0, "a real count: {job}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_weak_model_that_makes_things_up_ends_in_review() {
    let home = Home::new();
    let server = Server::start(&home, &MODEL);
    server.apply(&definitions(&MODEL)).await;
    let document = server.upload(NOTE).await;
    let job_id = server.submit(&json!({"task": "note", "input": {"document": document}})).await;
    let job = server.settled(&job_id).await;
    assert_eq!(job["state"], "REVIEW_REQUIRED", "the document names no currency: {job}");
    let review = server.get(&format!("/v1/reviews/{job_id}")).await;
    assert!(!review["findings"].as_array().unwrap().is_empty());
    let attempts = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
    assert!(data(&attempts).len() <= 2, "one call and one correction at most");
}
