//! A tax of zero, held against what the document prints beside the word for it.

use std::collections::HashSet;

use rust_decimal::Decimal;

use crate::extract::Case;
use crate::extract::amounts::Amount;
use crate::extract::finding::{Finding, FindingCode, Findings};
use crate::extract::layout::{At, Layout, words};
use crate::extract::number;
use crate::extract::policy::PrintedTaxRule;

/// Rows below a column's head that are looked at.
const COLUMN_ROWS: usize = 30;

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
    let layout = Layout::of(case.document);
    let labels: Vec<_> = rule.labels.iter().map(|label| words(label)).collect();
    let turned: Vec<_> = rule.not_after.iter().map(|word| words(word)).collect();
    let is_label = |at: &At| {
        let cell = layout.cell(*at);
        let outer = layout.above(*at).is_some_and(|above| layout.cell(above).has(&turned));
        cell.has(&labels) && !cell.has(&turned) && !outer
    };
    for at in layout.places().filter(is_label) {
        let row = std::iter::once(at).chain(layout.right(at));
        for near in row.chain(layout.below(at, COLUMN_ROWS)) {
            let cell = layout.cell(near);
            let text = &case.document[cell.start..cell.end];
            if let Some(tax) = number::values(text).into_iter().find(|tax| leads(*tax)) {
                let message =
                    format!("the document prints a tax of {tax}, and the output says that there is none");
                let finding = Finding::new(FindingCode::TaxOverlooked, field.as_str(), message);
                return findings.push(finding.at(case.resolver.place(cell.start, cell.end)));
            }
        }
    }
}
