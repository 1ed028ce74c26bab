//! What is wrong with a file, for whoever runs it. It is only read, whether a process has it open or not.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::{Connection, OpenFlags};
use tokio::time::Instant;

use super::lock::FileLock;
use super::migrate::{self, MIGRATIONS};
use super::{beside, read_through};
use crate::StoreError;
use crate::health::{Bounds, Code, Finding, Level, Report, bytes};
use crate::ledger::migration;

/// Steps of SQLite's machine between two looks at the time: a millisecond or so.
const STEPS: i32 = 10_000;
/// Where a file's header says how it is written: 2 is a write-ahead log (<https://sqlite.org/fileformat.html>).
const WRITE_VERSION: usize = 18;
/// What means itself in the path of a URI.
const IN_A_NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');

/// Examines a file, beside a server that has it open or without one. It changes nothing.
///
/// # Errors
///
/// When there is no such file.
pub fn examine(path: &Path, bounds: &Bounds) -> Result<Report, StoreError> {
    let about = |error| StoreError::Unavailable(format!("{}: {error}", path.display()));
    if !path.exists() {
        return Err(StoreError::Unavailable(format!("{} does not exist", path.display())));
    }
    let file = path.metadata().map_err(about)?;
    let mut report =
        Report { about: format!("SQLite file of {}", bytes(file.len())), checks: 0, findings: rights(path) };
    report.take("space on the disk", space(path, bounds));
    report.take("the file system", disk(path));
    let is_open = FileLock::is_taken(path);
    let is_still = matches!(is_open, Ok(false)) && length_of_log(path) == 0;
    report.take("who has the file open", is_open.map(|is_open| is_open.then(|| in_use(path))));
    report.take("the write-ahead log", Ok(judge_log(length_of_log(path), path, bounds)));
    match open(path, is_still) {
        Ok(mut connection) => content(&mut connection, path, is_still, bounds, &mut report),
        Err(error) => report.take("the file", Err(error)),
    }
    report.checks += 1;
    report.findings.sort_by_key(|finding| std::cmp::Reverse(finding.level));
    Ok(report)
}

impl Report {
    /// Notes what a check has found, or that it could not be made.
    fn take(&mut self, what: &str, found: Result<Option<Finding>, StoreError>) {
        match found {
            Ok(found) => {
                self.checks += 1;
                self.findings.extend(found);
            }
            Err(error) => self.findings.push(Finding {
                level: Level::Warn,
                code: Code::NotLookedAt,
                what: format!("{what}: {error}"),
                fix: "run this as the user whom the file belongs to".to_owned(),
            }),
        }
    }
}

/// What stands in the file. Of one that is damaged nothing more is asked.
fn content(connection: &mut Connection, path: &Path, is_still: bool, bounds: &Bounds, report: &mut Report) {
    match whole(connection, path, bounds) {
        Err(StoreError::Damaged { .. }) if is_still && has_moved(path) => {
            let moved = StoreError::Unavailable("a process has opened the file meanwhile".to_owned());
            report.take("whether the file is whole", Err(moved));
            return;
        }
        Err(StoreError::Damaged { reason, .. }) => {
            let what = format!("{} is damaged: {reason}", path.display());
            let fix = "restore it from a backup".to_owned();
            report.take("", Ok(Some(Finding { level: Level::Fail, code: Code::Damaged, what, fix })));
            return;
        }
        whole => report.take("whether the file is whole", whole),
    }
    report.take("the journal", if is_still { journal_of(path) } else { journal(connection) });
    report.take("the migrations", schema(connection, path));
}

/// Opens a file to read it. One that is still, which nobody has and beside which no log stands, is opened as one that nobody
/// writes: else SQLite leaves files beside it.
fn open(path: &Path, is_still: bool) -> Result<Connection, StoreError> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let name = percent_encode(path.as_os_str().as_bytes(), IN_A_NAME);
    let connection =
        Connection::open_with_flags(format!("file:{name}?immutable={}", u8::from(is_still)), flags)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA busy_timeout = 1000")?;
    Ok(connection)
}

/// Reads the file through, for as long as it may take.
fn whole(connection: &mut Connection, path: &Path, bounds: &Bounds) -> Result<Option<Finding>, StoreError> {
    if let Some(most) = bounds.reading {
        let began = Instant::now();
        connection.progress_handler(STEPS, Some(move || began.elapsed() >= most.to_duration()))?;
    }
    let read = read_through(connection, path);
    connection.progress_handler(0, None::<fn() -> bool>)?;
    match read {
        Err(StoreError::Database(reason)) if reason.contains("interrupted") => {
            let Some(most) = bounds.reading else { return Ok(None) };
            Ok(Some(Finding {
                level: Level::Warn,
                code: Code::NotLookedAt,
                what: format!(
                    "whether the file is whole: to read it through takes longer than {} ms",
                    most.get()
                ),
                fix: "forebay doctor --thorough".to_owned(),
            }))
        }
        read => read.map(|()| None),
    }
}

fn journal(connection: &Connection) -> Result<Option<Finding>, StoreError> {
    let mode: String = connection.query_row("PRAGMA journal_mode", (), |row| row.get(0))?;
    Ok((mode != "wal").then(not_wal))
}

/// The same by the file's header, of one that is still. Only there: to close the file ends all locks that this process has
/// on it, and SQLite's among them.
fn journal_of(path: &Path) -> Result<Option<Finding>, StoreError> {
    let failed = |error| StoreError::Unavailable(format!("{}: {error}", path.display()));
    let mut header = [0; 20];
    File::open(path).and_then(|mut file| file.read_exact(&mut header)).map_err(failed)?;
    Ok((header[WRITE_VERSION] != 2).then(not_wal))
}

fn not_wal() -> Finding {
    Finding {
        level: Level::Warn,
        code: Code::NotWal,
        what: "the journal is not a write-ahead log".to_owned(),
        fix: "start the server once; if it stays, move the file to a disk of this machine".to_owned(),
    }
}

/// How many bytes the write-ahead log has.
fn length_of_log(path: &Path) -> u64 {
    beside(path, "-wal").metadata().map_or(0, |log| log.len())
}

/// Whether somebody has begun to write a file that was still.
fn has_moved(path: &Path) -> bool {
    length_of_log(path) > 0 || !matches!(FileLock::is_taken(path), Ok(false))
}

fn judge_log(length: u64, path: &Path, bounds: &Bounds) -> Option<Finding> {
    let level = bounds.log.rising(length);
    (level > Level::Ok).then(|| Finding {
        level,
        code: Code::LogLarge,
        what: format!("the write-ahead log of {} has {}", path.display(), bytes(length)),
        fix: "end whatever reads the file for long, such as a backup or `forebay verify`".to_owned(),
    })
}

fn schema(connection: &Connection, path: &Path) -> Result<Option<Finding>, StoreError> {
    let migrated = connection.table_exists(None, "migrations")?;
    let present = if migrated { migrate::applied(connection)? } else { Vec::new() };
    Ok(migration::finding(MIGRATIONS, &present, &[], &path.display().to_string()))
}

/// Who may read what: the file and what SQLite puts beside it.
fn rights(path: &Path) -> Vec<Finding> {
    let files = ["", "-wal", "-shm"]
        .map(|suffix| if suffix.is_empty() { path.to_owned() } else { beside(path, suffix) });
    let open = files.iter().filter_map(|file| {
        let mode = mode(&file.metadata().ok()?);
        let (shown, open) = (file.display(), mode & 0o077);
        (open != 0).then(|| Finding {
            level: Level::Fail,
            code: Code::ReadableByOthers,
            what: format!("others have rights to {shown} ({mode:o})"),
            fix: format!("chmod 600 {shown}"),
        })
    });
    open.collect()
}

fn mode(file: &Metadata) -> u32 {
    file.permissions().mode() & 0o777
}

fn space(path: &Path, bounds: &Bounds) -> Result<Option<Finding>, StoreError> {
    let disk = rustix::fs::statvfs(path).map_err(|error| StoreError::Unavailable(error.to_string()))?;
    Ok(judge_space(disk.f_bavail.saturating_mul(disk.f_frsize), path, bounds))
}

fn judge_space(left: u64, path: &Path, bounds: &Bounds) -> Option<Finding> {
    let level = bounds.space.falling(left);
    (level > Level::Ok).then(|| Finding {
        level,
        code: Code::SpaceLow,
        what: format!("{} are left on the disk of {}", bytes(left), path.display()),
        fix: "make room, or keep less for less long (docs/retention.md)".to_owned(),
    })
}

#[cfg(target_os = "linux")]
fn disk(path: &Path) -> Result<Option<Finding>, StoreError> {
    let disk = rustix::fs::statfs(path).map_err(|error| StoreError::Unavailable(error.to_string()))?;
    Ok(judge_disk(disk.f_type as u64 & 0xffff_ffff, path))
}

/// Only Linux has numbers for them.
#[cfg(not(target_os = "linux"))]
fn disk(_: &Path) -> Result<Option<Finding>, StoreError> {
    Ok(None)
}

/// By the number that the kernel has for a file system (`statfs(2)`). Others than these may be anywhere.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has numbers for them"))]
fn judge_disk(number: u64, path: &Path) -> Option<Finding> {
    let name = match number {
        0x6969 => "NFS",
        0x517b | 0xfe53_4d42 => "SMB",
        0xff53_4d42 => "CIFS",
        0x0102_1997 => "9P",
        0x00c3_6400 => "Ceph",
        0x5346_414f | 0x6b41_4653 => "AFS",
        _ => return None,
    };
    Some(Finding {
        level: Level::Fail,
        code: Code::NetworkFileSystem,
        what: format!("{} is on a network file system ({name})", path.display()),
        fix: "move it to a disk of this machine, or use PostgreSQL".to_owned(),
    })
}

fn in_use(path: &Path) -> Finding {
    Finding {
        level: Level::Warn,
        code: Code::InUse,
        what: format!("a process has {} open", path.display()),
        fix: "talk to it over HTTP (FOREBAY_URL), or stop it before another one starts".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_of_the_network_are_known_by_their_numbers() {
        let path = Path::new("f.db");
        let nfs = judge_disk(0x6969, path).unwrap();
        assert_eq!((nfs.level, nfs.code), (Level::Fail, Code::NetworkFileSystem));
        assert_eq!(nfs.what, "f.db is on a network file system (NFS)");
        // ext4, xfs, btrfs, tmpfs, and FUSE, which may be anything.
        for local in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x6573_5546] {
            assert_eq!(judge_disk(local, path), None);
        }
    }

    #[test]
    fn a_log_is_large_from_a_gigabyte_on() {
        let judged = |length| judge_log(length, Path::new("f.db"), &Bounds::default());
        assert_eq!(judged((1 << 30) - 1), None);
        let found = judged(3 << 30).unwrap();
        assert_eq!(
            (found.level, found.what.as_str()),
            (Level::Warn, "the write-ahead log of f.db has 3072 MB")
        );
    }

    #[test]
    fn space_runs_out_by_degrees() {
        let level = |left: u64| {
            judge_space(left, Path::new("f.db"), &Bounds::default()).map_or(Level::Ok, |found| found.level)
        };
        assert_eq!(
            [1 << 30, (1 << 30) - 1, (128 << 20) - 1].map(level),
            [Level::Ok, Level::Warn, Level::Fail]
        );
        let what = judge_space(5 << 20, Path::new("f.db"), &Bounds::default()).unwrap().what;
        assert_eq!(what, "5 MB are left on the disk of f.db");
    }
}
