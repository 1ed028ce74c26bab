//! `forebay migrate`: brings a database to this build's schema.

use clap::Args;
use forebay_store::sqlite::MigrationReport;
use forebay_store::{postgres, sqlite};
use serde_json::json;

use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::store;
use crate::config::StoreUrl;

/// Arguments of `forebay migrate`.
#[derive(Debug, Clone, Args)]
pub struct MigrateArgs {
    /// The database: sqlite:PATH or postgres://USER@HOST/DATABASE
    #[arg(
        long,
        env = "FOREBAY_STORE",
        hide_env_values = true,
        default_value = "sqlite:forebay.db",
        value_name = "URL"
    )]
    pub store: String,
}

/// Migrates.
pub async fn run(args: MigrateArgs, output: &Output) -> Result<Exit, CliError> {
    let store = store::named(&args.store)?;
    let shown = store.to_string();
    let migrated = match store {
        StoreUrl::Sqlite(path) => tokio::task::spawn_blocking(move || sqlite::migrate(&path))
            .await
            .map_err(|error| CliError::failed("the migration broke off", &error))?,
        StoreUrl::Postgres(target) => postgres::migrate(*target).await,
    };
    let report = migrated.map_err(|error| store::failed("can't migrate", error))?;
    show(&shown, &report, output)?;
    Ok(if report.waiting.is_some() { Exit::Failed } else { Exit::Done })
}

fn show(database: &str, report: &MigrationReport, output: &Output) -> Result<(), CliError> {
    let MigrationReport { present, applied, waiting } = report;
    if output.is_json() {
        return output.record(
            &json!({ "database": database, "applied": applied, "present": present, "waiting": waiting }),
        );
    }
    applied.iter().try_for_each(|name| output.line(&format!("applied {name}")))?;
    if let Some(waiting) = waiting {
        output.note(waiting);
        return Ok(());
    }
    let last = present.last().map_or("none", String::as_str);
    output.line(&format!("{database} is up to date; its last migration is `{last}`"))
}
