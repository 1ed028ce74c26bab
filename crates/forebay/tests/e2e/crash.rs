//! kill -9 under load, again and again, checked from outside: the client's log of what was accepted, the
//! simulator's log of what was called, and what the store says of both.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay::sim::{Row, SimHandle};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::{Mutex, RwLock};

use crate::harness::{Home, PATIENCE, Server, client, data, definitions, simulator};
use crate::journey::events;

/// Rounds of one run; a script runs more of them with other seeds.
fn rounds() -> u32 {
    std::env::var("FOREBAY_CRASH_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

fn seed() -> u64 {
    std::env::var("FOREBAY_CRASH_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(7_120)
}

/// A small generator, so that a seed tells the whole story (xorshift64*, Vigna 2016).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound
    }
}

/// Where the server is at the moment, for the callers.
type Address = Arc<RwLock<Option<(String, String)>>>;

/// Accepted jobs by the idempotency key that they were submitted with.
type Log = Arc<Mutex<BTreeMap<String, String>>>;

#[tokio::test(flavor = "multi_thread")]
async fn no_accepted_job_is_lost_and_no_call_is_unexplained() {
    let scenario = json!({
        "seed": seed(),
        "defaults": {"first_token_ms": {"min": 5, "max": 60}, "per_token_ms": 1, "output_tokens": 8},
        "rules": [
            {"probability": 0.03, "fault": {"kind": "status", "status": 500}},
            {"probability": 0.03, "fault": {"kind": "cut", "after_chunks": 2}},
            {"probability": 0.02, "fault": {"kind": "status", "status": 429, "retry_after": 0.2}},
        ],
    });
    let sim = simulator(&scenario).await;
    let home = Home::new();
    let task = "on_unknown = \"retry\"\n[tasks.chat.retry]\nmax_attempts = 50\nbase_ms = 20\ncap_ms = 200\nmax_deferrals = 1000";
    let mut chance = Chance(seed());
    let mut server = Server::start(&home, &sim.base_url());
    server.apply(&definitions(&sim.base_url(), "max_in_flight = 24", task)).await;

    let address: Address = Arc::new(RwLock::new(Some((server.url.clone(), server.key.clone()))));
    let log = Log::default();
    let stop = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..4)
        .map(|nth| tokio::spawn(call_in(nth, Arc::clone(&address), Arc::clone(&log), Arc::clone(&stop))))
        .collect();
    for _ in 0..rounds() {
        tokio::time::sleep(Duration::from_millis(150 + chance.below(450))).await;
        *address.write().await = None;
        server.kill_9();
        server = Server::start(&home, &sim.base_url());
        *address.write().await = Some((server.url.clone(), server.key.clone()));
    }
    stop.store(true, Ordering::SeqCst);
    for caller in callers {
        caller.await.unwrap();
    }
    let log = log.lock().await.clone();
    assert!(log.len() > 100, "only {} jobs were accepted", log.len());
    judge(&server, &sim, &log).await;
}

/// Submits jobs until told to stop; a job counts as accepted when a 202 names it. What got no answer is asked
/// again under the same key, also of a server that was started anew.
async fn call_in(nth: usize, address: Address, log: Log, stop: Arc<AtomicBool>) {
    let http = client();
    for count in 0.. {
        let key = format!("caller-{nth}-{count}");
        let body = json!({"task": "chat", "input": {"prompt": format!("say {key}")}});
        loop {
            let there = address.read().await.clone();
            if let Some((url, secret)) = there {
                let ask =
                    http.post(format!("{url}/v1/jobs")).bearer_auth(secret).header("Idempotency-Key", &key);
                if let Ok(answer) = ask.json(&body).send().await
                    && answer.status() == StatusCode::ACCEPTED
                    && let Ok(accepted) = answer.json::<Value>().await
                {
                    let job_id = accepted["job_id"].as_str().unwrap().to_owned();
                    log.lock().await.insert(key, job_id);
                    break;
                }
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if stop.load(Ordering::SeqCst) {
            return;
        }
    }
}

async fn judge(server: &Server, sim: &SimHandle, log: &BTreeMap<String, String>) {
    let began = std::time::Instant::now();
    while server.get("/v1/jobs?state=READY&limit=1").await["data"] != json!([])
        || server.get("/v1/jobs?state=RETRY_SCHEDULED&limit=1").await["data"] != json!([])
        || server.get("/v1/jobs?state=RUNNING&limit=1").await["data"] != json!([])
    {
        assert!(began.elapsed() < PATIENCE * 2, "the jobs do not end");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let jobs = all_jobs(server).await;
    let known: HashSet<&String> = jobs.keys().collect();
    for (key, job_id) in log {
        assert!(known.contains(job_id), "{key}: {job_id} was accepted and is lost (I1, I2)");
    }
    let ids: HashSet<&String> = log.values().collect();
    assert_eq!(ids.len(), log.len(), "two keys stand for one job");
    assert_eq!(jobs.len(), log.len(), "a job exists that no caller was told of, or twice under one key");

    let mut ledger = HashMap::new();
    let (mut cost, mut uncertain) = (0, 0);
    for (job_id, job) in &jobs {
        assert_eq!(job["state"], "SUCCEEDED", "{job}");
        check_events(server, job_id, job).await;
        let attempts = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
        check_attempts(job_id, data(&attempts));
        for attempt in data(&attempts) {
            cost += attempt["cost_micros"].as_i64().unwrap_or_default();
            uncertain += attempt["grant"]["settled"]["uncertain_micros"].as_i64().unwrap_or_default();
            ledger.insert(attempt["attempt_id"].as_str().unwrap().to_owned(), attempt.clone());
        }
    }
    check_calls(&ledger, &sim.requests(0));
    check_money(server, cost, uncertain, &ledger, &sim.requests(0)).await;
}

async fn all_jobs(server: &Server) -> BTreeMap<String, Value> {
    let mut jobs = BTreeMap::new();
    let mut path = "/v1/jobs?limit=200".to_owned();
    loop {
        let page = server.get(&path).await;
        for job in data(&page) {
            let again = jobs.insert(job["job_id"].as_str().unwrap().to_owned(), job.clone());
            assert_eq!(again, None, "a job stands on two pages");
        }
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/jobs?limit=200&cursor={cursor}"),
            None => return jobs,
        }
    }
}

/// One event for each version, and one end (I1, I13, I28).
async fn check_events(server: &Server, job_id: &str, job: &Value) {
    let events = events(server, job_id).await;
    let versions: Vec<_> =
        events.iter().map(|event| event["data"]["state_version"].as_u64().unwrap()).collect();
    let expected: Vec<_> = (1..=job["state_version"].as_u64().unwrap()).collect();
    assert_eq!(versions, expected, "{job_id}");
    let ends = events.iter().filter(|event| event["type"] == "dev.forebay.job.succeeded.v1").count();
    assert_eq!(ends, 1, "{job_id}");
}

/// Fences rise, every attempt is settled, one succeeded (I11, I12, I14).
fn check_attempts(job_id: &str, attempts: &[Value]) {
    let fences: Vec<_> = attempts.iter().map(|attempt| attempt["fence"].as_u64().unwrap()).collect();
    assert!(fences.is_sorted_by(|one, next| one < next), "{job_id}: {fences:?}");
    assert!(attempts.iter().all(|attempt| attempt["outcome"].is_string()), "{job_id}: an attempt is open");
    let succeeded = attempts.iter().filter(|attempt| attempt["outcome"] == "succeeded").count();
    assert_eq!(succeeded, 1, "{job_id}");
}

/// Every call at the provider is an attempt on record, called once; an attempt that was not sent has no call.
fn check_calls(ledger: &HashMap<String, Value>, calls: &[Row]) {
    let mut seen = HashSet::new();
    for call in calls {
        let attempt = call.forebay_attempt.as_deref().expect("every call names its attempt").to_owned();
        assert!(ledger.contains_key(&attempt), "the call of {attempt} is in no ledger (I14)");
        assert!(seen.insert(attempt.clone()), "{attempt} was called twice");
    }
    for (attempt, row) in ledger {
        match row["outcome"].as_str().unwrap() {
            "succeeded" | "failed_after_send" => {
                assert!(seen.contains(attempt), "{attempt} was never called")
            }
            "failed_before_send" => assert!(!seen.contains(attempt), "{attempt} was called"),
            // The worker died: before the call or after it, nobody knows.
            _ => {}
        }
    }
}

/// What the books say is what the provider's log says, to the micro-unit.
async fn check_money(
    server: &Server,
    cost: i64,
    uncertain: i64,
    ledger: &HashMap<String, Value>,
    calls: &[Row],
) {
    let billed: i64 = calls
        .iter()
        .filter(|call| {
            let attempt = call.forebay_attempt.as_deref().unwrap();
            ledger[attempt]["outcome"] == "succeeded"
        })
        .map(|call| i64::try_from(call.input_tokens + 2 * call.output_tokens).unwrap())
        .sum();
    assert_eq!(cost, billed, "the ledger's cost is the provider's bill for what succeeded (I18)");
    let tenant = server.get("/v1/tenants/default").await.to_string();
    assert!(tenant.contains(&format!("\"spent_micros\":{cost}")), "{cost} is not in {tenant}");
    assert!(tenant.contains(&format!("\"uncertain_micros\":{uncertain}")), "{uncertain} is not in {tenant}");
    assert!(tenant.contains("\"reserved_micros\":0"), "{tenant}");
    let answer = server.request(Method::GET, "/readyz").send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
}
