//! Spans of time: `500ms`, `10s`, `5m`, `2h`, `7d`.

use forebay_core::time::Millis;

const UNITS: [(&str, i64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads a span of time: a whole number and a unit.
///
/// # Errors
///
/// When it is anything else.
pub fn duration(text: &str) -> Result<Millis, String> {
    let refuse = || "expected a whole number and a unit: 500ms, 10s, 5m, 2h or 7d".to_owned();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: i64 = number.parse().map_err(|_| refuse())?;
    let (_, scale) = UNITS.into_iter().find(|(name, _)| *name == unit).ok_or_else(refuse)?;
    number.checked_mul(scale).map(Millis::new).ok_or_else(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_number_and_a_unit() {
        for (text, millis) in [
            ("500ms", 500),
            ("10s", 10_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("7d", 604_800_000),
            ("0s", 0),
        ] {
            assert_eq!(duration(text), Ok(Millis::new(millis)), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in ["", "10", "s", "1.5h", "-1s", "1 h", "1w", "1H", "9223372036854775807d", "1h30m", "٣s"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
