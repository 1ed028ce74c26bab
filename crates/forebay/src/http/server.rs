//! Connections: their deadlines, and how they end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use forebay_core::limits::{HEAD_SECONDS, REQUEST_HEAD_BYTES};
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use super::answers::{Account, Answering};
use super::io::{UNREAD, WriteDeadline};
use crate::runtime::Tasks;

/// The pause after an accept failed, most likely because no file handle is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Serves until the tasks are told to stop; connections then finish the request that they are at. Returns when
/// nothing is accepted any more; `Tasks::stop` waits for the connections.
///
/// # Errors
///
/// When the listener's own address can't be read.
pub async fn serve(listener: TcpListener, router: Router, tasks: Tasks) -> io::Result<()> {
    let stopping = tasks.stopping().clone();
    info!(address = %listener.local_addr()?, "the API listens");
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => return Ok(()),
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = connection(stream, router.clone(), stopping.clone());
                tasks.spawn("http connection", connection);
            }
            Err(failure) => {
                warn!(error = %failure, "a connection can't be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, router: Router, stopping: CancellationToken) {
    if let Err(failure) = stream.set_nodelay(true) {
        debug!(error = %failure, "a connection stays without TCP_NODELAY");
    }
    let account = Account::new();
    let io = TokioIo::new(Answering::new(WriteDeadline::new(stream, UNREAD), Arc::clone(&account)));
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        let owed = account.owe();
        let answer = router.call(request);
        async move { owed.paid_by(answer.await) }
    });
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            // Also how long a connection may stay open between two requests.
            .header_read_timeout(Duration::from_secs(HEAD_SECONDS))
            .max_buf_size(REQUEST_HEAD_BYTES)
            .serve_connection(io, service)
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(failure) = ended {
        debug!(error = %failure, "a connection broke");
    }
}
