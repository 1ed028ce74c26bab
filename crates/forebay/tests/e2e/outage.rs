//! The database goes away and comes back: who asks is told the truth, nothing that was promised is lost, and calls that
//! are under way are not made in vain.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use forebay::sim::Ended;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::chaos_proxy::{Behaviour, ChaosProxy, Cut};
use crate::harness::{Home, PATIENCE, Server, data, definitions};
use crate::journey::eventually;
use crate::judge::{Answer, ClientLog, all_holds, logged_simulator};
use crate::postgres::{Database, DatabaseServer};

/// How a database is away.
#[derive(Debug, Clone, Copy)]
enum Away {
    /// Nobody listens at its address.
    Refused,
    /// It takes everything and answers nothing.
    Silent,
}

async fn go(proxy: &ChaosProxy, away: Away) {
    match away {
        Away::Refused => {
            proxy.refuse(true).await;
            proxy.cut(Cut::Reset);
        }
        Away::Silent => proxy.set_both(Behaviour::Discard),
    }
}

async fn come_back(proxy: &ChaosProxy, away: Away) {
    match away {
        Away::Refused => proxy.refuse(false).await,
        Away::Silent => {
            proxy.set_both(Behaviour::Pass);
            proxy.cut(Cut::Reset);
        }
    }
}

/// Waits for an answer of `/readyz`; none takes longer than a prober waits.
async fn ready(server: &Server, wanted: StatusCode) -> Value {
    let began = Instant::now();
    loop {
        let asked = Instant::now();
        let answer = server.request(Method::GET, "/readyz").send().await.unwrap();
        assert!(asked.elapsed() < Duration::from_secs(5), "it took {:?}", asked.elapsed());
        let (status, hint) = (answer.status(), answer.headers().contains_key("retry-after"));
        let body = answer.json().await.unwrap();
        assert_eq!(hint, status == StatusCode::SERVICE_UNAVAILABLE, "{body}");
        if status == wanted {
            return body;
        }
        assert!(began.elapsed() < PATIENCE, "{body}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn submit(server: &Server, key: &str, prompt: &str) -> Answer {
    let ask = server.request(Method::POST, "/v1/jobs").header("Idempotency-Key", key);
    let body = json!({"task": "chat", "input": {"prompt": prompt}});
    Answer::to(ask.json(&body)).await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_goes_away_costs_time_and_nothing_else() {
    for away in [Away::Refused, Away::Silent] {
        let database = Database::new();
        let proxy = ChaosProxy::start(database.address());
        let home = Home::on(&database.url_at(proxy.address()));
        let scenario = json!({"rules": [{"match": {"contains": "[slow]"}, "first_token_ms": 1_500}]});
        let sim = logged_simulator(&home, &scenario).await;
        let server = Server::start(&home, &sim.base_url());
        server.apply(&definitions(&sim.base_url(), "", "")).await;
        ready(&server, StatusCode::OK).await;
        let slow = submit(&server, "slow", "[slow]").await;
        eventually("the call is made", || sim.requests(0).len() == 1).await;

        go(&proxy, away).await;
        let problem = ready(&server, StatusCode::SERVICE_UNAVAILABLE).await;
        assert!(problem["detail"].as_str().unwrap().contains("the database"), "{problem}");
        let refused = submit(&server, "again", "hello").await;
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.body);
        assert!(refused.retry_after.is_some() && refused.body["code"] == "overloaded", "{}", refused.body);
        eventually("the call ends", || sim.requests(0)[0].ended == Ended::Complete).await;
        come_back(&proxy, away).await;

        ready(&server, StatusCode::OK).await;
        let again = submit(&server, "again", "hello").await;
        for job_id in [slow.job_id().unwrap(), again.job_id().unwrap()] {
            let job = server.settled(job_id).await;
            assert_eq!((&job["state"], &job["attempts"]["made"]), (&json!("SUCCEEDED"), &json!(1)), "{job}");
        }
        assert_eq!(data(&server.get("/v1/jobs").await).len(), 2, "{away:?}");
        assert_eq!(sim.requests(0).len(), 2, "no call was made in vain: {away:?}");
        server.kill_9();
        // Through the proxy, too: it is still there.
        all_holds(&home, &["--drained"]);
    }
}

/// Whoever was told that a job is accepted finds it, and whoever was not was told to come back.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_databases_that_crashes_under_load_loses_nothing() {
    let database = DatabaseServer::start();
    let home = Home::on(&database.url);
    let sim = logged_simulator(&home, &json!({"defaults": {"first_token_ms": 20}})).await;
    let server = Arc::new(Server::start(&home, &sim.base_url()));
    server.apply(&definitions(&sim.base_url(), "", "")).await;
    let (stop, log) = (Arc::new(AtomicBool::new(false)), Arc::new(ClientLog::of(&home)));
    let callers = (0..4).map(|caller| {
        let (server, stop, log) = (Arc::clone(&server), Arc::clone(&stop), Arc::clone(&log));
        tokio::spawn(async move {
            let mut accepted = Vec::new();
            for nth in 0.. {
                let key = format!("{caller}-{nth}");
                let body = json!({"task": "chat", "input": {"prompt": "hello"}});
                let ask = server.request(Method::POST, "/v1/jobs").header("Idempotency-Key", &key);
                let answer = Answer::to(ask.json(&body)).await.expect("an answer");
                log.submitted(&key, &body, Some(&answer));
                match answer.job_id() {
                    Some(job_id) => accepted.push(job_id.to_owned()),
                    None => {
                        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{}", answer.body);
                        assert!(answer.retry_after.is_some(), "{}", answer.body);
                    }
                }
                if stop.load(Ordering::SeqCst) {
                    return accepted;
                }
            }
            accepted
        })
    });
    let callers: Vec<_> = callers.collect();
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        database.crash();
        ready(&server, StatusCode::OK).await;
    }
    stop.store(true, Ordering::SeqCst);
    for caller in callers {
        for job_id in caller.await.unwrap() {
            assert_eq!(server.settled(&job_id).await["state"], "SUCCEEDED", "{job_id}");
        }
    }
    crate::crash::drained(&server).await;
    Arc::into_inner(server).expect("nobody else has it").kill_9();
    all_holds(&home, &["--drained"]);
}

/// A server that became a standby takes no writes for a while: who asks is told, jobs of a worker that died meanwhile are
/// taken over when it is back, and nothing stays stuck (F71, C07).
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_takes_no_writes_for_a_while_leaves_nothing_stuck() {
    let database = DatabaseServer::start();
    let home = Home::on(&database.url);
    let scenario =
        json!({"rules": [{"times": 10, "fault": "hang"}, {"first_token_ms": 20, "reply": "done"}]});
    let sim = logged_simulator(&home, &scenario).await;
    let start = |roles| {
        let short = [("FOREBAY_LEASE_MS", "1500"), ("FOREBAY_HEARTBEAT_MS", "500"), ("FOREBAY_ROLES", roles)];
        Server::start_with(&home, &sim.base_url(), &short)
    };
    let (api, dying) = (start("api,maintain"), start("work"));
    api.apply(&definitions(&sim.base_url(), "", &crate::crash::patient("chat"))).await;
    let mut jobs = Vec::new();
    for nth in 0..10 {
        let taken = submit(&api, &format!("before-{nth}"), "hello").await;
        jobs.push(taken.job_id().expect("it is taken").to_owned());
    }
    eventually("the calls are made", || sim.requests(0).len() == 10).await;
    let read_only = |on: &str| {
        database.run(&format!("ALTER SYSTEM SET default_transaction_read_only = {on}"));
        database.run("SELECT pg_reload_conf()");
    };
    read_only("on");
    dying.kill_9();
    let problem = ready(&api, StatusCode::SERVICE_UNAVAILABLE).await;
    assert_eq!(problem["detail"], "the database takes no writes", "{problem}");
    let refused = submit(&api, "meanwhile", "hello").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.body);
    assert!(refused.retry_after.is_some(), "{}", refused.body);
    // What is there can be looked at all the same.
    assert_eq!(data(&api.get("/v1/jobs").await).len(), 10);
    // Longer than a lease.
    tokio::time::sleep(Duration::from_secs(2)).await;
    read_only("off");
    ready(&api, StatusCode::OK).await;
    let worker = start("work");
    jobs.push(submit(&api, "meanwhile", "hello").await.job_id().expect("it is taken").to_owned());
    for job_id in &jobs {
        assert_eq!(api.settled(job_id).await["state"], "SUCCEEDED", "{job_id}");
    }
    crate::crash::drained(&api).await;
    worker.kill_9();
    api.kill_9();
    all_holds(&home, &["--drained"]);
}
