use super::*;

#[tokio::test]
async fn a_key_works_until_it_is_revoked() {
    let bench = Bench::new().await;
    let admin = bench.key("default", &[Scope::Admin]).await;
    let made = bench.post(&admin, "/v1/keys", &json!({"name": "a", "scopes": ["read"]})).await;
    assert_eq!(made.status, StatusCode::CREATED);
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let text = made.body["key"].as_str().unwrap().to_owned();
    assert_eq!(text.len(), 47);
    assert_eq!(bench.get(&text, "/v1/jobs").await.status, StatusCode::OK);

    let path = format!("/v1/keys/{}", made.body["key_id"].as_str().unwrap());
    for _ in 0..2 {
        let revoked = bench.send(asked(&admin, "DELETE", &path).body(Body::empty()).unwrap()).await;
        assert_eq!(revoked.status, StatusCode::OK);
        assert!(revoked.body["revoked_at"].is_string());
    }
    let refused = bench.get(&text, "/v1/jobs").await;
    assert_eq!((refused.status, refused.code()), (StatusCode::UNAUTHORIZED, "unauthorized"));

    let listed = bench.get(&admin, "/v1/keys").await;
    assert!(!String::from_utf8(listed.bytes).unwrap().contains(&text));
}

#[tokio::test]
async fn other_tenants_are_the_installation_admins_business() {
    let bench = Bench::new().await;
    let root = bench.key("default", &[Scope::Admin]).await;
    let acme = bench.key("acme", &[Scope::Admin]).await;
    let body = json!({"name": "a", "scopes": ["read"]});
    assert_eq!(bench.post(&root, "/v1/keys?tenant=acme", &body).await.body["tenant"], "acme");
    assert_eq!(bench.post(&acme, "/v1/keys?tenant=acme", &body).await.status, StatusCode::CREATED);
    let foreign = bench.post(&acme, "/v1/keys?tenant=default", &body).await;
    let absent = bench.post(&acme, "/v1/keys?tenant=nobody", &body).await;
    assert_eq!((foreign.status, absent.status), (StatusCode::NOT_FOUND, StatusCode::NOT_FOUND));
    assert_eq!(foreign.body["detail"], absent.body["detail"]);

    let names = async |key: &str| {
        let list = bench.get(key, "/v1/tenants").await.body["data"].clone();
        list.as_array().unwrap().iter().map(|tenant| tenant["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&root).await, ["acme", "default"]);
    assert_eq!(names(&acme).await, ["acme"]);
    assert_eq!(bench.get(&acme, "/v1/tenants/default").await.code(), "not_found");
    assert_eq!(bench.get(&acme, "/v1/revisions/active").await.code(), "forbidden");
}

#[tokio::test]
async fn a_tenant_is_made_and_changed() {
    let bench = Bench::new().await;
    let root = bench.key("default", &[Scope::Admin]).await;
    let put = async |body: Value| {
        let request = asked(&root, "PUT", "/v1/tenants/acme").body(Body::from(body.to_string())).unwrap();
        bench.send(request).await
    };
    let made = put(json!({"budget": {"limit_micros": 1000, "period": "month"}})).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.body);
    assert_eq!(made.body["use"]["budget"]["left_micros"], 1000);
    let changed = put(json!({"max_in_flight": 3})).await;
    assert_eq!(changed.status, StatusCode::OK);
    assert_eq!((&changed.body["max_in_flight"], changed.body.get("budget")), (&json!(3), None));
    let refused = put(json!({"max_inflight": 3})).await;
    assert_eq!(refused.code(), "unknown_member");
    assert_eq!(refused.body["errors"][0]["pointer"], "/max_inflight");
}
