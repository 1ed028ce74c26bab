//! Retention while jobs come and processes are killed: what is over goes, what somebody wants stays, and what is left
//! adds up.

use std::fs::File;
use std::time::{Duration, Instant, SystemTime};

use forebay::sim::SimHandle;
use forebay_store::postgres::{Target, connect};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Home, PATIENCE, Server, definitions};
use crate::journey::eventually;
use crate::judge::{Answer, ClientLog, all_holds, logged_simulator};

/// Rounds, each of which ends with a kill.
const ROUNDS: usize = 6;
/// Jobs of a round.
const JOBS: usize = 12;

struct Stage {
    home: Home,
    sim: SimHandle,
    log: ClientLog,
}

impl Stage {
    async fn new(home: Home) -> Self {
        let scenario = json!({"defaults": {"first_token_ms": 5}, "rules": [
            {"match": {"contains": "[cut]"}, "fault": {"kind": "cut", "after_chunks": 2}},
            {"match": {"contains": "[refuse]"}, "fault": {"kind": "status", "status": 400}},
        ]});
        let sim = logged_simulator(&home, &scenario).await;
        let log = ClientLog::of(&home);
        Self { home, sim, log }
    }

    fn start(&self) -> Server {
        let environment = [
            ("FOREBAY_LEASE_MS", "900"),
            ("FOREBAY_HEARTBEAT_MS", "100"),
            // A round of retention begins every 60 of these.
            ("FOREBAY_REAPER_INTERVAL_MS", "10"),
        ];
        Server::start_with(&self.home, &self.sim.base_url(), &environment)
    }

    async fn apply(&self, server: &Server, results_ms: u64) {
        let task = format!(
            "on_unknown = \"retry\"\n[tasks.chat.retry]\nbase_ms = 20\ncap_ms = 100\nmax_attempts = 20\n\
             [tasks.doubt]\nkind = \"llm\"\nmodel = \"small\"\nmax_output_tokens = 100\non_unknown = \"review\"\n\
             [retention]\nresults_ms = {results_ms}\ndocuments_ms = {results_ms}\n"
        );
        server.apply(&definitions(&self.sim.base_url(), "max_in_flight = 8", &task)).await;
    }

    async fn submit(&self, server: &Server, key: &str, body: &Value) -> String {
        let ask = server.request(Method::POST, "/v1/jobs").header("Idempotency-Key", key).json(body);
        let answer = Answer::to(ask).await;
        self.log.submitted(key, body, answer.as_ref());
        let answer = answer.expect("an answer");
        answer.job_id().unwrap_or_else(|| panic!("{}", answer.body)).to_owned()
    }
}

fn chat(prompt: &str) -> Value {
    json!({"task": "chat", "input": {"prompt": prompt}})
}

async fn deleted(server: &Server) -> u64 {
    server.get("/v1/retention").await["deleted"]["jobs"].as_u64().unwrap()
}

/// Waits until that many jobs were deleted.
async fn until_deleted(server: &Server, jobs: u64) {
    let began = Instant::now();
    while deleted(server).await < jobs {
        assert!(began.elapsed() < PATIENCE, "{}", server.get("/v1/retention").await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What somebody wants stays, through all of it; the rest goes.
async fn kill_and_look(stage: &Stage) {
    let mut server = stage.start();
    stage.apply(&server, 1_000).await;
    let doubt = json!({"task": "doubt", "input": {"prompt": "[cut]"}});
    let review = stage.submit(&server, "review", &doubt).await;
    let letter = stage.submit(&server, "letter", &chat("[refuse]")).await;
    let mut jobs = Vec::new();
    for round in 0..ROUNDS {
        for nth in 0..JOBS {
            jobs.push(stage.submit(&server, &format!("{round}-{nth}"), &chat("quick")).await);
        }
        for job in &jobs[round * JOBS..] {
            // It may be gone already.
            let wait = server.request(Method::GET, &format!("/v1/jobs/{job}")).header("Prefer", "wait=20");
            wait.send().await.unwrap();
        }
        until_deleted(&server, (round * JOBS) as u64).await;
        // At a different moment in each round: between two transactions, or within one.
        tokio::time::sleep(Duration::from_millis(180 * round as u64)).await;
        server.kill_9();
        server = stage.start();
    }
    // The last event of the log keeps its job.
    until_deleted(&server, (ROUNDS * JOBS - 1) as u64).await;
    assert_eq!(server.get(&format!("/v1/jobs/{review}")).await["state"], "REVIEW_REQUIRED");
    assert_eq!(server.get(&format!("/v1/dead-letters/{letter}")).await["job_id"], letter.as_str());
    let again = stage.submit(&server, "0-0", &chat("quick")).await;
    assert_eq!(again, jobs[0], "a key outlives its job");
    let usage = server.get("/v1/usage").await;
    let attempts: u64 =
        usage["data"].as_array().unwrap().iter().map(|day| day["attempts"].as_u64().unwrap()).sum();
    assert!(attempts >= (ROUNDS * JOBS) as u64, "{usage}");
    server.kill_9();
    all_holds(&stage.home, &["--drained"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_goes_and_the_rest_adds_up() {
    kill_and_look(&Stage::new(Home::new()).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_goes_and_the_rest_adds_up_on_postgres() {
    let any = std::env::var("FOREBAY_TEST_POSTGRES").expect("FOREBAY_TEST_POSTGRES: see scripts/services");
    let name = format!("retention_{:016x}", rand::random::<u64>());
    on_postgres(&any, &format!("CREATE DATABASE {name}")).await;
    let url = format!("{}/{name}", any.rsplit_once('/').unwrap().0);
    kill_and_look(&Stage::new(Home::on(&url)).await).await;
    on_postgres(&any, &format!("DROP DATABASE {name} WITH (FORCE)")).await;
}

/// Runs a statement on the PostgreSQL server.
async fn on_postgres(url: &str, statement: &str) {
    let (client, link) = connect(&Target::parse(url).unwrap()).await.unwrap();
    let link = tokio::spawn(link);
    client.batch_execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
    drop(client);
    link.await.unwrap().unwrap();
}

/// A blob goes when no row refers to it, also when the process had died between the two; one that somebody put within a
/// day stays.
#[tokio::test(flavor = "multi_thread")]
async fn blobs_go_after_their_rows() {
    let stage = Stage::new(Home::new()).await;
    let server = stage.start();
    stage.apply(&server, 3_600_000).await;
    let large = stage.submit(&server, "large", &chat(&"long ".repeat(20_000))).await;
    assert_eq!(server.settled(&large).await["state"], "SUCCEEDED");
    server.upload("a document that nobody uses").await;
    let young = server.upload("a document that nobody uses, either").await;
    stage.submit(&server, "last", &chat("quick")).await;
    let blobs = files(&stage.home);
    assert_eq!(blobs.len(), 3);
    stage.apply(&server, 1_000).await;
    until_deleted(&server, 1).await;
    let documents = || async { server.get("/v1/retention").await["deleted"]["documents"].as_u64().unwrap() };
    let began = Instant::now();
    while documents().await < 2 {
        assert!(began.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(files(&stage.home).len(), 3, "somebody may be about to refer to them");
    server.kill_9();
    let young = young.strip_prefix("doc_").unwrap();
    for blob in blobs.iter().filter(|blob| !blob.ends_with(young)) {
        let two_days = Duration::from_secs(2 * 24 * 3_600);
        let file = File::options().write(true).open(blob).unwrap();
        file.set_modified(SystemTime::now() - two_days).unwrap();
    }
    let server = stage.start();
    eventually("what nothing refers to is gone", || files(&stage.home).len() == 1).await;
    assert!(files(&stage.home)[0].ends_with(young), "but for what is young");
    server.kill_9();
    all_holds(&stage.home, &["--drained"]);
}

/// The files of blobs.
fn files(home: &Home) -> Vec<String> {
    let folders = std::fs::read_dir(home.path().join("forebay.db.blobs")).unwrap();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap());
    files.map(|file| file.unwrap().path().display().to_string()).collect()
}
