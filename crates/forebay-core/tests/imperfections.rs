//! Every answer that `examples/invoices/imperfections.json` describes: a correct one, changed. None passes as it is.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that can't go on fails")]

use std::path::PathBuf;
use std::sync::Arc;

use forebay_core::dataset::{Dataset, Table};
use forebay_core::extract::{Evaluation, FindingCode, Policy, References, Schema, evaluate};
use forebay_core::time::Timestamp;
use serde_json::{Value, json};

fn file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/invoices").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Applies one change to an answer.
fn apply(answer: &mut Value, change: &Value) {
    let to = || change["to"].clone();
    let quotes = |answer: &mut Value, keep: &dyn Fn(&Value) -> bool| {
        answer["evidence"].as_array_mut().unwrap().retain(|entry| keep(entry));
    };
    let (kind, at) = change.as_object().unwrap().iter().find(|(kind, _)| *kind != "to").unwrap();
    let at = at.as_str().unwrap();
    let (parent, member) = at.rsplit_once('/').unwrap();
    match kind.as_str() {
        "set" => match answer.pointer_mut(parent).unwrap() {
            Value::Array(elements) => elements[member.parse::<usize>().unwrap()] = to(),
            object => object[member] = to(),
        },
        "quote" => {
            let entries = answer["evidence"].as_array_mut().unwrap().iter_mut();
            entries.filter(|entry| entry["field"] == at).for_each(|entry| entry["quote"] = to());
        }
        "add_quote" => answer["evidence"].as_array_mut().unwrap().push(json!({"field": at, "quote": to()})),
        "drop_quotes" => quotes(answer, &|entry| entry["field"] != at),
        "drop" => {
            let elements = answer.pointer_mut(parent).unwrap().as_array_mut().unwrap();
            elements.remove(member.parse::<usize>().unwrap());
        }
        "copy_last" => {
            let elements = answer.pointer_mut(at).unwrap().as_array_mut().unwrap();
            let (last, copy) = (elements.len() - 1, elements[elements.len() - 1].clone());
            elements.push(copy);
            let from = format!("{}/{last}/", at.strip_prefix("/output").unwrap());
            let into = format!("{}/{}/", at.strip_prefix("/output").unwrap(), last + 1);
            let copies: Vec<Value> = answer["evidence"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|entry| {
                    let rest = entry["field"].as_str()?.strip_prefix(&from)?.to_owned();
                    Some(json!({"field": format!("{into}{rest}"), "quote": entry["quote"]}))
                })
                .collect();
            answer["evidence"].as_array_mut().unwrap().extend(copies);
        }
        other => panic!("no such change: {other}"),
    }
}

fn evaluated(imperfection: &Value) -> Evaluation {
    let invoice = imperfection["invoice"].as_str().unwrap();
    let mut answer: Value = serde_json::from_str(&file(&format!("{invoice}.answer.json"))).unwrap();
    imperfection["change"].as_array().into_iter().flatten().for_each(|change| apply(&mut answer, change));
    let mut text = answer.to_string();
    let around = &imperfection["text"];
    if let Some(share) = around["cut"].as_f64() {
        text.truncate((text.len() as f64 * share) as usize);
        while std::str::from_utf8(text.as_bytes()).is_err() {
            text.pop();
        }
    }
    text = format!(
        "{}{text}{}",
        around["before"].as_str().unwrap_or(""),
        around["after"].as_str().unwrap_or("")
    );
    let mut policy = file("policy.toml");
    if imperfection["policy"] == "master-data" {
        policy += &file("master-data.toml");
    }
    let policy: Policy = toml::from_str(&policy).unwrap();
    assert_eq!(policy.validate(), Ok(()));
    let schema = Schema::compile(&serde_json::from_str(&file("invoice.schema.json")).unwrap()).unwrap();
    let table = Arc::new(Table::from_csv(file("suppliers.csv").as_bytes()).unwrap());
    let datasets = [Dataset { name: "suppliers".to_owned(), version: 1, table }];
    let today = Timestamp::from_millis(1_767_225_600_000).date();
    let references = References { datasets: &datasets, ..References::on(today) };
    evaluate(&text, false, &file(&format!("{invoice}.txt")), &schema, &policy, &references)
}

#[test]
fn each_imperfection_ends_as_it_should() {
    let imperfections: Vec<Value> = serde_json::from_str(&file("imperfections.json")).unwrap();
    assert!(imperfections.len() > 30);
    let mut wrong = Vec::new();
    for imperfection in &imperfections {
        let evaluation = evaluated(imperfection);
        let found: Vec<_> = evaluation
            .findings
            .iter()
            .map(|finding| (finding.code.name(), finding.pointer.as_str()))
            .collect();
        let expected: Vec<(String, String)> =
            serde_json::from_value(imperfection["findings"].clone()).unwrap();
        let named = expected.iter().all(|(code, field)| found.contains(&(code.as_str(), field.as_str())));
        let ends =
            match (evaluation.passed(), evaluation.findings.iter().any(|f| f.code == FindingCode::Truncated))
            {
                (true, _) if evaluation.repairs.is_empty() => "success",
                (true, _) => "repair",
                (false, true) => "review",
                (false, false) => "correction",
            };
        if !named || imperfection["ends"] != ends {
            wrong.push(format!("{}: {ends}, {found:?}", imperfection["what"]));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn correct_answers_also_agree_with_the_master_data() {
    for invoice in [
        "amazonwebservices",
        "azureinterior",
        "coolblue1",
        "flipkart",
        "free_fiber",
        "orlen",
        "qualityhosting",
        "sammymaystone",
    ] {
        let evaluation = evaluated(&json!({"invoice": invoice, "policy": "master-data"}));
        assert_eq!(evaluation.findings, [], "{invoice}");
        assert!(evaluation.fingerprint.is_some());
    }
}
