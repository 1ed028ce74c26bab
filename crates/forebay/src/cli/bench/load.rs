//! Load on an address, all of it from one thread.
//!
//! *Closed*: each connection sends its next request when it has the answer to the last one; says how much goes
//! through. *Open*: requests are due at fixed times ([`super::schedule`]), whatever became of those before them, and an
//! answer's time counts from when its request was due: a server that stalls can't hide it by holding up the load.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::caller::{Caller, Target};
use super::latency::Latency;
use super::schedule::{Schedule, pace};

/// What came of it.
pub(super) struct Load {
    /// How long it took.
    pub(super) took: Duration,
    /// How long each answer took.
    pub(super) latency: Latency,
}

impl Load {
    /// Requests answered.
    #[allow(clippy::cast_precision_loss, reason = "fewer answers than a float can count")]
    pub(super) fn answers(&self) -> f64 {
        self.latency.count() as f64
    }

    /// Answers in a second.
    pub(super) fn per_second(&self) -> f64 {
        self.answers() / self.took.as_secs_f64()
    }
}

/// So many connections, each sending when it has its answer, for so long.
pub(super) async fn closed(target: Target, connections: u32, span: Duration) -> io::Result<Load> {
    on_a_thread(move || async move {
        let callers = connect(&target, connections).await?;
        let began = Instant::now();
        let send = |(nth, mut caller): (usize, Caller)| async move {
            let mut latency = Latency::new();
            while began.elapsed() < span {
                let sent = Instant::now();
                caller.submit(&format!("closed-{nth}-{}", latency.count())).await?;
                latency.record(sent.elapsed());
            }
            Ok(latency)
        };
        all(callers.into_iter().enumerate().map(send), began).await
    })
    .await
}

/// Requests when they are due, for so long, over so many connections.
pub(super) async fn open(
    target: Target,
    connections: u32,
    schedule: Schedule,
    span: Duration,
) -> io::Result<Load> {
    on_a_thread(move || async move {
        let callers = connect(&target, connections).await?;
        let began = Instant::now();
        let due = Arc::new(Mutex::new(pace(schedule, span)?));
        let send = |(nth, mut caller): (usize, Caller)| {
            let due = Arc::clone(&due);
            async move {
                let mut latency = Latency::new();
                while let Some(at) = next(&due).await {
                    caller.submit(&format!("open-{nth}-{}", latency.count())).await?;
                    latency.record(at.elapsed());
                }
                Ok(latency)
            }
        };
        all(callers.into_iter().enumerate().map(send), began).await
    })
    .await
}

async fn connect(target: &Target, connections: u32) -> io::Result<Vec<Caller>> {
    try_join_all((0..connections).map(|_| Caller::connect(target.clone()))).await
}

async fn next(due: &Mutex<mpsc::UnboundedReceiver<Instant>>) -> Option<Instant> {
    due.lock().await.recv().await
}

async fn all(
    callers: impl Iterator<Item = impl Future<Output = io::Result<Latency>> + Send + 'static>,
    began: Instant,
) -> io::Result<Load> {
    let mut running: JoinSet<_> = callers.collect();
    let mut latency = Latency::new();
    while let Some(one) = running.join_next().await {
        latency.add(&one.map_err(io::Error::other)??);
    }
    Ok(Load { took: began.elapsed(), latency })
}

/// Runs it on one thread that does nothing else, so that the load takes as little as it can of the machine.
async fn on_a_thread<F>(work: impl FnOnce() -> F + Send + 'static) -> io::Result<Load>
where
    F: Future<Output = io::Result<Load>>,
{
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(work())
    };
    tokio::task::spawn_blocking(run).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// How long the server below stands still, once.
    const STALL: Duration = Duration::from_millis(200);

    /// A server that accepts whatever comes over one connection, and stands still before its first answer.
    async fn stalling(listener: TcpListener) -> io::Result<()> {
        let (mut stream, _) = listener.accept().await?;
        let mut request = vec![0; 64 * 1_024];
        let mut pause = STALL;
        while stream.read(&mut request).await? > 0 {
            tokio::time::sleep(std::mem::take(&mut pause)).await;
            stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}").await?;
        }
        Ok(())
    }

    async fn under(load: impl AsyncFnOnce(Target) -> io::Result<Load>) -> Load {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = Target::jobs(listener.local_addr().unwrap(), "key");
        let (served, load) = tokio::join!(stalling(listener), load(target));
        served.unwrap();
        load.unwrap()
    }

    #[tokio::test]
    async fn a_stall_counts_for_all_requests_that_were_due_meanwhile() {
        let span = STALL * 2;
        let open = under(async |target| open(target, 1, Schedule::Even(100), span).await).await;
        assert_eq!(open.latency.count(), 40);
        // Of the twenty that were due during the stall, half were due in its first half.
        assert!(open.latency.longer_than(STALL / 2) >= 10);
        // Where callers wait for answers, hardly any request has seen it.
        let closed = under(async |target| closed(target, 1, span).await).await;
        assert!(closed.latency.longer_than(STALL / 2) * 10 < closed.latency.count());
    }
}
