//! Dates in the output: days of the calendar, in a plausible time, in order.

use jiff::Span;
use jiff::civil::Date;
use serde_json::Value;

use crate::extract::finding::{Finding, FindingCode, Findings, shown};
use crate::extract::policy::DateRule;

/// Reads `YYYY-MM-DD`, the only form that the output may have.
pub(super) fn iso(text: &str) -> Option<Date> {
    text.parse::<Date>().ok().filter(|date| date.to_string() == text)
}

/// Checks every date that the policy names.
pub(super) fn check(rules: &[DateRule], today: Date, output: &Value, findings: &mut Findings) {
    for rule in rules {
        match read(rule, output) {
            Ok(Some(date)) => {
                check_plausible(rule, today, date, findings);
                check_order(rule, date, rules, output, findings);
            }
            Ok(None) => {}
            Err(finding) => findings.push(finding),
        }
    }
}

fn read(rule: &DateRule, output: &Value) -> Result<Option<Date>, Finding> {
    let text = match rule.field.lookup(output) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    iso(&text).map(Some).ok_or_else(|| {
        let message = format!("{} is not a day of the calendar in the form YYYY-MM-DD", shown(&text));
        Finding::new(FindingCode::DateFormat, rule.field.as_str(), message)
    })
}

fn check_plausible(rule: &DateRule, today: Date, date: Date, findings: &mut Findings) {
    let oldest = rule.max_age_days.map(|days| today.saturating_sub(span_of(days)));
    let newest = rule.max_future_days.map(|days| today.saturating_add(span_of(days)));
    let message = match (rule.earliest.max(oldest), earlier(rule.latest, newest)) {
        (Some(first), _) if date < first => format!("{date} is before {first}, the first plausible day"),
        (_, Some(last)) if date > last => format!("{date} is after {last}, the last plausible day"),
        _ => return,
    };
    findings.push(Finding::new(FindingCode::DateImplausible, rule.field.as_str(), message));
}

/// So many days, or as many as the calendar has.
fn span_of(days: u32) -> Span {
    Span::new().days(days.min(7_000_000))
}

/// The earlier of two days, one of which may be unknown.
fn earlier(a: Option<Date>, b: Option<Date>) -> Option<Date> {
    a.into_iter().chain(b).min()
}

fn check_order(rule: &DateRule, date: Date, rules: &[DateRule], output: &Value, findings: &mut Findings) {
    let other_rule =
        rule.not_before_field.as_ref().and_then(|other| rules.iter().find(|rule| rule.field == *other));
    let Some((other_rule, Ok(Some(other)))) = other_rule.map(|rule| (rule, read(rule, output))) else {
        return;
    };
    if date < other {
        let message = format!("{date} is before {other}, the date at {}", other_rule.field);
        findings.push(Finding::new(FindingCode::DateOrder, rule.field.as_str(), message));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn codes(output: &Value) -> Vec<(&'static str, String)> {
        let rules: Vec<DateRule> = serde_json::from_value(json!([
            {"field": "/invoice_date", "earliest": "2000-01-01", "latest": "2099-12-31"},
            {"field": "/due_date", "not_before_field": "/invoice_date"},
            {"field": "/posted", "max_future_days": 1, "max_age_days": 365},
        ]))
        .unwrap();
        let mut findings = Findings::default();
        check(&rules, jiff::civil::date(2024, 2, 29), output, &mut findings);
        findings.into_vec().into_iter().map(|finding| (finding.code.name(), finding.pointer)).collect()
    }

    #[test]
    fn only_days_in_the_iso_form_are_dates() {
        assert!(iso("2024-02-29").is_some());
        for wrong in [
            "2023-02-29",
            "2023-02-30",
            "20230220",
            "2023-2-3",
            "2023-02-20T10:00",
            " 2023-02-20",
            "20.02.2023",
            "",
        ] {
            assert_eq!(iso(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn impossible_implausible_and_disordered_dates_are_findings() {
        assert_eq!(codes(&json!({"invoice_date": "2023-03-20", "due_date": "2023-03-20"})), []);
        assert_eq!(codes(&json!({"invoice_date": "2023-03-20", "due_date": null})), []);
        assert_eq!(
            codes(&json!({"invoice_date": "2023-02-30"})),
            [("date_format", "/invoice_date".to_owned())]
        );
        assert_eq!(codes(&json!({"invoice_date": 20230220})), [("date_format", "/invoice_date".to_owned())]);
        assert_eq!(
            codes(&json!({"invoice_date": "1999-12-31"})),
            [("date_implausible", "/invoice_date".to_owned())]
        );
        assert_eq!(
            codes(&json!({"invoice_date": "2100-01-01"})),
            [("date_implausible", "/invoice_date".to_owned())]
        );
        for (day, plausible) in
            [("2024-03-01", true), ("2024-03-02", false), ("2023-03-01", true), ("2023-02-28", false)]
        {
            assert_eq!(codes(&json!({"posted": day})).is_empty(), plausible, "{day}");
        }
        let swapped = json!({"invoice_date": "2023-04-04", "due_date": "2023-03-20"});
        assert_eq!(codes(&swapped), [("date_order", "/due_date".to_owned())]);
    }
}
