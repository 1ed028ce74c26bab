//! What a pool is limited by, and what a call takes of it.

use super::{Bucket, DAY_BUCKET, MINUTE_BUCKET, SLACK};
use crate::definition::PoolLimits;
use crate::grant::Reservation;
use crate::time::Millis;

/// A limit of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dimension {
    /// Calls per minute.
    RequestsPerMinute,
    /// Tokens sent per minute.
    InputTokensPerMinute,
    /// Tokens generated per minute.
    OutputTokensPerMinute,
    /// Tokens in both directions per minute.
    TokensPerMinute,
    /// Calls per day.
    RequestsPerDay,
    /// Tokens in both directions per day.
    TokensPerDay,
    /// Calls at the same time.
    InFlight,
    /// Tokens that the calls under way may need together.
    TokensInFlight,
}

/// How far back a limit looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Span {
    /// Any sliding minute.
    Minute,
    /// Any sliding 24 hours.
    Day,
}

impl Span {
    /// Both.
    pub const ALL: [Span; 2] = [Span::Minute, Span::Day];

    /// The width of the buckets in which it is kept.
    pub const fn bucket(self) -> Millis {
        match self {
            Span::Minute => MINUTE_BUCKET,
            Span::Day => DAY_BUCKET,
        }
    }

    /// How long it is.
    pub const fn length(self) -> Millis {
        match self {
            Span::Minute => Millis::from_secs(60),
            Span::Day => Millis::from_secs(24 * 3_600),
        }
    }

    /// From the start of a bucket until it counts no more.
    pub const fn counts(self) -> Millis {
        Millis::new(self.bucket().get() + self.length().get() + SLACK.get())
    }
}

impl Dimension {
    /// All of them, as they are listed.
    pub const ALL: [Dimension; 8] = [
        Dimension::RequestsPerMinute,
        Dimension::InputTokensPerMinute,
        Dimension::OutputTokensPerMinute,
        Dimension::TokensPerMinute,
        Dimension::RequestsPerDay,
        Dimension::TokensPerDay,
        Dimension::InFlight,
        Dimension::TokensInFlight,
    ];

    /// The name in definitions and in `explain`.
    pub const fn name(self) -> &'static str {
        match self {
            Dimension::RequestsPerMinute => "requests_per_minute",
            Dimension::InputTokensPerMinute => "input_tokens_per_minute",
            Dimension::OutputTokensPerMinute => "output_tokens_per_minute",
            Dimension::TokensPerMinute => "tokens_per_minute",
            Dimension::RequestsPerDay => "requests_per_day",
            Dimension::TokensPerDay => "tokens_per_day",
            Dimension::InFlight => "max_in_flight",
            Dimension::TokensInFlight => "max_tokens_in_flight",
        }
    }

    /// How far back it looks; `None` for what is limited at each moment.
    pub const fn span(self) -> Option<Span> {
        match self {
            Dimension::RequestsPerMinute
            | Dimension::InputTokensPerMinute
            | Dimension::OutputTokensPerMinute
            | Dimension::TokensPerMinute => Some(Span::Minute),
            Dimension::RequestsPerDay | Dimension::TokensPerDay => Some(Span::Day),
            Dimension::InFlight | Dimension::TokensInFlight => None,
        }
    }

    /// What a call takes of it.
    pub fn need(self, call: &Reservation) -> u64 {
        match self {
            Dimension::RequestsPerMinute | Dimension::RequestsPerDay | Dimension::InFlight => 1,
            Dimension::InputTokensPerMinute => call.input_tokens,
            Dimension::OutputTokensPerMinute => call.output_tokens,
            Dimension::TokensPerMinute | Dimension::TokensPerDay | Dimension::TokensInFlight => call.tokens(),
        }
    }

    /// What of a bucket counts against it.
    pub(super) fn of(self, bucket: &Bucket) -> u64 {
        match self {
            Dimension::RequestsPerMinute | Dimension::RequestsPerDay => bucket.requests,
            Dimension::InputTokensPerMinute => bucket.input_tokens,
            Dimension::OutputTokensPerMinute => bucket.output_tokens,
            Dimension::TokensPerMinute | Dimension::TokensPerDay => bucket.tokens(),
            Dimension::InFlight | Dimension::TokensInFlight => 0,
        }
    }
}

impl PoolLimits {
    /// What a pool has of a dimension by its definition; `None` where that is not limited.
    pub fn configured(&self, dimension: Dimension) -> Option<u64> {
        match dimension {
            Dimension::RequestsPerMinute => self.requests_per_minute,
            Dimension::InputTokensPerMinute => self.input_tokens_per_minute,
            Dimension::OutputTokensPerMinute => self.output_tokens_per_minute,
            Dimension::TokensPerMinute => self.tokens_per_minute,
            Dimension::RequestsPerDay => self.requests_per_day,
            Dimension::TokensPerDay => self.tokens_per_day,
            Dimension::InFlight => self.max_in_flight,
            Dimension::TokensInFlight => self.max_tokens_in_flight,
        }
    }

    /// The same with the safety margin taken off.
    pub fn of(&self, dimension: Dimension) -> Option<u64> {
        let limit = self.configured(dimension)?;
        let margin =
            u128::from(if dimension.span().is_some() { self.safety_margin_percent.min(99) } else { 0 });
        let left = u128::from(limit) * (100 - margin) / 100;
        Some(u64::try_from(left).unwrap_or(limit).max(1))
    }

    /// What is limited, and by how much.
    pub fn limited(&self) -> impl Iterator<Item = (Dimension, u64)> {
        Dimension::ALL.into_iter().filter_map(|dimension| Some((dimension, self.of(dimension)?)))
    }

    /// Whether anything is limited over such a span.
    pub fn looks_back(&self, span: Span) -> bool {
        self.limited().any(|(of, _)| of.span() == Some(span))
    }

    /// The limit that such a call never fits below, however long it waits.
    pub fn rules_out(&self, call: &Reservation) -> Option<(Dimension, u64)> {
        self.limited().find(|(of, limit)| of.need(call) > *limit)
    }
}
