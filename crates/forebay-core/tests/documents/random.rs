//! Alterations that nobody thought of: one or two leaves of a right answer, replaced at random.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

use crate::alterations::{other_digit, put, twisted};
use crate::equivalence::indistinguishable;
use crate::known::{KNOWN, Known, answer};

/// What becomes of a leaf.
#[derive(Debug, Clone)]
enum Change {
    Null,
    OtherEnd,
    Twisted,
    /// The value of another leaf of the output.
    Leaf(Index),
    /// A word, or some words, that the document prints.
    Words(Index, usize),
    /// The value of another leaf of a line, or of none, together with its quotes.
    LeafAndQuotes(Index),
    Text(String),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        Just(Change::Null),
        Just(Change::OtherEnd),
        Just(Change::Twisted),
        any::<Index>().prop_map(Change::Leaf),
        any::<Index>().prop_map(Change::LeafAndQuotes),
        (any::<Index>(), 1usize..4).prop_map(|(at, count)| Change::Words(at, count)),
        "[0-9]{1,5}(\\.[0-9]{2})?|[A-Z]{3}|20[0-9]{2}-[01][0-9]-[0-3][0-9]|[A-Za-z ]{1,12}"
            .prop_map(Change::Text),
    ]
}

fn leaves(value: &Value, at: &str, leaves: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| self::leaves(value, &format!("{at}/{name}"), leaves));
        }
        Value::Array(elements) => {
            (0..)
                .zip(elements)
                .for_each(|(index, value)| self::leaves(value, &format!("{at}/{index}"), leaves));
        }
        Value::Null => {}
        _ => leaves.push(at.to_owned()),
    }
}

fn altered(known: &Known, changes: &[(Index, Change)]) -> (Value, Vec<(String, String)>) {
    let (mut output, mut quotes) = (known.output.clone(), known.quotes.clone());
    let mut fields = Vec::new();
    leaves(&known.output, "", &mut fields);
    let text =
        |field: &str| known.output.pointer(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    for (at, change) in changes {
        let field = at.get::<String>(&fields);
        let value = match change {
            Change::Null => Value::Null,
            Change::OtherEnd => json!(other_digit(&text(field))),
            Change::Twisted => json!(twisted(&text(field)).unwrap_or_default()),
            Change::Leaf(other) => json!(text(other.get::<String>(&fields))),
            Change::LeafAndQuotes(other) => {
                let of_a_line = |field: &String| field.matches('/').count() > 1;
                let alike: Vec<_> =
                    fields.iter().filter(|other| of_a_line(other) == of_a_line(field)).collect();
                let other = *other.get::<&String>(&alike);
                let of_other: Vec<_> = known.quotes.iter().filter(|(quoted, _)| quoted == other).collect();
                quotes.retain(|(quoted, _)| quoted != field);
                quotes.extend(of_other.into_iter().map(|(_, quote)| (field.clone(), quote.clone())));
                json!(text(other))
            }
            Change::Words(from, count) => {
                let words: Vec<_> = known.document.split_whitespace().collect();
                let from = from.index(words.len());
                json!(words[from..words.len().min(from + count)].join(" "))
            }
            Change::Text(text) => json!(text),
        };
        put(&mut output, field, value);
    }
    (output, quotes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn only_what_the_policy_can_not_tell_apart_succeeds(
        which in any::<Index>(),
        changes in proptest::collection::vec((any::<Index>(), change()), 1..=2),
    ) {
        let known = which.get::<Known>(&KNOWN);
        let (output, quotes) = altered(known, &changes);
        let evaluation = known.evaluate(&answer(&output, &quotes).to_string());
        if evaluation.passed() {
            prop_assert!(indistinguishable(known, &output), "{}: {output}", known.name);
        }
    }
}
