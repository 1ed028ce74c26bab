use forebay_core::money::Micros;
use forebay_store::record::NewRevision;

use super::*;

#[tokio::test]
async fn a_text_counts_in_the_estimate_as_its_document_does() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read, Scope::Inspect]).await;
    let text = "An invoice. ".repeat(2_000);
    let upload = asked(&key, "POST", "/v1/documents").header("content-type", "text/plain");
    let document =
        bench.send(upload.body(Body::from(text.clone())).unwrap()).await.body["document_id"].clone();
    let summary = async |input: Value| {
        let job = bench.post(&key, "/v1/jobs", &json!({"task": "invoice", "input": input})).await;
        let path = format!(
            "/v1/jobs/{}/steps",
            job.body["job_id"].as_str().unwrap_or_else(|| panic!("{}", job.body))
        );
        bench.get(&key, &path).await.body["data"][0]["summary"].clone()
    };
    let (inline, uploaded) =
        (summary(json!({"text": text})).await, summary(json!({"document": document})).await);
    assert_eq!(inline, uploaded);
    let huge = json!({"task": "invoice", "input": {"text": "x".repeat(3_000_000)}});
    let refused = bench.post(&key, "/v1/jobs", &huge).await;
    assert_eq!(
        (refused.code(), &refused.body["errors"][0]["pointer"]),
        ("invalid_member", &json!("/input/text"))
    );
}

#[tokio::test]
async fn a_job_is_submitted_once() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read]).await;
    let submit = async |body: Value| {
        let request = asked(&key, "POST", "/v1/jobs").header("idempotency-key", "inv-1");
        bench.send(request.body(Body::from(body.to_string())).unwrap()).await
    };
    let first = submit(submission()).await;
    assert_eq!(first.status, StatusCode::ACCEPTED, "{}", first.body);
    let id = first.body["job_id"].as_str().unwrap();
    assert_eq!(first.header("location"), Some(format!("/v1/jobs/{id}").as_str()));
    assert_eq!(first.header("idempotent-replayed"), None);
    let again = submit(submission()).await;
    assert_eq!(
        (again.body["job_id"].as_str(), again.header("idempotent-replayed")),
        (Some(id), Some("true"))
    );
    let other = submit(json!({"task": "chat", "input": {"prompt": "other"}})).await;
    assert_eq!((other.status, other.code()), (StatusCode::CONFLICT, "idempotency_key_reused"));
    assert_eq!(other.header("x-should-retry"), Some("false"));
}

#[tokio::test]
async fn a_misspelt_member_is_refused_with_its_pointer() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit]).await;
    let body = json!({"task": "chat", "input": {"prompt": "a"}, "deadine": "2026-12-01T10:00:00.000Z"});
    let refused = bench.post(&key, "/v1/jobs", &body).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::BAD_REQUEST, "unknown_member"));
    assert_eq!(refused.body["errors"][0]["pointer"], "/deadine");
    let refused = bench.post(&key, "/v1/jobs", &json!({"task": "none", "input": {"prompt": "a"}})).await;
    assert_eq!(refused.code(), "unknown_task");
}

#[tokio::test]
async fn a_task_may_refuse_what_the_budget_can_not_pay() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read]).await;
    let settings = TenantSettings { budget: Some(Micros(1)), ..TenantSettings::default() };
    bench.app.store.put_tenant("default".to_owned(), settings, Actor::program()).await.unwrap();
    let chat = json!({"task": "chat", "input": {"prompt": "a"}});
    assert_eq!(bench.post(&key, "/v1/jobs", &chat).await.status, StatusCode::ACCEPTED, "it waits");
    let refuses = definitions::DEFAULT.replace("[tasks.chat]\n", "[tasks.chat]\nat_budget = \"refuse\"\n");
    bench.app.revisions.apply(NewRevision::of(refuses, Actor::program())).await.unwrap();
    let refused = bench.post(&key, "/v1/jobs", &chat).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::TOO_MANY_REQUESTS, "budget_exhausted"));
    assert!(refused.header("retry-after").is_some());
    assert_eq!(bench.get(&key, "/v1/jobs").await.body["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_version_that_the_caller_has_is_not_sent_again() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read]).await;
    let path = format!("/v1/jobs/{}", bench.submit(&key).await);
    let job = bench.get(&key, &path).await;
    let etag = job.header("etag").unwrap();
    assert_eq!(etag, format!("\"{}\"", job.body["state_version"]));
    assert_eq!(job.body["metadata"], json!({"order": "4711"}));
    let request = asked(&key, "GET", &path).header("if-none-match", etag).body(Body::empty()).unwrap();
    let same = bench.send(request).await;
    assert_eq!((same.status, same.bytes.len()), (StatusCode::NOT_MODIFIED, 0));
    assert_eq!(same.header("etag"), Some(etag));
}

#[tokio::test]
async fn a_waiting_caller_is_told_when_the_job_ends() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read, Scope::Operate]).await;
    let path = format!("/v1/jobs/{}", bench.submit(&key).await);
    let request = asked(&key, "GET", &path).header("prefer", "wait=60").body(Body::empty()).unwrap();
    let cancel = format!("{path}/cancel");
    let (waited, cancelled) = tokio::join!(bench.send(request), bench.post(&key, &cancel, &Value::Null));
    assert_eq!(cancelled.status, StatusCode::OK, "{}", cancelled.body);
    assert_eq!(waited.body["state"], "CANCELLED");
    assert_eq!(waited.header("preference-applied"), Some("wait=60"));
    let again = bench.post(&key, &cancel, &Value::Null).await;
    assert_eq!((again.status, &again.body["state"]), (StatusCode::OK, &json!("CANCELLED")));
    assert_eq!(bench.get(&key, &format!("{path}/result")).await.code(), "no_result");
}

#[tokio::test]
async fn a_wait_ends_with_what_there_is() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read]).await;
    let path = format!("/v1/jobs/{}", bench.submit(&key).await);
    let request = |version: &str| {
        let request = asked(&key, "GET", &path).header("prefer", "wait=0").header("if-none-match", version);
        request.body(Body::empty()).unwrap()
    };
    assert_eq!(bench.send(request("\"1\"")).await.status, StatusCode::NOT_MODIFIED);
    assert_eq!(bench.send(request("\"0\"")).await.body["state"], "READY");
    assert_eq!(bench.get(&key, &format!("{path}/result")).await.code(), "not_finished");
}

#[tokio::test]
async fn a_list_is_paged_without_loss() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read]).await;
    let mut submitted = Vec::new();
    for _ in 0..5 {
        submitted.push(bench.submit(&key).await);
    }
    let mut path = "/v1/jobs?state=READY&metadata.order=4711&limit=2".to_owned();
    let mut listed = Vec::new();
    loop {
        let page = bench.get(&key, &path).await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        let jobs = page.body["data"].as_array().unwrap();
        listed.extend(jobs.iter().map(|job| job["job_id"].as_str().unwrap().to_owned()));
        let Some(link) = page.header("link") else { break };
        let next = link.strip_prefix('<').unwrap().split('>').next().unwrap().to_owned();
        assert!(next.ends_with(page.body["next_cursor"].as_str().unwrap()));
        path = next;
    }
    listed.reverse();
    assert_eq!(listed, submitted);
    assert_eq!(bench.get(&key, "/v1/jobs?metadata.order=none").await.body["data"], json!([]));
}

#[tokio::test]
async fn lists_refuse_what_they_do_not_know() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read]).await;
    for _ in 0..2 {
        bench.submit(&key).await;
    }
    let cursor = bench.get(&key, "/v1/jobs?limit=1").await.body["next_cursor"].as_str().unwrap().to_owned();
    for query in ["stat=READY", "state=ready", "limit=0", "limit=201", "cursor=x", "created_after=today"] {
        let refused = bench.get(&key, &format!("/v1/jobs?{query}")).await;
        assert_eq!(
            (refused.status, refused.code()),
            (StatusCode::BAD_REQUEST, "invalid_parameter"),
            "{query}"
        );
    }
    let other_filters = bench.get(&key, &format!("/v1/jobs?state=READY&cursor={cursor}")).await;
    assert_eq!(other_filters.code(), "invalid_parameter");
    assert_eq!(bench.get(&key, "/v1/tasks?x=1").await.code(), "invalid_parameter");
}

#[tokio::test]
async fn another_tenants_job_looks_like_none() {
    let bench = Bench::new().await;
    let owner = bench.key("default", &[Scope::Submit, Scope::Read]).await;
    let job = bench.submit(&owner).await;
    let other = bench.key("acme", &[Scope::Admin]).await;
    let absent = bench.get(&other, "/v1/jobs/job_00000000000000000000000000000000").await;
    assert_eq!((absent.status, absent.code()), (StatusCode::NOT_FOUND, "not_found"));
    for tail in ["", "/result", "/attempts", "/steps", "/explain", "/events"] {
        let foreign = bench.get(&other, &format!("/v1/jobs/{job}{tail}")).await;
        assert_eq!(
            (foreign.status, &foreign.body["detail"]),
            (absent.status, &absent.body["detail"]),
            "{tail}"
        );
    }
    let cancel = bench.post(&other, &format!("/v1/jobs/{job}/cancel"), &Value::Null).await;
    assert_eq!(cancel.code(), "not_found");
    assert_eq!(bench.get(&owner, "/v1/jobs/nonsense").await.code(), "not_found");
}

#[tokio::test]
async fn a_job_that_waits_is_explained() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read, Scope::Inspect]).await;
    let path = format!("/v1/jobs/{}", bench.submit(&key).await);
    let explained = bench.get(&key, &format!("{path}/explain")).await;
    assert_eq!(explained.body["state"], "READY");
    assert_eq!(explained.body["waiting_for"][0]["kind"], "no_worker", "{}", explained.body);
    bench.report_a_worker().await;
    let explained = bench.get(&key, &format!("{path}/explain")).await;
    assert_eq!(explained.body["waiting_for"][0]["kind"], "worker", "{}", explained.body);
    assert_eq!(explained.body["ahead"], 0);
    let steps = bench.get(&key, &format!("{path}/steps")).await;
    assert_eq!(steps.body["data"][0]["state"], "pending", "{}", steps.body);
    assert_eq!(bench.get(&key, &format!("{path}/attempts")).await.body, json!({"data": []}));
}

#[tokio::test]
async fn tasks_say_what_they_take() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Read, Scope::Operate]).await;
    let task = bench.get(&key, "/v1/tasks/chat").await;
    assert_eq!(task.body["kind"], "llm", "{}", task.body);
    assert_eq!(task.body["input"]["oneOf"][0]["required"], json!(["messages"]));
    assert_eq!(bench.get(&key, "/v1/tasks/none").await.code(), "not_found");
    assert!(!bench.get(&key, "/v1/pools").await.body["data"].as_array().unwrap().is_empty());
}
