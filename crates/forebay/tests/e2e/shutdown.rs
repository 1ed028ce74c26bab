//! How a server ends when it is asked to.

use std::time::Duration;

use serde_json::json;

use crate::harness::{Home, Server, simulator};
use crate::journey::eventually;

#[tokio::test(flavor = "multi_thread")]
async fn calls_under_way_finish_and_the_exit_is_clean() {
    let sim = simulator(&json!({"defaults": {"first_token_ms": 600}})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let job_id = server.submit(&json!({"task": "chat", "input": {"prompt": "slow"}})).await;
    eventually("the call is under way", || sim.requests(0).len() == 1).await;
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let server = Server::start(&home, &sim.base_url());
    let job = server.settled(&job_id).await;
    assert_eq!((&job["state"], sim.requests(0).len()), (&json!("SUCCEEDED"), 1), "{job}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_longer_than_the_drain_is_handed_back_with_its_attempt_marked() {
    let sim = simulator(&json!({"rules": [{"times": 1, "fault": "hang"}, {"reply": "now"}]})).await;
    let home = Home::new();
    let server = Server::start_with(&home, &sim.base_url(), &[("FOREBAY_DRAIN_MS", "200")]);
    let job_id = server.submit(&json!({"task": "chat", "input": {"prompt": "slow"}})).await;
    eventually("the call is under way", || sim.requests(0).len() == 1).await;
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let server = Server::start(&home, &sim.base_url());
    let job = tokio::time::timeout(Duration::from_secs(30), server.settled(&job_id)).await.unwrap();
    assert_eq!(job["state"], "SUCCEEDED", "{job}");
    let attempts = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
    let first = &crate::harness::data(&attempts)[0];
    assert_eq!((&first["outcome"], &first["failure_class"]), (&json!("unknown"), &json!("worker_lost")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_on_the_same_store_is_refused() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let _server = Server::start(&home, &sim.base_url());
    let second = std::process::Command::new(crate::harness::FOREBAY)
        .args(["serve", "--listen", "127.0.0.1:0", "--store", &home.store()])
        .output()
        .unwrap();
    assert_eq!(second.status.code(), Some(1));
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(said.contains("in use by another process"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_dropped_for_want_of_a_lease_counts_as_a_try() {
    let sim = simulator(&json!({"rules": [{"fault": "hang"}]})).await;
    let home = Home::new();
    // Nobody takes the job: that the lease is lost, only the worker itself finds out.
    let lease = [("FOREBAY_LEASE_MS", "900"), ("FOREBAY_HEARTBEAT_MS", "300"), ("FOREBAY_ROLES", "api,work")];
    let server = Server::start_with(&home, &sim.base_url(), &lease);
    server.apply(&crate::harness::definitions(&sim.base_url(), "", "on_unknown = \"once\"")).await;
    let job_id = server.submit(&json!({"task": "chat", "input": {"prompt": "wait"}})).await;
    eventually("the call is under way", || sim.requests(0).len() == 1).await;
    server.signal("STOP");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    server.signal("CONT");
    let job = server.settled(&job_id).await;
    let failed = (&json!("FAILED_TERMINAL"), &json!("worker_lost"));
    assert_eq!((&job["state"], &job["failure"]["class"]), failed, "{job}");
    assert_eq!(sim.requests(0).len(), 1, "it may have been billed, so it is not made again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_stood_still_beyond_its_lease_does_nothing_twice_without_a_record() {
    let sim = simulator(&json!({"rules": [{"times": 4, "first_token_ms": 700}, {"reply": "now"}]})).await;
    let home = Home::new();
    let lease = [("FOREBAY_LEASE_MS", "900"), ("FOREBAY_HEARTBEAT_MS", "300")];
    let server = Server::start_with(&home, &sim.base_url(), &lease);
    let mut jobs = Vec::new();
    for nth in 0..4 {
        jobs.push(server.submit(&json!({"task": "chat", "input": {"prompt": format!("nr {nth}")}})).await);
    }
    eventually("the calls are under way", || sim.requests(0).len() == 4).await;
    server.signal("STOP");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    server.signal("CONT");
    let mut attempts = Vec::new();
    for job_id in &jobs {
        let job = server.settled(job_id).await;
        assert_eq!(job["state"], "SUCCEEDED", "{job}");
        let list = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
        let of_job = crate::harness::data(&list).to_vec();
        // A result that came while nobody had taken the job counts, late lease or not; else it is evidence.
        assert_eq!(of_job.iter().filter(|attempt| attempt["outcome"] == "succeeded").count(), 1, "{list}");
        attempts.extend(of_job.iter().map(|attempt| attempt["attempt_id"].as_str().unwrap().to_owned()));
    }
    let mut calls: Vec<_> =
        sim.requests(0).iter().map(|call| call.forebay_attempt.as_deref().unwrap().to_owned()).collect();
    attempts.sort();
    calls.sort();
    assert_eq!(calls, attempts, "one call for each attempt on record");
}
