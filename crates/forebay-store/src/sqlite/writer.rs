//! The one thread that writes: it takes whatever is waiting, runs it as one transaction, and answers each
//! caller after the commit. One bad verb never fails its neighbours, and neither does the claim of somebody who
//! stands by: when anything fails, the transaction is rolled back and run again without such claims, and if that fails,
//! too, each verb in a transaction of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use forebay_core::event::Origin;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use tracing::error;

use super::checkpoint::Checkpoints;
use super::claim;
use super::signals::Board;
use super::transaction::{News, Tx};
use crate::record::{ClaimReply, Told};
use crate::{Clock, StoreError, failpoint};

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

/// What panics is what failed: the thread goes on for the others.
fn caught(run: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        error!("a write panicked; its transaction is rolled back");
        Err(StoreError::Database("a fault of the store's own".to_owned()))
    })
}

/// Whether the claims of those who stand by are made along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Welcome,
    /// Something failed, which may have been one of them: the pools' signals will do.
    NotNow,
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
        self.commit_with(group, Standing::Welcome);
    }

    fn commit_with(&self, group: &mut Vec<Box<dyn Verb>>, standing: Standing) {
        let mut told = Vec::new();
        match self.transaction(group, standing, &mut told) {
            Ok(news) => {
                for (reply, tell) in told {
                    failpoint::reach("claim", "after_commit");
                    tell(reply);
                }
                for verb in group.drain(..) {
                    verb.answer(Ok(()));
                }
                self.board.announce(news);
            }
            Err(_) if standing == Standing::Welcome => self.commit_with(group, Standing::NotNow),
            Err(error) if group.len() == 1 => {
                for verb in group.drain(..) {
                    verb.answer(Err(error.clone()));
                }
            }
            Err(_) => {
                for verb in std::mem::take(group) {
                    self.commit_with(&mut vec![verb], Standing::NotNow);
                }
            }
        }
    }

    fn run(&self, sql: &str) -> Result<(), StoreError> {
        self.connection.prepare_cached(sql)?.execute(())?;
        Ok(())
    }

    /// Runs the verbs in order, and then the claims of those who stand by for what they made claimable, as one
    /// transaction; on an error nothing of it remains.
    fn transaction(
        &self,
        group: &mut [Box<dyn Verb>],
        standing: Standing,
        told: &mut Vec<(ClaimReply, Told)>,
    ) -> Result<News, StoreError> {
        self.run("BEGIN IMMEDIATE")?;
        let tx = Tx::new(&self.connection, self.clock.now(), self.origin);
        let done = caught(|| group.iter_mut().try_for_each(|verb| verb.run(&tx)))
            .and_then(|()| match standing {
                Standing::Welcome => caught(|| claim::for_those_who_stand_by(&tx, &self.board, told)),
                Standing::NotNow => Ok(()),
            })
            .and_then(|()| tx.write_tally())
            .and_then(|()| self.run("COMMIT"));
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
    use forebay_core::definition::PoolLimits;
    use forebay_core::id::ClaimId;
    use forebay_core::time::Millis;

    use super::*;
    use crate::record::{Actor, Claim, StandingClaim, TenantSettings};
    use crate::sqlite::SqliteStore;
    use crate::{Access as _, Claims as _, Signals as _, SystemClock};

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

    /// It can't claim, and says so in the worst way.
    struct Broken;

    impl StandingClaim for Broken {
        fn claim(&self) -> Option<(Claim, Told)> {
            panic!("as a test wants it")
        }
    }

    #[tokio::test]
    async fn a_claim_that_stands_by_and_fails_fails_no_write() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("forebay.db"), Arc::new(SystemClock)).unwrap();
        let claim = Claim {
            id: ClaimId::new(store.now(), [0; 10]),
            pool: "main".to_owned(),
            limits: PoolLimits::default(),
            prices: std::collections::BTreeMap::new(),
            slots: 1,
            lease: Millis::from_secs(30),
            worker: "w".to_owned(),
            build: "test",
        };
        store.claim(claim).await.unwrap();
        let broken: Arc<dyn StandingClaim> = Arc::new(Broken);
        store.stand_by("main", Arc::downgrade(&broken));
        // What a tenant may do has changed, so that something may be claimable in every pool.
        let written = store.put_tenant("other".to_owned(), TenantSettings::default(), Actor::program()).await;
        assert_eq!(written.unwrap().name, "other");
        // Who waits for the pool's signal is told all the same.
        store.pool_signal("main").notified().await;
    }
}
