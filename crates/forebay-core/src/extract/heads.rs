//! Under which head of its table a line's numbers stand: a quantity and a unit price that were exchanged multiply to the
//! same amount.

use std::collections::HashMap;
use std::ops::Range;

use rust_decimal::Decimal;

use crate::extract::policy::HeadsRule;
use crate::extract::resolve::{Span, find_whole};
use crate::extract::{Case, number};

/// Digits that a row of heads has at most: others are what stands below it.
const MAX_DIGITS: usize = 3;

/// The rows of the document that have both heads, and where each line's numbers are quoted.
pub(super) struct Heads<'a> {
    case: &'a Case<'a>,
    rows: Vec<Head>,
    spans: HashMap<&'a str, Span>,
}

/// A row with both heads, by its first byte, and the columns of the heads in characters.
struct Head {
    row: usize,
    quantity: Range<usize>,
    unit_price: Range<usize>,
}

impl<'a> Heads<'a> {
    pub(super) fn of(rule: &HeadsRule, case: &'a Case<'a>) -> Self {
        let mut rows = Vec::new();
        let mut row = 0;
        for text in case.document.split_inclusive('\n') {
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            let lower = if digits > MAX_DIGITS { String::new() } else { text.to_lowercase() };
            if let (Some(quantity), Some(unit_price)) =
                (head(&lower, &rule.quantity), head(&lower, &rule.unit_price))
            {
                rows.push(Head { row, quantity, unit_price });
            }
            row += text.len();
        }
        let spans = case.evidence.iter().filter_map(|entry| Some((entry.field.as_str(), entry.span?)));
        Self { case, rows, spans: spans.collect() }
    }

    /// Whether the quantity stands under the head of the unit price, and the unit price under that of the quantity.
    pub(super) fn are_exchanged(&self, quantity: (&str, Decimal), unit_price: (&str, Decimal)) -> bool {
        self.exchanged(quantity, unit_price).unwrap_or(false)
    }

    fn exchanged(&self, quantity: (&str, Decimal), unit_price: (&str, Decimal)) -> Option<bool> {
        let (row, text) = self.case.resolver.row(self.spans.get(quantity.0)?.start);
        let (other, _) = self.case.resolver.row(self.spans.get(unit_price.0)?.start);
        let head = self.rows.iter().rfind(|head| head.row < row)?;
        if row != other || quantity.1 == unit_price.1 {
            return None;
        }
        let nearest = |value: Decimal, head: &Range<usize>| {
            let places = number::places(text, value).into_iter();
            places.map(|place| gap(&columns(text, place), head)).min()
        };
        let nearer = |value: Decimal, near: &Range<usize>, far: &Range<usize>| {
            Some(nearest(value, near)? < nearest(value, far)?)
        };
        let quantity_is = nearer(quantity.1, &head.unit_price, &head.quantity)?;
        Some(quantity_is && nearer(unit_price.1, &head.quantity, &head.unit_price)?)
    }
}

/// The columns of the first of these words in a row.
fn head(row: &str, words: &[String]) -> Option<Range<usize>> {
    let at = |word: &String| {
        find_whole(row, &word.to_lowercase(), 0).map(|start| (start, start + word.to_lowercase().len()))
    };
    words.iter().filter_map(at).min().map(|place| columns(row, place))
}

fn columns(row: &str, (start, end): (usize, usize)) -> Range<usize> {
    let first = row[..start].chars().count();
    first..first + row[start..end].chars().count()
}

/// How far two ranges are apart.
fn gap(a: &Range<usize>, b: &Range<usize>) -> usize {
    a.start.saturating_sub(b.end).max(b.start.saturating_sub(a.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_found_by_their_first_word() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let row = "größe   q.tà   prezzo unitario   prezzo";
        assert_eq!(head(row, &words(&["Qty", "Q.tà"])), Some(8..12));
        assert_eq!(head(row, &words(&["Prezzo"])), Some(15..21));
        assert_eq!(head(row, &words(&["Prez"])), None, "whole words");
        assert_eq!((gap(&(3..5), &(4..9)), gap(&(3..5), &(7..9)), gap(&(7..9), &(3..5))), (0, 2, 2));
    }
}
