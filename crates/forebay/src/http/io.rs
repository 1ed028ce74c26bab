//! A connection that is given up when its other end does not read.
//!
//! The check sits where bytes are written, not where they are made: a handler is not even polled while the
//! connection takes nothing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// How long a client may leave what it is sent unread.
pub(super) const UNREAD: Duration = Duration::from_secs(60);

/// How long a client that goes on sending is listened to after the last answer.
const DISCARD: Duration = Duration::from_secs(1);

/// Ends writing when the other end has taken nothing for too long.
pub(super) struct WriteDeadline<T> {
    inner: T,
    limit: Duration,
    stuck: Option<Pin<Box<Sleep>>>,
    /// Until when what a client still sends is taken in, once it is known that it does.
    discarding: Option<Pin<Box<Sleep>>>,
}

impl<T> WriteDeadline<T> {
    pub(super) fn new(inner: T, limit: Duration) -> Self {
        Self { inner, limit, stuck: None, discarding: None }
    }

    /// Passes on what writing came to, unless it has been stuck for too long.
    fn watch<R>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let limit = self.limit;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(limit)));
        match stuck.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin> WriteDeadline<T> {
    /// Takes in what the client is still sending, for a moment: a connection that is closed over unread bytes is reset,
    /// and the reset may destroy the answer on its way.
    fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut piece = [0; 8 * 1024];
        loop {
            let mut piece = ReadBuf::new(&mut piece);
            match Pin::new(&mut self.inner).poll_read(cx, &mut piece) {
                Poll::Ready(Ok(())) if !piece.filled().is_empty() => {
                    let until = self.discarding.get_or_insert_with(|| Box::pin(sleep(DISCARD)));
                    if until.as_mut().poll(cx).is_ready() {
                        return Poll::Ready(());
                    }
                }
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => {
                    return self.discarding.as_mut().map_or(Poll::Ready(()), |until| until.as_mut().poll(cx));
                }
            }
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for WriteDeadline<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for WriteDeadline<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.watch(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(cx);
        ready!(self.watch(cx, shut))?;
        self.poll_discard(cx).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::Instant;

    const LIMIT: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn a_client_that_does_not_read_is_given_up() {
        let (server, _client) = duplex(16);
        let mut server = WriteDeadline::new(server, LIMIT);
        let started = Instant::now();
        let failed = server.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
        assert!(started.elapsed() >= LIMIT);
    }

    #[tokio::test]
    async fn a_slow_client_is_kept_as_long_as_it_reads() {
        let (server, mut client) = duplex(16);
        let mut server = WriteDeadline::new(server, LIMIT);
        let reading = async {
            let mut piece = [0; 16];
            for _ in 0..4 {
                sleep(LIMIT / 2).await;
                client.read_exact(&mut piece).await.unwrap();
            }
        };
        let (written, ()) = tokio::join!(server.write_all(&[0; 64]), reading);
        written.unwrap();
    }
}
