//! A decision about a job in doubt, as a value: which there are, what a correction changed, and what the result
//! says of whoever decided.

mod fields;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::id::KeyId;
use crate::request::fault::child;
use crate::time::Timestamp;

pub use fields::{Field, fields};

/// Changes that are listed of one correction. Both outputs are stored whole, however many there are.
pub const MAX_CHANGES: usize = 500;

/// How a review ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// The output is right as it is.
    Approve,
    /// Another output was given.
    Correct,
    /// The output is refused, and so is the job.
    Reject,
    /// The machines do it again.
    Rerun,
    /// Nobody decided: the job was cancelled before.
    Cancelled,
}

impl Decision {
    /// Every way to end.
    pub const ALL: [Decision; 5] =
        [Decision::Approve, Decision::Correct, Decision::Reject, Decision::Rerun, Decision::Cancelled];

    /// The name in the API and the database.
    pub const fn name(self) -> &'static str {
        match self {
            Decision::Approve => "approve",
            Decision::Correct => "correct",
            Decision::Reject => "reject",
            Decision::Rerun => "rerun",
            Decision::Cancelled => "cancelled",
        }
    }

    /// The decision of that name.
    pub fn from_name(name: &str) -> Option<Decision> {
        Self::ALL.into_iter().find(|decision| decision.name() == name)
    }
}

/// What is decided when nobody has decided until the due time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDefault {
    /// Nothing: the review is overdue, visibly, until a person decides.
    #[default]
    None,
    /// The output is taken as it is, where there is one.
    Approve,
    /// The job fails.
    Reject,
}

impl ReviewDefault {
    /// Every default.
    pub const ALL: [ReviewDefault; 3] = [ReviewDefault::None, ReviewDefault::Approve, ReviewDefault::Reject];

    /// The name in definitions, the API and the database.
    pub const fn name(self) -> &'static str {
        match self {
            ReviewDefault::None => "none",
            ReviewDefault::Approve => "approve",
            ReviewDefault::Reject => "reject",
        }
    }

    /// The default of that name.
    pub fn from_name(name: &str) -> Option<ReviewDefault> {
        Self::ALL.into_iter().find(|default| default.name() == name)
    }
}

/// A value that a correction changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FieldChange {
    /// Where, as a JSON pointer; empty when the output as a whole is another.
    pub pointer: String,
    /// What was there; absent where there was nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What is there now; absent where nothing is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// What differs between two outputs, the smallest parts that do, in the order of the members' names; at most
/// [`MAX_CHANGES`]. Elements of arrays are compared by their place.
pub fn changes(before: Option<&Value>, after: &Value) -> Vec<FieldChange> {
    let mut found = Vec::new();
    collect(String::new(), before, Some(after), &mut found);
    found
}

fn collect(pointer: String, before: Option<&Value>, after: Option<&Value>, found: &mut Vec<FieldChange>) {
    if before == after || found.len() == MAX_CHANGES {
        return;
    }
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            let added = after.keys().filter(|name| !before.contains_key(*name));
            for name in before.keys().chain(added) {
                collect(child(&pointer, name), before.get(name), after.get(name), found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            for index in 0..before.len().max(after.len()) {
                collect(format!("{pointer}/{index}"), before.get(index), after.get(index), found);
            }
        }
        _ => found.push(FieldChange { pointer, before: before.cloned(), after: after.cloned() }),
    }
}

/// Who decided what, for the provenance of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Signature<'a> {
    /// What was decided.
    pub decision: Decision,
    /// The key of whoever decided; absent when the due time did.
    pub key: Option<KeyId>,
    /// What the key was called.
    pub name: &'a str,
    /// When.
    pub at: Timestamp,
    /// What whoever decided said about it.
    pub comment: Option<&'a str>,
    /// Where a correction differs from what the model said.
    pub changes: &'a [FieldChange],
    /// The findings that stood all the same: a JSON array.
    pub findings: &'a [u8],
}

/// A result's provenance with the decision that made it a result: its member `review`. Everything else stays
/// as the machines wrote it.
pub fn signed(provenance: &[u8], signature: &Signature<'_>) -> Vec<u8> {
    let mut members: Map<String, Value> = serde_json::from_slice(provenance).unwrap_or_default();
    let mut review = json!({
        "decision": signature.decision.name(),
        "decided_by_name": signature.name,
        "decided_at": signature.at,
        "findings": codes(signature.findings),
    });
    if let Some(key) = signature.key {
        review["decided_by"] = json!(key);
    }
    if let Some(comment) = signature.comment {
        review["comment"] = json!(comment);
    }
    if signature.decision == Decision::Correct {
        let pointers: Vec<_> = signature.changes.iter().map(|change| &change.pointer).collect();
        review["changed"] = json!(pointers);
    }
    members.insert("review".to_owned(), review);
    Value::Object(members).to_string().into_bytes()
}

/// The codes of stored findings, each once, in their order.
pub fn codes(findings: &[u8]) -> Vec<String> {
    let findings: Vec<Value> = serde_json::from_slice(findings).unwrap_or_default();
    let mut codes: Vec<String> = Vec::new();
    for code in findings.iter().filter_map(|finding| finding.get("code")?.as_str()) {
        if !codes.iter().any(|known| known == code) {
            codes.push(code.to_owned());
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(before: &Value, after: &Value) -> Vec<String> {
        changes(Some(before), after).into_iter().map(|change| json!(change).to_string()).collect()
    }

    #[test]
    fn names_read_back() {
        for decision in Decision::ALL {
            assert_eq!(Decision::from_name(decision.name()), Some(decision));
        }
        for default in ReviewDefault::ALL {
            assert_eq!(ReviewDefault::from_name(default.name()), Some(default));
            assert_eq!(json!(default), default.name());
        }
    }

    #[test]
    fn the_smallest_parts_that_differ_are_named() {
        let before = json!({"net": "1", "tax": null, "lines": [{"a": 1, "b/c": 2}, {"a": 3}]});
        let after = json!({"net": "1", "tax": "2", "lines": [{"a": 1, "b/c": 5}], "new": {}});
        assert_eq!(
            changed(&before, &after),
            [
                r#"{"after":5,"before":2,"pointer":"/lines/0/b~1c"}"#,
                r#"{"before":{"a":3},"pointer":"/lines/1"}"#,
                r#"{"after":"2","before":null,"pointer":"/tax"}"#,
                r#"{"after":{},"pointer":"/new"}"#,
            ]
        );
        assert_eq!(changed(&before, &before), [] as [String; 0]);
    }

    #[test]
    fn an_output_of_another_kind_is_one_change() {
        assert_eq!(changed(&json!([]), &json!({})), [r#"{"after":{},"before":[],"pointer":""}"#]);
        let from_nothing = changes(None, &json!({"a": 1}));
        assert_eq!((from_nothing.len(), &from_nothing[0].before), (1, &None));
    }

    #[test]
    fn changes_are_bounded() {
        let of = |value: i32| Value::Array(vec![json!(value); MAX_CHANGES + 1]);
        assert_eq!(changes(Some(&of(1)), &of(2)).len(), MAX_CHANGES);
    }

    #[test]
    fn a_signature_leaves_the_rest_as_it_is() {
        let changes = changes(Some(&json!({"total": "1"})), &json!({"total": "2"}));
        let signature = Signature {
            decision: Decision::Correct,
            key: Some(KeyId::from_bytes([1; 16])),
            name: "anna",
            at: Timestamp::from_millis(0),
            comment: Some("a typo"),
            changes: &changes,
            findings: br#"[{"code":"line_sum"},{"code":"line_sum"},{"code":"schema"}]"#,
        };
        let provenance: Value =
            serde_json::from_slice(&signed(br#"{"policy":"invoice@1"}"#, &signature)).unwrap();
        assert_eq!(
            provenance,
            json!({
                "policy": "invoice@1",
                "review": {
                    "decision": "correct", "decided_by": "key_01010101010101010101010101010101",
                    "decided_by_name": "anna", "decided_at": "1970-01-01T00:00:00.000Z",
                    "comment": "a typo", "changed": ["/total"], "findings": ["line_sum", "schema"],
                },
            })
        );
        let by_itself = Signature { decision: Decision::Approve, key: None, comment: None, ..signature };
        let provenance: Value = serde_json::from_slice(&signed(b"{}", &by_itself)).unwrap();
        assert_eq!(provenance["review"].as_object().unwrap().len(), 4);
    }
}
