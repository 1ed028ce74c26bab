//! Points in time and spans of it, in integer milliseconds.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time: milliseconds since 1970-01-01T00:00:00Z. Written in the API as RFC 3339 in UTC with
/// three decimals (`2026-12-01T10:00:00.000Z`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Where time stops here: in the last month that RFC 3339 can write, whatever the offset.
const MAX_MILLIS: i64 = 253_399_622_400_000;

impl Timestamp {
    /// The time that many milliseconds after 1970-01-01T00:00:00Z.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This much later; stops in December of the year 9999 instead of wrapping.
    pub const fn after(self, span: Millis) -> Self {
        let sum = self.0.saturating_add(span.0);
        Self(if sum > MAX_MILLIS { MAX_MILLIS } else { sum })
    }

    /// This much earlier.
    pub const fn before(self, span: Millis) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// Midnight, UTC, of the same day.
    pub const fn start_of_day(self) -> Self {
        const DAY: i64 = 24 * 60 * 60 * 1_000;
        Self(self.0.div_euclid(DAY) * DAY)
    }

    /// Its day in UTC. Times outside the calendar, which no clock gives, count as its first day.
    pub fn date(self) -> jiff::civil::Date {
        jiff::Timestamp::from_millisecond(self.0)
            .map_or(jiff::civil::Date::MIN, |at| at.to_zoned_datetime(jiff::tz::TimeZone::UTC).date())
    }

    /// Midnight, UTC, of the first day of the same month.
    pub fn start_of_month(self) -> Self {
        let first = jiff::Timestamp::from_millisecond(self.0)
            .map(|at| at.to_zoned_datetime(jiff::tz::TimeZone::UTC).date().first_of_month())
            .and_then(|date| date.to_zoned_datetime(jiff::tz::TimeZone::UTC));
        first.map_or(self.start_of_day(), |at| Self(at.timestamp().as_millisecond()))
    }

    /// The span from `earlier` to this time; zero when it is not earlier.
    pub const fn since(self, earlier: Timestamp) -> Millis {
        let span = self.0.saturating_sub(earlier.0);
        Millis(if span < 0 { 0 } else { span })
    }
}

/// A span of time in milliseconds; never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Millis(i64);

impl Millis {
    /// No time at all.
    pub const ZERO: Millis = Millis(0);

    /// A span of that many milliseconds; a negative number counts as zero.
    pub const fn new(millis: i64) -> Self {
        Self(if millis < 0 { 0 } else { millis })
    }

    /// A span of that many seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Self::new(secs.saturating_mul(1_000))
    }

    /// The number of milliseconds.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Both spans, one after the other.
    pub const fn plus(self, other: Millis) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The standard library's form.
    pub const fn to_duration(self) -> std::time::Duration {
        std::time::Duration::from_millis(self.0.unsigned_abs())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(at) => write!(f, "{at:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

/// The text is not a time of RFC 3339 with an offset.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a time as RFC 3339 writes it, with an offset, like 2026-12-01T10:00:00.000Z")]
pub struct NotATime;

impl FromStr for Timestamp {
    type Err = NotATime;

    fn from_str(text: &str) -> Result<Self, NotATime> {
        text.parse::<jiff::Timestamp>().map(|at| Self(at.as_millisecond())).map_err(|_| NotATime)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.0)
    }
}
impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let millis = i64::deserialize(deserializer)?;
        if millis < 0 {
            return Err(serde::de::Error::custom("a span of time in milliseconds can't be negative"));
        }
        Ok(Self(millis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_with_milliseconds() {
        let at: Timestamp = "2026-12-01T11:00:00+01:00".parse().unwrap();
        assert_eq!(at.to_string(), "2026-12-01T10:00:00.000Z");
        assert_eq!(at.after(Millis::new(5)).to_string(), "2026-12-01T10:00:00.005Z");
    }

    #[test]
    fn a_time_without_an_offset_is_refused() {
        assert_eq!("2026-12-01T11:00:00".parse::<Timestamp>(), Err(NotATime));
        assert_eq!("tomorrow".parse::<Timestamp>(), Err(NotATime));
    }

    #[test]
    fn days_and_months_begin_at_midnight_utc() {
        let at: Timestamp = "2024-02-29T23:59:59.999Z".parse().unwrap();
        assert_eq!(at.start_of_day().to_string(), "2024-02-29T00:00:00.000Z");
        assert_eq!(at.start_of_month().to_string(), "2024-02-01T00:00:00.000Z");
    }

    #[test]
    fn arithmetic_never_wraps() {
        let end = Timestamp::from_millis(i64::MAX - 1).after(Millis::new(i64::MAX));
        assert_eq!(end.to_string(), "9999-12-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_millis(5).since(Timestamp::from_millis(9)), Millis::ZERO);
    }
}
