//! The published limits of submissions, each at n and at n + 1, over the whole way in. The others are tested where they
//! are held: heads, bodies, pages and streams beside this file, datasets and schemas in the core, replies in the gateway.

use super::*;
use forebay_core::limits;

/// A limit: what it is of, how many there may be, a submission with so many, and the code that refuses one more.
type Case = (&'static str, usize, fn(usize) -> (Value, String), &'static str);

fn with(member: &str, value: Value) -> (Value, String) {
    let mut body = submission();
    body[member] = value;
    (body, "key".to_owned())
}

fn message(more: Value) -> (Value, String) {
    with("input", json!({"messages": [{"role": "user", "content": "a", "more": more}]}))
}

const CASES: [Case; 10] = [
    (
        "levels",
        limits::JSON_DEPTH,
        |n| {
            // The body, its input, the messages and the one message are four of them.
            message((4..n).fold(Value::from(0), |inner, _| json!([inner])))
        },
        "invalid_json",
    ),
    (
        "members",
        limits::JSON_MEMBERS,
        |n| {
            // Nine that are there anyhow: task, input, messages, the message, its three members, metadata and its one.
            message(vec![0; n - 9].into())
        },
        "invalid_json",
    ),
    (
        "idempotency key",
        limits::IDEMPOTENCY_KEY_CHARS,
        |n| (submission(), "k".repeat(n)),
        "invalid_parameter",
    ),
    (
        "metadata",
        limits::METADATA_MEMBERS,
        |n| {
            with(
                "metadata",
                (0..n).map(|n| (n.to_string(), json!("a"))).collect::<serde_json::Map<_, _>>().into(),
            )
        },
        "invalid_member",
    ),
    (
        "name in metadata",
        limits::METADATA_KEY_CHARS,
        |n| with("metadata", json!({"ä".repeat(n): "a"})),
        "invalid_member",
    ),
    (
        "value in metadata",
        limits::METADATA_VALUE_CHARS,
        |n| with("metadata", json!({"a": "ä".repeat(n)})),
        "invalid_member",
    ),
    ("ordering key", limits::KEY_CHARS, |n| with("ordering_key", "ä".repeat(n).into()), "invalid_member"),
    ("correlation id", limits::KEY_CHARS, |n| with("correlation_id", "ä".repeat(n).into()), "invalid_member"),
    (
        "series key",
        limits::KEY_CHARS,
        |n| with("series", json!({"key": "ä".repeat(n), "version": 1})),
        "invalid_member",
    ),
    (
        "texts to embed",
        limits::EMBED_TEXTS,
        |n| (json!({"task": "embed", "input": {"embed": vec!["a"; n]}}), "key".to_owned()),
        "invalid_member",
    ),
];

#[tokio::test]
async fn a_submission_may_have_n_and_not_one_more() {
    for (what, most, of, code) in CASES {
        let bench = Bench::new().await;
        let key = bench.key("default", &[Scope::Submit]).await;
        let send = async |n: usize| {
            let (body, idempotency_key) = of(n);
            let request = asked(&key, "POST", "/v1/jobs").header("idempotency-key", idempotency_key);
            bench.send(request.body(Body::from(body.to_string())).unwrap()).await
        };
        let before = bench.rows().await;
        let refused = send(most + 1).await;
        assert_eq!(
            (refused.status, refused.code()),
            (StatusCode::BAD_REQUEST, code),
            "{what}: {}",
            refused.body
        );
        assert!(
            refused.body["detail"].as_str().unwrap().contains(&most.to_string()),
            "{what}: {}",
            refused.body
        );
        assert_eq!(bench.rows().await, before, "{what}");
        let taken = send(most).await;
        assert_eq!(taken.status, StatusCode::ACCEPTED, "{what}: {}", taken.body);
    }
}
