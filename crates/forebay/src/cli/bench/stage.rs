//! The processes that are measured: this same program as service, as simulator and as floor, each on its own, with
//! its files in a folder that is removed at the end.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use reqwest::Url;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::BenchArgs;
use super::process::{self, Used};
use super::scratch::Scratch;
use crate::cli::client::{Ask, Client};
use crate::cli::error::CliError;
use crate::runtime::random_bytes;

/// A folder for one scenario, and a database where that is not a file in it.
pub(super) struct Folder {
    path: PathBuf,
    database: Option<Scratch>,
}

impl Folder {
    pub(super) async fn make(args: &BenchArgs) -> Result<Self, CliError> {
        let name = format!("forebay-bench-{:016x}", u64::from_be_bytes(random_bytes()));
        let path = args.parent().join(name);
        std::fs::create_dir(&path).map_err(|error| CliError::failed("the folder can't be made", &error))?;
        let mut folder = Self { path, database: None };
        if let Some(server) = &args.postgres {
            folder.database = Some(Scratch::make(server).await?);
        }
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The store that the scenario uses.
    pub(super) fn store(&self) -> String {
        match &self.database {
            Some(database) => database.url(),
            None => format!("sqlite:{}", self.path.join("forebay.db").display()),
        }
    }

    /// Removes what was made, once nobody uses it any more.
    pub(super) async fn end(mut self) -> Result<(), CliError> {
        match self.database.take() {
            Some(database) => database.end().await,
            None => Ok(()),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            tracing::warn!(%error, folder = %self.path.display(), "a folder could not be removed");
        }
    }
}

/// A process of this program; it ends when this is dropped.
pub(super) struct Process {
    child: Child,
    /// What it said when it was ready.
    hello: Value,
}

impl Process {
    /// Starts it and waits until it says that it is ready.
    async fn start(arguments: &[&str], environment: &[(&str, String)]) -> Result<Self, CliError> {
        Self::start_in(Path::new("."), arguments, environment).await
    }

    async fn start_in(
        folder: &Path,
        arguments: &[&str],
        environment: &[(&str, String)],
    ) -> Result<Self, CliError> {
        let failed = |error: &dyn std::error::Error| {
            CliError::failed(&format!("`forebay {}` can't start", arguments.join(" ")), error)
        };
        let program = std::env::current_exe().map_err(|error| failed(&error))?;
        let mut child = Command::new(program)
            .args(arguments)
            .arg("--json")
            .current_dir(folder)
            .env("FOREBAY_LOG", "warn")
            .envs(environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(&error))?;
        let ended = || CliError::Failed(format!("`forebay {}` ended at once", arguments.join(" ")));
        let mut line = String::new();
        let output = child.stdout.take().ok_or_else(ended)?;
        BufReader::new(output).read_line(&mut line).await.map_err(|error| failed(&error))?;
        let hello = serde_json::from_str(&line).map_err(|_| ended())?;
        Ok(Self { child, hello })
    }

    fn url(&self, member: &str) -> &str {
        self.hello[member].as_str().unwrap_or_default()
    }

    /// Where it listens.
    fn address(&self, member: &str) -> Result<SocketAddr, CliError> {
        let address = self.url(member).split('/').nth(2).and_then(|address| address.parse().ok());
        address.ok_or_else(|| CliError::Failed(format!("no address in {}", self.hello)))
    }

    /// Ends it.
    async fn end(mut self) -> Result<(), CliError> {
        let ended = self.child.kill().await;
        ended.map_err(|error| CliError::failed("a process can't be ended", &error))
    }

    /// What it has used so far.
    pub(super) fn used(&self) -> Result<Used, CliError> {
        let pid =
            self.child.id().ok_or_else(|| CliError::Failed("a process has ended by itself".to_owned()))?;
        process::used(pid).map_err(|error| CliError::failed("what a process uses can't be read", &error))
    }
}

/// A running service.
pub(super) struct Service {
    pub(super) process: Process,
    pub(super) client: Client,
    pub(super) key: String,
}

impl Service {
    /// A service on the database of this folder, with these roles and so many calls in hand at most.
    pub(super) async fn start(folder: &Folder, roles: &str, slots: u32) -> Result<Self, CliError> {
        let store = folder.store();
        let arguments = ["serve", "--store", &store, "--listen", "127.0.0.1:0", "--roles", roles];
        let process =
            Process::start_in(folder.path(), &arguments, &[("FOREBAY_SLOTS", slots.to_string())]).await?;
        let key = std::fs::read_to_string(folder.path().join(process.url("admin_key_file")))
            .map_err(|error| CliError::failed("the admin key can't be read", &error))?;
        let key = key.trim().to_owned();
        let url = Url::parse(process.url("url")).map_err(|error| CliError::failed("no address", &error))?;
        let client = Client::new(url, Some(SecretString::from(key.clone())))?;
        Ok(Self { process, client, key })
    }

    pub(super) fn address(&self) -> Result<SocketAddr, CliError> {
        self.process.address("url")
    }

    pub(super) async fn end(self) -> Result<(), CliError> {
        self.process.end().await
    }

    /// Makes these definitions the active ones.
    pub(super) async fn apply(&self, definitions: &str) -> Result<(), CliError> {
        let body = json!({ "source": definitions });
        self.client.send(Ask::post(&["v1", "revisions"]).json(&body).repeatable()).await.map(drop)
    }

    /// Jobs that have not ended.
    pub(super) async fn pending_jobs(&self) -> Result<u64, CliError> {
        let tenant = self.client.json(Ask::get(&["v1", "tenants", "default"])).await?;
        let pending = tenant.pointer("/use/pending_jobs").and_then(Value::as_u64);
        pending.ok_or_else(|| CliError::Failed(format!("no count of pending jobs in {tenant}")))
    }
}

/// A running simulator.
pub(super) struct Simulator {
    process: Process,
    client: Client,
}

impl Simulator {
    /// A simulator whose answers begin after so many milliseconds.
    pub(super) async fn start(first_token_ms: u32) -> Result<Self, CliError> {
        let process = Process::start(&["sim", "--listen", "127.0.0.1:0"], &[]).await?;
        let url = format!("http://{}", process.address("base_url")?);
        let url = Url::parse(&url).map_err(|error| CliError::failed("no address", &error))?;
        let client = Client::new(url, None)?;
        let scenario = json!({ "defaults": { "first_token_ms": first_token_ms } });
        client.send(Ask::post(&["_sim", "scenario"]).json(&scenario).repeatable()).await?;
        Ok(Self { process, client })
    }

    /// The rows of its log.
    pub(super) async fn requests(&self) -> Result<Vec<Value>, CliError> {
        let answer = self.client.send(Ask::get(&["_sim", "requests"])).await?;
        let lines = answer.body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let rows = lines.map(serde_json::from_slice).collect::<Result<_, _>>();
        rows.map_err(|error| CliError::failed("the simulator's log can't be read", &error))
    }

    /// The most calls that it had at the same time.
    pub(super) async fn most_in_flight(&self) -> Result<u64, CliError> {
        let limits = self.client.json(Ask::get(&["_sim", "limits"])).await?;
        Ok(limits.pointer("/accounts/0/in_flight/worst").and_then(Value::as_u64).unwrap_or_default())
    }

    pub(super) async fn end(self) -> Result<(), CliError> {
        self.process.end().await
    }

    /// A task that it works on: `chat`, with so many calls at a time, without other limits.
    pub(super) fn definitions(&self, in_flight: u32) -> String {
        definitions(self.process.url("base_url"), in_flight)
    }
}

/// The task `chat` with a provider at this address.
pub(super) fn definitions(base_url: &str, in_flight: u32) -> String {
    format!(
        "[providers.sim]\nbase_url = \"{base_url}\"\n\n\
         [pools.sim]\nprovider = \"sim\"\nmax_in_flight = {in_flight}\n\n\
         [models.small]\npool = \"sim\"\nprovider_model = \"sim\"\ncontext_tokens = 100000\n\
         max_output_tokens = 1000\ninput_micros_per_mtok = 250000\noutput_micros_per_mtok = 2000000\n\n\
         [tasks.chat]\nkind = \"llm\"\nmodel = \"small\"\nmax_output_tokens = 100\ndefault_ttl_ms = 86400000\n"
    )
}

/// A running floor.
pub(super) struct Floor {
    pub(super) process: Process,
}

impl Floor {
    pub(super) async fn start(folder: &Folder) -> Result<Self, CliError> {
        let database = folder.path().join("floor.db").display().to_string();
        Ok(Self { process: Process::start(&["bench-floor", &database], &[]).await? })
    }

    pub(super) fn address(&self) -> Result<SocketAddr, CliError> {
        self.process.address("url")
    }

    pub(super) async fn end(self) -> Result<(), CliError> {
        self.process.end().await
    }
}
