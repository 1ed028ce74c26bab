//! What can be wrong with an answer: a closed list of codes, and one finding as it is stored and shown.

use serde::{Deserialize, Serialize};

use crate::extract::resolve::Span;
use crate::failure::FailureClass;
use crate::text;

/// Findings that one evaluation keeps.
pub const MAX_FINDINGS: usize = 100;

/// Characters that are kept of a finding's message.
pub const MESSAGE_CHARS: usize = 400;

/// What is wrong. The names are stable: they are stored, shown and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// The answer is not JSON, not even after the repairs that invent nothing.
    NotJson,
    /// The answer ends before it is complete.
    Truncated,
    /// An object has a member twice; neither is chosen.
    DuplicateMember,
    /// The answer is JSON but not an `output` with a list of `evidence`.
    AnswerShape,
    /// The output does not satisfy the task's JSON Schema.
    Schema,
    /// A value that is required is null, blank or absent.
    MissingRequired,
    /// A number is not written as a plain decimal number.
    AmountFormat,
    /// An amount has more decimals than its currency.
    AmountDecimals,
    /// Net and tax do not add up to the total.
    NetTaxTotal,
    /// The lines add up to neither sum that they may add up to.
    LineSum,
    /// Quantity, unit price, discounts and tax of a line do not lead to its amount.
    LineTotal,
    /// The same line is there more often than the document prints it.
    LineRepeated,
    /// A text of a line is quoted from the row of another line.
    LineMixed,
    /// A line is said to be part of none, or the parts are more than their line.
    SubLine,
    /// A rate times its base is not its tax.
    TaxRate,
    /// Bases do not add up to the net amount, or taxes not to the tax.
    TaxSum,
    /// The tax is more than the policy's share of the net amount.
    TaxTooHigh,
    /// The tax is zero or missing, and the document prints one that leads from one printed amount to another.
    TaxOverlooked,
    /// The document is titled as a credit note and not said to be one, or the other way round.
    DocumentType,
    /// An amount has the sign that such a document does not have.
    CreditSign,
    /// There are amounts and no currency.
    CurrencyMissing,
    /// The currency is not one that the policy allows.
    CurrencyNotAllowed,
    /// The document prints another currency next to the total.
    CurrencyContradicted,
    /// The document prints a sign that several currencies share, and nothing says which is meant.
    CurrencyAmbiguous,
    /// A date is not a day of the calendar, written `YYYY-MM-DD`.
    DateFormat,
    /// A date is before the date that it must not precede.
    DateOrder,
    /// A date is outside the time that the policy allows.
    DateImplausible,
    /// An IBAN has another length than its country's, or wrong check digits.
    IbanInvalid,
    /// A value stands only beside the label of something else, or beside none of its own where one is required.
    LabelMismatch,
    /// A value is null, and the document prints one beside its label.
    ValueOverlooked,
    /// A value has no quote.
    EvidenceMissing,
    /// A quote does not stand in the document.
    EvidenceNotFound,
    /// A quote stands in the document, and the value does not stand in the quote.
    EvidenceValueMismatch,
    /// A printed number can be read in two ways, and neither the document nor a sum says which.
    NumberAmbiguous,
    /// Day and month of a printed date can be exchanged, and neither the document nor a rule says which is which.
    DateAmbiguous,
    /// A quote is given for a field that the output does not have.
    EvidenceFieldUnknown,
    /// The tenant has no such dataset, it lacks a column, or it can't be read.
    DatasetMissing,
    /// No record has one of the values that it is found by.
    RecordUnknown,
    /// Several records fit, and they differ.
    RecordAmbiguous,
    /// A value is not what the record says.
    RecordMismatch,
    /// Another job had the same document.
    Duplicate,
}

/// What is known about a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FindingFacts {
    /// The name in the API, the database and the metrics.
    pub name: &'static str,
    /// The failure class of a job that ends with such a finding.
    pub class: FailureClass,
    /// The members of a policy that it comes from.
    pub rule: &'static str,
    /// What is wrong.
    pub meaning: &'static str,
}

use FindingCode as C;

impl FindingCode {
    /// Every code, in the order of the checks.
    pub const ALL: [FindingCode; 41] = [
        C::NotJson,
        C::Truncated,
        C::DuplicateMember,
        C::AnswerShape,
        C::Schema,
        C::MissingRequired,
        C::AmountFormat,
        C::AmountDecimals,
        C::NetTaxTotal,
        C::LineSum,
        C::LineTotal,
        C::LineRepeated,
        C::LineMixed,
        C::SubLine,
        C::TaxRate,
        C::TaxSum,
        C::TaxTooHigh,
        C::TaxOverlooked,
        C::DocumentType,
        C::CreditSign,
        C::CurrencyMissing,
        C::CurrencyNotAllowed,
        C::CurrencyContradicted,
        C::CurrencyAmbiguous,
        C::DateFormat,
        C::DateOrder,
        C::DateImplausible,
        C::IbanInvalid,
        C::LabelMismatch,
        C::ValueOverlooked,
        C::EvidenceMissing,
        C::EvidenceNotFound,
        C::EvidenceValueMismatch,
        C::NumberAmbiguous,
        C::DateAmbiguous,
        C::EvidenceFieldUnknown,
        C::DatasetMissing,
        C::RecordUnknown,
        C::RecordAmbiguous,
        C::RecordMismatch,
        C::Duplicate,
    ];

    /// What is known about it.
    #[allow(clippy::too_many_lines, reason = "a table, one row a code")]
    pub const fn facts(self) -> FindingFacts {
        use FailureClass::{InvalidOutput, PolicyFailed, SchemaMismatch, Truncated};
        const fn row(
            name: &'static str,
            class: FailureClass,
            rule: &'static str,
            meaning: &'static str,
        ) -> FindingFacts {
            FindingFacts { name, class, rule, meaning }
        }
        match self {
            C::NotJson => row(
                "not_json",
                InvalidOutput,
                "the answer",
                "the answer is not JSON, not even after the repairs that invent nothing",
            ),
            C::Truncated => {
                row("truncated", Truncated, "the answer", "the answer ends before it is complete")
            }
            C::DuplicateMember => row(
                "duplicate_member",
                InvalidOutput,
                "the answer",
                "an object has a member twice; neither is chosen",
            ),
            C::AnswerShape => row(
                "answer_shape",
                InvalidOutput,
                "the answer",
                "the answer is JSON but not an `output` with a list of `evidence`",
            ),
            C::Schema => row(
                "schema",
                SchemaMismatch,
                "the schema",
                "the output does not satisfy the task's JSON Schema",
            ),
            C::MissingRequired => row(
                "missing_required",
                PolicyFailed,
                "`required`, `amounts`",
                "a value that is required is null, blank or absent",
            ),
            C::AmountFormat => row(
                "amount_format",
                PolicyFailed,
                "`amounts`",
                "a number is not written as a plain decimal number",
            ),
            C::AmountDecimals => row(
                "amount_decimals",
                PolicyFailed,
                "`currency.decimals`",
                "an amount has more decimals than its currency",
            ),
            C::NetTaxTotal => {
                row("net_tax_total", PolicyFailed, "`amounts`", "net and tax do not add up to the total")
            }
            C::LineSum => row(
                "line_sum",
                PolicyFailed,
                "`amounts`",
                "the lines add up to neither sum that they may add up to",
            ),
            C::LineTotal => row(
                "line_total",
                PolicyFailed,
                "`amounts.line`",
                "quantity, unit price, discounts and tax of a line do not lead to its amount",
            ),
            C::LineRepeated => row(
                "line_repeated",
                PolicyFailed,
                "`amounts.line.as_printed`",
                "the same line is there more often than the document prints it",
            ),
            C::LineMixed => row(
                "line_mixed",
                PolicyFailed,
                "`amounts.line.own_row`",
                "a text of a line is quoted from the row of another line",
            ),
            C::SubLine => row(
                "sub_line",
                PolicyFailed,
                "`amounts.sub_lines`",
                "a line is said to be part of none, or the parts are more than their line",
            ),
            C::TaxRate => {
                row("tax_rate", PolicyFailed, "`amounts.taxes`", "a rate times its base is not its tax")
            }
            C::TaxSum => row(
                "tax_sum",
                PolicyFailed,
                "`amounts.taxes`",
                "bases do not add up to the net amount, or taxes not to the tax",
            ),
            C::TaxTooHigh => row(
                "tax_too_high",
                PolicyFailed,
                "`amounts.max_tax_percent`",
                "the tax is more than the policy's share of the net amount",
            ),
            C::TaxOverlooked => row(
                "tax_overlooked",
                PolicyFailed,
                "`printed_tax`",
                "the tax is zero or missing, and the document prints one that leads from one printed amount to another",
            ),
            C::DocumentType => row(
                "document_type",
                PolicyFailed,
                "`credit_notes`",
                "the document is titled as a credit note and not said to be one, or the other way round",
            ),
            C::CreditSign => row(
                "credit_sign",
                PolicyFailed,
                "`credit_notes`",
                "an amount has the sign that such a document does not have",
            ),
            C::CurrencyMissing => {
                row("currency_missing", PolicyFailed, "`currency`", "there are amounts and no currency")
            }
            C::CurrencyNotAllowed => row(
                "currency_not_allowed",
                PolicyFailed,
                "`currency`",
                "the currency is not one that the policy allows",
            ),
            C::CurrencyContradicted => row(
                "currency_contradicted",
                PolicyFailed,
                "`currency.beside_total`",
                "the document prints another currency next to the total",
            ),
            C::CurrencyAmbiguous => row(
                "currency_ambiguous",
                PolicyFailed,
                "`evidence`, `currency`",
                "the document prints a sign that several currencies share, and nothing says which is meant",
            ),
            C::DateFormat => row(
                "date_format",
                PolicyFailed,
                "`dates`",
                "a date is not a day of the calendar, written `YYYY-MM-DD`",
            ),
            C::DateOrder => row(
                "date_order",
                PolicyFailed,
                "`dates`",
                "a date is before the date that it must not precede",
            ),
            C::DateImplausible => row(
                "date_implausible",
                PolicyFailed,
                "`dates`",
                "a date is outside the time that the policy allows",
            ),
            C::IbanInvalid => row(
                "iban_invalid",
                PolicyFailed,
                "`ibans`",
                "an IBAN has another length than its country's, or wrong check digits",
            ),
            C::LabelMismatch => row(
                "label_mismatch",
                PolicyFailed,
                "`labels`, `amounts.line.heads`",
                "a value stands only beside the label of something else, or beside none of its own where one is required",
            ),
            C::ValueOverlooked => row(
                "value_overlooked",
                PolicyFailed,
                "`labels`, `amounts.line.not_overlooked`",
                "a value is null, and the document prints one beside its label, or in the row of its line",
            ),
            C::EvidenceMissing => row("evidence_missing", PolicyFailed, "`evidence`", "a value has no quote"),
            C::EvidenceNotFound => row(
                "evidence_not_found",
                PolicyFailed,
                "`evidence`",
                "a quote does not stand in the document",
            ),
            C::EvidenceValueMismatch => row(
                "evidence_value_mismatch",
                PolicyFailed,
                "`evidence`",
                "a quote stands in the document, and the value does not stand in the quote",
            ),
            C::NumberAmbiguous => row(
                "number_ambiguous",
                PolicyFailed,
                "`evidence`, `style`",
                "a printed number can be read in two ways, and neither the document nor a sum says which",
            ),
            C::DateAmbiguous => row(
                "date_ambiguous",
                PolicyFailed,
                "`evidence`, `style`",
                "day and month of a printed date can be exchanged, and neither the document nor a rule says which is which",
            ),
            C::EvidenceFieldUnknown => row(
                "evidence_field_unknown",
                PolicyFailed,
                "`evidence`",
                "a quote is given for a field that the output does not have",
            ),
            C::DatasetMissing => row(
                "dataset_missing",
                PolicyFailed,
                "`master_data`",
                "the tenant has no such dataset, it lacks a column, or it can't be read",
            ),
            C::RecordUnknown => row(
                "record_unknown",
                PolicyFailed,
                "`master_data`",
                "no record has one of the values that it is found by",
            ),
            C::RecordAmbiguous => {
                row("record_ambiguous", PolicyFailed, "`master_data`", "several records fit, and they differ")
            }
            C::RecordMismatch => {
                row("record_mismatch", PolicyFailed, "`master_data`", "a value is not what the record says")
            }
            C::Duplicate => {
                row("duplicate", PolicyFailed, "`duplicates`", "another job had the same document")
            }
        }
    }

    /// The name in the API, the database and the metrics.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The code of that name.
    pub fn from_name(name: &str) -> Option<FindingCode> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    /// The failure class of a job that ends with this finding.
    pub const fn failure_class(self) -> FailureClass {
        self.facts().class
    }
}

/// One thing that is wrong with an answer. The message is for the person who reviews the job and for the
/// model that is asked to correct itself; it may quote the answer and the document, so it is kept with the
/// job and never logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What is wrong.
    pub code: FindingCode,
    /// The field, as a JSON pointer into the output; empty for the answer as a whole.
    pub pointer: String,
    /// What is wrong with it, with both sides of a comparison. At most [`MESSAGE_CHARS`] characters, one line.
    pub message: String,
    /// The place in the document that it is about, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

impl Finding {
    /// A finding without a place in the document. The message becomes one storable line.
    pub fn new(code: FindingCode, pointer: impl Into<String>, message: impl AsRef<str>) -> Self {
        Self { code, pointer: pointer.into(), message: one_line(message.as_ref()), span: None }
    }

    /// The pointer as one line of a message; it may hold member names that the model made up.
    pub(super) fn field_shown(&self) -> String {
        one_line(&self.pointer)
    }

    /// The same finding, about this place in the document.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }
}

/// Findings as they are collected: each one once, and a bounded number of them.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    /// Adds a finding, unless there are enough or it is there already. That a value is missing is said once
    /// per field, whichever rules miss it.
    pub(super) fn push(&mut self, finding: Finding) {
        let known = |other: &Finding| {
            other.code == finding.code
                && other.pointer == finding.pointer
                && (other.code == FindingCode::MissingRequired || other.message == finding.message)
        };
        if !self.is_full() && !self.0.iter().any(known) {
            self.0.push(finding);
        }
    }

    /// Whether there are so many that no further check can add one.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MAX_FINDINGS
    }

    /// Adds several.
    pub(super) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }

    /// What was collected.
    pub(super) fn into_vec(self) -> Vec<Finding> {
        self.0
    }
}

/// Text from outside as part of a message: one line, in quotation marks, at most 120 characters.
pub(super) fn shown(text: &str) -> String {
    let short: String = text.chars().take(121).collect();
    format!("`{}`", text::storable(&flat(&short), 120))
}

fn one_line(message: &str) -> String {
    let short: String = message.chars().take(MESSAGE_CHARS + 1).collect();
    text::storable(&flat(&short), MESSAGE_CHARS)
}

/// White space and the line separators of Unicode become single spaces.
fn flat(text: &str) -> String {
    text.split(char::is_whitespace).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_read_back_as_serde_writes_them() {
        for code in FindingCode::ALL {
            assert_eq!(FindingCode::from_name(code.name()), Some(code));
            assert_eq!(serde_json::to_value(code).unwrap(), code.name());
        }
        assert_eq!(FindingCode::from_name("fine"), None);
    }

    #[test]
    fn each_kind_of_trouble_leads_to_its_failure_class() {
        assert_eq!(FindingCode::NotJson.failure_class(), FailureClass::InvalidOutput);
        assert_eq!(FindingCode::DuplicateMember.failure_class(), FailureClass::InvalidOutput);
        assert_eq!(FindingCode::Schema.failure_class(), FailureClass::SchemaMismatch);
        assert_eq!(FindingCode::Truncated.failure_class(), FailureClass::Truncated);
        assert_eq!(FindingCode::LineSum.failure_class(), FailureClass::PolicyFailed);
    }

    #[test]
    fn a_message_is_one_line_of_bounded_length() {
        let finding = Finding::new(FindingCode::Schema, "/a", format!("two\nlines {}", "x".repeat(1_000)));
        assert!(finding.message.starts_with("two lines x"));
        assert_eq!(finding.message.chars().count(), MESSAGE_CHARS + 1, "and the ellipsis");
    }
}
