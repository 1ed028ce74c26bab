use super::*;

impl Bench {
    /// Sends a batch under a key.
    async fn batch(&self, key: &str, idempotency_key: &str, body: &str) -> Answer {
        let request = asked(key, "POST", "/v1/job-batches").header("idempotency-key", idempotency_key);
        self.send(request.body(Body::from(body.to_owned())).unwrap()).await
    }
}

fn prompt(text: &str) -> Value {
    json!({"task": "chat", "input": {"prompt": text}})
}

#[tokio::test]
async fn each_member_has_its_own_answer() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read, Scope::Operate]).await;
    let document = format!("doc_{}", "0".repeat(64));
    let body = format!(
        r#"{{"jobs": [{}, {{"task": "chat", "task": "chat"}}, {}, {}, {{"task": "chat", "input": {{"prompt": "b"}}, "prio": 1}}, {}]}}"#,
        prompt("a"),
        json!({"task": "nobody", "input": {"prompt": "a"}}),
        json!({"task": "invoice", "input": {"document": document}}),
        prompt("c"),
    );
    let answer = bench.batch(&key, "b-1", &body).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
    let batch = answer.body["batch_id"].as_str().unwrap();
    assert_eq!(answer.header("location"), Some(format!("/v1/job-batches/{batch}").as_str()));
    let told: Vec<_> = answer.body["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let problem = &result["problem"];
            (
                result["index"].as_u64().unwrap(),
                result["status"].as_u64().unwrap(),
                text(&problem["code"]),
                text(&problem["errors"][0]["pointer"]),
            )
        })
        .collect();
    let row = |index, status, code: &str, pointer: &str| (index, status, code.to_owned(), pointer.to_owned());
    assert_eq!(
        told,
        [
            row(0, 202, "", ""),
            row(1, 400, "invalid_json", "/jobs/1/task"),
            row(2, 400, "unknown_task", "/jobs/2/task"),
            row(3, 400, "invalid_member", "/jobs/3/input/document"),
            row(4, 400, "unknown_member", "/jobs/4/prio"),
            row(5, 202, "", ""),
        ]
    );
    assert!(answer.body["results"][1]["problem"]["request_id"].is_string());
    let shown = bench.get(&key, &format!("/v1/job-batches/{batch}")).await.body;
    assert_eq!(
        (&shown["counts"], &shown["open"], &shown["refused"]),
        (&json!({"READY": 2}), &json!(2), &json!(4))
    );
    let jobs = bench.get(&key, &format!("/v1/jobs?batch={batch}")).await.body;
    assert_eq!(jobs["data"][1]["job_id"], answer.body["results"][0]["job_id"]);
    assert_eq!(jobs["data"][1]["batch_id"], batch);
    assert_eq!(bench.get(&key, "/v1/job-batches").await.body["data"][0]["batch_id"], batch);
    let again = bench.batch(&key, "b-1", &body).await;
    assert_eq!((&again.body, again.header("idempotent-replayed")), (&answer.body, Some("true")));
    let other = bench.batch(&key, "b-1", &json!({"jobs": [prompt("a")]}).to_string()).await;
    assert_eq!((other.status, other.code()), (StatusCode::CONFLICT, "idempotency_key_reused"));

    let cancel = format!("/v1/job-batches/{batch}/cancel");
    let cancelled = bench.post(&key, &cancel, &Value::Null).await;
    assert_eq!(
        (&cancelled.body["counts"], &cancelled.body["open"]),
        (&json!({"CANCELLED": 2}), &json!(0)),
        "{}",
        cancelled.body
    );
    assert!(cancelled.body["finished_at"].is_string());
    assert_eq!(bench.post(&key, &cancel, &Value::Null).await.status, StatusCode::OK, "again and again");
    let stranger = bench.key("acme", &[Scope::Admin]).await;
    for (method, path) in [("GET", format!("/v1/job-batches/{batch}")), ("POST", cancel)] {
        let request = asked(&stranger, method, &path).body(Body::empty()).unwrap();
        assert_eq!(bench.send(request).await.code(), "not_found");
    }
    assert_eq!(bench.get(&stranger, &format!("/v1/jobs?batch={batch}")).await.body["data"], json!([]));
}

#[tokio::test]
async fn a_member_has_a_key_of_its_own() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit]).await;
    let keyed = |text: &str| json!({"task": "chat", "input": {"prompt": text}, "idempotency_key": "order-1"});
    let body = json!({"jobs": [keyed("a"), keyed("a"), keyed("b")]}).to_string();
    let results = bench.batch(&key, "b-1", &body).await.body["results"].clone();
    assert_eq!((&results[1]["job_id"], &results[1]["replayed"]), (&results[0]["job_id"], &json!(true)));
    assert_eq!(
        (&results[2]["status"], &results[2]["problem"]["code"]),
        (&json!(409), &json!("idempotency_key_reused"))
    );
}

#[tokio::test]
async fn a_quota_is_held_to_the_last_member() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit]).await;
    let settings = TenantSettings { max_pending_jobs: Some(150), ..TenantSettings::default() };
    bench.app.store.put_tenant("default".to_owned(), settings, Actor::program()).await.unwrap();
    let body = json!({"jobs": vec![prompt("a"); 250]}).to_string();
    let answer = bench.batch(&key, "b-1", &body).await;
    let results = answer.body["results"].as_array().unwrap();
    let statuses: Vec<_> = results.iter().map(|result| result["status"].as_u64().unwrap()).collect();
    assert_eq!((results.len(), &statuses[..150]), (250, &[202; 150][..]));
    assert!(results[150..].iter().all(|result| result["problem"]["code"] == "quota_exceeded"));
    assert_eq!(bench.batch(&key, "b-1", &body).await.body, answer.body);
}

#[tokio::test]
async fn what_is_no_batch_is_refused_as_a_whole() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read]).await;
    let many = |count: usize| json!({"jobs": vec![json!({}); count]}).to_string();
    let table = [
        ("{".to_owned(), "invalid_json"),
        ("[]".to_owned(), "invalid_member"),
        ("{}".to_owned(), "missing_member"),
        (many(0), "invalid_member"),
        (many(1_001), "invalid_member"),
        (json!({"jobs": [1], "job": 2}).to_string(), "unknown_member"),
    ];
    for (body, code) in table {
        let refused = bench.batch(&key, "b-1", &body).await;
        assert_eq!((refused.status, refused.code()), (StatusCode::BAD_REQUEST, code), "{body:.40}");
    }
    assert_eq!(bench.get(&key, "/v1/job-batches").await.body["data"], json!([]));
    assert_eq!(bench.batch(&key, "b-1", &many(1_000)).await.status, StatusCode::ACCEPTED);
    let limit = forebay_core::limits::BATCH_BODY_BYTES;
    let sized = |bytes: usize| format!("{{\"jobs\": [{{}}]}}{}", " ".repeat(bytes - 14));
    assert_eq!(bench.batch(&key, "b-2", &sized(limit)).await.status, StatusCode::ACCEPTED);
    assert_eq!(bench.batch(&key, "b-3", &sized(limit + 1)).await.code(), "too_large");
}

#[tokio::test]
async fn dead_letters_are_replayed_as_one_batch_and_not_twice() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read, Scope::Operate]).await;
    let mut dead = Vec::new();
    for _ in 0..5 {
        dead.push(bench.dead(&key).await);
    }
    let replay = async |idempotency_key: &str, body: Value| {
        let request =
            asked(&key, "POST", "/v1/dead-letters/replay").header("idempotency-key", idempotency_key);
        let answer = bench.send(request.body(Body::from(body.to_string())).unwrap()).await;
        assert_eq!(answer.status, StatusCode::ACCEPTED, "{}", answer.body);
        answer.body
    };
    let three = json!({"task": "chat@1", "class": "invalid_request", "limit": 3, "reason": "mended"});
    let first = replay("r-1", three.clone()).await;
    assert_eq!(
        (&first["replayed"], &first["left"], &first["refused"]),
        (&json!(3), &json!(2), &json!(0)),
        "{first}"
    );
    let originals: Vec<_> = first["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|result| result["replay_of"].as_str().unwrap())
        .collect();
    assert_eq!(originals, dead[..3], "oldest first");
    let same = replay("r-1", three).await;
    assert_eq!((&same["batch_id"], &same["results"]), (&first["batch_id"], &first["results"]));
    let rest = replay("r-2", json!({})).await;
    assert_eq!((&rest["replayed"], &rest["left"], rest.get("next_cursor")), (&json!(2), &json!(0), None));
    let none = replay("r-3", json!({"task": "chat"})).await;
    assert_eq!((&none["replayed"], &none["left"]), (&json!(0), &json!(0)));
    let again = replay("r-4", json!({"again": true, "limit": 2})).await;
    assert_eq!((&again["replayed"], &again["left"]), (&json!(2), &json!(3)));
    let on = replay("r-5", json!({"again": true, "cursor": again["next_cursor"]})).await;
    assert_eq!((&on["replayed"], &on["left"]), (&json!(3), &json!(0)));
    let refused =
        bench.post(&key, "/v1/dead-letters/replay", &json!({"clas": "deadline", "limit": 1_001})).await;
    assert_eq!(refused.body["errors"].as_array().unwrap().len(), 2, "{}", refused.body);

    for batch in [&first, &rest, &again, &on] {
        let path = format!("/v1/job-batches/{}/cancel", batch["batch_id"].as_str().unwrap());
        assert_eq!(bench.post(&key, &path, &Value::Null).await.body["open"], 0);
    }
    let open = bench.get(&key, "/v1/dead-letters").await.body;
    assert_eq!(open["data"].as_array().unwrap().len(), 5, "stopped, they are open as before");
}

#[tokio::test]
async fn a_limit_stops_a_replay_where_it_speaks_against_more() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read, Scope::Operate]).await;
    for _ in 0..4 {
        bench.dead(&key).await;
    }
    let settings = TenantSettings { max_pending_jobs: Some(3), ..TenantSettings::default() };
    bench.app.store.put_tenant("default".to_owned(), settings, Actor::program()).await.unwrap();
    let answer = bench.post(&key, "/v1/dead-letters/replay", &json!({})).await.body;
    assert_eq!((&answer["replayed"], &answer["left"]), (&json!(3), &json!(1)), "{answer}");
    assert_eq!(answer["stopped"]["code"], "quota_exceeded");
    // What can't be done under that task is told letter by letter and does not hold up the others.
    let settings = TenantSettings::default();
    bench.app.store.put_tenant("default".to_owned(), settings, Actor::program()).await.unwrap();
    let wrong = bench.post(&key, "/v1/dead-letters/replay", &json!({"task": "chat@7"})).await.body;
    assert_eq!((&wrong["replayed"], &wrong["refused"], &wrong["left"]), (&json!(0), &json!(1), &json!(0)));
    assert_eq!(wrong["results"][0]["problem"]["code"], "unknown_task");
}
