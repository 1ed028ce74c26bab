//! Migrations: append-only files, applied in order, each with the checksum that it had when it was applied.

use forebay_core::digest::Digest;

use crate::StoreError;

/// One file of `migrations/DATABASE`.
pub struct Migration {
    pub number: i64,
    pub name: &'static str,
    pub sql: &'static str,
}

impl Migration {
    pub fn checksum(&self) -> String {
        Digest::of(self.sql.as_bytes()).to_string()
    }
}

/// The migration in `migrations/DATABASE/NUMBER_NAME.sql`.
macro_rules! migration {
    ($database:literal, $number:literal, $name:literal) => {
        $crate::ledger::migration::Migration {
            // The file's name has leading zeros.
            number: $number,
            name: $name,
            sql: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/migrations/",
                $database,
                "/000",
                $number,
                "_",
                $name,
                ".sql"
            )),
        }
    };
}
pub(crate) use migration;

/// What `migrate` found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MigrationReport {
    /// Names of all migrations that the store has now.
    pub present: Vec<String>,
    /// Names of those that were applied just now.
    pub applied: Vec<String>,
}

/// A migration that a store has.
pub struct Applied {
    pub number: i64,
    pub name: String,
    pub checksum: String,
}

/// Refuses a store whose migrations are not a beginning of ours. `place` is what it is called.
pub fn judge(ours: &[Migration], present: &[Applied], place: &str) -> Result<(), StoreError> {
    let incompatible = |reason: String| StoreError::Incompatible { path: place.to_owned(), reason };
    if present.len() > ours.len() {
        let reason = "a newer build has migrated it; use that build or a newer one";
        return Err(incompatible(reason.to_owned()));
    }
    for (row, migration) in present.iter().zip(ours) {
        if row.number != migration.number || row.checksum != migration.checksum() {
            let reason =
                format!("migration {} ({}) is not the one that this build has", row.number, row.name);
            return Err(incompatible(reason));
        }
    }
    Ok(())
}

/// Refuses a store that lacks a migration of ours.
pub fn complete(ours: &[Migration], present: &[Applied], place: &str) -> Result<(), StoreError> {
    judge(ours, present, place)?;
    ours.get(present.len()).map_or(Ok(()), |missing| {
        let reason = format!(
            "migration {} ({}) is still to be applied: run `forebay migrate`",
            missing.number, missing.name
        );
        Err(StoreError::Incompatible { path: place.to_owned(), reason })
    })
}

/// The names of migrations that are there.
pub fn names(present: Vec<Applied>) -> Vec<String> {
    present.into_iter().map(|row| row.name).collect()
}
