//! One transaction, or one consistent read: the connection, the time, and what is to be told after the
//! commit.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use forebay_core::event::Origin;
use forebay_core::id::{BatchId, JobId};
use forebay_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Params, Row, ToSql};

use super::tally::Tally;
use crate::StoreError;
use crate::record::Changed;

/// A transaction under way. All statements are prepared once a connection and found again by their text.
pub(super) struct Tx<'c> {
    connection: &'c Connection,
    /// Now: one time for the whole transaction.
    pub(super) now: Timestamp,
    /// The store's identity.
    pub(super) origin: Origin,
    last_event: Cell<Option<i64>>,
    news: RefCell<News>,
    tally: RefCell<Tally>,
}

/// What others learn when the transaction has committed.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Jobs that changed.
    pub(super) changed: Vec<Changed>,
    /// Pools in which something may be claimed now.
    pub(super) pools: BTreeSet<String>,
}

impl<'c> Tx<'c> {
    pub(super) fn new(connection: &'c Connection, now: Timestamp, origin: Origin) -> Self {
        Self {
            connection,
            now,
            origin,
            last_event: Cell::new(None),
            news: RefCell::default(),
            tally: RefCell::default(),
        }
    }

    /// Runs a statement; says how many rows it changed.
    pub(super) fn execute(&self, sql: &'static str, params: impl Params) -> Result<usize, StoreError> {
        Ok(self.connection.prepare_cached(sql)?.execute(params)?)
    }

    /// Runs a statement with many parameters, given in the order in which it names them, so that none is looked up.
    pub(super) fn execute_named(
        &self,
        sql: &'static str,
        params: &[(&str, &dyn ToSql)],
    ) -> Result<usize, StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        debug_assert_eq!(statement.parameter_count(), params.len(), "{sql}");
        for (index, (name, value)) in (1..).zip(params) {
            debug_assert_eq!(statement.parameter_name(index), Some(*name), "{sql}");
            statement.raw_bind_parameter(index, value)?;
        }
        Ok(statement.raw_execute()?)
    }

    /// The one row of a query, if it has one.
    pub(super) fn row<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.connection.prepare_cached(sql)?.query_row(params, read).optional()?)
    }

    /// All rows of a query.
    pub(super) fn rows<T>(
        &self,
        sql: &'static str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params, read)?.collect::<rusqlite::Result<Vec<T>>>()?;
        Ok(rows)
    }

    /// The number of the next event. There is one writer, so the numbers rise in commit order.
    pub(super) fn next_event_number(&self) -> Result<i64, StoreError> {
        let next = self.last_event_number()? + 1;
        self.last_event.set(Some(next));
        Ok(next)
    }

    /// The number of the last event: after a change that ended no job was saved, that of its event.
    pub(super) fn last_event_number(&self) -> Result<i64, StoreError> {
        match self.last_event.get() {
            Some(last) => Ok(last),
            None => {
                let last =
                    self.row(super::sql!("log/last_number"), (), |row| row.get::<_, Option<i64>>(0))?;
                Ok(last.flatten().unwrap_or_default())
            }
        }
    }

    /// Notes something that is counted.
    pub(super) fn tally<T>(&self, note: impl FnOnce(&mut Tally) -> T) -> T {
        note(&mut self.tally.borrow_mut())
    }

    /// Writes what was counted so far: before the commit, and before anybody reads a row that counts.
    pub(super) fn write_tally(&self) -> Result<(), StoreError> {
        self.tally.take().write(self)
    }

    /// Notes that a job changed.
    pub(super) fn note_change(&self, job_id: JobId, tenant: i64, fence: u64) {
        self.news.borrow_mut().changed.push(Changed { job_id, tenant, fence });
    }

    /// Notes that a batch is complete: whoever follows the tenant's events looks again.
    pub(super) fn note_batch(&self, batch: BatchId, tenant: i64) {
        let job_id = JobId::from_bytes(*batch.as_bytes());
        self.news.borrow_mut().changed.push(Changed { job_id, tenant, fence: 0 });
    }

    /// Notes that something may be claimed in a pool.
    pub(super) fn note_pool(&self, pool: &str) {
        let mut news = self.news.borrow_mut();
        if !news.pools.contains(pool) {
            news.pools.insert(pool.to_owned());
        }
    }

    /// The pools in which something may be claimed, which nobody is told of any more unless they are noted again.
    pub(super) fn take_pools(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.news.borrow_mut().pools)
    }

    pub(super) fn into_news(self) -> News {
        self.news.into_inner()
    }
}
