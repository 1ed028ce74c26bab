//! The table of tax rates: each rate times its base is its tax, bases add up to the net amount, taxes to the tax.

use rust_decimal::Decimal;
use serde_json::Value;

use crate::extract::Case;
use crate::extract::amounts::{Amount, add, optional, within};
use crate::extract::finding::{Finding, FindingCode, Findings};
use crate::extract::policy::{AmountsRule, Rounding, TaxesRule};

pub(super) fn check(rule: &AmountsRule, case: &Case<'_>, findings: &mut Findings) {
    let Some(taxes) = &rule.taxes else { return };
    let list = &taxes.list;
    let Some(entries) = list.lookup(case.output.value).and_then(Value::as_array) else { return };
    if entries.is_empty() {
        return;
    }
    let lines =
        rule.lines.as_ref().and_then(|lines| lines.lookup(case.output.value)).and_then(Value::as_array);
    let roundings = match rule.rounding {
        Some(Rounding::Line) => lines.map_or(1, Vec::len).max(1),
        Some(Rounding::Total) | None => 1,
    };
    let tolerance = case.unit / Decimal::TWO * Decimal::from(roundings) + rule.tolerance;
    let (mut bases, mut sum) = (Some(Decimal::ZERO), Some(Decimal::ZERO));
    for index in 0..entries.len() {
        let at = |member: &str| format!("{list}/{index}{member}");
        let mut number = |member: &str| optional(case.output, &at(member), findings);
        let base = number(taxes.base.as_str());
        let rate = number(taxes.rate.as_str());
        let tax = number(taxes.tax.as_str());
        bases = bases.zip(base).and_then(|(a, b)| add(a, b));
        sum = sum.zip(tax).and_then(|(a, b)| add(a, b));
        if let (Some(base), Some(rate), Some(tax)) = (base, rate, tax) {
            let right = base.checked_mul(rate).map(|product| product / Decimal::ONE_HUNDRED);
            if !right.is_some_and(|right| within(right, tax, tolerance)) {
                let right =
                    right.map_or_else(|| "too much".to_owned(), |right| right.normalize().to_string());
                let message = format!("{rate} % of {base} is {right}, and the tax says {tax}");
                findings.push(Finding::new(FindingCode::TaxRate, at(taxes.tax.as_str()), message));
            }
        }
    }
    check_sums(rule, taxes, case, (bases, sum), findings);
}

fn check_sums(
    rule: &AmountsRule,
    taxes: &TaxesRule,
    case: &Case<'_>,
    (bases, sum): (Option<Decimal>, Option<Decimal>),
    findings: &mut Findings,
) {
    let whole = |field: &Option<crate::extract::Pointer>| match field
        .as_ref()
        .map(|field| case.output.amount(field.as_str()))
    {
        Some(Amount::Is(amount)) => Some(amount),
        _ => None,
    };
    let mut differ = |what: &str, sum: Decimal, name: &str, whole: Decimal| {
        let message = format!("the {what} of the rates add up to {sum}, and the {name} says {whole}");
        findings.push(Finding::new(FindingCode::TaxSum, taxes.list.as_str(), message));
    };
    if let (Some(sum), Some(tax)) = (sum, whole(&rule.tax))
        && !within(sum, tax, rule.tolerance)
    {
        differ("taxes", sum, "tax", tax);
    }
    if let (Some(bases), Some(net)) = (bases, whole(&rule.net)) {
        let less = taxes.untaxed_left_out && bases.abs() <= net.abs();
        if !less && !within(bases, net, rule.tolerance) {
            differ("bases", bases, "net amount", net);
        }
    }
}
