//! The currency: one that the policy allows, and one that the document prints.

use serde_json::Value;

use crate::extract::finding::{Finding, FindingCode, Findings, shown};
use crate::extract::policy::CurrencyRule;
use crate::extract::resolve::{Span, fold};

/// Checks that there is a currency and that it is allowed.
pub(super) fn check(rule: &CurrencyRule, output: &Value, findings: &mut Findings) {
    let pointer = rule.field.as_str();
    let code = match rule.field.lookup(output) {
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
        check(&rule(), output, &mut findings);
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
