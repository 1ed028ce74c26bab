//! Amounts in the output, and the sums that must hold between them. All arithmetic is exact.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde_json::Value;

use crate::extract::finding::{Finding, FindingCode, Findings, shown};
use crate::extract::policy::{AmountsRule, Counts, Effect, LineAmounts, Rounding};
use crate::extract::{Case, lines, taxes};

/// Digits before and after the point that an amount may have, so that sums stay exact.
const WHOLE_DIGITS: usize = 20;
const FRACTION_DIGITS: usize = 6;

/// The output, and what is known about how its numbers were written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output<'a> {
    pub(super) value: &'a Value,
    /// Numbers that lost their written form, by pointer into the output.
    pub(super) inexact_numbers: &'a BTreeMap<String, String>,
}

/// What stands where an amount is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Amount {
    /// Null, blank or nothing.
    Absent,
    /// A decimal number.
    Is(Decimal),
    /// Something else; the text says what is wrong with it.
    Wrong(String),
}

impl Output<'_> {
    /// Reads an amount: a string in plain decimal form, or a JSON number that means what is written.
    pub(super) fn amount(&self, pointer: &str) -> Amount {
        match self.value.pointer(pointer) {
            None | Some(Value::Null) => Amount::Absent,
            Some(Value::String(text)) if text.trim().is_empty() => Amount::Absent,
            Some(Value::String(text)) => plain_decimal(text),
            Some(Value::Number(number)) => match self.inexact_numbers.get(pointer) {
                Some(literal) => Amount::Wrong(format!(
                    "{} can't be kept exactly as a JSON number: write the amount as a string",
                    shown(literal)
                )),
                None => plain_decimal(&number.to_string()),
            },
            Some(_) => Amount::Wrong("an amount is a string such as \"1234.56\"".to_owned()),
        }
    }
}

/// Reads `-1234.56`: no sign but a minus, no separators, no exponent, no spaces.
pub(super) fn plain_decimal(text: &str) -> Amount {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        let wanted = "is not a plain decimal number: write it like 1234.56, with a point and no separators";
        return Amount::Wrong(format!("{} {wanted}", shown(text)));
    }
    if whole.len() > WHOLE_DIGITS || fraction.len() > FRACTION_DIGITS {
        let limits = format!("at most {WHOLE_DIGITS} digits before the point and {FRACTION_DIGITS} after it");
        return Amount::Wrong(format!("{} has too many digits: {limits}", shown(text)));
    }
    Decimal::from_str_exact(text).map_or_else(
        |_| Amount::Wrong(format!("{} can't be calculated with exactly", shown(text))),
        Amount::Is,
    )
}

/// Checks every amount that the rule names, and the sums between them.
pub(super) fn check(rule: &AmountsRule, case: &Case<'_>, findings: &mut Findings) {
    let output = case.output;
    let net = rule.net.as_ref().and_then(|pointer| read(output, pointer.as_str(), findings));
    let tax = rule.tax.as_ref().and_then(|pointer| read(output, pointer.as_str(), findings));
    let total = read(output, rule.total.as_str(), findings);
    let whole = Whole { net, tax, total, adjustments: adjustments(rule, output, total, findings) };
    check_total(rule, &whole, findings);
    check_height(rule, &whole, findings);
    let parts = lines::sub_lines(rule, case, findings);
    if let Some(amounts) = line_amounts(rule, output, findings) {
        if let Some(at) = &rule.lines {
            lines::check_parts(&parts, &amounts, at.as_str(), findings);
        }
        let own: Vec<_> = amounts
            .iter()
            .zip(&parts.parents)
            .filter(|(_, parent)| parent.is_none())
            .map(|(own, _)| *own)
            .collect();
        check_lines(rule, case, &own, &whole, findings);
    }
    lines::check(rule, case, findings);
    taxes::check(rule, case, findings);
}

/// The amounts of the whole document.
struct Whole {
    net: Option<Decimal>,
    tax: Option<Decimal>,
    total: Option<Decimal>,
    /// What is added before tax, and after it; nothing when it can't be read.
    adjustments: Option<(Decimal, Decimal)>,
}

fn adjustments(
    rule: &AmountsRule,
    output: Output<'_>,
    total: Option<Decimal>,
    findings: &mut Findings,
) -> Option<(Decimal, Decimal)> {
    let gives_back = total.is_some_and(|total| total < Decimal::ZERO);
    let (mut before, mut after) = (Decimal::ZERO, Decimal::ZERO);
    for adjustment in &rule.adjustments {
        let Some(amount) = optional(output, adjustment.field.as_str(), findings) else { continue };
        // A discount brings an amount nearer to nothing, whichever side of it that is on.
        let amount = match (adjustment.effect, gives_back) {
            (Effect::Add, _) => amount,
            (Effect::Subtract, false) => -amount.abs(),
            (Effect::Subtract, true) => amount.abs(),
        };
        let sum = match adjustment.counts {
            Counts::BeforeTax => &mut before,
            Counts::AfterTax => &mut after,
        };
        *sum = add(*sum, amount)?;
    }
    Some((before, after))
}

/// An amount that may be missing; what is written and no number is a finding.
pub(super) fn optional(output: Output<'_>, pointer: &str, findings: &mut Findings) -> Option<Decimal> {
    match output.amount(pointer) {
        Amount::Is(amount) => Some(amount),
        Amount::Absent => None,
        Amount::Wrong(why) => {
            findings.push(Finding::new(FindingCode::AmountFormat, pointer, why));
            None
        }
    }
}

/// An amount that can be calculated with; otherwise a finding says why there is none.
fn read(output: Output<'_>, pointer: &str, findings: &mut Findings) -> Option<Decimal> {
    match output.amount(pointer) {
        Amount::Is(amount) => Some(amount),
        Amount::Absent => {
            let message = "the amount is missing, so the sums can't be checked";
            findings.push(Finding::new(FindingCode::MissingRequired, pointer, message));
            None
        }
        Amount::Wrong(why) => {
            findings.push(Finding::new(FindingCode::AmountFormat, pointer, why));
            None
        }
    }
}

fn check_total(rule: &AmountsRule, whole: &Whole, findings: &mut Findings) {
    let (Some(net), Some(tax), Some(total)) = (whole.net, whole.tax, whole.total) else { return };
    let Some((_, after)) = whole.adjustments else { return };
    let pointer = rule.total.as_str();
    let Some(sum) = add(net, tax).and_then(|sum| add(sum, after)) else {
        return findings.push(too_large(FindingCode::NetTaxTotal, pointer));
    };
    if !within(sum, total, rule.tolerance) {
        let more = if after.is_zero() { String::new() } else { format!(" + {after}") };
        let message = format!(
            "net {net} + tax {tax}{more} = {sum}, and the total says {total}: a difference of {}",
            difference(sum, total)
        );
        findings.push(Finding::new(FindingCode::NetTaxTotal, pointer, message));
    }
}

fn check_height(rule: &AmountsRule, whole: &Whole, findings: &mut Findings) {
    let (Some(limit), Some(net), Some(tax)) = (rule.max_tax_percent, whole.net, whole.tax) else { return };
    let (Some(field), Some(most)) = (&rule.tax, net.abs().checked_mul(limit)) else { return };
    if tax.abs() > most / Decimal::ONE_HUNDRED {
        let message = format!("a tax of {tax} is more than {limit} % of the net amount {net}");
        findings.push(Finding::new(FindingCode::TaxTooHigh, field.as_str(), message));
    }
}

/// The amounts of all lines; nothing when the rule has no lines or one of them can't be read.
fn line_amounts(rule: &AmountsRule, output: Output<'_>, findings: &mut Findings) -> Option<Vec<Decimal>> {
    let (lines, member) = (rule.lines.as_ref()?, rule.line_amount.as_ref()?);
    let pattern = lines.each(member);
    if !lines.lookup(output.value).is_some_and(Value::is_array) {
        let message = "the lines are missing, so their sum can't be checked";
        findings.push(Finding::new(FindingCode::MissingRequired, lines.as_str(), message));
        return None;
    }
    let mut amounts = Vec::new();
    let mut all_read = true;
    for pointer in pattern.expand(output.value) {
        match read(output, &pointer, findings) {
            Some(amount) => amounts.push(amount),
            None => all_read = false,
        }
        if findings.is_full() {
            return None;
        }
    }
    all_read.then_some(amounts)
}

fn check_lines(
    rule: &AmountsRule,
    case: &Case<'_>,
    lines: &[Decimal],
    whole: &Whole,
    findings: &mut Findings,
) {
    let pointer = rule.lines.as_ref().map_or("", |lines| lines.as_str());
    let Some((before, after)) = whole.adjustments else { return };
    let sums = lines.iter().try_fold(Decimal::ZERO, |sum, line| add(sum, *line)).and_then(|lines| {
        let with_adjustments = add(lines, before)?;
        Some((lines, with_adjustments, add(with_adjustments, after)?))
    });
    let Some((of_lines, to_net, to_total)) = sums else {
        return findings.push(too_large(FindingCode::LineSum, pointer));
    };
    let net = whole.net.map(|net| ("net", net, to_net)).filter(|_| rule.line_amounts != LineAmounts::Gross);
    let total =
        whole.total.map(|total| ("total", total, to_total)).filter(|_| rule.line_amounts != LineAmounts::Net);
    let allowed: Vec<_> = net.into_iter().chain(total).collect();
    let tolerance = line_tolerance(rule, case.unit, lines.len());
    if allowed.is_empty() || allowed.iter().any(|(_, amount, sum)| within(*sum, *amount, tolerance)) {
        return;
    }
    let others: Vec<_> = allowed
        .iter()
        .map(|(name, amount, sum)| format!("{name} {amount} (a difference of {})", difference(*sum, *amount)))
        .collect();
    let adjusted =
        if to_total == of_lines { String::new() } else { format!(", with what is added {to_total}") };
    let message = format!(
        "the amounts of the {} lines add up to {of_lines}{adjusted}, which is not {}",
        lines.len(),
        others.join(" and not ")
    );
    findings.push(Finding::new(FindingCode::LineSum, pointer, message));
}

/// By how much the lines may differ from their sum: as declared, or one rounding a line and one more.
fn line_tolerance(rule: &AmountsRule, unit: Decimal, lines: usize) -> Decimal {
    let rounded = match rule.rounding {
        Some(Rounding::Total) => unit / Decimal::TWO * Decimal::from(lines + 1),
        Some(Rounding::Line) | None => Decimal::ZERO,
    };
    rule.line_tolerance.unwrap_or_else(|| rule.tolerance.max(rounded))
}

/// The exact sum; nothing when it has more digits than can be kept.
pub(super) fn add(a: Decimal, b: Decimal) -> Option<Decimal> {
    a.checked_add(b).filter(|sum| sum.is_zero() || sum.scale() == a.scale().max(b.scale()))
}

pub(super) fn within(a: Decimal, b: Decimal, tolerance: Decimal) -> bool {
    a.checked_sub(b).is_some_and(|difference| difference.abs() <= tolerance)
}

fn difference(a: Decimal, b: Decimal) -> String {
    a.checked_sub(b)
        .map_or_else(|| "too much to calculate".to_owned(), |difference| difference.abs().to_string())
}

fn too_large(code: FindingCode, pointer: &str) -> Finding {
    Finding::new(code, pointer, "the amounts have too many digits to be added exactly")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::extract::policy::Policy;
    use crate::extract::references::References;
    use crate::extract::resolve::Resolver;

    fn rule(line_amounts: &str) -> AmountsRule {
        serde_json::from_value(json!({
            "net": "/net", "tax": "/tax", "total": "/total", "lines": "/lines", "line_amount": "/amount",
            "tolerance": "0.00", "line_amounts": line_amounts,
        }))
        .unwrap()
    }

    fn checked(rule: &AmountsRule, value: &Value, findings: &mut Findings) {
        let policy: Policy = serde_json::from_value(json!({"version": 1})).unwrap();
        let policy = Policy { amounts: Some(rule.clone()), ..policy };
        let references = References::on(jiff::civil::date(2024, 2, 29));
        let output = Output { value, inexact_numbers: &BTreeMap::new() };
        check(rule, &Case::new(&policy, &references, output, &[], &Resolver::new("")), findings);
    }

    fn codes(rule: &AmountsRule, value: &Value) -> Vec<(&'static str, String)> {
        let mut findings = Findings::default();
        checked(rule, value, &mut findings);
        findings.into_vec().into_iter().map(|finding| (finding.code.name(), finding.pointer)).collect()
    }

    fn invoice(net: &str, tax: &str, total: &str, lines: &[&str]) -> Value {
        let lines: Vec<_> = lines.iter().map(|amount| json!({"amount": amount})).collect();
        json!({"net": net, "tax": tax, "total": total, "lines": lines})
    }

    #[test]
    fn only_plain_decimals_are_amounts() {
        for text in ["717.97", "-0.10", "0", "12345678901234567890.123456"] {
            assert!(matches!(plain_decimal(text), Amount::Is(_)), "{text}");
        }
        for text in ["717,97", "1.234,56", "1,234.56", "7e2", "+5", " 5", "5.", ".5", "", "€5", "1_000", "٣"]
        {
            assert!(matches!(plain_decimal(text), Amount::Wrong(_)), "{text}");
        }
        for text in ["123456789012345678901", "0.1234567"] {
            assert!(matches!(plain_decimal(text), Amount::Wrong(_)), "{text}");
        }
    }

    #[test]
    fn tenths_add_up() {
        assert_eq!(codes(&rule("net"), &invoice("0.1", "0.2", "0.3", &["0.1"])), []);
        let numbers = json!({"net": 0.1, "tax": 0.2, "total": 0.3, "lines": [{"amount": 0.1}]});
        assert_eq!(codes(&rule("net"), &numbers), []);
    }

    #[test]
    fn twenty_digits_are_calculated_exactly() {
        let net = "12345678901234567890.12";
        assert_eq!(codes(&rule("net"), &invoice(net, "0.01", "12345678901234567890.13", &[net])), []);
        let cent_off = invoice(net, "0.01", "12345678901234567890.12", &[net]);
        assert_eq!(codes(&rule("net"), &cent_off), [("net_tax_total", "/total".to_owned())]);
    }

    #[test]
    fn lines_may_be_net_or_gross_as_the_rule_says() {
        let net = invoice("10.00", "2.00", "12.00", &["4.00", "6.00"]);
        let gross = invoice("10.00", "2.00", "12.00", &["5.00", "7.00"]);
        let wrong = [("line_sum", "/lines".to_owned())];
        assert_eq!((codes(&rule("net"), &net), codes(&rule("net"), &gross)), (vec![], wrong.to_vec()));
        assert_eq!((codes(&rule("gross"), &net), codes(&rule("gross"), &gross)), (wrong.to_vec(), vec![]));
        assert_eq!((codes(&rule("either"), &net), codes(&rule("either"), &gross)), (vec![], vec![]));
    }

    #[test]
    fn a_sum_that_can_not_be_checked_is_a_finding() {
        let value = json!({"net": null, "tax": "2.00", "total": "12,00", "lines": [{"amount": " "}, {}]});
        let expected = ["/net", "/total", "/lines/0/amount", "/lines/1/amount"];
        let pointers: Vec<_> =
            codes(&rule("either"), &value).into_iter().map(|(_, pointer)| pointer).collect();
        assert_eq!(pointers, expected);
        let without_lines = json!({"net": "1", "tax": "1", "total": "2", "lines": null});
        assert_eq!(codes(&rule("net"), &without_lines), [("missing_required", "/lines".to_owned())]);
    }

    #[test]
    fn the_tolerance_is_inclusive() {
        let rule = AmountsRule { tolerance: "0.01".parse().unwrap(), ..rule("net") };
        assert_eq!(codes(&rule, &invoice("1.00", "0.20", "1.21", &["0.99"])), []);
        assert_eq!(codes(&rule, &invoice("1.00", "0.20", "1.22", &["0.98"])).len(), 2);
    }

    #[test]
    fn messages_say_both_numbers() {
        let mut findings = Findings::default();
        let value = invoice("593.36", "124.61", "717.97", &["717.97", "4.24"]);
        checked(&rule("either"), &value, &mut findings);
        assert_eq!(
            findings.into_vec()[0].message,
            "the amounts of the 2 lines add up to 722.21, which is not net 593.36 (a difference of 128.85) \
             and not total 717.97 (a difference of 4.24)"
        );
    }
}
