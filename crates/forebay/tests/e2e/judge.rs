//! The judge of what a run left behind: `forebay verify`, with the logs of provider and clients.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use forebay::sim::scenario::Scenario;
use forebay::sim::{self, SimHandle, SimOptions};
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::{Value, json};

use crate::harness::{FOREBAY, Home};

/// A client's log, as `docs/verify.md` describes it.
pub struct ClientLog {
    file: Mutex<File>,
}

impl ClientLog {
    pub fn of(home: &Home) -> Self {
        let path = home.path().join("client.jsonl");
        let file = File::options().append(true).create(true).open(&path).expect("a client log");
        Self { file: Mutex::new(file) }
    }

    /// A submit of the tenant `default`, and its answer if there was one.
    pub fn submitted(&self, key: &str, body: &Value, answer: Option<&Answer>) {
        let digest = forebay_core::digest::Digest::of(body.to_string().as_bytes()).to_string();
        let mut line = json!({
            "kind": "submit", "tenant": "default", "idempotency_key": key, "body_sha256": digest, "sent_at": now(),
        });
        if let Some(answer) = answer {
            line["answered_at"] = json!(now());
            line["status"] = json!(answer.status.as_u16());
            line["job_id"] = answer.body["job_id"].clone();
            line["retry_after"] = json!(answer.retry_after);
        }
        self.write(&line);
    }

    /// An event that a stream of the tenant `default` showed.
    pub fn shown(&self, stream: &str, event_id: &str) {
        self.write(&json!({"kind": "event", "tenant": "default", "stream": stream, "event_id": event_id}));
    }

    fn write(&self, line: &Value) {
        let mut file = self.file.lock().expect("nobody panicked");
        file.write_all(format!("{line}\n").as_bytes()).expect("the client log is written");
    }
}

/// What a server answered to a submit.
pub struct Answer {
    pub status: StatusCode,
    pub body: Value,
    pub retry_after: Option<String>,
}

impl Answer {
    /// Sends a request; nothing where the connection broke.
    pub async fn to(request: reqwest::RequestBuilder) -> Option<Self> {
        let answer = request.send().await.ok()?;
        let status = answer.status();
        let retry_after = header(answer.headers());
        let body = answer.bytes().await.ok()?;
        Some(Self { status, body: serde_json::from_slice(&body).unwrap_or_default(), retry_after })
    }

    pub fn job_id(&self) -> Option<&str> {
        self.body["job_id"].as_str().filter(|_| self.status == StatusCode::ACCEPTED)
    }
}

fn header(headers: &HeaderMap) -> Option<String> {
    headers.get(RETRY_AFTER).map(|value| value.to_str().expect("text").to_owned())
}

fn now() -> String {
    forebay_store::Clock::now(&forebay_store::SystemClock).to_string()
}

/// The simulator's log in a folder.
fn calls(home: &Home) -> PathBuf {
    home.path().join("calls.jsonl")
}

/// A simulator on a free port that keeps its log beside a store.
pub async fn logged_simulator(home: &Home, scenario: &Value) -> SimHandle {
    let scenario = Scenario::from_json(scenario.to_string().as_bytes()).expect("a scenario");
    let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let options = SimOptions { listen, scenario, log: Some(calls(home)), ..SimOptions::default() };
    sim::serve(options).await.expect("a simulator")
}

/// Judges a store with whatever logs are beside it; gives the report.
pub fn verdict(home: &Home, flags: &[&str]) -> Value {
    let mut command = Command::new(FOREBAY);
    command.args(["verify", "--json", "--store", &home.store()]).args(flags);
    let logs = [
        ("--sim-log", calls(home)),
        ("--client-log", home.path().join("client.jsonl")),
        ("--server-log", home.path().join("server.log")),
    ];
    for (flag, path) in logs.iter().filter(|(_, path)| Path::exists(path)) {
        command.arg(flag).arg(path);
    }
    let judged = command.output().expect("forebay verify runs");
    let said = String::from_utf8_lossy(&judged.stdout).into_owned();
    let report: Value = serde_json::from_str(&said)
        .unwrap_or_else(|_| panic!("{said}{}", String::from_utf8_lossy(&judged.stderr)));
    let code = judged.status.code();
    assert_eq!(code, Some(i32::from(report["holds"] != true)), "{report}");
    report
}

/// Judges, and fails with everything that does not hold.
pub fn all_holds(home: &Home, flags: &[&str]) -> Value {
    let report = verdict(home, flags);
    let violations = report["violations"].as_array().expect("a list");
    let shown: Vec<_> = violations.iter().take(20).map(Value::to_string).collect();
    assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), shown.join("\n"));
    report
}
