use forebay_core::attempt::Outcome;
use forebay_core::failure::FailureClass;
use forebay_core::job::Failure;
use forebay_store::record::Then;

use forebay_store::record::NewRevision;

use super::*;

impl Bench {
    /// Submits a job and fails it, as a worker does whose provider refuses the request.
    pub(super) async fn dead(&self, key: &str) -> String {
        let job = self.submit(key).await;
        self.fail_one().await;
        job
    }

    /// Fails the job whose turn it is.
    async fn fail_one(&self) {
        let failure = Failure::new(FailureClass::InvalidRequest, "the model does not exist");
        self.commit_one(Outcome::FailedAfterSend, Then::FailJob { entry: None, failure }).await;
    }
}

#[tokio::test]
async fn failed_jobs_are_listed_and_counted_until_somebody_deals_with_them() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read, Scope::Operate]).await;
    let (first, second) = (bench.dead(&key).await, bench.dead(&key).await);
    let listed = async |query: &str| {
        let answer = bench.get(&key, &format!("/v1/dead-letters?{query}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let letters = answer.body["data"].as_array().unwrap().clone();
        letters.iter().map(|letter| letter["job_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        listed("task=chat&class=invalid_request&metadata.order=4711").await,
        [second.clone(), first.clone()]
    );
    for query in ["task=other", "class=deadline", "revision=9", "owner=anna", "before=2020-01-01T00:00:00Z"] {
        assert!(listed(query).await.is_empty(), "{query}");
    }
    let page = bench.get(&key, "/v1/dead-letters?limit=1").await;
    assert_eq!(
        listed(&format!("limit=1&cursor={}", page.body["next_cursor"].as_str().unwrap())).await,
        std::slice::from_ref(&first)
    );
    let groups = bench.get(&key, "/v1/dead-letters/groups").await;
    assert_eq!(groups.body["data"][0]["count"], 2, "{}", groups.body);

    let path = format!("/v1/dead-letters/{first}");
    let body = json!({"owner": "anna", "note": "the model was withdrawn", "state": "dismissed"});
    let changed = bench.post(&key, &path, &body).await;
    assert_eq!(changed.status, StatusCode::OK, "{}", changed.body);
    assert_eq!((&changed.body["owner"], &changed.body["state"]), (&json!("anna"), &json!("dismissed")));
    assert_eq!(changed.body["notes"][0]["text"], "the model was withdrawn");
    assert_eq!(changed.body["notes"][0]["author"], "test");
    assert_eq!(listed("").await, [second]);
    assert_eq!(listed("state=dismissed&owner=anna").await, [first]);
    let nobody = bench.post(&key, &path, &json!({"owner": ""})).await;
    assert!(nobody.body.get("owner").is_none(), "{}", nobody.body);
}

#[tokio::test]
async fn many_dead_letters_are_changed_by_list_or_by_filter() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read, Scope::Operate]).await;
    let (first, second, third) = (bench.dead(&key).await, bench.dead(&key).await, bench.dead(&key).await);
    let change = async |body: Value| bench.post(&key, "/v1/dead-letters/change", &body).await;
    let never = "job_00000000000000000000000000000000";
    let listed = change(json!({"jobs": [first, never], "set": {"owner": "anna", "note": "mine"}})).await;
    assert_eq!(listed.status, StatusCode::OK, "{}", listed.body);
    assert_eq!((&listed.body["changed"], &listed.body["refused"]), (&json!(1), &json!(1)));
    assert_eq!(listed.body["results"][1]["problem"]["code"], "not_found");

    let unowned = bench.get(&key, "/v1/dead-letters?unowned=true").await;
    assert_eq!(unowned.body["data"].as_array().unwrap().len(), 2);
    let body = |cursor: Option<&Value>| {
        let mut body =
            json!({"filter": {"unowned": true, "task": "chat"}, "set": {"state": "dismissed"}, "limit": 1});
        if let Some(cursor) = cursor {
            body["cursor"] = cursor.clone();
        }
        body
    };
    let one = change(body(None)).await;
    assert_eq!((&one.body["changed"], &one.body["results"][0]["job_id"]), (&json!(1), &json!(third)));
    let other = change(body(Some(&one.body["next_cursor"]))).await;
    assert_eq!(other.body["results"][0], json!({"job_id": second, "state": "dismissed"}));
    assert!(other.body.get("next_cursor").is_none());
    assert_eq!(change(body(None)).await.body["changed"], 0);
}

#[tokio::test]
async fn what_is_wrong_with_a_change_of_many_dead_letters_is_named() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Operate]).await;
    let change = async |body: &Value| bench.post(&key, "/v1/dead-letters/change", body).await;
    let never = "job_00000000000000000000000000000000";
    for (body, code, pointer) in [
        (json!({"set": {"owner": "x"}}), "missing_member", "/filter"),
        (json!({"jobs": [never], "filter": {}, "set": {"owner": "x"}}), "invalid_member", "/filter"),
        (json!({"jobs": [never]}), "missing_member", "/set"),
        (json!({"filter": {}, "set": {}}), "missing_member", "/set"),
        (json!({"filter": {"ownr": "x"}, "set": {"owner": "x"}}), "unknown_member", "/filter/ownr"),
        (json!({"jobs": [], "set": {"owner": "x"}}), "invalid_member", "/jobs"),
        (json!({"jobs": vec![never; 1_001], "set": {"owner": "x"}}), "invalid_member", "/jobs"),
    ] {
        let refused = change(&body).await;
        let pointed = &refused.body["errors"][0]["pointer"];
        assert_eq!((refused.code(), pointed), (code, &json!(pointer)), "{}", refused.body);
    }
    let most = change(&json!({"jobs": vec![never; 1_000], "set": {"owner": "x"}})).await;
    assert_eq!(most.body["refused"], 1_000);
}

#[tokio::test]
async fn what_is_wrong_with_a_dead_letter_is_named() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read, Scope::Operate]).await;
    let path = format!("/v1/dead-letters/{}", bench.dead(&key).await);
    for query in [
        "state=lost",
        "class=bad",
        "revision=one",
        "unowned=perhaps",
        "after=today",
        "ownr=anna",
        "limit=201",
    ] {
        let refused = bench.get(&key, &format!("/v1/dead-letters?{query}")).await;
        assert_eq!(refused.code(), "invalid_parameter", "{query}");
    }
    let long = "x".repeat(2_001);
    let table = [
        (json!({"state": "replayed"}), "/state"),
        (json!({"owner": "x".repeat(65)}), "/owner"),
        (json!({"note": long}), "/note"),
        (json!({"nots": "a"}), "/nots"),
    ];
    for (body, pointer) in table {
        let refused = bench.post(&key, &path, &body).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.body);
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
    }
    let other = bench.key("acme", &[Scope::Admin]).await;
    assert_eq!(bench.get(&other, &path).await.code(), "not_found");
    assert_eq!(bench.post(&other, &path, &json!({"note": "ours?"})).await.code(), "not_found");
    assert_eq!(bench.get(&other, "/v1/dead-letters").await.body["data"], json!([]));
}

#[tokio::test]
async fn a_failed_job_is_done_again_as_a_new_one() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read, Scope::Operate]).await;
    let body = json!({
        "task": "chat", "input": {"prompt": "hello"}, "params": {"seed": 7}, "metadata": {"order": "4711"},
    });
    let job = bench.post(&key, "/v1/jobs", &body).await.body["job_id"].as_str().unwrap().to_owned();
    bench.fail_one().await;
    let path = format!("/v1/jobs/{job}/replay");
    let changed = format!("{}\n# one more line\n", definitions::DEFAULT);
    bench.app.revisions.apply(NewRevision::of(changed, Actor::program())).await.unwrap();
    let replay = async |body: Value| {
        let request = asked(&key, "POST", &path).header("idempotency-key", "again-1");
        bench.send(request.body(Body::from(body.to_string())).unwrap()).await
    };
    let first = replay(json!({"task": "chat@1", "reason": "mended"})).await;
    assert_eq!(first.status, StatusCode::ACCEPTED, "{}", first.body);
    let new = first.body["job_id"].as_str().unwrap();
    assert_eq!(first.header("location"), Some(format!("/v1/jobs/{new}").as_str()));
    let shown = bench.get(&key, &format!("/v1/jobs/{new}")).await.body;
    assert_eq!((&shown["replay_of"], &shown["revision"]), (&json!(job), &json!(1)));
    assert_eq!(shown["metadata"], json!({"order": "4711"}));
    let ids = vec![job.parse().unwrap(), new.parse().unwrap()];
    let asked_for = bench.app.store.work(ids).await.unwrap();
    assert_eq!(asked_for[0].input, asked_for[1].input, "the same is asked for");
    assert_eq!(bench.get(&key, &format!("/v1/jobs/{job}")).await.body["replayed_by"], new);
    let letter = bench.get(&key, &format!("/v1/dead-letters/{job}")).await.body;
    assert_eq!((&letter["state"], &letter["replays"][0]["job_id"]), (&json!("replayed"), &json!(new)));

    let same = replay(json!({"task": "chat@1", "reason": "mended"})).await;
    assert_eq!((&same.body["job_id"], same.header("idempotent-replayed")), (&json!(new), Some("true")));
    assert_eq!(replay(json!({"task": "chat@2"})).await.code(), "idempotency_key_reused");
    let twice = bench.post(&key, &path, &json!({})).await;
    assert_eq!((twice.status, twice.code()), (StatusCode::CONFLICT, "conflict"));
    assert!(twice.body["detail"].as_str().unwrap().contains(new), "{}", twice.body);
    let again = bench.post(&key, &path, &json!({"again": true})).await;
    let newest = again.body["job_id"].as_str().unwrap();
    assert_eq!(bench.get(&key, &format!("/v1/jobs/{newest}")).await.body["revision"], 2, "the active one");
}

#[tokio::test]
async fn what_can_not_be_done_again_is_refused() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read, Scope::Operate]).await;
    let dead = bench.dead(&key).await;
    let waiting = bench.submit(&key).await;
    let replay =
        async |job: &str, body: Value| bench.post(&key, &format!("/v1/jobs/{job}/replay"), &body).await;
    let refused = replay(&waiting, json!({})).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::CONFLICT, "conflict"));
    assert!(refused.body["detail"].as_str().unwrap().contains("READY"), "{}", refused.body);
    assert_eq!(replay(&dead, json!({"task": "chat@9"})).await.code(), "unknown_task");
    // Its input is a prompt, and an invoice needs a document.
    assert_eq!(
        replay(&dead, json!({"task": "invoice"})).await.body["errors"][0]["pointer"],
        "/input/messages"
    );
    assert_eq!(replay(&dead, json!({"tsk": "chat"})).await.code(), "unknown_member");
    let other = bench.key("acme", &[Scope::Admin]).await;
    let foreign = bench.post(&other, &format!("/v1/jobs/{dead}/replay"), &json!({})).await;
    assert_eq!(foreign.code(), "not_found");
    let settings = TenantSettings { max_pending_jobs: Some(1), ..TenantSettings::default() };
    bench.app.store.put_tenant("default".to_owned(), settings, Actor::program()).await.unwrap();
    let full = replay(&dead, json!({})).await;
    assert_eq!((full.status, full.code()), (StatusCode::TOO_MANY_REQUESTS, "quota_exceeded"));
    assert!(full.header("retry-after").is_some());
    let request = asked(&key, "POST", &format!("/v1/jobs/{dead}/replay")).body(Body::empty()).unwrap();
    assert_eq!(bench.send(request).await.code(), "quota_exceeded", "a body is not needed");
}
