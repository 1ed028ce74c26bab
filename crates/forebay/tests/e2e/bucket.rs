//! Documents, large inputs and large results in a bucket of a real S3 server: `scripts/services start s3`.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use forebay_store::blob::Blobs;
use forebay_store::blob::s3::{KeySource, Limits, S3Blobs, S3Bucket};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::chaos_proxy::{Behaviour, ChaosProxy, Cut, Way};
use crate::harness::{FOREBAY, Home, Server, client, data, simulator};
use crate::journey::eventually;
use crate::judge::{all_holds, logged_simulator, verdict};
use crate::postgres::{Database, variable};

/// More than a row takes.
const LARGE: usize = 100_000;

/// A prefix of its own in the bucket that all tests share.
struct Bucket {
    endpoint: String,
    keys: String,
    prefix: String,
}

impl Bucket {
    fn new() -> Self {
        let prefix = format!("e2e/{:016x}", rand::random::<u64>());
        Self { endpoint: variable("FOREBAY_TEST_S3"), keys: variable("FOREBAY_TEST_S3_KEYS"), prefix }
    }

    /// The environment of a process that keeps its blobs there.
    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("FOREBAY_BLOBS", format!("s3://forebay/{}", self.prefix)),
            ("FOREBAY_BLOBS_ENDPOINT", self.endpoint.clone()),
            ("FOREBAY_BLOBS_CREDENTIALS", format!("file:{}", self.keys)),
        ]
    }

    /// What is in it.
    fn blobs(&self) -> Arc<dyn Blobs> {
        let bucket = S3Bucket {
            name: "forebay".to_owned(),
            prefix: self.prefix.clone(),
            endpoint: Some(self.endpoint.clone()),
            region: "us-east-1".to_owned(),
            in_host: false,
            keys: KeySource::File(self.keys.clone().into()),
        };
        Arc::new(S3Blobs::new(bucket, client(), Limits::default()).expect("a bucket"))
    }

    async fn count(&self) -> usize {
        self.blobs().list(None, 1_000).await.expect("a list").len()
    }

    /// A configuration file beside a store that says where it is, for the judge.
    fn configuration(&self, home: &Home) -> String {
        let file = home.path().join("blobs.toml");
        let text = format!(
            "blobs = \"s3://forebay/{}\"\nblobs_endpoint = \"{}\"\nblobs_credentials = \"file:{}\"\n",
            self.prefix, self.endpoint, self.keys
        );
        std::fs::write(&file, text).expect("it is written");
        file.display().to_string()
    }
}

fn start(home: &Home, provider: &str, environment: &[(&str, String)]) -> Result<Server, String> {
    let environment: Vec<_> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Server::try_start(home, provider, &environment).map_err(|said| said + &log(home))
}

/// What the server wrote to its log.
fn log(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("server.log")).expect("a log")
}

/// Definitions with a task that copies a document, however long it is.
fn definitions(provider: &str) -> String {
    format!(
        r#"
[providers.sim]
base_url = "{provider}"
api_key_env = "OPENAI_API_KEY"

[pools.main]
provider = "sim"
max_in_flight = 4

[models.small]
pool = "main"
provider_model = "sim-small"
context_tokens = 1000000
max_output_tokens = 200000
input_micros_per_mtok = 1
output_micros_per_mtok = 1

[policies.copy]
version = 1

[tasks.copy]
kind = "extract"
model = "small"
policy = "copy"
variables = ["document"]
prompt = "Copy it. {{{{ document }}}}"
schema = '''{{"type": "object", "required": ["text"], "additionalProperties": false, "properties": {{"text": {{"type": "string"}}}}}}'''

[tasks.copy.retry]
max_attempts = 50
base_ms = 20
cap_ms = 200
"#
    )
}

fn large_text() -> String {
    "line\n".repeat(LARGE / 5)
}

fn copier() -> Value {
    let reply = json!({"output": {"text": large_text()}, "evidence": []}).to_string();
    json!({"rules": [{"reply": reply}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_large_inputs_and_large_results_are_in_the_bucket_and_nowhere_else() {
    let (home, bucket) = (Home::new(), Bucket::new());
    let sim = logged_simulator(&home, &copier()).await;
    let server = start(&home, &sim.base_url(), &bucket.environment()).unwrap();
    server.apply(&definitions(&sim.base_url())).await;
    let text = large_text();
    let document = server.upload(&text).await;
    let by_document = server.submit(&json!({"task": "copy", "input": {"document": document}})).await;
    let by_text = server.submit(&json!({"task": "copy", "input": {"text": format!("{text}more")}})).await;
    for job_id in [&by_document, &by_text] {
        let job = server.settled(job_id).await;
        assert_eq!(job["state"], "SUCCEEDED", "{job}");
    }
    server.kill_9();

    // Another process that has nothing but the ledger and the bucket.
    let server = start(&home, &sim.base_url(), &bucket.environment()).unwrap();
    for job_id in [&by_document, &by_text] {
        let result = server.get(&format!("/v1/jobs/{job_id}/result")).await;
        assert!(result["output"]["text"] == json!(text), "another result");
    }
    let content = server.request(Method::GET, &format!("/v1/documents/{document}/content"));
    assert!(content.send().await.unwrap().text().await.unwrap() == text, "another document");
    assert!(!home.path().join("forebay.db.blobs").exists());
    // The document, the large input, the journal entry and the output; the jobs share the last two.
    assert_eq!(bucket.count().await, 4);
    server.kill_9();
    all_holds(&home, &["--drained", "--config", &bucket.configuration(&home)]);

    // Whatever is missing is found, and that the bucket is, is no verdict.
    let blobs = bucket.blobs();
    let gone = blobs.list(None, 1).await.unwrap()[0].digest;
    blobs.remove(gone).await.unwrap();
    let report = verdict(&home, &["--config", &bucket.configuration(&home)]);
    assert!(report["violations"].to_string().contains("it is not in the bucket"), "{report}");
    let absent = Command::new(FOREBAY)
        .args(["verify", "--store", &home.store(), "--blobs", "s3://forebay-absent"])
        .args(["--config", &bucket.configuration(&home)])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&absent.stderr).into_owned();
    assert_eq!(absent.status.code(), Some(1), "{said}");
    assert!(said.contains("blobs can't be read") && said.contains("forebay-absent"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_machine_reads_what_another_wrote() {
    let (bucket, database) = (Bucket::new(), Database::new());
    let (front, back) = (database.home(), database.home());
    let sim = simulator(&copier()).await;
    let role = |role: &str| {
        let mut environment = bucket.environment();
        environment.push(("FOREBAY_ROLES", role.to_owned()));
        environment
    };
    let api = start(&front, &sim.base_url(), &role("api")).unwrap();
    std::fs::copy(front.admin_key_file(), back.admin_key_file()).unwrap();
    api.apply(&definitions(&sim.base_url())).await;
    let worker = start(&back, &sim.base_url(), &role("work,maintain")).unwrap();
    let text = large_text();
    let document = api.upload(&text).await;
    for input in [json!({"document": document}), json!({"text": format!("{text}more")})] {
        let job_id = api.submit(&json!({"task": "copy", "input": input})).await;
        let job = api.settled(&job_id).await;
        assert_eq!(job["state"], "SUCCEEDED", "{job}");
        let result = api.get(&format!("/v1/jobs/{job_id}/result")).await;
        assert!(result["output"]["text"] == json!(text), "another result");
    }
    assert!(!log(&front).contains("does not see the blobs"), "{}", log(&front));
    api.kill_9();
    worker.kill_9();

    let alone = start(&front, &sim.base_url(), &[("FOREBAY_ROLES", "api".to_owned())]).unwrap();
    assert!(log(&front).contains("a process on another machine does not see the blobs in the folder"));
    alone.kill_9();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_between_blob_and_commit_leaves_a_blob_and_nothing_else() {
    let (home, bucket) = (Home::new(), Bucket::new());
    let sim = logged_simulator(&home, &copier()).await;
    let server = start(&home, &sim.base_url(), &bucket.environment()).unwrap();
    server.apply(&definitions(&sim.base_url())).await;
    server.kill_9();
    let body = json!({"task": "copy", "input": {"text": large_text()}});
    let submit = |server: &Server| {
        server.request(Method::POST, "/v1/jobs").header("Idempotency-Key", "once").json(&body)
    };
    let ending = |place: &str| {
        let mut environment = bucket.environment();
        environment.push(("FAILPOINTS", format!("{place}=abort")));
        start(&home, &sim.base_url(), &environment).unwrap()
    };

    let mut server = ending("accept.before_commit");
    submit(&server).send().await.unwrap_err();
    eventually("it ends", || server.has_ended()).await;
    assert_eq!(bucket.count().await, 1, "the input was written before");

    let mut server = ending("commit_step.before_commit");
    assert_eq!(server.get("/v1/jobs").await["data"], json!([]), "no job without its commit");
    assert_eq!(submit(&server).send().await.unwrap().status(), StatusCode::ACCEPTED);
    eventually("it ends", || server.has_ended()).await;
    assert_eq!(bucket.count().await, 3, "the same input, and what was to be committed");

    let server = start(&home, &sim.base_url(), &bucket.environment()).unwrap();
    let again: Value = submit(&server).send().await.unwrap().json().await.unwrap();
    let job = server.settled(again["job_id"].as_str().unwrap()).await;
    assert_eq!(job["state"], "SUCCEEDED", "{job}");
    server.kill_9();
    all_holds(&home, &["--drained", "--config", &bucket.configuration(&home)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_can_not_be_used_is_refused_at_the_start() {
    let sim = simulator(&json!({})).await;
    let bucket = Bucket::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let nobody = format!("http://127.0.0.1:{port}");
    for (wrong, says) in [
        (("FOREBAY_BLOBS", "s3://forebay-absent".to_owned()), "there is no such bucket"),
        (("AWS_PROFILE", "reader".to_owned()), "AccessDenied"),
        (("FOREBAY_BLOBS_CREDENTIALS", "file:/nowhere".to_owned()), "/nowhere"),
        (("FOREBAY_BLOBS_ENDPOINT", nobody.clone()), nobody.as_str()),
    ] {
        let home = Home::new();
        let mut environment = bucket.environment();
        environment.push(wrong);
        let said = start(&home, &sim.base_url(), &environment).err().expect("it does not start");
        assert!(said.contains("blobs can't be kept: the bucket `forebay") && said.contains(says), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keys_may_be_those_of_the_containers_role() {
    let (home, bucket) = (Home::new(), Bucket::new());
    let sim = simulator(&json!({})).await;
    let text = std::fs::read_to_string(&bucket.keys).unwrap();
    let (_, role) = text.split_once("[role]\n").unwrap();
    let line = |at: usize| role.lines().nth(at).unwrap().rsplit(' ').next().unwrap();
    let keys = json!({
        "AccessKeyId": line(0), "SecretAccessKey": line(1), "Token": line(2), "Expiration": "2199-01-01T00:00:00Z",
    });
    let give = move |headers: axum::http::HeaderMap| async move {
        assert_eq!(headers["authorization"], "of-the-container");
        axum::Json(keys)
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/keys", listener.local_addr().unwrap());
    let router = axum::Router::new().route("/keys", axum::routing::get(give));
    let giving = tokio::spawn(async move { axum::serve(listener, router).await });
    let token = home.path().join("token");
    std::fs::write(&token, "of-the-container").unwrap();
    let mut environment = bucket.environment();
    environment.push(("FOREBAY_BLOBS_CREDENTIALS", "role".to_owned()));
    environment.push(("AWS_CONTAINER_CREDENTIALS_FULL_URI", uri));
    environment.push(("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.display().to_string()));
    let server = start(&home, &sim.base_url(), &environment).unwrap();
    server.upload("a document").await;
    assert_eq!(bucket.count().await, 1);
    giving.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn work_goes_on_by_itself_after_the_bucket_was_away() {
    let (home, bucket) = (Home::new(), Bucket::new());
    let sim = logged_simulator(&home, &copier()).await;
    let proxy = ChaosProxy::start(bucket.endpoint.strip_prefix("http://").unwrap().parse().unwrap());
    let mut environment = bucket.environment();
    environment.push(("FOREBAY_BLOBS_ENDPOINT", format!("http://{}", proxy.address())));
    let server = start(&home, &sim.base_url(), &environment).unwrap();
    server.apply(&definitions(&sim.base_url())).await;
    let document = server.upload(&large_text()).await;
    server.kill_9();

    // A process that has not seen the document yet.
    let server = start(&home, &sim.base_url(), &environment).unwrap();
    proxy.refuse(true).await;
    proxy.cut(Cut::Reset);
    let job_id = server.submit(&json!({"task": "copy", "input": {"document": document}})).await;
    let upload = server.request(Method::POST, "/v1/documents").body("another document");
    let refused = upload.send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    let problem: Value = refused.json().await.unwrap();
    assert!(!problem.to_string().contains("forebay/e2e"), "{problem}");
    let path = format!("/v1/jobs/{job_id}/attempts");
    let mut attempts = server.get(&path).await;
    while attempts["data"][0]["failure_class"].is_null() {
        tokio::time::sleep(Duration::from_millis(20)).await;
        attempts = server.get(&path).await;
    }
    assert_eq!(attempts["data"][0]["failure_class"], "internal", "{attempts}");

    proxy.refuse(false).await;
    let job = server.settled(&job_id).await;
    assert_eq!(job["state"], "SUCCEEDED", "{job}");
    server.upload("another document").await;
    server.kill_9();
    all_holds(&home, &["--drained", "--config", &bucket.configuration(&home)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_comes_too_late_for_a_grant_is_there_for_the_next() {
    let (home, bucket) = (Home::new(), Bucket::new());
    let reply = json!({"output": {"text": "short"}, "evidence": []}).to_string();
    let sim = logged_simulator(&home, &json!({"rules": [{"reply": reply}]})).await;
    let proxy = ChaosProxy::start(bucket.endpoint.strip_prefix("http://").unwrap().parse().unwrap());
    let mut environment = bucket.environment();
    environment.push(("FOREBAY_BLOBS_ENDPOINT", format!("http://{}", proxy.address())));
    let server = start(&home, &sim.base_url(), &environment).unwrap();
    let limited = definitions(&sim.base_url()).replace("max_in_flight = 4", "requests_per_minute = 600");
    server.apply(&limited).await;
    let document = server.upload("short").await;
    server.kill_9();

    let server = start(&home, &sim.base_url(), &environment).unwrap();
    // Longer than a grant of a pool with limits per minute may wait for its call.
    proxy.set(Way::ToClient, Behaviour::Delay(Duration::from_millis(400)));
    let job_id = server.submit(&json!({"task": "copy", "input": {"document": document}})).await;
    let job = server.settled(&job_id).await;
    assert_eq!(job["state"], "SUCCEEDED", "{job}");
    let attempts = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
    let outcomes: Vec<_> = data(&attempts).iter().map(|attempt| attempt["outcome"].clone()).collect();
    assert_eq!(outcomes, ["failed_before_send", "succeeded"]);
}

#[test]
fn the_doctor_tries_the_bucket() {
    let bucket = Bucket::new();
    let doctor = |more: Option<(&str, &str)>| {
        let home = Home::new();
        let mut command = Command::new(FOREBAY);
        command.args(["doctor", "--json", "--url", "http://127.0.0.1:1", "--store", &home.store()]);
        let said = command.envs(bucket.environment()).envs(more).output().expect("forebay runs");
        let lines = String::from_utf8(said.stdout).expect("text");
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.filter(|line| line["subject"] == "blobs").collect::<Vec<_>>()
    };
    let well = doctor(None);
    assert_eq!((well.len(), &well[0]["mark"]), (1, &json!("ok")), "{well:?}");
    assert!(well[0]["text"].as_str().unwrap().contains("can be written, read and deleted"), "{well:?}");
    let ill = doctor(Some(("AWS_PROFILE", "reader")));
    assert_eq!(ill[0]["mark"], "fail", "{ill:?}");
    assert!(ill[0]["text"].as_str().unwrap().contains("AccessDenied"), "{ill:?}");
}
