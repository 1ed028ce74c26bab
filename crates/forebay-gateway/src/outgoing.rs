//! The body of a request, which knows whether it has been sent.
//!
//! A provider can bill a call only after it has the request's body. The HTTP client asks for the body when
//! the connection stands and the head is on its way, and never before. So a body that nobody asked for is
//! proof that nothing can be billed, whatever error or timeout came instead; and one that was asked for may
//! have arrived. The client can't copy such a body either, so it can't send a request twice.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::Instant;

/// When a request's body was asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sent(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    at: OnceLock<Instant>,
    changed: Notify,
}

impl Sent {
    /// When the body was asked for; `None` means that nothing was sent.
    pub(crate) fn at(&self) -> Option<Instant> {
        self.0.at.get().copied()
    }

    /// Waits until the body is asked for. Only one task may wait.
    pub(crate) async fn wait(&self) {
        while self.at().is_none() {
            self.0.changed.notified().await;
        }
    }

    fn mark(&self) {
        self.0.at.get_or_init(Instant::now);
        self.0.changed.notify_one();
    }
}

/// A request's body in one piece.
#[derive(Debug)]
pub(crate) struct Outgoing {
    rest: Option<Bytes>,
    sent: Sent,
}

impl Outgoing {
    /// A body that says in `sent` when it is asked for.
    pub(crate) fn new(body: Vec<u8>, sent: Sent) -> Self {
        Self { rest: Some(body.into()), sent }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.sent.mark();
        Poll::Ready(self.rest.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
