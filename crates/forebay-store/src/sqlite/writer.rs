//! The one thread that writes: it takes whatever is waiting, runs it as one transaction, and answers each
//! caller after the commit. One bad verb never fails its neighbours: when one does, the transaction is rolled
//! back and each is run in a transaction of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use forebay_core::event::Origin;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use tracing::error;

use super::checkpoint::Checkpoints;
use super::signals::Board;
use super::transaction::{News, Tx};
use crate::{Clock, StoreError};

/// Verbs in one transaction at most.
const GROUP: usize = 512;
/// Verbs that may wait; beyond that, callers wait to be let in.
const WAITING: usize = 4_096;

/// The writer's door.
pub(super) struct Writer {
    door: Option<mpsc::Sender<Box<dyn Verb>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// A write that can be run more than once until it commits, and answers its caller then.
trait Verb: Send {
    fn run(&mut self, tx: &Tx<'_>) -> Result<(), StoreError>;
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Waiting<F, T> {
    verb: F,
    value: Option<T>,
    caller: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, F: FnMut(&Tx<'_>) -> Result<T, StoreError> + Send> Verb for Waiting<F, T> {
    fn run(&mut self, tx: &Tx<'_>) -> Result<(), StoreError> {
        self.value = Some((self.verb)(tx)?);
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let Waiting { value, caller, .. } = *self;
        let answer = committed.and_then(|()| value.ok_or_else(closed));
        // A caller that no longer waits does not undo what was written.
        caller.send(answer).ok();
    }
}

impl Writer {
    pub(super) fn start(
        mut connection: Connection,
        path: &Path,
        clock: Arc<dyn Clock>,
        origin: Origin,
        board: Arc<Board>,
    ) -> Result<Self, StoreError> {
        let checkpoints = Checkpoints::beside(&mut connection, path)?;
        let (door, mut waiting) = mpsc::channel::<Box<dyn Verb>>(WAITING);
        let desk = Desk { connection, _checkpoints: checkpoints, clock, origin, board };
        let thread = std::thread::Builder::new()
            .name("forebay-writer".to_owned())
            .spawn(move || {
                let mut group = Vec::with_capacity(GROUP);
                while waiting.blocking_recv_many(&mut group, GROUP) > 0 {
                    desk.commit(&mut group);
                }
            })
            .map_err(|error| StoreError::Unavailable(format!("no thread for the writer: {error}")))?;
        Ok(Self { door: Some(door), thread: Some(thread) })
    }

    pub(super) async fn run<T: Send + 'static>(
        &self,
        verb: impl FnMut(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (caller, answer) = oneshot::channel();
        let door = self.door.as_ref().ok_or_else(closed)?;
        door.send(Box::new(Waiting { verb, value: None, caller })).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // The thread ends when the door is gone and the last group has committed.
        self.door = None;
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
            && thread.join().is_err()
        {
            error!("the writer thread panicked");
        }
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}

/// Runs the verbs in order. One that panics is one that failed: the thread goes on for the others.
fn run_all(group: &mut [Box<dyn Verb>], tx: &Tx<'_>) -> Result<(), StoreError> {
    let run = AssertUnwindSafe(|| group.iter_mut().try_for_each(|verb| verb.run(tx)));
    catch_unwind(run).unwrap_or_else(|_| {
        error!("a write panicked; its transaction is rolled back");
        Err(StoreError::Database("a fault of the store's own".to_owned()))
    })
}

struct Desk {
    connection: Connection,
    // After the connection, with which they end.
    _checkpoints: Checkpoints,
    clock: Arc<dyn Clock>,
    origin: Origin,
    board: Arc<Board>,
}

impl Desk {
    fn commit(&self, group: &mut Vec<Box<dyn Verb>>) {
        match self.transaction(group) {
            Ok(news) => {
                for verb in group.drain(..) {
                    verb.answer(Ok(()));
                }
                self.board.announce(news);
            }
            Err(error) if group.len() == 1 => {
                for verb in group.drain(..) {
                    verb.answer(Err(error.clone()));
                }
            }
            Err(_) => {
                for verb in std::mem::take(group) {
                    self.commit(&mut vec![verb]);
                }
            }
        }
    }

    fn run(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.prepare_cached(sql)?.execute(())?;
        Ok(())
    }

    /// Runs the verbs as one transaction; on an error nothing of it remains.
    fn transaction(&self, group: &mut [Box<dyn Verb>]) -> Result<News, StoreError> {
        self.run("BEGIN IMMEDIATE")?;
        let tx = Tx::new(&self.connection, self.clock.now(), self.origin);
        let done = run_all(group, &tx).and_then(|()| tx.write_tally()).and_then(|()| self.run("COMMIT"));
        match done {
            Ok(()) => Ok(tx.into_news()),
            Err(error) => {
                // Some failures have rolled back already; then there is nothing left to do.
                if !self.connection.is_autocommit()
                    && let Err(failure) = self.run("ROLLBACK")
                {
                    error!(%failure, "a transaction could not be rolled back");
                }
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Actor, TenantSettings};
    use crate::sqlite::SqliteStore;
    use crate::{Access as _, SystemClock};

    #[tokio::test]
    async fn a_write_that_panics_fails_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("forebay.db"), Arc::new(SystemClock)).unwrap();
        let panics = store.write::<()>("panics", |_| panic!("as a test wants it"));
        let writes = store.put_tenant("other".to_owned(), TenantSettings::default(), Actor::program());
        let (panicked, written) = tokio::join!(panics, writes);
        assert!(matches!(panicked, Err(StoreError::Database(_))));
        assert_eq!(written.unwrap().name, "other");
        assert!(store.tenant("other").await.unwrap().is_some());
    }
}
