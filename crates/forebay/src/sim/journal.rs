//! The log file: one JSON line when a call arrives and one when it ends.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use super::ledger::Row;
use super::lock;

/// A log file that is open for appending. Each line is written with one call of the operating system, so that
/// nothing waits in a buffer of this process when another process, or this one, is killed.
pub(super) struct Journal {
    file: Mutex<File>,
}

impl Journal {
    /// Opens the file, or makes it.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(Self { file: Mutex::new(file) })
    }

    /// Appends a row as it is now. A row that cannot be written is reported, and the call goes on.
    pub(super) fn append(&self, row: &Row) {
        if let Err(error) = self.write(row) {
            tracing::error!(seq = row.seq, %error, "the simulator's log file misses a line");
        }
    }

    fn write(&self, row: &Row) -> io::Result<()> {
        let mut line = serde_json::to_vec(row)?;
        line.push(b'\n');
        lock(&self.file).write_all(&line)
    }
}
