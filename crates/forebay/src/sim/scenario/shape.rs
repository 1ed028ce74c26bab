//! Members of a scenario that have a short form and a table: spans of time, token counts, usage.

use std::fmt;
use std::marker::PhantomData;

use rand::RngExt;
use rand::rngs::StdRng;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The longest span that a scenario may ask for: a day.
pub const MAX_SPAN_MS: f64 = 86_400_000.0;
/// The most tokens that a scenario may let a call produce.
pub const MAX_OUTPUT_TOKENS: u32 = 1_000_000;
/// The most tokens that a scenario may let an answer report.
pub const MAX_USAGE: u64 = 1_000_000_000_000;
/// How many standard deviations above the mean 95 % of a normal distribution ends.
const Z95: f64 = 1.644_853_626_951_472;

/// How long something takes, in milliseconds before the time scale.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "ShortOrTable<f64, SpanTable>", into = "SpanTable")]
pub enum Span {
    /// Always the same.
    Fixed(f64),
    /// Every span from `min` to `max` is as likely as any other.
    Uniform {
        /// The shortest span.
        min: f64,
        /// The longest span.
        max: f64,
    },
    /// Log-normal, as the latencies of real providers are: most near the mean, some far above it.
    LogNormal {
        /// The mean of the spans.
        mean: f64,
        /// The span that 95 of 100 stay below; at most 3.86 times the mean.
        p95: f64,
    },
}

impl Span {
    /// One span by this distribution, in milliseconds; at most a day.
    pub(in crate::sim) fn draw(&self, rng: &mut StdRng) -> f64 {
        let drawn = match *self {
            Span::Fixed(span) => span,
            Span::Uniform { min, max } => min + (max - min) * rng.random::<f64>(),
            Span::LogNormal { mean, p95 } => {
                let sigma = sigma(mean, p95).unwrap_or(0.0);
                (mean.ln() - sigma * sigma / 2.0 + sigma * standard_normal(rng)).exp()
            }
        };
        drawn.min(MAX_SPAN_MS)
    }
}

/// The sigma of the log-normal distribution with this mean and 95th percentile. With `m = exp(mu + s²/2)` and
/// `q = exp(mu + 1.645 s)` it solves `ln(q/m) = 1.645 s - s²/2`, which has no solution above `ln(q/m) = 1.353`.
fn sigma(mean: f64, p95: f64) -> Option<f64> {
    let room = Z95 * Z95 - 2.0 * (p95 / mean).ln();
    (mean > 0.0 && p95 >= mean && room >= 0.0).then(|| Z95 - room.sqrt())
}

/// A number of the standard normal distribution, by Box and Muller.
fn standard_normal(rng: &mut StdRng) -> f64 {
    let (radius, angle) = (1.0 - rng.random::<f64>(), rng.random::<f64>());
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

#[derive(Deserialize, Serialize, Default)]
#[serde(deny_unknown_fields)]
struct SpanTable {
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95: Option<f64>,
}

impl TryFrom<ShortOrTable<f64, SpanTable>> for Span {
    type Error = String;

    fn try_from(form: ShortOrTable<f64, SpanTable>) -> Result<Self, String> {
        let span = match form {
            ShortOrTable::Short(fixed) => Span::Fixed(fixed),
            ShortOrTable::Table(table) => match (table.fixed, table.min, table.max, table.mean, table.p95) {
                (Some(fixed), None, None, None, None) => Span::Fixed(fixed),
                (None, Some(min), Some(max), None, None) => Span::Uniform { min, max },
                (None, None, None, Some(mean), Some(p95)) => Span::LogNormal { mean, p95 },
                _ => return Err("a span is a number, { fixed }, { min, max } or { mean, p95 }".to_owned()),
            },
        };
        span.checked()
    }
}

impl Span {
    fn checked(self) -> Result<Self, String> {
        let (low, high) = match self {
            Span::Fixed(span) => (span, span),
            Span::Uniform { min, max } => (min, max),
            Span::LogNormal { mean, p95 } => (mean, p95),
        };
        if !(0.0..=MAX_SPAN_MS).contains(&low) || !(low..=MAX_SPAN_MS).contains(&high) {
            return Err(format!(
                "a span of {low} to {high} ms: expected 0 to {MAX_SPAN_MS}, the smaller first"
            ));
        }
        if matches!(self, Span::LogNormal { mean, p95 } if sigma(mean, p95).is_none()) {
            return Err(format!(
                "mean {low}, p95 {high}: the mean must be above 0 and p95 at most 3.86 times it"
            ));
        }
        Ok(self)
    }
}

impl From<Span> for SpanTable {
    fn from(span: Span) -> Self {
        match span {
            Span::Fixed(fixed) => SpanTable { fixed: Some(fixed), ..SpanTable::default() },
            Span::Uniform { min, max } => {
                SpanTable { min: Some(min), max: Some(max), ..SpanTable::default() }
            }
            Span::LogNormal { mean, p95 } => {
                SpanTable { mean: Some(mean), p95: Some(p95), ..SpanTable::default() }
            }
        }
    }
}

/// How many tokens a generated text has: a number, or `{ min, max }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "ShortOrTable<u32, TokenRange>", into = "TokenRange")]
pub struct OutputTokens {
    min: u32,
    max: u32,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct TokenRange {
    min: u32,
    max: u32,
}

impl OutputTokens {
    /// Always that many tokens.
    pub const fn fixed(tokens: u32) -> Self {
        Self { min: tokens, max: tokens }
    }

    pub(in crate::sim) fn draw(&self, rng: &mut StdRng) -> u64 {
        u64::from(rng.random_range(self.min..=self.max))
    }
}

impl TryFrom<ShortOrTable<u32, TokenRange>> for OutputTokens {
    type Error = String;

    fn try_from(form: ShortOrTable<u32, TokenRange>) -> Result<Self, String> {
        let (min, max) = match form {
            ShortOrTable::Short(tokens) => (tokens, tokens),
            ShortOrTable::Table(range) => (range.min, range.max),
        };
        if min == 0 || min > max || max > MAX_OUTPUT_TOKENS {
            return Err(format!("{min} to {max} output tokens: expected 1 to {MAX_OUTPUT_TOKENS}"));
        }
        Ok(Self { min, max })
    }
}

impl From<OutputTokens> for TokenRange {
    fn from(tokens: OutputTokens) -> Self {
        TokenRange { min: tokens.min, max: tokens.max }
    }
}

/// What an answer says about its usage, in place of the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "ShortOrTable<UsageWord, UsageCounts>")]
pub enum UsageOverride {
    /// No usage at all.
    Missing,
    /// Zero tokens.
    Zero,
    /// Twice the tokens that were really used.
    Higher,
    /// These counts.
    Counts(UsageCounts),
}

/// Token counts that an answer shall report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UsageCounts {
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
}

impl UsageCounts {
    /// Whether the counts are so high that sums of them could overflow.
    pub(super) fn is_absurd(&self) -> bool {
        self.input_tokens > MAX_USAGE || self.output_tokens > MAX_USAGE
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum UsageWord {
    Missing,
    Zero,
    Higher,
}

impl From<ShortOrTable<UsageWord, UsageCounts>> for UsageOverride {
    fn from(form: ShortOrTable<UsageWord, UsageCounts>) -> Self {
        match form {
            ShortOrTable::Short(UsageWord::Missing) => Self::Missing,
            ShortOrTable::Short(UsageWord::Zero) => Self::Zero,
            ShortOrTable::Short(UsageWord::Higher) => Self::Higher,
            ShortOrTable::Table(counts) => Self::Counts(counts),
        }
    }
}

impl Serialize for UsageOverride {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Missing => serializer.serialize_str("missing"),
            Self::Zero => serializer.serialize_str("zero"),
            Self::Higher => serializer.serialize_str("higher"),
            Self::Counts(counts) => counts.serialize(serializer),
        }
    }
}

/// A member that may be written as one short value or as a table. Unlike an untagged enum it keeps the
/// message that names the member at fault.
pub(super) enum ShortOrTable<S, T> {
    Short(S),
    Table(T),
}

impl<'de, S: Deserialize<'de>, T: Deserialize<'de>> Deserialize<'de> for ShortOrTable<S, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShortOrTableVisitor(PhantomData))
    }
}

struct ShortOrTableVisitor<S, T>(PhantomData<(S, T)>);

impl<'de, S: Deserialize<'de>, T: Deserialize<'de>> Visitor<'de> for ShortOrTableVisitor<S, T> {
    type Value = ShortOrTable<S, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the short form or a table")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        S::deserialize(value.into_deserializer()).map(ShortOrTable::Short)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        S::deserialize(value.into_deserializer()).map(ShortOrTable::Short)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        S::deserialize(value.into_deserializer()).map(ShortOrTable::Short)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Self::Value, E> {
        S::deserialize(value.into_deserializer()).map(ShortOrTable::Short)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(ShortOrTable::Table)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn span(text: &str) -> Result<Span, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn spans_have_a_short_form_and_three_tables() {
        assert_eq!(span("250"), Ok(Span::Fixed(250.0)));
        assert_eq!(span(r#"{"fixed": 2.5}"#), Ok(Span::Fixed(2.5)));
        assert_eq!(span(r#"{"min": 1, "max": 9}"#), Ok(Span::Uniform { min: 1.0, max: 9.0 }));
        assert_eq!(span(r#"{"mean": 4, "p95": 9}"#), Ok(Span::LogNormal { mean: 4.0, p95: 9.0 }));
        assert!(span(r#"{"min": 1, "p95": 9}"#).is_err_and(|error| error.contains("a span is")));
        assert!(span(r#"{"mim": 1}"#).is_err_and(|error| error.contains("unknown field `mim`")));
        assert!(span("-1").is_err());
        assert!(span("86400001").is_err());
        assert!(span(r#"{"min": 9, "max": 1}"#).is_err());
        assert!(span(r#"{"mean": 100, "p95": 387}"#).is_err());
        assert!(span(r#"{"mean": 100, "p95": 386}"#).is_ok());
    }

    #[test]
    fn a_log_normal_span_has_the_mean_and_the_percentile_asked_for() {
        let (span, mut rng) = (Span::LogNormal { mean: 400.0, p95: 1_200.0 }, StdRng::seed_from_u64(1));
        let mut drawn: Vec<f64> = (0..20_000).map(|_| span.draw(&mut rng)).collect();
        drawn.sort_by(f64::total_cmp);
        let mean = drawn.iter().sum::<f64>() / 20_000.0;
        assert!((380.0..420.0).contains(&mean), "mean {mean}");
        assert!((1_100.0..1_300.0).contains(&drawn[19_000]), "p95 {}", drawn[19_000]);
    }

    #[test]
    fn usage_is_a_word_or_counts() {
        let usage = |text| serde_json::from_str::<UsageOverride>(text).map_err(|error| error.to_string());
        assert_eq!(usage(r#""higher""#), Ok(UsageOverride::Higher));
        let counts = UsageCounts { input_tokens: 1, output_tokens: 2 };
        assert_eq!(usage(r#"{"input_tokens":1,"output_tokens":2}"#), Ok(UsageOverride::Counts(counts)));
        assert!(usage(r#""lower""#).is_err_and(|error| error.contains("unknown variant `lower`")));
    }
}
