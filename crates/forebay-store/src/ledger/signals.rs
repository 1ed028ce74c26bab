//! Who is told after a commit, and ids.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use forebay_core::event::Origin;
use forebay_core::id::{AttemptId, Id, JobId};
use forebay_core::time::Timestamp;
use tokio::sync::{Notify, broadcast};

use super::claim::marks::Marks;
use super::outbox::Outbox;
use super::transaction::News;
use super::{Backend, Ledger};
use crate::Signals;
use crate::record::{Changed, Claim, StandingClaim, Taken, Told};

/// Commits that a slow receiver may lag behind before it is told to look again.
const BACKLOG: usize = 1_024;

/// Where commits are announced: those of this process, and what is heard of others.
pub struct Board {
    pools: RwLock<HashMap<String, Arc<Notify>>>,
    standing: RwLock<HashMap<String, Weak<dyn StandingClaim>>>,
    changes: broadcast::Sender<Arc<Vec<Changed>>>,
    taken: broadcast::Sender<Arc<Vec<Taken>>>,
    revision: Arc<Notify>,
    /// Where the due jobs of pools begin.
    marks: Arc<Marks>,
    /// For other processes, where there may be some.
    outbox: Option<Arc<Outbox>>,
}

impl Board {
    /// Tells nobody but this process.
    pub fn alone() -> Self {
        Self::new(None)
    }

    /// Leaves what is announced in the outbox, too.
    pub fn among_others(outbox: Arc<Outbox>) -> Self {
        Self::new(Some(outbox))
    }

    fn new(outbox: Option<Arc<Outbox>>) -> Self {
        Self {
            pools: RwLock::default(),
            standing: RwLock::default(),
            changes: broadcast::channel(BACKLOG).0,
            taken: broadcast::channel(BACKLOG).0,
            revision: Arc::default(),
            marks: Arc::default(),
            outbox,
        }
    }

    /// Tells everybody who asked what this process has committed.
    pub fn announce(&self, news: News) {
        if let Some(outbox) = &self.outbox {
            outbox.put(&news);
        }
        self.tell(news);
    }

    /// Tells everybody in this process. Nobody listening is fine: then nobody needs to know.
    pub fn tell(&self, news: News) {
        for pool in news.pools {
            self.pool(&pool).notify_one();
        }
        if !news.changed.is_empty() && self.changes.receiver_count() > 0 {
            self.changes.send(Arc::new(news.changed)).ok();
        }
        if !news.taken.is_empty() && self.taken.receiver_count() > 0 {
            self.taken.send(Arc::new(news.taken)).ok();
        }
        if news.revision {
            self.revision.notify_one();
        }
    }

    /// Has everybody look who would be told of something: what was told meanwhile was not heard here.
    pub fn tell_all(&self) {
        for signal in self.pools.read().unwrap_or_else(PoisonError::into_inner).values() {
            signal.notify_one();
        }
        self.revision.notify_one();
    }

    /// Whether anybody in this process follows the changes of jobs.
    pub fn is_followed(&self) -> bool {
        self.changes.receiver_count() > 0
    }

    /// Where the due jobs of pools begin, as this process knows.
    pub fn marks(&self) -> &Arc<Marks> {
        &self.marks
    }

    pub fn stand_by(&self, pool: &str, claim: Weak<dyn StandingClaim>) {
        self.standing.write().unwrap_or_else(PoisonError::into_inner).insert(pool.to_owned(), claim);
    }

    /// What somebody who stands by would claim of a pool.
    pub fn standing_claim(&self, pool: &str) -> Option<(Claim, Told)> {
        let standing = self.standing.read().unwrap_or_else(PoisonError::into_inner).get(pool)?.upgrade()?;
        standing.claim()
    }

    /// Whether somebody who stands by has room for jobs of a pool.
    pub fn has_room(&self, pool: &str) -> bool {
        let standing = self.standing.read().unwrap_or_else(PoisonError::into_inner);
        standing.get(pool).and_then(Weak::upgrade).is_some_and(|claim| claim.has_room())
    }

    fn pool(&self, name: &str) -> Arc<Notify> {
        if let Some(signal) = self.pools.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Arc::clone(signal);
        }
        let mut pools = self.pools.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(pools.entry(name.to_owned()).or_default())
    }
}

impl<B: Backend> Signals for Ledger<B> {
    fn now(&self) -> Timestamp {
        self.backend.now()
    }

    fn origin(&self) -> Origin {
        self.backend.identity().origin
    }

    fn cursor_secret(&self) -> [u8; 32] {
        self.backend.identity().cursor_secret
    }

    fn pool_signal(&self, pool: &str) -> Arc<Notify> {
        self.backend.board().pool(pool)
    }

    fn changes(&self) -> broadcast::Receiver<Arc<Vec<Changed>>> {
        self.backend.board().changes.subscribe()
    }

    fn taken(&self) -> broadcast::Receiver<Arc<Vec<Taken>>> {
        self.backend.board().taken.subscribe()
    }

    fn revision_signal(&self) -> Arc<Notify> {
        Arc::clone(&self.backend.board().revision)
    }

    fn new_job_id(&self) -> JobId {
        new_id(self.now())
    }

    fn new_attempt_id(&self) -> AttemptId {
        new_id(self.now())
    }
}

/// An id of any kind.
pub fn new_id<K>(now: Timestamp) -> Id<K> {
    Id::new(now, rand::random())
}
