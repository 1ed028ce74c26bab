//! A tax of zero, held against what the document prints beside the word for it.

use std::collections::HashSet;

use rust_decimal::Decimal;

use crate::extract::Case;
use crate::extract::amounts::Amount;
use crate::extract::finding::{Finding, FindingCode, Findings};
use crate::extract::layout::{At, words};
use crate::extract::number;
use crate::extract::policy::PrintedTaxRule;

/// Rows below a column's head that are looked at.
const COLUMN_ROWS: usize = 30;

/// Numbers beside labels that are added to each other.
const MAX_SEEN: usize = 40;

/// Finds a printed tax that leads from one printed amount to another, where the output says that there is none. The
/// word for the tax alone proves nothing: documents name taxes that they do not charge.
pub(super) fn check(rule: &PrintedTaxRule, case: &Case<'_>, findings: &mut Findings) {
    let Some(amounts) = &case.policy.amounts else { return };
    let Some(field) = &amounts.tax else { return };
    let Amount::Is(total) = case.output.amount(amounts.total.as_str()) else { return };
    match case.output.amount(field.as_str()) {
        Amount::Is(tax) if !tax.is_zero() => return,
        Amount::Wrong(_) => return,
        Amount::Is(_) | Amount::Absent => {}
    }
    let printed: HashSet<Decimal> =
        case.document.lines().flat_map(number::values).map(|value| value.abs().normalize()).collect();
    let leads = |tax: Decimal| {
        let total = total.abs();
        let is_printed =
            |amount: Option<Decimal>| amount.is_some_and(|amount| printed.contains(&amount.normalize()));
        let fine_enough = tax.scale() > 0 || case.unit.scale() == 0;
        let is_tax = tax > Decimal::ZERO && tax < total && fine_enough;
        is_tax && (is_printed(total.checked_sub(tax)) || is_printed(total.checked_add(tax)))
    };
    let layout = case.resolver.layout();
    let labels: Vec<_> = rule.labels.iter().map(|label| words(label)).collect();
    let turned: Vec<_> = rule.not_after.iter().map(|word| words(word)).collect();
    let is_label = |at: &At| {
        let cell = layout.cell(*at);
        let above = layout.above(*at).map(|above| layout.cell(above));
        let outer = above.is_some_and(|above| above.has(&turned) && !above.has(&labels));
        cell.has(&labels) && !cell.has(&turned) && !outer
    };
    let text = |at: At| &case.document[layout.cell(at).start..layout.cell(at).end];
    let mut seen: Vec<Decimal> = Vec::new();
    for at in layout.places().filter(is_label) {
        let row = std::iter::once(at).chain(layout.right(at));
        // A column with percentages is one of rates.
        let is_of_rates = layout.below(at, COLUMN_ROWS).any(|below| text(below).contains('%'));
        let column = layout.below(at, COLUMN_ROWS).filter(|_| !is_of_rates);
        for near in row.chain(column) {
            let numbers: Vec<_> = number::values(text(near)).into_iter().map(|tax| tax.abs()).collect();
            let found = among(&numbers, &seen, leads);
            if let Some(tax) = found {
                let message =
                    format!("the document prints a tax of {tax}, and the output says that there is none");
                let finding = Finding::new(FindingCode::TaxOverlooked, field.as_str(), message);
                let cell = layout.cell(near);
                return findings.push(finding.at(case.resolver.place(cell.start, cell.end)));
            }
            seen.extend(numbers.into_iter().take(MAX_SEEN.saturating_sub(seen.len())));
        }
    }
}

/// The number that leads to a printed amount, by itself or together with one that was seen before: taxes of two rates.
fn among(numbers: &[Decimal], seen: &[Decimal], leads: impl Fn(Decimal) -> bool) -> Option<Decimal> {
    let of_two_rates =
        |tax: &Decimal| seen.iter().filter_map(|other| other.checked_add(*tax)).find(|sum| leads(*sum));
    let alone = numbers.iter().copied().find(|tax| leads(*tax));
    alone.or_else(|| numbers.iter().find_map(of_two_rates))
}
