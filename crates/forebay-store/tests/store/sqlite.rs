//! The embedded backend: put through every case, and what it promises beyond them.

pub mod audit;
mod file;
mod grouping;
mod health;
mod letters;
mod statements;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use forebay_store::sqlite::SqliteStore;
use forebay_store::{ManualClock, Store, StoreError};
use tempfile::TempDir;

use crate::bundle::Backend;
use crate::conformance::cases;

/// One database file in a folder of its own.
pub struct SqliteFile {
    folder: TempDir,
}

impl SqliteFile {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("forebay.db")
    }

    /// A connection beside the store's own.
    pub fn connection(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path()).unwrap()
    }
}

#[async_trait]
impl Backend for SqliteFile {
    async fn open(&self, clock: Arc<ManualClock>) -> Result<Arc<dyn Store>, StoreError> {
        Ok(Arc::new(SqliteStore::open(&self.path(), clock)?))
    }

    async fn audit(&self) -> Vec<String> {
        audit::faults(&self.connection())
    }

    async fn run_beside(&self, statement: &str) {
        self.connection().execute(statement, ()).unwrap();
    }
}

mod conformance {
    use super::*;

    cases!(SqliteFile::new());
}
