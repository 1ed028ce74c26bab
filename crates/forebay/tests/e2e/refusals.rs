//! Requests that are refused: with a clear problem, and with nothing stored.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Home, Server, simulator};

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_submission_names_the_member_and_stores_nothing() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let cases: &[(&str, u16, &str, &str)] = &[
        (r#"{"task":"chat""#, 400, "invalid_json", ""),
        (r#"{"task":"chat","task":"chat","input":{"prompt":"x"}}"#, 400, "invalid_json", "/task"),
        (r#"{"task":"chat","input":{"prompt":"x"},"deadine":"x"}"#, 400, "unknown_member", "/deadine"),
        (r#"{"task":"nonsense","input":{"prompt":"x"}}"#, 400, "unknown_task", "/task"),
        (r#"{"input":{"prompt":"x"}}"#, 400, "missing_member", "/task"),
        (r#"{"task":"chat","input":{"document":"doc_x"}}"#, 400, "invalid_member", "/input/document"),
        (r#"{"task":"chat","input":{"text":"x"}}"#, 400, "invalid_member", "/input/text"),
        (
            r#"{"task":"chat","input":{"prompt":"x"},"params":{"tools":[]}}"#,
            400,
            "invalid_member",
            "/params/tools",
        ),
        (r#"{"task":"chat","input":{"prompt":"x"},"ttl_ms":1}"#, 400, "invalid_member", "/ttl_ms"),
        (
            r#"{"task":"chat","input":{"prompt":"x"},"deadline":"2020-01-01T00:00:00Z"}"#,
            400,
            "invalid_member",
            "/deadline",
        ),
        (r#"{"task":"chat","input":{"prompt":7}}"#, 400, "invalid_member", "/input/prompt"),
    ];
    for (body, _, code, pointer) in cases {
        let answer = server
            .request(Method::POST, "/v1/jobs")
            .header("Content-Type", "application/json")
            .body(*body)
            .send()
            .await
            .unwrap();
        let status = answer.status().as_u16();
        assert_eq!(answer.headers()["content-type"], "application/problem+json");
        let problem: Value = answer.json().await.unwrap();
        assert!((400..500).contains(&status), "{body}: {problem}");
        assert_eq!(problem["code"], *code, "{body}: {problem}");
        assert!(problem["error"]["message"].is_string(), "{problem}");
        if !pointer.is_empty() {
            assert_eq!(problem["errors"][0]["pointer"], *pointer, "{body}: {problem}");
        }
    }
    assert_eq!(server.get("/v1/jobs").await["data"], json!([]), "nothing was stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_tenants_objects_are_as_absent_as_those_that_never_were() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let job_id = server.submit(&json!({"task": "chat", "input": {"prompt": "mine"}})).await;
    let document = server.upload("mine").await;
    server.settled(&job_id).await;
    let put = server.request(Method::PUT, "/v1/tenants/other").json(&json!({})).send().await.unwrap();
    assert!(put.status().is_success());
    let scopes = json!({"name": "k", "scopes": ["submit", "read", "inspect", "review", "operate"]});
    let key = server.post("/v1/keys?tenant=other", &scopes).await.1["key"].as_str().unwrap().to_owned();
    let never = "job_00000000000000000000000000000000";
    for (method, path) in [
        (Method::GET, "/v1/jobs/ID"),
        (Method::GET, "/v1/jobs/ID/result"),
        (Method::GET, "/v1/jobs/ID/attempts"),
        (Method::GET, "/v1/jobs/ID/steps"),
        (Method::GET, "/v1/jobs/ID/explain"),
        (Method::GET, "/v1/jobs/ID/events"),
        (Method::GET, "/v1/reviews/ID"),
        (Method::POST, "/v1/jobs/ID/cancel"),
    ] {
        let ask = async |id: &str| {
            let path = path.replace("ID", id);
            let answer = server.request_as(&key, method.clone(), &path).send().await.unwrap();
            let status = answer.status();
            let mut problem: Value = answer.json().await.unwrap();
            problem["request_id"] = Value::Null;
            (status, problem)
        };
        let foreign = ask(&job_id).await;
        assert_eq!(foreign.0, StatusCode::NOT_FOUND, "{path}");
        assert_eq!(foreign, ask(never).await, "{path}");
    }
    let foreign = server.request_as(&key, Method::GET, &format!("/v1/documents/{document}"));
    assert_eq!(foreign.send().await.unwrap().status(), StatusCode::NOT_FOUND);
    let use_it = json!({"task": "invoice", "input": {"document": document}});
    let refused = server.request_as(&key, Method::POST, "/v1/jobs").json(&use_it).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "knowing a digest grants nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_does_what_its_scopes_say_until_it_is_revoked() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let (_, made) = server.post("/v1/keys", &json!({"name": "reader", "scopes": ["read"]})).await;
    let key = made["key"].as_str().unwrap().to_owned();
    let list = || server.request_as(&key, Method::GET, "/v1/jobs").send();
    assert_eq!(list().await.unwrap().status(), StatusCode::OK);
    let body = json!({"task": "chat", "input": {"prompt": "x"}});
    let refused = server.request_as(&key, Method::POST, "/v1/jobs").json(&body).send().await.unwrap();
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    assert!(refused.text().await.unwrap().contains("submit"), "the missing scope is named");
    let id = made["key_id"].as_str().unwrap_or_else(|| panic!("{made}"));
    let revoked = server.request(Method::DELETE, &format!("/v1/keys/{id}")).send().await.unwrap();
    assert!(revoked.status().is_success());
    assert_eq!(list().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let none = server.request_as("fbk_wrong", Method::GET, "/v1/jobs").send().await.unwrap();
    assert_eq!(none.status(), StatusCode::UNAUTHORIZED);
}
