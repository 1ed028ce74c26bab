//! Connections that only read, each read on one snapshot.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use forebay_core::event::Origin;
use forebay_core::time::Timestamp;
use tokio::sync::Semaphore;

use super::Target;
use super::session::Session;
use crate::StoreError;
use crate::ledger::transaction::{Database, Tx};

/// A read is planned for what it asks, each time: what a plan was made for once may have grown since.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; \
    SET LOCAL statement_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = '10s'; \
    SET LOCAL plan_cache_mode = force_custom_plan";

/// How long a read waits for a connection. By then all of them are at something slow, and whoever asks is better told.
const PATIENCE: Duration = Duration::from_secs(3);

/// A few connections that are taken in turn.
#[derive(Clone)]
pub(super) struct Readers {
    target: Arc<Target>,
    idle: Arc<Mutex<Vec<Session>>>,
    permits: Arc<Semaphore>,
    /// How many connections there may be.
    most: usize,
}

impl Readers {
    pub(super) fn new(target: Arc<Target>, connections: usize) -> Self {
        Self {
            target,
            idle: Arc::default(),
            permits: Arc::new(Semaphore::new(connections)),
            most: connections,
        }
    }

    /// Runs a read to its end, whether its caller waits for it or not.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        origin: Origin,
        now: Timestamp,
        verb: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = tokio::time::timeout(PATIENCE, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = permit.map_err(|_| all_busy(self.most))?;
        let this = self.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let session = this.begun()?;
            // A connection with a failed read is not used again.
            let value = verb(&Tx::new(Database::Postgres(&session), now, origin))?;
            session.block_on(session.command("COMMIT"))?;
            this.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
            Ok(value)
        });
        reading
            .await
            .unwrap_or_else(|error| Err(StoreError::Unavailable(format!("a read was cut off: {error}"))))
    }

    /// A connection with a transaction. One that was idle may be lost without our knowing.
    fn begun(&self) -> Result<Session, StoreError> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let (session, fresh) = match idle {
                Some(session) => (session, false),
                None => (Session::again(&self.target)?, true),
            };
            session.begin(true);
            match session.block_on(session.command(BEGIN)) {
                Ok(()) => return Ok(session),
                Err(error) if fresh => return Err(error),
                Err(_) => {}
            }
        }
    }
}

/// Nobody has given a connection back for too long.
fn all_busy(connections: usize) -> StoreError {
    let secs = PATIENCE.as_secs();
    StoreError::Unavailable(format!(
        "all {connections} connections that read the database were busy for {secs} s: either something holds them up, which \
         `forebay doctor` finds, or they are too few for so many reads, which the setting `readers` changes"
    ))
}
