//! What an examination of a file finds, with a process that has it open or without, and that it changes nothing.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use forebay_core::time::Millis;
use forebay_store::ManualClock;
use forebay_store::health::{Bounds, Code, Finding, Level, Limit};
use forebay_store::sqlite::{SqliteStore, examine, migrate};

use super::SqliteFile;
use crate::bundle::START;

fn findings(file: &SqliteFile, bounds: &Bounds) -> Vec<Finding> {
    examine(&file.path(), bounds).unwrap().findings
}

fn codes(file: &SqliteFile, bounds: &Bounds) -> Vec<(Level, Code)> {
    findings(file, bounds).iter().map(|found| (found.level, found.code)).collect()
}

/// The names of all files in its folder.
fn beside(file: &SqliteFile) -> Vec<std::ffi::OsString> {
    let folder = file.path().parent().unwrap().to_owned();
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

#[test]
fn a_healthy_file_is_silent_and_stays_as_it_is() {
    let file = SqliteFile::new();
    migrate(&file.path()).unwrap();
    let before = std::fs::read(file.path()).unwrap();
    let names = beside(&file);
    let report = examine(&file.path(), &Bounds::default()).unwrap();
    assert_eq!((report.findings, report.checks), (vec![], 8));
    assert!(report.about.starts_with("SQLite file of"), "{}", report.about);
    assert_eq!(std::fs::read(file.path()).unwrap(), before);
    assert_eq!(beside(&file), names);
    SqliteStore::open(&file.path(), Arc::new(ManualClock::at(START))).unwrap();
}

#[test]
fn a_process_that_has_the_file_open_is_found_and_not_held_up() {
    let file = SqliteFile::new();
    let store = SqliteStore::open(&file.path(), Arc::new(ManualClock::at(START))).unwrap();
    assert_eq!(codes(&file, &Bounds::default()), [(Level::Warn, Code::InUse)]);
    drop(store);
    assert_eq!(codes(&file, &Bounds::default()), []);
}

#[test]
fn rights_of_others_are_found_for_each_file() {
    let file = SqliteFile::new();
    migrate(&file.path()).unwrap();
    std::fs::set_permissions(file.path(), Permissions::from_mode(0o644)).unwrap();
    let log = file.path().with_file_name("forebay.db-wal");
    std::fs::write(&log, "").unwrap();
    std::fs::set_permissions(&log, Permissions::from_mode(0o620)).unwrap();
    let found = findings(&file, &Bounds::default());
    let fixes: Vec<_> = found.iter().map(|found| (found.code, found.fix.clone())).collect();
    let chmod = |path: &std::path::Path| (Code::ReadableByOthers, format!("chmod 600 {}", path.display()));
    assert_eq!(fixes, [chmod(&file.path()), chmod(&log)]);
    assert!(found[0].what.contains("(644)"), "{found:?}");
}

#[test]
fn a_disk_that_is_nearly_full_is_found() {
    let file = SqliteFile::new();
    migrate(&file.path()).unwrap();
    let bounds = Bounds { space: Limit { warn: u64::MAX, fail: 0 }, ..Bounds::default() };
    assert_eq!(codes(&file, &bounds), [(Level::Warn, Code::SpaceLow)]);
}

/// A name with what has a meaning in a URI is a name, and what stands in a log that a crash has left counts.
#[test]
fn a_file_of_any_name_is_read_with_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a?b=1&c#d %41é.db");
    migrate(&path).unwrap();
    let writer = rusqlite::Connection::open(&path).unwrap();
    writer.execute("DELETE FROM migrations WHERE number > 1", ()).unwrap();
    let names = || std::fs::read_dir(folder.path()).unwrap().count();
    let before = names();
    let report = examine(&path, &Bounds::default()).unwrap();
    assert_eq!(report.findings.iter().map(|found| found.code).collect::<Vec<_>>(), [Code::SchemaBehind]);
    assert_eq!(names(), before);
}

#[test]
fn a_log_that_has_grown_is_found() {
    let file = SqliteFile::new();
    let _store = SqliteStore::open(&file.path(), Arc::new(ManualClock::at(START))).unwrap();
    let bounds = Bounds { log: Limit { warn: 1, fail: u64::MAX }, ..Bounds::default() };
    assert_eq!(codes(&file, &bounds), [(Level::Warn, Code::InUse), (Level::Warn, Code::LogLarge)]);
}

#[test]
fn another_journal_is_found() {
    let file = SqliteFile::new();
    migrate(&file.path()).unwrap();
    file.connection().query_row("PRAGMA journal_mode = DELETE", (), |_| Ok(())).unwrap();
    assert_eq!(codes(&file, &Bounds::default()), [(Level::Warn, Code::NotWal)]);
}

#[test]
fn a_file_that_is_not_whole_is_found() {
    let file = SqliteFile::new();
    migrate(&file.path()).unwrap();
    let mut bytes = std::fs::read(file.path()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 9_000].fill(0x5a);
    std::fs::write(file.path(), bytes).unwrap();
    assert_eq!(codes(&file, &Bounds::default()), [(Level::Fail, Code::Damaged)]);
}

/// A large file is not read through for longer than it may, and that is said.
#[test]
fn a_file_that_is_not_read_to_its_end_has_not_passed() {
    let file = SqliteFile::new();
    migrate(&file.path()).unwrap();
    file.connection()
        .execute_batch(
            "CREATE TABLE big AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
             SELECT i, hex(randomblob(20)) AS text FROM n; CREATE INDEX of_big ON big (text)",
        )
        .unwrap();
    let at_once = Bounds { reading: Some(Millis::ZERO), ..Bounds::default() };
    let found = findings(&file, &at_once);
    assert_eq!(found.iter().map(|found| found.code).collect::<Vec<_>>(), [Code::NotLookedAt]);
    assert_eq!(found[0].fix, "forebay doctor --thorough");
    assert_eq!(codes(&file, &Bounds { reading: None, ..Bounds::default() }), []);
}
