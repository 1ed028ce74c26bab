//! What an answer says about the provider's limits: whether one was exceeded and which, how long to wait, and
//! what is left.
//!
//! Providers say it in several places at once: `Retry-After` and its relatives in milliseconds, headers for
//! each limit, a field of the error body, and plain text in the error's message. The largest wait counts, so
//! that no call comes before any of them. Nothing is believed beyond [`LONGEST_WAIT`].

mod parse;
#[cfg(test)]
mod tests;

use forebay_core::failure::FailureClass;
use forebay_core::retry::Hint;
use forebay_core::time::{Millis, Timestamp};
use serde_json::Value;

use crate::provider_error::ProviderError;
use parse::{ceil, duration, http_date, internet_date, number};

/// The longest wait that is believed, 31 days: the longest period of any provider's limit is a month. What is
/// said beyond, in years or without end, counts as this.
pub const LONGEST_WAIT: Millis = Millis::from_secs(31 * 24 * 3_600);

/// What an answer says about the provider's limits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signals {
    /// What kind of failure the answer is; absent for a success.
    pub class: Option<FailureClass>,
    /// How long to wait before the next call, if the answer is a failure and says so.
    pub wait: Option<Wait>,
    /// The limits that were exceeded, as far as the answer of a failure names them.
    pub exceeded: Vec<Dimension>,
    /// What the headers say about each limit; also of a success.
    pub limits: Vec<LimitState>,
}

/// How long to wait, counted from when the answer arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wait {
    /// Not to come back earlier than this; at most [`LONGEST_WAIT`].
    pub wait: Millis,
    /// Where it was said.
    pub source: Source,
}

/// Where a wait was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// In the error's message, in words.
    Message,
    /// In the error's `retry_after`.
    ErrorField,
    /// In the error's `details[].retryDelay` (google.rpc.RetryInfo).
    RetryInfo,
    /// When a limit is reset of which nothing remains.
    Reset(Dimension),
    /// In `Retry-After`, as a number of seconds or as a date.
    RetryAfter,
    /// In `retry-after-ms` or `x-ms-retry-after-ms`.
    RetryAfterMs,
}

/// What a limit counts, and over how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it; without a period it is the provider's usual one, a minute")]
pub enum Dimension {
    Requests,
    Tokens,
    InputTokens,
    OutputTokens,
    RequestsPerDay,
    TokensPerDay,
}

/// What an answer says about one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitState {
    /// What it counts.
    pub dimension: Dimension,
    /// How much is allowed.
    pub limit: Option<u64>,
    /// How much of it is left.
    pub remaining: Option<u64>,
    /// How long until all of it is there again; at most [`LONGEST_WAIT`].
    pub reset: Option<Millis>,
}

/// Each dimension by its names in headers; the words before and after the dimension are each provider's own.
const NAMES: [(Dimension, &str); 8] = [
    (Dimension::Requests, "requests"),
    (Dimension::Requests, "requests-minute"),
    (Dimension::Tokens, "tokens"),
    (Dimension::Tokens, "tokens-minute"),
    (Dimension::InputTokens, "input-tokens"),
    (Dimension::OutputTokens, "output-tokens"),
    (Dimension::RequestsPerDay, "requests-day"),
    (Dimension::TokensPerDay, "tokens-day"),
];

/// Reads an answer: its status, its headers, each looked up by its lower-case name, and the body of an error.
///
/// Dates are measured from the answer's own `Date`, so that a provider whose clock is wrong still says how
/// long it means; without one they are measured from `now`.
pub fn read<'a>(
    status: u16,
    header: impl Fn(&str) -> Option<&'a str>,
    body: &[u8],
    now: Timestamp,
) -> Signals {
    let now = header("date").and_then(http_date).unwrap_or(now);
    let limits = limits(&header, now);
    if (200..300).contains(&status) {
        return Signals { limits, ..Signals::default() };
    }
    let error = ProviderError::from_body(body);
    let used_up = || limits.iter().filter(|limit| limit.remaining == Some(0));
    let resets = used_up().filter_map(|limit| Some(Wait::new(limit.reset?, Source::Reset(limit.dimension))));
    let wait = resets.chain(retry_after(&header, now)).chain(error.wait).max();
    let named = error.tags().iter().filter_map(|tag| dimension_in(tag));
    let mut exceeded: Vec<_> = used_up().map(|limit| limit.dimension).chain(named).collect();
    exceeded.sort_unstable();
    exceeded.dedup();
    let class = error.class(status);
    if !matches!(class, FailureClass::RateLimited | FailureClass::QuotaExhausted) {
        exceeded.clear();
    }
    Signals { class: Some(class), wait, exceeded, limits }
}

impl Wait {
    fn new(wait: Millis, source: Source) -> Self {
        Self { wait: wait.min(LONGEST_WAIT), source }
    }
}

impl From<Wait> for Hint {
    fn from(wait: Wait) -> Self {
        Hint { wait: wait.wait }
    }
}

/// What an error object says: `details[].retryDelay` (google.rpc.RetryInfo), `retry_after` in seconds, or its
/// `message` in words.
pub(crate) fn in_error(error: &Value) -> Option<Wait> {
    let details = error.get("details").and_then(Value::as_array);
    let delays = details.into_iter().flatten().filter_map(|detail| detail.get("retryDelay")?.as_str());
    let delay = delays.filter_map(duration).max().map(|wait| Wait::new(wait, Source::RetryInfo));
    let seconds = error.get("retry_after").and_then(Value::as_f64);
    let field = seconds.map(|seconds| Wait::new(ceil(seconds * 1_000.0), Source::ErrorField));
    let words = error.get("message").and_then(Value::as_str).and_then(in_text);
    delay.max(field).max(words)
}

/// What a message says in words: `Please try again in 7.2s`, `retry after 6 seconds`.
pub(crate) fn in_text(text: &str) -> Option<Wait> {
    let text = text.to_ascii_lowercase();
    let phrases = ["try again in ", "retry in ", "retry after "];
    let (_, after) = phrases.into_iter().find_map(|phrase| text.split_once(phrase))?;
    let mut words = after.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ';', ')', '!']));
    let amount = words.next()?;
    let wait = duration(amount).or_else(|| duration(&format!("{amount}{}", words.next()?)))?;
    Some(Wait::new(wait, Source::Message))
}

/// The wait that `Retry-After` (RFC 9110, section 10.2.3) or one of its relatives asks for, the most exact one
/// first.
fn retry_after<'a>(header: &impl Fn(&str) -> Option<&'a str>, now: Timestamp) -> Option<Wait> {
    let millis = |name: &str| header(name).and_then(number).map(ceil);
    let exact = millis("retry-after-ms").or_else(|| millis("x-ms-retry-after-ms"));
    exact.map(|wait| Wait::new(wait, Source::RetryAfterMs)).or_else(|| {
        let text = header("retry-after")?;
        let seconds = number(text).map(|seconds| ceil(seconds * 1_000.0));
        let wait = seconds.or_else(|| Some(http_date(text)?.since(now)))?;
        Some(Wait::new(wait, Source::RetryAfter))
    })
}

/// What the headers say about each limit. Azure sends limits of 0 and -1 that mean nothing; such a limit is
/// unknown, not used up.
fn limits<'a>(header: &impl Fn(&str) -> Option<&'a str>, now: Timestamp) -> Vec<LimitState> {
    let of = |(dimension, name): (Dimension, &str)| {
        let field = |what: &str| {
            let openai = header(&format!("x-ratelimit-{what}-{name}"));
            openai.or_else(|| header(&format!("anthropic-ratelimit-{name}-{what}")))
        };
        let limit = field("limit").and_then(number);
        if limit.is_some_and(|limit| limit <= 0.0) {
            return None;
        }
        let remaining = field("remaining").and_then(number).filter(|remaining| *remaining >= 0.0);
        let reset = field("reset").and_then(|text| reset(text, now)).map(|reset| reset.min(LONGEST_WAIT));
        let known = limit.is_some() || remaining.is_some() || reset.is_some();
        known.then(|| LimitState {
            dimension,
            limit: limit.map(whole),
            remaining: remaining.map(whole),
            reset,
        })
    };
    NAMES.into_iter().filter_map(of).collect()
}

/// How long until a limit is reset: a duration, a date, or a number, which is of seconds or, where it is that
/// large, a time since 1970 in seconds or milliseconds.
fn reset(text: &str, now: Timestamp) -> Option<Millis> {
    let by_number = |number: f64| match number {
        millis if millis >= 1e12 => Timestamp::from_millis(ceil(millis).get()).since(now),
        seconds if seconds >= 1e9 => Timestamp::from_millis(ceil(seconds * 1_000.0).get()).since(now),
        seconds => ceil(seconds * 1_000.0),
    };
    let date = || Some(internet_date(text)?.since(now));
    number(text).map(by_number).or_else(|| duration(text)).or_else(date)
}

/// What the type of an error (OpenAI's `tokens`) or the name of a quota (Gemini's
/// `GenerateRequestsPerDayPerProjectPerModel`) counts.
fn dimension_in(tag: &str) -> Option<Dimension> {
    let per_day = tag.contains("perday");
    match tag {
        "requests" => Some(Dimension::Requests),
        "tokens" => Some(Dimension::Tokens),
        "input_tokens" => Some(Dimension::InputTokens),
        "output_tokens" => Some(Dimension::OutputTokens),
        quota if !quota.contains("per") => None,
        quota if quota.contains("token") && per_day => Some(Dimension::TokensPerDay),
        quota if quota.contains("inputtoken") => Some(Dimension::InputTokens),
        quota if quota.contains("token") => Some(Dimension::Tokens),
        quota if quota.contains("request") && per_day => Some(Dimension::RequestsPerDay),
        quota if quota.contains("request") => Some(Dimension::Requests),
        _ => None,
    }
}

/// A count as a whole number, rounded down: what is left is never more than was said.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn whole(number: f64) -> u64 {
    number as u64
}
