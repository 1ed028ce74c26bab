//! How fast jobs may be handed in.

use forebay_store::record::{Actor, NewRevision, Scope};
use http::StatusCode;
use serde_json::{Value, json};

use super::{Answer, Bench, submission};
use crate::definitions;

async fn limited(limits: &str) -> Bench {
    let bench = Bench::new().await;
    let text = definitions::DEFAULT.replace("[submit_limits]\n", &format!("[submit_limits]\n{limits}\n"));
    bench.app.revisions.apply(NewRevision::of(text, Actor::program())).await.unwrap();
    bench
}

fn of_user(user: &str) -> Value {
    let mut job = submission();
    job["user"] = json!(user);
    job
}

fn limits_of(answer: &Answer) -> (Option<&str>, Option<&str>) {
    (answer.header("ratelimit-policy"), answer.header("ratelimit"))
}

#[tokio::test]
async fn without_limits_nothing_is_said_of_them() {
    let bench = Bench::new().await;
    let key = bench.key("acme", &[Scope::Submit]).await;
    let accepted = bench.post(&key, "/v1/jobs", &of_user("ada")).await;
    assert_eq!((accepted.status, limits_of(&accepted)), (StatusCode::ACCEPTED, (None, None)));
}

#[tokio::test]
async fn who_is_too_fast_is_told_when_to_come_back() {
    let bench = limited("tenant_per_minute = 100\nkey_per_minute = 2").await;
    let key = bench.key("acme", &[Scope::Submit]).await;
    let first = bench.post(&key, "/v1/jobs", &submission()).await;
    let policy = Some("\"tenant\";q=100;w=60, \"key\";q=2;w=60");
    assert_eq!(limits_of(&first), (policy, Some("\"tenant\";r=99;t=1, \"key\";r=1;t=30")));
    bench.submit(&key).await;
    let refused = bench.post(&key, "/v1/jobs", &submission()).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::TOO_MANY_REQUESTS, "rate_limited"));
    let (told, state) = limits_of(&refused);
    assert_eq!(told, policy);
    let (state, wait) = state.unwrap().rsplit_once("\"key\";r=0;t=").unwrap();
    assert!(state.starts_with("\"tenant\";r=98;"), "{state}");
    // Whoever comes back when told is not too early by the other one.
    assert_eq!(refused.header("retry-after"), Some(wait));
    assert!((1..=30).contains(&wait.parse::<u8>().unwrap()), "{wait}");
    assert!(refused.body["detail"].as_str().unwrap().contains("this key"), "{}", refused.body);

    let other = bench.key("acme", &[Scope::Submit]).await;
    assert_eq!(bench.post(&other, "/v1/jobs", &submission()).await.status, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn a_user_is_counted_where_one_is_named() {
    let bench = limited("user_per_minute = 1").await;
    let key = bench.key("acme", &[Scope::Submit]).await;
    let statuses = async |body: Value| bench.post(&key, "/v1/jobs", &body).await.status.as_u16();
    assert_eq!(statuses(of_user("ada")).await, 202);
    assert_eq!(statuses(of_user("ada")).await, 429);
    assert_eq!(statuses(of_user("bob")).await, 202);
    assert_eq!(statuses(submission()).await, 202);
    assert_eq!(statuses(of_user("")).await, 400);
}

/// Each member of a batch is counted, and refused by itself.
#[tokio::test]
async fn jobs_of_a_batch_count_one_by_one() {
    let bench = limited("tenant_per_minute = 2").await;
    let key = bench.key("acme", &[Scope::Submit]).await;
    let jobs = vec![submission(); 3];
    let batch = bench.post(&key, "/v1/job-batches", &json!({"jobs": jobs})).await;
    let results = batch.body["results"].as_array().unwrap();
    let statuses: Vec<_> = results.iter().map(|member| member["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [202, 202, 429], "{}", batch.body);
    assert_eq!(results[2]["problem"]["code"], "rate_limited");
}
