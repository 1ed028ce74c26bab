//! The rules of `extract` over real invoices: what is right passes, and each imperfection is named.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that can't go on fails")]

use std::path::PathBuf;

use forebay_core::extract::{Evaluation, Policy, References, Repair, Schema, correction, evaluate};
use forebay_core::failure::FailureClass;
use forebay_core::time::Timestamp;
use serde_json::{Value, json};

const NAMES: [&str; 9] = [
    "amazonwebservices",
    "azureinterior",
    "coolblue1",
    "flipkart",
    "free_fiber",
    "orlen",
    "qualityhosting",
    "saeco",
    "sammymaystone",
];

fn file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/invoices").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json_file(name: &str) -> Value {
    serde_json::from_str(&file(name)).unwrap()
}

fn policy() -> Policy {
    let policy: Policy = toml::from_str(&file("policy.toml")).unwrap();
    policy.validate().unwrap();
    assert_eq!(policy.strangers_to(&schema()), []);
    policy
}

fn schema() -> Schema {
    Schema::compile(&json_file("invoice.schema.json")).unwrap()
}

fn today() -> References<'static> {
    References::on(Timestamp::from_millis(1_767_225_600_000).date())
}

fn evaluated(name: &str, answer: &str) -> Evaluation {
    evaluate(answer, false, &file(&format!("{name}.txt")), &schema(), &policy(), &today())
}

/// The codes of the findings with their fields.
fn codes(evaluation: &Evaluation) -> Vec<(&'static str, &str)> {
    evaluation.findings.iter().map(|finding| (finding.code.name(), finding.pointer.as_str())).collect()
}

/// The correct answer, changed.
fn changed(name: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut answer = json_file(&format!("{name}.answer.json"));
    change(&mut answer);
    answer.to_string()
}

/// The quote of a field, to be changed.
fn quote<'a>(answer: &'a mut Value, field: &str) -> &'a mut Value {
    let entries = answer["evidence"].as_array_mut().unwrap();
    let entry = entries.iter_mut().find(|entry| entry["field"] == field).unwrap();
    &mut entry["quote"]
}

#[test]
fn correct_answers_end_as_expected() {
    for name in NAMES {
        let expected = json_file(&format!("{name}.expected.json"));
        let evaluation = evaluated(name, &file(&format!("{name}.answer.json")));
        let output = evaluation.output.as_ref().unwrap();
        for (field, value) in expected.as_object().unwrap() {
            if !["expect", "trap"].contains(&field.as_str()) {
                assert_eq!(&output[field], value, "{name}: {field}");
            }
        }
        assert!(evaluation.evidence.iter().all(|entry| entry.span.is_some()), "{name}");
        match expected["expect"].as_str().unwrap() {
            "SUCCEEDED" => assert_eq!(evaluation.findings, [], "{name}"),
            _ => assert_eq!(codes(&evaluation), [("missing_required", "/supplier")], "{name}"),
        }
    }
}

#[test]
fn spans_lead_to_the_quoted_text() {
    let document = file("flipkart.txt");
    let evaluation = evaluated("flipkart", &file("flipkart.answer.json"));
    let wrapped: Vec<_> = evaluation
        .evidence
        .iter()
        .filter(|entry| entry.field == "/lines/0/description")
        .map(|entry| {
            let span = entry.span.unwrap();
            (span.line, &document[span.start..span.end])
        })
        .collect();
    assert_eq!(wrapped, [(18, "SanDisk Ultra 16 GB MicroSDHC Class"), (19, "10 48 MB/s Memory Card")]);
}

#[test]
fn an_almost_json_answer_is_repaired_for_free() {
    let evaluation = evaluated("azureinterior", &file("azureinterior.first.txt"));
    assert!(evaluation.passed(), "{:?}", evaluation.findings);
    assert_eq!(evaluation.repairs, [Repair::CodeFence, Repair::Prose, Repair::TrailingComma]);
    assert_eq!(evaluation.output, evaluated("azureinterior", &file("azureinterior.answer.json")).output);
}

#[test]
fn a_sub_line_that_is_added_breaks_the_sum() {
    let evaluation = evaluated("coolblue1", &file("coolblue1.first.txt"));
    assert_eq!(codes(&evaluation), [("line_sum", "/lines")]);
    let told = correction(&evaluation);
    for part in ["- /lines: line_sum: ", "722.21", "593.36", "717.97", "4.24"] {
        assert!(told.contains(part), "{part} in {told}");
    }
}

#[test]
fn an_invented_supplier_is_found_out() {
    let evaluation = evaluated("saeco", &file("saeco.first.txt"));
    assert_eq!(codes(&evaluation), [("evidence_not_found", "/supplier")]);
    assert_eq!(evaluation.failure_class(), Some(FailureClass::PolicyFailed));
}

/// An imperfect answer and what it must be told.
type Imperfection = (&'static str, String, &'static [(&'static str, &'static str)]);

fn imperfect_amounts() -> Vec<Imperfection> {
    let coolblue = |change: fn(&mut Value)| changed("coolblue1", change);
    vec![
        (
            "missing currency",
            coolblue(|answer| answer["output"]["currency"] = Value::Null),
            &[("schema", "/currency"), ("currency_missing", "/currency")],
        ),
        (
            "currency not allowed",
            coolblue(|answer| answer["output"]["currency"] = json!("XYZ")),
            &[("currency_not_allowed", "/currency"), ("evidence_value_mismatch", "/currency")],
        ),
        (
            "currency of another document",
            coolblue(|answer| answer["output"]["currency"] = json!("USD")),
            &[("evidence_value_mismatch", "/currency")],
        ),
        (
            "total and net swapped",
            coolblue(|answer| {
                answer["output"]["total"] = json!("593.36");
                answer["output"]["net"] = json!("717.97");
            }),
            &[
                ("net_tax_total", "/total"),
                ("evidence_value_mismatch", "/net"),
                ("evidence_value_mismatch", "/total"),
            ],
        ),
        (
            "amount that the document does not have",
            coolblue(|answer| *quote(answer, "/total") = json!("Totaal € 727,97")),
            &[("evidence_not_found", "/total")],
        ),
        (
            "half of an amount as a quote",
            coolblue(|answer| *quote(answer, "/total") = json!("717")),
            &[("evidence_not_found", "/total")],
        ),
        (
            "wrong decimal separator",
            coolblue(|answer| answer["output"]["total"] = json!("717,97")),
            &[("schema", "/total"), ("amount_format", "/total")],
        ),
    ]
}

fn imperfect_fields() -> Vec<Imperfection> {
    let coolblue = |change: fn(&mut Value)| changed("coolblue1", change);
    vec![
        (
            "impossible date",
            coolblue(|answer| answer["output"]["invoice_date"] = json!("2014-04-31")),
            &[("date_format", "/invoice_date")],
        ),
        (
            "other date",
            coolblue(|answer| answer["output"]["invoice_date"] = json!("2014-04-18")),
            &[("evidence_value_mismatch", "/invoice_date")],
        ),
        (
            "no evidence at all",
            coolblue(|answer| answer["evidence"] = json!([answer["evidence"][0]])),
            &[("evidence_missing", "/currency"), ("evidence_missing", "/invoice_date")],
        ),
        (
            "line left out",
            coolblue(|answer| {
                answer["output"]["lines"].as_array_mut().unwrap().pop();
            }),
            &[("line_sum", "/lines"), ("evidence_field_unknown", "")],
        ),
        (
            "member that the schema does not know",
            coolblue(|answer| answer["output"]["rebate"] = Value::Null),
            &[("schema", "")],
        ),
    ]
}

fn imperfect_texts() -> Vec<Imperfection> {
    let right = changed("coolblue1", |_| {});
    let cut = right.find(",\"evidence\"").or_else(|| right.rfind(",\"output\"")).unwrap();
    let twice = right.replacen("\"total\":\"717.97\"", "\"total\":\"717.97\",\"total\":\"717.97\"", 1);
    vec![
        ("cut between two members", right[..cut].to_owned(), &[("truncated", "")]),
        ("the same member twice", twice, &[("duplicate_member", "")]),
        ("two objects", format!("{right}\n{right}"), &[("not_json", "")]),
        ("no JSON", "I can't read this invoice.".to_owned(), &[("not_json", "")]),
        (
            "output without its frame",
            changed("coolblue1", |answer| *answer = answer["output"].clone()),
            &[("answer_shape", "")],
        ),
        ("prose around it", format!("Here you are: {right} Anything else?"), &[]),
    ]
}

#[test]
fn each_imperfection_is_named() {
    for (what, answer, expected) in [imperfect_amounts(), imperfect_fields(), imperfect_texts()].concat() {
        let evaluation = evaluated("coolblue1", &answer);
        let found = codes(&evaluation);
        for finding in expected {
            assert!(found.contains(finding), "{what}: {finding:?} in {found:?}");
        }
        assert_eq!(evaluation.passed(), expected.is_empty(), "{what}: {found:?}");
    }
}

#[test]
fn complete_json_that_was_stopped_does_not_pass() {
    let answer = file("coolblue1.answer.json");
    let evaluation = evaluate(&answer, true, &file("coolblue1.txt"), &schema(), &policy(), &today());
    assert_eq!(codes(&evaluation), [("truncated", "")]);
    assert_eq!(evaluation.failure_class(), Some(FailureClass::Truncated));
}

/// Evaluates amounts alone, written as JSON numbers or strings, under a schema that allows both.
fn amounts(net: &str, tax: &str, total: &str) -> Evaluation {
    let schema = Schema::compile(&json!({"type": "object"})).unwrap();
    let rules = json!({"version": 1, "amounts": {"net": "/net", "tax": "/tax", "total": "/total"}});
    let policy: Policy = serde_json::from_value(rules).unwrap();
    let answer = format!(r#"{{"output": {{"net": {net}, "tax": {tax}, "total": {total}}}}}"#);
    evaluate(&answer, false, "", &schema, &policy, &today())
}

#[test]
fn amounts_are_calculated_as_written() {
    assert!(amounts("0.1", "0.2", "0.3").passed(), "tenths are no floats here");
    assert!(amounts(r#""0.1""#, r#""0.2""#, r#""0.30""#).passed());
    let twenty = (r#""12345678901234567890.12""#, r#""0.01""#);
    assert!(amounts(twenty.0, twenty.1, r#""12345678901234567890.13""#).passed());
    assert_eq!(codes(&amounts(twenty.0, twenty.1, twenty.0)), [("net_tax_total", "/total")]);
    let digits_lost = amounts("12345678901234567890.12", "0", "12345678901234567890.12");
    assert_eq!(codes(&digits_lost), [("amount_format", "/net"), ("amount_format", "/total")]);
    assert_eq!(codes(&amounts("1e2", "0", "100")), [("amount_format", "/net")]);
    assert_eq!(codes(&amounts(r#""1e2""#, "0", "100")), [("amount_format", "/net")]);
}

/// Another value of the same form: the last digit or letter of each leaf is exchanged.
fn other_value(text: &str) -> String {
    let last = text.chars().next_back().unwrap();
    let other = match last {
        '0'..='8' => char::from_u32(u32::from(last) + 1).unwrap(),
        '9' => '0',
        'z' => 'y',
        _ => 'z',
    };
    format!("{}{other}", &text[..text.len() - last.len_utf8()])
}

/// The pointers of all texts in a value.
fn texts(value: &Value, pointer: &str) -> Vec<String> {
    match value {
        Value::String(_) => vec![pointer.to_owned()],
        Value::Array(elements) => {
            (0..).zip(elements).flat_map(|(at, value)| texts(value, &format!("{pointer}/{at}"))).collect()
        }
        Value::Object(members) => {
            members.iter().flat_map(|(name, value)| texts(value, &format!("{pointer}/{name}"))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[test]
fn no_single_wrong_value_passes() {
    for name in NAMES {
        for field in texts(&json_file(&format!("{name}.answer.json"))["output"], "/output") {
            let answer = changed(name, |answer| {
                let value = answer.pointer_mut(&field).unwrap();
                *value = json!(other_value(value.as_str().unwrap()));
            });
            let found = evaluated(name, &answer);
            let pointers: Vec<_> =
                codes(&found).into_iter().map(|(_, pointer)| format!("/output{pointer}")).collect();
            assert!(pointers.contains(&field), "{name}: {field} in {pointers:?}");
        }
    }
}

#[test]
fn evaluations_are_journaled_without_loss() {
    for name in NAMES {
        let evaluation = evaluated(name, &file(&format!("{name}.answer.json")));
        let journaled = serde_json::to_string(&evaluation).unwrap();
        assert_eq!(serde_json::from_str::<Evaluation>(&journaled).unwrap(), evaluation, "{name}");
    }
}
