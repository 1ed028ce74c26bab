//! What was used, as JSON and as CSV.

use forebay_core::attempt::Outcome;
use forebay_core::failure::FailureClass;
use forebay_core::job::Failure;
use forebay_store::record::{Scope, Then};
use http::StatusCode;
use serde_json::json;

use super::{Answer, Bench, asked};
use axum::body::Body;

/// A job whose only call failed, so that nobody knows what it cost.
async fn used(bench: &Bench, key: &str) {
    bench.submit(key).await;
    let failure = Failure::new(FailureClass::TimeoutTotal, "nobody answered");
    bench.commit_one(Outcome::Unknown, Then::FailJob { entry: None, failure }).await;
}

async fn as_csv(bench: &Bench, key: &str, path: &str) -> Answer {
    bench.send(asked(key, "GET", path).header("accept", "text/csv").body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn use_is_told_apart_and_added_up() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read]).await;
    let usage = bench.get(&key, "/v1/usage?from=2026-01-01&to=2026-01-31").await;
    let nothing = json!({"attempts": 0, "input_tokens": 0, "output_tokens": 0, "cost_micros": 0, "uncertain_micros": 0});
    assert_eq!(
        usage.body,
        json!({"from": "2026-01-01", "to": "2026-01-31", "currency": "USD", "data": [], "total": nothing})
    );
    used(&bench, &key).await;
    used(&bench, &key).await;
    let usage = bench.get(&key, "/v1/usage").await.body;
    assert_eq!(usage["data"][0]["task"], "chat", "{usage}");
    assert_eq!((&usage["data"][0]["attempts"], &usage["total"]["attempts"]), (&json!(2), &json!(2)));
    assert!(usage["total"]["uncertain_micros"].as_i64().unwrap() > 0, "{usage}");
    let tasks = bench.get(&key, "/v1/usage?group_by=task").await.body;
    let line = &tasks["data"][0];
    assert_eq!((line["task"].as_str(), line.get("day"), line.get("tenant")), (Some("chat"), None, None));
}

#[tokio::test]
async fn what_cannot_be_answered_is_refused_by_name() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Read]).await;
    for (wrong, parameter, why) in [
        ("group_by=project", "group_by", "some of tenant, day, task, model, pool"),
        ("group_by=", "group_by", "some of tenant"),
        ("format=xml", "format", "json or csv"),
        ("from=yesterday", "from", "a day like 2026-12-01"),
        ("to=2026-02-30", "to", "a day like 2026-12-01"),
        ("from=2026-12-02&to=2026-12-01", "from", "it is after `to`"),
        ("from=2020-01-01&to=2026-12-01", "from", "more than 400 days before `to`"),
        ("days=3", "days", ""),
    ] {
        let refused = bench.get(&key, &format!("/v1/usage?{wrong}")).await;
        assert_eq!(refused.code(), "invalid_parameter", "{wrong}");
        let text = refused.body.to_string();
        assert!(text.contains(parameter) && text.contains(why), "{wrong}: {text}");
    }
}

#[tokio::test]
async fn a_spreadsheet_can_read_it() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read]).await;
    used(&bench, &key).await;
    let csv = as_csv(&bench, &key, "/v1/usage?group_by=task,pool").await;
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    let text = String::from_utf8(csv.bytes).unwrap();
    let lines: Vec<_> = text.split("\r\n").collect();
    let names = "task,pool,attempts,input_tokens,output_tokens,cost_micros,uncertain_micros,currency";
    assert_eq!((lines[0], lines.len(), lines[2]), (names, 3, ""));
    assert!(lines[1].starts_with("chat,") && lines[1].ends_with(",USD"), "{text}");
    let named = bench.get(&key, "/v1/usage?group_by=task,pool&format=csv").await;
    assert_eq!(named.bytes, text.as_bytes());
    let html = asked(&key, "GET", "/v1/usage").header("accept", "text/html").body(Body::empty()).unwrap();
    assert_eq!(bench.send(html).await.status, StatusCode::NOT_ACCEPTABLE);
}

#[tokio::test]
async fn a_tenant_sees_its_own_and_the_installation_all() {
    let bench = Bench::new().await;
    let admin = bench.key("default", &[Scope::Submit, Scope::Read, Scope::Admin]).await;
    let acme = bench.key("acme", &[Scope::Submit, Scope::Read, Scope::Admin]).await;
    used(&bench, &acme).await;
    used(&bench, &acme).await;
    used(&bench, &admin).await;
    let tenants = async |key: &str, parameters: &str| {
        let usage = bench.get(key, &format!("/v1/usage?group_by=tenant{parameters}")).await.body;
        let lines = usage["data"].as_array().cloned().unwrap_or_default();
        lines.iter().map(|line| (line["tenant"].clone(), line["attempts"].clone())).collect::<Vec<_>>()
    };
    let of = |name: &str, attempts: u64| (json!(name), json!(attempts));
    assert_eq!(tenants(&admin, "").await, [of("acme", 2), of("default", 1)]);
    assert_eq!(tenants(&admin, "&tenant=acme").await, [of("acme", 2)]);
    assert_eq!(tenants(&acme, "").await, [of("acme", 2)]);
    assert_eq!(bench.get(&acme, "/v1/usage?tenant=default").await.code(), "not_found");
    assert_eq!(bench.get(&admin, "/v1/usage").await.body["total"]["attempts"], 1);
}
