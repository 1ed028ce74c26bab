//! Migrations: append-only files, applied in order, each with the checksum that it had when it was applied.

use std::path::Path;

use forebay_core::digest::Digest;
use forebay_core::time::Timestamp;
use rusqlite::Connection;

use super::lock::FileLock;
use crate::{Clock as _, StoreError, SystemClock};

struct Migration {
    number: i64,
    name: &'static str,
    sql: &'static str,
}

/// The migration in `migrations/sqlite/NUMBER_NAME.sql`.
macro_rules! migration {
    ($number:literal, $name:literal) => {
        Migration {
            // The file's name has leading zeros.
            number: $number,
            name: $name,
            sql: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/migrations/sqlite/000",
                $number,
                "_",
                $name,
                ".sql"
            )),
        }
    };
}

const MIGRATIONS: &[Migration] = &[
    migration!(1, "ledger"),
    migration!(2, "audit"),
    migration!(3, "datasets"),
    migration!(4, "dead_letters"),
    migration!(5, "batches"),
    migration!(6, "reviews"),
];

const CREATE_LIST: &str = "CREATE TABLE IF NOT EXISTS migrations (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT";

/// What `migrate` found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationReport {
    /// Names of all migrations that the store has now.
    pub present: Vec<String>,
    /// Names of those that were applied just now.
    pub applied: Vec<String>,
}

/// Brings a store to this build's schema; makes it when it is not there. For use while no server runs.
///
/// # Errors
///
/// When a process has the file, when a newer build wrote it, or when it can't be changed.
pub fn migrate(path: &Path) -> Result<MigrationReport, StoreError> {
    let _lock = FileLock::take(path)?;
    apply(&mut super::connect(path)?, path, SystemClock.now())
}

/// Looks at a store while no server runs: that the file is whole and of this build's schema.
///
/// # Errors
///
/// When a process has the file, or it is damaged or of another schema. The error says which.
pub fn check(path: &Path) -> Result<MigrationReport, StoreError> {
    if !path.exists() {
        return Err(StoreError::Unavailable(format!("{} does not exist", path.display())));
    }
    let _lock = FileLock::take(path)?;
    let connection = super::connect(path)?;
    super::read_through(&connection, path)?;
    let migrated = connection.table_exists(None, "migrations")?;
    let present = if migrated { applied(&connection)? } else { Vec::new() };
    judge(&present, path)?;
    if let Some(missing) = MIGRATIONS.get(present.len()) {
        let reason = format!("migration {} ({}) is still to be applied", missing.number, missing.name);
        return Err(StoreError::Incompatible { path: path.display().to_string(), reason });
    }
    Ok(MigrationReport { present: present.into_iter().map(|row| row.name).collect(), applied: Vec::new() })
}

/// Applies what is missing, each file in a transaction of its own.
pub(super) fn apply(
    connection: &mut Connection,
    path: &Path,
    now: Timestamp,
) -> Result<MigrationReport, StoreError> {
    connection.execute_batch(CREATE_LIST)?;
    let present = applied(connection)?;
    judge(&present, path)?;
    let mut report = MigrationReport {
        present: present.iter().map(|row| row.name.clone()).collect(),
        applied: Vec::new(),
    };
    for migration in &MIGRATIONS[present.len()..] {
        let tx = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        tx.execute_batch(migration.sql)?;
        tx.execute(
            "INSERT INTO migrations VALUES (?1, ?2, ?3, ?4)",
            (migration.number, migration.name, checksum(migration), now.as_millis()),
        )?;
        tx.commit()?;
        report.present.push(migration.name.to_owned());
        report.applied.push(migration.name.to_owned());
    }
    Ok(report)
}

struct Applied {
    number: i64,
    name: String,
    checksum: String,
}

fn applied(connection: &Connection) -> Result<Vec<Applied>, StoreError> {
    let mut statement =
        connection.prepare("SELECT number, name, checksum FROM migrations ORDER BY number")?;
    let rows = statement
        .query_map((), |row| Ok(Applied { number: row.get(0)?, name: row.get(1)?, checksum: row.get(2)? }))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Refuses a store whose migrations are not a beginning of ours.
fn judge(present: &[Applied], path: &Path) -> Result<(), StoreError> {
    let incompatible = |reason: String| StoreError::Incompatible { path: path.display().to_string(), reason };
    if present.len() > MIGRATIONS.len() {
        let reason = "a newer build has migrated it; use that build or a newer one";
        return Err(incompatible(reason.to_owned()));
    }
    for (row, migration) in present.iter().zip(MIGRATIONS) {
        if row.number != migration.number || row.checksum != checksum(migration) {
            let reason =
                format!("migration {} ({}) is not the one that this build has", row.number, row.name);
            return Err(incompatible(reason));
        }
    }
    Ok(())
}

fn checksum(migration: &Migration) -> String {
    Digest::of(migration.sql.as_bytes()).to_string()
}
