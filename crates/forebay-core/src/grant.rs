//! Money and capacity of one attempt: reserved at the claim, settled once to what was really used.
//!
//! A budget's `reserved + spent + uncertain` never exceeds its limit (I18). The only exception is a recorded
//! overage: a provider that reports more than was reserved.

use crate::attempt::{Outcome, Usage};
use crate::failure::{Charge, FailureClass};
use crate::money::{Micros, Price};

/// What a claim sets aside for one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reservation {
    /// Tokens that the request is expected to have.
    pub input_tokens: u64,
    /// The output limit of the request.
    pub output_tokens: u64,
    /// The most that such a call costs.
    pub micros: Micros,
}

impl Reservation {
    /// What a call of this size needs at this price.
    pub fn of(input_tokens: u64, output_tokens: u64, price: &Price) -> Self {
        Self { input_tokens, output_tokens, micros: price.ceiling(input_tokens, output_tokens) }
    }

    /// Tokens in both directions.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// What became of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settlement {
    /// Billed for certain.
    pub spent: Micros,
    /// Perhaps billed: stays on the books until reconciled.
    pub uncertain: Micros,
    /// The part of `spent` that nobody had reserved.
    pub overage: Micros,
}

/// Settles a reservation by what came of its attempt.
///
/// A failure that the provider answered itself costs what it reported, else nothing, unless its class says
/// that such answers are billed; an answer without usage, and everything of which nobody knows whether it
/// was billed, keeps the whole reservation as uncertain.
pub fn settle(
    reserved: &Reservation,
    price: &Price,
    outcome: Outcome,
    failure: Option<FailureClass>,
    usage: Option<&Usage>,
) -> Settlement {
    let uncertain = Settlement { uncertain: reserved.micros, ..Settlement::default() };
    let spent = |usage: &Usage| {
        let spent = price.cost(usage);
        Settlement { spent, uncertain: Micros::ZERO, overage: spent.minus_or_zero(reserved.micros) }
    };
    match (outcome, usage) {
        (Outcome::FailedBeforeSend, _) => Settlement::default(),
        (Outcome::Unknown, _) | (Outcome::Succeeded, None) => uncertain,
        (Outcome::Succeeded | Outcome::FailedAfterSend, Some(usage)) => spent(usage),
        (Outcome::FailedAfterSend, None) => match failure.map(|class| class.facts().charge) {
            Some(Charge::Reported | Charge::Uncertain) => uncertain,
            Some(Charge::No) | None => Settlement::default(),
        },
    }
}

/// A budget's account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Account {
    /// What may be used in all; no limit where absent.
    pub limit: Option<Micros>,
    /// Set aside for attempts under way.
    pub reserved: Micros,
    /// Billed for certain.
    pub spent: Micros,
    /// Perhaps billed.
    pub uncertain: Micros,
}

impl Account {
    /// What is neither used nor set aside; `None` without a limit.
    pub fn left(&self) -> Option<Micros> {
        let used = self.reserved.plus(self.spent).plus(self.uncertain);
        self.limit.map(|limit| limit.minus_or_zero(used))
    }

    /// The account with a reservation taken; `None` when too little is left.
    #[must_use]
    pub fn reserve(&self, amount: Micros) -> Option<Account> {
        match self.left() {
            Some(left) if left < amount => None,
            _ => Some(Account { reserved: self.reserved.plus(amount), ..*self }),
        }
    }

    /// The account after a reservation of it was settled.
    #[must_use]
    pub fn settle(&self, reserved: Micros, settlement: &Settlement) -> Account {
        Account {
            limit: self.limit,
            reserved: self.reserved.minus(reserved),
            spent: self.spent.plus(settlement.spent),
            uncertain: self.uncertain.plus(settlement.uncertain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRICE: Price = Price {
        input_per_mtok: Micros(1_000_000),
        cached_input_per_mtok: None,
        output_per_mtok: Micros(2_000_000),
    };

    fn used(input_tokens: u64, output_tokens: u64) -> Usage {
        Usage { input_tokens, output_tokens, ..Usage::default() }
    }

    #[test]
    fn what_each_outcome_costs() {
        let reserved = Reservation::of(100, 50, &PRICE);
        assert_eq!(reserved.micros, Micros(200));
        let settled = |outcome, failure, usage: Option<Usage>| {
            let settlement = settle(&reserved, &PRICE, outcome, failure, usage.as_ref());
            (settlement.spent.0, settlement.uncertain.0, settlement.overage.0)
        };
        use FailureClass::{NotSent, ProviderError, TimeoutIdle, Truncated};
        use Outcome::{FailedAfterSend, FailedBeforeSend, Succeeded, Unknown};
        assert_eq!(settled(Succeeded, None, Some(used(90, 10))), (110, 0, 0));
        assert_eq!(settled(Succeeded, None, Some(used(100, 60))), (220, 0, 20), "more than reserved");
        assert_eq!(settled(Succeeded, None, None), (0, 200, 0), "no usage reported");
        assert_eq!(settled(FailedBeforeSend, Some(NotSent), None), (0, 0, 0));
        assert_eq!(settled(FailedAfterSend, Some(ProviderError), None), (0, 0, 0));
        assert_eq!(settled(FailedAfterSend, Some(Truncated), Some(used(90, 50))), (190, 0, 0));
        assert_eq!(settled(FailedAfterSend, Some(Truncated), None), (0, 200, 0));
        assert_eq!(settled(Unknown, Some(TimeoutIdle), None), (0, 200, 0));
        assert_eq!(settled(Unknown, Some(TimeoutIdle), Some(used(90, 10))), (0, 200, 0));
    }

    proptest! {
        /// Any interleaving of reservations and settlements keeps the books below the limit plus overages.
        #[test]
        fn the_books_never_exceed_the_limit(
            limit in 0_i64..2_000,
            steps in proptest::collection::vec((0_u64..200, 0_u64..200, 0_u64..300, 0_usize..4), 1..60),
        ) {
            let mut account = Account { limit: Some(Micros(limit)), ..Account::default() };
            let mut open: Vec<Reservation> = Vec::new();
            let mut overage = Micros::ZERO;
            for (input, output, reported, pick) in steps {
                let wanted = Reservation::of(input, output, &PRICE);
                if let Some(taken) = account.reserve(wanted.micros) {
                    account = taken;
                    open.push(wanted);
                }
                if pick < open.len() {
                    let reserved = open.swap_remove(pick);
                    let usage = used(reported, output);
                    let outcome = Outcome::ALL[pick];
                    let settlement = settle(&reserved, &PRICE, outcome, None, Some(&usage));
                    overage = overage.plus(settlement.overage);
                    account = account.settle(reserved.micros, &settlement);
                }
                let used = account.reserved.plus(account.spent).plus(account.uncertain);
                prop_assert!(used <= Micros(limit).plus(overage));
                let reserved_now: i64 = open.iter().map(|reservation| reservation.micros.0).sum();
                prop_assert_eq!(account.reserved, Micros(reserved_now));
            }
        }
    }
}
