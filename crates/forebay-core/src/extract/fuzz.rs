//! Fuzz targets of what models answer about documents.

use std::collections::BTreeSet;
use std::str::FromStr as _;

use rust_decimal::Decimal;
use serde_json::Value;

use super::doubt::Stand;
use super::{Resolver, dates, fold, iban, number, repair, written_date};
use crate::fuzz::harness;

const JSON_WORDS: [&str; 16] = [
    "```json\n",
    "```",
    "// a\n",
    "/* a */",
    "None",
    "True",
    "'",
    "“",
    "”",
    ",}",
    ",]",
    "\\'",
    "\\u0041",
    "{\"a\":",
    "NaN",
    "\u{feff}",
];

/// Every text of a value, members' names included, and every number.
fn leaves<'v>(value: &'v Value, texts: &mut Vec<&'v str>, numbers: &mut Vec<f64>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Number(number) => numbers.push(number.as_f64().unwrap()),
        Value::Array(elements) => elements.iter().for_each(|element| leaves(element, texts, numbers)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            texts.push(name);
            leaves(member, texts, numbers);
        }),
        Value::Null | Value::Bool(_) => {}
    }
}

#[test]
fn repair_invents_nothing_and_needs_no_second_one() {
    harness::run("repair", &JSON_WORDS, |bytes| {
        let answer = String::from_utf8_lossy(bytes);
        let Ok(repaired) = repair(&answer) else { return };
        assert!(repaired.value.is_object());
        let (mut texts, mut numbers) = (Vec::new(), Vec::new());
        leaves(&repaired.value, &mut texts, &mut numbers);
        if !answer.contains('\\') {
            assert!(texts.iter().all(|text| answer.contains(text)), "{texts:?}");
        }
        let literal = |char: char| !matches!(char, '0'..='9' | '+' | '-' | '.' | 'e' | 'E');
        let written: BTreeSet<u64> =
            answer.split(literal).filter_map(|token| token.parse::<f64>().ok()).map(f64::to_bits).collect();
        for number in numbers {
            assert!(written.contains(&number.to_bits()) || number == 0.0, "{number} is not in the answer");
        }
        let plain = repaired.value.to_string();
        let again = repair(&plain).expect("what was repaired is JSON");
        assert_eq!((again.value, again.repairs), (repaired.value, Vec::new()));
    });
}

const MARKS: [&str; 12] =
    ["\u{ad}", "\u{200b}", "\u{a0}", "\u{202f}", "’", "“", "–", "\r\n", "1.234,56", "'", "\u{c}", "\n--\n"];

#[test]
fn a_span_really_holds_its_quote() {
    harness::run("resolver", &MARKS, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let (document, quote) = text.rsplit_once("\n--\n").unwrap_or((&text, "1"));
        let resolver = Resolver::new(document);
        let mut from = 0;
        for _ in 0..20 {
            let Some(span) = resolver.find_from(quote, from) else { break };
            let slice = document.get(span.start..span.end).expect("a span is a slice");
            assert_eq!(fold(slice), fold(quote));
            assert!(span.start >= from && span.end > span.start);
            assert_eq!(span.line, document[..span.start].matches('\n').count() + 1);
            from = span.end;
        }
    });
}

#[test]
fn readers_of_numbers_dates_and_accounts_read_what_stands_there() {
    harness::run("readers", &MARKS, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).count();
        for value in number::values(&text) {
            assert_eq!(Decimal::from_str(&value.to_string()), Ok(value));
            for (start, end) in number::places(&text, value) {
                let place = text.get(start..end).expect("a place is a slice");
                assert!(digits(place) > 0, "{place:?}");
            }
        }
        assert!(number::percents(&text).len() <= text.matches('%').count());
        if let Some(date) = dates::iso(&text) {
            assert_eq!(date.to_string(), *text);
            assert!(matches!(written_date::stand(&text, date, None), Stand::Yes));
        }
        assert!(iban::compact(&text).len() <= text.len());
    });
}
