//! One process at a time: a locked file beside the database, released by the system when the process ends,
//! however it ends.

use std::fs::{File, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::beside;
use crate::StoreError;

/// The right to use a database file.
pub(super) struct FileLock {
    file: File,
}

impl FileLock {
    /// Takes the lock, or says who is in the way.
    pub(super) fn take(path: &Path) -> Result<Self, StoreError> {
        let lock_path = lock_path(path);
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
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse { path: path.display().to_string() }),
            Err(TryLockError::Error(error)) => {
                Err(StoreError::Unavailable(format!("{}: {error}", lock_path.display())))
            }
        }
    }
}

impl FileLock {
    /// Whether a process has the lock. Held for the moment that the look takes, it is one that others share.
    pub(super) fn is_taken(path: &Path) -> Result<bool, StoreError> {
        let lock_path = lock_path(path);
        let failed = |error| StoreError::Unavailable(format!("{}: {error}", lock_path.display()));
        let file = match File::open(&lock_path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => file.unlock().map(|()| false).map_err(failed),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

/// SQLite follows links to the file itself, so the lock does too.
fn lock_path(path: &Path) -> PathBuf {
    let file = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    beside(&file, ".lock")
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // To close the file is not enough: a child that is about to become another program has it open for a moment, and
        // the lock with it.
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the lock of the database file stays until the process ends");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_with_its_owner_whoever_else_has_the_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("forebay.db");
        let lock = FileLock::take(&path).unwrap();
        // As a child has it between its making and its start.
        let _open = lock.file.try_clone().unwrap();
        assert!(matches!(FileLock::take(&path), Err(StoreError::InUse { .. })));
        drop(lock);
        assert!(FileLock::take(&path).is_ok());
    }
}
