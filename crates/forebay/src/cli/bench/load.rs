//! The load: plain connections that each send a request and wait for its answer, with nothing of a client's
//! cost in between.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Whom to ask, and as whom.
pub(super) struct Target {
    pub(super) address: SocketAddr,
    pub(super) key: String,
}

/// What came of it.
pub(super) struct Accepts {
    pub(super) jobs: u32,
    pub(super) connections: u32,
    pub(super) seconds: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
}

/// Submits jobs over so many connections at once, each with an idempotency key of its own.
pub(super) async fn accept(target: &Target, jobs: u32, connections: u32) -> io::Result<Accepts> {
    let began = Instant::now();
    let mut callers = JoinSet::new();
    for nth in 0..connections {
        let share = jobs / connections + u32::from(nth < jobs % connections);
        callers.spawn(submit(target.address, target.key.clone(), nth, share));
    }
    let mut latencies = Vec::new();
    while let Some(done) = callers.join_next().await {
        latencies.extend(done.map_err(io::Error::other)??);
    }
    let seconds = began.elapsed().as_secs_f64();
    latencies.sort_by(f64::total_cmp);
    let at = |share: f64| percentile(&latencies, share);
    Ok(Accepts { jobs, connections, seconds, p50_ms: at(0.5), p99_ms: at(0.99) })
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index into a list that fits into memory"
    )]
    let index = (sorted.len() as f64 * share) as usize;
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

async fn submit(address: SocketAddr, key: String, nth: u32, jobs: u32) -> io::Result<Vec<f64>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let mut answer = vec![0_u8; 4_096];
    let mut latencies = Vec::new();
    for count in 0..jobs {
        let request = request(address, &key, nth, count);
        let began = Instant::now();
        stream.write_all(request.as_bytes()).await?;
        read_answer(&mut stream, &mut answer).await?;
        latencies.push(began.elapsed().as_secs_f64() * 1_000.0);
    }
    Ok(latencies)
}

fn request(address: SocketAddr, key: &str, nth: u32, count: u32) -> String {
    let body = format!(
        r#"{{"task":"chat","input":{{"messages":[{{"role":"system","content":"Answer in one word."}},{{"role":"user","content":"What is the capital of country number {count}?"}}]}},"metadata":{{"run":"bench"}}}}"#
    );
    format!(
        "POST /v1/jobs HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
         Idempotency-Key: bench-{nth}-{count}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Reads one answer and checks that the job was accepted. Its head and its short body come together or one
/// after the other; the body's length is in the head.
async fn read_answer(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    loop {
        let count = stream.read(buffer.get_mut(filled..).unwrap_or_default()).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        filled += count;
        let seen = String::from_utf8_lossy(buffer.get(..filled).unwrap_or_default());
        let Some((head, body)) = seen.split_once("\r\n\r\n") else { continue };
        if !head.starts_with("HTTP/1.1 202") {
            return Err(io::Error::other(format!("not accepted: {seen}")));
        }
        let length = head
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .and_then(|(_, value)| value.trim().parse::<usize>().ok())
            .unwrap_or_default();
        if body.len() >= length {
            return Ok(());
        }
    }
}
