//! What must add up.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use super::{Named, PolicyError, Role, refuse_if, text};
use crate::extract::pointer::Pointer;

/// Amounts and their sums. Every amount that is named here must be there.
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
    /// What the lines add up to. Default: either.
    #[serde(default)]
    pub line_amounts: LineAmounts,
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

impl AmountsRule {
    /// The fields that this rule names, with what they are to it.
    pub(super) fn fields(&self) -> Vec<Named> {
        let amount = |member, field: &Pointer| Named::new(member, field.clone(), Role::Amount);
        let mut named = vec![amount("amounts.total", &self.total)];
        named.extend(self.net.iter().map(|field| amount("amounts.net", field)));
        named.extend(self.tax.iter().map(|field| amount("amounts.tax", field)));
        named.extend(self.lines.iter().map(|field| Named::new("amounts.lines", field.clone(), Role::List)));
        let line = self.lines.iter().zip(&self.line_amount);
        named.extend(line.map(|(lines, field)| amount("amounts.line_amount", &lines.each(field))));
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
        refuse_if(negative, "amounts.line_tolerance", "can't be negative")
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
        own.into_iter().filter_map(|(member, field)| field.map(|field| (member, field)))
    }
}
