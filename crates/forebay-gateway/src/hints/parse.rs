//! Numbers, dates and durations as providers write them. What can't be read is nothing; a time in the past is a
//! wait of zero; fractions round up, so that nobody comes early.

use forebay_core::time::{Millis, Timestamp};

/// A decimal number; no `inf` and no `NaN`.
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let decimal = |byte: u8| byte.is_ascii_digit() || b"+-.eE".contains(&byte);
    text.bytes().all(decimal).then(|| text.parse().ok())?
}

/// A date as HTTP writes it today (`Sun, 06 Nov 1994 08:49:37 GMT`); not its two obsolete forms.
pub(super) fn http_date(text: &str) -> Option<Timestamp> {
    let parser = jiff::fmt::rfc2822::DateTimeParser::new();
    parser.parse_timestamp(text.trim()).ok().map(|at| Timestamp::from_millis(at.as_millisecond()))
}

/// A date as RFC 3339 writes it: `2026-12-01T10:00:00Z`.
pub(super) fn internet_date(text: &str) -> Option<Timestamp> {
    let at: jiff::Timestamp = text.trim().parse().ok()?;
    Some(Timestamp::from_millis(at.as_millisecond()))
}

/// A duration as Go prints it: `12ms`, `7.66s`, `6m0s`; units may also be words (`6seconds`).
pub(super) fn duration(text: &str) -> Option<Millis> {
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
pub(super) fn ceil(millis: f64) -> Millis {
    #[allow(clippy::cast_possible_truncation, reason = "the cast saturates, which is what is wanted")]
    Millis::new(millis.ceil() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
