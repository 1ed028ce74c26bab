//! JSON answers on the wire, with what a fault does to their bytes and to their pace.

use axum::body::Bytes;
use axum::response::Response;
use http::StatusCode;
use serde_json::Value;

use super::scenario::{Fault, Span};
use super::script::{Exchange, Step, content_type_header};

const JSON: &str = "application/json";
/// Bytes of a JSON answer that count as a chunk when it is cut or stalls.
const CHUNK: usize = 16;
/// Bytes of a JSON answer that count as a token when it drips.
const TOKEN: usize = 4;

/// Sends a JSON answer that has that many tokens.
pub(super) async fn deliver(
    body: Value,
    tokens: u64,
    fault: Option<&Fault>,
    mut exchange: Exchange,
) -> Response {
    let bytes = spoilt(body.to_string().into_bytes(), fault);
    exchange.pace.first_token().await;
    let length = bytes.len() as u64;
    match fault {
        Some(Fault::HangAfterFirstToken { for_ms }) => {
            let first = first_chunks(&bytes, 1);
            exchange.play(JSON, Some(length), vec![Step::Frame(first), Step::Stall(*for_ms)])
        }
        Some(Fault::Cut { after_chunks, reset }) => {
            let first = first_chunks(&bytes, *after_chunks);
            exchange.play(JSON, Some(length), vec![Step::Frame(first), Step::Cut(*reset)])
        }
        Some(Fault::Drip { every_ms }) => {
            exchange.pace.set_per_token(Span::Fixed(*every_ms));
            exchange.play(JSON, Some(length), drops(&bytes, tokens))
        }
        Some(Fault::GiantLine { bytes: giant }) => {
            exchange.call.produced(tokens);
            let (before, after) = giant_parts(&bytes);
            let (before, after) = (Bytes::copy_from_slice(before), Bytes::copy_from_slice(after));
            let steps = vec![Step::Frame(before), Step::Filling(*giant), Step::Frame(after)];
            exchange.play(JSON, Some(length.saturating_add(*giant)), steps)
        }
        _ => {
            exchange.pace.tokens(tokens.saturating_sub(1)).await;
            exchange.whole(StatusCode::OK, content_type_header(JSON), bytes, tokens)
        }
    }
}

fn spoilt(json: Vec<u8>, fault: Option<&Fault>) -> Vec<u8> {
    match fault {
        Some(Fault::MalformedJson {}) => malformed(json),
        Some(Fault::InvalidUtf8 {}) => with_invalid_utf8(json),
        _ => json,
    }
}

/// The first chunks of a body; never the whole of it.
fn first_chunks(bytes: &[u8], chunks: u64) -> Bytes {
    let wanted = usize::try_from(chunks).unwrap_or(usize::MAX).saturating_mul(CHUNK);
    Bytes::copy_from_slice(&bytes[..wanted.min(bytes.len().saturating_sub(1))])
}

/// A body in drops of a token each. The first comes at once; the answer's own tokens count with the last.
fn drops(bytes: &[u8], tokens: u64) -> Vec<Step> {
    let last = bytes.len().div_ceil(TOKEN).saturating_sub(1);
    let drops = bytes.chunks(TOKEN).enumerate().map(|(index, drop)| Step::Tokens {
        bytes: Bytes::copy_from_slice(drop),
        tokens: if index == last { tokens } else { 0 },
        waits: u64::from(index > 0),
    });
    drops.collect()
}

/// The first half of a JSON text.
pub(super) fn malformed(mut json: Vec<u8>) -> Vec<u8> {
    json.truncate(json.len() / 2);
    json
}

/// A JSON text with the bytes FF FE at the start of one of its texts.
pub(super) fn with_invalid_utf8(mut json: Vec<u8>) -> Vec<u8> {
    let at = text_start(&json);
    json.splice(at..at, [0xFF, 0xFE]);
    json
}

/// A JSON text in two, so that what is put between them becomes part of one of its texts.
pub(super) fn giant_parts(json: &[u8]) -> (&[u8], &[u8]) {
    json.split_at(text_start(json))
}

/// Where the text of the answer starts: after `"content":"`, else in the first member that is a text.
fn text_start(json: &[u8]) -> usize {
    let after = |needle: &[u8]| {
        let found = json.windows(needle.len()).position(|window| window == needle);
        found.map(|start| start + needle.len())
    };
    after(br#""content":""#)
        .or_else(|| after(br#""text":""#))
        .or_else(|| after(br#":""#))
        .unwrap_or(json.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_body_is_never_whole() {
        let body = b"0123456789abcdefXYZ";
        assert_eq!(&first_chunks(body, 1)[..], &body[..16]);
        assert_eq!(&first_chunks(body, 9)[..], &body[..18]);
        assert_eq!(first_chunks(body, 0).len(), 0);
    }

    #[test]
    fn giant_filling_lands_inside_a_text() {
        for json in [r#"{"a":1,"content":"x"}"#, r#"{"content":null,"text":"y"}"#, r#"{"model":"m"}"#] {
            let (before, after) = giant_parts(json.as_bytes());
            let joined = [before, b"xxxx", after].concat();
            assert!(serde_json::from_slice::<Value>(&joined).is_ok_and(|it| it.to_string().contains("xxxx")));
        }
        assert!(String::from_utf8(with_invalid_utf8(br#"{"content":"x"}"#.to_vec())).is_err());
    }
}
