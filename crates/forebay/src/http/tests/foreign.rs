//! I27: what belongs to another tenant looks exactly like what does not exist, on every route that takes an id, in
//! bodies and in cursors.

use super::*;
use crate::http::routes;

/// An id of another tenant, and one of nobody, for each part of a path that names an object of a tenant.
struct Ids(Vec<(&'static str, String, String)>);

impl Ids {
    async fn of(bench: &Bench, owner: &str) -> Self {
        let upload = asked(owner, "POST", "/v1/documents").header("content-type", "text/plain");
        let document = bench.send(upload.body(Body::from("mine")).unwrap()).await;
        let key = bench.post(owner, "/v1/keys", &json!({"name": "mine", "scopes": ["read"]})).await;
        let rows = asked(owner, "PUT", "/v1/datasets/suppliers").header("content-type", "text/csv");
        assert_eq!(bench.send(rows.body(Body::from("id\n1\n")).unwrap()).await.status, StatusCode::CREATED);
        let batch = bench.post(owner, "/v1/job-batches", &json!({"jobs": [submission()]})).await;
        assert_eq!(batch.status, StatusCode::ACCEPTED, "{}", batch.body);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        Self(vec![
            ("{job_id}", bench.submit(owner).await, format!("job_{}", "0".repeat(32))),
            ("{document_id}", text(&document.body["document_id"]), format!("doc_{}", "0".repeat(64))),
            ("{key_id}", text(&key.body["key_id"]), format!("key_{}", "0".repeat(32))),
            ("{batch_id}", text(&batch.body["batch_id"]), format!("batch_{}", "0".repeat(32))),
            ("{name}", "suppliers".to_owned(), "nothing".to_owned()),
            ("{tenant}", "default".to_owned(), "nobody".to_owned()),
        ])
    }
}

/// Parts that name nothing of a tenant's.
const OF_ALL: [&str; 3] = ["{task}", "{number}", "{code}"];

async fn ask(bench: &Bench, key: &str, method: &str, path: &str) -> (StatusCode, Value) {
    let body = if method == "GET" { Body::empty() } else { Body::from("{}") };
    let answer = bench.send(asked(key, method, path).body(body).unwrap()).await;
    let mut body = answer.body;
    body["request_id"] = Value::Null;
    (answer.status, body)
}

#[tokio::test]
async fn every_route_hides_what_is_another_tenants() {
    let bench = Bench::new().await;
    let owner = bench.key("default", &[Scope::Admin]).await;
    let ids = Ids::of(&bench, &owner).await;
    let stranger = bench.key("acme", &[Scope::Admin]).await;
    let before = bench.rows().await;
    let mut asked = 0;
    for route in routes() {
        let parts: Vec<_> = route.path.split('/').filter(|part| part.starts_with('{')).collect();
        let Some((part, foreign, absent)) = ids.0.iter().find(|(part, ..)| parts.contains(part)) else {
            continue;
        };
        let method = route.method.as_str();
        let foreign = ask(&bench, &stranger, method, &route.path.replace(part, foreign)).await;
        let absent = ask(&bench, &stranger, method, &route.path.replace(part, absent)).await;
        assert_eq!(foreign, absent, "{method} {}", route.path);
        assert!(foreign.0.is_client_error(), "{method} {}: {foreign:?}", route.path);
        asked += 1;
    }
    assert!(asked > 10, "{asked}");
    assert_eq!(bench.rows().await, before);
}

#[test]
fn every_part_of_a_path_is_known_to_the_test_above() {
    let known = ["{batch_id}", "{job_id}", "{document_id}", "{key_id}", "{name}", "{tenant}"];
    for route in routes() {
        for part in route.path.split('/').filter(|part| part.starts_with('{')) {
            assert!(
                known.contains(&part) || OF_ALL.contains(&part),
                "give `Ids` an object for {part}, or say that it is no tenant's"
            );
        }
    }
}

#[tokio::test]
async fn bodies_and_cursors_hide_it_too() {
    let bench = Bench::new().await;
    let owner = bench.key("default", &[Scope::Admin]).await;
    let ids = Ids::of(&bench, &owner).await;
    let stranger = bench.key("acme", &[Scope::Admin]).await;
    let (_, foreign, absent) = &ids.0[1];
    let submit = async |document: &str| {
        let body = json!({"task": "invoice", "input": {"document": document}});
        let mut answer = bench.post(&stranger, "/v1/jobs", &body).await.body;
        answer["request_id"] = Value::Null;
        answer
    };
    assert_eq!(submit(foreign).await, submit(absent).await);
    bench.submit(&owner).await;
    bench.submit(&stranger).await;
    let theirs = bench.get(&owner, "/v1/jobs?limit=1").await.body["next_cursor"].as_str().unwrap().to_owned();
    for path in ["/v1/jobs?cursor=", "/v1/events?after="] {
        let foreign = ask(&bench, &stranger, "GET", &format!("{path}{theirs}")).await;
        let nonsense = ask(&bench, &stranger, "GET", &format!("{path}nonsense")).await;
        assert_eq!(foreign, nonsense, "{path}");
        assert_eq!(foreign.1["code"], "invalid_parameter");
    }
}

/// F14, F15: a full tenant is told so with a time to come back at, others are not concerned, and nothing is stored.
#[tokio::test]
async fn a_full_tenant_leaves_no_rows() {
    let bench = Bench::new().await;
    let root = bench.key("default", &[Scope::Admin]).await;
    let acme = bench.key("acme", &[Scope::Submit]).await;
    let full =
        asked(&root, "PUT", "/v1/tenants/acme").body(Body::from(r#"{"max_pending_jobs": 2}"#)).unwrap();
    assert_eq!(bench.send(full).await.status, StatusCode::OK);
    let submission = submission();
    let answers =
        futures_util::future::join_all((0..20).map(|_| bench.post(&acme, "/v1/jobs", &submission))).await;
    let accepted = answers.iter().filter(|answer| answer.status == StatusCode::ACCEPTED).count();
    assert_eq!(accepted, 2);
    let before = bench.rows().await;
    let refused = bench.post(&acme, "/v1/jobs", &submission).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::TOO_MANY_REQUESTS, "quota_exceeded"));
    assert!(
        refused.header("retry-after").is_some() && refused.body["detail"].as_str().unwrap().contains('2')
    );
    assert_eq!(bench.rows().await, before);
    bench.submit(&root).await;
}
