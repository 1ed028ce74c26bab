//! The process itself: which build it is, and the one home of its background tasks, which are spawned here, named,
//! and waited for at shutdown.

use std::future::Future;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, error, info_span};

/// The build that this is; recorded with each attempt.
pub const BUILD: &str = concat!("forebay/", env!("CARGO_PKG_VERSION"));

/// Tasks of the process, and the word to stop.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Starts a task. A panic in it is logged and ends the task alone.
    pub fn spawn(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let span = info_span!("task", name);
        let running = self.tracker.spawn(task.instrument(span));
        self.tracker.spawn(async move {
            if let Err(failure) = running.await
                && failure.is_panic()
            {
                error!(task = name, "a background task panicked");
            }
        });
    }

    /// A group of its own among them: told to stop with all others, waited for apart.
    #[must_use]
    pub fn group(&self) -> Tasks {
        Tasks { tracker: TaskTracker::new(), stop: self.stop.clone() }
    }

    /// Told when the process should stop: every loop waits on it beside its work.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stop
    }

    /// Tells all tasks to stop and waits until the last one has.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// Random bytes for ids and secrets.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    rand::fill(&mut bytes);
    bytes
}
