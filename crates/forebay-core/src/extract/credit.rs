//! Documents that give money back: what the output says they are, what they are titled, and the signs of their
//! amounts.

use rust_decimal::Decimal;
use serde_json::Value;

use crate::extract::amounts::Amount;
use crate::extract::finding::{Finding, FindingCode, Findings};
use crate::extract::layout::cells;
use crate::extract::policy::{CreditAmounts, CreditNotesRule, Policy};
use crate::extract::resolve::fold;
use crate::extract::{Case, Pointer};

/// Characters of a printed cell that a title and its number may have.
const TITLE_CHARS: usize = 80;

/// Whether the output says that the document is a credit note.
pub(super) fn is_credit(policy: &Policy, output: &Value) -> bool {
    policy.credit_notes.as_ref().is_some_and(|rule| {
        let said = rule.field.lookup(output).and_then(Value::as_str);
        said.is_some_and(|said| rule.values.iter().any(|value| value == said))
    })
}

pub(super) fn check(rule: &CreditNotesRule, case: &Case<'_>, findings: &mut Findings) {
    let title = title(rule, case.document);
    match (title, case.is_credit) {
        (Some((start, end)), false) => {
            let message =
                "the document is titled as a credit note, and the output does not say that it is one";
            let finding = Finding::new(FindingCode::DocumentType, rule.field.as_str(), message);
            findings.push(finding.at(case.resolver.place(start, end)));
        }
        (None, true) => {
            let message = "the output says that this is a credit note, and the document is not titled as one";
            findings.push(Finding::new(FindingCode::DocumentType, rule.field.as_str(), message));
        }
        (Some(_), true) | (None, false) => {}
    }
    let Some(amounts) = &case.policy.amounts else { return };
    let all = [amounts.net.as_ref(), amounts.tax.as_ref(), Some(&amounts.total)];
    let fields: Vec<&Pointer> =
        if case.is_credit { all.into_iter().flatten().collect() } else { vec![&amounts.total] };
    for field in fields {
        let Amount::Is(amount) = case.output.amount(field.as_str()) else { continue };
        let message = match (case.is_credit, rule.amounts) {
            (false, _) if amount < Decimal::ZERO => "is below zero, and the document is no credit note",
            (true, CreditAmounts::Negative) if amount > Decimal::ZERO => {
                "is above zero: the amounts of a credit note are written below zero here"
            }
            (true, CreditAmounts::Positive) if amount < Decimal::ZERO => {
                "is below zero: the amounts of a credit note are written above zero here"
            }
            _ => continue,
        };
        findings.push(Finding::new(FindingCode::CreditSign, field.as_str(), format!("{amount} {message}")));
    }
}

/// Where one of the titles begins a printed cell and nothing but a number follows it there.
fn title(rule: &CreditNotesRule, document: &str) -> Option<(usize, usize)> {
    let titles: Vec<_> = rule.titles.iter().map(|title| fold(title).to_lowercase()).collect();
    let mut at = 0;
    for line in document.split_inclusive('\n') {
        for (start, cell) in cells(line) {
            let end = cell.char_indices().nth(TITLE_CHARS).map_or(cell.len(), |(end, _)| end);
            let text = fold(&cell[..end]).to_lowercase();
            if end == cell.len() && titles.iter().any(|title| is_title(&text, title)) {
                return Some((at + start, at + start + cell.len()));
            }
        }
        at += line.len();
    }
    None
}

fn is_title(text: &str, title: &str) -> bool {
    let Some(rest) = text.strip_prefix(title) else { return false };
    if rest.starts_with(char::is_alphanumeric) {
        return false;
    }
    let rest = rest.trim_matches(|char: char| !char.is_alphanumeric());
    rest.is_empty() || rest.split(' ').count() <= 3 && rest.contains(|char: char| char.is_ascii_digit())
}
