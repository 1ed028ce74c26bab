//! `forebay serve`: the service in this process, until a signal ends it.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::error::CliError;
use super::exit::Exit;
use super::logging::{self, LogArgs};
use super::output::Output;
use super::signals::Signals;
use super::store;
use crate::config::{self, Key, Settings, Sources};
use crate::service::{self, Service, StartError};

/// Arguments of `forebay serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// Where the ledger is: sqlite:PATH or postgres://USER@HOST/DATABASE [default: FOREBAY_STORE, else
    /// sqlite:forebay.db]
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// Where the API listens; port 0 takes a free one [default: FOREBAY_LISTEN, else 127.0.0.1:7120]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// A configuration file; docs/configuration.md lists its keys
    #[arg(long, env = "FOREBAY_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What this process does: api, work, maintain, or all, with commas between them [default: all]
    #[arg(long, value_name = "ROLES")]
    pub roles: Option<String>,
    /// Claims jobs from these pools only, with commas between them [default: all]
    #[arg(long, value_name = "POOLS")]
    pub pools: Vec<String>,
    /// Claims jobs of these tasks only, with commas between them [default: all]
    #[arg(long, value_name = "TASKS")]
    pub tasks: Vec<String>,
    #[command(flatten)]
    log: LogArgs,
}

impl ServeArgs {
    fn settings(self) -> Result<Settings, CliError> {
        let flags = [
            (Key::Store, "--store", self.store),
            (Key::Listen, "--listen", self.listen),
            (Key::Roles, "--roles", self.roles),
            (Key::Pools, "--pools", listed(&self.pools)),
            (Key::Tasks, "--tasks", listed(&self.tasks)),
        ];
        let flags = flags.into_iter().filter_map(|(key, flag, value)| Some((key, flag, value?))).collect();
        let environment = |name: &str| std::env::var(name).ok();
        config::load(Sources { file: self.config, environment: &environment, flags })
            .map_err(CliError::Configuration)
    }
}

/// What a flag was given several times is a list, too.
fn listed(given: &[String]) -> Option<String> {
    (!given.is_empty()).then(|| given.join(","))
}

/// Runs the service. The first signal lets calls under way finish, the second does not.
pub async fn run(args: ServeArgs, output: &Output) -> Result<Exit, CliError> {
    logging::start(args.log.log_format, "info")?;
    let settings = args.settings()?;
    let mut signals = Signals::listen()?;
    let (drain_ms, has_api) = (settings.drain.get(), settings.roles.api);
    let service = tokio::select! {
        started = service::start(settings) => started.map_err(not_started)?,
        () = signals.next() => return Err(CliError::Interrupted),
    };
    announce(&service, has_api, output)?;
    signals.next().await;
    output.note(&format!("stopping: calls under way have {drain_ms} ms; a second signal stops at once"));
    tokio::select! {
        () = service.stop() => Ok(Exit::Done),
        () = signals.next() => Err(CliError::Interrupted),
    }
}

fn not_started(error: StartError) -> CliError {
    let what = "the service can't start";
    match error {
        StartError::Store(error) => store::failed(what, error),
        StartError::Unknown(unknown) => CliError::usage(unknown.to_string(), unknown.fix()),
        error => CliError::failed(what, &error),
    }
}

fn announce(service: &Service, has_api: bool, output: &Output) -> Result<(), CliError> {
    let url = format!("http://{}", service.addr);
    // The first start may have been another process's, in another folder.
    let key_file =
        Some(service.admin_key_file.display().to_string()).filter(|_| service.admin_key_file.exists());
    if output.is_json() {
        return output.record(&json!({ "url": url, "admin_key_file": key_file, "pid": std::process::id() }));
    }
    if !has_api {
        output.line("Forebay runs without its API: the role `api` is not among --roles")?;
        return output.line(&format!("  health      {url}/readyz and {url}/metrics"));
    }
    output.line(&format!("Forebay listens on {url}"))?;
    let key_file = key_file.as_deref().unwrap_or("where the first start of this database wrote it");
    output.line(&format!("  admin key   {key_file}"))?;
    output.line(&format!("  API         {url}/docs"))?;
    output.line("  try next    forebay doctor")?;
    output.line("              forebay submit TASK FILE --wait")
}
