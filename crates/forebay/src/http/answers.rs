//! The answers that hyper gives by itself, when it can't read a request's head, made problems like all others.
//!
//! Hyper writes them before any handler is asked. So a connection keeps account of what handlers owe: what is written
//! while nothing is owed and everything owed has been written is hyper's own.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::{Buf as _, Bytes};
use forebay_core::limits::REQUEST_HEAD_BYTES;
use http::{Response, StatusCode};
use http_body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::outer::new_request_id;
use super::problem::{Code, MEDIA_TYPE, Problem};

/// What the handlers of one connection owe its client.
pub(super) struct Account {
    /// Requests with a handler whose answer has not been handed to the connection whole.
    open: AtomicUsize,
    /// Whether all answers have been written.
    settled: AtomicBool,
}

impl Account {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { open: AtomicUsize::new(0), settled: AtomicBool::new(true) })
    }

    /// A request has reached its handler.
    pub(super) fn owe(self: &Arc<Self>) -> Owed {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.settled.store(false, Ordering::Relaxed);
        Owed(Arc::clone(self))
    }

    /// Everything that was handed to the connection has been written.
    fn flushed(&self) {
        if self.open.load(Ordering::Relaxed) == 0 {
            self.settled.store(true, Ordering::Relaxed);
        }
    }
}

/// One answer that is owed, until it is dropped.
pub(super) struct Owed(Arc<Account>);

impl Owed {
    /// The answer that pays it once its body has been taken.
    pub(super) fn paid_by(
        self,
        answer: Result<Response<Body>, Infallible>,
    ) -> Result<Response<Paying>, Infallible> {
        answer.map(|response| response.map(|body| Paying { body, _owed: self }))
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of an answer; dropped when hyper has taken all of it.
pub(super) struct Paying {
    body: Body,
    _owed: Owed,
}

impl http_body::Body for Paying {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection on which hyper's own answers become problems.
pub(super) struct Answering<T> {
    inner: T,
    account: Arc<Account>,
    /// What is written in place of hyper's own answer, and how much of it is left.
    problem: Option<Bytes>,
}

impl<T> Answering<T> {
    pub(super) fn new(inner: T, account: Arc<Account>) -> Self {
        Self { inner, account, problem: None }
    }
}

impl<T: AsyncWrite + Unpin> Answering<T> {
    fn poll_problem(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(left) = self.problem.as_mut().filter(|left| left.has_remaining()) {
            let written = ready!(Pin::new(&mut self.inner).poll_write(cx, left))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            left.advance(written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Answering<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Answering<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.account.settled.load(Ordering::Relaxed)
            && let Some(status) = refusal(buf)
        {
            // Hyper writes such an answer at once and is done with the connection then.
            self.problem = Some(problem(status));
            return Poll::Ready(Ok(buf.len()));
        }
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.account.settled.load(Ordering::Relaxed) {
            let first = bufs.iter().find(|buf| !buf.is_empty()).map_or(&[][..], |buf| buf);
            return self.poll_write(cx, first);
        }
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_problem(cx))?;
        ready!(Pin::new(&mut self.inner).poll_flush(cx))?;
        self.account.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_problem(cx))?;
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// The status of an answer that refuses a request.
fn refusal(head: &[u8]) -> Option<StatusCode> {
    let digits = head.strip_prefix(b"HTTP/1.1 ").or_else(|| head.strip_prefix(b"HTTP/1.0 "))?.get(..3)?;
    StatusCode::from_bytes(digits).ok().filter(StatusCode::is_client_error)
}

/// The whole answer, written out.
fn problem(status: StatusCode) -> Bytes {
    let problem = match status {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE | StatusCode::URI_TOO_LONG => {
            let detail = format!("the request's head has more than {REQUEST_HEAD_BYTES} bytes or 100 fields");
            Problem::new(Code::TooLarge, detail)
        }
        _ => Problem::new(
            Code::InvalidParameter,
            "the request's head is no HTTP/1.1: its first line or a header",
        ),
    };
    let id = new_request_id();
    let body = serde_json::to_vec(&problem.with_status(status).body(&id)).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {}\r\n\
         x-request-id: {id}\r\n\r\n",
        body.len()
    );
    Bytes::from([head.into_bytes(), body].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt as _;

    const OWN: &[u8] = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\n\r\n";

    async fn written(account: &Arc<Account>, bytes: &[u8]) -> String {
        let mut line = Answering::new(Vec::new(), Arc::clone(account));
        line.write_all(bytes).await.unwrap();
        line.flush().await.unwrap();
        String::from_utf8(line.inner).unwrap()
    }

    #[tokio::test]
    async fn what_nobody_owes_becomes_a_problem() {
        let text = written(&Account::new(), OWN).await;
        assert!(text.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{text}");
        assert!(
            text.contains("content-type: application/problem+json") && text.contains("\"too_large\""),
            "{text}"
        );
        assert!(text.ends_with('}'), "{text}");
    }

    #[tokio::test]
    async fn what_a_handler_owes_is_written_as_it_is() {
        let account = Account::new();
        let owed = account.owe();
        assert_eq!(written(&account, OWN).await.as_bytes(), OWN);
        drop(owed);
        // Taken by hyper, and not written yet: a document may end in anything.
        let mut line = Answering::new(Vec::new(), Arc::clone(&account));
        line.write_all(OWN).await.unwrap();
        assert_eq!(line.inner, OWN);
        line.flush().await.unwrap();
        assert!(written(&account, OWN).await.contains("problem+json"));
    }
}
