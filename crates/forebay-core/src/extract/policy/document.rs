//! What is known about the document itself: how it writes numbers and dates, what it is, and what its
//! labels say.

use serde::{Deserialize, Serialize};

use super::{Named, PolicyError, Role, refuse_if};
use crate::extract::pointer::Pointer;
use crate::extract::resolve::fold;

/// How documents write numbers and dates. What is not declared is taken from the document as a whole; what stays
/// ambiguous there is a finding, unless its other reading breaks another rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StyleRule {
    /// The mark before decimals: what does `1,234` mean? Default: as the document writes its other numbers.
    #[serde(default)]
    pub decimal: DecimalMark,
    /// Which of day and month comes first: what does `03/04/2023` mean? Default: as the document writes its other
    /// dates.
    #[serde(default)]
    pub date_order: DateOrder,
}

/// The mark before decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecimalMark {
    /// As the document writes its other numbers.
    #[default]
    Document,
    /// `1.234,56`.
    Comma,
    /// `1,234.56`.
    Point,
}

/// Which of day and month comes first in a date of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DateOrder {
    /// As the document writes its other dates.
    #[default]
    Document,
    /// `31/12/2023`.
    DayFirst,
    /// `12/31/2023`.
    MonthFirst,
}

/// Documents that give money back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreditNotesRule {
    /// Where the output says what the document is. Null and absent stand for an invoice.
    pub field: Pointer,
    /// What stands there when it is a credit note. Default: `credit_note`.
    #[serde(default = "credit_note")]
    pub values: Vec<String>,
    /// How the output writes the amounts of a credit note, however the document prints them.
    pub amounts: CreditAmounts,
    /// What a credit note is titled: `Credit note`, `Gutschrift`. A title counts where it begins a printed cell and
    /// nothing but a number follows it there. Case does not matter.
    pub titles: Vec<String>,
}

/// The sign of a credit note's amounts in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreditAmounts {
    /// Net, tax and total are below zero.
    Negative,
    /// They are above zero: what the document is says the rest.
    Positive,
}

/// A tax of zero, or none, is held against what the document prints: a tax amount other than zero beside one of the
/// labels, together with an amount that it leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedTaxRule {
    /// What a tax is called: `VAT`, `BTW`, `MwSt`. Case and full stops do not matter.
    pub labels: Vec<String>,
    /// Words before a label that turn its meaning around: `excl.`, `ohne`, `incl.`.
    #[serde(default)]
    pub not_after: Vec<String>,
}

/// What a document prints beside a value. The label of a value stands before it in the same printed cell, in the
/// cell to its left, or above it in its column. Case and punctuation do not matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelRule {
    /// The value.
    pub field: Pointer,
    /// Its own labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<String>,
    /// Labels of other things: a value whose every place in the document has one of these, and none of its own,
    /// is a finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other: Vec<String>,
    /// Whether the value must stand beside one of its own labels. Default: no.
    #[serde(default)]
    pub own_required: bool,
    /// Whether a null is a finding where the document prints one of the field's own labels with a value beside it.
    /// Default: no.
    #[serde(default)]
    pub not_overlooked: bool,
}

fn credit_note() -> Vec<String> {
    vec!["credit_note".to_owned()]
}

/// Refuses blank words, and a list without any where one is needed.
fn check_words(member: &str, words: &[String], needed: bool) -> Result<(), PolicyError> {
    refuse_if(needed && words.is_empty(), member, "name at least one")?;
    refuse_if(words.iter().any(|word| fold(word).is_empty()), member, "can't be blank")
}

impl CreditNotesRule {
    pub(super) fn validate(&self) -> Result<(), PolicyError> {
        check_words("credit_notes.values", &self.values, true)?;
        check_words("credit_notes.titles", &self.titles, true)
    }
}

impl PrintedTaxRule {
    pub(super) fn validate(&self) -> Result<(), PolicyError> {
        check_words("printed_tax.labels", &self.labels, true)?;
        check_words("printed_tax.not_after", &self.not_after, false)
    }
}

impl LabelRule {
    pub(super) fn named(&self) -> Named {
        Named::new("labels.field", self.field.clone(), Role::Text)
    }

    pub(super) fn validate(&self) -> Result<(), PolicyError> {
        let field = &self.field;
        refuse_if(field.is_pattern(), "labels.field", format!("{field} must name one field, without `*`"))?;
        let own_needed = self.own_required || self.not_overlooked || self.other.is_empty();
        check_words("labels.own", &self.own, own_needed)?;
        check_words("labels.other", &self.other, false)
    }
}
