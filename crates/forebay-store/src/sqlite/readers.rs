//! Connections that only read. Each read sees one committed state.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use forebay_core::event::Origin;
use forebay_core::time::Timestamp;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use crate::StoreError;
use crate::ledger::transaction::{Database, Tx};

/// Reads at the same time.
const CONNECTIONS: usize = 8;

/// A few connections that are taken in turn.
#[derive(Clone)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Arc::default(), permits: Arc::new(Semaphore::new(CONNECTIONS)) }
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        origin: Origin,
        now: Timestamp,
        verb: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let this = self.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let connection = this.take()?;
            connection.execute_batch("BEGIN")?;
            // A connection with a failed read is not used again.
            let value = verb(&Tx::new(Database::Sqlite(&connection), now, origin))?;
            connection.execute_batch("COMMIT")?;
            this.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            Ok(value)
        });
        reading
            .await
            .unwrap_or_else(|error| Err(StoreError::Unavailable(format!("a read was cut off: {error}"))))
    }

    fn take(&self) -> Result<Connection, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(connection) => Ok(connection),
            None => self.open(),
        }
    }

    fn open(&self) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.execute_batch(
            "PRAGMA query_only = ON;
             PRAGMA busy_timeout = 5000;
             -- KiB. Every commit of the writer empties it: it serves one read.
             PRAGMA cache_size = -512;",
        )?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    }
}
