//! What holds within a line and between lines: quantity x unit price less discounts, lines that are part of others,
//! and lines that are there more often than the document prints them.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;
use serde_json::Value;

use crate::extract::amounts::{Amount, optional};
use crate::extract::finding::{Finding, FindingCode, Findings};
use crate::extract::heads::Heads;
use crate::extract::number;
use crate::extract::policy::{AmountsRule, LineRule, SubLinesRule, Unexplained};
use crate::extract::resolve::fold;
use crate::extract::{Case, Pointer, own_row};

/// Printed rows that may explain a line's amount, and numbers of them.
const MAX_ROWS: usize = 6;
const MAX_NUMBERS: usize = 40;

/// The lines of an output with what is known about each.
pub(super) struct Lines {
    /// The line that each line is part of.
    pub(super) parents: Vec<Option<usize>>,
}

/// A line's numbers.
struct Numbers {
    quantity: Decimal,
    unit_price: Decimal,
    discount: Decimal,
    discount_percent: Decimal,
    tax_rate: Option<Decimal>,
    amount: Decimal,
}

const HUNDRED: Decimal = Decimal::ONE_HUNDRED;

/// Checks every line whose numbers are all there, and counts those that are the same.
pub(super) fn check(rule: &AmountsRule, case: &Case<'_>, findings: &mut Findings) {
    let (Some(lines), Some(line), Some(amount)) = (&rule.lines, &rule.line, &rule.line_amount) else {
        return;
    };
    let Some(elements) = lines.lookup(case.output.value).and_then(Value::as_array) else { return };
    let rows = Rows::of(case, lines.as_str(), elements.len());
    let heads = line.heads.as_ref().map(|rule| Heads::of(rule, case));
    let table = Table { lines, line, amount, case, rows, heads };
    for index in 0..elements.len() {
        if findings.is_full() {
            return;
        }
        table.check(index, findings);
    }
    if line.own_row {
        own_row::check(lines.as_str(), amount.as_str(), case, findings);
    }
    if line.as_printed {
        check_repeated(rule, case, elements, findings);
    }
}

/// What the lines of an output are checked with.
struct Table<'a> {
    lines: &'a Pointer,
    line: &'a LineRule,
    amount: &'a Pointer,
    case: &'a Case<'a>,
    rows: Rows,
    heads: Option<Heads<'a>>,
}

impl Table<'_> {
    fn check(&self, index: usize, findings: &mut Findings) {
        let at = |member: &str| format!("{}/{index}{member}", self.lines);
        let pointer = at(self.amount.as_str());
        let Amount::Is(total) = self.case.output.amount(&pointer) else { return };
        match read(self.line, total, &at, self.case, findings) {
            Some(numbers) if self.are_exchanged(&numbers, &at) => {
                let message = "the quantity stands under the head of the unit price, and the unit price under the quantity's";
                let quantity = at(self.line.quantity.as_str());
                findings.push(Finding::new(FindingCode::LabelMismatch, quantity, message));
            }
            Some(numbers) if !self.add_up(index, &numbers) => {
                let Numbers { quantity, unit_price, amount, .. } = numbers;
                let product = quantity.checked_mul(unit_price);
                let product = product.map_or_else(|| "too much".to_owned(), |product| product.to_string());
                let message =
                    format!("{quantity} x {unit_price} = {product}, which does not lead to {amount}");
                findings.push(Finding::new(FindingCode::LineTotal, pointer, message));
            }
            None if self.line.not_overlooked => {
                findings.extend(self.rows.overlooked(index, total, self.line, &at, self.case));
            }
            Some(_) | None => {}
        }
    }

    fn are_exchanged(&self, numbers: &Numbers, at: &impl Fn(&str) -> String) -> bool {
        let (quantity, unit_price) = (at(self.line.quantity.as_str()), at(self.line.unit_price.as_str()));
        let exchanged = |heads: &Heads<'_>| {
            heads.are_exchanged((&quantity, numbers.quantity), (&unit_price, numbers.unit_price))
        };
        self.heads.as_ref().is_some_and(exchanged)
    }

    fn add_up(&self, index: usize, numbers: &Numbers) -> bool {
        let explained = || self.rows.explain(index, numbers, self.case);
        numbers.add_up(self.case) || self.line.unexplained == Unexplained::Printed && explained()
    }
}

fn read(
    line: &LineRule,
    amount: Decimal,
    at: &impl Fn(&str) -> String,
    case: &Case<'_>,
    findings: &mut Findings,
) -> Option<Numbers> {
    let mut number = |member: &Pointer| optional(case.output, &at(member.as_str()), findings);
    let (quantity, unit_price) = (number(&line.quantity), number(&line.unit_price));
    let discount = line.discount.as_ref().and_then(&mut number).unwrap_or_default().abs();
    let discount_percent = line.discount_percent.as_ref().and_then(&mut number).unwrap_or_default().abs();
    let tax_rate = line.tax_rate.as_ref().and_then(&mut number);
    Some(Numbers {
        quantity: quantity?,
        unit_price: unit_price?,
        discount,
        discount_percent,
        tax_rate,
        amount,
    })
}

impl Numbers {
    /// Quantity x price less what is declared to be taken off.
    fn product(&self) -> Option<Decimal> {
        let product = self.quantity.checked_mul(self.unit_price)?;
        let percent = product.checked_mul(self.discount_percent)?.checked_div(HUNDRED)?;
        let discount = if product.is_sign_negative() { -self.discount } else { self.discount };
        product.checked_sub(percent)?.checked_sub(discount)
    }

    /// By how much the amount may differ: half of the currency's smallest unit, and what the last printed digit
    /// of price and quantity leaves open. Fewer digits than the currency has are exact, and so are whole quantities.
    fn tolerance(&self, unit: Decimal) -> Decimal {
        let half = |number: Decimal| Decimal::new(5, number.scale().max(unit.scale()) + 1);
        let price = self.quantity.abs().checked_mul(half(self.unit_price)).unwrap_or_default();
        let quantity = if self.quantity.scale() == 0 { Decimal::ZERO } else { half(self.quantity) };
        let quantity = self.unit_price.abs().checked_mul(quantity).unwrap_or_default();
        unit / Decimal::TWO + price + quantity
    }

    fn is(&self, value: Option<Decimal>, case: &Case<'_>) -> bool {
        let Some(value) = value else { return false };
        let same = |a: Decimal, b: Decimal| {
            a.checked_sub(b).is_some_and(|difference| difference.abs() <= self.tolerance(case.unit))
        };
        same(value, self.amount) || case.is_credit && same(value.abs(), self.amount.abs())
    }

    fn add_up(&self, case: &Case<'_>) -> bool {
        let with_tax = self.tax_rate.and_then(|rate| with_percent(self.product(), rate));
        self.is(self.product(), case) || with_tax.is_some() && self.is(with_tax, case)
    }

    /// Whether one printed number leads to the amount, as a discount or a tax, or a discount and a rate do.
    fn explained_by(&self, printed: &Printed, case: &Case<'_>) -> bool {
        let product = self.product();
        let own = |number: &&Decimal| {
            ![self.quantity, self.unit_price, self.amount].contains(number) && **number > Decimal::ZERO
        };
        let numbers = || printed.numbers.iter().filter(own).take(MAX_NUMBERS);
        let percents = || printed.percents.iter().take(MAX_NUMBERS);
        let rate = |rate: &Decimal| *rate < HUNDRED;
        numbers().any(|number| {
            self.is(product.and_then(|product| product.checked_sub(*number)), case)
                || self.is(product.and_then(|product| product.checked_add(*number)), case)
        }) || numbers().chain(percents()).filter(|number| rate(number)).any(|percent| {
            let less = with_percent(product, -*percent);
            self.is(less, case) || percents().any(|tax| self.is(with_percent(less, *tax), case))
        }) || percents().any(|tax| self.is(with_percent(product, *tax), case))
    }
}

fn with_percent(value: Option<Decimal>, percent: Decimal) -> Option<Decimal> {
    let value = value?;
    value.checked_add(value.checked_mul(percent)?.checked_div(HUNDRED)?)
}

/// What the rows print that a line's quotes stand in.
struct Rows(BTreeMap<usize, Printed>);

#[derive(Default)]
struct Printed {
    rows: BTreeSet<usize>,
    numbers: Vec<Decimal>,
    percents: Vec<Decimal>,
}

impl Rows {
    fn of(case: &Case<'_>, lines: &str, count: usize) -> Self {
        let mut of_lines: BTreeMap<usize, Printed> = BTreeMap::new();
        for entry in case.evidence {
            let Some(span) = entry.span else { continue };
            let index = entry.field.strip_prefix(lines).and_then(|rest| rest.strip_prefix('/'));
            let index = index.and_then(|rest| rest.split('/').next()).and_then(|index| index.parse().ok());
            let Some(index) = index.filter(|index| *index < count) else { continue };
            let printed = of_lines.entry(index).or_default();
            let row = case.row(span.start);
            if printed.rows.len() < MAX_ROWS && printed.rows.insert(span.line) {
                printed.numbers.extend(number::values(row));
                printed.percents.extend(number::percents(row));
            }
        }
        Self(of_lines)
    }

    /// A factor that is null, where the row prints it.
    fn overlooked(
        &self,
        index: usize,
        amount: Decimal,
        line: &LineRule,
        at: &impl Fn(&str) -> String,
        case: &Case<'_>,
    ) -> Option<Finding> {
        let known = |member: &Pointer| match case.output.amount(&at(member.as_str())) {
            Amount::Is(number) => Some(number),
            Amount::Absent | Amount::Wrong(_) => None,
        };
        let (quantity, unit_price) = (known(&line.quantity), known(&line.unit_price));
        let missing = if quantity.is_none() { &line.quantity } else { &line.unit_price };
        let printed = self.0.get(&index)?;
        let says = |number: &&Decimal| !number.is_zero() && number.abs() != Decimal::ONE;
        let numbers: Vec<_> = printed.numbers.iter().filter(says).take(MAX_NUMBERS).collect();
        let known: Vec<_> = quantity.or(unit_price).into_iter().collect();
        let firsts = if known.is_empty() { numbers.clone() } else { known.iter().filter(says).collect() };
        let is_product = |(a, b): &(&Decimal, &Decimal)| {
            a.checked_mul(**b).is_some_and(|product| product.abs() == amount.abs())
        };
        let pairs = firsts.iter().flat_map(|first| numbers.iter().map(|second| (*first, *second)));
        let (first, second) = pairs.filter(|_| !amount.is_zero()).find(is_product)?;
        let message = format!(
            "the value is null, and the printed row has {first} and {second}, which lead to {amount}"
        );
        Some(Finding::new(FindingCode::ValueOverlooked, at(missing.as_str()), message))
    }

    fn explain(&self, index: usize, numbers: &Numbers, case: &Case<'_>) -> bool {
        self.0.get(&index).is_some_and(|printed| numbers.explained_by(printed, case))
    }
}

/// Lines that are the same in every member, more often than the document has a row with their numbers.
fn check_repeated(rule: &AmountsRule, case: &Case<'_>, elements: &[Value], findings: &mut Findings) {
    let mut same: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, element) in elements.iter().enumerate() {
        same.entry(element.to_string()).or_default().push(index);
    }
    let repeated: Vec<_> = same.into_values().filter(|indexes| indexes.len() > 1).collect();
    let (Some(lines), Some(line), Some(amount)) = (&rule.lines, &rule.line, &rule.line_amount) else {
        return;
    };
    if repeated.is_empty() {
        return;
    }
    let rows: Vec<Vec<Decimal>> = case.document.lines().map(number::values).collect();
    for indexes in repeated {
        let last = indexes[indexes.len() - 1];
        let numbers: Vec<_> = [&line.quantity, &line.unit_price, amount]
            .into_iter()
            .filter_map(|member| match case.output.amount(&format!("{lines}/{last}{member}")) {
                Amount::Is(number) => Some(number),
                Amount::Absent | Amount::Wrong(_) => None,
            })
            .collect();
        let printed = rows.iter().filter(|row| numbers.iter().all(|number| row.contains(number))).count();
        if printed > 0 && printed < indexes.len() {
            let message = format!(
                "the same line is there {} times, and the document prints it {printed} times",
                indexes.len()
            );
            findings.push(Finding::new(FindingCode::LineRepeated, format!("{lines}/{last}"), message));
        }
    }
}

/// Which lines are part of others. What can't be is a finding, and then the line counts as one of its own.
pub(super) fn sub_lines(rule: &AmountsRule, case: &Case<'_>, findings: &mut Findings) -> Lines {
    let elements =
        rule.lines.as_ref().and_then(|lines| lines.lookup(case.output.value)).and_then(Value::as_array);
    let (Some(sub), Some(lines), Some(elements)) = (&rule.sub_lines, &rule.lines, elements) else {
        return Lines { parents: vec![None; elements.map_or(0, Vec::len)] };
    };
    let mut parents = Vec::with_capacity(elements.len());
    let mut levels: Vec<(Decimal, usize)> = Vec::new();
    for (index, element) in elements.iter().enumerate() {
        let parent = match claimed(sub, element, index, &parents, &mut levels) {
            Ok(parent) => parent,
            Err(message) => {
                findings.push(Finding::new(FindingCode::SubLine, format!("{lines}/{index}"), message));
                None
            }
        };
        parents.push(parent);
    }
    Lines { parents }
}

/// The line that a line says it is part of.
fn claimed(
    rule: &SubLinesRule,
    line: &Value,
    index: usize,
    parents: &[Option<usize>],
    levels: &mut Vec<(Decimal, usize)>,
) -> Result<Option<usize>, String> {
    let before = || parents.iter().rposition(Option::is_none);
    let none_before = || "it is said to be part of another line, and there is none before it".to_owned();
    if let Some(pointer) = &rule.parent {
        let Some(value) = pointer.lookup(line).filter(|value| !value.is_null()) else { return Ok(None) };
        let parent = whole_number(value).and_then(|number| usize::try_from(number).ok());
        let known = parent.filter(|parent| *parent < index && parents[*parent].is_none());
        return known
            .map(Some)
            .ok_or_else(|| format!("{value} is not the index of a line before it that is no part itself"));
    }
    if let Some(pointer) = &rule.level {
        let Some(level) = pointer.lookup(line).and_then(whole_number) else { return Ok(None) };
        let level = Decimal::from(level);
        levels.retain(|(other, _)| *other < level);
        let top = levels.first().map(|(_, line)| *line);
        levels.push((level, index));
        return Ok(top);
    }
    let included = match &rule.included {
        Some(pointer) => pointer.lookup(line) == Some(&Value::Bool(true)),
        None => {
            let text =
                rule.description.as_ref().and_then(|pointer| pointer.lookup(line)).and_then(Value::as_str);
            let text = fold(text.unwrap_or_default()).to_lowercase();
            rule.marks.iter().any(|mark| text.starts_with(&fold(mark).to_lowercase()))
        }
    };
    if included { before().map(Some).ok_or_else(none_before) } else { Ok(None) }
}

fn whole_number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str().and_then(|text| text.parse().ok()))
}

/// Checks that what is part of a line is not more than the line.
pub(super) fn check_parts(lines: &Lines, amounts: &[Decimal], at: &str, findings: &mut Findings) {
    let mut sums: BTreeMap<usize, Decimal> = BTreeMap::new();
    for (amount, parent) in amounts.iter().zip(&lines.parents) {
        if let Some(parent) = parent {
            let sum = sums.entry(*parent).or_default();
            *sum = sum.saturating_add(amount.abs());
        }
    }
    for (parent, sum) in sums {
        if amounts.get(parent).is_some_and(|amount| sum > amount.abs()) {
            let message = format!("what is part of it adds up to {sum}, and it is {}", amounts[parent]);
            findings.push(Finding::new(FindingCode::SubLine, format!("{at}/{parent}"), message));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::extract::amounts::Output;
    use crate::extract::evidence::Evidence;
    use crate::extract::policy::Policy;
    use crate::extract::references::References;
    use crate::extract::resolve::Resolver;

    fn number(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    fn numbers(quantity: &str, unit_price: &str, amount: &str) -> Numbers {
        Numbers {
            quantity: number(quantity),
            unit_price: number(unit_price),
            discount: Decimal::ZERO,
            discount_percent: Decimal::ZERO,
            tax_rate: None,
            amount: number(amount),
        }
    }

    #[test]
    fn discounts_bring_a_product_nearer_to_nothing() {
        let product = |quantity: &str, discount: &str, percent: &str| {
            let (discount, discount_percent) = (number(discount), number(percent));
            Numbers { discount, discount_percent, ..numbers(quantity, "10.00", "0") }.product().unwrap()
        };
        assert_eq!(product("3", "0", "0"), number("30"));
        assert_eq!(product("3", "5", "0"), number("25"));
        assert_eq!(product("3", "0", "10"), number("27"));
        assert_eq!(product("-3", "5", "0"), number("-25"));
        assert_eq!(numbers("99999999999999999999", "99999999999999999999", "1").product(), None, "too large");
    }

    #[test]
    fn the_last_printed_digits_leave_some_room() {
        let cent = number("0.01");
        assert_eq!(numbers("2", "10.00", "0").tolerance(cent), number("0.015"));
        assert_eq!(
            numbers("40", "40", "0").tolerance(cent),
            number("0.205"),
            "a whole price is exact to the cent"
        );
        assert_eq!(numbers("2.5", "10", "0").tolerance(cent), number("0.0675"));
        assert_eq!(numbers("2", "10.0000", "0").tolerance(cent), number("0.0051"));
    }

    /// What is found in the lines of an output; each line has its row of the document as a quote.
    fn found(lines: Value, document: &str) -> Vec<(&'static str, String)> {
        let policy: Policy = serde_json::from_value(json!({"version": 1, "amounts": {
            "total": "/total", "lines": "/lines", "line_amount": "/amount",
            "line": {"quantity": "/q", "unit_price": "/p", "unexplained": "printed", "as_printed": true, "not_overlooked": true},
        }}))
        .unwrap();
        let (output, resolver) = (json!({"lines": lines}), Resolver::new(document));
        let rows = document.lines().enumerate().map(|(index, row)| Evidence {
            field: format!("/lines/{index}/amount"),
            quote: row.to_owned(),
            span: resolver.find(row),
        });
        let evidence: Vec<_> = rows.collect();
        let references = References::on(jiff::civil::date(2024, 2, 29));
        let output = Output { value: &output, inexact_numbers: &Default::default() };
        let mut findings = Findings::default();
        let case = Case::new(&policy, &references, output, &evidence, &resolver);
        check(policy.amounts.as_ref().unwrap(), &case, &mut findings);
        findings.into_vec().into_iter().map(|finding| (finding.code.name(), finding.pointer)).collect()
    }

    #[test]
    fn a_factor_that_is_printed_is_not_null() {
        let line =
            |q: Value, p: Value| found(json!([{"q": q, "p": p, "amount": "30.00"}]), "Bolt  4  7.50  30.00");
        assert_eq!(line(json!("4"), json!("7.50")), []);
        let overlooked = |field: &str| vec![("value_overlooked", field.to_owned())];
        assert_eq!(line(Value::Null, json!("7.50")), overlooked("/lines/0/q"));
        assert_eq!(line(json!("4"), Value::Null), overlooked("/lines/0/p"));
        assert_eq!(line(Value::Null, Value::Null), overlooked("/lines/0/q"));
        let fee = || json!([{"q": null, "p": null, "amount": "30.00"}]);
        assert_eq!(found(fee(), "Fee 19 %  30.00"), []);
        assert_eq!(found(fee(), "1  Fee  30.00  30.00"), [], "the one may be the line's number");
    }

    #[test]
    fn equal_lines_are_counted_by_their_numbers() {
        let line = || json!({"q": "2", "p": "5.00", "amount": "10.00"});
        let row = "Nut  2  5.00  10.00";
        assert_eq!(found(json!([line(), line()]), &format!("{row}\n{row}")), []);
        assert_eq!(found(json!([line(), line()]), row), [("line_repeated", "/lines/1".to_owned())]);
    }

    #[test]
    fn parts_belong_to_the_line_that_is_no_part() {
        let rule: AmountsRule = serde_json::from_value(json!({
            "total": "/total", "lines": "/lines", "line_amount": "/amount", "sub_lines": {"level": "/level"},
        }))
        .unwrap();
        let policy =
            Policy { amounts: Some(rule.clone()), ..serde_json::from_value(json!({"version": 1})).unwrap() };
        let lines: Vec<_> = ["0", "1", "2", "1", "0", "1"].map(|level| json!({"level": level})).to_vec();
        let value = json!({"lines": lines});
        let references = References::on(jiff::civil::date(2024, 2, 29));
        let output = Output { value: &value, inexact_numbers: &Default::default() };
        let resolver = Resolver::new("");
        let case = Case::new(&policy, &references, output, &[], &resolver);
        let parents = sub_lines(&rule, &case, &mut Findings::default()).parents;
        assert_eq!(parents, [None, Some(0), Some(0), Some(0), None, Some(4)]);
    }
}
