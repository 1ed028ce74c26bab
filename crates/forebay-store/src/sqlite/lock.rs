//! One process at a time: a locked file beside the database, released by the system when the process ends,
//! however it ends.

use std::fs::{File, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::beside;
use crate::StoreError;

/// The right to use a database file.
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock, or says who is in the way.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        // SQLite follows links to the file itself, so the lock does too.
        let file = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let lock_path = beside(&file, ".lock");
        let file = File::options()
            .mode(0o600)
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(|error| {
                let why =
                    "the folder of a database has to be there, and to take files of the user who runs this";
                StoreError::Unavailable(format!("{}: {error}: {why}", lock_path.display()))
            })?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse { path: path.display().to_string() }),
            Err(TryLockError::Error(error)) => {
                Err(StoreError::Unavailable(format!("{}: {error}", lock_path.display())))
            }
        }
    }
}
