//! Money: written with a point, kept in millionths.

const MICROS: i64 = 1_000_000;

/// Reads an amount of money in millionths of its unit: `12.50` is 12,500,000.
///
/// # Errors
///
/// When it is negative, has more than six decimals, or is no number.
pub fn money(text: &str) -> Result<i64, String> {
    let refuse = || "expected an amount such as 12.50, with at most six decimals".to_owned();
    let (units, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(units) || !all_digits(decimals) || decimals.len() > 6 {
        return Err(refuse());
    }
    let units: i64 = units.parse().map_err(|_| refuse())?;
    let decimals: i64 = format!("{decimals:0<6}").parse().map_err(|_| refuse())?;
    units.checked_mul(MICROS).and_then(|micros| micros.checked_add(decimals)).ok_or_else(refuse)
}

/// Writes millionths as an amount with at least two decimals: `12.50`, `0.00131`.
pub fn shown_money(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let micros = micros.unsigned_abs();
    let scale = MICROS.unsigned_abs();
    let decimals = format!("{:06}", micros % scale);
    let (always, rest) = decimals.split_at(2);
    format!("{sign}{}.{always}{}", micros / scale, rest.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_read_without_rounding() {
        for (text, micros) in
            [("12.50", 12_500_000), ("0.000001", 1), ("7", 7_000_000), ("0", 0), ("0.1", 100_000)]
        {
            assert_eq!(money(text), Ok(micros), "{text}");
        }
        for text in ["", ".5", "5.", "-1", "1.2345678", "1,50", "1e3", "99999999999999999999", "+1"] {
            assert!(money(text).is_err(), "{text}");
        }
    }

    #[test]
    fn money_is_written_with_two_decimals_or_more() {
        assert_eq!(
            [12_500_000, 1_310, 0, -50_000, 1].map(shown_money),
            ["12.50", "0.00131", "0.00", "-0.05", "0.000001"]
        );
    }
}
