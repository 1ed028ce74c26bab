//! A description that belongs to another line: it is quoted from the row that the other line's amount stands in.

use std::collections::{BTreeMap, BTreeSet};

use crate::extract::Case;
use crate::extract::evidence::Evidence;
use crate::extract::finding::{Finding, FindingCode, Findings, shown};
use crate::extract::policy::Role;
use crate::extract::resolve::{find_whole, fold};

/// The first byte of a printed row.
type Row = usize;

pub(super) fn check(lines: &str, amount: &str, case: &Case<'_>, findings: &mut Findings) {
    let mut rows: BTreeMap<usize, BTreeSet<Row>> = BTreeMap::new();
    for (index, member, row) in
        quoted(lines, case).map(|(index, member, entry)| (index, member, row(entry, case)))
    {
        if member == amount {
            rows.entry(index).or_default().extend(row);
        }
    }
    let mut lines_of: BTreeMap<Row, Vec<usize>> = BTreeMap::new();
    for (index, row) in rows.iter().flat_map(|(index, rows)| rows.iter().map(move |row| (*index, *row))) {
        lines_of.entry(row).or_default().push(index);
    }
    for (index, _, entry) in quoted(lines, case) {
        let Some(row) = row(entry, case).filter(|_| case.roles.role(&entry.field) == Role::Text) else {
            continue;
        };
        let is_another = matches!(lines_of.get(&row).map(Vec::as_slice), Some([other]) if *other != index);
        let (Some(own), Some(span)) = (rows.get(&index).filter(|_| is_another), entry.span) else { continue };
        if !own.iter().any(|own| stands_in(case.row(*own), entry, case)) {
            let message = format!("the quote {} stands in the row of another line", shown(&entry.quote));
            findings.push(Finding::new(FindingCode::LineMixed, entry.field.as_str(), message).at(span));
        }
    }
}

/// The quotes of lines, with the line's index and its member.
fn quoted<'a>(lines: &'a str, case: &Case<'a>) -> impl Iterator<Item = (usize, &'a str, &'a Evidence)> {
    case.evidence.iter().filter_map(move |entry| {
        let rest = entry.field.strip_prefix(lines)?.strip_prefix('/')?;
        let end = rest.find('/')?;
        Some((rest[..end].parse().ok()?, &rest[end..], entry))
    })
}

fn row(entry: &Evidence, case: &Case<'_>) -> Option<Row> {
    entry.span.map(|span| case.resolver.row(span.start).0)
}

/// Whether the field's text stands in a row, too: a description that several lines have is quoted from any of them.
fn stands_in(row: &str, entry: &Evidence, case: &Case<'_>) -> bool {
    let lower = |text: &str| fold(text).to_lowercase();
    let text = case.output.value.pointer(&entry.field).and_then(serde_json::Value::as_str).map(lower);
    text.is_some_and(|text| find_whole(&lower(row), &text, 0).is_some())
}
