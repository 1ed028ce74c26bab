//! What other processes of a shared database are to be told, gathered until it is sent.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::transaction::News;
use crate::record::Taken;

/// Jobs in one notice at most. Whoever has another one in hand finds out by looking.
const TAKEN: usize = 64;

/// A hint for other processes. One that is lost costs latency and nothing else.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Pools in which something may be claimed now.
    pub pools: BTreeSet<String>,
    /// Jobs that were taken from whoever ran them.
    pub taken: Vec<Taken>,
    /// Whether there are new events.
    pub log: bool,
    /// Whether another revision may be active.
    pub revision: bool,
}

impl Notice {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, news: &News) {
        self.pools.extend(news.pools.iter().cloned());
        let room = TAKEN.saturating_sub(self.taken.len());
        self.taken.extend(news.taken.iter().take(room));
        self.log |= !news.changed.is_empty();
        self.revision |= news.revision;
    }
}

/// Where news wait for whoever sends them.
#[derive(Default)]
pub struct Outbox {
    waiting: Mutex<Notice>,
    filled: Notify,
}

impl Outbox {
    /// Adds what a commit has brought.
    pub fn put(&self, news: &News) {
        let mut waiting = self.lock();
        waiting.add(news);
        if !waiting.is_empty() {
            self.filled.notify_one();
        }
    }

    /// Returns when something waits. May return once too often.
    pub async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Takes what waits.
    pub fn take(&self) -> Notice {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Notice> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use forebay_core::id::JobId;

    use super::*;
    use crate::record::Changed;

    #[tokio::test]
    async fn news_are_gathered_until_they_are_taken() {
        let outbox = Outbox::default();
        outbox.put(&News::default());
        assert!(outbox.take().is_empty());
        let job_id = JobId::from_bytes([1; 16]);
        let pools = |name: &str| BTreeSet::from([name.to_owned()]);
        outbox.put(&News { pools: pools("a"), ..News::default() });
        let changed = vec![Changed { job_id, tenant: 1 }];
        let taken = vec![Taken { job_id, fence: 2 }; TAKEN + 1];
        outbox.put(&News { pools: pools("b"), changed, taken, ..News::default() });
        outbox.filled().await;
        let notice = outbox.take();
        assert_eq!(notice.pools.iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((notice.taken.len(), notice.log, notice.revision), (TAKEN, true, false));
        assert!(outbox.take().is_empty());
    }
}
