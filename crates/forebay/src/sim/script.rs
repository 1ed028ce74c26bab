//! How an answer goes out: a list of steps, and the player that takes them in their time.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::Stream;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use hyper::body::{Frame, SizeHint};
use rand::rngs::StdRng;
use tokio::time::Instant;

use super::call::Call;
use super::ledger::Ended;
use super::scenario::Span;
use super::server::Switch;

/// What was written before a cut gets this long to reach the network.
const FLUSH: Duration = Duration::from_millis(5);
/// Bytes of a giant line that go out at once.
const GIANT_PIECE: usize = 64 * 1024;

/// One step of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// Bytes that go out at once.
    Frame(Bytes),
    /// Bytes with that many tokens, which take the time of `waits` tokens.
    Tokens { bytes: Bytes, tokens: u64, waits: u64 },
    /// That many bytes of filling; never the last step.
    Filling(u64),
    /// Silence; then, if a time is given, the connection closes.
    Stall(Option<f64>),
    /// The connection ends, by a reset or not.
    Cut(bool),
}

/// When tokens come. Each is due at a time that does not depend on when the one before really went out, so
/// that short intervals do not add up the timer's roundings.
pub(super) struct Pace {
    start: Instant,
    due_ms: f64,
    time_scale: f64,
    first_token: Span,
    per_token: Span,
    rng: StdRng,
}

impl Pace {
    /// The pace of an answer to a request that arrived now.
    pub(super) fn new(first_token: Span, per_token: Span, time_scale: f64, rng: StdRng) -> Self {
        Self { start: Instant::now(), due_ms: 0.0, time_scale, first_token, per_token, rng }
    }

    /// From now on tokens come this far apart.
    pub(super) fn set_per_token(&mut self, span: Span) {
        self.per_token = span;
    }

    /// Waits for the first token.
    pub(super) async fn first_token(&mut self) {
        let span = self.first_token.draw(&mut self.rng);
        self.pass(span).await;
    }

    /// Waits for that many more tokens.
    pub(super) async fn tokens(&mut self, count: u64) {
        let span = self.per_token.draw(&mut self.rng) * count as f64;
        self.pass(span).await;
    }

    /// Waits for a span as a scenario writes it.
    pub(super) async fn pass(&mut self, millis: f64) {
        if millis <= 0.0 {
            return;
        }
        self.due_ms += millis / self.time_scale;
        tokio::time::sleep_until(self.start + Duration::from_secs_f64(self.due_ms / 1_000.0)).await;
    }
}

/// A call with everything that its answer needs.
pub(super) struct Exchange {
    pub(super) call: Call,
    pub(super) pace: Pace,
    pub(super) switch: Switch,
}

impl Exchange {
    /// Ends the connection and never returns: the server lets go of the answer that waits here.
    pub(super) async fn cut(&mut self, reset: bool) -> Infallible {
        tokio::time::sleep(FLUSH).await;
        self.call.finish(Ended::Cut);
        self.switch.cut(reset);
        std::future::pending().await
    }

    /// Says nothing more. Ends the connection after the time, if one is given.
    pub(super) async fn stall(&mut self, millis: Option<f64>) -> Infallible {
        match millis {
            // The silence is counted from here, not from the last token that was due.
            Some(millis) => {
                tokio::time::sleep(Duration::from_secs_f64(millis / self.pace.time_scale / 1_000.0)).await;
                self.cut(false).await
            }
            None => std::future::pending().await,
        }
    }

    /// Answers in one piece.
    pub(super) fn whole(
        self,
        status: StatusCode,
        headers: HeaderMap,
        bytes: Vec<u8>,
        tokens: u64,
    ) -> Response {
        let whole = Whole { bytes: Some(bytes.into()), call: self.call, status: status.as_u16(), tokens };
        respond(status, headers, Body::new(whole))
    }

    /// Answers step by step. With a length the client knows how much should come.
    pub(super) fn play(
        mut self,
        content_type: &'static str,
        length: Option<u64>,
        steps: Vec<Step>,
    ) -> Response {
        self.call.answered(StatusCode::OK.as_u16());
        let mut headers = content_type_header(content_type);
        if let Some(length) = length {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
        respond(StatusCode::OK, headers, Body::from_stream(play(self, steps)))
    }
}

/// Headers with a content type.
pub(super) fn content_type_header(content_type: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))])
}

fn respond(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// The call is complete when its last frame is handed over. Nothing may be left to do after that: the server
/// lets go of a body as soon as it has the length that was announced.
fn play(mut exchange: Exchange, steps: Vec<Step>) -> impl Stream<Item = Result<Bytes, Infallible>> {
    async_stream::stream! {
        let last = steps.len().saturating_sub(1);
        for (index, step) in steps.into_iter().enumerate() {
            let bytes = match step {
                Step::Frame(bytes) => bytes,
                Step::Tokens { bytes, tokens, waits } => {
                    exchange.pace.tokens(waits).await;
                    exchange.call.produced(tokens);
                    bytes
                }
                Step::Filling(bytes) => {
                    for piece in filling(bytes) {
                        yield Ok(piece);
                    }
                    continue;
                }
                Step::Stall(millis) => match exchange.stall(millis).await {},
                Step::Cut(reset) => match exchange.cut(reset).await {},
            };
            if index == last {
                exchange.call.finish(Ended::Complete);
            }
            yield Ok(bytes);
        }
    }
}

fn filling(bytes: u64) -> impl Iterator<Item = Bytes> {
    let piece = Bytes::from(vec![b'x'; GIANT_PIECE]);
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let size = usize::try_from(rest).unwrap_or(GIANT_PIECE).min(GIANT_PIECE);
        rest -= size as u64;
        (size > 0).then(|| piece.slice(..size))
    })
}

/// A body in one piece that tells the log when it was handed over.
struct Whole {
    bytes: Option<Bytes>,
    call: Call,
    status: u16,
    tokens: u64,
}

impl hyper::body::Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        let frame = this.bytes.take().map(|bytes| {
            this.call.complete(this.status, this.tokens);
            Ok(Frame::data(bytes))
        });
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}
