//! What a pool has used of its limits, and whether one more call fits.
//!
//! Charges are kept in buckets: of a quarter of a second for the limits per minute, of a quarter of an hour for those
//! per day. A bucket counts until the span and the slack after its *end*, so that rounding is always on the safe side: no
//! sliding minute, as the provider sees it, holds more than the limit, also when a call arrives up to the slack later
//! than its grant.

mod dimension;
#[cfg(test)]
mod tests;

pub use dimension::{Dimension, Span};

use crate::definition::{Pacing, PoolLimits};
use crate::grant::Reservation;
use crate::time::{Millis, Timestamp};

/// The width of a bucket for limits per minute.
pub const MINUTE_BUCKET: Millis = Millis::new(250);
/// The width of a bucket for limits per day.
pub const DAY_BUCKET: Millis = Millis::from_secs(900);
/// How much later than its grant a call may arrive at the provider.
pub const SLACK: Millis = Millis::new(500);
/// How far back pacing looks.
const PACED: Millis = Millis::from_secs(5);
/// How much more than its part of the minute that may have, in hundredths. More than the minute loses to buckets and
/// slack, so that pacing never keeps a limit from being used up.
const PACED_PERCENT: u64 = 110;

/// What was charged within the width of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The start, a multiple of the width.
    pub start: Timestamp,
    /// Calls granted.
    pub requests: u64,
    /// Tokens that they send, as reserved or, where a pool counts them, as used.
    pub input_tokens: u64,
    /// Tokens that they may generate, or did.
    pub output_tokens: u64,
}

impl Bucket {
    /// The bucket of a time, still empty.
    pub fn at(now: Timestamp, span: Span) -> Self {
        let width = span.bucket().get();
        let start = Timestamp::from_millis(now.as_millis().div_euclid(width) * width);
        Self { start, requests: 0, input_tokens: 0, output_tokens: 0 }
    }

    /// Tokens in both directions.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// From when on it counts no more.
    pub fn free_at(&self, span: Span) -> Timestamp {
        self.start.after(span.counts())
    }

    /// Counts one more call.
    pub fn add(&mut self, call: &Reservation) {
        self.requests = self.requests.saturating_add(1);
        self.input_tokens = self.input_tokens.saturating_add(call.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(call.output_tokens);
    }
}

/// A limit that lets a call through only later, and when, if time alone decides that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// Which limit.
    pub dimension: Dimension,
    /// When enough will be free again by the passing of time; `None` when a call must end first, or the limit
    /// must be raised because the call alone is larger.
    pub until: Option<Timestamp>,
    /// Whether the limit is not used up, and the call only keeps its distance from those before it.
    pub is_paced: bool,
}

/// What a pool has used of its limits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Use {
    /// Calls under way.
    pub in_flight: u64,
    /// Tokens reserved for them.
    pub tokens_in_flight: u64,
    /// Charges that count against limits per minute.
    pub minute: Vec<Bucket>,
    /// Charges that count against limits per day.
    pub day: Vec<Bucket>,
}

impl Use {
    /// What was charged over a span.
    pub fn over(&self, span: Span) -> &[Bucket] {
        match span {
            Span::Minute => &self.minute,
            Span::Day => &self.day,
        }
    }

    fn over_mut(&mut self, span: Span) -> &mut Vec<Bucket> {
        match span {
            Span::Minute => &mut self.minute,
            Span::Day => &mut self.day,
        }
    }

    /// How much of a limit is used.
    pub fn of(&self, dimension: Dimension) -> u64 {
        match (dimension, dimension.span()) {
            (Dimension::TokensInFlight, _) => self.tokens_in_flight,
            (_, None) => self.in_flight,
            (_, Some(span)) => sum(self.over(span), dimension),
        }
    }
}

fn sum(buckets: &[Bucket], dimension: Dimension) -> u64 {
    buckets.iter().map(|bucket| dimension.of(bucket)).fold(0, u64::saturating_add)
}

/// A pool's use of its limits at a time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Window {
    used: Use,
}

impl Window {
    /// The use that the store has on record; buckets in any order.
    pub fn new(mut used: Use, now: Timestamp) -> Self {
        for span in Span::ALL {
            let buckets = used.over_mut(span);
            buckets.retain(|bucket| bucket.free_at(span) > now);
            buckets.sort_by_key(|bucket| bucket.start);
        }
        Self { used }
    }

    /// What counts.
    pub fn used(&self) -> &Use {
        &self.used
    }

    /// Takes room for one call in every dimension, or in none (I17).
    ///
    /// # Errors
    ///
    /// Names the limit that binds; of several, the one that is free last.
    pub fn take(&mut self, call: &Reservation, limits: &PoolLimits, now: Timestamp) -> Result<(), Full> {
        if let Some((dimension, _)) = limits.rules_out(call) {
            return Err(Full { dimension, until: None, is_paced: false });
        }
        let fulls = Dimension::ALL.into_iter().filter_map(|dimension| {
            let limit = limits.of(dimension)?;
            self.full(dimension, dimension.need(call), limit)
                .or_else(|| self.paced(dimension, limit, limits.pacing, now))
        });
        // What no time frees comes before what some time does.
        match fulls.max_by_key(|full| (full.until.is_none(), full.until)) {
            Some(full) => Err(full),
            None => {
                self.charge(call, now);
                Ok(())
            }
        }
    }

    /// Whether `need` more does not fit below a limit.
    fn full(&self, dimension: Dimension, need: u64, limit: u64) -> Option<Full> {
        let mut used = self.used.of(dimension);
        let fits = |used: u64| used.saturating_add(need) <= limit;
        if fits(used) {
            return None;
        }
        let until = dimension.span().and_then(|span| {
            let buckets = self.used.over(span);
            let frees = buckets.iter().find(|bucket| {
                used = used.saturating_sub(dimension.of(bucket));
                fits(used)
            });
            Some(frees.or(buckets.last())?.free_at(span))
        });
        Some(Full { dimension, until, is_paced: false })
    }

    /// Whether the last few seconds have used up their part of the minute. A call may go beyond that part, whatever its
    /// size, as long as something of it is left: what it takes too much, the next ones wait for.
    fn paced(&self, dimension: Dimension, limit: u64, pacing: Pacing, now: Timestamp) -> Option<Full> {
        if pacing == Pacing::Off || dimension.span() != Some(Span::Minute) {
            return None;
        }
        let part = u128::from(limit) * u128::from(PACED_PERCENT) * PACED.get().unsigned_abs() as u128;
        let whole = 100 * Span::Minute.length().get().unsigned_abs() as u128;
        let part = u64::try_from(part.div_ceil(whole)).unwrap_or(limit);
        let leaves = |bucket: &Bucket| bucket.start.after(MINUTE_BUCKET).after(PACED);
        let mut used = 0_u64;
        let newest_first = self.used.minute.iter().rev().take_while(|bucket| leaves(bucket) > now);
        let binds = newest_first.into_iter().find(|bucket| {
            used = used.saturating_add(dimension.of(bucket));
            used >= part
        });
        binds.map(|bucket| Full { dimension, until: Some(leaves(bucket)), is_paced: true })
    }

    fn charge(&mut self, call: &Reservation, now: Timestamp) {
        self.used.in_flight = self.used.in_flight.saturating_add(1);
        self.used.tokens_in_flight = self.used.tokens_in_flight.saturating_add(call.tokens());
        for span in Span::ALL {
            let buckets = self.used.over_mut(span);
            let new = Bucket::at(now, span);
            let place = buckets.partition_point(|bucket| bucket.start < new.start);
            if buckets.get(place).is_none_or(|bucket| bucket.start != new.start) {
                buckets.insert(place, new);
            }
            buckets[place].add(call);
        }
    }
}
