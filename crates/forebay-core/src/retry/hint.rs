//! What a provider said about when to come back.
//!
//! Providers say it in four places, often in several at once: `Retry-After` and its relatives in
//! milliseconds, the reset time of a limit that is used up, a field of the error body, and plain text in the
//! error's message. Whoever holds several hints takes the largest, so that no call comes before any of them:
//! `Option<Hint>` is ordered for that, `None` first.
//!
//! Whatever can't be read is no hint. A time in the past is a wait of zero, and a wait beyond all time is as
//! long as time is here; neither is this module's to judge. Fractions round up: never come early.

use serde_json::Value;

use crate::time::{Millis, Timestamp};

/// A provider's word on how long to wait, counted from when its answer arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hint {
    /// Not to come back earlier than this.
    pub wait: Millis,
}

impl Hint {
    /// What the headers of an error say; `header` looks one up by its lower-case name.
    ///
    /// `Retry-After` as a date (RFC 9110, section 10.2.3) is measured from the response's own `Date`, so that
    /// a provider whose clock is wrong still says how long it means; without one it is measured from `now`.
    /// Of the `x-ratelimit-reset-*` headers only those count whose limit has nothing remaining.
    pub fn from_headers<'a>(header: impl Fn(&str) -> Option<&'a str>, now: Timestamp) -> Option<Hint> {
        let told = retry_after(&header, now);
        let resets = ["requests", "tokens"].map(|dimension| reset_of_exhausted(&header, dimension));
        resets.into_iter().fold(told, Option::max).map(|wait| Hint { wait })
    }

    /// What an error object says: `details[].retryDelay` (google.rpc.RetryInfo), `retry_after` in seconds, or
    /// its `message` in words.
    pub fn from_error(error: &Value) -> Option<Hint> {
        let details = error.get("details").and_then(Value::as_array);
        let delays = details.into_iter().flatten().filter_map(|detail| detail.get("retryDelay")?.as_str());
        let delay = delays.filter_map(duration).max().map(|wait| Hint { wait });
        let seconds = error.get("retry_after").and_then(Value::as_f64);
        let field = seconds.map(|seconds| Hint { wait: ceil(seconds * 1_000.0) });
        let words = error.get("message").and_then(Value::as_str).and_then(Hint::from_text);
        delay.max(field).max(words)
    }

    /// What a message says in words: `Please try again in 7.2s`, `retry after 6 seconds`.
    pub fn from_text(text: &str) -> Option<Hint> {
        let text = text.to_ascii_lowercase();
        let phrases = ["try again in ", "retry in ", "retry after "];
        let (_, after) = phrases.into_iter().find_map(|phrase| text.split_once(phrase))?;
        let mut words = after.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ';', ')', '!']));
        let amount = words.next()?;
        let wait = duration(amount).or_else(|| duration(&format!("{amount}{}", words.next()?)))?;
        Some(Hint { wait })
    }
}

/// The wait that `Retry-After` or one of its relatives asks for, the most exact one first.
fn retry_after<'a>(header: &impl Fn(&str) -> Option<&'a str>, now: Timestamp) -> Option<Millis> {
    let millis = |name: &str| header(name).and_then(number).map(ceil);
    millis("retry-after-ms").or_else(|| millis("x-ms-retry-after-ms")).or_else(|| {
        let text = header("retry-after")?;
        let seconds = number(text).map(|seconds| ceil(seconds * 1_000.0));
        seconds.or_else(|| Some(http_date(text)?.since(header("date").and_then(http_date).unwrap_or(now))))
    })
}

/// The wait until a limit is reset, if nothing of it remains. Azure sends limits of 0 and -1 that mean
/// nothing; such a limit is unknown, not used up.
fn reset_of_exhausted<'a>(header: &impl Fn(&str) -> Option<&'a str>, dimension: &str) -> Option<Millis> {
    let field = |what: &str| header(&format!("x-ratelimit-{what}-{dimension}"));
    let unknown = field("limit").and_then(number).is_some_and(|limit| limit <= 0.0);
    let exhausted = field("remaining").and_then(number).is_some_and(|remaining| remaining == 0.0);
    if exhausted && !unknown { duration(field("reset")?) } else { None }
}

/// A decimal number; no `inf` and no `NaN`.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let decimal = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    text.bytes().all(decimal).then(|| text.parse().ok())?
}

/// A date as HTTP writes it today (`Sun, 06 Nov 1994 08:49:37 GMT`); not its two obsolete forms.
fn http_date(text: &str) -> Option<Timestamp> {
    let parser = jiff::fmt::rfc2822::DateTimeParser::new();
    parser.parse_timestamp(text.trim()).ok().map(|at| Timestamp::from_millis(at.as_millisecond()))
}

/// A duration as Go prints it: `12ms`, `7.66s`, `6m0s`; units may also be words (`6seconds`).
fn duration(text: &str) -> Option<Millis> {
    let text = text.trim();
    if let Some(positive) = text.strip_prefix('-') {
        return duration(positive).map(|_| Millis::ZERO);
    }
    if text == "0" {
        return Some(Millis::ZERO);
    }
    let of_number = |char: char| char.is_ascii_digit() || char == '.';
    let (mut rest, mut millis) = (text, None);
    while !rest.is_empty() {
        let (amount, tail) = rest.split_at(rest.find(|char| !of_number(char))?);
        let (unit, next) = tail.split_at(tail.find(of_number).unwrap_or(tail.len()));
        *millis.get_or_insert(0.0) += amount.parse::<f64>().ok()? * millis_per(unit)?;
        rest = next;
    }
    millis.map(ceil)
}

/// Milliseconds in a unit of time.
fn millis_per(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1e-6,
        "us" | "µs" | "μs" => 1e-3,
        "ms" | "millisecond" | "milliseconds" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e3,
        "m" | "min" | "mins" | "minute" | "minutes" => 6e4,
        "h" | "hour" | "hours" => 3.6e6,
        "d" | "day" | "days" => 8.64e7,
        _ => return None,
    })
}

/// Whole milliseconds, rounded up; nothing below zero and nothing beyond what a span can hold.
fn ceil(millis: f64) -> Millis {
    #[allow(clippy::cast_possible_truncation, reason = "the cast saturates, which is what is wanted")]
    Millis::new(millis.ceil() as i64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// 2026-12-01T10:00:00Z.
    const NOW: Timestamp = Timestamp::from_millis(1_796_119_200_000);

    fn wait(headers: &[(&str, &str)]) -> Option<i64> {
        let header = |name: &str| headers.iter().find(|(key, _)| *key == name).map(|(_, value)| *value);
        Hint::from_headers(header, NOW).map(|hint| hint.wait.get())
    }

    #[test]
    fn retry_after_in_numbers() {
        for (text, expected) in [
            ("7", Some(7_000)),
            (" 7 ", Some(7_000)),
            ("0.0001", Some(1)),
            ("1.2345", Some(1_235)),
            ("0", Some(0)),
            ("-3", Some(0)),
            ("1e9", Some(1_000_000_000_000)),
            ("1000000000", Some(1_000_000_000_000)),
            ("99999999999999999999999", Some(i64::MAX)),
            ("1e999", Some(i64::MAX)),
            ("", None),
            ("soon", None),
            ("inf", None),
            ("NaN", None),
            ("7s", None),
            ("7, 7", None),
            ("0x10", None),
            ("--1", None),
        ] {
            assert_eq!(wait(&[("retry-after", text)]), expected, "{text:?}");
        }
    }

    #[test]
    fn milliseconds_are_more_exact_than_seconds() {
        let seconds = ("retry-after", "2");
        for (name, text, expected) in [
            ("retry-after-ms", "1500", 1_500),
            ("x-ms-retry-after-ms", "1500", 1_500),
            ("retry-after-ms", "10.2", 11),
            ("retry-after-ms", "0", 0),
            ("retry-after-ms", "-5", 0),
            ("retry-after-ms", "garbage", 2_000),
            ("x-ms-retry-after-ms", "", 2_000),
        ] {
            assert_eq!(wait(&[seconds, (name, text)]), Some(expected), "{name}: {text:?}");
        }
    }

    #[test]
    fn a_date_is_measured_from_the_providers_own_clock() {
        let at = |text| ("retry-after", text);
        let date = ("date", "Tue, 01 Dec 2026 09:00:00 GMT");
        for (headers, expected) in [
            (vec![at("Tue, 01 Dec 2026 09:00:07 GMT"), date], Some(7_000)),
            (vec![at("Tue, 01 Dec 2026 08:00:00 GMT"), date], Some(0)),
            (vec![at("Tue, 01 Dec 2026 10:00:07 GMT")], Some(7_000)),
            (vec![at("Tue, 01 Dec 2026 10:00:07 GMT"), ("date", "today")], Some(7_000)),
            (vec![at("Tue, 01 Dec 2026 09:00:07 GMT")], Some(0)),
            (vec![at("Thu, 31 Dec 9998 23:59:59 GMT"), date], Some(251_574_649_199_000)),
            (vec![at("Mon, 01 Dec 2026 10:00:07 GMT")], None),
            (vec![at("2026-12-01T10:00:07Z")], None),
        ] {
            assert_eq!(wait(&headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn only_a_limit_that_is_used_up_makes_one_wait_for_its_reset() {
        let requests = ("x-ratelimit-reset-requests", "6m0s");
        let tokens = ("x-ratelimit-reset-tokens", "12ms");
        let no_requests = ("x-ratelimit-remaining-requests", "0");
        let no_tokens = ("x-ratelimit-remaining-tokens", "0");
        for (headers, expected) in [
            (vec![requests, tokens], None),
            (vec![requests, tokens, ("x-ratelimit-remaining-tokens", "12")], None),
            (vec![requests, tokens, no_requests], Some(360_000)),
            (vec![requests, tokens, no_tokens], Some(12)),
            (vec![requests, tokens, no_tokens, no_requests], Some(360_000)),
            (vec![requests, no_requests, ("retry-after", "7")], Some(360_000)),
            (vec![tokens, no_tokens, ("retry-after", "7")], Some(7_000)),
            (vec![requests, ("x-ratelimit-remaining-requests", "-1")], None),
            (vec![requests, no_requests, ("x-ratelimit-limit-requests", "-1")], None),
            (vec![requests, no_requests, ("x-ratelimit-limit-requests", "500")], Some(360_000)),
            (vec![no_requests], None),
        ] {
            assert_eq!(wait(&headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn durations_as_go_prints_them() {
        for (text, expected) in [
            ("12ms", Some(12)),
            ("1s", Some(1_000)),
            ("6m0s", Some(360_000)),
            ("1h2m3.5s", Some(3_723_500)),
            ("7.66s", Some(7_660)),
            ("34.074824224s", Some(34_075)),
            ("1d", Some(86_400_000)),
            ("100µs", Some(1)),
            ("1ns", Some(1)),
            ("0s", Some(0)),
            ("0", Some(0)),
            ("-1m", Some(0)),
            ("999999999999999999h", Some(i64::MAX)),
            ("", None),
            ("-", None),
            ("5", None),
            ("s", None),
            ("1.2.3s", None),
            ("1s5", None),
            ("1 s", None),
            ("1parsec", None),
            ("ß", None),
        ] {
            assert_eq!(duration(text).map(Millis::get), expected, "{text:?}");
        }
    }

    #[test]
    fn hints_in_error_bodies() {
        let retry_info = json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"});
        let other_detail = json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []});
        for (error, expected) in [
            (json!({"details": [other_detail, retry_info]}), Some(34_000)),
            (json!({"details": [retry_info], "message": "Please retry in 34.2s."}), Some(34_200)),
            (json!({"details": [{"retryDelay": 34}, {"retryDelay": "soon"}]}), None),
            (json!({"details": {"error_code": "ramp_limit_exceeded"}}), None),
            (json!({"retry_after": 2.5}), Some(2_500)),
            (json!({"retry_after": -1}), Some(0)),
            (json!({"retry_after": "later"}), None),
            (json!({"message": "Limit 3, Used 3. Please try again in 7.2s. Visit ..."}), Some(7_200)),
            (json!({"message": null}), None),
            (json!("busy"), None),
            (Value::Null, None),
        ] {
            assert_eq!(Hint::from_error(&error).map(|hint| hint.wait.get()), expected, "{error}");
        }
    }

    #[test]
    fn hints_in_words() {
        for (text, expected) in [
            ("Please try again in 20ms.", Some(20)),
            ("Please try again in 7m12s. Visit", Some(432_000)),
            ("Please retry after 6 seconds.", Some(6_000)),
            ("TRY AGAIN IN 1 MINUTE!", Some(60_000)),
            ("Please retry in 34.07s", Some(34_070)),
            ("try again in 0 seconds", Some(0)),
            ("try again in a moment", None),
            ("try again in ", None),
            ("try again in 5", None),
            ("try again later", None),
            ("", None),
        ] {
            assert_eq!(Hint::from_text(text).map(|hint| hint.wait.get()), expected, "{text:?}");
        }
    }
}
