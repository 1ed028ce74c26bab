//! One request and its answer, read within the deadlines and the limits.

use forebay_core::definition::Deadlines;
use forebay_core::failure::FailureClass;
use forebay_core::limits::{KEY_CHARS, PROVIDER_REPLY_BYTES};
use forebay_core::retry::Hint;
use forebay_core::text::storable;
use forebay_core::time::{Millis, Timestamp};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use reqwest::{Body, RequestBuilder, Response};

use crate::deadline::Watch;
use crate::failed::{Failed, in_words};
use crate::hints::{self, Signals};
use crate::outgoing::Outgoing;
use crate::provider_error;
use crate::sse::{Parser, Unreadable};
use crate::wire::{Flow, Reader};

/// Bytes that are read of an error's body.
const ERROR_BODY_BYTES: usize = 64 * 1024;

/// Headers in which providers name a call, the usual one first.
const REQUEST_ID_HEADERS: [&str; 3] = ["x-request-id", "request-id", "apim-request-id"];

/// One request and its answer.
#[derive(Debug)]
pub(crate) struct Exchange {
    watch: Watch,
    now: Timestamp,
    provider_request_id: Option<String>,
    signals: Signals,
}

impl Exchange {
    /// Starts the clock.
    pub(crate) fn start(deadlines: Deadlines, now: Timestamp) -> Self {
        Self { watch: Watch::start(deadlines), now, provider_request_id: None, signals: Signals::default() }
    }

    /// The request's body, which tells when it is sent.
    pub(crate) fn body(&self, body: Vec<u8>) -> Body {
        Body::wrap(Outgoing::new(body, self.watch.sent()))
    }

    /// The provider's name for the call.
    pub(crate) fn provider_request_id(&self) -> Option<String> {
        self.provider_request_id.clone()
    }

    /// What the answer said about the provider's limits.
    pub(crate) fn signals(&self) -> Signals {
        self.signals.clone()
    }

    /// Time to the first byte of the answer's body.
    pub(crate) fn first_byte(&self) -> Option<Millis> {
        self.watch.first_byte()
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Millis {
        self.watch.elapsed()
    }

    /// Sends the request and lets `reader` take in the answer, until it is complete or something fails.
    pub(crate) async fn run(
        &mut self,
        request: RequestBuilder,
        reader: &mut dyn Reader,
    ) -> Result<(), Failed> {
        let response = self.send(request).await?;
        self.provider_request_id = request_id(response.headers());
        if !response.status().is_success() {
            return Err(self.read_error(response).await);
        }
        self.signals = signals(response.status().as_u16(), response.headers(), &[], self.now);
        match (encoding(response.headers()), kind(response.headers())) {
            (Some(encoding), _) => Err(unasked("is compressed").saying(encoding)),
            (None, Kind::Stream) => self.read_stream(response, reader).await,
            (None, Kind::Json) => self.read_document(response, reader).await,
            (None, Kind::Other(kind)) => Err(unasked("is neither events nor JSON").saying(kind)),
        }
    }

    /// Waits for the answer's head. What fails before the body was asked for was never sent.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Failed> {
        let answer = self.watch.within(request.send()).await?;
        answer.map_err(|error| {
            let words = in_words(error);
            if self.watch.is_sent() {
                Failed::unknown(FailureClass::StreamBroken, format!("no answer: {words}"))
            } else {
                Failed::before_send(FailureClass::NotSent, words)
            }
        })
    }

    /// Reads the body of an error as far as it is of use; the status alone already says that it is one.
    async fn read_error(&mut self, mut response: Response) -> Failed {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let mut body = Vec::new();
        if encoding(&headers).is_none() {
            while let Ok(Some(bytes)) = self.next(&mut response).await {
                let room = ERROR_BODY_BYTES - body.len();
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
                if bytes.len() >= room {
                    break;
                }
            }
        }
        self.signals = signals(status, &headers, &body, self.now);
        provider_error::with_status(status, &body, self.signals.wait.map(Hint::from))
    }

    async fn read_stream(&mut self, mut response: Response, reader: &mut dyn Reader) -> Result<(), Failed> {
        let (mut parser, mut events, mut size) = (Parser::default(), Vec::new(), 0);
        while let Some(bytes) = self.next(&mut response).await? {
            size = within_limit(size + bytes.len())?;
            let readable = parser.push(&bytes, &mut events);
            for event in events.drain(..) {
                if reader.event(&event)? == Flow::Done {
                    return Ok(());
                }
            }
            readable.map_err(unreadable)?;
        }
        Ok(())
    }

    async fn read_document(&mut self, mut response: Response, reader: &mut dyn Reader) -> Result<(), Failed> {
        let mut body = Vec::new();
        while let Some(bytes) = self.next(&mut response).await? {
            within_limit(body.len() + bytes.len())?;
            body.extend_from_slice(&bytes);
        }
        reader.document(&body)
    }

    /// The next piece of the answer's body; `None` at its end.
    async fn next(&mut self, response: &mut Response) -> Result<Option<bytes::Bytes>, Failed> {
        let piece = self.watch.within(response.chunk()).await?;
        let piece = piece.map_err(|error| Failed::unknown(FailureClass::StreamBroken, in_words(error)))?;
        if piece.as_ref().is_some_and(|bytes| !bytes.is_empty()) {
            self.watch.received();
        }
        Ok(piece)
    }
}

/// What a body is, by its `Content-Type`.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Stream,
    Json,
    Other(String),
}

fn kind(headers: &HeaderMap) -> Kind {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("no type");
    let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "text/event-stream" => Kind::Stream,
        "application/json" => Kind::Json,
        json if json.starts_with("application/") && json.ends_with("+json") => Kind::Json,
        _ => Kind::Other(storable(&essence, KEY_CHARS)),
    }
}

/// How a body is compressed, although it was asked for as it is.
fn encoding(headers: &HeaderMap) -> Option<String> {
    let value = String::from_utf8_lossy(headers.get(CONTENT_ENCODING)?.as_bytes()).to_ascii_lowercase();
    (!matches!(value.trim(), "" | "identity")).then(|| storable(&value, KEY_CHARS))
}

fn signals(status: u16, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Signals {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    hints::read(status, header, body, now)
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let value = REQUEST_ID_HEADERS.iter().find_map(|name| headers.get(*name)?.to_str().ok())?;
    Some(storable(value, KEY_CHARS))
}

/// The size of the reply so far, if it may have that size.
fn within_limit(size: usize) -> Result<usize, Failed> {
    if size > PROVIDER_REPLY_BYTES {
        let message = format!("the answer is longer than {PROVIDER_REPLY_BYTES} bytes");
        return Err(Failed::unknown(FailureClass::TooLarge, message));
    }
    Ok(size)
}

fn unreadable(why: Unreadable) -> Failed {
    match why {
        Unreadable::LongLine => Failed::unknown(FailureClass::TooLarge, why.to_string()),
        Unreadable::NotUtf8 => Failed::after_send(FailureClass::InvalidOutput, why.to_string()),
    }
}

/// A success in a form that nobody asked for.
fn unasked(what: &str) -> Failed {
    Failed::after_send(FailureClass::ProviderError, format!("the answer {what}"))
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn headers(name: reqwest::header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn kinds_of_bodies() {
        let other = |kind: &str| Kind::Other(kind.to_owned());
        for (value, expected) in [
            ("text/event-stream", Kind::Stream),
            ("Text/Event-Stream; charset=utf-8", Kind::Stream),
            ("application/json", Kind::Json),
            ("application/json;charset=UTF-8", Kind::Json),
            ("application/problem+json", Kind::Json),
            ("text/html", other("text/html")),
            ("application/jsonl", other("application/jsonl")),
            ("", other("")),
        ] {
            assert_eq!(kind(&headers(CONTENT_TYPE, value)), expected, "{value}");
        }
        assert_eq!(kind(&HeaderMap::new()), other("no type"));
    }

    #[test]
    fn encodings_that_are_none() {
        for (value, expected) in [("identity", None), ("", None), ("GZIP", Some("gzip")), ("br", Some("br"))]
        {
            assert_eq!(encoding(&headers(CONTENT_ENCODING, value)).as_deref(), expected);
        }
        assert_eq!(encoding(&HeaderMap::new()), None);
    }

    #[test]
    fn a_reply_may_have_the_published_size_and_no_byte_more() {
        assert!(within_limit(PROVIDER_REPLY_BYTES).is_ok());
        let failed = within_limit(PROVIDER_REPLY_BYTES + 1).unwrap_err();
        assert_eq!(failed.failure.class, FailureClass::TooLarge);
    }
}
