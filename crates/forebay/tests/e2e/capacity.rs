//! Limits and turns, judged by the simulator's log.

use std::time::Duration;

use forebay::sim::SimHandle;
use serde_json::{Value, json};

use crate::harness::{Home, Server, data, definitions, simulator};

async fn submit_many(server: &Server, count: usize) -> Vec<String> {
    let mut jobs = Vec::new();
    for nth in 0..count {
        jobs.push(
            server.submit(&json!({"task": "chat", "input": {"prompt": format!("number {nth}")}})).await,
        );
    }
    jobs
}

async fn all_succeed(server: &Server, jobs: &[String]) {
    for job_id in jobs {
        let job = server.settled(job_id).await;
        assert_eq!(job["state"], "SUCCEEDED", "{job}");
    }
}

/// The most that the simulator saw of a limit at any time.
fn worst(sim: &SimHandle, limit: &str) -> u64 {
    let seen = serde_json::to_value(sim.limits()).unwrap();
    seen["accounts"][0][limit]["worst"].as_u64().unwrap_or_else(|| panic!("{seen}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_per_minute_are_used_up_and_never_exceeded() {
    const LIMIT: usize = 30;
    let sim = simulator(&json!({"limits": {"requests_per_minute": LIMIT}})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    server
        .apply(&definitions(&sim.base_url(), &format!("requests_per_minute = {LIMIT}\npacing = \"off\""), ""))
        .await;
    let jobs = submit_many(&server, LIMIT + 10).await;
    crate::journey::eventually("the limit is used", || sim.requests(0).len() == LIMIT).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(sim.requests(0).len(), LIMIT, "not one more within the minute");
    let explain = server.get(&format!("/v1/jobs/{}/explain", jobs[LIMIT + 9])).await;
    assert_eq!(explain["waiting_for"][0]["kind"], "pool_limit", "{explain}");
    all_succeed(&server, &jobs).await;
    assert_eq!(worst(&sim, "requests_per_minute"), LIMIT as u64);
    assert!(
        sim.requests(0).iter().all(|call| call.status == Some(200)),
        "no 429 where the limit is configured truly"
    );
}

/// I17: a call that would reach the provider late would be in a minute that its grant did not count for.
#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_became_too_old_goes_back_unused() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let accepts = Server::start_with(&home, &sim.base_url(), &[("FOREBAY_ROLES", "api")]);
    accepts.apply(&definitions(&sim.base_url(), "requests_per_minute = 60", "")).await;
    let job_id = accepts.submit(&json!({"task": "chat", "input": {"prompt": "in time"}})).await;
    accepts.kill_9();
    // The first claim takes the job, and its worker hears of that only after more than half of the slack.
    let held = home.path().join("held");
    let plan = format!("claim.after_commit=hold:{}", held.display());
    let server = Server::start_with(&home, &sim.base_url(), &[("FAILPOINTS", &plan)]);
    crate::journey::eventually("the job is claimed", || held.with_extension("here").exists()).await;
    tokio::time::sleep(forebay_core::window::SLACK.to_duration()).await;
    std::fs::write(&held, "").unwrap();
    let job = server.settled(&job_id).await;
    assert_eq!((&job["state"], sim.requests(0).len()), (&json!("SUCCEEDED"), 1), "{job}");
    let attempts = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
    let outcomes: Vec<_> = data(&attempts).iter().map(|attempt| &attempt["outcome"]).collect();
    assert_eq!(outcomes, ["failed_before_send", "succeeded"], "{attempts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_per_minute_are_never_exceeded() {
    const LIMIT: u64 = 1_200;
    let sim = simulator(&json!({"limits": {"tokens_per_minute": LIMIT}})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    server
        .apply(&definitions(&sim.base_url(), &format!("tokens_per_minute = {LIMIT}\npacing = \"off\""), ""))
        .await;
    // Each call reserves its hundred tokens of output and a few of input: eleven fit.
    let jobs = submit_many(&server, 14).await;
    all_succeed(&server, &jobs).await;
    assert!(worst(&sim, "tokens_per_minute") <= LIMIT);
    assert!(sim.requests(0).iter().all(|call| call.status == Some(200)));
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_in_flight_are_bounded_and_tenants_take_turns() {
    let sim = simulator(&json!({"defaults": {"first_token_ms": 100}})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    server.apply(&definitions(&sim.base_url(), "max_in_flight = 2", "")).await;
    let other = other_tenant(&server, &json!({})).await;
    let mine = submit_many(&server, 20).await;
    let body = json!({"task": "chat", "input": {"prompt": "just one"}});
    let accepted = server.request_as(&other, reqwest::Method::POST, "/v1/jobs").json(&body);
    let accepted: Value = accepted.send().await.unwrap().json().await.unwrap();
    let before = sim.requests(0).len();
    all_succeed(&server, &mine).await;
    assert_eq!(worst(&sim, "in_flight"), 2);
    // The other tenant's one job did not wait for the twenty: its call is among the next few.
    let path = format!("/v1/jobs/{}/attempts", accepted["job_id"].as_str().unwrap());
    let attempts = server.request_as(&other, reqwest::Method::GET, &path).send().await.unwrap();
    let attempts: Value = attempts.json().await.unwrap();
    let attempt = crate::harness::data(&attempts)[0]["attempt_id"].as_str();
    let place = sim.requests(0).iter().position(|call| call.forebay_attempt.as_deref() == attempt).unwrap();
    assert!(place <= before + 3, "it was call {place}, submitted after {before}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_is_never_exceeded_and_says_why_jobs_wait() {
    let sim = simulator(&json!({"defaults": {"output_tokens": 100}})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    server.apply(&definitions(&sim.base_url(), "", "")).await;
    // Each call reserves a little more than 200 micro-units: two fit into 500.
    let key = other_tenant(&server, &json!({"budget": {"limit_micros": 500, "period": "total"}})).await;
    let mut jobs = Vec::new();
    for nth in 0..6 {
        let body = json!({"task": "chat", "input": {"prompt": format!("nr {nth}")}});
        let answer = server.request_as(&key, reqwest::Method::POST, "/v1/jobs").json(&body).send().await;
        let accepted: Value = answer.unwrap().json().await.unwrap();
        jobs.push(accepted["job_id"].as_str().unwrap_or_else(|| panic!("{accepted}")).to_owned());
    }
    crate::journey::eventually("two calls are made", || sim.requests(0).len() == 2).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(sim.requests(0).len(), 2);
    let path = format!("/v1/jobs/{}/explain", jobs[5]);
    let explain = server.request_as(&key, reqwest::Method::GET, &path).send().await.unwrap();
    let explain: Value = explain.json().await.unwrap();
    assert_eq!(explain["waiting_for"][0]["kind"], "budget", "{explain}");
}

/// Makes a tenant with settings and gives a key of it.
pub async fn other_tenant(server: &Server, settings: &Value) -> String {
    let put = server.request(reqwest::Method::PUT, "/v1/tenants/other").json(settings).send().await.unwrap();
    assert!(put.status().is_success(), "{}", put.text().await.unwrap());
    let body = json!({"name": "test", "scopes": ["submit", "read", "inspect"]});
    let (status, key) = server.post("/v1/keys?tenant=other", &body).await;
    assert!(status.is_success(), "{key}");
    key["key"].as_str().unwrap_or_else(|| panic!("{key}")).to_owned()
}
