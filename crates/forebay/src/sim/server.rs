//! Connections: accepted, served, and cut where a fault wants it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::Sim;

/// Stands on every answer.
const SIMULATED: &str = "x-forebay-simulated";

/// Cuts the connection that a call came by.
#[derive(Clone, Default)]
pub(super) struct Switch {
    cut: CancellationToken,
    reset: Arc<AtomicBool>,
}

impl Switch {
    /// Closes the connection, by a TCP reset if asked for, whatever is on its way.
    pub(super) fn cut(&self, reset: bool) {
        self.reset.store(reset, Ordering::Relaxed);
        self.cut.cancel();
    }
}

/// Accepts connections until the simulator stops.
pub(super) async fn accept(sim: Arc<Sim>, listener: TcpListener, router: Router) {
    loop {
        let accepted = tokio::select! {
            () = sim.stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => drop(sim.tasks.spawn(serve(Arc::clone(&sim), stream, router.clone()))),
            Err(error) => {
                tracing::warn!(%error, "the simulator cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

async fn serve(sim: Arc<Sim>, stream: TcpStream, router: Router) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection to the simulator is gone already");
    }
    let switch = Switch::default();
    let wire = Wire { stream, reset: Arc::clone(&switch.reset) };
    let cut = switch.cut.clone();
    let service = service_fn(move |mut request: http::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(switch.clone());
        let answer = router.clone().oneshot(request.map(Body::new));
        async {
            let mut answer = answer.await?;
            answer.headers_mut().insert(SIMULATED, HeaderValue::from_static("true"));
            Ok::<_, std::convert::Infallible>(answer)
        }
    });
    let connection =
        http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(wire), service);
    tokio::select! {
        () = sim.stop.cancelled() => {}
        () = cut.cancelled() => {}
        ended = connection => if let Err(error) = ended {
            tracing::debug!(%error, "a connection to the simulator ended");
        }
    }
}

/// A TCP stream that ends by a reset when its switch says so.
struct Wire {
    stream: TcpStream,
    reset: Arc<AtomicBool>,
}

impl Drop for Wire {
    fn drop(&mut self) {
        if self.reset.load(Ordering::Relaxed)
            && let Err(error) = self.stream.set_zero_linger()
        {
            tracing::debug!(%error, "a connection ends without the reset that was asked for");
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
