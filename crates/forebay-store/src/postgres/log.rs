//! Closing epochs of the log for whoever reads it.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tracing::warn;

use super::session::Session;
use super::{Target, epoch};
use crate::StoreError;

/// A thread that closes what is open; all who ask meanwhile are served by the next closing.
pub(super) struct Closer {
    door: mpsc::UnboundedSender<oneshot::Sender<Result<(), StoreError>>>,
}

impl Closer {
    pub(super) fn start(target: Arc<Target>, session: Session) -> Result<Self, StoreError> {
        let (door, mut asking) = mpsc::unbounded_channel::<oneshot::Sender<_>>();
        std::thread::Builder::new()
            .name("forebay-log".to_owned())
            .spawn(move || {
                let mut session = Some(session);
                let mut waiting = Vec::new();
                while asking.blocking_recv_many(&mut waiting, usize::MAX) > 0 {
                    let closed = close(&target, &mut session);
                    for asked in waiting.drain(..) {
                        asked.send(closed.clone()).ok();
                    }
                }
            })
            .map_err(|error| StoreError::Unavailable(format!("no thread for the log: {error}")))?;
        Ok(Self { door })
    }

    /// Returns when everything that was committed before can be read.
    pub(super) async fn close(&self) -> Result<(), StoreError> {
        let closed = || StoreError::Unavailable("the store is closed".to_owned());
        let (asked, answer) = oneshot::channel();
        self.door.send(asked).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

fn close(target: &Target, session: &mut Option<Session>) -> Result<(), StoreError> {
    // One that was idle may have been lost without our knowing.
    if let Some(idle) = session.take().filter(|session| !session.is_closed())
        && closed_by(idle, session).is_ok()
    {
        return Ok(());
    }
    closed_by(Session::open(target)?, session)
}

/// Closes what is open, and leaves the session for the next time.
fn closed_by(open: Session, left: &mut Option<Session>) -> Result<(), StoreError> {
    match open.block_on(epoch::close(&open)) {
        // Somebody holds an epoch open: what was closed before can be read all the same.
        Err(StoreError::Raced(reason)) => warn!(reason, "an epoch of the log is kept open"),
        done => done?,
    }
    *left = Some(open);
    Ok(())
}
