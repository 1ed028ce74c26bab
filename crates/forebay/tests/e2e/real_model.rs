//! Jobs against a real model: llama.cpp with 135 million parameters, on this machine.

use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::json;

use crate::harness::{Home, Server, data};

const INVOICE: &str = include_str!("../../../../examples/invoices/sammymaystone.txt");

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
    let default = forebay::definitions::DEFAULT;
    let start = default.find("[policies.invoice]").expect("the default policy");
    // The default tasks and policy, on a model with a small context.
    format!(
        "[providers.openai]\nbase_url = \"{provider}\"\nfirst_byte_ms = 110000\n\n\
         [pools.openai]\nprovider = \"openai\"\nmax_in_flight = 2\n\n\
         [models.small]\npool = \"openai\"\nprovider_model = \"local\"\ncontext_tokens = 4096\n\
         max_output_tokens = 2000\ninput_micros_per_mtok = 100000\noutput_micros_per_mtok = 200000\n\n\
         [models.embedding]\npool = \"openai\"\nprovider_model = \"local\"\nendpoint = \"embeddings\"\n\
         context_tokens = 4096\ninput_micros_per_mtok = 1\n\n{}",
        &default[start..]
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_model_answers_a_prompt() {
    let home = Home::new();
    let server = Server::start(&home, &MODEL);
    server.apply(&definitions(&MODEL)).await;
    let body =
        json!({"task": "chat", "input": {"prompt": "Say hello."}, "params": {"max_output_tokens": 200}});
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
    let document = server.upload(INVOICE).await;
    let job_id = server.submit(&json!({"task": "invoice", "input": {"document": document}})).await;
    let job = server.settled(&job_id).await;
    assert_eq!(job["state"], "REVIEW_REQUIRED", "a model of this size can't read an invoice: {job}");
    let review = server.get(&format!("/v1/reviews/{job_id}")).await;
    assert!(!review["findings"].as_array().unwrap().is_empty());
    let attempts = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
    assert!(data(&attempts).len() <= 2, "one call and one correction at most");
}
