//! An operator finds out why jobs died, mends the task, and has their work done again.

use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{FOREBAY, Home, Server, data, definitions, simulator};

const JOBS: usize = 30;

fn forebay(server: &Server, args: &[&str]) -> Vec<Value> {
    let output = Command::new(FOREBAY)
        .args(args)
        .arg("--json")
        .env("FOREBAY_URL", &server.url)
        .env("FOREBAY_KEY", &server.key)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_a_provider_refused_are_replayed_by_a_mended_revision_and_not_twice() {
    let fault = json!({"kind": "status", "status": 400});
    let sim = simulator(&json!({"rules": [{"match": {"model": "sim-small"}, "fault": fault}]})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let broken = definitions(&sim.base_url(), "", "");
    server.apply(&broken).await;
    let jobs = vec![json!({"task": "chat", "input": {"prompt": "hello"}}); JOBS];
    let (_, taken) = server.post("/v1/job-batches", &json!({"jobs": jobs})).await;
    for result in taken["results"].as_array().unwrap() {
        let job = server.settled(result["job_id"].as_str().unwrap()).await;
        assert_eq!(job["failure"]["class"], "invalid_request", "{job}");
    }
    let groups = forebay(&server, &["dead-letters", "groups"]);
    assert_eq!((&groups[0]["class"], &groups[0]["count"]), (&json!("invalid_request"), &json!(JOBS)));

    server.apply(&broken.replace("sim-small", "sim-large")).await;
    let replay = ["replay", "--task", "chat", "--class", "invalid_request", "--reason", "another model"];
    let first = forebay(&server, &replay);
    assert_eq!((&first[0]["replayed"], &first[0]["left"]), (&json!(JOBS), &json!(0)), "{first:?}");
    for result in first[0]["results"].as_array().unwrap() {
        let job = server.settled(result["job_id"].as_str().unwrap()).await;
        assert_eq!((&job["state"], &job["replay_of"]), (&json!("SUCCEEDED"), &result["replay_of"]), "{job}");
    }
    assert_eq!(forebay(&server, &replay)[0]["replayed"], 0, "the second call replays none");
    let batch = server.get(&format!("/v1/job-batches/{}", first[0]["batch_id"].as_str().unwrap())).await;
    assert_eq!((&batch["counts"], &batch["open"]), (&json!({"SUCCEEDED": JOBS}), &json!(0)));
    assert!(data(&server.get("/v1/dead-letters").await).is_empty());
}
