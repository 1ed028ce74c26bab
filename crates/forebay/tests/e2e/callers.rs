//! Callers that go away before they have their answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::harness::{Server, simulator};
use crate::postgres::{Database, run};

/// Requests that nobody waits for, so many from each of so many callers.
const CALLERS: u64 = 50;
const EACH: u64 = 200;
/// As many as are waited for afterwards.
const AFTER: usize = 100;

fn chat(prompt: &str) -> Value {
    json!({"task": "chat", "input": {"prompt": prompt}})
}

/// Sends a submission and closes the connection within five milliseconds, whatever has become of it.
async fn send_and_go(address: &str, key: &str, nth: u64) {
    let body = chat("nobody waits").to_string();
    let request = format!(
        "POST /v1/jobs HTTP/1.1\r\nHost: forebay\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let Ok(mut stream) = TcpStream::connect(address).await else { return };
    stream.write_all(request.as_bytes()).await.ok();
    tokio::time::sleep(Duration::from_micros(nth * 37 % 5_000)).await;
    // With a reset, as of a caller that was killed.
    stream.set_zero_linger().expect("a socket");
}

/// The most transactions that stood open at a time, each for longer than a second, with nothing under way.
fn watch(database: &Database, over: &Arc<AtomicBool>) -> std::thread::JoinHandle<usize> {
    let (url, over) = (database.url(), Arc::clone(over));
    std::thread::spawn(move || {
        let mut most = 0;
        while !over.load(Ordering::SeqCst) {
            let open = run(
                &url,
                "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'
                 AND state_change < clock_timestamp() - interval '1 second'",
            );
            most = most.max(open);
            std::thread::sleep(Duration::from_millis(100));
        }
        most
    })
}

/// C20: ten thousand callers go away in the middle of their submissions. No transaction is left open, none of the connections
/// to the database is lost for what comes after, and whatever is answered then is there after a crash.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ten_thousand_callers_that_go_away_leave_nothing_behind() {
    let (database, sim) = (Database::new(), simulator(&json!({})).await);
    let home = database.home();
    let roles = [("FOREBAY_ROLES", "api"), ("FOREBAY_MAX_PENDING_JOBS", "100000")];
    let server = Server::start_with(&home, &sim.base_url(), &roles);
    let over = Arc::new(AtomicBool::new(false));
    let watching = watch(&database, &over);
    let (address, key) = (server.url.trim_start_matches("http://").to_owned(), home.admin_key());
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (address, key) = (address.clone(), key.clone());
        callers.spawn(async move {
            for nth in 0..EACH {
                send_and_go(&address, &key, caller + nth * CALLERS).await;
            }
        });
    }
    callers.join_all().await;
    let mut accepted = Vec::new();
    for nth in 0..AFTER {
        let (status, answer) = server.post("/v1/jobs", &chat(&format!("nr {nth}"))).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{answer}");
        accepted.push(answer["job_id"].as_str().unwrap().to_owned());
    }
    let all = run(&database.url(), "SELECT FROM jobs");
    assert!(all > 1_000 + AFTER, "only {all} came so far that there was something to break off");
    over.store(true, Ordering::SeqCst);
    assert_eq!(watching.join().unwrap(), 0, "transactions that nobody goes on with");
    server.kill_9();
    let server = Server::start_with(&home, &sim.base_url(), &roles);
    for job_id in &accepted {
        assert_eq!(server.get(&format!("/v1/jobs/{job_id}")).await["state"], "READY", "{job_id}");
    }
}
