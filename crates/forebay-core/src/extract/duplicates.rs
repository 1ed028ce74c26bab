//! Documents that came before: a fingerprint of what makes two of them the same.

use serde_json::Value;

use crate::dataset::Likeness;
use crate::digest::Digest;
use crate::extract::amounts::{Amount, Output};
use crate::extract::finding::{Finding, FindingCode, Findings};
use crate::extract::policy::{DuplicatesRule, Role};
use crate::extract::references::References;
use crate::extract::roles::Roles;

/// The fingerprint of the fields that the rule names, in whatever order; none where one of them is missing.
pub(super) fn fingerprint(rule: &DuplicatesRule, roles: &Roles, output: Output<'_>) -> Option<Digest> {
    let mut fields: Vec<_> = rule.fields.iter().map(|field| field.as_str()).collect();
    fields.sort_unstable();
    let mut parts = Vec::with_capacity(2 * fields.len());
    for field in fields {
        parts.push(field.to_owned());
        parts.push(normal(roles.role(field), field, output)?);
    }
    Some(Digest::of_parts(&parts.iter().map(String::as_bytes).collect::<Vec<_>>()))
}

/// A value in the one form that all its spellings have.
fn normal(role: Role, field: &str, output: Output<'_>) -> Option<String> {
    let value = output.value.pointer(field)?;
    if matches!(role, Role::Amount | Role::Number) || value.is_number() {
        return match output.amount(field) {
            Amount::Is(number) => Some(number.normalize().to_string()),
            Amount::Absent | Amount::Wrong(_) => None,
        };
    }
    let key = match value {
        Value::String(text) => Likeness::Code.key(text),
        Value::Bool(truth) => truth.to_string(),
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (!key.is_empty()).then_some(key)
}

/// Names the job that had the same document.
pub(super) fn check(rule: &DuplicatesRule, references: &References<'_>, findings: &mut Findings) {
    if let Some(job) = references.seen {
        let fields: Vec<_> = rule.fields.iter().map(|field| field.as_str()).collect();
        let message = format!("{job} had the same document: {} are the same", fields.join(", "));
        findings.push(Finding::new(FindingCode::Duplicate, "", message));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::extract::policy::Policy;

    fn fingerprint_of(value: &Value) -> Option<Digest> {
        let policy: Policy = serde_json::from_value(json!({
            "version": 1,
            "amounts": {"total": "/total"},
            "duplicates": {"fields": ["/supplier", "/number", "/total"]},
        }))
        .unwrap();
        let output = Output { value, inexact_numbers: &BTreeMap::new() };
        fingerprint(policy.duplicates.as_ref().unwrap(), &Roles::of(&policy), output)
    }

    #[test]
    fn spelling_does_not_matter_and_meaning_does() {
        let one = json!({"supplier": "Coolblue B.V.", "number": "# 993-548", "total": "717.90"});
        let same = json!({"supplier": "COOLBLUE  BV", "number": "993548", "total": 717.9, "other": 1});
        assert!(fingerprint_of(&one).is_some());
        assert_eq!(fingerprint_of(&one), fingerprint_of(&same));
        for (field, other) in [("supplier", "Coolblue"), ("number", "993549"), ("total", "717.91")] {
            let mut different = one.clone();
            different[field] = json!(other);
            assert_ne!(fingerprint_of(&one), fingerprint_of(&different), "{field}");
        }
    }

    #[test]
    fn what_is_not_whole_is_not_compared() {
        for value in [
            json!({"supplier": null, "number": "1", "total": "1"}),
            json!({"supplier": "-", "number": "1", "total": "1"}),
            json!({"supplier": "A", "number": "1", "total": "1,00"}),
            json!({"supplier": "A", "number": ["1"], "total": "1"}),
            json!({}),
        ] {
            assert_eq!(fingerprint_of(&value), None, "{value}");
        }
    }
}
