//! The normal form of JSON that is hashed and stored.
//!
//! Two texts are the same request exactly when their normal forms are the same bytes:
//!
//! * members are sorted by code point, at every level; elements keep their order
//! * no white space
//! * a number is its value: whole numbers that fit 64 bits are written as integers (`1.0`, `1e0` and `1` are the
//!   same, and so are `-0` and `0`); others as the shortest digits that read back as the same double, plainly
//!   from 0.0000001 upwards and with an exponent otherwise
//! * a string is its code points, however it was escaped (`\u0041` is `A`); nothing is composed or decomposed:
//!   NFC and NFD are different texts
//!
//! The form is part of what is stored: a change to it would make a caller's second try look like another
//! request. It depends on nothing but this file and the standard library's number formatting.

use serde_json::{Map, Number, Value};

/// The normal form of a value. The value must not be deeper than a parser lets through (127 levels).
pub fn to_bytes(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    write(&mut out, value);
    out
}

/// Appends the normal form of a value.
pub fn write(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(elements) => write_array(out, elements),
        Value::Object(members) => write_object(out, members),
    }
}

/// Appends the normal form of an array.
pub fn write_array(out: &mut Vec<u8>, elements: &[Value]) {
    out.push(b'[');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, element);
    }
    out.push(b']');
}

/// Appends the normal form of an object.
pub fn write_object(out: &mut Vec<u8>, members: &Map<String, Value>) {
    let mut sorted: Vec<_> = members.iter().collect();
    // The order of UTF-8 bytes is the order of code points. The map may be sorted already; another crate's
    // feature flag can change that, so it is not relied on.
    sorted.sort_unstable_by_key(|(name, _)| name.as_bytes());
    out.push(b'{');
    for (index, (name, value)) in sorted.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_string(out, name);
        out.push(b':');
        write(out, value);
    }
    out.push(b'}');
}

/// Appends the normal form of a string: only what JSON requires to be escaped is escaped.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut written = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if *byte >= 0x20 && *byte != b'"' && *byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[written..at]);
        written = at + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            other => out.extend_from_slice(format!("\\u{other:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&bytes[written..]);
    out.push(b'"');
}

/// 2^64 and 2^63 as doubles: what lies below and not below their negatives fits 64 bits.
const ABOVE_U64: f64 = 18_446_744_073_709_551_616.0;
const LOWEST_I64: f64 = -9_223_372_036_854_775_808.0;
/// Where numbers begin to be written with an exponent.
const SMALL: f64 = 1e-7;

fn write_number(out: &mut Vec<u8>, number: &Number) {
    let written = match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(integer), _, _) => integer.to_string(),
        (None, Some(integer), _) => integer.to_string(),
        (None, None, Some(double)) => double_text(double),
        (None, None, None) => number.to_string(),
    };
    out.extend_from_slice(written.as_bytes());
}

fn double_text(double: f64) -> String {
    let whole = double.fract() == 0.0;
    if whole && (LOWEST_I64..ABOVE_U64).contains(&double) {
        #[allow(clippy::cast_possible_truncation, reason = "whole and in range: the conversion is exact")]
        return (double as i128).to_string();
    }
    // A whole number beyond 64 bits keeps its exponent: without it, it would be an integer that is refused.
    if !whole && double.abs() >= SMALL { format!("{double}") } else { format!("{double:e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::json;

    fn form(text: &str) -> String {
        String::from_utf8(to_bytes(&json::parse(text.as_bytes()).unwrap())).unwrap()
    }

    #[test]
    fn the_form_itself() {
        let text = r#" { "b" : [ 1.0 , 2.50, -0.0, 1e-9 ], "a\u0041" : "\u00e9\/\u0007\n\"\\", "" : null, "B": {"z":0,"y":1e30} } "#;
        let expected = r#"{"":null,"B":{"y":1e30,"z":0},"aA":"é/\u0007\n\"\\","b":[1,2.5,0,1e-9]}"#;
        assert_eq!(form(text), expected);
    }

    /// Pairs of texts and whether they are the same request. The documentation of the normal form refers to
    /// this table.
    const PAIRS: [(&str, &str, bool); 43] = [
        // order and white space
        (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, true),
        (r#"{"a":{"x":1,"y":2}}"#, r#"{"a":{"y":2,"x":1}}"#, true),
        (r#"[{"a":1,"b":2}]"#, r#"[{"b":2,"a":1}]"#, true),
        (r#"{"a":1}"#, "{ \"a\" :\r\n\t1 }", true),
        ("[]", "[ ]", true),
        ("[1,2]", "[2,1]", false),
        ("[[1],[2]]", "[[1,2]]", false),
        ("[]", "{}", false),
        ("[]", "[null]", false),
        ("{}", r#"{"a":null}"#, false),
        // numbers
        ("1", "1.0", true),
        ("1", "1e0", true),
        ("100", "1E+2", true),
        ("0", "-0", true),
        ("0", "-0.0", true),
        ("0.1", "0.10", true),
        ("0.1", "1e-1", true),
        ("0.1", "0.1000000000000000055511151231257827", true),
        ("1e30", "1000e27", true),
        ("18446744073709551615", "18446744073709551615", true),
        ("-9223372036854775808", "-9223372036854775808.0", true),
        ("9007199254740992", "9007199254740992.0", true),
        ("9007199254740993", "9007199254740992", false),
        ("9007199254740993", "9007199254740993.0", false),
        ("0.1", "0.10000000000000002", false),
        ("1", "-1", false),
        ("1", r#""1""#, false),
        ("1", "true", false),
        ("0", "false", false),
        ("0", "null", false),
        // strings
        (r#""A""#, r#""\u0041""#, true),
        (r#""/""#, r#""\/""#, true),
        (r#""\n""#, r#""\u000A""#, true),
        (r#""\u00e9""#, r#""\u00E9""#, true),
        (r#""😀""#, r#""\ud83d\ude00""#, true),
        (r#"{"\u0061":1}"#, r#"{"a":1}"#, true),
        ("\"\u{e9}\"", "\"e\u{301}\"", false),
        ("{\"\u{e9}\":1}", "{\"e\u{301}\":1}", false),
        (r#""a""#, r#""A""#, false),
        (r#""a""#, r#""a ""#, false),
        (r#""""#, "null", false),
        (r#""\u0000""#, r#""""#, false),
        ("\"\u{ff21}\"", "\"A\"", false),
    ];

    #[test]
    fn pairs_that_are_the_same_request_and_pairs_that_are_not() {
        for (one, other, same) in PAIRS {
            assert_eq!(form(one) == form(other), same, "{one} and {other}");
        }
    }

    #[test]
    fn members_are_sorted_by_code_point_not_by_utf16() {
        assert_eq!(form("{\"\u{1f600}\":1,\"\u{ff21}\":2}"), "{\"\u{ff21}\":2,\"\u{1f600}\":1}");
    }

    #[test]
    fn the_order_of_the_map_does_not_matter() {
        let members = [("b", 1), ("a", 2), ("ab", 3)];
        let map: Map<String, Value> =
            members.into_iter().map(|(name, value)| (name.to_owned(), Value::from(value))).collect();
        assert_eq!(to_bytes(&Value::Object(map)), br#"{"a":2,"ab":3,"b":1}"#);
    }
}
