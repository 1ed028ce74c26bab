//! The file: one process at a time, migrated once, and nobody owns a job after a start.

use std::process::Command;
use std::sync::Arc;

use forebay_core::job::State;
use forebay_core::time::Timestamp;
use forebay_store::health::{Bounds, Code, Level};
use forebay_store::record::{Actor, Bytes, NewJob, TenantSettings};
use forebay_store::sqlite::{SqliteStore, examine, migrate};
use forebay_store::{Access as _, ManualClock, StoreError};

use super::SqliteFile;
use crate::bundle::{Bundle, START};

/// Tells a run of this test binary to open a file and say what came of it.
const OPEN: &str = "FOREBAY_TEST_OPEN";

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(START))
}

/// After a start nobody can own a job of this file: whoever did is dead. No lease has to lapse first.
#[tokio::test]
async fn what_ran_when_the_process_died_is_rescued_at_once() {
    let b = Bundle::new(SqliteFile::new()).await;
    let job = b.accept_one().await;
    let lost = b.claim_one().await;
    b.restart().await;
    assert_eq!(b.state(job).await, State::Running);
    assert_eq!(b.lapsed().await, [job]);
    assert_eq!(b.rescue(job).await.unwrap().job.state, State::RetryScheduled);
    assert_eq!(b.in_flight().await, 0);
    b.wait_secs(60);
    let claimed = b.claim_one().await;
    assert_eq!((claimed.job_id, claimed.fence), (job, lost.fence + 2));
    b.succeed(&claimed).await;
    b.finish().await;
}

/// The permit of a call that was cancelled before the end of its process comes back at once, too.
#[tokio::test]
async fn permits_of_a_dead_process_come_back_at_once() {
    let b = Bundle::new(SqliteFile::new()).await;
    let job = b.accept_one().await;
    b.claim_one().await;
    b.store().cancel(b.alpha, job, Actor::program()).await.unwrap();
    b.restart().await;
    assert_eq!(b.store().sweep_grants(9).await.unwrap(), 1);
    b.finish().await;
}

fn assert_in_use(error: &str) {
    assert!(error.contains("forebay.db is in use by another process"), "{error}");
    assert!(error.contains("Stop the other one"), "says what to do: {error}");
}

#[test]
fn a_file_that_is_open_is_refused() {
    let file = SqliteFile::new();
    let store = SqliteStore::open(&file.path(), clock()).unwrap();
    let second = SqliteStore::open(&file.path(), clock()).err().unwrap();
    assert!(matches!(second, StoreError::InUse { .. }));
    assert_in_use(&second.to_string());
    assert!(matches!(migrate(&file.path()), Err(StoreError::InUse { .. })));
    assert_eq!(found(&file, &[Code::InUse]), [(Level::Warn, Code::InUse)]);
    drop(store);
    assert_eq!(found(&file, &[Code::InUse]), []);
    SqliteStore::open(&file.path(), clock()).unwrap();
}

/// By whatever name it is called.
#[test]
fn a_file_that_is_open_is_refused_through_a_link_too() {
    let file = SqliteFile::new();
    let store = SqliteStore::open(&file.path(), clock()).unwrap();
    let link = file.path().with_file_name("link.db");
    std::os::unix::fs::symlink(file.path(), &link).unwrap();
    assert!(matches!(SqliteStore::open(&link, clock()).err(), Some(StoreError::InUse { .. })));
    drop(store);
    SqliteStore::open(&link, clock()).unwrap();
}

#[test]
fn a_file_that_is_open_is_refused_to_another_process() {
    let file = SqliteFile::new();
    let store = SqliteStore::open(&file.path(), clock()).unwrap();
    assert_in_use(&said_by_another_process(&file));
    drop(store);
    assert_eq!(said_by_another_process(&file), "opened");
}

fn said_by_another_process(file: &SqliteFile) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite::file::opens_what_it_is_told_to", "--nocapture"])
        .env(OPEN, file.path())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let line = said.lines().find_map(|line| line.split_once("said: ")).expect("it says something");
    line.1.to_owned()
}

/// The other process of [`a_file_that_is_open_is_refused_to_another_process`]; on its own it has nothing to do.
#[test]
fn opens_what_it_is_told_to() {
    let Some(path) = std::env::var_os(OPEN) else { return };
    match SqliteStore::open(path.as_ref(), clock()) {
        Ok(_) => println!("said: opened"),
        Err(error) => println!("said: {error}"),
    }
}

#[test]
fn a_second_migration_changes_nothing() {
    let file = SqliteFile::new();
    let first = migrate(&file.path()).unwrap();
    assert_eq!(first.applied[..2], ["ledger", "audit"]);
    assert_eq!(first.present, first.applied);
    let schema = || -> Vec<String> {
        let connection = file.connection();
        let mut statement =
            connection.prepare("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY 1").unwrap();
        let rows = statement.query_map((), |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let before = schema();
    let second = migrate(&file.path()).unwrap();
    assert_eq!((second.present, second.applied), (first.present.clone(), vec![]));
    assert_eq!(schema(), before);
    assert_eq!(found(&file, Code::ALL), []);
}

#[test]
fn a_file_that_a_newer_build_has_contracted_is_refused() {
    let file = SqliteFile::new();
    migrate(&file.path()).unwrap();
    let later = "INSERT INTO migrations VALUES (999, 'later', 'x', 0, 'expand', '9.0.0')";
    file.connection().execute(later, ()).unwrap();
    assert!(opened(&file).is_none(), "what only adds is no hindrance");
    assert_eq!(found(&file, Code::ALL), [(Level::Warn, Code::SchemaAhead)]);
    file.connection().execute("UPDATE migrations SET kind = 'contract' WHERE number = 999", ()).unwrap();
    assert_eq!(found(&file, Code::ALL), [(Level::Fail, Code::SchemaOther)]);
    for refused in [migrate(&file.path()).err(), opened(&file)] {
        let Some(StoreError::Incompatible { reason, .. }) = refused else { panic!("{refused:?}") };
        assert!(reason.contains("release 9.0.0"), "{reason}");
    }
}

#[test]
fn a_file_whose_migrations_were_changed_is_refused() {
    let file = SqliteFile::new();
    migrate(&file.path()).unwrap();
    file.connection().execute("UPDATE migrations SET checksum = 'x'", ()).unwrap();
    assert_eq!(found(&file, Code::ALL), [(Level::Fail, Code::SchemaOther)]);
    for refused in [migrate(&file.path()).err(), opened(&file)] {
        let Some(StoreError::Incompatible { reason, .. }) = refused else { panic!("{refused:?}") };
        assert!(reason.contains("migration 1 (ledger)"), "{reason}");
    }
}

/// What an examination finds of these kinds.
fn found(file: &SqliteFile, kinds: &[Code]) -> Vec<(Level, Code)> {
    let findings = examine(&file.path(), &Bounds::default()).unwrap().findings;
    findings.iter().map(|found| (found.level, found.code)).filter(|(_, code)| kinds.contains(code)).collect()
}

fn opened(file: &SqliteFile) -> Option<StoreError> {
    SqliteStore::open(&file.path(), clock()).err()
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let file = SqliteFile::new();
    let absent = examine(&file.path(), &Bounds::default());
    assert!(matches!(absent, Err(StoreError::Unavailable(reason)) if reason.contains("not exist")));
    std::fs::write(file.path(), "this is a letter, not a database. ".repeat(300)).unwrap();
    let before = std::fs::read(file.path()).unwrap();
    assert!(matches!(opened(&file), Some(StoreError::Damaged { .. })));
    assert!(found(&file, Code::ALL).contains(&(Level::Fail, Code::Damaged)));
    assert_eq!(std::fs::read(file.path()).unwrap(), before);
}

/// A database of somebody else's, or a file that is empty, is not a store of this build.
#[test]
fn what_was_never_migrated_is_found() {
    let file = SqliteFile::new();
    file.connection().execute_batch("CREATE TABLE letters (text TEXT)").unwrap();
    let schema = [Code::SchemaBehind, Code::SchemaAhead, Code::SchemaOther];
    assert_eq!(found(&file, &schema), [(Level::Fail, Code::SchemaBehind)]);
}

/// Not even somebody with the file in hand changes by mistake what was audited.
#[tokio::test]
async fn audit_rows_stay_as_they_are() {
    let file = SqliteFile::new();
    drop(
        SqliteStore::open(&file.path(), clock())
            .unwrap()
            .put_tenant("alpha".to_owned(), TenantSettings::default(), Actor::program())
            .await
            .unwrap(),
    );
    for statement in ["UPDATE audit SET actor_name = 'nobody'", "DELETE FROM audit"] {
        let refused = file.connection().execute(statement, ()).unwrap_err().to_string();
        assert!(refused.contains("audit rows are never"), "{refused}");
    }
}

/// The clock may stand lower after a start than the last lease; nobody waits for it to catch up.
#[tokio::test]
async fn a_clock_that_went_back_holds_nobody_up() {
    let b = Bundle::new(SqliteFile::new()).await;
    let job = b.accept_one().await;
    b.wait_secs(1_000);
    b.claim_one().await;
    b.clock.set(Timestamp::from_millis(START.as_millis() + 1));
    b.restart().await;
    assert_eq!(b.lapsed().await, [job]);
    b.wait_secs(2_000);
    b.finish().await;
}

/// The ledger has what callers sent and was paid for: nobody but its owner reads it.
#[tokio::test]
async fn the_files_are_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let file = SqliteFile::new();
    let folder = file.path().parent().unwrap().to_owned();
    let b = Bundle::new(file).await;
    b.accept_one().await;
    let mut names = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{}", file.path().display());
        names.push(file.file_name().into_string().unwrap());
    }
    for name in ["forebay.db", "forebay.db-wal", "forebay.db-shm", "forebay.db.lock"] {
        assert!(names.iter().any(|found| found == name), "{names:?}");
    }
}

/// Whoever reads for long keeps the log in front of the database from being emptied. When it is gone, the log becomes
/// small again by itself.
#[tokio::test]
async fn the_write_ahead_log_shrinks_after_a_long_reader() {
    const LIMIT: u64 = 20 << 20;
    let file = SqliteFile::new();
    let (reader, path) = (file.connection(), file.path().with_file_name("forebay.db-wal"));
    let log = || std::fs::metadata(&path).unwrap().len();
    let b = Bundle::new(file).await;
    reader.execute_batch("BEGIN; SELECT count(*) FROM jobs;").unwrap();
    while log() < LIMIT + (4 << 20) {
        b.accept(NewJob { input: Bytes::Inline(vec![b'x'; 60_000]), ..b.new_job() }).await;
    }
    reader.execute_batch("COMMIT").unwrap();
    for _ in 0..2_000 {
        if log() <= LIMIT {
            break;
        }
        b.accept_one().await;
    }
    assert!(log() <= LIMIT, "{} bytes", log());
}
