//! Workers: they claim jobs, run one step of each, and commit what came of it.
//!
//! A dispatcher per pool claims as many jobs as there are free slots ([`dispatch`]). Each claimed job runs as a
//! task of its own through the named steps of [`execute`] and commits as its call returns, never in lock step
//! with others. One heartbeat for the whole process extends all leases ([`heartbeat`]); who loses its lease is
//! told, and its call is dropped.

mod call;
mod dispatch;
mod evaluate;
mod execute;
mod hands;
mod heartbeat;
mod judge;

use std::sync::Arc;
use std::time::Duration;

use forebay_gateway::Gateway;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use crate::app::App;
use crate::runtime::Tasks;
use hands::Hands;

/// The working part of a process.
#[derive(Clone)]
pub struct Worker {
    app: App,
    gateway: Gateway,
    slots: Arc<Semaphore>,
    hands: Arc<Hands>,
    /// Loops that claim.
    claiming: Tasks,
    /// Jobs in hand.
    calls: TaskTracker,
    /// Told at shutdown when the time to drain is over.
    hand_back: CancellationToken,
}

impl Worker {
    /// A worker that has not begun.
    pub fn new(app: App, gateway: Gateway) -> Self {
        let slots = Arc::new(Semaphore::new(app.settings.slots));
        let claiming = app.tasks.group();
        Self {
            app,
            gateway,
            slots,
            hands: Arc::new(Hands::default()),
            claiming,
            calls: TaskTracker::new(),
            hand_back: CancellationToken::new(),
        }
    }

    /// How many jobs it has in hand, for whoever asks later.
    pub fn in_hand(&self) -> impl Fn() -> usize + Send + 'static {
        let hands = Arc::clone(&self.hands);
        move || hands.count()
    }

    /// Begins: claims from now on.
    pub fn start(&self) {
        self.claiming.spawn("dispatch", dispatch::supervise(self.clone()));
        // Until the last call is over, which is later than the word to stop.
        self.calls.spawn(heartbeat::beat(self.clone()));
        self.calls.spawn(heartbeat::watch_taken(self.clone()));
    }

    /// Ends: claims nothing more, waits for the calls under way as long as the settings say, then hands the rest
    /// back.
    pub async fn drain(&self) {
        // A claim that was under way has put its jobs in hand when this returns.
        self.claiming.stop().await;
        let drain: Duration = self.app.settings.drain.to_duration();
        if !self.hands.is_empty() {
            info!(jobs = self.hands.count(), "waiting for calls under way");
        }
        let empty = tokio::time::timeout(drain, self.hands.emptied()).await;
        if empty.is_err() {
            warn!(jobs = self.hands.count(), "the time to drain is over: handing jobs back");
            self.hand_back.cancel();
            self.hands.emptied().await;
        }
        self.hand_back.cancel();
        self.calls.close();
        self.calls.wait().await;
    }
}
