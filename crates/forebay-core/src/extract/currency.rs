//! The currency: one that the policy allows, and one that the document prints.

use serde_json::Value;

use crate::extract::amounts::Amount;
use crate::extract::finding::{Finding, FindingCode, Findings, shown};
use crate::extract::policy::{CurrencyRule, Policy, Role};
use crate::extract::resolve::{Span, find_whole, fold};
use crate::extract::{Case, iso4217, number};

/// The decimals of the output's currency, where the policy says where it stands and it is one.
pub(super) fn decimals(policy: &Policy, output: &Value) -> Option<u32> {
    policy.currency.as_ref()?.field.lookup(output)?.as_str().and_then(iso4217::find)
}

/// Checks that there is a currency and that it is allowed, and holds it against the amounts.
pub(super) fn check(rule: &CurrencyRule, case: &Case<'_>, findings: &mut Findings) {
    let pointer = rule.field.as_str();
    let code = match rule.field.lookup(case.output.value) {
        Some(Value::String(code)) if !code.trim().is_empty() => code,
        None | Some(Value::Null | Value::String(_)) => {
            let message = "the currency is missing: the amounts can't be booked without it";
            return findings.push(Finding::new(FindingCode::CurrencyMissing, pointer, message));
        }
        Some(other) => {
            let message = format!("{} is not a currency code", shown(&other.to_string()));
            return findings.push(Finding::new(FindingCode::CurrencyNotAllowed, pointer, message));
        }
    };
    if !rule.allowed.contains(code) {
        let allowed = rule.allowed.join(", ");
        let message = format!("{} is not one of the allowed currency codes: {allowed}", shown(code));
        findings.push(Finding::new(FindingCode::CurrencyNotAllowed, pointer, message));
    }
    if let Some(decimals) = iso4217::find(code).filter(|_| rule.decimals) {
        check_decimals(code, decimals, case, findings);
    }
    if rule.beside_total {
        check_beside_total(rule, code, case, findings);
    }
}

/// No amount may have more decimals than the currency has.
fn check_decimals(code: &str, decimals: u32, case: &Case<'_>, findings: &mut Findings) {
    let amounts = case.policy.fields().into_iter().filter(|named| named.role == Role::Amount);
    for pointer in amounts.flat_map(|named| named.field.expand(case.output.value)) {
        if findings.is_full() {
            return;
        }
        if let Amount::Is(amount) = case.output.amount(&pointer)
            && amount.scale() > decimals
        {
            let message = format!("{amount} has {} decimals, and {code} has {decimals}", amount.scale());
            findings.push(Finding::new(FindingCode::AmountDecimals, pointer, message));
        }
    }
}

/// The sign or code next to the total, wherever its quotes print it, may not be another currency's. A sign that
/// several currencies share says nothing, unless the document prints another one's code and not this one's.
fn check_beside_total(rule: &CurrencyRule, code: &str, case: &Case<'_>, findings: &mut Findings) {
    let Some(amounts) = &case.policy.amounts else { return };
    let total = amounts.total.as_str();
    let Amount::Is(value) = case.output.amount(total) else { return };
    let mut contradiction = None;
    for span in case.evidence.iter().filter(|entry| entry.field == total).filter_map(|entry| entry.span) {
        let (start, row) = case.resolver.row(span.start);
        for (from, to) in number::places(row, value) {
            let Some((codes, written)) = beside(row, from, to) else { continue };
            let others = |other: &&&str| **other != code && **other != "TOP" && printed(case.document, other);
            let shared = codes.len() > 1 && !printed(case.document, code);
            let other = codes.iter().find(others).filter(|_| shared);
            if codes.contains(&code) && other.is_none() {
                return;
            }
            let place = case.resolver.place(start + from, start + to);
            contradiction = contradiction.or(Some((other.copied().unwrap_or(written).to_owned(), place)));
        }
    }
    if let Some((written, place)) = contradiction {
        let message =
            format!("the document prints {} for the total, and the output says {code}", shown(&written));
        findings
            .push(Finding::new(FindingCode::CurrencyContradicted, rule.field.as_str(), message).at(place));
    }
}

/// The currency before the number, or else right after it.
fn beside(row: &str, from: usize, to: usize) -> Option<(Vec<&str>, &str)> {
    let (before, after) = (&row[..from], &row[to..]);
    let near = after.strip_prefix([' ', '\u{a0}', '\u{202f}']).unwrap_or(after);
    let after = if near.starts_with(char::is_whitespace) { None } else { iso4217::at_edge(near, false) };
    let before = iso4217::at_edge(before, true).filter(|(_, written)| {
        // `120.00 EUR 100.00`: the code belongs to the number before it.
        let outer = before.trim_end();
        let outer = outer[..outer.len() - written.len()]
            .strip_suffix(' ')
            .unwrap_or(&outer[..outer.len() - written.len()]);
        !outer.ends_with(|char: char| char.is_ascii_digit())
    });
    before.or(after)
}

fn printed(document: &str, code: &str) -> bool {
    find_whole(document, code, 0).is_some()
}

/// Whether the currency is written inside the span: as its code, or in one of the forms that the rule lists.
pub(super) fn stands_in(rule: &CurrencyRule, document: &str, span: &Span, code: &str) -> bool {
    let before = document[..span.start].chars().next_back();
    let after = document[span.end..].chars().next();
    let text = fold(&document[span.start..span.end]);
    let aliases = rule.aliases.get(code).map(Vec::as_slice).unwrap_or_default();
    let lower = text.to_lowercase();
    contains(&text, code, before, after)
        || aliases.iter().any(|alias| contains(&lower, &fold(alias).to_lowercase(), before, after))
}

/// Whether the form stands in the text, not glued to a letter: `$` is not found in `CA$`, `Rs` not in `VERS`.
fn contains(text: &str, form: &str, before: Option<char>, after: Option<char>) -> bool {
    let letter = |char: Option<char>| char.is_some_and(char::is_alphabetic);
    let ends_in_letter = letter(form.chars().next_back());
    !form.is_empty()
        && text.match_indices(form).any(|(start, _)| {
            let before = text[..start].chars().next_back().or(before);
            let after = text[start + form.len()..].chars().next().or(after);
            !(letter(before) || ends_in_letter && letter(after))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::extract::amounts::Output;
    use crate::extract::references::References;
    use crate::extract::resolve::Resolver;

    fn rule() -> CurrencyRule {
        serde_json::from_value(json!({
            "field": "/currency",
            "allowed": ["EUR", "USD", "INR"],
            "aliases": {"EUR": ["€", "Euro"], "USD": ["$", "US$", "US Dollars"], "INR": ["Rs", "₹"]},
        }))
        .unwrap()
    }

    fn code(output: &Value) -> Option<&'static str> {
        let mut findings = Findings::default();
        let policy: Policy = serde_json::from_value(json!({"version": 1})).unwrap();
        let policy = Policy { currency: Some(rule()), ..policy };
        let references = References::on(jiff::civil::date(2024, 2, 29));
        let output = Output { value: output, inexact_numbers: &Default::default() };
        check(&rule(), &Case::new(&policy, &references, output, &[], &Resolver::new("")), &mut findings);
        findings.into_vec().first().map(|finding| finding.code.name())
    }

    #[test]
    fn missing_and_foreign_currencies_are_findings() {
        assert_eq!(code(&json!({"currency": "EUR"})), None);
        assert_eq!(code(&json!({"currency": null})), Some("currency_missing"));
        assert_eq!(code(&json!({"currency": " "})), Some("currency_missing"));
        assert_eq!(code(&json!({})), Some("currency_missing"));
        assert_eq!(code(&json!({"currency": "GBP"})), Some("currency_not_allowed"));
        assert_eq!(code(&json!({"currency": "eur"})), Some("currency_not_allowed"));
        assert_eq!(code(&json!({"currency": 7})), Some("currency_not_allowed"));
    }

    #[test]
    fn a_currency_is_found_as_code_or_as_alias() {
        let stands = |text: &str, code: &str| {
            stands_in(&rule(), text, &Span { start: 0, end: text.len(), line: 1, page: None }, code)
        };
        assert!(stands("Totaal € 717,97", "EUR"));
        assert!(stands("34,73EUR", "EUR"));
        assert!(stands("All prices are in us\u{a0}dollars", "USD"));
        assert!(stands("Discount of Rs -40.00", "INR"));
        assert!(stands("US$4.11", "USD"));
        assert!(!stands("CA$4.11", "USD"));
        assert!(!stands("VERS 4", "INR"));
        assert!(!stands("€ 717,97", "USD"));
        let canadian = "CA$4.11";
        assert!(
            !stands_in(&rule(), canadian, &Span { start: 2, end: 7, line: 1, page: None }, "USD"),
            "context counts"
        );
    }
}
