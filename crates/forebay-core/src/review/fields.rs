//! The fields of an output, each with what speaks for it and against it.

use serde::Serialize;
use serde_json::Value;

use crate::request::fault::child;

/// A field, as somebody who decides looks at it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Field<'a> {
    /// Where it is, as a JSON pointer into the output.
    pub pointer: String,
    /// Its value; absent where it holds other fields, and where the output has no such field, and yet a finding or a
    /// quote names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<&'a Value>,
    /// The quotes for it, with their places in the document.
    pub evidence: Vec<&'a Value>,
    /// The findings about it.
    pub findings: Vec<&'a Value>,
}

/// The values of an output that hold no others, in the order of the output, and whatever else a finding or a quote
/// names. Findings about the output as a whole belong to no field. Evidence and findings are those that are stored:
/// codes that a newer build wrote are shown as they are.
pub fn fields<'a>(output: Option<&'a Value>, evidence: &'a [Value], findings: &'a [Value]) -> Vec<Field<'a>> {
    let mut fields = Vec::new();
    if let Some(output) = output {
        collect(String::new(), output, &mut fields);
    }
    for named in findings.iter().filter_map(|finding| text(finding, "pointer")) {
        note(&mut fields, output, named);
    }
    for named in evidence.iter().filter_map(|quote| text(quote, "field")) {
        note(&mut fields, output, named);
    }
    for field in &mut fields {
        let is_its = |value: &&Value, member| text(value, member) == Some(field.pointer.as_str());
        field.evidence = evidence.iter().filter(|quote| is_its(quote, "field")).collect();
        field.findings = findings.iter().filter(|finding| is_its(finding, "pointer")).collect();
    }
    fields
}

fn collect<'a>(pointer: String, value: &'a Value, fields: &mut Vec<Field<'a>>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().for_each(|(name, value)| collect(child(&pointer, name), value, fields));
        }
        Value::Array(elements) if !elements.is_empty() => {
            let each = elements.iter().enumerate();
            each.for_each(|(index, value)| collect(format!("{pointer}/{index}"), value, fields));
        }
        _ if pointer.is_empty() => {}
        _ => fields.push(Field { pointer, value: Some(value), evidence: Vec::new(), findings: Vec::new() }),
    }
}

/// Adds a field that something names, where it is not there yet: before the fields inside it.
fn note<'a>(fields: &mut Vec<Field<'a>>, output: Option<&'a Value>, pointer: &str) {
    if pointer.is_empty() || fields.iter().any(|field| field.pointer == pointer) {
        return;
    }
    let inside =
        |field: &Field<'_>| field.pointer.strip_prefix(pointer).is_some_and(|rest| rest.starts_with('/'));
    let place = fields.iter().position(inside).unwrap_or(fields.len());
    let value = output.and_then(|output| output.pointer(pointer));
    let value = value.filter(|value| !value.is_object() && !value.is_array());
    let field = Field { pointer: pointer.to_owned(), value, evidence: Vec::new(), findings: Vec::new() };
    fields.insert(place, field);
}

fn text<'v>(value: &'v Value, member: &str) -> Option<&'v str> {
    value.get(member).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_field_has_its_evidence_and_its_findings() {
        let output = json!({"lines": [{"amount": "1"}], "notes": [], "tax": null});
        let evidence =
            [json!({"field": "/lines/0/amount", "quote": "1"}), json!({"field": "/other", "quote": "x"})];
        let findings = [
            json!({"code": "line_sum", "pointer": "/lines"}),
            json!({"code": "not_json", "pointer": ""}),
            json!({"code": "schema", "pointer": "/supplier"}),
            json!({"code": "missing_required", "pointer": "/tax"}),
        ];
        let found: Vec<_> = fields(Some(&output), &evidence, &findings)
            .into_iter()
            .map(|field| {
                let counts = (field.evidence.len(), field.findings.len());
                (field.pointer, field.value.is_some(), counts)
            })
            .collect();
        let row = |pointer: &str, is_there, counts| (pointer.to_owned(), is_there, counts);
        assert_eq!(
            found,
            [
                row("/lines", false, (0, 1)),
                row("/lines/0/amount", true, (1, 0)),
                row("/notes", true, (0, 0)),
                row("/tax", true, (0, 1)),
                row("/supplier", false, (0, 1)),
                row("/other", false, (1, 0)),
            ]
        );
    }

    #[test]
    fn without_an_output_only_findings_name_fields() {
        assert_eq!(fields(None, &[], &[json!({"code": "not_json", "pointer": ""})]), []);
        assert_eq!(fields(Some(&json!("text")), &[], &[]), []);
    }
}
