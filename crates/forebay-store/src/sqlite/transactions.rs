//! Transactions of the one writer.

use std::path::Path;
use std::sync::Arc;

use forebay_core::event::Origin;
use rusqlite::Connection;
use tracing::error;

use super::checkpoint::Checkpoints;
use crate::ledger::desk::{Committed, Transactions, Verb, work};
use crate::ledger::signals::Board;
use crate::ledger::transaction::{Database, Tx};
use crate::{Clock, StoreError};

/// The connection that writes.
pub(super) struct OneWriter {
    connection: Connection,
    // After the connection, with which they end.
    _checkpoints: Checkpoints,
    clock: Arc<dyn Clock>,
    origin: Origin,
}

impl OneWriter {
    pub(super) fn new(
        mut connection: Connection,
        path: &Path,
        clock: Arc<dyn Clock>,
        origin: Origin,
    ) -> Result<Self, StoreError> {
        let checkpoints = Checkpoints::beside(&mut connection, path)?;
        Ok(Self { connection, _checkpoints: checkpoints, clock, origin })
    }

    fn run(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.prepare_cached(sql)?.execute(())?;
        Ok(())
    }
}

impl Transactions for OneWriter {
    fn reach(&mut self) -> Result<(), StoreError> {
        Ok(())
    }

    fn run(
        &mut self,
        group: &mut [Box<dyn Verb>],
        standing: Option<&Board>,
    ) -> Result<Committed, StoreError> {
        OneWriter::run(self, "BEGIN IMMEDIATE")?;
        let tx = Tx::new(Database::Sqlite(&self.connection), self.clock.now(), self.origin);
        let done = work(&tx, group, standing).and_then(|told| {
            OneWriter::run(self, "COMMIT")?;
            Ok(told)
        });
        match done {
            Ok(told) => Ok(Committed { news: tx.into_news(), told }),
            Err(error) => {
                // Some failures have rolled back already; then there is nothing left to do.
                if !self.connection.is_autocommit()
                    && let Err(failure) = OneWriter::run(self, "ROLLBACK")
                {
                    error!(%failure, "a transaction could not be rolled back");
                }
                Err(error)
            }
        }
    }
}
