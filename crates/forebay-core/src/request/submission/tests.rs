use serde_json::json;

use super::*;
use crate::request::fault::MemberCode;

fn parsed(value: Value) -> Submission {
    Submission::parse(value).unwrap()
}

/// A submission that holds by itself, with more members or other values.
fn with(members: Value) -> Value {
    let mut value = json!({"task": "chat", "input": {"prompt": "hi"}});
    for (name, member) in members.as_object().unwrap() {
        value[name] = member.clone();
    }
    value
}

fn faults(value: Value) -> Vec<(MemberCode, String)> {
    Submission::parse(value).unwrap_err().into_iter().map(|fault| (fault.code, fault.pointer)).collect()
}

fn invalid(members: Value) -> String {
    let mut faults = Submission::parse(with(members)).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0].code, MemberCode::InvalidMember);
    faults.remove(0).to_string()
}

#[test]
fn every_member_is_read() {
    let submission = parsed(json!({
        "task": "invoice@3",
        "input": {"text": "total 5"},
        "params": {"temperature": 0},
        "deadline": "2026-12-01T11:00:00+01:00",
        "delay_ms": 1500.0,
        "priority": "low",
        "ordering_key": "supplier-7",
        "correlation_id": "order 4711",
        "metadata": {"order": "4711", "note": "two\nlines"},
        "series": {"key": "inv-1", "version": 2},
        "user": "ada"
    }));
    assert_eq!(submission.task, TaskRef { name: "invoice".to_owned(), revision: Some(3) });
    assert_eq!(submission.deadline, Some(When::At("2026-12-01T10:00:00Z".parse().unwrap())));
    assert_eq!(submission.not_before, Some(When::In(Millis::new(1500))));
    assert_eq!(submission.priority, Priority::Low);
    assert_eq!(submission.metadata["note"], "two\nlines");
    assert_eq!(submission.series, Some(Series { key: "inv-1".to_owned(), version: 2 }));
    assert_eq!(submission.user.as_deref(), Some("ada"));
    let now = Timestamp::from_millis(1_000);
    assert_eq!(submission.not_before.unwrap().seen_from(now), Timestamp::from_millis(2_500));
}

#[test]
fn little_is_needed() {
    let submission = parsed(json!({"task": "chat", "input": {"prompt": "hi"}}));
    assert_eq!(submission.priority, Priority::Normal);
    assert!(submission.params.is_empty() && submission.metadata.is_empty());
    assert_eq!((submission.deadline, submission.not_before), (None, None));
}

#[test]
fn all_faults_are_told_at_once() {
    use MemberCode::{InvalidMember, MissingMember, UnknownMember};
    let value = json!({
        "input": {"prompt": ""}, "deadine": "2026-12-01T10:00:00Z", "priority": "urgent", "ttl_ms": 0,
        "metadata": {"a/b": 1}, "series": {"version": -1, "kye": "x"}, "params": [], "notify": []
    });
    let expected = [
        (MissingMember, "/task"),
        (InvalidMember, "/input/prompt"),
        (InvalidMember, "/params"),
        (InvalidMember, "/ttl_ms"),
        (InvalidMember, "/priority"),
        (InvalidMember, "/metadata/a~1b"),
        (MissingMember, "/series/key"),
        (InvalidMember, "/series/version"),
        (UnknownMember, "/series/kye"),
        (UnknownMember, "/deadine"),
        (UnknownMember, "/notify"),
    ];
    let expected: Vec<_> = expected.map(|(code, pointer)| (code, pointer.to_owned())).into();
    assert_eq!(faults(value), expected);
    assert_eq!(
        faults(json!({})),
        [(MissingMember, "/task".to_owned()), (MissingMember, "/input".to_owned())]
    );
    assert_eq!(faults(json!([])), [(InvalidMember, String::new())]);
}

#[test]
fn faults_are_bounded() {
    let value = with(json!({"input": {"messages": vec![json!({}); 1_000]}}));
    assert_eq!(faults(value).len(), 50);
}

#[test]
fn a_message_names_the_member_and_what_is_allowed() {
    assert_eq!(
        invalid(json!({"priority": "urgent"})),
        "/priority: `priority` is high, normal or low, not `urgent`"
    );
    assert_eq!(
        invalid(json!({"ttl_ms": 1.5})),
        "/ttl_ms: `ttl_ms` has to be a whole number of milliseconds, at least 1"
    );
    assert_eq!(
        invalid(json!({"ordering_key": null})),
        "/ordering_key: `ordering_key` has to be a string, not null"
    );
    assert!(invalid(json!({"deadline": "tomorrow"})).ends_with("2026-12-01T10:00:00.000Z, not `tomorrow`"));
}

#[test]
fn a_time_has_one_spelling_at_a_time() {
    let at = "2026-12-01T10:00:00Z";
    assert_eq!(
        invalid(json!({"deadline": at, "ttl_ms": 5})),
        "/ttl_ms: give `deadline` or `ttl_ms`, not both"
    );
    assert_eq!(
        invalid(json!({"not_before": at, "delay_ms": 5})),
        "/delay_ms: give `not_before` or `delay_ms`, not both"
    );
    assert!(Submission::parse(with(json!({"delay_ms": 0}))).is_ok());
    assert_eq!(faults(with(json!({"deadline": 1, "ttl_ms": 5}))).len(), 2);
}

#[test]
fn tasks_are_named_in_one_way() {
    for name in ["a", "0", "invoice", "a.b_c-d", "invoice@1", "x@4294967295"] {
        assert_eq!(name.parse::<TaskRef>().unwrap().to_string(), name);
    }
    assert!("n".repeat(64).parse::<TaskRef>().is_ok());
    assert!("n".repeat(65).parse::<TaskRef>().is_err());
    for name in
        ["", "@1", "A", "-a", ".a", "a b", "ä", "a@", "a@0", "a@01", "a@+1", "a@1@2", "a@x", "a@4294967296"]
    {
        assert!(name.parse::<TaskRef>().is_err(), "{name}");
    }
}

#[test]
fn limits_are_held_at_n_and_refused_at_n_and_one() {
    let metadata = |members: usize, name: usize, value: usize| {
        let member = |index: usize| (format!("{index:0name$}"), Value::from("v".repeat(value)));
        Submission::parse(with(json!({"metadata": (0..members).map(member).collect::<Map<_, _>>()})))
    };
    assert!(metadata(METADATA_MEMBERS, METADATA_KEY_CHARS, METADATA_VALUE_CHARS).is_ok());
    assert!(metadata(METADATA_MEMBERS + 1, 2, 1).is_err());
    assert!(metadata(1, METADATA_KEY_CHARS + 1, 1).is_err());
    assert!(metadata(1, 1, METADATA_VALUE_CHARS + 1).is_err());
    for name in ["ordering_key", "correlation_id", "user"] {
        assert!(Submission::parse(with(json!({name: "ü".repeat(KEY_CHARS)}))).is_ok());
        assert!(invalid(json!({name: "ü".repeat(KEY_CHARS + 1)})).contains("1 to 255 characters, not 256"));
        assert!(invalid(json!({name: "a\u{0}"})).contains("control characters"));
    }
    assert!(invalid(json!({"metadata": {"a": "\u{0}"}})).contains("no control characters"));
}

#[test]
fn an_idempotency_key_stands_in_a_job_of_a_batch_only() {
    let value = with(json!({"idempotency_key": "k-1"}));
    assert_eq!(Submission::parse_in_batch(value.clone()).unwrap().idempotency_key.unwrap(), "k-1");
    assert_eq!(faults(value), [(MemberCode::UnknownMember, "/idempotency_key".to_owned())]);
    let fault = Submission::parse_in_batch(with(json!({"idempotency_key": "a b"}))).unwrap_err().remove(0);
    assert_eq!(fault.code, MemberCode::InvalidMember);
}

#[test]
fn the_digest_covers_what_is_asked_and_not_how() {
    let base = parsed(with(json!({}))).body_digest();
    for how in [
        json!({"deadline": "2026-12-01T10:00:00Z"}),
        json!({"ttl_ms": 5}),
        json!({"delay_ms": 5}),
        json!({"priority": "high"}),
        json!({"ordering_key": "k"}),
        json!({"correlation_id": "c"}),
        json!({"user": "ada"}),
        json!({"metadata": {"a": "b"}}),
        json!({"params": {}}),
        json!({"input": {"messages": [{"role": "user", "content": "hi"}]}}),
    ] {
        assert_eq!(parsed(with(how.clone())).body_digest(), base, "{how}");
    }
    let asked = [
        json!({"task": "chat@1"}),
        json!({"task": "other"}),
        json!({"input": {"prompt": "ho"}}),
        json!({"input": {"text": "hi"}}),
        json!({"input": {"embed": ["hi"]}}),
        json!({"input": {"document": format!("doc_{}", "a".repeat(64))}}),
        json!({"input": {"document": format!("doc_{}", "b".repeat(64))}}),
        json!({"params": {"seed": 1}}),
        json!({"params": {"seed": 2}}),
        json!({"series": {"key": "k", "version": 1}}),
        json!({"series": {"key": "k", "version": 2}}),
    ];
    let digests: std::collections::BTreeSet<_> =
        asked.into_iter().map(|what| parsed(with(what)).body_digest()).chain([base]).collect();
    assert_eq!(digests.len(), 12);
}

#[test]
fn the_hashed_bytes_never_change() {
    let submission = parsed(json!({
        "task": "chat", "input": {"prompt": "hé\n"}, "params": {"temperature": 0.20, "n": 1.0},
        "series": {"key": "k", "version": 1}
    }));
    let form = "{\"input\":{\"messages\":[{\"content\":\"hé\\n\",\"role\":\"user\"}]},\
                \"params\":{\"n\":1,\"temperature\":0.2},\"series\":{\"key\":\"k\",\"version\":1},\"task\":\"chat\"}";
    assert_eq!(submission.body_digest(), Digest::of(form.as_bytes()));
    let stored = "{\"input\":{\"messages\":[{\"content\":\"hé\\n\",\"role\":\"user\"}]},\
                  \"params\":{\"n\":1,\"temperature\":0.2}}";
    assert_eq!(String::from_utf8(submission.stored()).unwrap(), stored);
}

#[test]
fn the_request_digest_depends_on_both() {
    let (a, b) = (Digest::of(b"a"), Digest::of(b"b"));
    assert_ne!(request_digest(a, b), request_digest(b, a));
    assert_ne!(request_digest(a, b), request_digest(a, a));
}
