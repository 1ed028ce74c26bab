use super::*;
use crate::postgres::{Settings, Target};

fn place() -> Place {
    Place { database: "d\"b".to_owned(), user: "u".to_owned() }
}

fn setting(name: &str, value: &str, source: &str) -> Setting {
    Setting { name: name.to_owned(), value: value.to_owned(), source: source.to_owned() }
}

fn session(pid: i32, since: Option<i64>) -> Open {
    Open {
        pid: Some(pid),
        application: Some("report".to_owned()),
        user: Some("u".to_owned()),
        state: Some("idle in transaction".to_owned()),
        since: since.map(Millis::from_secs),
        behind: 12_345,
        hidden: false,
    }
}

fn hidden_session(pid: i32) -> Open {
    Open { state: None, hidden: true, ..session(pid, None) }
}

fn codes(findings: &[Finding]) -> Vec<(Level, Code)> {
    findings.iter().map(|finding| (finding.level, finding.code)).collect()
}

#[test]
fn settings_that_lose_what_was_kept_are_failures_and_the_fix_is_where_they_were_set() {
    let good = ["synchronous_commit", "fsync", "full_page_writes", "autovacuum", "track_counts"];
    let good: Vec<_> = good.map(|name| setting(name, "on", "default")).into();
    assert_eq!(durability(&good, false, &place()), []);
    assert_eq!(vacuum(&good, &place()), []);
    for value in ["local", "remote_write", "remote_apply"] {
        assert_eq!(
            durability(&[setting("synchronous_commit", value, "user")], false, &place()),
            [],
            "{value}"
        );
    }
    for (name, value, source, code, what, fix) in [
        (
            "synchronous_commit",
            "off",
            "database",
            Code::CommitNotDurable,
            "synchronous_commit is off for this database",
            "ALTER DATABASE \"d\"\"b\" RESET synchronous_commit",
        ),
        (
            "synchronous_commit",
            "off",
            "user",
            Code::CommitNotDurable,
            "synchronous_commit is off for this user",
            "ALTER ROLE \"u\" RESET synchronous_commit",
        ),
        (
            "synchronous_commit",
            "off",
            "database user",
            Code::CommitNotDurable,
            "synchronous_commit is off for this user in this database",
            "ALTER ROLE \"u\" IN DATABASE \"d\"\"b\" RESET synchronous_commit",
        ),
        (
            "fsync",
            "off",
            "configuration file",
            Code::FsyncOff,
            "fsync is off",
            "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf()",
        ),
        (
            "full_page_writes",
            "off",
            "command line",
            Code::FullPageWritesOff,
            "full_page_writes is off by the server's command line",
            "start the server without it, or with -c full_page_writes=on",
        ),
        (
            "default_transaction_read_only",
            "on",
            "client",
            Code::TakesNoWrites,
            "default_transaction_read_only is on on the way to the server",
            "take default_transaction_read_only out of the pooler's settings",
        ),
    ] {
        let found = durability(&[setting(name, value, source)], false, &place());
        assert_eq!(codes(&found), [(Level::Fail, code)]);
        assert_eq!((found[0].what.as_str(), found[0].fix.as_str()), (what, fix));
    }
    assert_eq!(codes(&durability(&good, true, &place())), [(Level::Fail, Code::TakesNoWrites)]);
    for name in ["autovacuum", "track_counts"] {
        let found = vacuum(&[setting(name, "off", "configuration file")], &place());
        assert_eq!(codes(&found), [(Level::Fail, Code::AutovacuumOff)]);
    }
}

#[test]
fn a_transaction_is_old_after_a_minute_and_bad_after_an_hour() {
    let bounds = Bounds::default();
    let open: Vec<_> = [(1, 59), (2, 60), (3, 3_600)].map(|(pid, since)| session(pid, Some(since))).into();
    let found = transactions(&open, &bounds);
    assert_eq!(codes(&found), [(Level::Warn, Code::OldTransaction), (Level::Fail, Code::OldTransaction)]);
    assert_eq!(
        found[0].what,
        "session 2 (report, user u) has been in a transaction for 60 s and is idle in transaction; 12,345 transactions have \
         begun since"
    );
    assert_eq!(found[0].fix, "SELECT pg_terminate_backend(2), if nobody needs it");
    let many: Vec<_> = (0..8).map(|pid| session(pid, Some(90))).collect();
    let found = transactions(&many, &bounds);
    assert_eq!(found.len(), NAMED);
    assert!(found[NAMED - 1].what.ends_with("; and there are 3 transactions like that more"), "{found:?}");
}

#[test]
fn what_may_not_be_seen_has_not_passed() {
    let found = transactions(&[hidden_session(7), hidden_session(8)], &Bounds::default());
    assert_eq!(codes(&found), [(Level::Warn, Code::NotLookedAt)]);
    assert!(found[0].what.ends_with("session 7 (report, user u) and 1 more"), "{found:?}");
    assert!(found[0].fix.contains("pg_read_all_stats"));
    let found = log(&[hidden_session(7)], &Bounds::default());
    assert_eq!(codes(&found), [(Level::Warn, Code::NotLookedAt)]);
}

#[test]
fn a_replica_holds_back_by_what_it_may_see() {
    let replica = |behind| Open { state: Some("active".to_owned()), behind, ..session(9, None) };
    assert_eq!(transactions(&[replica(999_999)], &Bounds::default()), []);
    let found = transactions(&[replica(1_000_000)], &Bounds::default());
    assert_eq!(codes(&found), [(Level::Warn, Code::SlotHoldsRows)]);
}

#[test]
fn a_prepared_transaction_is_ended_by_its_name() {
    let one =
        |since| Prepared { gid: "it's".to_owned(), owner: "u".to_owned(), since: Millis::from_secs(since) };
    assert_eq!(prepared(&[one(59)], &Bounds::default()), []);
    let found = prepared(&[one(7_200)], &Bounds::default());
    assert_eq!(codes(&found), [(Level::Fail, Code::PreparedTransaction)]);
    assert_eq!(found[0].what, "transaction 'it''s' of u was prepared 2 h ago");
    assert!(found[0].fix.starts_with("COMMIT PREPARED 'it''s' or ROLLBACK PREPARED 'it''s'"));
}

#[test]
fn a_slot_holds_rows_and_log() {
    let slot = |active, behind, kept| Slot { name: "s".to_owned(), active, behind, kept };
    let quiet = [slot(false, None, None), slot(true, Some(999_999), Some((1 << 30) - 1))];
    assert_eq!(slots(&quiet, &Bounds::default()), []);
    let found = slots(&[slot(false, Some(1_000_000), Some(16 << 30))], &Bounds::default());
    assert_eq!(codes(&found), [(Level::Warn, Code::SlotHoldsRows), (Level::Fail, Code::SlotHoldsLog)]);
    assert_eq!(found[1].what, "slot 's' is read by nobody and keeps 16 GB of log");
    assert!(found[1].fix.contains("pg_drop_replication_slot('s')"));
    let found = slots(&[slot(true, None, Some(2 << 30))], &Bounds::default());
    assert!(!found[0].fix.contains("drop"), "somebody reads it: {found:?}");
}

#[test]
fn dead_rows_count_beyond_what_autovacuum_lets_come_together() {
    let table = |dead, allowed, enabled| Table {
        name: "jobs".to_owned(),
        dead,
        vacuumed: Some(Millis::from_secs(300)),
        allowed,
        enabled,
    };
    let bounds = Bounds::default();
    let quiet = [table(21_999, 200, true), table(1_000_000, 200_000, true)];
    assert_eq!(tables(&quiet, &bounds), []);
    let found = tables(&[table(22_000, 200, true)], &bounds);
    assert_eq!(codes(&found), [(Level::Warn, Code::DeadRows)]);
    assert_eq!(
        found[0].what,
        "table \"jobs\" has 22,000 dead rows, where autovacuum comes at 200; last vacuumed 5 min ago"
    );
    let found = tables(&[table(0, 200, false)], &bounds);
    assert_eq!(codes(&found), [(Level::Fail, Code::TableNotVacuumed)]);
    assert_eq!(found[0].fix, "ALTER TABLE \"jobs\" RESET (autovacuum_enabled)");
}

#[test]
fn connections_are_low_when_a_process_does_not_fit() {
    let free = (-1, 40);
    let all = |server, user, database| Connections { server, user, database, ours: 15 };
    let judged = |all: Connections, pooled| {
        connections(&all, pooled, &place(), &Bounds::default())
            .map(|found| (found.level, found.what, found.fix))
    };
    assert_eq!(judged(all((97, 82), free, free), false), None);
    let (level, what, fix) = judged(all((97, 83), free, free), false).unwrap();
    assert_eq!(level, Level::Warn);
    assert_eq!(
        what,
        "14 of 97 connections of the server are left; a process of Forebay has up to 15, and 15 are Forebay's now"
    );
    assert!(fix.contains("max_connections"));
    assert_eq!(judged(all((97, 83), free, free), true), None, "a pooler has them already");
    let (level, what, fix) = judged(all((97, 20), (10, 10), free), true).unwrap();
    assert_eq!((level, fix.as_str()), (Level::Fail, "ALTER ROLE \"u\" CONNECTION LIMIT -1"));
    assert!(what.starts_with("0 of 10 connections of user \"u\" are left"), "{what}");
    let (.., fix) = judged(all((97, 20), (50, 10), (20, 12)), false).unwrap();
    assert_eq!(fix, "ALTER DATABASE \"d\"\"b\" CONNECTION LIMIT -1");
}

#[test]
fn a_process_takes_what_is_reckoned_with() {
    let settings = Settings::of(Target::parse("postgres://u@h/d").unwrap());
    assert_eq!(i64::try_from(settings.connections()).unwrap(), Bounds::default().connections);
    assert_eq!(Settings { readers: 2, notify: false, ..settings }.connections(), 8);
}

#[test]
fn clocks_may_be_apart_a_little() {
    let judged = |millis| clock(millis, &Bounds::default()).map(|found| found.what);
    assert_eq!(judged(1_999), None);
    assert_eq!(judged(-1_999), None);
    assert_eq!(judged(2_000).unwrap(), "the server's clock is 2,000 ms ahead of this machine's");
    assert_eq!(judged(-61_000).unwrap(), "the server's clock is 61,000 ms behind this machine's");
}

#[test]
fn answers_may_take_a_while() {
    let level = |micros| {
        let found = round_trip(Duration::from_micros(micros), &Bounds::default());
        found.map_or((Level::Ok, String::new()), |found| (found.level, found.what))
    };
    assert_eq!(level(9_999).0, Level::Ok);
    let (warned, what) = level(10_000);
    assert_eq!(
        (warned, what.as_str()),
        (Level::Warn, "a question to the server and its answer take 10.0 ms at best")
    );
    assert_eq!(level(100_000).0, Level::Fail);
}

#[test]
fn the_log_is_held_by_who_stays_in_it() {
    let bounds = Bounds::default();
    assert_eq!(log(&[session(1, Some(4))], &bounds), []);
    let found = log(&[session(1, Some(5)), session(2, Some(10))], &bounds);
    assert_eq!(codes(&found), [(Level::Warn, Code::LogHeld), (Level::Fail, Code::LogHeld)]);
    let gone = Open { pid: None, application: None, user: None, state: None, ..session(1, None) };
    let found = log(&[gone], &bounds);
    assert_eq!(codes(&found), [(Level::Fail, Code::LogHeld)]);
    assert!(found[0].what.starts_with("a prepared transaction holds"), "{found:?}");
}

#[test]
fn transaction_ids_run_out_in_time_to_be_told() {
    let level = |age| oldest_id("d", age, &Bounds::default()).map_or(Level::Ok, |found| found.level);
    assert_eq!([499_999_999, 500_000_000, 1_500_000_000].map(level), [Level::Ok, Level::Warn, Level::Fail]);
}
