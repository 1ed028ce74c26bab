//! `forebay migrate`: brings a database to this build's schema while no server runs.

use clap::Args;
use forebay_store::sqlite::{self, MigrationReport};
use serde_json::json;

use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use crate::config::database_path;

/// Arguments of `forebay migrate`.
#[derive(Debug, Clone, Args)]
pub struct MigrateArgs {
    /// The database
    #[arg(
        long,
        env = "FOREBAY_STORE",
        hide_env_values = true,
        default_value = "sqlite:forebay.db",
        value_name = "sqlite:PATH"
    )]
    pub store: String,
}

/// Migrates.
pub async fn run(args: MigrateArgs, output: &Output) -> Result<Exit, CliError> {
    let path = database_path(&args.store)
        .map_err(|refusal| CliError::usage(format!("--store: {}", refusal.problem), "write sqlite:PATH"))?;
    let shown = path.display().to_string();
    let migrated = tokio::task::spawn_blocking(move || sqlite::migrate(&path)).await;
    let report = migrated.map_err(|error| CliError::failed("the migration broke off", &error))?;
    let report = report.map_err(|error| CliError::failed("can't migrate", &error))?;
    show(&shown, &report, output)?;
    Ok(Exit::Done)
}

fn show(path: &str, report: &MigrationReport, output: &Output) -> Result<(), CliError> {
    let MigrationReport { present, applied } = report;
    if output.is_json() {
        return output.record(&json!({ "database": path, "applied": applied, "present": present }));
    }
    applied.iter().try_for_each(|name| output.line(&format!("applied {name}")))?;
    let last = present.last().map_or("none", String::as_str);
    output.line(&format!("{path} is up to date; its last migration is `{last}`"))
}
