//! What holds within a line, and between lines.

use serde::{Deserialize, Serialize};

use super::{Named, PolicyError, Role, is_default, refuse_if};
use crate::extract::pointer::Pointer;
use crate::extract::resolve::fold;

/// How a line's amount follows from its other numbers: quantity x unit price, less the discount, perhaps with tax.
/// All of them are pointers within a line, and all may be null; where quantity or unit price is, nothing is
/// calculated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineRule {
    /// How many.
    pub quantity: Pointer,
    /// The price of one.
    pub unit_price: Pointer,
    /// What is taken off the line, as an amount; its sign does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discount: Option<Pointer>,
    /// What is taken off the line, in percent; its sign does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discount_percent: Option<Pointer>,
    /// The line's tax rate in percent: prices without tax may then lead to an amount with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tax_rate: Option<Pointer>,
    /// What happens where the numbers of a line do not lead to its amount. Default: refused.
    #[serde(default)]
    pub unexplained: Unexplained,
    /// Whether lines that are the same in every member may be there only as often as the document prints such a
    /// row. Default: not looked at.
    #[serde(default)]
    pub as_printed: bool,
    /// Whether the texts of a line may not be quoted from the row that another line's amount stands in. Default: not
    /// looked at.
    #[serde(default, skip_serializing_if = "is_default")]
    pub own_row: bool,
    /// Whether a quantity or a unit price that is null is a finding where the printed row has two numbers, neither of
    /// them 1, that multiply to the line's amount. Default: not looked at.
    #[serde(default, skip_serializing_if = "is_default")]
    pub not_overlooked: bool,
    /// What the columns are headed: a quantity that stands under the head of the unit price, while the unit price
    /// stands under that of the quantity, is a finding. Default: not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heads: Option<HeadsRule>,
}

/// The heads of a table's columns. Case does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadsRule {
    /// Of the quantities: `Qty`, `Menge`.
    pub quantity: Vec<String>,
    /// Of the unit prices: `Unit price`, `Einzelpreis`.
    pub unit_price: Vec<String>,
}

/// What happens where quantity, price and declared discounts do not lead to a line's amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unexplained {
    /// It is a finding.
    #[default]
    Refused,
    /// It is a finding unless another number of the same printed row explains it, as a discount or a tax, in
    /// percent or as an amount.
    Printed,
}

/// Which lines are already part of another line. Exactly one way to know it is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubLinesRule {
    /// Within a line: true where it is part of the line before it that is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub included: Option<Pointer>,
    /// Within a line: the index of the line that it is part of, counted from 0; null for a line of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Pointer>,
    /// Within a line: its level; a line is part of the last one before it with a smaller level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Pointer>,
    /// How the description of a line begins that is part of the one before it: `Incl.`, `davon`. With
    /// `description`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
    /// Within a line: the text that `marks` are looked for in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<Pointer>,
}

impl LineRule {
    pub(super) fn members(&self) -> impl Iterator<Item = (&'static str, &Pointer)> {
        [
            ("amounts.line.quantity", Some(&self.quantity)),
            ("amounts.line.unit_price", Some(&self.unit_price)),
            ("amounts.line.discount", self.discount.as_ref()),
            ("amounts.line.discount_percent", self.discount_percent.as_ref()),
            ("amounts.line.tax_rate", self.tax_rate.as_ref()),
        ]
        .into_iter()
        .filter_map(|(member, field)| field.map(|field| (member, field)))
    }

    pub(super) fn fields(&self, lines: &Pointer) -> Vec<Named> {
        let role = |member| match member {
            "amounts.line.discount" => Role::Amount,
            "amounts.line.quantity" | "amounts.line.unit_price" => Role::Number,
            _ => Role::Percent,
        };
        self.members().map(|(member, field)| Named::new(member, lines.each(field), role(member))).collect()
    }

    pub(super) fn validate(&self) -> Result<(), PolicyError> {
        let twice = self.discount.is_some() && self.discount_percent == self.discount;
        refuse_if(twice, "amounts.line.discount_percent", "a discount is an amount or a percentage")?;
        let Some(heads) = &self.heads else { return Ok(()) };
        let blank = |words: &[String]| words.is_empty() || words.iter().any(|word| fold(word).is_empty());
        let message = "name at least one head for each, none of them blank";
        refuse_if(blank(&heads.quantity) || blank(&heads.unit_price), "amounts.line.heads", message)
    }
}

impl SubLinesRule {
    pub(super) fn members(&self) -> impl Iterator<Item = (&'static str, &Pointer)> {
        [
            ("amounts.sub_lines.included", self.included.as_ref()),
            ("amounts.sub_lines.parent", self.parent.as_ref()),
            ("amounts.sub_lines.level", self.level.as_ref()),
            ("amounts.sub_lines.description", self.description.as_ref()),
        ]
        .into_iter()
        .filter_map(|(member, field)| field.map(|field| (member, field)))
    }

    pub(super) fn fields(&self, lines: &Pointer) -> Vec<Named> {
        let role =
            |member| if member == "amounts.sub_lines.description" { Role::Text } else { Role::Structure };
        self.members().map(|(member, field)| Named::new(member, lines.each(field), role(member))).collect()
    }

    pub(super) fn validate(&self) -> Result<(), PolicyError> {
        let ways =
            [self.included.is_some(), self.parent.is_some(), self.level.is_some(), !self.marks.is_empty()];
        let one = ways.iter().filter(|named| **named).count() == 1;
        let message = "name one of `included`, `parent`, `level` and `marks`";
        refuse_if(!one, "amounts.sub_lines", message)?;
        let halves = self.marks.is_empty() == self.description.is_some();
        refuse_if(halves, "amounts.sub_lines.marks", "`marks` and `description` go together")?;
        let blank = self.marks.iter().any(|mark| fold(mark).is_empty());
        refuse_if(blank, "amounts.sub_lines.marks", "a mark can't be blank")
    }
}
