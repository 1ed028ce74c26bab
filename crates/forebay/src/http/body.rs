//! Bodies of requests: read within a deadline and a size, decompressed within a ratio.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::middleware::Next;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use forebay_core::limits::{BODY_SECONDS, DECOMPRESSION_RATIO, REQUEST_BODY_BYTES};
use forebay_core::request::json;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout_at};

use super::headers::content_type;
use super::problem::{Code, Problem};

/// How many bytes of a compressed body have come so far, before decompression.
#[derive(Clone)]
struct Received(Arc<AtomicUsize>);

/// Counts the bytes of compressed bodies where they come in.
pub(super) async fn count_received(mut request: Request, next: Next) -> Response {
    if request.headers().contains_key(CONTENT_ENCODING) {
        let received = Received(Arc::default());
        request.extensions_mut().insert(received.clone());
        request = request.map(|body| {
            Body::from_stream(body.into_data_stream().inspect_ok(move |chunk| {
                received.0.fetch_add(chunk.len(), Ordering::Relaxed);
            }))
        });
    }
    next.run(request).await
}

/// A body that is read whole.
pub(super) struct Payload {
    pub(super) bytes: Bytes,
    /// What the caller says it is, without parameters, in lower case.
    pub(super) media_type: Option<String>,
}

impl Payload {
    /// The bytes of a body that says that it is JSON, or says nothing.
    pub(super) fn must_be_json(&self) -> Result<(), Problem> {
        match self.media_type.as_deref() {
            None | Some("application/json") => Ok(()),
            Some(other) if other.starts_with("application/") && other.ends_with("+json") => Ok(()),
            Some(_) => Err(Problem::new(Code::UnsupportedMediaType, "this address reads application/json")),
        }
    }

    /// The body as JSON, read strictly.
    pub(super) fn json(&self) -> Result<Value, Problem> {
        self.must_be_json()?;
        Ok(json::parse(&self.bytes)?)
    }

    /// The same where a request may have no body: then it is an object without members.
    pub(super) fn json_or_nothing(&self) -> Result<Value, Problem> {
        if self.bytes.is_empty() { Ok(Value::Object(Map::new())) } else { self.json() }
    }
}

impl<S: Send + Sync> FromRequest<S> for Payload {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let media_type = content_type(request.headers());
        let bytes = Incoming::new(request)?.read(REQUEST_BODY_BYTES).await?;
        Ok(Self { bytes, media_type })
    }
}

/// A body on its way in.
pub(super) struct Incoming {
    body: Body,
    received: Option<Received>,
}

impl Incoming {
    /// The body of a request; refused when it is encoded in a way that is not read here.
    pub(super) fn new(request: Request) -> Result<Self, Problem> {
        encoding_is_read(request.headers())?;
        let received = request.extensions().get::<Received>().cloned();
        Ok(Self { body: request.into_body(), received })
    }

    /// Reads all of it.
    pub(super) async fn read(self, limit: usize) -> Result<Bytes, Problem> {
        let bytes = gather(limit, self.body.into_data_stream().map_err(|_| broken())).await?;
        self.received
            .map_or(Ok(()), |received| check_ratio(bytes.len(), received.0.load(Ordering::Relaxed)))?;
        Ok(bytes)
    }
}

/// How long a body may take, for each 4 MB that have come and once more.
const PACE: Duration = Duration::from_secs(BODY_SECONDS);

/// Puts chunks together, up to a size and within the time that a body of that size has: 30 s, and as much again
/// for each 4 MB that have come.
pub(super) async fn gather(
    limit: usize,
    chunks: impl Stream<Item = Result<Bytes, Problem>>,
) -> Result<Bytes, Problem> {
    gather_at(PACE, limit, chunks).await
}

async fn gather_at(
    pace: Duration,
    limit: usize,
    chunks: impl Stream<Item = Result<Bytes, Problem>>,
) -> Result<Bytes, Problem> {
    let started = Instant::now();
    let mut chunks = std::pin::pin!(chunks);
    let mut gathered = BytesMut::new();
    loop {
        let allowed = u32::try_from(1 + gathered.len() / REQUEST_BODY_BYTES).unwrap_or(u32::MAX);
        let chunk = timeout_at(started + pace * allowed, chunks.next()).await.map_err(|_| too_slow())?;
        let Some(chunk) = chunk.transpose()? else { return Ok(gathered.freeze()) };
        if gathered.len() + chunk.len() > limit {
            return Err(too_large(limit));
        }
        gathered.extend_from_slice(&chunk);
    }
}

/// Decompression has removed the encodings that it reads.
fn encoding_is_read(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.get(CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => Err(Problem::new(
            Code::UnsupportedMediaType,
            "the body's encoding is not read here: send it with gzip, or as it is",
        )),
        _ => Ok(()),
    }
}

fn check_ratio(bytes: usize, received: usize) -> Result<(), Problem> {
    if bytes <= received.saturating_mul(DECOMPRESSION_RATIO) {
        return Ok(());
    }
    let detail = format!("the body becomes more than {DECOMPRESSION_RATIO} times larger by decompression");
    Err(Problem::new(Code::TooLarge, detail))
}

fn too_slow() -> Problem {
    Problem::new(Code::RequestTimeout, format!("the body was not complete within {BODY_SECONDS} s"))
}

fn too_large(limit: usize) -> Problem {
    Problem::new(Code::TooLarge, format!("the body has more than {limit} bytes"))
}

/// The connection broke, or the compressed data is no such data.
fn broken() -> Problem {
    Problem::new(Code::InvalidJson, "the body ended early, or is not what its encoding says")
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;

    async fn gathered(limit: usize, chunks: &[&'static [u8]]) -> Result<Bytes, Code> {
        let chunks = stream::iter(chunks.iter().map(|chunk| Ok(Bytes::from_static(chunk))));
        gather(limit, chunks).await.map_err(|problem| problem.code())
    }

    #[tokio::test]
    async fn a_body_may_have_n_bytes_and_not_one_more() {
        assert_eq!(gathered(4, &[b"ab", b"cd"]).await, Ok(Bytes::from_static(b"abcd")));
        assert_eq!(gathered(4, &[b"ab", b"cde"]).await, Err(Code::TooLarge));
        assert_eq!(gathered(0, &[]).await, Ok(Bytes::new()));
    }

    #[tokio::test]
    async fn a_body_that_does_not_come_ends_in_time() {
        let pace = Duration::from_millis(20);
        let refused = gather_at(pace, 4, stream::pending()).await;
        assert_eq!(refused.map_err(|problem| problem.code()), Err(Code::RequestTimeout));
    }

    #[test]
    fn a_body_may_become_twenty_times_larger() {
        assert!(check_ratio(2_000, 100).is_ok());
        assert_eq!(check_ratio(2_001, 100).map_err(|problem| problem.code()), Err(Code::TooLarge));
    }
}
