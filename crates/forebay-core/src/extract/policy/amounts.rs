//! What must add up.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::lines::{LineRule, SubLinesRule};
use super::{Named, PolicyError, Role, refuse_if, text};
use crate::extract::pointer::Pointer;

/// Amounts and their sums. `net`, `tax`, `total` and the amounts of the lines must be there where they are named
/// here; all others may be null or absent, and count as nothing then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmountsRule {
    /// The amount before tax. With `tax`, or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net: Option<Pointer>,
    /// The tax. With `net`, or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax: Option<Pointer>,
    /// The amount to pay: net and tax.
    pub total: Pointer,
    /// The array of lines. With `line_amount`, or not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<Pointer>,
    /// The amount within a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_amount: Option<Pointer>,
    /// By how much net + tax may differ from the total. Default 0: not at all.
    #[serde(default, with = "text::decimal")]
    pub tolerance: Decimal,
    /// By how much the sum of the lines may differ. Default: what `rounding` allows, or else as `tolerance`.
    #[serde(default, with = "text::optional_decimal", skip_serializing_if = "Option::is_none")]
    pub line_tolerance: Option<Decimal>,
    /// The highest tax there may be, in percent of the net amount: a net amount and a tax that were exchanged have the
    /// same sum. Default: not looked at.
    #[serde(default, with = "text::optional_decimal", skip_serializing_if = "Option::is_none")]
    pub max_tax_percent: Option<Decimal>,
    /// What the lines add up to. Default: either.
    #[serde(default)]
    pub line_amounts: LineAmounts,
    /// Where the supplier rounds, from which follows what may differ by fractions of a cent. Default: sums are
    /// exact within the tolerances above, and a rate times its base within half of the currency's smallest unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<Rounding>,
    /// How a line's amount follows from its other numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<LineRule>,
    /// Which lines are part of another line and not added once more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_lines: Option<SubLinesRule>,
    /// What the whole document adds or takes off beside its lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adjustments: Vec<Adjustment>,
    /// The table of tax rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taxes: Option<TaxesRule>,
}

/// Whether line amounts include the tax.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineAmounts {
    /// They add up to the net amount.
    Net,
    /// They add up to the total.
    Gross,
    /// To one of the two.
    #[default]
    Either,
}

/// Where a supplier rounds. One rounding moves an amount by at most half of the currency's smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// Each line, tax included: lines add up exactly, and the tax of a rate may differ by one rounding a line.
    Line,
    /// The sums alone: lines may differ from their sum by one rounding each and one more, the tax of a rate by one.
    Total,
}

/// An amount of the whole document: shipping, a surcharge, a discount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adjustment {
    /// Where it stands. It may be null or absent.
    pub field: Pointer,
    /// What it does.
    pub effect: Effect,
    /// Where it is counted. Default: before tax.
    #[serde(default)]
    pub counts: Counts,
}

/// What an adjustment does to the sum of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It is added as it is, sign included.
    Add,
    /// Its size is taken off: a discount of 5.00 and one of -5.00 are the same.
    Subtract,
}

/// Where an adjustment is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// With the lines: it is part of the net amount.
    #[default]
    BeforeTax,
    /// After net and tax: it is part of the total alone, as a deposit or a voucher is.
    AfterTax,
}

/// A list of what is taxed at which rate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaxesRule {
    /// The array. Null, absent or empty is fine: then nothing is checked.
    pub list: Pointer,
    /// Within an entry: what is taxed.
    pub base: Pointer,
    /// Within an entry: the rate in percent.
    pub rate: Pointer,
    /// Within an entry: the tax.
    pub tax: Pointer,
    /// Whether the list may leave out what is not taxed, so that its bases are less than the net amount. Default: no.
    #[serde(default)]
    pub untaxed_left_out: bool,
}

impl AmountsRule {
    /// The fields that this rule names, with what they are to it.
    pub(super) fn fields(&self) -> Vec<Named> {
        let amount = |member, field: &Pointer| Named::new(member, field.clone(), Role::Amount);
        let mut named = vec![amount("amounts.total", &self.total)];
        named.extend(self.net.iter().map(|field| amount("amounts.net", field)));
        named.extend(self.tax.iter().map(|field| amount("amounts.tax", field)));
        named.extend(self.lines.iter().map(|field| Named::new("amounts.lines", field.clone(), Role::List)));
        if let Some(lines) = &self.lines {
            named.extend(
                self.line_amount.iter().map(|field| amount("amounts.line_amount", &lines.each(field))),
            );
            named.extend(self.line.iter().flat_map(|line| line.fields(lines)));
            named.extend(self.sub_lines.iter().flat_map(|rule| rule.fields(lines)));
        }
        named.extend(self.adjustments.iter().map(|it| amount("amounts.adjustments.field", &it.field)));
        named.extend(self.taxes.iter().flat_map(TaxesRule::fields));
        named
    }

    pub(super) fn validate(&self) -> Result<(), PolicyError> {
        let halves = self.net.is_some() != self.tax.is_some();
        refuse_if(halves, "amounts.net", "`net` and `tax` go together: the total is their sum")?;
        let halves = self.lines.is_some() != self.line_amount.is_some();
        refuse_if(halves, "amounts.lines", "`lines` and `line_amount` go together")?;
        let net_lines_without_net = self.line_amounts == LineAmounts::Net && self.net.is_none();
        refuse_if(net_lines_without_net, "amounts.line_amounts", "is `net`, and there is no `net`")?;
        for (member, field) in self.single_fields() {
            refuse_if(field.is_pattern(), member, format!("{field} must name one field, without `*`"))?;
        }
        refuse_if(self.tolerance < Decimal::ZERO, "amounts.tolerance", "can't be negative")?;
        let negative = self.line_tolerance.is_some_and(|tolerance| tolerance < Decimal::ZERO);
        refuse_if(negative, "amounts.line_tolerance", "can't be negative")?;
        let no_limit = self.max_tax_percent.is_some_and(|limit| limit <= Decimal::ZERO);
        refuse_if(no_limit, "amounts.max_tax_percent", "must be above zero")?;
        let without = |member, there: bool| {
            refuse_if(there && self.lines.is_none(), member, "there are no `lines` in `amounts`")
        };
        without("amounts.line", self.line.is_some())?;
        without("amounts.sub_lines", self.sub_lines.is_some())?;
        let no_tax = self.taxes.is_some() && self.tax.is_none();
        refuse_if(no_tax, "amounts.taxes", "add up to `net` and `tax`, which are not named")?;
        self.line.as_ref().map_or(Ok(()), LineRule::validate)?;
        self.sub_lines.as_ref().map_or(Ok(()), SubLinesRule::validate)
    }

    /// The fields that stand for one place of the output, of a line or of an entry.
    fn single_fields(&self) -> impl Iterator<Item = (&'static str, &Pointer)> {
        let own = [
            ("amounts.net", self.net.as_ref()),
            ("amounts.tax", self.tax.as_ref()),
            ("amounts.total", Some(&self.total)),
            ("amounts.lines", self.lines.as_ref()),
            ("amounts.line_amount", self.line_amount.as_ref()),
        ];
        let own = own.into_iter().filter_map(|(member, field)| field.map(|field| (member, field)));
        let adjustments = self.adjustments.iter().map(|it| ("amounts.adjustments.field", &it.field));
        own.chain(adjustments)
            .chain(self.line.iter().flat_map(LineRule::members))
            .chain(self.sub_lines.iter().flat_map(SubLinesRule::members))
            .chain(self.taxes.iter().flat_map(TaxesRule::members))
    }
}

impl TaxesRule {
    fn members(&self) -> [(&'static str, &Pointer); 4] {
        [
            ("amounts.taxes.list", &self.list),
            ("amounts.taxes.base", &self.base),
            ("amounts.taxes.rate", &self.rate),
            ("amounts.taxes.tax", &self.tax),
        ]
    }

    fn fields(&self) -> [Named; 4] {
        let each = |member, field, role| Named::new(member, self.list.each(field), role);
        [
            Named::new("amounts.taxes.list", self.list.clone(), Role::List),
            each("amounts.taxes.base", &self.base, Role::Amount),
            each("amounts.taxes.rate", &self.rate, Role::Percent),
            each("amounts.taxes.tax", &self.tax, Role::Amount),
        ]
    }
}
