//! How long things are kept.

use forebay_core::time::Millis;
use forebay_store::record::{Keep, Scope};
use http::StatusCode;
use serde_json::Value;

use super::Bench;

const EVERY: [Scope; 3] = [Scope::Submit, Scope::Read, Scope::Operate];

#[tokio::test]
async fn whoever_operates_sees_the_rules_and_what_was_deleted() {
    let bench = Bench::new().await;
    let key = bench.key("default", &EVERY).await;
    let job = bench.submit(&key).await;
    bench.post(&key, &format!("/v1/jobs/{job}/cancel"), &Value::Null).await;
    let other = bench.submit(&key).await;
    let answer = bench.get(&key, "/v1/retention").await;
    assert_eq!(answer.status, StatusCode::OK);
    let days = |days: i64| days * 24 * 3_600 * 1_000;
    for (member, expected) in
        [("results_ms", 30), ("dead_letters_ms", 90), ("documents_ms", 30), ("idempotency_keys_ms", 14)]
    {
        assert_eq!(answer.body[member], days(expected), "{member}");
    }
    assert_eq!(answer.body["deleted"]["jobs"], 0);

    let keep = Keep { results: Millis::ZERO, dead_letters: Millis::ZERO, documents: Millis::ZERO };
    assert_eq!(bench.app.store.delete_jobs(0, keep, 9).await.unwrap().deleted.jobs, 1);
    let answer = bench.get(&key, "/v1/retention").await;
    assert_eq!(answer.body["deleted"]["jobs"], 1);
    let kept = bench.get(&key, &format!("/v1/jobs/{other}")).await;
    assert_eq!(answer.body["oldest_job_at"], kept.body["created_at"]);
    assert_eq!(bench.get(&key, &format!("/v1/jobs/{job}")).await.code(), "not_found");
    let text = bench.get(&key, "/metrics").await;
    assert_eq!(text.status, StatusCode::OK);

    let reader = bench.key("default", &[Scope::Read]).await;
    assert_eq!(bench.get(&reader, "/v1/retention").await.code(), "forbidden");
}
