//! Documents whose right answer is known: the examples, and the invented ones in `data`.

use std::path::PathBuf;
use std::sync::LazyLock;

use forebay_core::extract::{Evaluation, Policy, References, Schema, evaluate};
use serde_json::{Map, Value, json};

/// A document and what it truly says.
pub struct Known {
    pub name: String,
    pub is_example: bool,
    pub document: String,
    pub output: Value,
    /// A field and its quote; a field may have several.
    pub quotes: Vec<(String, String)>,
    /// Values that the document prints and that are something else.
    pub decoys: Vec<Decoy>,
    /// What is found in the right answer: nothing, but where the document itself lacks something.
    pub findings: Vec<&'static str>,
}

pub struct Decoy {
    pub field: String,
    pub value: Value,
    pub quote: Option<String>,
}

impl Known {
    pub fn answer(&self) -> Value {
        answer(&self.output, &self.quotes)
    }

    pub fn evaluate(&self, answer: &str) -> Evaluation {
        let today = References::on("2026-01-01".parse().unwrap());
        evaluate(answer, false, &self.document, &SCHEMA, &POLICY, &today)
    }
}

pub fn answer(output: &Value, quotes: &[(String, String)]) -> Value {
    let quotes: Vec<_> =
        quotes.iter().map(|(field, quote)| json!({"field": field, "quote": quote})).collect();
    json!({"output": output, "evidence": quotes})
}

pub static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::compile(&parsed(&examples().join("invoice.schema.json"))).unwrap());

pub static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let policy: Policy = toml::from_str(&text(&examples().join("policy.toml"))).unwrap();
    policy.validate().unwrap();
    policy
});

pub static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let mut known = Vec::new();
    for (folder, suffix) in [(examples(), ".answer.json"), (data(), ".json")] {
        let files = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> =
            files.filter_map(|file| file.strip_suffix(suffix).map(str::to_owned)).collect();
        names.sort();
        for name in names {
            let case = parsed(&folder.join(format!("{name}{suffix}")));
            let document = text(&folder.join(format!("{name}.txt")));
            let output = case["output"].clone();
            let quotes = match case.get("evidence") {
                Some(entries) => entries.as_array().unwrap().iter().map(entry).collect(),
                None => spread(case["quotes"].as_object().unwrap(), &output),
            };
            let decoys =
                case.get("decoys").and_then(Value::as_array).into_iter().flatten().map(decoy).collect();
            // No reader of its text can know who sent it.
            let findings = if name == "saeco" { vec!["missing_required"] } else { Vec::new() };
            let is_example = folder == examples();
            known.push(Known { name, is_example, document, output, quotes, decoys, findings });
        }
    }
    known
});

fn entry(entry: &Value) -> (String, String) {
    let text = |member: &str| entry[member].as_str().unwrap().to_owned();
    (text("field"), text("quote"))
}

fn decoy(decoy: &Value) -> Decoy {
    Decoy {
        field: decoy["field"].as_str().unwrap().to_owned(),
        value: decoy["value"].clone(),
        quote: decoy.get("quote").map(|quote| quote.as_str().unwrap().to_owned()),
    }
}

/// A quote for a line or a row is one for each of its members that has a value.
fn spread(quotes: &Map<String, Value>, output: &Value) -> Vec<(String, String)> {
    let mut spread = Vec::new();
    for (field, quote) in quotes {
        let texts = match quote {
            Value::Array(texts) => texts.iter().map(|text| text.as_str().unwrap().to_owned()).collect(),
            text => vec![text.as_str().unwrap().to_owned()],
        };
        let fields = match output.pointer(field).unwrap() {
            Value::Object(members) => members
                .iter()
                .filter(|(_, value)| !value.is_null())
                .map(|(name, _)| format!("{field}/{name}"))
                .collect(),
            _ => vec![field.clone()],
        };
        for field in fields {
            spread.extend(texts.iter().map(|text| (field.clone(), text.clone())));
        }
    }
    spread
}

fn examples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/invoices")
}

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/documents/data")
}

fn text(path: &PathBuf) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn parsed(path: &PathBuf) -> Value {
    serde_json::from_str(&text(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
