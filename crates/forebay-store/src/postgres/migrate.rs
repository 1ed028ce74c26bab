//! Migrations of a PostgreSQL database, by one process at a time.

use forebay_core::time::{Millis, Timestamp};

use super::session::Session;
use super::types::Owned;
use super::{Target, postgres_sql};
use crate::ledger::migration::{
    Applied, Kind, Migration, MigrationReport, RELEASE, judge, migration, names, older,
};
use crate::{Clock as _, StoreError, SystemClock};

pub(super) const MIGRATIONS: &[Migration] = &[
    migration!("postgres", 1, "ledger"),
    migration!("postgres", 2, "audit"),
    migration!("postgres", 3, "datasets"),
    migration!("postgres", 4, "dead_letters"),
    migration!("postgres", 5, "batches"),
    migration!("postgres", 6, "reviews"),
    migration!("postgres", 7, "retention"),
    migration!("postgres", 8, "submit_rates"),
];

/// A process that was not heard of for so long, and has not signed off, counts as ended.
const KNOWN: Millis = Millis::from_secs(3_600);
/// Keeps two processes from migrating at the same time; a lock of the transaction, under a number of ours.
const ALONE: &str = "SELECT pg_advisory_xact_lock(7046000000000000000 - 1)";
const CREATE_LIST: &str = "CREATE TABLE IF NOT EXISTS migrations (
    number BIGINT PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at BIGINT NOT NULL,
    kind TEXT NOT NULL, release TEXT NOT NULL)";

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

/// As [`migrate`], by other migrations than this build's: what a later release would do.
///
/// # Errors
///
/// As above.
pub async fn migrate_by(
    target: Target,
    migrations: &'static [Migration],
) -> Result<MigrationReport, StoreError> {
    on_a_thread(move || {
        let session = Session::open(&target)?;
        let all: Vec<Migration> = MIGRATIONS.iter().chain(migrations).copied().collect();
        apply_all(&session, &target, SystemClock.now(), &all)
    })
    .await
}

pub(super) async fn on_a_thread<T: Send + 'static>(
    doing: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(doing).await;
    done.unwrap_or_else(|error| Err(StoreError::Unavailable(format!("it was cut off: {error}"))))
}

/// Applies what is missing, all of it or nothing; but a contraction, and what comes after it, waits for processes that
/// still use what it takes away.
pub(super) fn apply(
    session: &Session,
    target: &Target,
    now: Timestamp,
) -> Result<MigrationReport, StoreError> {
    apply_all(session, target, now, MIGRATIONS)
}

fn apply_all(
    session: &Session,
    target: &Target,
    now: Timestamp,
    migrations: &[Migration],
) -> Result<MigrationReport, StoreError> {
    let place = target.to_string();
    let present = session.block_on(applied(session))?;
    judge(migrations, &present, &place)?;
    if present.len() >= migrations.len() {
        return Ok(MigrationReport { present: names(present), applied: Vec::new(), waiting: None });
    }
    session.block_on_patiently(async {
        session.command("BEGIN").await?;
        session.command(ALONE).await?;
        session.command(CREATE_LIST).await?;
        // Somebody else may have done it while we waited.
        let present = applied(session).await?;
        judge(migrations, &present, &place)?;
        let missing = migrations.get(present.len()..).unwrap_or_default();
        let mut report = MigrationReport { present: names(present), applied: Vec::new(), waiting: None };
        for migration in missing {
            report.waiting = in_the_way(session, migration, now).await?;
            if report.waiting.is_some() {
                break;
            }
            session.command(migration.sql).await?;
            note(session, migration, now).await?;
            report.present.push(migration.name.to_owned());
            report.applied.push(migration.name.to_owned());
        }
        session.command("COMMIT").await?;
        Ok(report)
    })
}

/// Who is in the way of a contraction, in words.
async fn in_the_way(
    session: &Session,
    migration: &Migration,
    now: Timestamp,
) -> Result<Option<String>, StoreError> {
    let Kind::Contract { needs } = migration.kind() else { return Ok(None) };
    let old = older(&running(session, now).await?, needs);
    Ok((!old.is_empty()).then(|| {
        format!(
            "migration {} ({}) takes away what releases before {needs} use, and these processes are older: {}; end them and \
             run `forebay migrate`",
            migration.number,
            migration.name,
            old.join(", ")
        )
    }))
}

/// The processes that were heard of lately, with their builds.
pub(super) async fn running(session: &Session, now: Timestamp) -> Result<Vec<(String, String)>, StoreError> {
    let heard_of = vec![Owned::Int(now.before(KNOWN).as_millis())];
    let rows = session.query(postgres_sql!("link/builds"), heard_of).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

async fn note(session: &Session, migration: &Migration, now: Timestamp) -> Result<(), StoreError> {
    let row = vec![
        Owned::Int(migration.number),
        Owned::Text(migration.name.to_owned()),
        Owned::Text(migration.checksum()),
        Owned::Int(now.as_millis()),
        Owned::Text(migration.kind().name().to_owned()),
        Owned::Text(RELEASE.to_owned()),
    ];
    session.query(postgres_sql!("link/note_migration"), row).await?;
    Ok(())
}

/// What the database has; nothing where nobody has used it yet.
pub(super) async fn applied(session: &Session) -> Result<Vec<Applied>, StoreError> {
    let known = session.query(postgres_sql!("link/has_migrations"), Vec::<Owned>::new()).await?;
    if known.first().map(|row| row.try_get::<_, bool>(0)).transpose()? != Some(true) {
        return Ok(Vec::new());
    }
    let rows = session.query(postgres_sql!("link/migrations"), Vec::<Owned>::new()).await?;
    let rows = rows.iter().map(|row| {
        Ok(Applied {
            number: row.try_get(0)?,
            name: row.try_get(1)?,
            checksum: row.try_get(2)?,
            kind: row.try_get(3)?,
            release: row.try_get(4)?,
        })
    });
    rows.collect()
}
