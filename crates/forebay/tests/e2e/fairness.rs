//! A tenant with few jobs beside one with thousands: each of its jobs is called within about the length of one call.
//!
//! `FOREBAY_FAIRNESS_ROUNDS` chooses how many of its jobs. Where that is said, the time is judged, too: one call and 100 ms.
//! Otherwise only the order is, which no other process on the machine can change. `FOREBAY_FAIRNESS_REPORT` names a file that gets
//! the figures.

use std::io::Write as _;
use std::time::{Duration, Instant};

use forebay::sim::{Row, SimHandle};
use reqwest::Method;
use serde_json::{Value, json};

use crate::capacity::other_tenant;
use crate::crash::{Chance, from_environment};
use crate::harness::{Home, PATIENCE, Server, definitions, simulator};
use crate::postgres::DatabaseServer;

/// How long a call takes.
const CALL: Duration = Duration::from_millis(100);
/// Calls at the same time.
const IN_FLIGHT: usize = 4;
/// What a single job may need beside the call that ends before it.
const MARGIN: Duration = Duration::from_millis(100);
/// By their size the single jobs' calls are known in the simulator's log.
const LONG: u64 = 100;

#[tokio::test(flavor = "multi_thread")]
async fn a_single_job_waits_for_one_call_beside_thousands() {
    let home = Home::new();
    beside_thousands(&home, &["api,work,maintain"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_job_waits_for_one_call_where_several_processes_work() {
    let database = DatabaseServer::start();
    let home = Home::on(&database.url);
    beside_thousands(&home, &["api,maintain", "work", "work"]).await;
}

async fn beside_thousands(home: &Home, roles: &[&str]) {
    let rounds = from_environment("FOREBAY_FAIRNESS_ROUNDS", 50);
    let call_ms = u64::try_from(CALL.as_millis()).unwrap();
    let sim = simulator(&json!({"defaults": {"first_token_ms": call_ms, "output_tokens": 1}})).await;
    let mut servers = Vec::new();
    for roles in roles {
        servers.push(Server::start_with(home, &sim.base_url(), &[("FOREBAY_ROLES", roles)]));
        if servers.len() == 1 {
            let limit = format!("max_in_flight = {IN_FLIGHT}");
            servers[0].apply(&definitions(&sim.base_url(), &limit, "")).await;
        }
    }
    let few = other_tenant(&servers[0], &json!({})).await;
    let is_judged = std::env::var_os("FOREBAY_FAIRNESS_ROUNDS").is_some();
    let backlog = if is_judged { 10_000 } else { 1_000 };
    let mut waits = Vec::new();
    let mut chance = Chance(7);
    let mut handed_in = 0;
    for _ in 0..rounds {
        while handed_in < sim.requests(0).len() + backlog {
            handed_in += hand_in_many(&servers[0]).await;
        }
        tokio::time::sleep(Duration::from_millis(chance.below(call_ms))).await;
        waits.push(single(&servers[0], &few, &sim).await);
    }
    waits.sort();
    let (median, worst) = (waits[waits.len() / 2], waits[waits.len() - 1]);
    if let Ok(path) = std::env::var("FOREBAY_FAIRNESS_REPORT") {
        let line = format!(
            "{} processes, {rounds} single jobs beside {handed_in}: median {median:?}, worst {worst:?}\n",
            roles.len()
        );
        std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
    }
    if is_judged {
        assert!(worst <= CALL + MARGIN, "{waits:?}");
    }
}

async fn hand_in_many(server: &Server) -> usize {
    let jobs = vec![json!({"task": "chat", "input": {"prompt": "one of many"}}); 1_000];
    let (status, taken) = server.post("/v1/job-batches", &json!({"jobs": jobs})).await;
    assert!(status.is_success(), "{taken}");
    jobs.len()
}

/// Hands a single job in and follows it to the end of its call. Gives how long it waited, as its caller sees it.
async fn single(server: &Server, key: &str, sim: &SimHandle) -> Duration {
    let last = sim.requests(0).last().map_or(0, |row| row.seq);
    let body = json!({"task": "chat", "input": {"prompt": "single ".repeat(100)}});
    let began = Instant::now();
    let answer = server.request_as(key, Method::POST, "/v1/jobs").json(&body).send().await.unwrap();
    let answer: Value = answer.json().await.unwrap();
    assert!(answer["job_id"].is_string(), "{answer}");
    let accepted_after = sim.requests(last).len();
    let call = call_after(sim, last, began, |_| true).await;
    let waited = began.elapsed();
    let before = sim.requests(last).iter().position(|row| row.seq == call.seq).unwrap();
    // Those under way, and a turn of the other tenant: its jobs are smaller, and it takes them for a large one.
    let most = 3 * IN_FLIGHT;
    assert!(before <= accepted_after + most, "{} calls came first", before - accepted_after);
    call_after(sim, last, began, |row| row.ended_us.is_some()).await;
    waited
}

/// The single job's call, as soon as it is as it should be.
async fn call_after(sim: &SimHandle, last: u64, began: Instant, is_so: impl Fn(&Row) -> bool) -> Row {
    loop {
        let calls = sim.requests(last);
        if let Some(call) = calls.into_iter().find(|row| row.input_tokens >= LONG && is_so(row)) {
            return call;
        }
        assert!(began.elapsed() < PATIENCE, "it is not called");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
