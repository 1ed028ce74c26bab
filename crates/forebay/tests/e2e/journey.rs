//! A job's way from the request to its result.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Home, Server, data, simulator};

const INVOICE: &str = include_str!("../../../../examples/invoices/coolblue1.txt");
const FIRST: &str = include_str!("../../../../examples/invoices/coolblue1.first.txt");
const ANSWER: &str = include_str!("../../../../examples/invoices/coolblue1.answer.json");

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_becomes_an_answer_with_usage_cost_events_and_an_explanation() {
    let sim = simulator(&json!({"rules": [{"reply": "Four."}]})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let body =
        json!({"task": "chat", "input": {"prompt": "What is two and two?"}, "metadata": {"order": "4711"}});
    let job_id = server.submit(&body).await;
    let job = server.settled(&job_id).await;
    assert_eq!(job["state"], "SUCCEEDED", "{job}");
    assert_eq!(job["metadata"]["order"], "4711");
    assert!(job["usage"]["cost_micros"].as_i64().unwrap() > 0);

    let result = server.get(&format!("/v1/jobs/{job_id}/result")).await;
    assert_eq!(result["output"]["text"], "Four.");
    let attempts = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
    let attempt = &data(&attempts)[0];
    assert_eq!((data(&attempts).len(), &attempt["outcome"]), (1, &json!("succeeded")));
    assert_eq!(result["provenance"]["attempt_id"], attempt["attempt_id"]);

    // The provider's log names the attempt that the ledger has.
    let calls = sim.requests(0);
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].forebay_attempt.as_deref(), attempt["attempt_id"].as_str());

    let events = events(&server, &job_id).await;
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["accepted", "claimed", "succeeded"].map(|what| format!("dev.forebay.job.{what}.v1")));
    let usage = server.get("/v1/usage").await;
    assert!(usage.to_string().contains("\"chat\""), "{usage}");
    server.get(&format!("/v1/jobs/{job_id}/explain")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_become_vectors() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let job_id = server.submit(&json!({"task": "embed", "input": {"embed": ["one", "two"]}})).await;
    let job = server.settled(&job_id).await;
    assert_eq!(job["state"], "SUCCEEDED", "{job}");
    let result = server.get(&format!("/v1/jobs/{job_id}/result")).await;
    assert_eq!(result["output"]["embeddings"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_whose_first_answer_fails_its_sums_is_corrected_by_one_call() {
    let sim = simulator(&json!({"rules": [{"times": 1, "reply": FIRST}, {"reply": ANSWER}]})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let document = server.upload(INVOICE).await;
    let job_id = server.submit(&json!({"task": "invoice", "input": {"document": document}})).await;
    let job = server.settled(&job_id).await;
    assert_eq!(job["state"], "SUCCEEDED", "{job}");
    let steps = server.get(&format!("/v1/jobs/{job_id}/steps")).await;
    let kinds: Vec<_> = data(&steps).iter().map(|step| step["kind"].clone()).collect();
    assert_eq!(kinds, ["model_call", "correction"]);
    let result = server.get(&format!("/v1/jobs/{job_id}/result")).await;
    assert_eq!(result["output"]["total"], "717.97");
    // Each place that the evidence names is in the document that was uploaded.
    let evidence = result["provenance"]["evidence"].as_array().unwrap();
    assert!(!evidence.is_empty());
    for quote in evidence {
        let place = |name: &str| usize::try_from(quote["span"][name].as_u64().unwrap()).unwrap();
        assert!(INVOICE.get(place("start")..place("end")).is_some(), "{quote}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invoice_that_stays_doubtful_goes_to_a_person() {
    let sim = simulator(&json!({"rules": [{"reply": FIRST}]})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let job_id = server.submit(&json!({"task": "invoice", "input": {"text": INVOICE}})).await;
    let job = server.settled(&job_id).await;
    assert_eq!(job["state"], "REVIEW_REQUIRED", "{job}");
    assert_eq!(job["failure"]["class"], "policy_failed");
    let review = server.get(&format!("/v1/reviews/{job_id}")).await;
    assert!(!review["findings"].as_array().unwrap().is_empty());
    assert!(review["output"].is_object());
    let result = server.request(Method::GET, &format!("/v1/jobs/{job_id}/result")).send().await.unwrap();
    assert_eq!(result.status(), StatusCode::CONFLICT);
    assert_eq!(sim.requests(0).len(), 2, "one call, one correction, and no more");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_is_the_same_job_and_another_request_is_a_conflict() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let submit = |prompt: &str| {
        let body = json!({"task": "chat", "input": {"prompt": prompt}});
        server.request(Method::POST, "/v1/jobs").header("Idempotency-Key", "k-1").json(&body).send()
    };
    let first = submit("a").await.unwrap();
    assert_eq!(first.headers().get("idempotent-replayed"), None);
    let first: Value = first.json().await.unwrap();
    let again = submit("a").await.unwrap();
    assert_eq!(again.status(), StatusCode::ACCEPTED);
    assert_eq!(again.headers()["idempotent-replayed"], "true");
    assert_eq!(again.json::<Value>().await.unwrap()["job_id"], first["job_id"]);
    let other = submit("b").await.unwrap();
    assert_eq!(other.status(), StatusCode::CONFLICT);
    assert_eq!(other.headers()["x-should-retry"], "false");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_is_cancelled_and_its_call_is_dropped() {
    let sim = simulator(&json!({"rules": [{"fault": "hang"}]})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let job_id = server.submit(&json!({"task": "chat", "input": {"prompt": "wait"}})).await;
    eventually("the call is under way", || sim.requests(0).len() == 1).await;
    for _ in 0..2 {
        let (status, job) = server.post(&format!("/v1/jobs/{job_id}/cancel"), &json!({})).await;
        assert_eq!((status, &job["state"]), (StatusCode::OK, &json!("CANCELLED")));
    }
    eventually("the call is dropped", || {
        sim.requests(0).iter().all(|call| format!("{:?}", call.ended) == "ClientClosed")
    })
    .await;
    let attempts = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
    assert_eq!(data(&attempts)[0]["outcome"], "unknown", "it may have been billed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_try_is_retried_and_every_try_is_on_record() {
    let sim = simulator(&json!({"rules": [
        {"match": {"nth": 1}, "fault": {"kind": "status", "status": 500}},
        {"match": {"nth": 2}, "fault": "no_finish_reason"},
        {"reply": "At last."},
    ]}))
    .await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    server.apply(&crate::harness::definitions(&sim.base_url(), "", "[tasks.chat.retry]\nbase_ms = 10")).await;
    let job_id = server.submit(&json!({"task": "chat", "input": {"prompt": "try"}})).await;
    let job = server.settled(&job_id).await;
    assert_eq!(job["state"], "SUCCEEDED", "{job}");
    let attempts = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
    let seen: Vec<_> =
        data(&attempts).iter().map(|a| (a["outcome"].clone(), a["failure_class"].clone())).collect();
    assert_eq!(seen[0], (json!("failed_after_send"), json!("provider_error")));
    assert_eq!(seen[1], (json!("unknown"), json!("stream_broken")));
    assert_eq!(seen[2].0, "succeeded");
    assert!(job["usage"]["uncertain_micros"].as_i64().unwrap() > 0, "the cut call stays on the books: {job}");
}

/// Waits until something is so.
pub async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed() < crate::harness::PATIENCE, "never: {what}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// The events of a job that has ended, by SSE.
pub async fn events(server: &Server, job_id: &str) -> Vec<Value> {
    let stream = server.request(Method::GET, &format!("/v1/jobs/{job_id}/events"));
    let text = stream.send().await.unwrap().text().await.unwrap();
    text.lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .map(|event| serde_json::from_str(event.trim()).unwrap())
        .collect()
}
