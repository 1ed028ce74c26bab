//! How a document writes numbers and dates: which mark stands before decimals, which one groups thousands, and
//! whether the day or the month comes first. It is declared, or taken from the numbers and dates of the document that
//! can be read in one way only.

use crate::extract::country;
use crate::extract::number::{self, Form};
use crate::extract::policy::{DateOrder, DecimalMark, StyleRule};
use crate::extract::written_date;

/// One way of writing counts as the document's own when it is this much more frequent than another.
const MAJORITY: usize = 4;

/// A document's way of writing; what is unknown stays ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Style {
    /// `.` or `,` before decimals.
    pub(super) decimal: Option<char>,
    /// Whether a plain space groups thousands.
    pub(super) spaces_group: Option<bool>,
    /// Whether the day comes first in `03/04/2023`.
    pub(super) day_first: Option<bool>,
}

/// How often something was seen, and how often its opposite.
#[derive(Default)]
struct Votes(usize, usize);

impl Votes {
    fn count(&mut self, vote: Option<bool>) {
        self.0 += usize::from(vote == Some(true));
        self.1 += usize::from(vote == Some(false));
    }

    fn decide(&self) -> Option<bool> {
        let Self(yes, no) = *self;
        (yes >= MAJORITY * no && yes > 0)
            .then_some(true)
            .or_else(|| (no >= MAJORITY * yes && no > 0).then_some(false))
    }
}

impl Style {
    /// `decimals` are those of the document's currency.
    pub(super) fn of(document: &str, rule: StyleRule, decimals: u32) -> Self {
        let (mut comma, mut spaces, mut day_first) = (Votes::default(), Votes::default(), Votes::default());
        let mut open = Votes::default();
        for line in document.lines().filter(|line| line.bytes().any(|byte| byte.is_ascii_digit())) {
            for form in number::forms(line) {
                comma.count(form.says_comma());
                spaces.count(form.says_spaces());
                open.count(form.is_open_point());
            }
            written_date::orders(line).into_iter().for_each(|order| day_first.count(Some(order)));
        }
        let decimal = match rule.decimal {
            // Where a currency has three decimals, three digits after a point are what its amounts end with.
            DecimalMark::Document => {
                let three = || if decimals == 3 && open.decide() == Some(true) { Some(false) } else { None };
                comma.decide().or_else(three).map(|comma| if comma { ',' } else { '.' })
            }
            DecimalMark::Comma => Some(','),
            DecimalMark::Point => Some('.'),
        };
        let day_first = match rule.date_order {
            // Where decimals have a comma, nobody writes the month first; in the United States everybody does.
            DateOrder::Document => day_first
                .decide()
                .or((decimal == Some(',')).then_some(true))
                .or_else(|| country::is_american(document).then_some(false)),
            DateOrder::DayFirst => Some(true),
            DateOrder::MonthFirst => Some(false),
        };
        Self { decimal, spaces_group: spaces.decide(), day_first }
    }
}

impl Form {
    /// Whether decimals have a comma, as far as this number tells.
    fn says_comma(&self) -> Option<bool> {
        match (self.decimal, self.decimals, self.grouping, self.ambiguous) {
            (Some(mark), _, Some(_), false) | (Some(mark), 2, None, false) => Some(mark == ','),
            (None, _, Some(mark @ ('.' | ',')), false) => Some(mark == '.'),
            _ => None,
        }
    }

    /// Of a number that may have three decimals, or thousands: whether its mark is a point.
    fn is_open_point(&self) -> Option<bool> {
        self.decimal.filter(|_| self.ambiguous).map(|mark| mark == '.')
    }

    /// Whether spaces group thousands, as far as this number tells.
    fn says_spaces(&self) -> Option<bool> {
        match (self.grouping, self.decimal) {
            (Some(' ') | None, Some(_)) if self.certain_space => Some(true),
            (Some(mark), Some(_)) if mark != ' ' => Some(false),
            (None, Some(_)) if self.whole_digits > 3 => Some(false),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_documents_style_is_that_of_what_is_unambiguous_in_it() {
        let decimal = |text| Style::of(text, StyleRule::default(), 2).decimal;
        assert_eq!(decimal("257,59  59,24  316,83\n54,910"), Some(','));
        assert_eq!(decimal("$4.11 and 1,234"), Some('.'));
        assert_eq!(decimal("1.234.567"), Some(','));
        assert_eq!(decimal("1,234 and 54.910"), None);
        assert_eq!(decimal("1,50 and 1.50"), None, "both ways");
        assert_eq!(decimal("3.50\n399,00 69,99 189,00 14,99"), Some(','));
        let dinars = |text| Style::of(text, StyleRule::default(), 3).decimal;
        assert_eq!(
            (dinars("185.750 and 12.375"), dinars("185,750"), dinars("185.750 1,000")),
            (Some('.'), None, None)
        );
        let spaces = |text| Style::of(text, StyleRule::default(), 2).spaces_group;
        assert_eq!(spaces("1\u{a0}234,56"), Some(true));
        assert_eq!(spaces("1 000,00"), Some(true), "nobody writes 000,00 alone");
        assert_eq!(spaces("€ 1 234,56"), Some(true));
        assert_eq!(spaces("1234,56 and 2 150,00"), Some(false));
        assert_eq!(spaces("2 150.00"), None);
    }

    #[test]
    fn the_order_of_day_and_month_is_taken_from_other_dates() {
        let order = |text| Style::of(text, StyleRule::default(), 2).day_first;
        assert_eq!(order("03/20/2023 and 04/04/2023"), Some(false));
        assert_eq!(order("8-9-2022 and 22-9-2022"), Some(true));
        assert_eq!(order("04/04/2023"), None);
        assert_eq!(order("04/05/2023 for 12,50"), Some(true));
        assert_eq!(order("20/3/2023 3/20/2023"), None);
        assert_eq!(order("05/09/2025\nSpringfield, IL 62704\nSales tax $5.00"), Some(false));
        assert_eq!(order("05/09/2025\nSpringfield, IL 62704\nSales tax $5.00 on 13/09/2025"), Some(true));
        let declared = StyleRule { date_order: DateOrder::MonthFirst, decimal: DecimalMark::Comma };
        let style = Style::of("1.50 on 22-9-2022", declared, 2);
        assert_eq!((style.decimal, style.day_first), (Some(','), Some(false)));
    }
}
