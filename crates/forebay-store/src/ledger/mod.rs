//! The ledger: what each verb of the store does, written once for both databases.
//!
//! A verb is a plain function over a [`Tx`], without `await`: it reads, asks the rules, and writes. A [`Backend`] runs
//! verbs in transactions: the embedded one in the order in which they come, on one thread ([`crate::sqlite`]);
//! PostgreSQL with whatever other processes do at the same time ([`crate::postgres`]), so that a verb locks what it
//! decides upon: the rows of jobs first, then those of pools, then counters and accounts.

pub mod accept;
mod access;
mod audit;
mod batches;
pub mod claim;
pub mod columns;
mod datasets;
mod demand;
pub mod desk;
mod documents;
mod extend;
mod fingerprints;
mod inspect;
mod jobs;
mod leases;
mod letters;
mod log;
pub mod migration;
mod ordering;
pub mod outbox;
mod processes;
mod queue;
mod rates;
mod replay;
mod retention;
mod reviews;
mod revisions;
mod save;
pub mod settle;
pub mod signals;
pub mod statement;
mod steps;
pub mod tally;
pub mod transaction;
mod upkeep;
mod usage;
pub mod values;

use std::sync::Arc;

use forebay_core::event::Origin;
use forebay_core::id::JobId;
use forebay_core::time::Timestamp;

use crate::{StoreError, failpoint};
use desk::Desk;
use signals::Board;
pub(crate) use statement::sql;
use transaction::Tx;

/// A database that runs verbs.
pub trait Backend: Send + Sync + 'static {
    /// Runs a write in the next transaction of a desk, with whatever else waits there. It happens even if the caller
    /// stops waiting, and may run more than once until it commits.
    fn write<T: Send + 'static>(
        &self,
        desk: Desk,
        needs: Needs,
        verb: impl FnMut(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;

    /// Runs a read on a consistent state.
    fn read<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;

    /// Makes readable what was committed before, where that takes something.
    fn close_log(&self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Where commits are announced.
    fn board(&self) -> &Board;

    /// Now, by the store's clock.
    fn now(&self) -> Timestamp;

    /// What the store is.
    fn identity(&self) -> &Identity;
}

/// What a store is, from its first start on.
#[derive(Debug, Clone, Copy)]
pub struct Identity {
    pub origin: Origin,
    pub cursor_secret: [u8; 32],
}

/// What a verb is going to read for certain. A database across a wire reads it for all verbs of a transaction at once,
/// and locks it in order.
#[derive(Debug, Default)]
pub struct Needs {
    /// Jobs that it may change.
    pub jobs: Vec<JobId>,
    /// Idempotency keys, with their tenants.
    pub keys: Vec<(i64, String)>,
    /// Tenants whose unfinished jobs it counts.
    pub pending: Vec<i64>,
    /// Pools in which it makes something claimable, most likely.
    pub pools: Vec<String>,
    /// Pools that it waits for.
    pub claims: Vec<String>,
    /// How many events it is going to write, most likely.
    pub events: usize,
}

impl Needs {
    /// Nothing that is known before.
    fn nothing() -> Self {
        Self::default()
    }

    /// One job.
    fn job(job: JobId) -> Self {
        Self { jobs: vec![job], ..Self::default() }
    }
}

/// A store on a database of one kind. Cheap to clone; it is closed with the last clone.
pub struct Ledger<B> {
    pub(crate) backend: Arc<B>,
}

impl<B> Clone for Ledger<B> {
    fn clone(&self) -> Self {
        Self { backend: Arc::clone(&self.backend) }
    }
}

impl<B: Backend> Ledger<B> {
    /// Runs a write. `name` is the verb's: tests end the process at its commit ([`failpoint`]).
    async fn write<T: Send + 'static>(
        &self,
        name: &'static str,
        needs: Needs,
        mut verb: impl FnMut(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let written = self.backend.write(Desk::of(name), needs, move |tx| {
            let value = verb(tx)?;
            failpoint::reach(name, "before_commit");
            Ok(value)
        });
        let value = written.await?;
        failpoint::reach(name, "after_commit");
        Ok(value)
    }

    /// Runs a read.
    async fn read<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.backend.read(verb).await
    }
}
