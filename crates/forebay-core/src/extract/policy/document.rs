//! What is known about the document itself: what it is.

use serde::{Deserialize, Serialize};

use super::{PolicyError, refuse_if};
use crate::extract::pointer::Pointer;
use crate::extract::resolve::fold;

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
