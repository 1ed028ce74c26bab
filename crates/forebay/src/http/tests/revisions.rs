use forebay_store::record::NewRevision;

use super::*;

/// The default definitions with something added, so that they are another text.
fn with(more: &str) -> String {
    format!("{}\n{more}\n", definitions::DEFAULT)
}

const POOL: &str = "[pools.spare]\nprovider = \"openai\"\nmax_in_flight = 3";

/// The API with an admin of the installation.
struct Desk {
    bench: Bench,
    root: String,
}

impl Desk {
    async fn new() -> Self {
        let bench = Bench::new().await;
        let root = bench.key("default", &[Scope::Admin]).await;
        Self { bench, root }
    }

    async fn get(&self, path: &str) -> Answer {
        self.bench.get(&self.root, path).await
    }

    async fn send(&self, path: &str, if_match: Option<&str>, source: &str) -> Answer {
        let mut request = asked(&self.root, "POST", path).header("content-type", "text/toml");
        if let Some(tag) = if_match {
            request = request.header("if-match", tag);
        }
        self.bench.send(request.body(Body::from(source.to_owned())).unwrap()).await
    }

    async fn apply(&self, source: &str) -> Answer {
        self.send("/v1/revisions", None, source).await
    }

    async fn active(&self) -> u64 {
        self.get("/v1/revisions/active").await.body["number"].as_u64().unwrap()
    }

    async fn newest_audit(&self) -> Value {
        self.get("/v1/audit?limit=1").await.body["data"][0].clone()
    }
}

#[tokio::test]
async fn definitions_are_applied_once() {
    let desk = Desk::new().await;
    let before = desk.active().await;
    assert_eq!(desk.apply(definitions::DEFAULT).await.status, StatusCode::OK);
    let changed = desk.apply(&with("# one more line")).await;
    assert_eq!(changed.status, StatusCode::CREATED, "{}", changed.body);
    assert_eq!((&changed.body["number"], &changed.body["active"]), (&json!(before + 1), &json!(true)));
    assert_eq!(changed.header("etag"), Some("\"2\""));
    let old = desk.get(&format!("/v1/revisions/{before}")).await;
    assert_eq!(old.body["active"], false);
    assert_eq!(desk.newest_audit().await["action"], "revision.apply");
}

#[tokio::test]
async fn a_list_says_who_applied_what_and_when() {
    let desk = Desk::new().await;
    desk.apply(&with("# 2")).await;
    desk.apply(&with("# 3")).await;
    let first = desk.get("/v1/revisions?limit=2").await;
    let entries = first.body["data"].as_array().unwrap();
    let numbers: Vec<_> = entries.iter().map(|entry| (&entry["number"], &entry["active"])).collect();
    assert_eq!(numbers, [(&json!(3), &json!(true)), (&json!(2), &json!(false))]);
    assert_eq!(entries[0]["by"]["name"], "test");
    assert!(entries[0]["by"]["key_id"].is_string() && entries[0].get("source").is_none());
    let link = first.header("link").unwrap();
    let last = desk.get(link.trim_start_matches('<').split('>').next().unwrap()).await;
    assert_eq!((last.header("link"), &last.body["data"][0]["number"]), (None, &json!(1)));
    assert_eq!(last.body["data"][0]["by"], json!({"name": "forebay"}), "the program applied the first");
    assert_eq!(desk.get("/v1/revisions?cursor=2").await.code(), "invalid_parameter");
    let source = desk.get("/v1/revisions/3/source").await;
    assert_eq!(source.header("content-type"), Some("application/toml"));
    assert_eq!(String::from_utf8(source.bytes).unwrap(), with("# 3"));
    assert_eq!(desk.get("/v1/revisions/4/source").await.code(), "not_found");
}

#[tokio::test]
async fn a_dry_run_says_what_would_change_and_changes_nothing() {
    let desk = Desk::new().await;
    let before = desk.newest_audit().await;
    let tried = desk.send("/v1/revisions?dry_run=true", None, &with(POOL)).await;
    assert_eq!(tried.status, StatusCode::OK, "{}", tried.body);
    assert_eq!((&tried.body["valid"], &tried.body["active"]), (&json!(true), &json!(1)));
    let expected = json!([{"section": "pools", "name": "spare", "change": "added", "members": [
        {"member": "max_in_flight", "after": 3}, {"member": "provider", "after": "openai"},
    ]}]);
    assert_eq!(tried.body["diff"]["changes"], expected);
    assert!(tried.body["diff"]["text"].as_str().unwrap().contains("\n+[pools.spare]\n"));
    let wrong = desk.send("/v1/revisions?dry_run=true", None, "[models.a]\npool = 1\n").await;
    let lines = wrong.body["errors"].as_array().unwrap().iter().map(|error| error["line"].as_u64().unwrap());
    assert_eq!((wrong.status, lines.max()), (StatusCode::BAD_REQUEST, Some(2)), "{}", wrong.body);
    assert_eq!((desk.active().await, desk.newest_audit().await), (1, before));
    assert_eq!(desk.send("/v1/revisions?from=1", None, &with(POOL)).await.code(), "invalid_parameter");
}

#[tokio::test]
async fn two_revisions_are_compared() {
    let desk = Desk::new().await;
    let changed = definitions::DEFAULT.replacen("\nversion = 1\n", "\nversion = 2\n", 1);
    desk.apply(&changed).await;
    let diff = desk.get("/v1/revisions/diff").await;
    assert_eq!((&diff.body["from"], &diff.body["to"]), (&json!(1), &json!(2)), "{}", diff.body);
    let expected = json!([{"section": "policies", "name": "invoice", "change": "changed",
                           "members": [{"member": "version", "before": 1, "after": 2}]}]);
    assert_eq!(diff.body["changes"], expected);
    assert_eq!(diff.body["affected_tasks"], json!(["invoice"]));
    let back = desk.get("/v1/revisions/diff?from=2&to=1").await;
    assert_eq!(back.body["changes"][0]["members"][0]["after"], 1);
    assert_eq!(desk.get("/v1/revisions/diff?from=2&to=2").await.body["changes"], json!([]));
    assert_eq!(desk.get("/v1/revisions/diff?from=2&to=9").await.code(), "not_found");
    assert_eq!(desk.get("/v1/revisions/diff?to=1").await.code(), "invalid_parameter");
}

#[tokio::test]
async fn two_operators_do_not_overwrite_each_other() {
    let desk = Desk::new().await;
    assert_eq!(desk.send("/v1/revisions", Some("\"1\""), &with("# anna")).await.status, StatusCode::CREATED);
    let late = desk.send("/v1/revisions", Some("\"1\""), &with("# ben")).await;
    assert_eq!((late.status, late.code()), (StatusCode::CONFLICT, "conflict"));
    let detail = late.body["detail"].as_str().unwrap();
    assert!(detail.starts_with("revision 2 is active, not 1: `test` applied it at "), "{detail}");
    assert_eq!(desk.active().await, 2);
    // The first one again, after a lost answer: what was asked for is so.
    assert_eq!(desk.send("/v1/revisions", Some("\"1\""), &with("# anna")).await.status, StatusCode::OK);
    let back = desk.send("/v1/revisions/1/rollback", Some("\"1\""), "").await;
    assert_eq!(back.code(), "conflict");
}

#[tokio::test]
async fn a_rollback_is_a_new_revision_with_an_old_text() {
    let desk = Desk::new().await;
    desk.apply(&with(POOL)).await;
    let tried = desk.send("/v1/revisions/1/rollback?dry_run=true", None, "").await;
    assert_eq!(tried.body["diff"]["changes"][0]["change"], "removed", "{}", tried.body);
    let back = desk.bench.post(&desk.root, "/v1/revisions/1/rollback", &json!({"comment": "too many"})).await;
    assert_eq!((back.status, &back.body["number"]), (StatusCode::CREATED, &json!(3)), "{}", back.body);
    assert_eq!(back.body["comment"], "rollback to revision 1: too many");
    assert_eq!(back.body["source"], definitions::DEFAULT);
    assert!(!desk.bench.app.revisions.active().definitions.pools.contains_key("spare"));
    let audited = desk.newest_audit().await;
    assert_eq!((&audited["action"], &audited["subject"]), (&json!("revision.rollback"), &json!("3")));
    assert_eq!((&audited["before"]["number"], &audited["after"]["rolled_back_to"]), (&json!(2), &json!(1)));
    let again = desk.send("/v1/revisions/1/rollback", None, "").await;
    assert_eq!((again.status, &again.body["number"]), (StatusCode::OK, &json!(3)));
    assert_eq!(desk.send("/v1/revisions/9/rollback", None, "").await.code(), "not_found");
}

#[tokio::test]
async fn a_rollback_to_what_this_build_can_not_use_says_why() {
    let desk = Desk::new().await;
    // As a store of another build would hold it.
    let revision = NewRevision::of("[tasks.old]\nkind = \"agent\"\n", Actor::program());
    desk.bench.app.store.apply_revision(revision).await.unwrap();
    let refused = desk.send("/v1/revisions/2/rollback", None, "").await;
    assert_eq!((refused.status, refused.code()), (StatusCode::CONFLICT, "conflict"));
    let detail = refused.body["detail"].as_str().unwrap();
    assert!(
        detail.starts_with("this build can't use the definitions of revision 2; the first: "),
        "{detail}"
    );
    assert_eq!(refused.body["errors"][0]["line"], 2, "{}", refused.body);
}

#[tokio::test]
async fn bad_definitions_are_refused_as_a_whole_with_their_lines() {
    let desk = Desk::new().await;
    assert!(definitions::BAD.len() >= 30);
    for (from, to, said) in definitions::BAD {
        let refused = desk.apply(&definitions::BASE.replace(from, to)).await;
        assert_eq!((refused.status, refused.code()), (StatusCode::BAD_REQUEST, "invalid_member"), "{said}");
        let errors = refused.body["errors"].as_array().unwrap();
        assert_eq!(errors.len(), said.lines().count(), "{said}\n{}", refused.body);
        for (error, said) in errors.iter().zip(said.lines()) {
            let line = format!("line {}", error["line"]);
            let told = [":", ","].iter().any(|end| said.contains(&format!("{line}{end}")));
            assert!(told && error["column"].as_u64() >= Some(1), "{said}\n{error}");
        }
        assert_eq!(desk.active().await, 1, "the old revision stays: {said}");
    }
    assert_eq!(desk.get("/v1/revisions").await.body["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn only_admins_of_the_installation_see_and_change_definitions() {
    let desk = Desk::new().await;
    let acme = desk.bench.key("acme", &[Scope::Admin]).await;
    let paths =
        ["/v1/revisions", "/v1/revisions/1", "/v1/revisions/1/source", "/v1/revisions/diff?from=1&to=1"];
    for path in paths {
        assert_eq!(desk.bench.get(&acme, path).await.code(), "forbidden", "{path}");
    }
    for path in ["/v1/revisions", "/v1/revisions?dry_run=true", "/v1/revisions/1/rollback"] {
        assert_eq!(desk.bench.post(&acme, path, &json!({"source": ""})).await.code(), "forbidden", "{path}");
    }
}
