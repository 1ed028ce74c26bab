//! Migrations of a file.

use std::path::Path;

use forebay_core::time::Timestamp;
use rusqlite::Connection;

use super::lock::FileLock;
pub use crate::ledger::migration::MigrationReport;
use crate::ledger::migration::{Applied, Migration, RELEASE, judge, migration, names};
use crate::{Clock as _, StoreError, SystemClock};

pub(super) const MIGRATIONS: &[Migration] = &[
    migration!("sqlite", 1, "ledger"),
    migration!("sqlite", 2, "audit"),
    migration!("sqlite", 3, "datasets"),
    migration!("sqlite", 4, "dead_letters"),
    migration!("sqlite", 5, "batches"),
    migration!("sqlite", 6, "reviews"),
    migration!("sqlite", 7, "retention"),
    migration!("sqlite", 8, "submit_rates"),
];

const CREATE_LIST: &str = "CREATE TABLE IF NOT EXISTS migrations (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL,
    kind TEXT NOT NULL, release TEXT NOT NULL) STRICT";

/// Brings a store to this build's schema; makes it when it is not there. For use while no server runs.
///
/// # Errors
///
/// When a process has the file, when a newer build wrote it, or when it can't be changed.
pub fn migrate(path: &Path) -> Result<MigrationReport, StoreError> {
    let _lock = FileLock::take(path)?;
    apply(&mut super::connect(path)?, path, SystemClock.now())
}

/// Applies what is missing, each file in a transaction of its own.
pub(super) fn apply(
    connection: &mut Connection,
    path: &Path,
    now: Timestamp,
) -> Result<MigrationReport, StoreError> {
    connection.execute_batch(CREATE_LIST)?;
    let present = applied(connection)?;
    judge(MIGRATIONS, &present, &path.display().to_string())?;
    let missing = MIGRATIONS.get(present.len()..).unwrap_or_default();
    let mut report = MigrationReport { present: names(present), applied: Vec::new(), waiting: None };
    for migration in missing {
        let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        tx.execute_batch(migration.sql)?;
        tx.execute(
            "INSERT INTO migrations VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            (
                migration.number,
                migration.name,
                migration.checksum(),
                now.as_millis(),
                migration.kind().name(),
                RELEASE,
            ),
        )?;
        tx.commit()?;
        report.present.push(migration.name.to_owned());
        report.applied.push(migration.name.to_owned());
    }
    Ok(report)
}

pub(super) fn applied(connection: &Connection) -> Result<Vec<Applied>, StoreError> {
    let mut statement =
        connection.prepare("SELECT number, name, checksum, kind, release FROM migrations ORDER BY number")?;
    let rows = statement.query_map((), |row| {
        Ok(Applied {
            number: row.get(0)?,
            name: row.get(1)?,
            checksum: row.get(2)?,
            kind: row.get(3)?,
            release: row.get(4)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
