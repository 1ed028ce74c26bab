//! Migrations of a PostgreSQL database, by one process at a time.

use forebay_core::time::Timestamp;

use super::session::Session;
use super::types::Owned;
use super::{Target, postgres_sql};
use crate::ledger::migration::{Applied, Migration, MigrationReport, complete, judge, migration, names};
use crate::{Clock as _, StoreError, SystemClock};

const MIGRATIONS: &[Migration] = &[
    migration!("postgres", 1, "ledger"),
    migration!("postgres", 2, "audit"),
    migration!("postgres", 3, "datasets"),
    migration!("postgres", 4, "dead_letters"),
    migration!("postgres", 5, "batches"),
    migration!("postgres", 6, "reviews"),
    migration!("postgres", 7, "retention"),
];

/// Keeps two processes from migrating at the same time; a lock of the transaction, under a number of ours.
const ALONE: &str = "SELECT pg_advisory_xact_lock(7046000000000000000 - 1)";
const CREATE_LIST: &str = "CREATE TABLE IF NOT EXISTS migrations (
    number BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL)";

/// Brings a database to this build's schema; makes the tables when they are not there. Processes of the build before may
/// run on meanwhile.
///
/// # Errors
///
/// When the server can't be reached, when a newer build has migrated the database, or when the user may not change it.
pub async fn migrate(target: Target) -> Result<MigrationReport, StoreError> {
    on_a_thread(move || {
        let session = Session::open(&target)?;
        apply(&session, &target, SystemClock.now())
    })
    .await
}

/// Looks whether a database is of this build's schema.
///
/// # Errors
///
/// When the server can't be reached, or the schema is another. The error says which.
pub async fn check(target: Target) -> Result<MigrationReport, StoreError> {
    on_a_thread(move || {
        let session = Session::open(&target)?;
        let present = session.block_on(applied(&session))?;
        complete(MIGRATIONS, &present, &target.to_string())?;
        Ok(MigrationReport { present: names(present), applied: Vec::new() })
    })
    .await
}

async fn on_a_thread<T: Send + 'static>(
    doing: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(doing).await;
    done.unwrap_or_else(|error| Err(StoreError::Unavailable(format!("it was cut off: {error}"))))
}

/// Applies what is missing, all of it or nothing.
pub(super) fn apply(
    session: &Session,
    target: &Target,
    now: Timestamp,
) -> Result<MigrationReport, StoreError> {
    let place = target.to_string();
    let present = session.block_on(applied(session))?;
    judge(MIGRATIONS, &present, &place)?;
    if present.len() == MIGRATIONS.len() {
        return Ok(MigrationReport { present: names(present), applied: Vec::new() });
    }
    session.block_on_patiently(async {
        session.command("BEGIN").await?;
        session.command(ALONE).await?;
        session.command(CREATE_LIST).await?;
        // Somebody else may have done it while we waited.
        let present = applied(session).await?;
        judge(MIGRATIONS, &present, &place)?;
        let missing = &MIGRATIONS[present.len()..];
        let mut report = MigrationReport { present: names(present), applied: Vec::new() };
        for migration in missing {
            session.command(migration.sql).await?;
            note(session, migration, now).await?;
            report.present.push(migration.name.to_owned());
            report.applied.push(migration.name.to_owned());
        }
        session.command("COMMIT").await?;
        Ok(report)
    })
}

async fn note(session: &Session, migration: &Migration, now: Timestamp) -> Result<(), StoreError> {
    let row = vec![
        Owned::Int(migration.number),
        Owned::Text(migration.name.to_owned()),
        Owned::Text(migration.checksum()),
        Owned::Int(now.as_millis()),
    ];
    session.query(postgres_sql!("link/note_migration"), row).await?;
    Ok(())
}

/// What the database has; nothing where nobody has used it yet.
async fn applied(session: &Session) -> Result<Vec<Applied>, StoreError> {
    let known = session.query(postgres_sql!("link/has_migrations"), Vec::<Owned>::new()).await?;
    if known.first().map(|row| row.try_get::<_, bool>(0)).transpose()? != Some(true) {
        return Ok(Vec::new());
    }
    let rows = session.query(postgres_sql!("link/migrations"), Vec::<Owned>::new()).await?;
    let rows = rows
        .iter()
        .map(|row| Ok(Applied { number: row.try_get(0)?, name: row.try_get(1)?, checksum: row.try_get(2)? }));
    rows.collect()
}
