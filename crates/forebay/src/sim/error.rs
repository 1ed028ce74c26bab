//! Error answers in OpenAI's form.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::clock::Micros;
use super::limiter::{IN_FLIGHT, Refusal, TOKENS};
use super::scenario::StatusFault;

/// An error answer before it is sent.
#[derive(Debug)]
pub(super) struct ApiError {
    pub(super) status: StatusCode,
    pub(super) headers: Box<HeaderMap>,
    pub(super) body: Vec<u8>,
}

impl ApiError {
    /// An answer in OpenAI's form.
    pub(super) fn new(status: StatusCode, message: &str, kind: &str, code: Option<&str>) -> Self {
        let body = envelope(message, kind, None, code);
        Self { status, headers: Box::default(), body: body.to_string().into_bytes() }
    }

    /// The request is wrong, in this member.
    pub(super) fn bad_request(message: &str, param: Option<&str>, code: &str) -> Self {
        let body = envelope(message, "invalid_request_error", param, Some(code));
        let body = body.to_string().into_bytes();
        Self { status: StatusCode::BAD_REQUEST, headers: Box::default(), body }
    }

    /// There is nothing of this name.
    pub(super) fn not_found(message: &str, code: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, message, "invalid_request_error", Some(code))
    }

    /// A limit of the account refuses the call.
    pub(super) fn limited(refusal: &Refusal) -> Self {
        let Refusal { limit, allowed, used, asked, wait } = refusal;
        let kind = if *limit == TOKENS { "tokens" } else { "requests" };
        let advice = match wait {
            Some(wait) => format!("Please try again in {}.", go_duration(*wait)),
            None => "The request is larger than the limit.".to_owned(),
        };
        let message = format!(
            "[simulated] Rate limit reached on {limit}: Limit {allowed}, Used {used}, Requested {asked}. {advice}"
        );
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, &message, kind, Some("rate_limit_exceeded"));
        if let Some(wait) = wait {
            set_retry_after(&mut error.headers, *wait);
        }
        if *limit == IN_FLIGHT {
            error.headers.insert("x-ratelimit-limit-concurrent", HeaderValue::from(*allowed));
        }
        error
    }

    /// The error that a rule asks for.
    pub(super) fn of_fault(fault: &StatusFault, time_scale: f64) -> Self {
        let status = StatusCode::from_u16(fault.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let message = match &fault.message {
            Some(message) => message.clone(),
            None => format!("[simulated] {status}"),
        };
        let (kind, code) = usual_words(fault.status);
        let kind = fault.error_type.as_deref().unwrap_or(kind);
        let code = fault.code.as_deref().or(code);
        let mut error = Self::new(status, &message, kind, code);
        match &fault.body {
            Some(Value::String(text)) => error.body = text.clone().into_bytes(),
            Some(value) => error.body = value.to_string().into_bytes(),
            None => {}
        }
        if let Some(seconds) = fault.retry_after {
            set_retry_after(&mut error.headers, (seconds * 1_000_000.0 / time_scale) as Micros);
        }
        error.set_written_headers(fault);
        error
    }

    fn set_written_headers(&mut self, fault: &StatusFault) {
        for (name, value) in &fault.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                self.headers.insert(name, value);
            }
        }
    }

    /// The head of the answer: content type JSON unless a rule wrote another.
    pub(super) fn head(&self) -> HeaderMap {
        let mut headers = HeaderMap::clone(&self.headers);
        headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        headers
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, self.head(), self.body).into_response()
    }
}

/// The error object of OpenAI's interface; all four members are always present.
pub(super) fn envelope(message: &str, kind: &str, param: Option<&str>, code: Option<&str>) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": param, "code": code } })
}

/// The type and the code that usually come with a status.
fn usual_words(status: u16) -> (&'static str, Option<&'static str>) {
    match status {
        401 => ("invalid_request_error", Some("invalid_api_key")),
        404 => ("invalid_request_error", Some("model_not_found")),
        413 => ("invalid_request_error", Some("request_too_large")),
        429 => ("requests", Some("rate_limit_exceeded")),
        503 | 529 => ("server_error", Some("overloaded")),
        500.. => ("server_error", None),
        _ => ("invalid_request_error", None),
    }
}

/// Both forms of the hint, rounded up, so that nobody comes back too early.
fn set_retry_after(headers: &mut HeaderMap, wait: Micros) {
    headers.insert(RETRY_AFTER, HeaderValue::from(wait.div_ceil(1_000_000)));
    headers.insert("retry-after-ms", HeaderValue::from(wait.div_ceil(1_000)));
}

/// A span as Go writes it, and OpenAI with it: `12ms`, `1.5s`, `6m0s`.
pub(super) fn go_duration(span: Micros) -> String {
    let millis = span.div_ceil(1_000);
    let (minutes, rest) = (millis / 60_000, millis % 60_000);
    let seconds = rest as f64 / 1_000.0;
    match (minutes, rest) {
        (0, 0..1_000) => format!("{rest}ms"),
        (0, _) => format!("{seconds}s"),
        _ => format!("{minutes}m{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_written_as_go_writes_them() {
        let written = [0, 11_001, 1_000_000, 1_500_000, 360_000_000, 61_250_000].map(go_duration);
        assert_eq!(written, ["0ms", "12ms", "1s", "1.5s", "6m0s", "1m1.25s"]);
    }
}
