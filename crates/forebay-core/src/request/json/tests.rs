use serde_json::json;

use super::*;
use JsonFaultKind as K;

fn refused(text: &str) -> JsonFault {
    parse(text.as_bytes()).unwrap_err()
}

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

#[test]
fn what_has_one_reading_is_read() {
    let text =
        r#" {"a": [1, -2, 0.5, true, null, "\u0041\ud83d\ude00"], "b": {}, "c": 18446744073709551615} "#;
    let value = parse(text.as_bytes()).unwrap();
    assert_eq!(value, json!({"a": [1, -2, 0.5, true, null, "A😀"], "b": {}, "c": u64::MAX}));
}

#[test]
fn each_fault_has_its_kind_its_place_and_its_words() {
    let table = [
        ("", K::Syntax, None, 1, "not JSON: EOF while parsing a value"),
        ("{\n\"a\":}", K::Syntax, None, 2, "not JSON: expected value"),
        ("[1,]", K::Syntax, None, 1, "not JSON: trailing comma"),
        ("{'a':1}", K::Syntax, None, 1, "not JSON: key must be a string"),
        ("[01]", K::Syntax, None, 1, "not JSON: invalid number"),
        ("[NaN]", K::Syntax, None, 1, "not JSON: expected value"),
        ("\"\u{1}\"", K::Syntax, None, 1, "not JSON: control character"),
        ("1 2", K::TrailingText, None, 1, "something follows the JSON value"),
        ("{}\n{}", K::TrailingText, None, 2, "something follows the JSON value"),
        (r#"{"a":1,"a":2}"#, K::DuplicateMember, Some("/a"), 1, "the member `a` is given twice"),
        (
            r#"{"x":[0,{"a":1,"\u0061":2}]}"#,
            K::DuplicateMember,
            Some("/x/1/a"),
            1,
            "the member `a` is given twice",
        ),
        (
            r#"{"a/b":{"~":1,"~":1}}"#,
            K::DuplicateMember,
            Some("/a~1b/~0"),
            1,
            "the member `~` is given twice",
        ),
        (
            r#"{"n":18446744073709551616}"#,
            K::InexactInteger,
            Some("/n"),
            1,
            "the integer 18446744073709551616 does",
        ),
        (
            "[1.5,-9223372036854775809]",
            K::InexactInteger,
            Some("/1"),
            1,
            "the integer -9223372036854775809 does",
        ),
        (r#"{"n":[1e999]}"#, K::NumberOutOfRange, Some("/n/0"), 1, "a number is larger than a double"),
        (r#"["\ud800"]"#, K::LoneSurrogate, Some("/0"), 1, "a string escapes one half of a surrogate pair"),
        (r#"["\ud800\u0041"]"#, K::LoneSurrogate, Some("/0"), 1, "a string escapes one half"),
        (r#"["\udc00"]"#, K::LoneSurrogate, Some("/0"), 1, "a string escapes one half"),
        (r#"["\ud800\n"]"#, K::LoneSurrogate, Some("/0"), 1, "a string escapes one half"),
    ];
    for (text, kind, pointer, line, message) in table {
        let fault = refused(text);
        assert_eq!((fault.kind, fault.pointer.as_deref(), fault.line), (kind, pointer, line), "{text}");
        assert!(fault.message.starts_with(message), "{text}: {}", fault.message);
    }
}

#[test]
fn bytes_that_are_not_plain_utf8_are_refused_where_they_stand() {
    let fault = parse(b"{\n \"a\": \"\xed\xa0\x80\"}").unwrap_err();
    assert_eq!((fault.kind, fault.line, fault.column), (K::InvalidUtf8, 2, 8));
    let fault = parse(b"\xef\xbb\xbf{}").unwrap_err();
    assert_eq!((fault.kind, fault.line, fault.column), (K::ByteOrderMark, 1, 1));
}

#[test]
fn the_depth_is_held_at_n_and_refused_at_n_and_one() {
    assert!(parse(nested(limits::JSON_DEPTH).as_bytes()).is_ok());
    let fault = refused(&nested(limits::JSON_DEPTH + 1));
    assert_eq!(
        (fault.kind, fault.message.as_str()),
        (K::TooDeep, "more than 64 levels of arrays and objects")
    );
    assert_eq!(fault.pointer.unwrap(), "/0".repeat(limits::JSON_DEPTH));
}

#[test]
fn a_hundred_thousand_levels_end_early_and_without_a_stack() {
    assert_eq!(refused(&"[".repeat(100_000)).kind, K::TooDeep);
    assert_eq!(refused(&"{\"a\":".repeat(100_000)).kind, K::TooDeep);
    let no_limit = JsonLimits { depth: usize::MAX, members: usize::MAX };
    assert_eq!(parse_within("[".repeat(100_000).as_bytes(), no_limit).unwrap_err().kind, K::TooDeep);
}

#[test]
fn members_and_elements_are_counted_together_over_all_levels() {
    let exactly = |elements: usize| format!("{{\"a\":[{}]}}", vec!["0"; elements].join(","));
    assert!(parse(exactly(limits::JSON_MEMBERS - 1).as_bytes()).is_ok());
    let fault = refused(&exactly(limits::JSON_MEMBERS));
    assert_eq!(fault.kind, K::TooManyMembers);
    assert_eq!(fault.message, "more than 10000 members and elements in all");
}

#[test]
fn a_giant_number_is_refused_quickly() {
    assert_eq!(refused(&"9".repeat(1_000_000)).kind, K::NumberOutOfRange);
    assert_eq!(refused(&"9".repeat(300)).kind, K::InexactInteger);
    assert_eq!(parse(format!("0.{}1", "0".repeat(1_000_000)).as_bytes()).unwrap(), json!(0.0));
}

#[test]
fn decimals_become_the_nearest_double() {
    // serde_json's quick conversion may miss the nearest double by one in the last place.
    for text in
        ["2.2250738585072011e-308", "1.7976931348623157e308", "5e-324", "0.30000000000000004", "9.5e-7"]
    {
        let value = parse(text.as_bytes()).unwrap();
        assert_eq!(value.as_f64().unwrap().to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
    }
}

#[test]
fn a_message_shows_no_control_characters_and_no_endless_names() {
    let name = "\\u001b".to_owned() + &"x".repeat(500);
    let fault = refused(&format!("{{\"{name}\":1,\"{name}\":2}}"));
    assert!(fault.message.contains("␛xxx") && fault.message.len() < 200, "{}", fault.message);
}
