//! Everything that is answered when a request can't be done: RFC 9457 problems, with the `error` member that
//! OpenAI's clients read.
//!
//! A handler returns `Err(Problem)`; [`crate::http::outer`] writes it out, because only there the request's id
//! is known. Which code to use where is in [`Code`].

mod code;
mod from;
pub(super) mod pages;

use axum::response::{IntoResponse, Response};
use forebay_core::time::Millis;
use forebay_store::record::RateLeft;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

use super::headers::rate_limit;
pub use code::{Code, Facts};

/// The media type of problems.
pub const MEDIA_TYPE: &str = "application/problem+json";

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Why a request was not done.
#[derive(Debug, Clone)]
pub struct Problem(Box<Content>);

#[derive(Debug, Clone)]
struct Content {
    code: Code,
    status: StatusCode,
    detail: String,
    errors: Vec<ErrorItem>,
    retry_after: Option<Millis>,
    rates: Vec<RateLeft>,
}

/// One thing that is wrong with a request, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, ToSchema)]
pub struct ErrorItem {
    /// The JSON pointer of the member, where it is about the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "/input/document")]
    pub pointer: Option<String>,
    /// The name of the query parameter or header, where it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// The code that the fault would have if it were the only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<&'static str>,
    /// What is wrong and what is allowed.
    pub message: String,
    /// The line in a text that was sent, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column in it, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

impl ErrorItem {
    /// A fault of a member of the body.
    pub fn at(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: Some(pointer.into()), message: message.into(), ..Self::default() }
    }

    /// A fault of a query parameter or a header.
    pub fn of_parameter(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { parameter: Some(name.into()), message: message.into(), ..Self::default() }
    }
}

impl Problem {
    /// A problem of a code; `detail` says what happened to this request, for a person.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let content = Content {
            code,
            status: code.facts().status,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after: None,
            rates: Vec::new(),
        };
        Self(Box::new(content))
    }

    /// What a foreign, an absent and a hidden object have in common.
    pub fn not_found() -> Self {
        Self::new(Code::NotFound, "there is nothing here that this key can see")
    }

    /// A fault of the server's own; what it was belongs into the log, not here.
    pub fn internal() -> Self {
        Self::new(Code::Internal, "a fault of the server's own")
    }

    /// A query parameter or a header that is not allowed.
    pub fn parameter(name: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(Code::InvalidParameter, format!("{name}: {message}"))
            .with_errors(vec![ErrorItem::of_parameter(name, message)])
    }

    /// Says what is wrong, item by item.
    #[must_use]
    pub fn with_errors(mut self, errors: Vec<ErrorItem>) -> Self {
        self.0.errors = errors;
        self
    }

    /// Says when it is worth trying again.
    #[must_use]
    pub fn retry_after(mut self, span: Millis) -> Self {
        self.0.retry_after = Some(span);
        self
    }

    /// Says where the limits of handing jobs in are.
    #[must_use]
    pub fn with_rates(mut self, rates: Vec<RateLeft>) -> Self {
        self.0.rates = rates;
        self
    }

    /// Answers with another status than the code's.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.0.status = status;
        self
    }

    /// What went wrong, for programs.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// What happened, for a person.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// What is wrong, item by item.
    pub fn errors(&self) -> &[ErrorItem] {
        &self.0.errors
    }

    /// The body, as it is sent.
    pub fn body(&self, request_id: &str) -> ProblemBody {
        let facts = self.0.code.facts();
        let first = self.0.errors.first();
        ProblemBody {
            r#type: format!("/problems/{}", facts.name),
            title: facts.title,
            status: self.0.status.as_u16(),
            detail: self.0.detail.clone(),
            code: facts.name,
            request_id: request_id.to_owned(),
            errors: self.0.errors.clone(),
            error: OpenAiError {
                message: self.0.detail.clone(),
                r#type: facts.openai_type,
                param: first.and_then(|item| item.pointer.clone().or_else(|| item.parameter.clone())),
                code: facts.name,
            },
        }
    }

    fn write_headers(&self, headers: &mut HeaderMap) {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if let Some(span) = self.0.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(span)));
            headers.insert(RETRY_AFTER_MS, HeaderValue::from(span.get().max(1)));
        }
        rate_limit(headers, &self.0.rates);
        // Every common client repeats 409 and 429 by itself; these are the ones where that can't help.
        if self.0.status == StatusCode::CONFLICT || self.0.code == Code::BudgetExhausted {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        if self.0.code == Code::Unauthorized {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"forebay\""));
        }
    }
}

/// At least one second, rounded up: coming back too early is refused again.
fn whole_seconds(span: Millis) -> i64 {
    (span.get().saturating_add(999) / 1_000).max(1)
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.0.status.into_response();
        self.write_headers(response.headers_mut());
        response.extensions_mut().insert(self);
        response
    }
}

/// A problem as it is sent (RFC 9457).
#[derive(Debug, Serialize, ToSchema)]
pub struct ProblemBody {
    /// The address of a page of this server about the code: cause and fix.
    #[schema(example = "/problems/unknown_member")]
    pub r#type: String,
    /// The same for every problem of the code.
    #[schema(value_type = String)]
    pub title: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// What happened to this request.
    pub detail: String,
    /// What went wrong, for programs: one of a closed list.
    #[schema(value_type = String)]
    pub code: &'static str,
    /// Names the request in the server's log.
    pub request_id: String,
    /// What is wrong, item by item.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorItem>,
    /// The same for clients that are made for OpenAI's API.
    pub error: OpenAiError,
}

/// An error as OpenAI's clients read it; all members are always there.
#[derive(Debug, Serialize, ToSchema)]
pub struct OpenAiError {
    /// What happened.
    pub message: String,
    /// The family of errors.
    #[schema(value_type = String)]
    pub r#type: &'static str,
    /// The member or parameter that it is about.
    #[schema(required = true)]
    pub param: Option<String>,
    /// The code of the problem.
    #[schema(value_type = String)]
    pub code: &'static str,
}

#[cfg(test)]
mod tests;
