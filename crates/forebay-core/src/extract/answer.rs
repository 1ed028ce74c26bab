//! The form of an answer: `{"output": {...}, "evidence": [{"field": "/total", "quote": "Totaal € 717,97"}]}`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::extract::finding::{Finding, FindingCode};
use crate::extract::repair::{Repair, Unreadable, repair};

/// Quotes that an answer may give.
pub const MAX_QUOTES: usize = 5_000;

/// What the model says about where a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quote {
    pub(super) field: String,
    pub(super) quote: String,
}

/// An answer, as far as it has the form of one.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) output: Option<Value>,
    pub(super) quotes: Vec<Quote>,
    pub(super) repairs: Vec<Repair>,
    pub(super) inexact_numbers: BTreeMap<String, String>,
    pub(super) findings: Vec<Finding>,
}

/// Reads an answer. Members beside `output` and `evidence` are ignored.
pub(super) fn read(text: &str) -> Answer {
    let repaired = match repair(text) {
        Ok(repaired) => repaired,
        Err(unreadable) => return Answer { findings: vec![finding(&unreadable)], ..Answer::default() },
    };
    let mut answer = Answer { repairs: repaired.repairs, ..Answer::default() };
    let mut members = match repaired.value {
        Value::Object(members) => members,
        _ => serde_json::Map::new(),
    };
    answer.output = members.remove("output").filter(Value::is_object);
    if answer.output.is_none() {
        answer.findings.push(shape("the answer has no member `output` that is an object"));
    }
    match members.remove("evidence") {
        None | Some(Value::Null) => {}
        Some(Value::Array(entries)) => answer.read_quotes(entries),
        Some(_) => answer.findings.push(shape("`evidence` is not a list")),
    }
    let in_output = |(pointer, literal): (String, String)| {
        pointer.strip_prefix("/output").map(|pointer| (pointer.to_owned(), literal))
    };
    answer.inexact_numbers = repaired.inexact_numbers.into_iter().filter_map(in_output).collect();
    answer
}

impl Answer {
    fn read_quotes(&mut self, entries: Vec<Value>) {
        if entries.len() > MAX_QUOTES {
            self.findings.push(shape(&format!("`evidence` has more than {MAX_QUOTES} entries")));
        }
        for (index, entry) in entries.into_iter().take(MAX_QUOTES).enumerate() {
            match (entry.get("field").and_then(Value::as_str), entry.get("quote").and_then(Value::as_str)) {
                (Some(field), Some(quote)) => {
                    self.quotes.push(Quote { field: field.to_owned(), quote: quote.to_owned() });
                }
                _ => self.findings.push(shape(&format!(
                    "entry {index} of `evidence` is not an object with the texts `field` and `quote`"
                ))),
            }
        }
    }
}

fn shape(message: &str) -> Finding {
    Finding::new(FindingCode::AnswerShape, "", message)
}

fn finding(unreadable: &Unreadable) -> Finding {
    let code = match unreadable {
        Unreadable::Truncated => FindingCode::Truncated,
        Unreadable::DuplicateMember { .. } => FindingCode::DuplicateMember,
        Unreadable::NoObject
        | Unreadable::Several
        | Unreadable::Syntax { .. }
        | Unreadable::TooDeep
        | Unreadable::TooLarge => FindingCode::NotJson,
    };
    Finding::new(code, "", unreadable.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<&'static str> {
        read(text).findings.into_iter().map(|finding| finding.code.name()).collect()
    }

    #[test]
    fn output_and_evidence_are_taken_and_the_rest_is_ignored() {
        let answer =
            read(r#"{"output": {"a": 1e1}, "evidence": [{"field": "/a", "quote": "10"}], "note": "ok"}"#);
        assert_eq!(answer.findings, []);
        assert_eq!(answer.quotes, [Quote { field: "/a".to_owned(), quote: "10".to_owned() }]);
        assert_eq!(answer.inexact_numbers["/a"], "1e1");
    }

    #[test]
    fn other_shapes_are_findings() {
        assert_eq!(codes(r#"{"a": 1}"#), ["answer_shape"]);
        assert_eq!(codes(r#"{"output": [1]}"#), ["answer_shape"]);
        assert_eq!(codes(r#"{"output": {}, "evidence": {}}"#), ["answer_shape"]);
        assert_eq!(
            codes(r#"{"output": {}, "evidence": [{"field": "/a"}, 1, {"field": "/a", "quote": ""}]}"#).len(),
            2
        );
        assert_eq!(codes(r#"{"output": {}, "evidence": null}"#), Vec::<&str>::new());
    }

    #[test]
    fn unreadable_answers_say_why() {
        assert_eq!(codes("sorry"), ["not_json"]);
        assert_eq!(codes(r#"{"output": {"a": 1"#), ["truncated"]);
        assert_eq!(codes(r#"{"output": {}, "output": {}}"#), ["duplicate_member"]);
    }

    #[test]
    fn quotes_are_bounded() {
        let text = |count: usize| {
            let entries = vec![r#"{"field": "/a", "quote": "b"}"#; count].join(",");
            format!(r#"{{"output": {{}}, "evidence": [{entries}]}}"#)
        };
        assert!(read(&text(MAX_QUOTES)).findings.is_empty());
        let over = read(&text(MAX_QUOTES + 1));
        assert_eq!((over.quotes.len(), over.findings.len()), (MAX_QUOTES, 1));
    }
}
