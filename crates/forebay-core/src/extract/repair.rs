//! Free repair of answers that are almost JSON. A repair drops what is not part of the object or reads a
//! spelling that can mean one thing only; it never adds data, never closes what is open and never chooses.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::extract::lenient::Reader;
use crate::limits;

/// A deviation from JSON that was repaired. The names are stable: they are stored and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// A byte order mark stood before the text.
    ByteOrderMark,
    /// The object stood in a Markdown code fence.
    CodeFence,
    /// Other text stood before or after the object.
    Prose,
    /// A comma stood before a closing bracket.
    TrailingComma,
    /// A `//` or `/* */` comment stood between values.
    Comment,
    /// A line break, a tab or another control character stood in a string as itself.
    RawControlCharacter,
    /// Strings were enclosed in apostrophes.
    SingleQuotes,
    /// Strings were enclosed in typographic quotation marks.
    TypographicQuotes,
    /// `None`, `True` or `False` stood for `null`, `true` or `false`.
    PythonLiteral,
}

impl Repair {
    /// Every kind of repair.
    pub const ALL: [Repair; 9] = [
        Repair::ByteOrderMark,
        Repair::CodeFence,
        Repair::Prose,
        Repair::TrailingComma,
        Repair::Comment,
        Repair::RawControlCharacter,
        Repair::SingleQuotes,
        Repair::TypographicQuotes,
        Repair::PythonLiteral,
    ];

    /// The name in the API, the database and the metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Repair::ByteOrderMark => "byte_order_mark",
            Repair::CodeFence => "code_fence",
            Repair::Prose => "prose",
            Repair::TrailingComma => "trailing_comma",
            Repair::Comment => "comment",
            Repair::RawControlCharacter => "raw_control_character",
            Repair::SingleQuotes => "single_quotes",
            Repair::TypographicQuotes => "typographic_quotes",
            Repair::PythonLiteral => "python_literal",
        }
    }
}

/// An answer's one object, and what it took to read it.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// The object.
    pub value: Value,
    /// What was repaired: each kind once, in the order of [`Repair::ALL`]. Empty for plain JSON.
    pub repairs: Vec<Repair>,
    /// The numbers whose written form is lost in `value`: those with an exponent, and those with more digits
    /// than a double keeps. By JSON pointer, as they were written.
    pub inexact_numbers: BTreeMap<String, String>,
}

/// Why an answer can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is no object in it.
    #[error("there is no JSON object in the answer")]
    NoObject,
    /// There is more than one object, or the object is inside a list.
    #[error("there is more than one JSON value in the answer; which one is meant is not for us to choose")]
    Several,
    /// It ends inside the object.
    #[error("the answer ends inside its JSON object")]
    Truncated,
    /// It breaks the syntax in a way that has no single meaning.
    #[error("not JSON at byte {at}: expected {expected}")]
    Syntax {
        /// The place, in bytes of the answer.
        at: usize,
        /// What would have had to stand there.
        expected: &'static str,
    },
    /// An object has a member twice.
    #[error("the member {pointer} is there twice; which one is meant is not for us to choose")]
    DuplicateMember {
        /// The member.
        pointer: String,
    },
    /// Its values are nested more than [`limits::JSON_DEPTH`] levels deep.
    #[error("the answer is nested more than {} levels deep", limits::JSON_DEPTH)]
    TooDeep,
    /// It is larger than [`limits::PROVIDER_REPLY_BYTES`].
    #[error("the answer is larger than {} bytes", limits::PROVIDER_REPLY_BYTES)]
    TooLarge,
}

/// Reads the one JSON object of an answer, with the repairs that [`Repair`] lists. Takes time linear in the
/// length of the text.
///
/// # Errors
///
/// When there is no object or more than one, when the object is cut off or has a duplicate member, and when
/// its syntax is broken in a way that could mean two things.
pub fn repair(text: &str) -> Result<Repaired, Unreadable> {
    if text.len() > limits::PROVIDER_REPLY_BYTES {
        return Err(Unreadable::TooLarge);
    }
    let mut repairs = BTreeSet::new();
    let from = text.chars().take_while(|char| *char == '\u{feff}').map(char::len_utf8).sum();
    if from > 0 {
        repairs.insert(Repair::ByteOrderMark);
    }
    let found = only_object(text, from)?;
    let (before, after) = (&text[from..found.start], &text[found.end..]);
    if before.trim_end().ends_with(['[', ',']) || after.trim_start().starts_with(']') {
        return Err(Unreadable::Several);
    }
    note_surroundings(before, &mut repairs);
    note_surroundings(after, &mut repairs);
    repairs.extend(found.repairs);
    Ok(Repaired {
        value: found.value,
        repairs: repairs.into_iter().collect(),
        inexact_numbers: found.inexact_numbers,
    })
}

struct Found {
    value: Value,
    start: usize,
    end: usize,
    repairs: BTreeSet<Repair>,
    inexact_numbers: BTreeMap<String, String>,
}

/// Whatever begins like an object must be one: what stands inside a broken object is never taken for the
/// answer. A brace in prose (`{name}`) does not begin like an object.
fn only_object(text: &str, mut at: usize) -> Result<Found, Unreadable> {
    let mut only: Option<Found> = None;
    while let Some(offset) = text[at..].find('{') {
        let start = at + offset;
        at = start + 1;
        if !begins_like_an_object(&text[at..]) {
            continue;
        }
        if only.is_some() {
            return Err(Unreadable::Several);
        }
        let mut reader = Reader::new(text, start);
        let value = reader.value()?;
        at = reader.position();
        let (repairs, inexact_numbers) = reader.notes();
        only = Some(Found { value, start, end: at, repairs, inexact_numbers });
    }
    only.ok_or(Unreadable::NoObject)
}

/// An object's brace is followed by a member's name, its own end, a comment, or the end of a cut answer.
fn begins_like_an_object(after_brace: &str) -> bool {
    let rest = after_brace.trim_start_matches([' ', '\t', '\r', '\n']);
    rest.is_empty()
        || rest.starts_with(['"', '\'', '“', '„', '”', '}'])
        || rest.starts_with("//")
        || rest.starts_with("/*")
}

fn note_surroundings(outside: &str, repairs: &mut BTreeSet<Repair>) {
    for line in outside.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let fence = line.strip_prefix("```").or_else(|| line.strip_suffix("```"));
        match fence {
            Some(label) if label.chars().all(char::is_alphanumeric) => repairs.insert(Repair::CodeFence),
            _ => repairs.insert(Repair::Prose),
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn repaired(text: &str) -> (Value, Vec<&'static str>) {
        let repaired = repair(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        (repaired.value, repaired.repairs.into_iter().map(Repair::name).collect())
    }

    #[test]
    fn names_are_what_serde_writes() {
        for kind in Repair::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }

    #[test]
    fn each_deviation_is_repaired_and_named() {
        let object = json!({"a": 1, "b": [true, null]});
        for (text, names) in [
            (r#"{"a": 1, "b": [true, null]}"#, vec![]),
            ("\u{feff}{\"a\": 1, \"b\": [true, null]}", vec!["byte_order_mark"]),
            ("```json\n{\"a\": 1, \"b\": [true, null]}\n```", vec!["code_fence"]),
            ("```{\"a\": 1, \"b\": [true, null]}```\n", vec!["code_fence"]),
            ("Here it is:\n{\"a\": 1, \"b\": [true, null]}\nDone {ok}.", vec!["prose"]),
            ("Sure!\n```\n{\"a\": 1, \"b\": [true, null]}\n```", vec!["code_fence", "prose"]),
            (r#"{"a": 1, "b": [true, null,],}"#, vec!["trailing_comma"]),
            ("{ // one\n\"a\": 1, /* two */ \"b\": [true, null]}", vec!["comment"]),
            ("{'a': 1, 'b': [True, None]}", vec!["single_quotes", "python_literal"]),
            ("{“a”: 1, „b“: [true, null]}", vec!["typographic_quotes"]),
        ] {
            assert_eq!(repaired(text), (object.clone(), names), "{text}");
        }
    }

    #[test]
    fn strings_keep_every_character() {
        let (value, names) = repaired("{\"a\": \"one\ntwo\tthree // no comment, {brace}\\u20ac\"}");
        assert_eq!(value, json!({"a": "one\ntwo\tthree // no comment, {brace}€"}));
        assert_eq!(names, ["raw_control_character"]);
        assert_eq!(repaired(r#"{'a': 'say "no", it\'s'}"#).0, json!({"a": "say \"no\", it's"}));
    }

    #[test]
    fn what_could_mean_two_things_is_not_repaired() {
        for text in [
            r#"{'a': 'It's, here'}"#,
            "{“a”: “he said ”no” today”}",
            "{“a\": 1}",
            r#"{"a": "the "best" one"}"#,
            r#"{"a": 1,, "b": 2}"#,
            r#"{"a": 01}"#,
            r#"{"a": 1.}"#,
            r#"{"a": NaN}"#,
            r#"{"a": 1 "b": 2}"#,
            r#"{a: 1}"#,
            r#"{"a": "\ud800"}"#,
            r#"{"a": 1e999}"#,
        ] {
            assert!(
                matches!(repair(text), Err(Unreadable::Syntax { .. } | Unreadable::NoObject)),
                "{text}: {:?}",
                repair(text)
            );
        }
    }

    #[test]
    fn a_cut_object_is_never_closed() {
        let whole = r#"{"output": {"a": [1, "x\"y", true], "b": -1.5e3}, "evidence": []}"#;
        for end in 1..whole.len() {
            assert_eq!(repair(&whole[..end]), Err(Unreadable::Truncated), "{}", &whole[..end]);
        }
    }

    #[test]
    fn one_object_or_none() {
        assert_eq!(repair("no braces"), Err(Unreadable::NoObject));
        assert_eq!(repair(r#""{\"a\": 1}""#), Err(Unreadable::NoObject));
        for several in
            [r#"{"a": 1} {"a": 2}"#, r#"[{"a": 1}]"#, r#"[0, {"a": 1}, 2]"#, r#"{"a": 1} and {"b": oops"#]
        {
            assert_eq!(repair(several), Err(Unreadable::Several), "{several}");
        }
        let inner_only = r#"{"output": {"a": 1} "evidence": {"b": 2}}"#;
        assert!(
            matches!(repair(inner_only), Err(Unreadable::Syntax { .. })),
            "an inner object is not the answer"
        );
    }

    #[test]
    fn duplicate_members_are_refused_wherever_they_are() {
        let error = repair(r#"{"output": {"lines": [{"a/b": 1, "a/b": 1}]}}"#).unwrap_err();
        assert_eq!(error, Unreadable::DuplicateMember { pointer: "/output/lines/0/a~1b".to_owned() });
        assert!(matches!(repair(r#"{"a": 1, "\u0061": 1}"#), Err(Unreadable::DuplicateMember { .. })));
    }

    #[test]
    fn sixty_four_levels_and_not_one_more() {
        let nested = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        assert!(repair(&nested(64)).is_ok());
        assert_eq!(repair(&nested(65)), Err(Unreadable::TooDeep));
    }

    #[test]
    fn numbers_that_lose_their_written_form_are_named() {
        let text = r#"{"a": 717.97, "b": 7.1797e2, "c": 12345678901234567890.12, "d": 717.970, "e": 18446744073709551616}"#;
        let names: Vec<_> = repair(text).unwrap().inexact_numbers.into_keys().collect();
        assert_eq!(names, ["/b", "/c", "/e"]);
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn plain_json_is_read_as_it_is(inner in json_value(), pretty in any::<bool>()) {
            let value = json!({"output": inner});
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            let strict: Value = serde_json::from_str(&text).unwrap();
            let once = repair(&text).unwrap();
            prop_assert_eq!(&once.value, &strict);
            prop_assert!(once.repairs.is_empty());
            let again = repair(&serde_json::to_string(&once.value).unwrap()).unwrap();
            prop_assert_eq!(again.value, once.value);
        }

        #[test]
        fn no_text_panics(text in any::<String>(), jsonish in "[\\{\\}\\[\\]\"'“”,:/*\\\\ 0-9eE.+-]{0,60}|(\\{\"a\":|[TFN]|true|\"x\"|//|,|\\}|\n){0,30}") {
            let _ = repair(&text);
            let _ = repair(&jsonish);
        }
    }
}
