//! What the document prints beside a value: a date under "Order date" is not the invoice's.

use jiff::civil::Date;
use serde_json::Value;

use crate::extract::doubt::Stand;
use crate::extract::finding::{Finding, FindingCode, Findings};
use crate::extract::layout::{At, Layout, words};
use crate::extract::policy::{LabelRule, Role};
use crate::extract::resolve::{find_whole, fold};
use crate::extract::{Case, dates, number, written_date};

/// Rows below a label that its value may stand in.
const VALUE_ROWS: usize = 1;

/// What is looked for in cells.
enum Sought {
    Date(Date),
    Text(String),
}

/// Whose label a place has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Own,
    Other,
    Unknown,
}

/// Checks every value that the policy says something about the labels of.
pub(super) fn check(rules: &[LabelRule], case: &Case<'_>, findings: &mut Findings) {
    if rules.is_empty() {
        return;
    }
    let layout = Layout::of(case.document);
    for rule in rules {
        match rule.field.lookup(case.output.value) {
            None | Some(Value::Null) if rule.not_overlooked => overlooked(rule, &layout, case, findings),
            Some(Value::String(text)) => mislabelled(rule, text, &layout, case, findings),
            _ => {}
        }
    }
}

fn mislabelled(rule: &LabelRule, text: &str, layout: &Layout, case: &Case<'_>, findings: &mut Findings) {
    let sought = match (case.roles.role(rule.field.as_str()), dates::iso(text)) {
        (Role::Date, Some(date)) => Sought::Date(date),
        (Role::Date, None) => return,
        _ => Sought::Text(fold(text).to_lowercase()),
    };
    let has = |at: &At| {
        let cell = layout.cell(*at);
        match &sought {
            Sought::Date(date) => {
                !cell.is_wordy()
                    && written_date::stand(&case.document[cell.start..cell.end], *date, case.style.day_first)
                        != Stand::No
            }
            Sought::Text(text) => find_whole(&cell.text, text, 0).is_some(),
        }
    };
    let (own, other) = (all_words(&rule.own), all_words(&rule.other));
    let places: Vec<_> = layout.places().filter(has).collect();
    let labels: Vec<_> = places.iter().map(|at| label(*at, layout, &own, &other)).collect();
    let Some(first) = places.first() else { return };
    let message = if labels.iter().all(|label| *label == Label::Other) {
        "stands in the document only beside the label of something else"
    } else if rule.own_required && !labels.contains(&Label::Own) {
        "stands in the document beside none of its own labels"
    } else {
        return;
    };
    let message = format!("{} {message}", crate::extract::finding::shown(text));
    let cell = layout.cell(*first);
    let finding = Finding::new(FindingCode::LabelMismatch, rule.field.as_str(), message);
    findings.push(finding.at(case.resolver.place(cell.start, cell.end)));
}

/// The first of the cell itself, the cell to its left and the cell above it that has a label says whose it is.
fn label(at: At, layout: &Layout, own: &[String], other: &[String]) -> Label {
    let beside = [layout.left(at), layout.above(at)].into_iter().flatten();
    let beside = beside.filter(|beside| layout.cell(*beside).is_wordy());
    for cell in std::iter::once(at).chain(beside).map(|at| layout.cell(at)) {
        match (cell.has(own), cell.has(other)) {
            (true, _) => return Label::Own,
            (false, true) => return Label::Other,
            (false, false) => {}
        }
    }
    Label::Unknown
}

/// A null, while one of the field's own labels has a value beside it.
fn overlooked(rule: &LabelRule, layout: &Layout, case: &Case<'_>, findings: &mut Findings) {
    let own = all_words(&rule.own);
    let role = case.roles.role(rule.field.as_str());
    let is_value = |at: &At| {
        let cell = layout.cell(*at);
        let text = &case.document[cell.start..cell.end];
        match role {
            Role::Date => written_date::has_date(text),
            Role::Amount | Role::Number => number::values(text).iter().any(|value| !value.is_zero()),
            _ => text.contains(|char: char| char.is_ascii_digit()),
        }
    };
    for at in layout.places().filter(|at| layout.cell(*at).has(&own)) {
        let near = std::iter::once(at).chain(layout.right(at).take(1)).chain(layout.below(at, VALUE_ROWS));
        if let Some(found) = near.into_iter().find(is_value) {
            let cell = layout.cell(found);
            let message = "the value is null, and the document prints one beside its label";
            let finding = Finding::new(FindingCode::ValueOverlooked, rule.field.as_str(), message);
            return findings.push(finding.at(case.resolver.place(cell.start, cell.end)));
        }
    }
}

fn all_words(labels: &[String]) -> Vec<String> {
    labels.iter().map(|label| words(label)).collect()
}
