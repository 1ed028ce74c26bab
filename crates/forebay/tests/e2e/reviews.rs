//! What becomes of a doubtful job by a person's decision, or by nobody's.

use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Home, PATIENCE, Server, data, simulator};
use crate::journey::events;

const INVOICE: &str = include_str!("../../../../examples/invoices/coolblue1.txt");
const DOUBTFUL: &str = include_str!("../../../../examples/invoices/coolblue1.first.txt");
const ANSWER: &str = include_str!("../../../../examples/invoices/coolblue1.answer.json");

/// A job in review: the model's answer stays doubtful after its correction.
async fn in_review(server: &Server) -> (String, Value) {
    let document = server.upload(INVOICE).await;
    let job_id = server.submit(&json!({"task": "invoice", "input": {"document": document}})).await;
    let job = server.settled(&job_id).await;
    assert_eq!(job["state"], "REVIEW_REQUIRED", "{job}");
    let review = server.get(&format!("/v1/reviews/{job_id}")).await;
    (job_id, review)
}

async fn decide(server: &Server, job_id: &str, body: Value) -> Value {
    let (status, decided) = server.post(&format!("/v1/reviews/{job_id}"), &body).await;
    assert_eq!(status, StatusCode::OK, "{decided}");
    decided
}

async fn types(server: &Server, job_id: &str) -> Vec<String> {
    let events = events(server, job_id).await;
    let name =
        |event: &Value| event["type"].as_str().unwrap().replace("dev.forebay.job.", "").replace(".v1", "");
    events.iter().map(name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_approves_or_corrects_or_rejects() {
    let sim = simulator(&json!({"rules": [{"reply": DOUBTFUL}]})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let (approved, review) = in_review(&server).await;
    let seen = &review["state_version"];
    decide(&server, &approved, json!({"decision": "approve", "state_version": seen})).await;
    let result = server.get(&format!("/v1/jobs/{approved}/result")).await;
    assert_eq!(result["output"], review["output"]);
    assert_eq!(result["provenance"]["review"]["decision"], "approve");
    assert_eq!(types(&server, &approved).await.last().unwrap(), "succeeded");

    let (corrected, review) = in_review(&server).await;
    let right: Value = serde_json::from_str(ANSWER).unwrap();
    let body =
        json!({"decision": "correct", "state_version": review["state_version"], "output": right["output"]});
    let decided = decide(&server, &corrected, body).await;
    // The same invoice was approved before: the person is told, and decides all the same.
    let codes =
        decided["remaining_findings"].as_array().unwrap().iter().map(|finding| finding["code"].clone());
    assert!(codes.clone().all(|code| code == "duplicate"), "{:?}", codes.collect::<Vec<_>>());
    let result = server.get(&format!("/v1/jobs/{corrected}/result")).await;
    assert_eq!(result["output"], right["output"]);
    assert!(!result["provenance"]["review"]["changed"].as_array().unwrap().is_empty());

    let (rejected, review) = in_review(&server).await;
    let body = json!({"decision": "reject", "state_version": review["state_version"], "comment": "not ours"});
    decide(&server, &rejected, body).await;
    let job = server.get(&format!("/v1/jobs/{rejected}")).await;
    assert_eq!((&job["state"], &job["failure"]["class"]), (&json!("FAILED_TERMINAL"), &json!("rejected")));

    let queue = server.get("/v1/reviews").await;
    assert_eq!(data(&queue), [] as [Value; 0]);
    let lines =
        server.request(Method::GET, "/v1/reviews/corrections").send().await.unwrap().text().await.unwrap();
    let decisions: Vec<_> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["decision"].clone()).collect();
    assert_eq!(decisions, ["approve", "correct", "reject"]);
    let metrics = server.request(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("forebay_review_decisions_total{decision=\"correct\"} 1"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rerun_asks_the_model_again_and_its_result_is_the_jobs() {
    // Twice for each generation, until the model has come to its senses.
    let sim = simulator(&json!({"rules": [{"times": 4, "reply": DOUBTFUL}, {"reply": ANSWER}]})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let (job_id, review) = in_review(&server).await;
    decide(&server, &job_id, json!({"decision": "rerun", "state_version": review["state_version"]})).await;
    let again = settled_in(&server, &job_id, 2).await;
    assert_eq!(again["state"], "REVIEW_REQUIRED", "{again}");
    let body = json!({"decision": "rerun", "state_version": again["state_version"], "comment": "once more"});
    decide(&server, &job_id, body).await;
    let done = settled_in(&server, &job_id, 3).await;
    assert_eq!((&done["state"], &done["failure"]), (&json!("SUCCEEDED"), &Value::Null));
    let result = server.get(&format!("/v1/jobs/{job_id}/result")).await;
    assert_eq!(result["output"]["total"], "717.97");
    assert_eq!(result["provenance"]["review"], Value::Null, "the machines passed it by themselves");
    let steps = server.get(&format!("/v1/jobs/{job_id}/steps")).await;
    assert_eq!(data(&steps).len(), 5, "the journal of each generation stays: {steps}");
    assert_eq!(sim.requests(0).len(), 5);
    let history = server.get(&format!("/v1/reviews/{job_id}")).await["history"].clone();
    let actions: Vec<_> = history.as_array().unwrap().iter().map(|step| step["action"].clone()).collect();
    assert_eq!(actions, ["review.rerun", "review.rerun"]);
}

/// The job when the machines are done with a generation of it.
async fn settled_in(server: &Server, job_id: &str, generation: u64) -> Value {
    let job = server.settled(job_id).await;
    assert_eq!(job["generation"], generation, "{job}");
    job
}

/// Waits until a job is in a state.
async fn in_state(server: &Server, job_id: &str, state: &str) -> Value {
    let began = Instant::now();
    loop {
        let job = server.get(&format!("/v1/jobs/{job_id}")).await;
        if job["state"] == state {
            return job;
        }
        assert!(began.elapsed() < PATIENCE, "{job} does not become {state}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_decides_in_time_is_overdue_or_decided_as_declared() {
    let sim = simulator(&json!({"rules": [{"reply": DOUBTFUL}]})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let with = |default: &str| {
        let lines = format!("corrections = 0\nreview_due_ms = 1\nreview_default = \"{default}\"");
        forebay::definitions::DEFAULT.replace("[tasks.invoice]\n", &format!("[tasks.invoice]\n{lines}\n"))
    };
    let submit = async || server.submit(&json!({"task": "invoice", "input": {"text": INVOICE}})).await;

    server.apply(&with("none")).await;
    let overdue = submit().await;
    in_state(&server, &overdue, "REVIEW_REQUIRED").await;
    let began = Instant::now();
    let history = loop {
        let review = server.get(&format!("/v1/reviews/{overdue}")).await;
        assert_eq!(review["overdue"], true, "{review}");
        if review["history"] != json!([]) {
            break review["history"].clone();
        }
        assert!(began.elapsed() < PATIENCE, "nobody notices: {review}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(
        (&history[0]["action"], &history[0]["by_name"]),
        (&json!("review.overdue"), &json!("forebay"))
    );
    let metrics = server.request(Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    assert!(metrics.contains("forebay_reviews_overdue 1"), "{metrics}");

    server.apply(&with("reject")).await;
    let rejected = submit().await;
    let job = in_state(&server, &rejected, "FAILED_TERMINAL").await;
    assert_eq!(job["failure"]["class"], "rejected");
    server.apply(&with("approve")).await;
    let approved = submit().await;
    in_state(&server, &approved, "SUCCEEDED").await;
    let result = server.get(&format!("/v1/jobs/{approved}/result")).await;
    let review = &result["provenance"]["review"];
    assert_eq!((&review["decided_by_name"], review.get("decided_by")), (&json!("forebay"), None), "{review}");
    let lines =
        server.request(Method::GET, "/v1/reviews/corrections").send().await.unwrap().text().await.unwrap();
    assert_eq!(lines, "", "what nobody judged is no judgement");
}
