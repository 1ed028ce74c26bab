//! What the document prints beside a value: a date under "Order date" is not the invoice's.

use std::collections::BTreeSet;

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
    let layout = case.resolver.layout();
    for rule in rules {
        match rule.field.lookup(case.output.value) {
            None | Some(Value::Null) if rule.not_overlooked => overlooked(rule, layout, case, findings),
            Some(Value::String(text)) => mislabelled(rule, text, layout, case, findings),
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
    if matches!(sought, Sought::Text(_))
        && let Some(twin) = twin(rule, text, case.output.value)
    {
        let message = format!("{} is what {twin} says, too", crate::extract::finding::shown(text));
        return findings.push(Finding::new(FindingCode::LabelMismatch, rule.field.as_str(), message));
    }
    if matches!(sought, Sought::Text(_))
        && let Some(date) = dated(text, case)
    {
        let message = format!("{} has the day of {date} in it", crate::extract::finding::shown(text));
        return findings.push(Finding::new(FindingCode::LabelMismatch, rule.field.as_str(), message));
    }
    let places: Vec<_> = layout.places().filter(has).collect();
    let before = |at: &At| {
        let cell = layout.cell(*at);
        match &sought {
            Sought::Date(_) => cell.words.clone(),
            Sought::Text(text) => words(&cell.text[..find_whole(&cell.text, text, 0).unwrap_or_default()]),
        }
    };
    let labels: Vec<_> = places.iter().map(|at| label(*at, &before(at), layout, &own, &other)).collect();
    let Some(first) = places.first() else { return };
    let rows = line_rows(case);
    let of_a_line = |at: usize| rows.contains(&case.resolver.row(at).0);
    let mut quoted = case.evidence.iter().filter(|entry| entry.field == rule.field.as_str());
    let in_lines = quoted.any(|entry| entry.span.is_some_and(|span| of_a_line(span.start)))
        && places.iter().all(|at| of_a_line(layout.cell(*at).start));
    let message = if labels.iter().all(|label| *label == Label::Other) {
        "stands in the document only beside the label of something else"
    } else if matches!(sought, Sought::Text(_)) && in_lines {
        "stands in the document only in the rows of the lines"
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

/// Another text of the output, outside of lists, that is the same.
fn twin<'o>(rule: &LabelRule, text: &str, output: &'o Value) -> Option<&'o String> {
    let same =
        |value: &Value| value.as_str().is_some_and(|other| fold(other).eq_ignore_ascii_case(&fold(text)));
    let is_own = |name: &str| rule.field.as_str().strip_prefix('/') == Some(name);
    let mut members = output.as_object()?.iter();
    members.find(|(name, value)| !is_own(name) && same(value)).map(|(name, _)| name)
}

/// A date of the output, outside of lists, that is a word of the text.
fn dated<'o>(text: &str, case: &Case<'o>) -> Option<&'o String> {
    let is_date_of = |(name, value): &(&String, &Value)| {
        let date = value.as_str().and_then(dates::iso);
        let date = date.filter(|_| case.roles.role(&format!("/{name}")) == Role::Date);
        date.is_some_and(|date| {
            let is_day = |word| written_date::stand(word, date, case.style.day_first) != Stand::No;
            text.split_whitespace().any(is_day)
        })
    };
    case.output.value.as_object()?.iter().find(is_date_of).map(|(name, _)| name)
}

/// Where the rows begin that amounts of lines are quoted from.
fn line_rows(case: &Case<'_>) -> BTreeSet<usize> {
    let rule = case.policy.amounts.as_ref();
    let pattern = rule.and_then(|rule| Some(rule.lines.as_ref()?.each(rule.line_amount.as_ref()?)));
    let is_amount = |field: &str| pattern.as_ref().is_some_and(|pattern| pattern.matches(field));
    let spans = case.evidence.iter().filter(|entry| is_amount(&entry.field)).filter_map(|entry| entry.span);
    spans.map(|span| case.resolver.row(span.start).0).collect()
}

/// The first that has a label says whose it is: what stands before the value in its own cell, the cell to the left, and
/// the one above. The longest label counts: a due date is no date.
fn label(at: At, before: &str, layout: &Layout, own: &[String], other: &[String]) -> Label {
    let beside = [layout.left(at), layout.above(at)].into_iter().flatten();
    let beside = beside.map(|beside| layout.cell(beside)).filter(|cell| cell.is_wordy());
    for text in std::iter::once(before).chain(beside.map(|cell| cell.words.as_str())) {
        let (own, other) = (longest(text, own), longest(text, other));
        if let Some(label) = own.max(other) {
            return if own == Some(label) { Label::Own } else { Label::Other };
        }
    }
    Label::Unknown
}

/// The length of the longest label in a text of words.
fn longest(text: &str, labels: &[String]) -> Option<usize> {
    labels.iter().filter(|label| text.contains(label.as_str())).map(String::len).max()
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
