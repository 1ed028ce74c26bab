//! Who is told after a commit, and ids.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, Weak};

use forebay_core::event::Origin;
use forebay_core::id::{AttemptId, Id, JobId};
use forebay_core::time::Timestamp;
use tokio::sync::{Notify, broadcast};

use super::transaction::News;
use super::{Backend, Ledger};
use crate::Signals;
use crate::record::{Changed, Claim, StandingClaim, Told};

/// Commits that a slow receiver may lag behind before it is told to look again.
const BACKLOG: usize = 1_024;

/// Where commits are announced.
pub struct Board {
    pools: RwLock<HashMap<String, Arc<Notify>>>,
    standing: RwLock<HashMap<String, Weak<dyn StandingClaim>>>,
    changes: broadcast::Sender<Arc<Vec<Changed>>>,
}

impl Default for Board {
    fn default() -> Self {
        Self { pools: RwLock::default(), standing: RwLock::default(), changes: broadcast::channel(BACKLOG).0 }
    }
}

impl Board {
    /// Tells everybody who asked. Nobody listening is fine: then nobody needs to know.
    pub fn announce(&self, news: News) {
        for pool in news.pools {
            self.pool(&pool).notify_one();
        }
        if !news.changed.is_empty() && self.changes.receiver_count() > 0 {
            self.changes.send(Arc::new(news.changed)).ok();
        }
    }

    pub fn stand_by(&self, pool: &str, claim: Weak<dyn StandingClaim>) {
        self.standing.write().unwrap_or_else(PoisonError::into_inner).insert(pool.to_owned(), claim);
    }

    /// What somebody who stands by would claim of a pool.
    pub fn standing_claim(&self, pool: &str) -> Option<(Claim, Told)> {
        let standing = self.standing.read().unwrap_or_else(PoisonError::into_inner).get(pool)?.upgrade()?;
        standing.claim()
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
