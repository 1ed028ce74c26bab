//! What an examination of a real server finds: each fault is made, found, and gone again. What all tests share is left as
//! it is.

use std::time::Duration;

use forebay_core::time::{Millis, Timestamp};
use forebay_store::health::{Bounds, Code, Finding, Level, Limit, Report};
use forebay_store::postgres::{Target, examine, migrate_by};
use forebay_store::{ManualClock, SystemClock};

use super::database::{Database, LeftOpen, Pooled, address, server, with};
use super::upgrades::{BACK, EXPANSION};
use crate::chaos_proxy::{Action, Behaviour, ChaosProxy};

/// Everything that takes long is old at once.
fn strict() -> Bounds {
    let now = Limit { warn: Millis::ZERO, fail: Millis::new(i64::MAX) };
    Bounds { open: now, joined: now, ..Bounds::default() }
}

async fn examined(database: &Database, bounds: Bounds) -> Report {
    examine(database.target(), bounds, SystemClock).await.unwrap()
}

/// The only finding of that kind.
fn the(report: &Report, code: Code) -> &Finding {
    let found: Vec<_> = report.findings.iter().filter(|found| found.code == code).collect();
    let [one] = found.as_slice() else { panic!("{code:?} in {report:#?}") };
    one
}

fn has(report: &Report, code: Code) -> bool {
    report.findings.iter().any(|found| found.code == code)
}

/// What is done to a database, and undone when this is dropped: others use it again.
struct Undone<'a>(&'a Database, String);

impl<'a> Undone<'a> {
    fn after(database: &'a Database, doing: &str, undoing: &str) -> Self {
        let named = |statement: &str| statement.replace("THIS", database.name());
        database.run(&named(doing));
        Self(database, named(undoing))
    }
}

impl Drop for Undone<'_> {
    fn drop(&mut self) {
        // A test that has failed takes its database along.
        if !std::thread::panicking() {
            self.0.run(&self.1);
        }
    }
}

/// A database without what an earlier case has left dead in it.
fn clean() -> Database {
    let database = Database::new();
    database.run("VACUUM");
    database
}

#[tokio::test]
async fn a_healthy_database_is_silent() {
    let database = clean();
    let report = examined(&database, Bounds::default()).await;
    assert_eq!((report.findings, report.checks), (vec![], 11));
    assert!(report.about.starts_with("PostgreSQL 1"), "{}", report.about);
}

#[tokio::test]
async fn a_healthy_database_is_silent_through_a_pooler() {
    let pooled = Pooled::new();
    pooled.database.run("VACUUM");
    let report = examine(pooled.target(), Bounds::default(), SystemClock).await.unwrap();
    assert_eq!((report.findings, report.checks), (vec![], 11));
}

#[tokio::test]
async fn commits_that_wait_for_no_disk_are_found_by_who_set_it() {
    let database = clean();
    for (who, scope) in
        [("DATABASE THIS", "this database"), ("ROLE forebay IN DATABASE THIS", "this user in")]
    {
        let (set, reset) = (
            format!("ALTER {who} SET synchronous_commit = off"),
            format!("ALTER {who} RESET synchronous_commit"),
        );
        let undone = Undone::after(&database, &set, &reset);
        let report = examined(&database, Bounds::default()).await;
        let found = the(&report, Code::CommitNotDurable);
        assert_eq!(found.level, Level::Fail);
        assert!(found.what.contains(scope), "{found:?}");
        // The fix is what it says.
        database.run(&found.fix);
        assert_eq!(examined(&database, Bounds::default()).await.findings, []);
        drop(undone);
    }
}

#[tokio::test]
async fn a_database_that_only_reads_is_found() {
    let database = clean();
    let _undone = Undone::after(
        &database,
        "ALTER DATABASE THIS SET default_transaction_read_only = on",
        "BEGIN READ WRITE; ALTER DATABASE THIS RESET default_transaction_read_only; COMMIT",
    );
    let report = examined(&database, Bounds::default()).await;
    assert_eq!(the(&report, Code::TakesNoWrites).level, Level::Fail);
}

#[tokio::test]
async fn a_table_without_autovacuum_and_its_dead_rows_are_found() {
    let database = clean();
    let _undone = Undone::after(
        &database,
        "ALTER TABLE desks SET (autovacuum_enabled = 0)",
        "ALTER TABLE desks RESET (autovacuum_enabled)",
    );
    database.run("CREATE TABLE somebody_elses (n int) WITH (autovacuum_enabled = false)");
    let report = examined(&database, Bounds::default()).await;
    let found = the(&report, Code::TableNotVacuumed);
    assert!(found.what.contains("\"desks\""), "{found:?}");
    assert!(!has(&report, Code::DeadRows), "{report:?}");
    database.run(
        "DROP TABLE somebody_elses;
         INSERT INTO desks SELECT gen_random_uuid(), gen_random_uuid(), 0 FROM generate_series(1, 23000);
         DELETE FROM desks",
    );
    // What a session has done is counted when it has ended.
    let counted = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'desks'";
    while database.ask(counted)[0].parse::<i64>().unwrap() < 23_000 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let report = examined(&database, Bounds::default()).await;
    let found = the(&report, Code::DeadRows);
    assert!(found.what.contains("table \"desks\" has 23,000 dead rows"), "{found:?}");
    assert!(found.what.contains("autovacuum comes at 200; last vacuumed"), "{found:?}");
    database.run("VACUUM desks");
    assert!(!has(&examined(&database, Bounds::default()).await, Code::DeadRows));
}

#[tokio::test]
async fn a_transaction_that_was_left_open_is_named() {
    let database = clean();
    let open = LeftOpen::of(format!("{}?application_name=report", database.url()));
    let report = examined(&database, strict()).await;
    let found = the(&report, Code::OldTransaction);
    assert_eq!(found.level, Level::Warn);
    assert!(found.what.contains("(report, user forebay)"), "{found:?}");
    assert!(found.what.contains("is idle in transaction"), "{found:?}");
    assert_eq!(examined(&database, Bounds::default()).await.findings, [], "it is a moment old");
    drop(open);
    assert_eq!(examined(&database, strict()).await.findings, []);
}

/// Whoever may not see what others do is told so, and who they are.
#[tokio::test]
async fn a_user_who_may_not_see_others_is_told_what_was_not_looked_at() {
    let database = clean();
    let user = format!("looker_{}", database.name());
    let _undone = Undone::after(
        &database,
        "CREATE ROLE looker_THIS LOGIN CONNECTION LIMIT 4; GRANT USAGE ON SCHEMA public TO looker_THIS",
        "DROP OWNED BY looker_THIS; DROP ROLE looker_THIS",
    );
    let target = || Target::parse(&database.url().replace("forebay@", &format!("{user}@"))).unwrap();
    let report = examine(target(), Bounds::default(), SystemClock).await.unwrap();
    let unseen: Vec<_> = report.findings.iter().filter(|found| found.code == Code::NotLookedAt).collect();
    assert_eq!(unseen.len(), 1, "{report:#?}");
    assert!(unseen[0].what.contains("permission denied for table migrations"), "{report:#?}");
    // One is ours just now; a process would not fit.
    let low = the(&report, Code::ConnectionsLow);
    assert!(low.what.starts_with(&format!("3 of 4 connections of user \"{user}\" are left")), "{low:?}");
    database.run(&format!("GRANT pg_read_all_data TO {user}; {}", low.fix));
    let open = LeftOpen::of(database.url());
    let report = examine(target(), strict(), SystemClock).await.unwrap();
    let [unseen] = report.findings.as_slice() else { panic!("{report:#?}") };
    assert!(
        unseen.what.starts_with("since when transactions of other users are open: session"),
        "{unseen:?}"
    );
    database.run(&unseen.fix.replace("the user of this store", &user));
    let report = examine(target(), strict(), SystemClock).await.unwrap();
    assert_eq!(the(&report, Code::OldTransaction).level, Level::Warn);
    drop(open);
    assert_eq!(examine(target(), strict(), SystemClock).await.unwrap().findings, []);
}

#[tokio::test]
async fn a_prepared_transaction_is_named() {
    let database = clean();
    let gid = format!("it''s {}", database.name());
    database.run(&format!("BEGIN; DELETE FROM desks; PREPARE TRANSACTION '{gid}'"));
    let report = examined(&database, strict()).await;
    let rollback = format!("ROLLBACK PREPARED '{gid}'");
    database.run(&rollback);
    let found = the(&report, Code::PreparedTransaction);
    assert!(found.fix.contains(&rollback), "{found:?}");
    assert_eq!(examined(&database, strict()).await.findings, []);
}

/// A slot is the server's. This one is new, and by what others go by nothing.
#[tokio::test]
async fn a_slot_that_nobody_reads_is_named() {
    let database = clean();
    let _undone = Undone::after(
        &database,
        "SELECT pg_create_physical_replication_slot('slot_THIS', true)",
        "SELECT pg_drop_replication_slot('slot_THIS')",
    );
    let at_once = Bounds { kept_log: Limit { warn: 0, fail: i64::MAX }, ..Bounds::default() };
    let report = examined(&database, at_once).await;
    let found = the(&report, Code::SlotHoldsLog);
    assert!(
        found.what.starts_with(&format!("slot 'slot_{}' is read by nobody", database.name())),
        "{found:?}"
    );
    assert_eq!(examined(&database, Bounds::default()).await.findings, []);
}

#[tokio::test]
async fn connections_that_run_out_are_found() {
    let database = clean();
    // A superuser goes beyond these limits, so that they are nobody's matter here.
    let undone = Undone::after(
        &database,
        "CREATE ROLE few_THIS LOGIN; GRANT pg_read_all_data TO few_THIS; ALTER DATABASE THIS CONNECTION LIMIT 9",
        "ALTER DATABASE THIS CONNECTION LIMIT -1; DROP ROLE few_THIS",
    );
    assert!(!has(&examined(&database, Bounds::default()).await, Code::ConnectionsLow));
    let user = format!("few_{}@", database.name());
    let target = || Target::parse(&database.url().replace("forebay@", &user)).unwrap();
    let report = examine(target(), Bounds::default(), SystemClock).await.unwrap();
    let low = the(&report, Code::ConnectionsLow);
    assert_eq!(low.level, Level::Warn);
    assert!(low.what.contains(&format!(" of 9 connections of database \"{}\"", database.name())), "{low:?}");
    database.run(&low.fix);
    assert!(!has(&examine(target(), Bounds::default(), SystemClock).await.unwrap(), Code::ConnectionsLow));
    drop(undone);
}

#[tokio::test]
async fn a_clock_that_differs_is_found() {
    let database = clean();
    let wrong = ManualClock::at(Timestamp::from_millis(1_000));
    let report = examine(database.target(), Bounds::default(), wrong).await.unwrap();
    assert!(the(&report, Code::ClockDiffers).what.contains("ahead of this machine's"), "{report:?}");
    let wrong = ManualClock::at(Timestamp::from_millis(99_000_000_000_000));
    let report = examine(database.target(), Bounds::default(), wrong).await.unwrap();
    assert!(the(&report, Code::ClockDiffers).what.contains("behind this machine's"), "{report:?}");
}

/// Also, how long answers take does not make the clocks differ.
#[tokio::test]
async fn a_server_that_is_far_away_is_found() {
    let database = clean();
    let way = ChaosProxy::start(address());
    way.set_both(Behaviour::Delay(Duration::from_millis(15)));
    let far = Database::target_of(database.name(), way.address());
    let report = examine(far, Bounds::default(), SystemClock).await.unwrap();
    let found = the(&report, Code::SlowAnswers);
    assert_eq!((report.findings.len(), found.level), (1, Level::Warn), "{report:#?}");
}

/// What was looked at until then counts, and the rest has not passed.
#[tokio::test]
async fn a_server_that_goes_away_meanwhile_is_said() {
    let database = clean();
    let way = ChaosProxy::start(address());
    let _gone = way.on(b"pg_stat_activity", 1, Action::CutBefore);
    let report = examine(Database::target_of(database.name(), way.address()), Bounds::default(), SystemClock)
        .await
        .unwrap();
    assert_eq!((report.checks, report.findings.len()), (3, 1), "{report:#?}");
    let lost = the(&report, Code::NotLookedAt);
    assert!(lost.what.starts_with("open transactions, and all that comes after: "), "{lost:?}");
    assert_eq!((lost.level, lost.fix.as_str()), (Level::Fail, "run this again"));
}

/// Somebody has joined the epoch of the log, as each writer does, and stays.
#[tokio::test]
async fn who_holds_the_log_is_named() {
    let database = clean();
    let join = include_str!("../../../sql/postgres/log/join_epoch.sql");
    let open = LeftOpen::having_done(database.url(), join);
    let report = examined(&database, strict()).await;
    let found = the(&report, Code::LogHeld);
    assert!(found.what.contains("holds an epoch of the log for"), "{found:?}");
    assert!(!has(&examined(&database, Bounds::default()).await, Code::LogHeld), "it is a moment old");
    drop(open);
    assert!(!has(&examined(&database, strict()).await, Code::LogHeld));
}

#[tokio::test]
async fn transaction_ids_are_counted() {
    let database = clean();
    let at_once = Bounds { oldest_id: Limit { warn: 1, fail: i64::MAX }, ..Bounds::default() };
    let report = examined(&database, at_once).await;
    assert!(the(&report, Code::WraparoundNear).fix.contains("VACUUM (FREEZE)"), "{report:?}");
}

#[tokio::test]
async fn what_the_schema_lacks_or_has_more_is_found() {
    let database = clean();
    migrate_by(database.target(), EXPANSION).await.unwrap();
    let report = examined(&database, Bounds::default()).await;
    assert_eq!(the(&report, Code::SchemaAhead).level, Level::Warn);
    database.run("UPDATE migrations SET kind = 'contract' WHERE number = 1000");
    let report = examined(&database, Bounds::default()).await;
    assert!(the(&report, Code::SchemaOther).what.contains("taken away"), "{report:?}");
    BACK.iter().for_each(|statement| database.run(statement));
    database.run("DELETE FROM migrations WHERE number = 1000");
    let kept = "CREATE TABLE kept AS SELECT * FROM migrations WHERE number > 1";
    let undone = Undone::after(&database, kept, "INSERT INTO migrations SELECT * FROM kept; DROP TABLE kept");
    database.run("DELETE FROM migrations WHERE number > 1");
    let report = examined(&database, Bounds::default()).await;
    assert_eq!(the(&report, Code::SchemaBehind).fix, "forebay migrate");
    drop(undone);
    assert_eq!(examined(&database, Bounds::default()).await.findings, []);
}

/// A lock that somebody has on a table of ours holds up no check for long, and the others are made.
#[tokio::test]
async fn a_check_that_would_wait_is_given_up() {
    let database = clean();
    let open = LeftOpen::having_done(database.url(), "LOCK TABLE log_epochs IN ACCESS EXCLUSIVE MODE");
    let report = examined(&database, Bounds::default()).await;
    let found = the(&report, Code::NotLookedAt);
    assert!(found.what.starts_with("the log: "), "{found:?}");
    assert_eq!(found.fix, "run this again");
    assert_eq!(report.checks, 10);
    drop(open);
}

/// An empty database has no tables to look at.
#[tokio::test]
async fn a_database_that_was_never_migrated_is_found() {
    let database = clean();
    let name = format!("empty_{}", database.name());
    let create = format!("CREATE DATABASE {name}");
    with(server(), async move |client| client.batch_execute(&create).await.unwrap());
    let target = Target::parse(&database.url().replace(database.name(), &name)).unwrap();
    let report = examine(target, Bounds::default(), SystemClock).await.unwrap();
    let drop = format!("DROP DATABASE {name}");
    with(server(), async move |client| client.batch_execute(&drop).await.unwrap());
    assert_eq!(the(&report, Code::SchemaBehind).level, Level::Fail);
    assert_eq!(report.findings.len(), 1, "{report:#?}");
}
