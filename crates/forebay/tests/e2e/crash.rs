//! A loaded server is killed, stopped and started again in every way that there is, and `forebay verify` judges what
//! is left: the client's log of what was accepted, the provider's log of what was called, and the store.
//!
//! `FOREBAY_CRASH_ROUNDS` and `FOREBAY_CRASH_SEED` choose how many rounds and which; a seed tells the whole plan.
//! `FOREBAY_CRASH_REPORT` names a file that gets the report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay::sim::SimHandle;
use futures_util::StreamExt as _;
use serde_json::{Value, json};
use tokio::sync::RwLock;

use crate::harness::{Home, PATIENCE, Server, client, data, definitions};
use crate::judge::{Answer, ClientLog, all_holds, logged_simulator};

pub fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |text| text.parse().expect("a number"))
}

/// A small generator, so that a seed tells the whole story (xorshift64*, Vigna 2016).
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % bound
    }

    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::try_from(self.below(choices.len() as u64)).expect("small")]
    }
}

/// How a round ends the process, or tries to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// kill -9 at any moment.
    Kill,
    /// The process ends itself at a fail point.
    FailPoint(&'static str, u64),
    /// It stands still beyond its lease, goes on, and is killed later.
    Stop,
    /// It is killed again and again while it starts.
    Storm,
}

impl Kind {
    fn choose(chance: &mut Chance) -> Self {
        match chance.below(10) {
            0..=3 => Kind::Kill,
            4..=7 => Kind::FailPoint(chance.one_of(PLACES), 1 + chance.below(12)),
            8 => Kind::Stop,
            _ => Kind::Storm,
        }
    }

    /// What happened, where a fail point was reached or was not.
    fn name(self, reached: bool) -> &'static str {
        match self {
            Kind::Kill => "kill -9 at any moment",
            Kind::FailPoint(..) if reached => "ended at a fail point",
            Kind::FailPoint(..) => "kill -9 after two seconds without coming to the fail point",
            Kind::Stop => "stopped beyond the lease, then let go on and killed",
            Kind::Storm => "killed while starting, several times",
        }
    }
}

/// Fail points that the load of a round comes to.
const PLACES: &[&str] = &[
    "accept.before_commit",
    "accept.after_commit",
    "submit.before_answer",
    "claim.before_commit",
    "claim.after_commit",
    "call.before_send",
    "call.after_reply",
    "commit_step.before_commit",
    "commit_step.after_commit",
    "extend.before_commit",
    "extend.after_commit",
    "rescue.before_commit",
    "rescue.after_commit",
    "cancel.before_commit",
    "cancel.after_commit",
    "expire.before_commit",
    "expire.after_commit",
];

/// Where the server is at the moment, for the callers.
pub type Address = Arc<RwLock<Option<(String, String)>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_is_lost_and_nothing_unexplained_however_the_process_ends() {
    let (rounds, seed) =
        (from_environment("FOREBAY_CRASH_ROUNDS", 20), from_environment("FOREBAY_CRASH_SEED", 7_120));
    let mut run = Run::new(seed).await;
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for _ in 0..rounds {
        let kind = Kind::choose(&mut run.chance);
        let happened = run.round(kind).await;
        *kinds.entry(happened).or_default() += 1;
    }
    let server = run.finish().await;
    let stop = Arc::new(AtomicBool::new(false));
    // Nothing is replayed any more: that would be a new job at any moment.
    let last = tokio::spawn(look_after((run.address, run.log, Arc::clone(&stop)), Replays::Left));
    drained(&server).await;
    stop.store(true, Ordering::SeqCst);
    last.await.unwrap();
    server.kill_9();
    let report = all_holds(&run.home, &["--drained"]);
    let figures = &report["figures"];
    assert!(figures["promised"].as_u64() > Some(100), "{figures}");
    let same = [("lost", 0), ("unexplained_calls", 0), ("money_difference_micros", 0)];
    assert!(same.iter().all(|(figure, zero)| figures[*figure] == *zero), "{figures}");
    if let Ok(path) = std::env::var("FOREBAY_CRASH_REPORT") {
        std::fs::write(path, written(rounds, seed, &kinds, run.kills, &report)).unwrap();
    }
}

/// One run: a store, its provider, callers, and what happens to the server.
struct Run {
    chance: Chance,
    home: Home,
    sim: SimHandle,
    server: Option<Server>,
    address: Address,
    log: Arc<ClientLog>,
    stop: Arc<AtomicBool>,
    callers: Vec<tokio::task::JoinHandle<()>>,
    /// How often the process ended.
    kills: u64,
}

impl Run {
    async fn new(seed: u64) -> Self {
        let home = Home::new();
        let scenario = json!({
            "seed": seed,
            "defaults": {"first_token_ms": {"min": 5, "max": 60}, "per_token_ms": 1, "output_tokens": 8},
            "rules": [
                {"match": {"contains": "[slow]"}, "first_token_ms": {"min": 300, "max": 900}},
                {"probability": 0.03, "fault": {"kind": "status", "status": 500}},
                {"probability": 0.03, "fault": {"kind": "cut", "after_chunks": 2}},
                {"probability": 0.02, "fault": {"kind": "status", "status": 429, "retry_after": 0.2}},
                {"probability": 0.02, "fault": {"kind": "status", "status": 503, "retry_after": 0.1}},
                {"match": {"contains": "Total EUR"}, "probability": 0.5, "reply": reading("Total EUR 717,79")},
                {"match": {"contains": "Total EUR"}, "reply": reading("Total EUR 717,97")},
            ],
        });
        let sim = logged_simulator(&home, &scenario).await;
        let server = Server::start(&home, &sim.base_url());
        let tasks = definitions(&sim.base_url(), "max_in_flight = 24", &patient("chat"));
        server.apply(&format!("{tasks}{BILL}{}", patient("bill"))).await;
        let address: Address = Arc::new(RwLock::new(Some((server.url.clone(), server.key.clone()))));
        let log = Arc::new(ClientLog::of(&home));
        let stop = Arc::new(AtomicBool::new(false));
        let shared = || (Arc::clone(&address), Arc::clone(&log), Arc::clone(&stop));
        let mut callers: Vec<_> = (0..4).map(|nth| tokio::spawn(call_in(nth, shared()))).collect();
        callers.push(tokio::spawn(follow(shared())));
        callers.push(tokio::spawn(look_after(shared(), Replays::Made)));
        Self { chance: Chance(seed), home, sim, server: Some(server), address, log, stop, callers, kills: 0 }
    }

    fn environment(&self, failpoints: &str) -> Vec<(&'static str, String)> {
        vec![
            ("FOREBAY_LEASE_MS", "900".to_owned()),
            ("FOREBAY_HEARTBEAT_MS", "100".to_owned()),
            ("FAILPOINTS", failpoints.to_owned()),
        ]
    }

    fn start(&self, failpoints: &str) -> Result<Server, String> {
        let environment = self.environment(failpoints);
        let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Server::try_start(&self.home, &self.sim.base_url(), &environment)
    }

    /// Plays a round; says what happened.
    async fn round(&mut self, kind: Kind) -> &'static str {
        let plan = match kind {
            Kind::FailPoint(place, nth) => format!("{place}=abort@{nth}"),
            Kind::Kill | Kind::Stop | Kind::Storm => String::new(),
        };
        let mut reached = !self.restart(&plan).await;
        match kind {
            Kind::Kill => self.wait(100, 600).await,
            Kind::FailPoint(..) if reached => {}
            Kind::FailPoint(..) => reached = self.until_it_ends().await,
            Kind::Stop => {
                self.wait(100, 400).await;
                self.signal("STOP");
                self.wait(1_000, 1_500).await;
                self.signal("CONT");
                self.wait(50, 400).await;
            }
            Kind::Storm => {
                for _ in 0..2 + self.chance.below(4) {
                    self.end().await;
                    let mut starting = Server::spawn(&self.home, &self.sim.base_url());
                    tokio::time::sleep(Duration::from_millis(self.chance.below(150))).await;
                    starting.kill().expect("SIGKILL");
                    starting.wait().expect("its end");
                    self.kills += 1;
                }
            }
        }
        kind.name(reached)
    }

    /// Ends the process, and starts another that plans this. One that ends while it starts is started again, with
    /// nothing planned; then this is `false`.
    async fn restart(&mut self, plan: &str) -> bool {
        self.end().await;
        let planned = self.start(plan);
        let lives = planned.is_ok();
        let server = planned.or_else(|_| {
            self.kills += 1;
            self.start("")
        });
        let server = server.unwrap_or_else(|said| panic!("the server does not start: {said}"));
        *self.address.write().await = Some((server.url.clone(), server.key.clone()));
        self.server = Some(server);
        lives
    }

    async fn end(&mut self) {
        *self.address.write().await = None;
        if let Some(server) = self.server.take() {
            server.kill_9();
            self.kills += 1;
        }
    }

    fn signal(&self, name: &str) {
        self.server.as_ref().expect("a server").signal(name);
    }

    async fn wait(&mut self, from: u64, to: u64) {
        tokio::time::sleep(Duration::from_millis(from + self.chance.below(to - from))).await;
    }

    /// Until the process has come to its fail point; a place that the load does not come to in time is left at that.
    async fn until_it_ends(&mut self) -> bool {
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_secs(2) {
            if self.server.as_mut().is_none_or(Server::has_ended) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        false
    }

    async fn finish(&mut self) -> Server {
        self.restart("").await;
        self.stop.store(true, Ordering::SeqCst);
        let callers = std::mem::take(&mut self.callers);
        for caller in callers {
            caller.await.unwrap();
        }
        self.server.take().expect("a server")
    }
}

pub type Shared = (Address, Arc<ClientLog>, Arc<AtomicBool>);

/// What a task says that is tried again until it is done.
pub fn patient(task: &str) -> String {
    format!(
        "on_unknown = \"retry\"\nattempt_total_ms = 5000\n[tasks.{task}.retry]\nmax_attempts = 50\n\
         base_ms = 20\ncap_ms = 200\nmax_deferrals = 1000\ncommit_margin_ms = 50"
    )
}

/// A task whose answers are sometimes in doubt.
pub const BILL: &str = r#"
[policies.bill]
version = 1
required = ["/total"]

[policies.bill.evidence]

[tasks.bill]
kind = "extract"
model = "small"
policy = "bill"
variables = ["document"]
prompt = "Read it. {{ document }}"
schema = '''{"type": "object", "required": ["total"], "additionalProperties": false,
           "properties": {"total": {"type": "string"}}}'''
"#;

/// What a model reads, with the place where it says that it does.
pub fn reading(quote: &str) -> String {
    json!({"output": {"total": "717.97"}, "evidence": [{"field": "/total", "quote": quote}]}).to_string()
}

/// Submits jobs until told to stop. What got no answer is asked again under the same key, also of a server that
/// was started anew. Some are slow, some come one after the other, some are late, some are cancelled.
pub async fn call_in(nth: u64, (address, log, stop): Shared) {
    let http = client();
    for count in 0_u64.. {
        let key = format!("caller-{nth}-{count}");
        let mark = if count % 9 == 0 { "[slow]" } else { "" };
        let prompt = format!("say {key} {mark} and nothing else, please");
        let mut body = json!({"task": "chat", "input": {"prompt": prompt}});
        if count % 7 == 6 {
            body = json!({"task": "bill", "input": {"text": format!("A bill, {key}\nTotal EUR 717,97\n")}});
        }
        if count % 5 == 0 {
            body["ordering_key"] = json!(format!("series-{nth}"));
        }
        if count % 11 == 3 {
            body["ttl_ms"] = json!(400);
        }
        loop {
            let there = address.read().await.clone();
            if let Some((url, secret)) = there {
                let done = if count % 13 == 12 {
                    submit_batch(&http, &url, &secret, &key, &body).await
                } else {
                    submit(&http, &url, &secret, &log, (&key, &body), count % 17 == 5).await
                };
                if done {
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

/// Submits a job, and cancels it where that is wanted; says whether it was accepted.
async fn submit(
    http: &reqwest::Client,
    url: &str,
    secret: &str,
    log: &ClientLog,
    (key, body): (&str, &Value),
    cancels: bool,
) -> bool {
    let ask = http.post(format!("{url}/v1/jobs")).bearer_auth(secret).header("Idempotency-Key", key);
    let answer = Answer::to(ask.json(body)).await;
    log.submitted(key, body, answer.as_ref());
    let Some(job_id) = answer.as_ref().and_then(Answer::job_id) else { return false };
    if cancels {
        let cancel = http.post(format!("{url}/v1/jobs/{job_id}/cancel")).bearer_auth(secret);
        // Whether it was, the store says.
        cancel.send().await.ok();
    }
    true
}

/// Hands a job over twice in one call, with one that is refused between; says whether the call was answered.
async fn submit_batch(http: &reqwest::Client, url: &str, secret: &str, key: &str, body: &Value) -> bool {
    let jobs = json!({"jobs": [body, {"task": "chat", "input": {}}, body]});
    let ask = http.post(format!("{url}/v1/job-batches")).bearer_auth(secret).header("Idempotency-Key", key);
    Answer::to(ask.json(&jobs)).await.is_some_and(|taken| taken.status.is_success())
}

/// Whether failed jobs are done again.
#[derive(Clone, Copy, PartialEq)]
pub enum Replays {
    Made,
    Left,
}

/// Decides what waits for a person, and replays what failed, until told to stop. What came of it, the store says.
pub async fn look_after((address, _, stop): Shared, replays: Replays) {
    let http = client();
    for count in 0_usize.. {
        if stop.load(Ordering::SeqCst) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        let Some((url, secret)) = address.read().await.clone() else { continue };
        let open = http.get(format!("{url}/v1/reviews?limit=1")).bearer_auth(&secret);
        if let Some(review) = Answer::to(open).await.and_then(|open| open.body["data"].get(0).cloned()) {
            let decision = ["approve", "correct", "reject", "rerun"][count % 4];
            let mut body = json!({"decision": decision, "state_version": review["state_version"]});
            if decision == "correct" {
                body["output"] = json!({"total": "717.97"});
            }
            let path = format!("{url}/v1/reviews/{}", review["job_id"].as_str().unwrap_or_default());
            http.post(path).bearer_auth(&secret).json(&body).send().await.ok();
        }
        if replays == Replays::Made && count % 20 == 0 {
            let replay = http.post(format!("{url}/v1/dead-letters/replay")).bearer_auth(&secret);
            replay.json(&json!({"class": "deadline", "limit": 5})).send().await.ok();
        }
    }
}

/// Follows the events of the tenant, over all servers, by the last cursor that was seen.
pub async fn follow((address, log, stop): Shared) {
    let http = client();
    let mut cursor: Option<String> = None;
    while !stop.load(Ordering::SeqCst) {
        let there = address.read().await.clone();
        if let Some((url, secret)) = there {
            let mut ask = http.get(format!("{url}/v1/events")).bearer_auth(secret);
            if let Some(cursor) = &cursor {
                ask = ask.header("Last-Event-ID", cursor);
            }
            if let Ok(stream) = ask.send().await {
                read(stream, &mut cursor, &log, &stop).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Reads one stream until it breaks off. What is cut in its middle was not seen.
async fn read(stream: reqwest::Response, cursor: &mut Option<String>, log: &ClientLog, stop: &AtomicBool) {
    let mut bytes = stream.bytes_stream();
    let mut pending = String::new();
    while !stop.load(Ordering::SeqCst) {
        let chunk = match tokio::time::timeout(Duration::from_millis(100), bytes.next()).await {
            Err(_quiet) => continue,
            Ok(Some(Ok(chunk))) => chunk,
            Ok(Some(Err(_)) | None) => return,
        };
        pending.push_str(std::str::from_utf8(&chunk).expect("UTF-8"));
        while let Some((frame, rest)) = pending.split_once("\n\n") {
            let line = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            if let Some(event) = line("data:").map(|data| serde_json::from_str::<Value>(data).expect("JSON"))
            {
                // A stream that breaks off because of the store says so.
                if event["code"] == "overloaded" {
                    return;
                }
                log.shown("tenant", event["id"].as_str().unwrap_or_else(|| panic!("{event}")));
            }
            *cursor = line("id:").map(str::to_owned).or(cursor.take());
            pending = rest.to_owned();
        }
    }
}

/// Waits until the machines have nothing left to do, and every permit is back.
pub async fn drained(server: &Server) {
    let (mut fewest, mut since) = (i64::MAX, std::time::Instant::now());
    loop {
        // One look at one row: jobs that change their state between two looks are not missed.
        let tenant = server.get("/v1/tenants/default").await;
        let left = ["pending_jobs", "in_flight"].map(|count| tenant["use"][count].as_i64().expect("a count"));
        match left.iter().sum() {
            0 => return,
            fewer if fewer < fewest => (fewest, since) = (fewer, std::time::Instant::now()),
            _ => {}
        }
        if since.elapsed() > PATIENCE {
            let jobs = server.get("/v1/jobs?limit=200").await;
            let ends = ["SUCCEEDED", "FAILED_TERMINAL", "CANCELLED"];
            let stuck =
                data(&jobs).iter().find(|job| !ends.contains(&job["state"].as_str().expect("a state")));
            let Some(job_id) = stuck.and_then(|job| job["job_id"].as_str()) else {
                panic!("{left:?} jobs and calls do not end, none of the newest");
            };
            let why = server.get(&format!("/v1/jobs/{job_id}/explain")).await;
            let attempts = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
            panic!("{left:?} jobs and calls do not end, such as {stuck:?}, {why}, {attempts}");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The report: a line for each figure, kind of round and invariant, in columns that a script can add up.
pub fn written(rounds: u64, seed: u64, kinds: &BTreeMap<&str, u64>, kills: u64, report: &Value) -> String {
    let figures = &report["figures"];
    let mut lines = vec![
        format!("figure\tseeds\t{seed}"),
        format!("figure\trounds\t{rounds}"),
        format!("figure\tprocesses ended\t{kills}"),
    ];
    for (name, label) in [
        ("jobs", "jobs"),
        ("promised", "of those accepted by a 202 that a client saw"),
        ("lost", "of those lost"),
        ("attempts", "attempts"),
        ("rescues", "of those taken from a lost worker"),
        ("unknown", "of those possibly billed"),
        ("calls", "calls at the provider"),
        ("unexplained_calls", "of those without an attempt, or made twice"),
        ("money_difference_micros", "micro-units between ledger and bill"),
        ("events", "events"),
    ] {
        lines.push(format!("figure\t{label}\t{}", figures[name]));
    }
    lines.extend(kinds.iter().map(|(kind, count)| format!("kind\t{kind}\t{count}")));
    for line in report["invariants"].as_array().expect("a list") {
        let name = line["invariant"].as_str().expect("a name");
        lines.push(format!("invariant\t{name}\t{}\t{}", line["looked_at"], line["violations"]));
    }
    lines.join("\n") + "\n"
}
