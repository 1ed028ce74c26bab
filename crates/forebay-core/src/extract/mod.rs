//! What a model's answer about a document must pass before it may be called a success.
//!
//! An answer is JSON: `{"output": {...}, "evidence": [{"field": "/total", "quote": "Totaal € 717,97"}]}`.
//! [`evaluate`] takes it through five checks, in this order:
//!
//! 1. [`repair`]: it is JSON, or can be read as JSON without inventing anything.
//! 2. its form: an `output`, and a list of quotes.
//! 3. [`Schema`]: the output has the shape that the task declares.
//! 4. [`Policy`]: required values are there, amounts add up, the currency is allowed, dates are plausible.
//! 5. evidence: every value stands in a quote, and every quote stands in the document. What the model claims
//!    counts for nothing here: quotes are found and values are read in the document itself.
//!
//! No finding means that the answer may be called a success. Whatever is doubtful is a finding: the model is
//! told once ([`correction`]), and what remains then is decided by a person.

mod amounts;
mod answer;
mod correction;
mod country;
mod credit;
mod currency;
mod dates;
mod derived;
mod doubt;
mod duplicates;
mod evidence;
mod finding;
#[cfg(test)]
mod fuzz;
mod heads;
mod iban;
mod iso4217;
mod labels;
mod layout;
mod lenient;
mod lines;
mod master_data;
mod number;
mod own_row;
mod pointer;
mod policy;
mod printed_tax;
mod reach;
mod recheck;
mod references;
mod repair;
mod resolve;
mod roles;
mod schema;
mod style;
mod taxes;
mod written_date;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use answer::MAX_QUOTES;
pub use correction::correction;
pub use evidence::Evidence;
pub use finding::{Finding, FindingCode, FindingFacts, MAX_FINDINGS, MESSAGE_CHARS};
pub use pointer::{NotAPointer, Pointer};
pub use policy::{
    Adjustment, AmountsRule, Column, Counts, CreditAmounts, CreditNotesRule, CurrencyRule, DateOrder,
    DateRule, DecimalMark, DuplicatesRule, Effect, EvidenceRule, HeadsRule, LabelRule, LineAmounts, LineRule,
    MasterDataRule, Policy, PolicyError, PrintedTaxRule, Rounding, SubLinesRule, TaxesRule, Unexplained,
};
pub use recheck::{Rechecked, kept_evidence, recheck};
pub use references::References;
pub use repair::{Repair, Repaired, Unreadable, repair};
pub use resolve::{Resolver, Span, fold};
pub use schema::{MAX_SCHEMA_FINDINGS, Schema, SchemaError};

use crate::digest::Digest;
use crate::failure::FailureClass;
use amounts::Output;
use answer::Answer;
use finding::Findings;
use roles::Roles;
use style::Style;

/// What became of an answer. It is journaled with the job: it holds text of the document and of the model,
/// so it is shown to those who may see the job and never logged.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Evaluation {
    /// The output, as far as there is one: with findings it is what a reviewer starts from.
    pub output: Option<Value>,
    /// What is wrong; at most [`MAX_FINDINGS`]. Empty when the answer may be called a success.
    pub findings: Vec<Finding>,
    /// The quotes, and where they stand in the document.
    pub evidence: Vec<Evidence>,
    /// What was repaired before the answer could be read.
    pub repairs: Vec<Repair>,
    /// What is the same in every answer about the same document, by the policy's `duplicates`; none where the
    /// policy has no such rule, or a field of it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Digest>,
}

impl Evaluation {
    /// Whether the answer may be called a success.
    pub fn passed(&self) -> bool {
        self.findings.is_empty() && self.output.is_some()
    }

    /// The failure class of a job that ends with this answer: that of the earliest check that failed, and
    /// nothing when none did.
    pub fn failure_class(&self) -> Option<FailureClass> {
        let order = |class: &FailureClass| match class {
            FailureClass::Truncated => 0,
            FailureClass::InvalidOutput => 1,
            FailureClass::SchemaMismatch => 2,
            _ => 3,
        };
        self.findings.iter().map(|finding| finding.code.failure_class()).min_by_key(order)
    }
}

/// Evaluates a model's answer about a document. `truncated` says that the provider stopped the answer at its
/// limit: such an answer never passes, even when what is there happens to be complete JSON.
///
/// The time it takes grows with the sizes of answer and document, and with their product only in the number
/// of different quotes, of which there are at most [`MAX_QUOTES`].
pub fn evaluate(
    answer: &str,
    truncated: bool,
    document: &str,
    schema: &Schema,
    policy: &Policy,
    references: &References<'_>,
) -> Evaluation {
    let answer = answer::read(answer);
    let mut findings = Findings::default();
    if truncated {
        let message = "the answer was stopped at its length limit before it was complete";
        findings.push(Finding::new(FindingCode::Truncated, "", message));
    }
    // What is unreadable in an answer that was stopped is so because it was stopped.
    if !truncated || answer.output.is_some() {
        findings.extend(answer.findings);
    }
    let resolver = Resolver::new(document);
    let evidence = evidence::resolve(answer.quotes, &resolver);
    let mut fingerprint = None;
    if let Some(value) = &answer.output {
        findings.extend(schema.check(value));
        let output = Output { value, inexact_numbers: &answer.inexact_numbers };
        let case = Case::new(policy, references, output, &evidence, &resolver);
        fingerprint = case.check(&mut findings);
    }
    let Answer { output, repairs, .. } = answer;
    Evaluation { output, findings: findings.into_vec(), evidence, repairs, fingerprint }
}

/// An output, and everything that it is checked with.
struct Case<'a> {
    policy: &'a Policy,
    roles: Roles,
    references: &'a References<'a>,
    output: Output<'a>,
    evidence: &'a [Evidence],
    document: &'a str,
    resolver: &'a Resolver<'a>,
    /// Whether the output says that the document gives money back.
    is_credit: bool,
    /// How the document writes numbers and dates.
    style: Style,
    /// The smallest unit of the currency.
    unit: Decimal,
}

impl<'a> Case<'a> {
    fn new(
        policy: &'a Policy,
        references: &'a References<'a>,
        output: Output<'a>,
        evidence: &'a [Evidence],
        resolver: &'a Resolver<'a>,
    ) -> Self {
        let (roles, document) = (Roles::of(policy), resolver.document());
        let is_credit = credit::is_credit(policy, output.value);
        let decimals = currency::decimals(policy, output.value).unwrap_or(2);
        let style =
            policy.evidence.as_ref().map(|_| Style::of(document, policy.style, decimals)).unwrap_or_default();
        let unit = Decimal::new(1, decimals);
        Self { policy, roles, references, output, evidence, document, resolver, is_credit, style, unit }
    }

    /// The printed row that a byte of the document stands in.
    fn row(&self, at: usize) -> &'a str {
        self.resolver.row(at).1
    }

    /// Checks every rule of the policy; gives the fingerprint by which the document is known.
    fn check(&self, findings: &mut Findings) -> Option<Digest> {
        let Self { policy, roles, references, output, .. } = self;
        check_required(&policy.required, output.value, findings);
        if let Some(rule) = &policy.amounts {
            amounts::check(rule, self, findings);
        }
        if let Some(rule) = &policy.currency {
            currency::check(rule, self, findings);
        }
        if let Some(rule) = &policy.credit_notes {
            credit::check(rule, self, findings);
        }
        if let Some(rule) = &policy.printed_tax {
            printed_tax::check(rule, self, findings);
        }
        dates::check(&policy.dates, references.today, output.value, findings);
        iban::check(&policy.ibans, output.value, findings);
        labels::check(&policy.labels, self, findings);
        evidence::check(self, findings);
        master_data::check(&policy.master_data, output.value, references, findings);
        let rule = policy.duplicates.as_ref()?;
        duplicates::check(rule, references, findings);
        duplicates::fingerprint(rule, roles, *output)
    }
}

fn check_required(required: &[Pointer], output: &Value, findings: &mut Findings) {
    let blank = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => fold(text).is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    for pointer in required.iter().flat_map(|pattern| pattern.expand(output)) {
        if findings.is_full() {
            return;
        }
        if output.pointer(&pointer).is_none_or(blank) {
            let message = "the value is required and missing: the document may not state it";
            findings.push(Finding::new(FindingCode::MissingRequired, pointer, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn evaluated(answer: &str, truncated: bool) -> Evaluation {
        let schema = Schema::compile(&json!({"required": ["supplier"]})).unwrap();
        let policy =
            json!({"version": 1, "required": ["/supplier", "/lines", "/lines/*/name"], "evidence": {}});
        let policy = serde_json::from_value(policy).unwrap();
        let references = References::on(jiff::civil::date(2024, 2, 29));
        evaluate(answer, truncated, "Acme\nBolt", &schema, &policy, &references)
    }

    const GOOD: &str = r#"{"output": {"supplier": "Acme", "lines": [{"name": "Bolt"}]}, "evidence":
        [{"field": "/supplier", "quote": "Acme"}, {"field": "/lines/0/name", "quote": "Bolt"}]}"#;

    fn codes(evaluation: &Evaluation) -> Vec<&'static str> {
        evaluation.findings.iter().map(|finding| finding.code.name()).collect()
    }

    #[test]
    fn a_good_answer_passes_and_can_be_journaled() {
        let evaluation = evaluated(GOOD, false);
        assert!(evaluation.passed(), "{:?}", evaluation.findings);
        assert_eq!(evaluation.failure_class(), None);
        assert_eq!(evaluation.evidence[1].span.unwrap().line, 2);
        let journaled = serde_json::to_string(&evaluation).unwrap();
        assert_eq!(serde_json::from_str::<Evaluation>(&journaled).unwrap(), evaluation);
    }

    #[test]
    fn a_truncated_answer_never_passes() {
        let evaluation = evaluated(GOOD, true);
        assert_eq!(codes(&evaluation), ["truncated"]);
        assert!(!evaluation.passed() && evaluation.output.is_some());
        assert_eq!(codes(&evaluated(&GOOD[..40], true)), ["truncated"]);
        assert_eq!(evaluated(&GOOD[..40], false).failure_class(), Some(FailureClass::Truncated));
    }

    #[test]
    fn nothing_blank_satisfies_a_requirement() {
        let blank = evaluated(r#"{"output": {"supplier": " ", "lines": []}}"#, false);
        assert_eq!(codes(&blank), ["missing_required", "missing_required", "evidence_value_mismatch"]);
        let absent = evaluated(r#"{"output": {"lines": [{}]}}"#, false);
        assert_eq!(codes(&absent), ["schema", "missing_required", "missing_required"]);
        assert_eq!(absent.failure_class(), Some(FailureClass::SchemaMismatch), "the earliest check");
    }

    #[test]
    fn findings_are_bounded() {
        let lines: Vec<_> = (0..500).map(|n| json!({"name": format!("x{n}")})).collect();
        let answer = json!({"output": {"supplier": null, "lines": lines}}).to_string();
        assert_eq!(evaluated(&answer, false).findings.len(), MAX_FINDINGS);
    }
}
