//! Points in time: as RFC 3339 writes them, or as a span from now.

use std::str::FromStr;

use forebay_core::time::{Millis, Timestamp};

use super::duration;

/// A point in time as an argument names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// That time.
    At(Timestamp),
    /// That long from now.
    In(Millis),
}

impl When {
    /// The time that is meant.
    pub fn from(self, now: Timestamp) -> Timestamp {
        match self {
            When::At(at) => at,
            When::In(span) => now.after(span),
        }
    }

    /// The time that is meant by somebody who looks back: a span is that long ago.
    pub fn before(self, now: Timestamp) -> Timestamp {
        match self {
            When::At(at) => at,
            When::In(span) => now.before(span),
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let span = duration(text).map(When::In);
        span.or_else(|_| text.parse().map(When::At)).map_err(|_| {
            "expected a span such as 30d, or a time with an offset such as 2026-12-01T10:00:00Z".to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_absolute_or_from_now() {
        let later = Timestamp::from_millis(5_000);
        assert_eq!("2s".parse::<When>().unwrap().before(later), Timestamp::from_millis(3_000));
        let now = Timestamp::from_millis(1_000);
        assert_eq!("2s".parse::<When>().unwrap().from(now), Timestamp::from_millis(3_000));
        assert_eq!("1970-01-01T00:00:05Z".parse::<When>().unwrap().from(now), Timestamp::from_millis(5_000));
        assert!("tomorrow".parse::<When>().is_err());
        assert!("2026-12-01".parse::<When>().is_err());
    }
}
