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
    let (mut bases, mut sum) = (Some(Vec::new()), Some(Decimal::ZERO));
    for index in 0..entries.len() {
        let at = |member: &str| format!("{list}/{index}{member}");
        let mut number = |member: &str| optional(case.output, &at(member), findings);
        let base = number(taxes.base.as_str());
        let rate = number(taxes.rate.as_str());
        let tax = number(taxes.tax.as_str());
        bases = bases.zip(base).map(|(bases, base)| [bases, vec![base]].concat());
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
    (bases, sum): (Option<Vec<Decimal>>, Option<Decimal>),
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
        let fits = |sum: &Decimal| {
            taxes.untaxed_left_out && sum.abs() <= net.abs() || within(*sum, net, rule.tolerance)
        };
        match (total(&bases), total(&once(&bases))) {
            (Some(all), Some(once)) if !fits(&all) && !fits(&once) => differ("bases", all, "net amount", net),
            _ => {}
        }
    }
}

fn total(amounts: &[Decimal]) -> Option<Decimal> {
    amounts.iter().try_fold(Decimal::ZERO, |sum, amount| add(sum, *amount))
}

/// Each base once: two taxes may be levied on the same, as those of a country and of a state are.
fn once(bases: &[Decimal]) -> Vec<Decimal> {
    let is_first = |(at, base): &(usize, &Decimal)| !bases[..*at].contains(base);
    bases.iter().enumerate().filter(is_first).map(|(_, base)| *base).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::extract::amounts::Output;
    use crate::extract::policy::Policy;
    use crate::extract::references::References;
    use crate::extract::resolve::Resolver;

    fn found(extra: Value, output: Value) -> Vec<(&'static str, String)> {
        let mut rule = json!({"net": "/net", "tax": "/tax", "total": "/total", "lines": "/lines", "line_amount": "/amount",
            "taxes": {"list": "/taxes", "base": "/base", "rate": "/rate", "tax": "/tax"}});
        rule.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        let rule: AmountsRule = serde_json::from_value(rule).unwrap();
        let policy =
            Policy { amounts: Some(rule.clone()), ..serde_json::from_value(json!({"version": 1})).unwrap() };
        let references = References::on(jiff::civil::date(2024, 2, 29));
        let output = Output { value: &output, inexact_numbers: &Default::default() };
        let resolver = Resolver::new("");
        let mut findings = Findings::default();
        check(&rule, &Case::new(&policy, &references, output, &[], &resolver), &mut findings);
        findings.into_vec().into_iter().map(|finding| (finding.code.name(), finding.pointer)).collect()
    }

    fn taxes(net: &str, tax: &str, entries: &[[&str; 3]]) -> Value {
        let entries = entries.iter().map(|[base, rate, tax]| json!({"base": base, "rate": rate, "tax": tax}));
        json!({"net": net, "tax": tax, "lines": [{}, {}, {}], "taxes": entries.collect::<Vec<_>>()})
    }

    #[test]
    fn two_taxes_may_have_one_base() {
        let state = taxes("1000.00", "180.00", &[["1000.00", "9", "90.00"], ["1000.00", "9", "90.00"]]);
        assert_eq!(found(json!({}), state), []);
        let rates = taxes("100.00", "13.00", &[["50.00", "19", "9.50"], ["50.00", "7", "3.50"]]);
        assert_eq!(found(json!({}), rates), []);
        let neither = taxes("900.00", "180.00", &[["1000.00", "9", "90.00"], ["1000.00", "9", "90.00"]]);
        assert_eq!(found(json!({}), neither), [("tax_sum", "/taxes".to_owned())]);
    }

    #[test]
    fn a_rate_may_be_off_by_its_roundings() {
        let off = || taxes("33.33", "6.35", &[["33.33", "19", "6.35"]]);
        assert_eq!(found(json!({}), off()), [("tax_rate", "/taxes/0/tax".to_owned())], "6.3327");
        assert_eq!(found(json!({"rounding": "line"}), off()), [("tax_rate", "/taxes/0/tax".to_owned())]);
        let near = taxes("33.33", "6.34", &[["33.33", "19", "6.34"]]);
        assert_eq!(found(json!({"rounding": "line"}), near), [], "three lines, three roundings");
    }

    #[test]
    fn what_is_null_is_not_calculated_with() {
        let open =
            json!({"net": "10.00", "tax": "1.90", "taxes": [{"base": null, "rate": "19", "tax": "1.90"}]});
        assert_eq!(found(json!({}), open), []);
        assert_eq!(found(json!({}), json!({"net": "10.00", "tax": "1.90", "taxes": []})), []);
    }
}
