//! Money in integer micro-units, and what a model's tokens cost.

use serde::{Deserialize, Serialize};

use crate::attempt::Usage;

/// An amount of money in millionths of the currency's unit: 1,310 micros of USD are $0.00131.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub i64);

impl Micros {
    /// Nothing.
    pub const ZERO: Micros = Micros(0);

    /// The sum; stops at the largest amount instead of wrapping.
    #[must_use]
    pub const fn plus(self, other: Micros) -> Micros {
        Micros(self.0.saturating_add(other.0))
    }

    /// The difference, which may be negative.
    #[must_use]
    pub const fn minus(self, other: Micros) -> Micros {
        Micros(self.0.saturating_sub(other.0))
    }

    /// The difference, or nothing where it would be negative.
    #[must_use]
    pub fn minus_or_zero(self, other: Micros) -> Micros {
        Micros(self.0.saturating_sub(other.0).max(0))
    }
}

/// What a model's tokens cost, in micro-units per million tokens: $0.15 per million is 150,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Price {
    /// For a million tokens sent that the provider had not cached.
    pub input_per_mtok: Micros,
    /// For a million tokens sent that the provider read from its cache; the input price where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_per_mtok: Option<Micros>,
    /// For a million tokens generated, reasoning included.
    pub output_per_mtok: Micros,
}

const TOKENS_PER_PRICE: i128 = 1_000_000;

impl Price {
    /// The cost of what was really used. The parts are added before the one rounding, upwards: a fraction
    /// of a micro-unit is never lost to the ledger.
    pub fn cost(&self, usage: &Usage) -> Micros {
        let cached = usage.cached_input_tokens.min(usage.input_tokens);
        let fresh = usage.input_tokens - cached;
        let cached_price = self.cached_input_per_mtok.unwrap_or(self.input_per_mtok);
        let total = i128::from(fresh) * i128::from(self.input_per_mtok.0)
            + i128::from(cached) * i128::from(cached_price.0)
            + i128::from(usage.output_tokens) * i128::from(self.output_per_mtok.0);
        let rounded_up = (total + TOKENS_PER_PRICE - 1).div_euclid(TOKENS_PER_PRICE);
        Micros(i64::try_from(rounded_up).unwrap_or(i64::MAX))
    }

    /// The most that a call of this size can cost: nothing cached, the output limit used up.
    pub fn ceiling(&self, input_tokens: u64, output_tokens: u64) -> Micros {
        self.cost(&Usage { input_tokens, output_tokens, ..Usage::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price {
        input_per_mtok: Micros(150_000),
        cached_input_per_mtok: Some(Micros(75_000)),
        output_per_mtok: Micros(600_000),
    };

    #[test]
    fn cost_adds_input_cached_and_output() {
        let usage =
            Usage { input_tokens: 1_000, cached_input_tokens: 400, output_tokens: 200, ..Usage::default() };
        assert_eq!(PRICE.cost(&usage), Micros(90 + 30 + 120));
    }

    #[test]
    fn a_fraction_of_a_micro_unit_is_rounded_up_once() {
        let usage = Usage { input_tokens: 1, output_tokens: 1, ..Usage::default() };
        assert_eq!(PRICE.cost(&usage), Micros(1));
        assert_eq!(PRICE.ceiling(0, 0), Micros::ZERO);
    }

    #[test]
    fn huge_counts_saturate() {
        assert_eq!(PRICE.ceiling(u64::MAX, u64::MAX), Micros(i64::MAX));
    }
}
