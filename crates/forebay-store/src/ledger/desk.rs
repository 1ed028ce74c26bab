//! Desks: where writes wait for the next transaction. A thread takes whatever is waiting, runs it as one transaction, and
//! answers each caller after the commit. One bad verb never fails its neighbours, and neither does the claim of somebody
//! who stands by: when anything fails, the transaction is rolled back and run again without such claims, and if that
//! fails, too, each verb in a transaction of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tracing::error;

use super::claim;
use super::signals::Board;
use super::transaction::{News, Tx};
use super::{Needs, StoreError};
use crate::failpoint;
use crate::record::{ClaimReply, Told};

/// Verbs in one transaction at most.
const GROUP: usize = 512;
/// Verbs that may wait; beyond that, callers wait to be let in.
const WAITING: usize = 4_096;
/// How often a transaction is run again that has lost a race with another process.
const RACES: usize = 10;
/// For how long it is run again. Who is in the way for longer is not faster, but stays, and others wait at the desk.
const PATIENCE: Duration = Duration::from_secs(3);

/// Which desk a write goes to. A database that takes one writer has one for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Desk {
    /// Taking jobs in.
    Accept,
    /// Handing jobs out.
    Claim,
    /// Committing the steps of those that are handed out.
    Commit,
    /// Heartbeats, which nothing else may hold up.
    Heartbeat,
    /// What persons and maintenance do.
    Rest,
}

impl Desk {
    /// The desk of a verb.
    pub fn of(verb: &str) -> Self {
        match verb {
            "accept" => Desk::Accept,
            "claim" => Desk::Claim,
            "commit_step" => Desk::Commit,
            "extend" => Desk::Heartbeat,
            _ => Desk::Rest,
        }
    }
}

/// A write that can be run more than once until it commits, and answers its caller then.
pub trait Verb: Send {
    /// What it will read.
    fn needs(&self) -> &Needs;
    fn run(&mut self, tx: &Tx<'_>) -> Result<(), StoreError>;
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Waiting<F, T> {
    needs: Needs,
    verb: F,
    value: Option<T>,
    caller: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, F: FnMut(&Tx<'_>) -> Result<T, StoreError> + Send> Verb for Waiting<F, T> {
    fn needs(&self) -> &Needs {
        &self.needs
    }

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

/// Runs verbs as one transaction.
pub trait Transactions: Send {
    /// Whether the database can be spoken to: where it can't, no verb is tried.
    fn reach(&mut self) -> Result<(), StoreError>;

    /// Runs them in order, and then, where they are welcome, the claims of those who stand by for what the verbs made
    /// claimable. On an error nothing of it remains.
    fn run(&mut self, group: &mut [Box<dyn Verb>], standing: Option<&Board>)
    -> Result<Committed, StoreError>;
}

/// What there is to tell after a commit.
#[derive(Default)]
pub struct Committed {
    pub news: News,
    pub told: Vec<(ClaimReply, Told)>,
}

/// What a transaction does between its beginning and its commit.
pub fn work(
    tx: &Tx<'_>,
    group: &mut [Box<dyn Verb>],
    standing: Option<&Board>,
) -> Result<Vec<(ClaimReply, Told)>, StoreError> {
    let mut told = Vec::new();
    caught(|| group.iter_mut().try_for_each(|verb| verb.run(tx)))?;
    if let Some(board) = standing {
        caught(|| claim::for_those_who_stand_by(tx, board, &mut told))?;
    }
    tx.write_tally()?;
    Ok(told)
}

/// What panics is what failed: the thread goes on for the others.
fn caught(run: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        error!("a write panicked; its transaction is rolled back");
        Err(StoreError::Database("a fault of the store's own".to_owned()))
    })
}

/// The door of a desk.
pub struct Writer {
    door: Option<mpsc::Sender<Box<dyn Verb>>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread of a desk.
    pub fn start(
        name: &str,
        transactions: impl Transactions + 'static,
        board: Arc<Board>,
    ) -> Result<Self, StoreError> {
        let (door, mut waiting) = mpsc::channel::<Box<dyn Verb>>(WAITING);
        let mut clerk = Clerk { transactions, board };
        let thread = std::thread::Builder::new()
            .name(format!("forebay-{name}"))
            .spawn(move || {
                let mut group = Vec::with_capacity(GROUP);
                while waiting.blocking_recv_many(&mut group, GROUP) > 0 {
                    clerk.commit(&mut group);
                }
            })
            .map_err(|error| StoreError::Unavailable(format!("no thread for the writer: {error}")))?;
        Ok(Self { door: Some(door), thread: Some(thread) })
    }

    pub async fn run<T: Send + 'static>(
        &self,
        needs: Needs,
        verb: impl FnMut(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (caller, answer) = oneshot::channel();
        let door = self.door.as_ref().ok_or_else(closed)?;
        let waiting = Waiting { needs, verb, value: None, caller };
        door.send(Box::new(waiting)).await.map_err(|_| closed())?;
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
            error!("a writer's thread panicked");
        }
    }
}

fn closed() -> StoreError {
    StoreError::Unavailable("the store is closed".to_owned())
}

fn refuse(group: &mut Vec<Box<dyn Verb>>, error: &StoreError) {
    for verb in group.drain(..) {
        verb.answer(Err(error.clone()));
    }
}

/// Who has lost every race may win the next one.
fn told(error: StoreError) -> StoreError {
    match error {
        StoreError::Raced(reason) => {
            StoreError::Unavailable(format!("others were faster each time: {reason}"))
        }
        error => error,
    }
}

/// Whether the claims of those who stand by are made along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Welcome,
    /// Something failed, which may have been one of them: the pools' signals will do.
    NotNow,
}

struct Clerk<T> {
    transactions: T,
    board: Arc<Board>,
}

impl<T: Transactions> Clerk<T> {
    fn commit(&mut self, group: &mut Vec<Box<dyn Verb>>) {
        match self.transactions.reach() {
            Ok(()) => self.commit_with(group, Standing::Welcome),
            Err(error) => refuse(group, &error),
        }
    }

    fn commit_with(&mut self, group: &mut Vec<Box<dyn Verb>>, standing: Standing) {
        match self.run(group, standing) {
            Ok(Committed { news, told }) => {
                self.board.marks().heed(&news);
                for (reply, tell) in told {
                    failpoint::reach("claim", "after_commit");
                    tell(reply);
                }
                for verb in group.drain(..) {
                    verb.answer(Ok(()));
                }
                self.board.announce(news);
            }
            // To try again could do it twice.
            Err(error @ StoreError::Unknown(_)) => refuse(group, &error),
            Err(_) if standing == Standing::Welcome => self.commit_with(group, Standing::NotNow),
            Err(error) if group.len() == 1 => refuse(group, &told(error)),
            Err(_) => self.commit_one_by_one(std::mem::take(group)),
        }
    }

    fn commit_one_by_one(&mut self, group: Vec<Box<dyn Verb>>) {
        let mut left = group.into_iter();
        while let Some(verb) = left.next() {
            let mut alone = vec![verb];
            match self.transactions.reach() {
                Ok(()) => self.commit_with(&mut alone, Standing::NotNow),
                Err(error) => {
                    alone.extend(left.by_ref());
                    refuse(&mut alone, &error);
                }
            }
        }
    }

    /// Runs the group until it has not lost a race. Only a verb that is alone is tried often.
    fn run(&mut self, group: &mut [Box<dyn Verb>], standing: Standing) -> Result<Committed, StoreError> {
        let tries = if group.len() == 1 && standing == Standing::NotNow { RACES } else { 2 };
        let board = Arc::clone(&self.board);
        let standing = (standing == Standing::Welcome).then_some(&*board);
        let began = Instant::now();
        let mut outcome = self.transactions.run(group, standing);
        for _ in 1..tries {
            match outcome {
                Err(StoreError::Raced(_)) if began.elapsed() < PATIENCE => {
                    outcome = self.transactions.run(group, standing)
                }
                _ => break,
            }
        }
        outcome
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
        let panics = store.write::<()>("panics", Needs::nothing(), |_| panic!("as a test wants it"));
        let writes = store.put_tenant("other".to_owned(), TenantSettings::default(), Actor::program());
        let (panicked, written) = tokio::join!(panics, writes);
        assert!(matches!(panicked, Err(StoreError::Database(_))));
        assert_eq!(written.unwrap().name, "other");
        assert!(store.tenant("other").await.unwrap().is_some());
    }

    /// It can't claim, and says so in the worst way.
    struct Broken;

    impl StandingClaim for Broken {
        fn has_room(&self) -> bool {
            true
        }

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
            tasks: std::collections::BTreeSet::new(),
            task_limits: std::collections::BTreeMap::new(),
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
