//! Amounts that the document does not print, because they follow from amounts that it does: the tax of two rates, the
//! net amount before charges that are printed apart.

use std::collections::HashSet;

use rust_decimal::Decimal;
use serde_json::Value;

use crate::extract::amounts::{Amount, add};
use crate::extract::finding::Findings;
use crate::extract::policy::{AmountsRule, Counts, Effect};
use crate::extract::{Case, Pointer, lines};

/// Whether one of the declared sums gives the amount exactly, all of whose other terms have quotes. Terms that are
/// null or absent count as nothing, as they do in the sums.
pub(super) fn follows(pointer: &str, quoted: &HashSet<&str>, case: &Case<'_>) -> bool {
    let Some(rule) = &case.policy.amounts else { return false };
    let Amount::Is(amount) = case.output.amount(pointer) else { return false };
    let terms = Terms { quoted, case };
    let is = |field: &Option<Pointer>| field.as_ref().is_some_and(|field| field.as_str() == pointer);
    let sum = if is(&rule.tax) {
        terms.taxes(rule)
    } else if is(&rule.net) {
        terms.before_tax(rule)
    } else if rule.total.as_str() == pointer {
        terms.whole(rule)
    } else {
        None
    };
    sum == Some(amount)
}

struct Terms<'a> {
    quoted: &'a HashSet<&'a str>,
    case: &'a Case<'a>,
}

impl Terms<'_> {
    /// A term that has a quote, or is nothing.
    fn term(&self, pointer: &str) -> Option<Decimal> {
        match self.case.output.amount(pointer) {
            Amount::Absent => Some(Decimal::ZERO),
            Amount::Is(amount) if amount.is_zero() || self.quoted.contains(pointer) => Some(amount),
            Amount::Is(_) | Amount::Wrong(_) => None,
        }
    }

    /// The sum of a member of the elements of a list that count.
    fn each(&self, list: &Pointer, member: &Pointer, counts: impl Fn(usize) -> bool) -> Option<Decimal> {
        let count = list.lookup(self.case.output.value).and_then(Value::as_array).map_or(0, Vec::len);
        let counted = (0..count).filter(|index| counts(*index));
        let terms = counted.map(|index| self.term(&format!("{list}/{index}{member}")));
        let sum = terms.into_iter().try_fold(Decimal::ZERO, |sum, term| add(sum, term?));
        sum.filter(|_| count > 0)
    }

    fn taxes(&self, rule: &AmountsRule) -> Option<Decimal> {
        let taxes = rule.taxes.as_ref()?;
        self.each(&taxes.list, &taxes.tax, |_| true)
    }

    fn before_tax(&self, rule: &AmountsRule) -> Option<Decimal> {
        let parts = lines::sub_lines(rule, self.case, &mut Findings::default());
        let is_own = |index: usize| parts.parents.get(index).is_none_or(Option::is_none);
        let of_lines = self.each(rule.lines.as_ref()?, rule.line_amount.as_ref()?, is_own)?;
        add(of_lines, self.adjusted(rule, Counts::BeforeTax)?)
    }

    fn whole(&self, rule: &AmountsRule) -> Option<Decimal> {
        let (net, tax) = (rule.net.as_ref()?, rule.tax.as_ref()?);
        add(add(self.term(net.as_str())?, self.term(tax.as_str())?)?, self.adjusted(rule, Counts::AfterTax)?)
    }

    fn adjusted(&self, rule: &AmountsRule, counts: Counts) -> Option<Decimal> {
        let adjustments = rule.adjustments.iter().filter(|adjustment| adjustment.counts == counts);
        adjustments.into_iter().try_fold(Decimal::ZERO, |sum, adjustment| {
            let amount = self.term(adjustment.field.as_str())?;
            // What is taken off is so only from something above zero.
            add(sum, if adjustment.effect == Effect::Subtract { -amount.abs() } else { amount })
        })
    }
}
