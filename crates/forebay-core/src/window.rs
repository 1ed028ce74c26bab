//! What a pool used in the last minute, and whether one more call fits.
//!
//! Charges are kept in buckets of a quarter of a second. A bucket counts until a minute and the slack after
//! its *end*, so that rounding is always on the safe side: no sliding minute, as the provider sees it, holds
//! more than the limit, also when a call arrives up to the slack later than its grant.

use crate::definition::PoolLimits;
use crate::grant::Reservation;
use crate::time::{Millis, Timestamp};

/// The width of a bucket.
pub const BUCKET: Millis = Millis::new(250);
/// How long a limit per minute looks back.
pub const MINUTE: Millis = Millis::from_secs(60);
/// How much later than its grant a call may arrive at the provider.
pub const SLACK: Millis = Millis::new(500);

/// What was charged within one quarter of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The start, a multiple of [`BUCKET`].
    pub start: Timestamp,
    /// Calls granted.
    pub requests: u64,
    /// Tokens reserved for them.
    pub tokens: u64,
}

impl Bucket {
    /// From when on it counts no more.
    pub fn free_at(&self) -> Timestamp {
        self.start.after(BUCKET).after(MINUTE).after(SLACK)
    }
}

/// Why one more call does not fit, named as `explain` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Calls per minute.
    RequestsPerMinute,
    /// Tokens per minute.
    TokensPerMinute,
    /// Calls at the same time.
    InFlight,
}

impl Dimension {
    /// The name in definitions and in `explain`.
    pub const fn name(self) -> &'static str {
        match self {
            Dimension::RequestsPerMinute => "requests_per_minute",
            Dimension::TokensPerMinute => "tokens_per_minute",
            Dimension::InFlight => "max_in_flight",
        }
    }
}

/// A limit that is used up, and until when if time alone frees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// Which limit.
    pub dimension: Dimension,
    /// When enough will be free again by the passing of time; `None` when a call must end first, or the limit
    /// must be raised because the call alone is larger.
    pub until: Option<Timestamp>,
}

/// A pool's use of its limits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Window {
    /// Charges of the last minute and a little more, oldest first.
    buckets: Vec<Bucket>,
    /// Calls under way.
    in_flight: u64,
}

impl Window {
    /// The use that the store has on record; `buckets` in any order.
    pub fn new(mut buckets: Vec<Bucket>, in_flight: u64, now: Timestamp) -> Self {
        buckets.retain(|bucket| bucket.free_at() > now);
        buckets.sort_by_key(|bucket| bucket.start);
        Self { buckets, in_flight }
    }

    /// Calls under way.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Calls and tokens that count against the limits per minute.
    pub fn used(&self) -> (u64, u64) {
        self.buckets.iter().fold((0, 0), |(requests, tokens), bucket| {
            (requests + bucket.requests, tokens.saturating_add(bucket.tokens))
        })
    }

    /// Takes room for one call in every dimension, or in none (I17). Returns the bucket that was charged,
    /// as it is now.
    ///
    /// # Errors
    ///
    /// Names the limit that binds; of several, the one that is free last.
    pub fn take(&mut self, call: &Reservation, limits: &PoolLimits, now: Timestamp) -> Result<Bucket, Full> {
        if limits.max_in_flight.is_some_and(|limit| self.in_flight >= limit) {
            return Err(Full { dimension: Dimension::InFlight, until: None });
        }
        if limits.rules_out(call.tokens()).is_some() {
            return Err(Full { dimension: Dimension::TokensPerMinute, until: None });
        }
        let fulls = [
            (
                Dimension::RequestsPerMinute,
                limits.requests_per_minute,
                1,
                (|b| b.requests) as fn(&Bucket) -> u64,
            ),
            (Dimension::TokensPerMinute, limits.tokens_per_minute, call.tokens(), |b| b.tokens),
        ]
        .into_iter()
        .filter_map(|(dimension, limit, need, of)| {
            let until = self.room_at(limit?, need, of)?;
            Some(Full { dimension, until: Some(until) })
        });
        match fulls.max_by_key(|full| full.until) {
            Some(full) => Err(full),
            None => Ok(self.charge(call.tokens(), now)),
        }
    }

    /// When `need` more fits below `limit`; `None` when it fits now.
    fn room_at(&self, limit: u64, need: u64, of: fn(&Bucket) -> u64) -> Option<Timestamp> {
        let mut used = self.buckets.iter().fold(0_u64, |sum, bucket| sum.saturating_add(of(bucket)));
        if used.saturating_add(need) <= limit {
            return None;
        }
        for bucket in &self.buckets {
            used = used.saturating_sub(of(bucket));
            if used.saturating_add(need) <= limit {
                return Some(bucket.free_at());
            }
        }
        self.buckets.last().map(Bucket::free_at)
    }

    fn charge(&mut self, tokens: u64, now: Timestamp) -> Bucket {
        self.in_flight += 1;
        let start = Timestamp::from_millis(now.as_millis().div_euclid(BUCKET.get()) * BUCKET.get());
        match self.buckets.iter_mut().find(|bucket| bucket.start == start) {
            Some(bucket) => {
                bucket.requests += 1;
                bucket.tokens = bucket.tokens.saturating_add(tokens);
                *bucket
            }
            None => {
                let bucket = Bucket { start, requests: 1, tokens };
                self.buckets.push(bucket);
                self.buckets.sort_by_key(|bucket| bucket.start);
                bucket
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn call(tokens: u64) -> Reservation {
        Reservation { input_tokens: tokens, ..Reservation::default() }
    }

    #[test]
    fn a_refusal_on_one_dimension_takes_nothing_from_the_others() {
        let limits = PoolLimits {
            requests_per_minute: Some(10),
            tokens_per_minute: Some(100),
            max_in_flight: Some(10),
        };
        let mut window = Window::default();
        window.take(&call(60), &limits, NOW).unwrap();
        let before = window.clone();
        let full = window.take(&call(60), &limits, NOW).unwrap_err();
        assert_eq!(full.dimension, Dimension::TokensPerMinute);
        assert_eq!(window, before);
        window.take(&call(40), &limits, NOW).unwrap();
    }

    #[test]
    fn calls_in_flight_are_freed_by_calls_only() {
        let limits = PoolLimits { max_in_flight: Some(1), ..PoolLimits::default() };
        let mut window = Window::default();
        window.take(&call(1), &limits, NOW).unwrap();
        assert_eq!(
            window.take(&call(1), &limits, NOW),
            Err(Full { dimension: Dimension::InFlight, until: None })
        );
    }

    #[test]
    fn a_call_larger_than_the_limit_never_fits_not_even_alone() {
        let limits = PoolLimits { tokens_per_minute: Some(100), ..PoolLimits::default() };
        let never = Err(Full { dimension: Dimension::TokensPerMinute, until: None });
        assert_eq!(Window::default().take(&call(101), &limits, NOW), never);
        assert!(Window::default().take(&call(100), &limits, NOW).is_ok());
    }

    #[test]
    fn a_charge_counts_for_a_minute_and_the_slack() {
        let limits = PoolLimits { requests_per_minute: Some(1), ..PoolLimits::default() };
        let mut window = Window::default();
        let bucket = window.take(&call(1), &limits, NOW).unwrap();
        let until = NOW.after(Millis::new(60_750));
        let full = window.take(&call(1), &limits, NOW).unwrap_err();
        assert_eq!(full, Full { dimension: Dimension::RequestsPerMinute, until: Some(until) });
        assert!(
            Window::new(vec![bucket], 0, until.before(Millis::new(1)))
                .take(&call(1), &limits, until)
                .is_err()
        );
        assert!(Window::new(vec![bucket], 0, until).take(&call(1), &limits, until).is_ok());
    }

    proptest! {
        /// Whatever the arrivals, no sliding minute holds more than the limits, even if each call reaches
        /// the provider anywhere within the slack after its grant.
        #[test]
        fn no_sliding_minute_holds_more_than_the_limit(
            arrivals in proptest::collection::vec((0_i64..9_000, 1_u64..140, 0_i64..500), 1..120),
        ) {
            let limits = PoolLimits {
                requests_per_minute: Some(7),
                tokens_per_minute: Some(120),
                max_in_flight: None,
            };
            let mut now = NOW;
            let mut window = Window::default();
            let mut seen: Vec<(i64, u64)> = Vec::new();
            for (gap, tokens, late) in arrivals {
                now = now.after(Millis::new(gap));
                window = Window::new(window.buckets.clone(), window.in_flight, now);
                if window.take(&call(tokens), &limits, now).is_ok() {
                    seen.push((now.as_millis() + late, tokens));
                }
            }
            for (start, _) in &seen {
                let minute = seen.iter().filter(|(at, _)| (*start..start + 60_000).contains(at));
                let (requests, tokens) = minute.fold((0, 0), |(r, t), (_, tokens)| (r + 1, t + tokens));
                prop_assert!(requests <= 7 && tokens <= 120, "{requests} calls, {tokens} tokens");
            }
        }
    }
}
