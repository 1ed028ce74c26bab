//! The currency: one that the policy allows, and one that the document prints.

use serde_json::Value;

use crate::extract::amounts::Amount;
use crate::extract::finding::{Finding, FindingCode, Findings, shown};
use crate::extract::iso4217::{Edge, Sign};
use crate::extract::policy::{CurrencyRule, Policy, Role};
use crate::extract::resolve::{Span, find_whole, fold};
use crate::extract::{Case, country, iso4217, number};

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
    if let Some(message) = not_allowed(rule, code) {
        findings.push(Finding::new(FindingCode::CurrencyNotAllowed, pointer, message));
    }
    if let Some(decimals) = iso4217::find(code).filter(|_| rule.decimals) {
        check_decimals(code, decimals, case, findings);
    }
    if rule.beside_total {
        check_beside_total(rule, code, case, findings);
    }
}

fn not_allowed(rule: &CurrencyRule, code: &str) -> Option<String> {
    match &rule.allowed {
        Some(allowed) if allowed.iter().any(|other| other == code) => None,
        Some(allowed) => {
            Some(format!("{} is not one of the allowed currency codes: {}", shown(code), allowed.join(", ")))
        }
        None if iso4217::find(code).is_some() => None,
        None => Some(format!("{} is not a currency code of ISO 4217 such as EUR", shown(code))),
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

/// The sign or code next to the total, wherever its quotes print it, may not be another currency's.
fn check_beside_total(rule: &CurrencyRule, code: &str, case: &Case<'_>, findings: &mut Findings) {
    let Some(amounts) = &case.policy.amounts else { return };
    let total = amounts.total.as_str();
    let Amount::Is(value) = case.output.amount(total) else { return };
    let mut contradiction = None;
    for span in case.evidence.iter().filter(|entry| entry.field == total).filter_map(|entry| entry.span) {
        let (start, row) = case.resolver.row(span.start);
        for (from, to) in number::places(row, value) {
            let Some(edge) = beside(row, from, to) else { continue };
            let Some(other) = contradicted(edge, rule, code, case) else { return };
            let place = case.resolver.place(start + from, start + to);
            contradiction = contradiction.or(Some((other, place)));
        }
    }
    if let Some((written, place)) = contradiction {
        let message =
            format!("the document prints {} for the total, and the output says {code}", shown(&written));
        findings
            .push(Finding::new(FindingCode::CurrencyContradicted, rule.field.as_str(), message).at(place));
    }
}

/// What is written instead of the currency; nothing where it may be this one.
fn contradicted(edge: Edge<'_>, rule: &CurrencyRule, code: &str, case: &Case<'_>) -> Option<String> {
    let other = match edge {
        Edge::Code(written) => written,
        Edge::Sign(sign) if !sign.codes().any(|other| other == code) => sign.written,
        Edge::Sign(sign) => meaning(sign, rule, case).unwrap_or(code),
    };
    (other != code).then(|| other.to_owned())
}

/// Which currency a sign means in this document: the only one of those that share it whose code the document prints;
/// else the only one whose country it names; else what the policy, or else custom, says.
fn meaning<'a>(sign: Sign, rule: &'a CurrencyRule, case: &Case<'_>) -> Option<&'a str> {
    let only = |mut codes: Vec<&'static str>| if codes.len() == 1 { codes.pop() } else { None };
    let is_shared = sign.codes().nth(1).is_some();
    let printed = || only(sign.codes().filter(|code| printed(case.document, code)).collect());
    let at_home = || {
        let named = country::currencies(case.document);
        only(sign.codes().filter(|code| named.contains(code)).collect())
    };
    let declared = || {
        let is_sign = |form: &String| fold(form) == sign.written;
        rule.aliases.iter().find(|(_, forms)| forms.iter().any(is_sign)).map(|(code, _)| code.as_str())
    };
    let by_document = if is_shared { printed().or_else(at_home) } else { None };
    by_document.or_else(declared).or(sign.usual)
}

/// The currency before the number, or else right after it.
fn beside(row: &str, from: usize, to: usize) -> Option<Edge<'_>> {
    let (before, after) = (&row[..from], &row[to..]);
    let near = after.strip_prefix([' ', '\u{a0}', '\u{202f}']).unwrap_or(after);
    let after = if near.starts_with(char::is_whitespace) { None } else { iso4217::at_edge(near, false) };
    let before = iso4217::at_edge(before, true).filter(|edge| {
        // `120.00 EUR 100.00`: the code belongs to the number before it.
        let outer = before.trim_end();
        let outer = &outer[..outer.len() - edge.written().len()];
        !outer.strip_suffix(' ').unwrap_or(outer).ends_with(|char: char| char.is_ascii_digit())
    });
    before.or(after)
}

/// Whether the document prints a code; one that is a word as well, beside a number.
fn printed(document: &str, code: &str) -> bool {
    let mut from = 0;
    while let Some(at) = find_whole(document, code, from) {
        let digit = |char: char| char.is_ascii_digit();
        let (before, after) = (document[..at].trim_end(), document[at + code.len()..].trim_start());
        if !iso4217::is_word(code) || before.ends_with(digit) || after.starts_with(digit) {
            return true;
        }
        from = at + code.len();
    }
    false
}

/// How a currency stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// As its code, its name, a form that the policy lists, or a sign that means it here.
    Yes,
    /// As a sign that it shares with others, and nothing says which of them is meant.
    Shared(&'static str),
    No,
}

/// Whether the currency is written inside the span.
pub(super) fn stand(rule: &CurrencyRule, case: &Case<'_>, span: &Span, code: &str) -> Standing {
    let document = case.document;
    let before = document[..span.start].chars().next_back();
    let after = document[span.end..].chars().next();
    let text = fold(&document[span.start..span.end]);
    let lower = text.to_lowercase();
    let aliases = rule.aliases.get(code).map(Vec::as_slice).unwrap_or_default();
    let listed = aliases.iter().any(|alias| contains(&lower, &fold(alias).to_lowercase(), before, after));
    let named = || iso4217::names_of(code).any(|name| contains(&lower, name, before, after));
    if contains(&text, code, before, after) || listed || named() {
        return Standing::Yes;
    }
    let written: Vec<_> =
        iso4217::signs_of(code).filter(|sign| contains(&text, sign.written, before, after)).collect();
    let meanings: Vec<_> = written.iter().map(|sign| meaning(*sign, rule, case)).collect();
    if meanings.contains(&Some(code)) {
        return Standing::Yes;
    }
    let open = written.iter().zip(&meanings).find(|(_, meaning)| meaning.is_none());
    open.map_or(Standing::No, |(sign, _)| Standing::Shared(sign.written))
}

/// Whether the form stands in the text, not glued to a letter: `$` is not found in `CA$`, `Rs` not in `VERS`.
fn contains(text: &str, form: &str, before: Option<char>, after: Option<char>) -> bool {
    // In scripts without capital letters words are not set apart.
    let letter = |char: Option<char>| char.is_some_and(|char| char.is_lowercase() || char.is_uppercase());
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

    /// Does something with the case of an output about a document.
    fn with_case<T>(output: &Value, document: &str, run: impl FnOnce(&Case<'_>) -> T) -> T {
        let policy: Policy = serde_json::from_value(json!({"version": 1})).unwrap();
        let policy = Policy { currency: Some(rule()), ..policy };
        let references = References::on(jiff::civil::date(2024, 2, 29));
        let output = Output { value: output, inexact_numbers: &Default::default() };
        run(&Case::new(&policy, &references, output, &[], &Resolver::new(document)))
    }

    fn code_under(rule: &CurrencyRule, output: &Value) -> Option<&'static str> {
        let mut findings = Findings::default();
        with_case(output, "", |case| check(rule, case, &mut findings));
        findings.into_vec().first().map(|finding| finding.code.name())
    }

    fn code(output: &Value) -> Option<&'static str> {
        code_under(&rule(), output)
    }

    fn standing(rule: &CurrencyRule, document: &str, code: &str) -> Standing {
        standing_from(rule, document, 0, code)
    }

    fn standing_from(rule: &CurrencyRule, document: &str, start: usize, code: &str) -> Standing {
        let end = document.find('\n').unwrap_or(document.len());
        let span = Span { start, end, line: 1, page: None };
        with_case(&json!({}), document, |case| stand(rule, case, &span, code))
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
    fn every_currency_is_allowed_where_none_are_listed() {
        let rule = CurrencyRule { allowed: None, ..rule() };
        assert_eq!(code_under(&rule, &json!({"currency": "KWD"})), None);
        assert_eq!(code_under(&rule, &json!({"currency": "ZZZ"})), Some("currency_not_allowed"));
        assert_eq!(code_under(&rule, &json!({"currency": "€"})), Some("currency_not_allowed"));
    }

    #[test]
    fn a_currency_is_found_as_code_or_as_alias() {
        let stands = |text: &str, code: &str| standing(&rule(), text, code) == Standing::Yes;
        assert!(stands("Totaal € 717,97", "EUR"));
        assert!(stands("34,73EUR", "EUR"));
        assert!(stands("All prices are in us\u{a0}dollars", "USD"));
        assert!(stands("Discount of Rs -40.00", "INR"));
        assert!(stands("US$4.11", "USD"));
        assert!(!stands("CA$4.11", "USD"));
        assert!(!stands("VERS 4", "INR"));
        assert!(!stands("€ 717,97", "USD"));
        assert_eq!(standing_from(&rule(), "CA$4.11", 2, "USD"), Standing::No, "context counts");
    }

    #[test]
    fn usual_signs_need_no_list() {
        let bare = CurrencyRule { aliases: Default::default(), allowed: None, ..rule() };
        for (text, code) in [
            ("Razem 12,50 zł", "PLN"),
            ("Celkem 12,50 Kč", "CZK"),
            ("R$ 12,50", "BRL"),
            ("£12.50", "GBP"),
            ("Total CHF 12.50", "CHF"),
            ("合計¥1,250\n東京 消費税", "JPY"),
            ("合計 1,250円", "JPY"),
            ("Total KD 1.250", "KWD"),
            ("₹ 1,250.00", "INR"),
            ("Cairo £12.50\nall amounts in EGP", "EGP"),
        ] {
            assert_eq!(standing(&bare, text, code), Standing::Yes, "{text}");
        }
        assert_eq!(standing(&bare, "Cairo £12.50\nall amounts in EGP", "GBP"), Standing::No);
    }

    #[test]
    fn a_shared_sign_means_what_the_document_says_elsewhere() {
        let bare = CurrencyRule { aliases: Default::default(), allowed: None, ..rule() };
        for (text, code, expected) in [
            ("Total $10.00", "USD", Standing::Shared("$")),
            ("Total $10.00", "CAD", Standing::Shared("$")),
            ("Total $10.00\nall amounts in CAD", "CAD", Standing::Yes),
            ("Total $10.00\nall amounts in CAD", "USD", Standing::No),
            ("Total $10.00\nPortland, OR 97210", "USD", Standing::Yes),
            ("Total $10.00\nSydney NSW 2000", "AUD", Standing::Yes),
            ("Total $10.00\nSydney NSW 2000", "USD", Standing::No),
            ("Total $10.00\nPortland, OR 97210\nToronto ON M5V 3L9", "USD", Standing::Shared("$")),
            ("Total $10.00\nPAPER CUP, OFF THE TOP", "USD", Standing::Shared("$")),
            ("Å betale 10,00 kr", "NOK", Standing::Shared("kr")),
            ("Å betale 10,00 kr\nOrg.nr 912 345 678 MVA", "NOK", Standing::Yes),
            ("Att betala 10,00 kr\nBankgiro 123-4567", "SEK", Standing::Yes),
            ("Total ¥1,000\n上海 中国", "CNY", Standing::Yes),
        ] {
            assert_eq!(standing(&bare, text, code), expected, "{text}: {code}");
        }
        assert_eq!(
            standing(&rule(), "Total $10.00\nSydney NSW 2000", "AUD"),
            Standing::Yes,
            "whatever the policy says"
        );
    }
}
