//! What our rules say about an output that a person corrected.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Case;
use super::amounts::Output;
use super::evidence::Evidence;
use super::finding::{Finding, FindingCode, Findings};
use super::policy::Policy;
use super::references::References;
use super::resolve::Resolver;
use crate::digest::Digest;
use crate::review::FieldChange;

/// The model's evidence that still stands for a corrected output: that of the fields which nobody changed.
pub fn kept_evidence(evidence: Vec<Evidence>, changes: &[FieldChange]) -> Vec<Evidence> {
    evidence.into_iter().filter(|entry| !is_changed(&entry.field, changes)).collect()
}

/// What a policy says about an output that a person decides about.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Rechecked {
    /// What is in doubt.
    pub findings: Vec<Finding>,
    /// The fingerprint by which the document is known, where the policy looks for duplicates.
    pub fingerprint: Option<Digest>,
}

/// Checks an output, which has passed the schema, against the policy. What the person changed needs no quote: there
/// the person is the evidence.
pub fn recheck(
    output: &Value,
    kept: &[Evidence],
    changes: &[FieldChange],
    document: &str,
    policy: &Policy,
    references: &References<'_>,
) -> Rechecked {
    let mut findings = Findings::default();
    let output = Output { value: output, inexact_numbers: &BTreeMap::new() };
    let resolver = Resolver::new(document);
    let fingerprint = Case::new(policy, references, output, kept, &resolver).check(&mut findings);
    let mut findings = findings.into_vec();
    findings.retain(|finding| {
        finding.code != FindingCode::EvidenceMissing || !is_changed(&finding.pointer, changes)
    });
    Rechecked { findings, fingerprint }
}

/// Whether a field is a changed one, or inside or around one.
fn is_changed(field: &str, changes: &[FieldChange]) -> bool {
    let inside = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    changes.iter().any(|change| inside(&change.pointer, field) || inside(field, &change.pointer))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::review::changes;

    const DOCUMENT: &str = "Acme\nnet 10.00 tax 2.00 total 12.00";

    fn policy() -> Policy {
        serde_json::from_value(json!({
            "version": 1,
            "amounts": {"net": "/net", "tax": "/tax", "total": "/total"},
            "evidence": {},
        }))
        .unwrap()
    }

    fn evidence(field: &str, quote: &str) -> Evidence {
        let span = Resolver::new(DOCUMENT).find(quote);
        Evidence { field: field.to_owned(), quote: quote.to_owned(), span }
    }

    fn codes(before: &Value, after: &Value) -> Vec<(&'static str, String)> {
        let quotes =
            [("/supplier", "Acme"), ("/net", "net 10.00"), ("/tax", "tax 2.00"), ("/total", "12.00")];
        let changes = changes(Some(before), after);
        let kept = kept_evidence(quotes.map(|(field, quote)| evidence(field, quote)).to_vec(), &changes);
        let references = References::on(jiff::civil::date(2024, 2, 29));
        let rechecked = recheck(after, &kept, &changes, DOCUMENT, &policy(), &references);
        rechecked.findings.into_iter().map(|finding| (finding.code.name(), finding.pointer)).collect()
    }

    #[test]
    fn what_a_person_wrote_needs_no_quote_and_must_add_up() {
        let model = json!({"supplier": "Acne", "net": "10.00", "tax": "2.00", "total": "21.00"});
        let right = json!({"supplier": "Acme", "net": "10.00", "tax": "2.00", "total": "12.00"});
        assert_eq!(codes(&model, &right), []);
        let wrong = json!({"supplier": "Acme", "net": "10.00", "tax": "2.00", "total": "13.00"});
        assert_eq!(codes(&model, &wrong), [("net_tax_total", "/total".to_owned())]);
    }

    #[test]
    fn what_nobody_touched_needs_its_quote_still() {
        let model = json!({"supplier": "Other", "net": "10.00", "tax": "2.00", "total": "21.00"});
        let right = json!({"supplier": "Other", "net": "10.00", "tax": "2.00", "total": "12.00"});
        assert_eq!(codes(&model, &right), [("evidence_value_mismatch", "/supplier".to_owned())]);
    }

    #[test]
    fn around_and_inside_a_change_is_changed() {
        let changes = changes(Some(&json!({"lines": [{"a": 1}]})), &json!({"lines": [{"a": 2}]}));
        for (field, is) in [
            ("/lines/0/a", true),
            ("/lines/0", true),
            ("/lines", true),
            ("/lines/0/ab", false),
            ("/lines/1", false),
        ] {
            assert_eq!(is_changed(field, &changes), is, "{field}");
        }
    }
}
