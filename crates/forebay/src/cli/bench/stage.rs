//! What a scenario is played on: a folder, a database, and processes of this same program, all of which are gone when
//! it is over.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use forebay_store::Store;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::BenchArgs;
use super::figures::Figures;
use super::process::{self, Used};
use super::scratch::{Counted, Scratch};
use super::wire::Wire;
use crate::cli::error::CliError;
use crate::config::{READERS, StoreUrl};
use crate::runtime::random_bytes;
use crate::service;

/// A folder for one scenario, and a database where that is not a file in it.
pub(super) struct Folder {
    path: PathBuf,
    database: Option<Scratch>,
    wire: Option<Wire>,
}

impl Folder {
    pub(super) async fn make(args: &BenchArgs) -> Result<Self, CliError> {
        let name = format!("forebay-bench-{:016x}", u64::from_be_bytes(random_bytes()));
        let path = args.parent().join(name);
        std::fs::create_dir(&path).map_err(|error| CliError::failed("the folder can't be made", &error))?;
        let mut folder = Self { path, database: None, wire: None };
        if let Some(server) = &args.postgres {
            folder.database = Some(Scratch::make(server).await?);
        }
        Ok(folder)
    }

    /// One whose database is reached by a way that counts what passes. `None` where there is nothing to be counted.
    pub(super) async fn make_counting(args: &BenchArgs) -> Result<Option<Self>, CliError> {
        if args.postgres.is_none() {
            return Ok(None);
        }
        let mut folder = Self::make(args).await?;
        folder.wire = Wire::open(&folder.store()).await?;
        if folder.wire.is_some() {
            return Ok(Some(folder));
        }
        folder.end().await?;
        Ok(None)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The store that the scenario uses.
    pub(super) fn store(&self) -> String {
        match (&self.wire, &self.database) {
            (Some(wire), _) => wire.url().to_owned(),
            (None, Some(database)) => database.url(),
            (None, None) => format!("sqlite:{}", self.path.join("forebay.db").display()),
        }
    }

    /// Opens the store in this process.
    pub(super) async fn open(&self) -> Result<Arc<dyn Store>, CliError> {
        let store = StoreUrl::parse(&self.store(), None);
        let store = store.map_err(|error| CliError::usage(error.problem, error.fix))?;
        service::open(&store, true, READERS)
            .await
            .map_err(|error| CliError::failed("the store can't be opened", &error))
    }

    /// Has a server do now what it does by itself after a while.
    pub(super) async fn settle(&self) -> Result<(), CliError> {
        match &self.database {
            Some(database) => database.settle().await,
            None => Ok(()),
        }
    }

    /// What a server has counted so far, when nobody uses the database; nothing without a server.
    pub(super) async fn counted(&self) -> Result<Option<Passed>, CliError> {
        let Some(database) = &self.database else { return Ok(None) };
        let server = database.counted().await?;
        database.forget_statements().await?;
        Ok(Some(Passed { server, wire: self.wire.as_ref().map(Wire::counted) }))
    }

    /// What has been counted for each job since then.
    pub(super) async fn per_job(
        &self,
        before: Option<Passed>,
        jobs: f64,
        prefix: &str,
    ) -> Result<Figures, CliError> {
        let (Some(before), Some(database)) = (before, &self.database) else {
            return Ok(Figures::default());
        };
        let figures = database.counted().await?.per_job(before.server, jobs, prefix);
        // Behind a prefix is what another scenario tells of.
        let statements = if prefix.is_empty() { database.statements(jobs).await? } else { Vec::new() };
        let figures = Figures { statements, ..figures };
        Ok(match (&self.wire, before.wire) {
            (Some(wire), Some(before)) => figures.and(wire.per_job(before, jobs, prefix)),
            _ => figures,
        })
    }

    /// Removes what was made, once nobody uses it any more.
    pub(super) async fn end(mut self) -> Result<(), CliError> {
        match self.database.take() {
            Some(database) => database.end().await,
            None => Ok(()),
        }
    }
}

/// What was counted until some moment.
#[derive(Clone, Copy)]
pub(super) struct Passed {
    server: Counted,
    wire: Option<[u64; 2]>,
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
    /// Starts it in a folder and waits until it says that it is ready.
    pub(super) async fn start(
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
            .env("FOREBAY_LOG", "error")
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

    /// A URL that it named.
    pub(super) fn url(&self, member: &str) -> &str {
        self.hello[member].as_str().unwrap_or_default()
    }

    /// Where it listens.
    pub(super) fn address(&self, member: &str) -> Result<SocketAddr, CliError> {
        let address = self.url(member).split('/').nth(2).and_then(|address| address.parse().ok());
        address.ok_or_else(|| CliError::Failed(format!("no address in {}", self.hello)))
    }

    /// Ends it.
    pub(super) async fn end(mut self) -> Result<(), CliError> {
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
