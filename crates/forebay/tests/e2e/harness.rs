//! A server process with a store of its own, and what a caller does with it.

use std::io::{BufRead, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use forebay::sim::scenario::Scenario;
use forebay::sim::{self, SimHandle, SimOptions};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

/// The binary under test.
pub const FOREBAY: &str = env!("CARGO_BIN_EXE_forebay");

/// How long a test waits for anything before it fails.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A folder for one server's store, removed with it.
pub struct Home {
    folder: tempfile::TempDir,
    /// The store where that is no file in the folder.
    elsewhere: Option<String>,
}

impl Home {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder"), elsewhere: None }
    }

    /// For processes that share a store which is not here.
    pub fn on(store: &str) -> Self {
        Self { elsewhere: Some(store.to_owned()), ..Self::new() }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn database(&self) -> PathBuf {
        self.folder.path().join("forebay.db")
    }

    pub fn store(&self) -> String {
        self.elsewhere.clone().unwrap_or_else(|| format!("sqlite:{}", self.database().display()))
    }

    pub fn admin_key(&self) -> String {
        std::fs::read_to_string(self.admin_key_file()).expect("the admin key").trim().to_owned()
    }

    pub fn admin_key_file(&self) -> PathBuf {
        let name = match &self.elsewhere {
            Some(url) => url.rsplit('/').next().expect("the database's name"),
            None => "forebay.db",
        };
        self.folder.path().join(format!("{name}.admin-key"))
    }
}

/// A running server process. Dropping it kills it.
pub struct Server {
    child: Child,
    pub url: String,
    pub key: String,
    http: Client,
}

impl Server {
    /// Starts a server on a store, with calls going to `provider`.
    pub fn start(home: &Home, provider: &str) -> Self {
        Self::start_with(home, provider, &[])
    }

    /// As above, with more of the environment set.
    pub fn start_with(home: &Home, provider: &str, environment: &[(&str, &str)]) -> Self {
        Self::try_start(home, provider, environment).unwrap_or_else(|said| {
            let mut log = Vec::new();
            // A log may be a device that has no end.
            let file = std::fs::File::open(home.path().join("server.log")).expect("a log");
            file.take(1 << 20).read_to_end(&mut log).expect("the log is read");
            panic!("the server said {said:?} and logged:\n{}", String::from_utf8_lossy(&log))
        })
    }

    /// A server process of which nobody waits until it listens.
    pub fn spawn(home: &Home, provider: &str) -> Child {
        command(home, provider, &[]).spawn().expect("the server starts")
    }

    /// As above, for a server that may end before it listens: then what it said until then.
    pub fn try_start(home: &Home, provider: &str, environment: &[(&str, &str)]) -> Result<Self, String> {
        let server = Self::try_start_without_key(home, provider, environment)?;
        Ok(server.with_key(&home.admin_key()))
    }

    /// As above, where it is another one, perhaps, that makes the first key.
    pub fn try_start_without_key(
        home: &Home,
        provider: &str,
        environment: &[(&str, &str)],
    ) -> Result<Self, String> {
        let mut child = command(home, provider, environment).spawn().expect("the server starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut line).expect("its first line");
        let Ok(hello) = serde_json::from_str::<Value>(&line) else {
            child.wait().expect("its end");
            return Err(line);
        };
        let url = hello["url"].as_str().expect("its address").to_owned();
        Ok(Self { child, url, key: String::new(), http: client() })
    }

    /// Asked with this key from now on.
    pub fn with_key(mut self, key: &str) -> Self {
        self.key = key.to_owned();
        self
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("its status").is_some()
    }

    /// Whether it has ended itself at a fail point.
    pub fn has_aborted(&mut self) -> bool {
        let ended = self.child.try_wait().expect("its status");
        // SIGABRT
        ended.is_some_and(|status| status.signal() == Some(6))
    }

    /// Kills it as a crash would: no handler runs, nothing is flushed.
    pub fn kill_9(mut self) {
        self.child.kill().expect("SIGKILL");
        self.child.wait().expect("its end");
    }

    /// Sends a signal by name, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([&format!("-{name}"), &pid]).status().expect("kill runs");
        assert!(status.success());
    }

    /// Waits for its end and says its exit code.
    pub fn wait(mut self) -> Option<i32> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("its status") {
                return status.code();
            }
            assert!(began.elapsed() < PATIENCE, "the server does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.request_as(&self.key, method, path)
    }

    /// A request with another key than the admin's.
    pub fn request_as(&self, key: &str, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).bearer_auth(key)
    }

    /// The JSON that a GET answers with.
    pub async fn get(&self, path: &str) -> Value {
        let answer = self.request(Method::GET, path).send().await.expect("an answer");
        let status = answer.status();
        let body = answer.text().await.expect("a body");
        assert!(status.is_success(), "GET {path}: {status} {body}");
        serde_json::from_str(&body).expect("JSON")
    }

    /// Posts JSON; says status and JSON of the answer.
    pub async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let answer = self.request(Method::POST, path).json(body).send().await.expect("an answer");
        let status = answer.status();
        (status, answer.json().await.expect("JSON"))
    }

    /// Submits a job and expects that it is accepted.
    pub async fn submit(&self, body: &Value) -> String {
        let (status, answer) = self.post("/v1/jobs", body).await;
        assert_eq!(status, StatusCode::ACCEPTED, "{answer}");
        answer["job_id"].as_str().expect("a job id").to_owned()
    }

    /// Waits until the machines are done with a job.
    pub async fn settled(&self, job_id: &str) -> Value {
        let began = Instant::now();
        loop {
            let path = format!("/v1/jobs/{job_id}");
            let ask = self.request(Method::GET, &path).header("Prefer", "wait=10");
            let job: Value = ask.send().await.expect("an answer").json().await.expect("JSON");
            let state = job["state"].as_str().unwrap_or_else(|| panic!("no state in {job}"));
            if ["SUCCEEDED", "FAILED_TERMINAL", "CANCELLED", "REVIEW_REQUIRED"].contains(&state) {
                return job;
            }
            assert!(began.elapsed() < PATIENCE * 3, "{job_id} does not end: {job}");
        }
    }

    /// Makes definitions the active revision.
    pub async fn apply(&self, definitions: &str) {
        let body = json!({ "source": definitions, "comment": "a test" });
        let (status, answer) = self.post("/v1/revisions", &body).await;
        assert!(status.is_success(), "{status} {answer}");
    }

    /// Uploads a text document.
    pub async fn upload(&self, text: &str) -> String {
        let upload = self.request(Method::POST, "/v1/documents").header("Content-Type", "text/plain");
        let answer: Value =
            upload.body(text.to_owned()).send().await.expect("an answer").json().await.expect("JSON");
        answer["document_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

fn command(home: &Home, provider: &str, environment: &[(&str, &str)]) -> Command {
    let log = std::fs::OpenOptions::new().create(true).append(true).open(home.path().join("server.log"));
    let mut command = Command::new(FOREBAY);
    command
        .current_dir(home.path())
        .args(["serve", "--listen", "127.0.0.1:0", "--store", &home.store(), "--json"])
        .env("OPENAI_BASE_URL", provider)
        .env("OPENAI_API_KEY", "sk-test-key")
        .env("FOREBAY_REAPER_INTERVAL_MS", "100")
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log.expect("a log file"));
    command
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// An HTTP client for tests.
pub fn client() -> Client {
    // A second test of the same process finds it installed.
    rustls::crypto::ring::default_provider().install_default().ok();
    Client::builder().no_proxy().tls_certs_only([]).timeout(PATIENCE).build().expect("a client")
}

/// A simulator on a free port.
pub async fn simulator(scenario: &Value) -> SimHandle {
    let scenario = Scenario::from_json(scenario.to_string().as_bytes()).expect("a scenario");
    let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    sim::serve(SimOptions { listen, scenario, ..SimOptions::default() }).await.expect("a simulator")
}

/// Definitions of one provider, one pool and one chat task, with more lines for each.
pub fn definitions(provider: &str, pool: &str, task: &str) -> String {
    format!(
        r#"
[providers.sim]
base_url = "{provider}"
api_key_env = "OPENAI_API_KEY"

[pools.main]
provider = "sim"
{pool}

[models.small]
pool = "main"
provider_model = "sim-small"
context_tokens = 100000
max_output_tokens = 4000
input_micros_per_mtok = 1000000
output_micros_per_mtok = 2000000

[tasks.chat]
kind = "llm"
model = "small"
max_output_tokens = 100
{task}
"#
    )
}

/// The rows of a list answer.
pub fn data(list: &Value) -> &[Value] {
    list.get("data").unwrap_or(list).as_array().expect("a list")
}
