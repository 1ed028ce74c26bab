//! One process at a time maintains a store, and one deletes what is old; when it ends or is not heard of any more, another one does.
//!
//! That saves work and protects nothing: what a process still does that has lost its lease is done on the rows as they
//! are then, as everything here.

use forebay_core::time::Millis;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::app::App;

/// What is led, as the list of processes names it.
pub(super) const MAINTENANCE: &str = "maintenance";
pub(super) const RETENTION: &str = "retention";

/// Whether this process leads.
pub(super) struct Leader {
    app: App,
    what: &'static str,
    /// For how long it leads when it has asked: a third of a worker's lease, as that is for workers.
    span: Millis,
    /// When it asked last.
    asked: Option<Instant>,
    /// By which fence it leads; none while another one does.
    fence: Option<u64>,
}

impl Leader {
    pub(super) fn new(app: App, what: &'static str) -> Self {
        let span = Millis::new(app.settings.lease.get() / 3);
        Self { app, what, span, asked: None, fence: None }
    }

    /// Whether this process leads now. Asks the store long before its time is over, or now and then whether another's is.
    pub(super) async fn leads(&mut self) -> bool {
        let pause = self.span.to_duration() / if self.fence.is_some() { 3 } else { 5 };
        if self.asked.is_none_or(|at| at.elapsed() >= pause) {
            self.ask().await;
        }
        self.fence.is_some()
    }

    async fn ask(&mut self) {
        self.asked = Some(Instant::now());
        let answer = self.app.store.lead(self.what, self.app.process.id, self.span).await;
        let lead = answer.unwrap_or_else(|error| {
            warn!(%error, what = self.what, "it can't be seen which process does this");
            None
        });
        let before = std::mem::replace(&mut self.fence, lead.map(|lead| lead.fence));
        match self.fence {
            now if now == before => {}
            Some(fence) => info!(fence, what = self.what, "this process does it from now on"),
            None => warn!(what = self.what, "this process does not do it any more"),
        }
    }

    /// Lets another one lead at once.
    pub(super) async fn stop(self) {
        if self.fence.is_some()
            && let Err(error) = self.app.store.stop_leading(self.what, self.app.process.id).await
        {
            debug!(%error, what = self.what, "nobody does it until a lease has lapsed");
        }
    }
}
