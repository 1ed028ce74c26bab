//! The process ends at every place where a step that changes the ledger begins or ends. A new one on the same
//! store goes on from there: nothing accepted is lost, nothing happens twice.

use std::sync::Arc;
use std::time::Duration;

use forebay::sim::SimHandle;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::harness::{Home, PATIENCE, Server, data, definitions};
use crate::journey::{events, eventually};
use crate::judge::{Answer, ClientLog, all_holds, logged_simulator};

/// What leads to a place.
enum Lead {
    /// A job is submitted and run.
    Submit,
    /// A call takes longer than a heartbeat.
    Slow,
    /// A worker died during its call.
    Lost,
    /// A job waits beyond its deadline.
    Late,
    /// A job is cancelled during its call.
    Cancel,
    /// A job was cancelled, and its worker died before it gave its permit back.
    Swept,
    /// The time of jobs and batches is over.
    Old,
    /// The process is told to stop.
    Stop,
    /// A request of somebody who looks after the system.
    Request(Method, &'static str, fn() -> Value),
    /// Something is asked for at the address of a new key.
    Key(Method, fn() -> Value),
    /// A document is uploaded.
    Upload,
    /// A batch is cancelled.
    CancelBatch,
    /// A job failed: something is asked for at this address behind its id.
    Dead(&'static str, fn() -> Value),
    /// A person owes a decision: this is asked for, one after the other, behind the address of the review.
    Review(&'static [(Method, &'static str)]),
    /// A person owes a decision, and its time passes.
    Overdue,
}

/// Every place, and what leads there. A test holds this list and the code together.
/// What a process comes to by itself that deletes what is old.
fn places_of_retention() -> Vec<(&'static str, Lead)> {
    vec![
        ("delete_jobs.before_commit", Lead::Old),
        ("delete_jobs.after_commit", Lead::Old),
        ("delete_batches.before_commit", Lead::Old),
        ("delete_batches.after_commit", Lead::Old),
        ("delete_documents.before_commit", Lead::Submit),
        ("delete_documents.after_commit", Lead::Submit),
        ("delete_keys.before_commit", Lead::Submit),
        ("delete_keys.after_commit", Lead::Submit),
        ("forget_rates.before_commit", Lead::Submit),
        ("forget_rates.after_commit", Lead::Submit),
    ]
}

fn places() -> Vec<(&'static str, Lead)> {
    [places_of_work(), places_of_administration(), places_of_people()].into_iter().flatten().collect()
}

/// What the service does by itself, and for who hands jobs in.
fn places_of_work() -> Vec<(&'static str, Lead)> {
    let batch = || {
        let one = || json!({"jobs": [{"task": "chat", "input": {"prompt": "quick"}}]});
        Lead::Request(Method::POST, "/v1/job-batches", one)
    };
    vec![
        ("accept.before_commit", Lead::Submit),
        ("accept.after_commit", Lead::Submit),
        ("submit.before_answer", Lead::Submit),
        ("claim.before_commit", Lead::Submit),
        ("claim.after_commit", Lead::Submit),
        ("call.before_send", Lead::Submit),
        ("call.after_reply", Lead::Submit),
        ("commit_step.before_commit", Lead::Submit),
        ("commit_step.after_commit", Lead::Submit),
        ("extend.before_commit", Lead::Slow),
        ("extend.after_commit", Lead::Slow),
        ("rescue.before_commit", Lead::Lost),
        ("rescue.after_commit", Lead::Lost),
        ("expire.before_commit", Lead::Late),
        ("expire.after_commit", Lead::Late),
        ("cancel.before_commit", Lead::Cancel),
        ("cancel.after_commit", Lead::Cancel),
        ("lead.before_commit", Lead::Submit),
        ("lead.after_commit", Lead::Submit),
        ("stop_leading.before_commit", Lead::Stop),
        ("stop_leading.after_commit", Lead::Stop),
        ("report.before_commit", Lead::Submit),
        ("report.after_commit", Lead::Submit),
        ("sign_off.before_commit", Lead::Stop),
        ("sign_off.after_commit", Lead::Stop),
        ("sweep_grants.before_commit", Lead::Swept),
        ("sweep_grants.after_commit", Lead::Swept),
        ("add_document.before_commit", Lead::Upload),
        ("add_document.after_commit", Lead::Upload),
        ("begin_batch.before_commit", batch()),
        ("begin_batch.after_commit", batch()),
        ("place.before_commit", batch()),
        ("place.after_commit", batch()),
        ("cancel_batch.before_commit", Lead::CancelBatch),
        ("cancel_batch.after_commit", Lead::CancelBatch),
        ("replay.before_commit", Lead::Dead("/v1/jobs/{job_id}/replay", || json!({}))),
        ("replay.after_commit", Lead::Dead("/v1/jobs/{job_id}/replay", || json!({}))),
    ]
}

/// Tenants, keys, definitions and master data.
fn places_of_administration() -> Vec<(&'static str, Lead)> {
    let tenant = || Lead::Request(Method::PUT, "/v1/tenants/other", || json!({"max_in_flight": 7}));
    let key = || Lead::Request(Method::POST, "/v1/keys", || json!({"name": "k", "scopes": ["read"]}));
    let apply = || {
        let source = || json!({"source": definitions("http://127.0.0.1:9/v1", "max_in_flight = 9", "")});
        Lead::Request(Method::POST, "/v1/revisions", source)
    };
    let dataset = || Lead::Request(Method::PUT, "/v1/datasets/suppliers", || json!([{"name": "Acme"}]));
    vec![
        ("apply_revision.before_commit", apply()),
        ("apply_revision.after_commit", apply()),
        ("put_dataset.before_commit", dataset()),
        ("put_dataset.after_commit", dataset()),
        ("put_tenant.before_commit", tenant()),
        ("put_tenant.after_commit", tenant()),
        ("add_key.before_commit", key()),
        ("add_key.after_commit", key()),
        ("limit_key.before_commit", Lead::Key(Method::PUT, || json!({"max_in_flight": 7}))),
        ("limit_key.after_commit", Lead::Key(Method::PUT, || json!({"max_in_flight": 7}))),
        ("revoke_key.before_commit", Lead::Key(Method::DELETE, || Value::Null)),
        ("revoke_key.after_commit", Lead::Key(Method::DELETE, || Value::Null)),
    ]
}

/// What persons do about jobs.
fn places_of_people() -> Vec<(&'static str, Lead)> {
    vec![
        (
            "change_letters.before_commit",
            Lead::Dead("/v1/dead-letters/{job_id}", || json!({"owner": "anna"})),
        ),
        ("change_letters.after_commit", Lead::Dead("/v1/dead-letters/{job_id}", || json!({"owner": "anna"}))),
        ("claim_review.before_commit", Lead::Review(&[(Method::POST, "/claim")])),
        ("claim_review.after_commit", Lead::Review(&[(Method::POST, "/claim")])),
        (
            "release_review.before_commit",
            Lead::Review(&[(Method::POST, "/claim"), (Method::DELETE, "/claim")]),
        ),
        (
            "release_review.after_commit",
            Lead::Review(&[(Method::POST, "/claim"), (Method::DELETE, "/claim")]),
        ),
        ("decide_review.before_commit", Lead::Review(&[(Method::POST, "")])),
        ("decide_review.after_commit", Lead::Review(&[(Method::POST, "")])),
        ("alert_review.before_commit", Lead::Overdue),
        ("alert_review.after_commit", Lead::Overdue),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn wherever_the_process_ends_the_next_one_goes_on() {
    // Enough at the same time to keep the machine busy while servers start.
    let slots = Arc::new(Semaphore::new(4));
    let mut running = JoinSet::new();
    for (place, lead) in places().into_iter().chain(places_of_retention()) {
        let slots = Arc::clone(&slots);
        running.spawn(async move {
            let _slot = slots.acquire().await.unwrap();
            Stage::new(place, lead).await.play().await;
        });
    }
    while let Some(ended) = running.join_next().await {
        ended.unwrap();
    }
}

/// One store, its provider, and the jobs that were submitted by their keys.
struct Stage {
    place: &'static str,
    lead: Lead,
    home: Home,
    sim: SimHandle,
    log: ClientLog,
}

impl Stage {
    async fn new(place: &'static str, lead: Lead) -> Self {
        let scenario = json!({"defaults": {"first_token_ms": 20}, "rules": [
            {"match": {"contains": "[hang once]"}, "times": 1, "fault": "hang"},
            {"match": {"contains": "[slow]"}, "first_token_ms": 500},
            {"match": {"contains": "[cut]"}, "fault": {"kind": "cut", "after_chunks": 2}},
            {"match": {"contains": "[refuse once]"}, "times": 1, "fault": {"kind": "status", "status": 400}},
        ]});
        let home = Home::new();
        let sim = logged_simulator(&home, &scenario).await;
        let task = "attempt_total_ms = 20000\non_unknown = \"retry\"\n\
                    [tasks.chat.retry]\nbase_ms = 20\ncap_ms = 100\nmax_attempts = 20\ncommit_margin_ms = 100\n\
                    [tasks.doubt]\nkind = \"llm\"\nmodel = \"small\"\nmax_output_tokens = 100\n\
                    on_unknown = \"review\"\nreview_due_ms = 1\n";
        let old = if matches!(lead, Lead::Old) { "[retention]\nresults_ms = 1000\n" } else { "" };
        let task = &format!("{task}{old}");
        let server = Server::start(&home, &sim.base_url());
        server.apply(&definitions(&sim.base_url(), "max_in_flight = 1", task)).await;
        server.kill_9();
        let log = ClientLog::of(&home);
        Self { place, lead, home, sim, log }
    }

    fn start(&self, failpoints: &str) -> Result<Server, String> {
        let look = if matches!(self.lead, Lead::Old) { "10" } else { "900" };
        let environment = [
            ("FAILPOINTS", failpoints),
            ("FOREBAY_LEASE_MS", "900"),
            ("FOREBAY_HEARTBEAT_MS", "100"),
            ("FOREBAY_REAPER_INTERVAL_MS", look),
        ];
        Server::try_start(&self.home, &self.sim.base_url(), &environment)
    }

    fn start_well(&self) -> Server {
        self.start("").unwrap_or_else(|said| panic!("{}: {said}", self.place))
    }

    async fn play(&self) {
        self.prepare().await;
        let ended = match self.start(&format!("{}=abort", self.place)) {
            Ok(mut server) => self.until_it_ends(&mut server).await,
            // It ended while it started.
            Err(_) => true,
        };
        assert!(ended, "{}: the process does not come there", self.place);
        let server = self.start_well();
        self.act(&server, 0).await.unwrap_or_else(|error| panic!("{}: {error}", self.place));
        self.drained(&server).await;
        self.judge(&server).await;
        server.kill_9();
        all_holds(&self.home, &["--drained"]);
    }

    /// What has to be there before the process comes to the place.
    async fn prepare(&self) {
        match self.lead {
            Lead::Lost => {
                let server = self.start_well();
                self.submit(&server, "lost", "[hang once]", None).await.unwrap();
                self.called().await;
                server.kill_9();
            }
            Lead::Swept => {
                // The worker hears that its job was cancelled, and dies before that is committed.
                let held = self.home.path().join("held");
                let plan = format!("commit_step.before_commit=hold:{}", held.display());
                let server = self.start(&plan).unwrap();
                let job = self.submit(&server, "swept", "[hang once]", None).await.unwrap();
                self.called().await;
                cancel(&server, &job).await.unwrap();
                eventually("the worker reports", || held.with_extension("here").exists()).await;
                server.kill_9();
            }
            Lead::Dead(..) => {
                let server = self.start_well();
                let job = self.submit(&server, "dead", "[refuse once]", None).await.unwrap();
                assert_eq!(server.settled(&job).await["state"], "FAILED_TERMINAL");
                server.kill_9();
            }
            Lead::Review(_) => {
                let server = self.start_well();
                let job = self.doubt(&server, "doubt").await.unwrap();
                assert_eq!(server.settled(&job).await["state"], "REVIEW_REQUIRED");
                server.kill_9();
            }
            _ => {}
        }
    }

    /// Does what leads to the place until the process has ended.
    async fn until_it_ends(&self, server: &mut Server) -> bool {
        let began = std::time::Instant::now();
        for nth in 0.. {
            self.act(server, nth).await.ok();
            if nth == 0 && matches!(self.lead, Lead::Stop) {
                server.signal("TERM");
            }
            for _ in 0..20 {
                if server.has_ended() {
                    return server.has_aborted();
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            if began.elapsed() > PATIENCE {
                return false;
            }
        }
        unreachable!("the loop has no end");
    }

    /// Does it once. What had no answer is done again after the process has ended, as a client would.
    async fn act(&self, server: &Server, nth: usize) -> Result<(), String> {
        let key = format!("nr-{nth}");
        match self.lead {
            Lead::Submit | Lead::Stop => self.submit(server, &key, "quick", None).await.map(drop),
            Lead::Slow => self.submit(server, &key, "[slow]", None).await.map(drop),
            Lead::Lost | Lead::Swept => Ok(()),
            Lead::Late => {
                self.submit(server, "in-the-way", "[hang once]", None).await?;
                self.submit(server, &key, "late", Some(400)).await.map(drop)
            }
            Lead::Cancel => {
                let job = self.submit(server, &key, "[hang once]", None).await?;
                self.called().await;
                cancel(server, &job).await
            }
            Lead::Request(ref method, path, body) => {
                answered(server.request(method.clone(), path).json(&body())).await.map(drop)
            }
            Lead::Key(ref method, body) => {
                let new = json!({"name": "new", "scopes": ["read"]});
                let key = answered(server.request(Method::POST, "/v1/keys").json(&new)).await?;
                let path = format!("/v1/keys/{}", key["key_id"].as_str().unwrap());
                let ask = server.request(method.clone(), &path);
                let ask = if *method == Method::PUT { ask.json(&body()) } else { ask };
                answered(ask).await.map(drop)
            }
            Lead::Old => {
                let body = json!({"jobs": [{"task": "chat", "input": {"prompt": "quick"}}]});
                answered(server.request(Method::POST, "/v1/job-batches").json(&body)).await?;
                self.submit(server, &key, "quick", None).await.map(drop)
            }
            Lead::Upload => {
                let upload =
                    server.request(Method::POST, "/v1/documents").header("Content-Type", "text/plain");
                answered(upload.body("a document")).await.map(drop)
            }
            Lead::CancelBatch => {
                let body = json!({"jobs": [{"task": "chat", "input": {"prompt": "quick"}}]});
                let ask = server.request(Method::POST, "/v1/job-batches").header("Idempotency-Key", &key);
                let taken = answered(ask.json(&body)).await?;
                let batch = taken["batch_id"].as_str().unwrap();
                let cancel = server.request(Method::POST, &format!("/v1/job-batches/{batch}/cancel"));
                answered(cancel).await.map(drop)
            }
            Lead::Review(requests) => {
                let job = self.doubt(server, "doubt").await?;
                for (method, behind) in requests {
                    let body = match *behind {
                        "/claim" => json!({}),
                        // The third version of a job is the first that is in review.
                        _ => json!({"decision": "correct", "state_version": 3, "output": {"text": "yes"}}),
                    };
                    let path = format!("/v1/reviews/{job}{behind}");
                    let ask = server.request(method.clone(), &path);
                    let ask = if *method == Method::POST { ask.json(&body) } else { ask };
                    answered(ask).await?;
                }
                Ok(())
            }
            Lead::Overdue => self.doubt(server, &key).await.map(drop),
            Lead::Dead(path, body) => {
                let failed = server.request(Method::GET, "/v1/jobs?state=FAILED_TERMINAL");
                let failed = answered(failed).await?;
                let job = data(&failed)[0]["job_id"].as_str().unwrap();
                let ask = server.request(Method::POST, &path.replace("{job_id}", job)).json(&body());
                answered(ask.header("Idempotency-Key", &key)).await.map(drop)
            }
        }
    }

    /// Submits a job under a key; the same key again is the same job.
    async fn submit(
        &self,
        server: &Server,
        key: &str,
        prompt: &str,
        ttl: Option<u64>,
    ) -> Result<String, String> {
        let mut body = json!({"task": "chat", "input": {"prompt": prompt}});
        if let Some(ttl) = ttl {
            body["ttl_ms"] = json!(ttl);
        }
        self.hand_over(server, key, &body).await
    }

    /// Submits a job that ends in doubt.
    async fn doubt(&self, server: &Server, key: &str) -> Result<String, String> {
        self.hand_over(server, key, &json!({"task": "doubt", "input": {"prompt": "[cut]"}})).await
    }

    async fn hand_over(&self, server: &Server, key: &str, body: &Value) -> Result<String, String> {
        let ask = server.request(Method::POST, "/v1/jobs").header("Idempotency-Key", key).json(body);
        let answer = Answer::to(ask).await;
        self.log.submitted(key, body, answer.as_ref());
        let answer = answer.ok_or("no answer")?;
        Ok(answer.job_id().unwrap_or_else(|| panic!("{}", answer.body)).to_owned())
    }

    /// Waits until the provider has a call.
    async fn called(&self) {
        eventually("a call is under way", || !self.sim.requests(0).is_empty()).await;
    }

    /// Waits until the machines have nothing left to do.
    async fn drained(&self, server: &Server) {
        let began = std::time::Instant::now();
        // All in one look: a job that is looked for state by state can move from one to the other meanwhile.
        let is_open =
            |job: &Value| matches!(job["state"].as_str(), Some("READY" | "RUNNING" | "RETRY_SCHEDULED"));
        while data(&server.get("/v1/jobs?limit=200").await).iter().any(is_open) {
            assert!(began.elapsed() < PATIENCE, "{}: the jobs do not end", self.place);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn judge(&self, server: &Server) {
        let jobs = server.get("/v1/jobs?limit=200").await;
        if matches!(self.lead, Lead::Review(_) | Lead::Overdue) {
            return self.judge_reviews(server, data(&jobs)).await;
        }
        for job in data(&jobs) {
            let late = job["failure"]["class"] == "deadline";
            let fine = match self.lead {
                Lead::Late if late => true,
                Lead::Dead(..) if job["replay_of"].is_null() => job["state"] == "FAILED_TERMINAL",
                Lead::CancelBatch => job["state"] == "CANCELLED" || job["state"] == "SUCCEEDED",
                Lead::Swept => job["state"] == "CANCELLED",
                // What was not committed did not happen: the next worker may have been first.
                Lead::Cancel => {
                    job["state"] == "CANCELLED"
                        || (self.place == "cancel.before_commit" && job["state"] == "SUCCEEDED")
                }
                _ => job["state"] == "SUCCEEDED",
            };
            assert!(fine, "{}: {job}", self.place);
        }
    }
}

impl Stage {
    /// A decision is there whole or not at all, and whatever was done is on record once.
    async fn judge_reviews(&self, server: &Server, jobs: &[Value]) {
        let decides = self.place.starts_with("decide_review");
        for job in jobs {
            let job_id = job["job_id"].as_str().unwrap();
            assert_eq!(job["state"], if decides { "SUCCEEDED" } else { "REVIEW_REQUIRED" }, "{}", self.place);
            let began = std::time::Instant::now();
            let (review, actions) = loop {
                let review = server.get(&format!("/v1/reviews/{job_id}")).await;
                let history = review["history"].as_array().unwrap();
                let actions: Vec<_> =
                    history.iter().map(|step| step["action"].as_str().unwrap().to_owned()).collect();
                let is_done = !matches!(self.lead, Lead::Overdue) || !actions.is_empty();
                if is_done || began.elapsed() > PATIENCE {
                    break (review, actions);
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            };
            let times = |action: &str| actions.iter().filter(|done| *done == action).count();
            match self.lead {
                Lead::Overdue => assert_eq!(times("review.overdue"), 1, "{}: {review}", self.place),
                _ if decides => {
                    assert_eq!(times("review.correct"), 1, "{}: {review}", self.place);
                    let result = server.get(&format!("/v1/jobs/{job_id}/result")).await;
                    assert_eq!(result["output"], json!({"text": "yes"}));
                    let provenance = &result["provenance"];
                    assert_eq!(provenance["review"]["decision"], "correct");
                    assert!(provenance["attempt_id"].is_string(), "{}: {provenance}", self.place);
                    let ends = events(server, job_id).await;
                    let is_end = |event: &&Value| event["type"] == "dev.forebay.job.succeeded.v1";
                    assert_eq!(ends.iter().filter(is_end).count(), 1, "{}", self.place);
                }
                _ => {
                    let released = self.place.starts_with("release_review");
                    assert_eq!(review["claim"].is_null(), released, "{}: {review}", self.place);
                    assert!(times("review.claim") >= 1, "{}: {review}", self.place);
                }
            }
        }
    }
}

async fn cancel(server: &Server, job: &str) -> Result<(), String> {
    let request = server.request(Method::POST, &format!("/v1/jobs/{job}/cancel"));
    let answer = request.send().await.map_err(|error| error.to_string())?;
    // A conflict says that the job has ended by itself.
    assert!(answer.status().is_success() || answer.status() == StatusCode::CONFLICT, "{}", answer.status());
    Ok(())
}

/// The answer to a request that must succeed if it is answered at all.
async fn answered(request: reqwest::RequestBuilder) -> Result<Value, String> {
    let answer = request.send().await.map_err(|error| error.to_string())?;
    let status = answer.status();
    let body = answer.text().await.map_err(|error| error.to_string())?;
    assert!(status.is_success(), "{status} {body}");
    Ok(serde_json::from_str(&body).unwrap_or_default())
}
