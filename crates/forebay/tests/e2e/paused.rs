//! Processes that stand still or die while others go on: whoever wakes up does nothing twice.

use std::time::Duration;

use forebay::sim::{Ended, SimHandle};
use serde_json::{Value, json};

use crate::crash::{drained, patient};
use crate::harness::{Home, Server, data, definitions};
use crate::journey::{events, eventually};
use crate::judge::{all_holds, logged_simulator};
use crate::postgres::Database;
use crate::processes::{leaders, until};

/// Jobs at the same time in each test.
const JOBS: usize = 20;

/// Processes on one database, with leases of one second and a half.
struct Stage {
    home: Home,
    sim: SimHandle,
    api: Server,
    /// After those that use it.
    _database: Database,
}

impl Stage {
    async fn new(scenario: &Value) -> Self {
        let database = Database::new();
        let home = database.home();
        let sim = logged_simulator(&home, scenario).await;
        let api = start(&home, &sim, "api", "");
        api.apply(&definitions(&sim.base_url(), "", &patient("chat"))).await;
        Self { home, sim, api, _database: database }
    }

    fn start(&self, roles: &str, failpoints: &str) -> Server {
        start(&self.home, &self.sim, roles, failpoints)
    }

    async fn submit(&self) -> Vec<String> {
        let mut jobs = Vec::new();
        for nth in 0..JOBS {
            let input = json!({"prompt": format!("nr {nth}")});
            jobs.push(self.api.submit(&json!({"task": "chat", "input": input})).await);
        }
        jobs
    }

    async fn calls(&self, count: usize) {
        eventually("the calls are made", || self.sim.requests(0).len() >= count).await;
    }

    /// Each job was lost once and then done, by one call each, and its stream tells it so.
    async fn done_at_the_second_try(&self, jobs: &[String]) {
        for job_id in jobs {
            let job = self.api.settled(job_id).await;
            assert_eq!(job["state"], "SUCCEEDED", "{job}");
            let attempts = self.api.get(&format!("/v1/jobs/{job_id}/attempts")).await;
            let outcomes: Vec<_> = data(&attempts).iter().map(|attempt| &attempt["outcome"]).collect();
            assert_eq!(outcomes, ["unknown", "succeeded"], "{attempts}");
            assert_eq!(data(&attempts)[0]["failure_class"], "worker_lost", "{attempts}");
            let types: Vec<_> = events(&self.api, job_id).await;
            let types: Vec<_> = types.iter().filter_map(|event| event["type"].as_str()).collect();
            let wanted = ["accepted", "claimed", "retry_scheduled", "claimed", "succeeded"];
            assert_eq!(types, wanted.map(|what| format!("dev.forebay.job.{what}.v1")), "{job_id}");
        }
        assert_eq!(self.sim.requests(0).len(), 2 * jobs.len());
    }

    /// Ends everybody, and judges what is left.
    async fn finish(self, others: Vec<Server>) {
        drained(&self.api).await;
        others.into_iter().for_each(Server::kill_9);
        self.api.kill_9();
        all_holds(&self.home, &["--drained"]);
    }
}

fn start(home: &Home, sim: &SimHandle, roles: &str, failpoints: &str) -> Server {
    let environment = [
        ("FOREBAY_LEASE_MS", "1500"),
        ("FOREBAY_HEARTBEAT_MS", "500"),
        ("FOREBAY_ROLES", roles),
        ("FAILPOINTS", failpoints),
    ];
    Server::start_with(home, &sim.base_url(), &environment)
}

/// What a process without the API counts.
async fn metric(server: &Server, name: &str) -> u64 {
    let text = server.request(reqwest::Method::GET, "/metrics").send().await.unwrap().text().await.unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).trim().parse().unwrap()
}

/// A worker stands still beyond its lease while another does its jobs, and wakes up when they are done, or while they are
/// in the other's hands. Half of the answers that it finds are errors, which are not the other's.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stood_still_changes_nothing_of_what_another_has_taken() {
    for wakes_late in [true, false] {
        let half = JOBS / 2;
        let scenario = json!({"rules": [
            {"match": {"every": 2}, "times": half, "first_token_ms": 3_000, "fault": {"kind": "status", "status": 500}},
            {"times": half, "first_token_ms": 3_000},
            {"first_token_ms": 2_500, "reply": "done"},
        ]});
        let stage = Stage::new(&scenario).await;
        let maintain = stage.start("maintain", "");
        let paused = stage.start("work", "");
        let jobs = stage.submit().await;
        stage.calls(JOBS).await;
        paused.signal("STOP");
        let other = stage.start("work", "");
        stage.calls(2 * JOBS).await;
        if wakes_late {
            drained(&stage.api).await;
        } else {
            eventually("the first calls end", || {
                stage.sim.requests(0)[..JOBS].iter().all(|call| call.ended != Ended::Running)
            })
            .await;
        }
        paused.signal("CONT");
        stage.done_at_the_second_try(&jobs).await;
        let began = std::time::Instant::now();
        while metric(&paused, "forebay_stale_completions_total").await < JOBS as u64 {
            assert!(began.elapsed() < crate::harness::PATIENCE, "the paused worker never finds out");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        stage.done_at_the_second_try(&jobs).await;
        // It is well, and goes on with what is its own.
        other.kill_9();
        let job_id = stage.api.submit(&json!({"task": "chat", "input": {"prompt": "one more"}})).await;
        assert_eq!(stage.api.settled(&job_id).await["attempts"]["made"], 1);
        stage.finish(vec![maintain, paused]).await;
    }
}

/// What becomes of the process that maintains the store while it takes jobs from a lost worker.
const ENDS: [&str; 3] =
    ["rescue.before_commit=abort", "rescue.after_commit=abort@3", "rescue.after_commit=hold:PATH@3"];

#[tokio::test(flavor = "multi_thread")]
async fn whoever_maintained_the_store_and_wakes_up_does_nothing_twice() {
    for end in ENDS {
        let scenario =
            json!({"rules": [{"times": JOBS, "fault": "hang"}, {"first_token_ms": 2_500, "reply": "done"}]});
        let stage = Stage::new(&scenario).await;
        let go = stage.home.path().join("go");
        let first = stage.start("maintain", &end.replace("PATH", &go.display().to_string()));
        let leads = async |count: usize| {
            let one = move |workers: &Value| leaders(workers).len() == count;
            let workers = until(&stage.api, "/v1/workers", one).await;
            leaders(&workers).iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()
        };
        let before = leads(1).await;
        let second = stage.start("maintain", "");
        let lost = stage.start("work", "");
        let jobs = stage.submit().await;
        stage.calls(JOBS).await;
        lost.kill_9();
        let worker = stage.start("work", "");
        // All of them are in the hands of the second worker while the first maintainer still has them on its list.
        stage.calls(2 * JOBS).await;
        assert_ne!(leads(1).await, before, "another one has taken over");
        std::fs::write(&go, "").unwrap();
        stage.done_at_the_second_try(&jobs).await;
        assert_eq!(leads(1).await.len(), 1);
        stage.finish(vec![first, second, worker]).await;
    }
}

/// Standing still at any moment, again and again, whoever leads at the moment.
#[tokio::test(flavor = "multi_thread")]
async fn leaders_that_stand_still_at_any_moment_lose_nothing_and_do_nothing_twice() {
    let scenario = json!({"defaults": {"first_token_ms": {"min": 10, "max": 300}}});
    let stage = Stage::new(&scenario).await;
    let maintainers = [stage.start("maintain", ""), stage.start("maintain", ""), stage.start("maintain", "")];
    for round in 0..8_u64 {
        let worker = stage.start("work", "");
        stage.submit().await;
        tokio::time::sleep(Duration::from_millis(20 * round)).await;
        worker.kill_9();
        // Around the time at which the jobs' leases lapse and somebody takes them.
        tokio::time::sleep(Duration::from_millis(1_300 + 60 * round)).await;
        let paused = &maintainers[usize::try_from(round).unwrap() % maintainers.len()];
        paused.signal("STOP");
        tokio::time::sleep(Duration::from_millis(800)).await;
        paused.signal("CONT");
    }
    let worker = stage.start("work", "");
    drained(&stage.api).await;
    let counts = stage.api.get("/v1/jobs?state=SUCCEEDED&limit=200").await;
    assert_eq!(data(&counts).len(), 8 * JOBS);
    let mut others = Vec::from(maintainers);
    others.push(worker);
    stage.finish(others).await;
}

/// Workers come and go in good order: what is under way finishes or is handed back, each call is on record, and none is
/// made a second time without a reason.
#[tokio::test(flavor = "multi_thread")]
async fn workers_that_come_and_go_make_no_call_twice() {
    let stage = Stage::new(&json!({"defaults": {"first_token_ms": {"min": 50, "max": 400}}})).await;
    let maintain = stage.start("maintain", "");
    let mut workers = vec![stage.start("work", "")];
    let mut jobs = Vec::new();
    for round in 0..6 {
        jobs.extend(stage.submit().await);
        workers.push(stage.start("work", ""));
        if round % 2 == 1 {
            for leaving in workers.drain(..2) {
                leaving.signal("TERM");
                assert_eq!(leaving.wait(), Some(0));
            }
        }
    }
    drained(&stage.api).await;
    for job_id in &jobs {
        let job = stage.api.get(&format!("/v1/jobs/{job_id}")).await;
        assert_eq!((&job["state"], &job["attempts"]["made"]), (&json!("SUCCEEDED"), &json!(1)), "{job}");
    }
    assert_eq!(stage.sim.requests(0).len(), jobs.len());
    workers.push(maintain);
    stage.finish(workers).await;
}
