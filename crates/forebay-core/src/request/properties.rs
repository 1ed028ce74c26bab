//! What holds for every text that somebody may send.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::request::{StoredRequest, Submission, canonical, json as strict};

/// Any JSON value that the parser lets through.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Writes a value with its members in the opposite order, with white space and with escapes, as another
/// client might.
fn other_hand(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            out.push_str("{ ");
            for (index, (name, member)) in members.iter().rev().enumerate() {
                out.push_str(if index == 0 { "" } else { " ,\n" });
                escaped(name, out);
                out.push_str(" :\t");
                other_hand(member, out);
            }
            out.push('}');
        }
        Value::Array(elements) => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                out.push_str(if index == 0 { " " } else { ", " });
                other_hand(element, out);
            }
            out.push(']');
        }
        Value::String(text) => escaped(text, out),
        Value::Number(number) if number.is_f64() => {
            out.push_str(&format!("{:E}", number.as_f64().unwrap()));
        }
        other => out.push_str(&other.to_string()),
    }
}

fn escaped(text: &str, out: &mut String) {
    out.push('"');
    for unit in text.encode_utf16() {
        out.push_str(&format!("\\u{unit:04X}"));
    }
    out.push('"');
}

/// A submission with parts that are right or wrong by chance.
fn submission() -> impl Strategy<Value = Value> {
    (value(), value(), proptest::option::of(value()), "[a-z_]{1,12}").prop_map(
        |(params, part, metadata, name)| {
            let mut whole = json!({"task": "chat", "input": {"prompt": "hi"}, "params": {}});
            whole["params"]["p"] = params;
            whole["input"] = json!({"messages": [{"role": "user", "content": [part]}]});
            if let Some(metadata) = metadata {
                whole[name] = metadata;
            }
            whole
        },
    )
}

proptest! {
    #[test]
    fn reading_random_bytes_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = strict::parse(&bytes).map(Submission::parse);
    }

    #[test]
    fn reading_damaged_json_never_panics(value in submission(), cuts in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..4)) {
        let mut bytes = canonical::to_bytes(&value);
        for (at, byte) in cuts {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        match strict::parse(&bytes) {
            Ok(value) => { let _ = Submission::parse_in_batch(value); }
            Err(fault) => prop_assert!(fault.line >= 1),
        }
    }

    #[test]
    fn the_normal_form_reads_back_as_itself(value in value()) {
        let form = canonical::to_bytes(&value);
        let again = strict::parse(&form).unwrap();
        prop_assert_eq!(canonical::to_bytes(&again), form);
    }

    #[test]
    fn another_way_to_write_a_value_has_the_same_normal_form(value in value()) {
        let mut text = String::new();
        other_hand(&value, &mut text);
        let read = strict::parse(text.as_bytes()).unwrap();
        prop_assert_eq!(canonical::to_bytes(&read), canonical::to_bytes(&value));
    }

    #[test]
    fn the_order_of_members_never_changes_the_digest(value in submission()) {
        let mut text = String::new();
        other_hand(&value, &mut text);
        let read = strict::parse(text.as_bytes()).unwrap();
        match (Submission::parse(value), Submission::parse(read)) {
            (Ok(one), Ok(other)) => prop_assert_eq!(one.body_digest(), other.body_digest()),
            (one, other) => prop_assert_eq!(one, other),
        }
    }

    #[test]
    fn what_is_stored_is_read_back_as_it_was(params in proptest::collection::btree_map("[a-z]{1,4}", value(), 0..4)) {
        let params: Map<String, Value> = params.into_iter().collect();
        let submission = Submission::parse(json!({"task": "t", "input": {"embed": ["a", "b"]}, "params": params})).unwrap();
        let stored = submission.stored();
        let read = StoredRequest::read(&stored).unwrap();
        prop_assert_eq!(&read.input, &submission.input);
        prop_assert_eq!(read.to_bytes(), stored);
    }
}
