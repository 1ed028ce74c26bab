//! Moving what was committed from the write-ahead log into the database file, beside the writer instead of in its way.
//!
//! A checkpoint writes thousands of pages and waits for the disk, and SQLite does it within the commit that made the log
//! long. Here a thread with a connection of its own copies while the writer goes on; what was committed meanwhile is
//! little, and the writer copies it after a commit, so that the log can begin anew. Durability does not depend on
//! any of it: a commit is on the disk when it is in the log.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::hooks::Wal;
use tracing::{error, warn};

use crate::StoreError;

/// Pages in the log from which on it is worth copying: 16 MB.
const LONG: i32 = 4_000;
/// Pages in the log from which on the writer does not wait for the thread: 256 MB.
const TOO_LONG: i32 = 64_000;

/// Nobody copies.
const IDLE: u8 = 0;
/// The thread copies what was in the log when it began.
const COPYING: u8 = 1;
/// The thread has copied; the rest is the writer's.
const COPIED: u8 = 2;

/// The thread that copies. It ends when the writer's connection is closed; dropping this waits for it.
pub(super) struct Checkpoints(Option<JoinHandle<()>>);

impl Checkpoints {
    /// Lets a thread copy the log of a file whenever it has become long by the commits of `writer`.
    ///
    /// # Errors
    ///
    /// When there is no further connection or thread.
    pub(super) fn beside(writer: &mut Connection, path: &Path) -> Result<Self, StoreError> {
        let (door, called) = sync_channel(1);
        let state = Arc::new(AtomicU8::new(IDLE));
        let copier = Copier { connection: super::connect(path)?, state: Arc::clone(&state) };
        let thread = std::thread::Builder::new()
            .name("forebay-copier".to_owned())
            .spawn(move || copier.run(&called))
            .map_err(|error| StoreError::Unavailable(format!("no thread for checkpoints: {error}")))?;
        let mut watch = Watch { door, state, due: LONG };
        writer.wal_hook(Some(move |log: &mut Wal, pages: i32| {
            watch.committed(log, pages);
            Ok(())
        }))?;
        Ok(Self(Some(thread)))
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take()
            && thread.join().is_err()
        {
            error!("the thread of the checkpoints panicked");
        }
    }
}

/// The writer's part, after each commit.
struct Watch {
    door: SyncSender<()>,
    state: Arc<AtomicU8>,
    /// How long the log has to be for the next copy. More than `LONG` where a reader has kept it from beginning anew.
    due: i32,
}

impl Watch {
    fn committed(&mut self, log: &mut Wal, pages: i32) {
        if pages < LONG {
            self.due = LONG;
        }
        if pages < self.due {
            return;
        }
        match self.state.load(Ordering::Acquire) {
            IDLE => {
                self.state.store(COPYING, Ordering::Release);
                self.door.try_send(()).ok();
            }
            COPYING if pages < TOO_LONG => {}
            _ => {
                note(log.checkpoint());
                self.due = pages.saturating_add(LONG);
                self.state.compare_exchange(COPIED, IDLE, Ordering::AcqRel, Ordering::Relaxed).ok();
            }
        }
    }
}

/// The thread's part.
struct Copier {
    connection: Connection,
    state: Arc<AtomicU8>,
}

impl Copier {
    fn run(&self, called: &Receiver<()>) {
        while called.recv().is_ok() {
            note(self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", (), |_| Ok(())));
            self.state.store(COPIED, Ordering::Release);
        }
    }
}

/// A checkpoint that fails is tried again when the log has grown; the log holds what it did not copy.
fn note(copied: rusqlite::Result<()>) {
    if let Err(error) = copied {
        warn!(%error, "the write-ahead log could not be copied into the database file");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_begins_anew_while_the_writer_goes_on() {
        const COMMITS: i32 = 500;
        const PAGES: i32 = 49; // of 200,000 bytes
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("forebay.db");
        let mut writer = super::super::connect(&path).unwrap();
        writer.execute_batch("CREATE TABLE t (b BLOB)").unwrap();
        let checkpoints = Checkpoints::beside(&mut writer, &path).unwrap();
        for _ in 0..COMMITS {
            writer.execute("INSERT INTO t VALUES (zeroblob(200000))", ()).unwrap();
        }
        let log = std::fs::metadata(folder.path().join("forebay.db-wal")).unwrap().len() / 4_096;
        let log = i32::try_from(log).unwrap();
        assert!(log < COMMITS * PAGES / 2, "{log} pages of {}", COMMITS * PAGES);
        drop(writer);
        drop(checkpoints);
        let rows = Connection::open(&path).unwrap().query_row("SELECT count(*) FROM t", (), |row| row.get(0));
        assert_eq!(rows, Ok(COMMITS));
    }
}
