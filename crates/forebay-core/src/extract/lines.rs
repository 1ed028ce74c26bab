//! What holds within a line and between lines: quantity x unit price less discounts, lines that are part of others,
//! and lines that are there more often than the document prints them.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;
use serde_json::Value;

use crate::extract::Case;
use crate::extract::amounts::{Amount, optional};
use crate::extract::finding::{Finding, FindingCode, Findings};
use crate::extract::number;
use crate::extract::policy::{AmountsRule, LineRule, SubLinesRule, Unexplained};
use crate::extract::resolve::fold;

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
    for index in 0..elements.len() {
        if findings.is_full() {
            return;
        }
        let at = |member: &str| format!("{lines}/{index}{member}");
        let pointer = at(amount.as_str());
        let Amount::Is(total) = case.output.amount(&pointer) else { continue };
        let Some(numbers) = read(line, total, &at, case, findings) else { continue };
        if numbers.add_up(case)
            || line.unexplained == Unexplained::Printed && rows.explain(index, &numbers, case)
        {
            continue;
        }
        let Numbers { quantity, unit_price, amount, .. } = numbers;
        let message = format!(
            "{quantity} x {unit_price} = {}, which does not lead to {amount}",
            quantity
                .checked_mul(unit_price)
                .map_or_else(|| "too much".to_owned(), |product| product.to_string())
        );
        findings.push(Finding::new(FindingCode::LineTotal, pointer, message));
    }
    if line.as_printed {
        check_repeated(rule, case, elements, findings);
    }
}

fn read(
    line: &LineRule,
    amount: Decimal,
    at: &impl Fn(&str) -> String,
    case: &Case<'_>,
    findings: &mut Findings,
) -> Option<Numbers> {
    let mut number = |member: &crate::extract::Pointer| optional(case.output, &at(member.as_str()), findings);
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
    /// of price and quantity leaves open.
    fn tolerance(&self, unit: Decimal) -> Decimal {
        let half = |number: Decimal| Decimal::new(5, number.scale() + 1);
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
