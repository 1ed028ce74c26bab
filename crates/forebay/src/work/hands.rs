//! The jobs that this process has in hand.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forebay_core::id::JobId;
use forebay_store::record::{Claimed, Held};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Jobs in hand, with the word that tells each that it was lost.
#[derive(Default)]
pub(super) struct Hands {
    held: Mutex<HashMap<JobId, Hold>>,
    emptied: Notify,
}

struct Hold {
    held: Held,
    lost: CancellationToken,
}

/// A job in hand; letting go of it takes it off the list.
pub(super) struct InHand {
    hands: Arc<Hands>,
    job_id: JobId,
    fence: u64,
    /// Told when the job is not ours any more.
    pub(super) lost: CancellationToken,
}

impl Hands {
    /// Takes a claimed job in hand.
    pub(super) fn take(self: &Arc<Self>, claimed: &Claimed) -> InHand {
        let lost = CancellationToken::new();
        let held = Held { job_id: claimed.job_id, attempt_id: claimed.attempt_id, fence: claimed.fence };
        self.lock().insert(claimed.job_id, Hold { held, lost: lost.clone() });
        InHand { hands: Arc::clone(self), job_id: claimed.job_id, fence: claimed.fence, lost }
    }

    /// All of them, for a heartbeat.
    pub(super) fn all(&self) -> Vec<Held> {
        self.lock().values().map(|hold| hold.held).collect()
    }

    /// Tells whoever runs the job by a fence below this one that it is lost. Says whether anybody did. News
    /// from before the claim, which may arrive after it, has a smaller fence and takes nothing away.
    pub(super) fn lose_below(&self, job_id: JobId, fence: u64) -> bool {
        let held = self.lock();
        let hold = held.get(&job_id).filter(|hold| hold.held.fence < fence);
        if let Some(hold) = hold {
            hold.lost.cancel();
        }
        hold.is_some()
    }

    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Waits until nothing is in hand.
    pub(super) async fn emptied(&self) {
        loop {
            let emptied = self.emptied.notified();
            tokio::pin!(emptied);
            emptied.as_mut().enable();
            if self.is_empty() {
                return;
            }
            emptied.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, Hold>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for InHand {
    fn drop(&mut self) {
        let mut held = self.hands.lock();
        // The same job may be in hand again under a newer fence.
        if held.get(&self.job_id).is_some_and(|hold| hold.held.fence == self.fence) {
            held.remove(&self.job_id);
        }
        if held.is_empty() {
            self.hands.emptied.notify_waiters();
        }
    }
}
