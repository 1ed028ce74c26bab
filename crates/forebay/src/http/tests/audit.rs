use super::*;
use crate::http::routes;

/// What a route that changes something leaves in the audit.
enum Decision {
    /// A record of this action.
    Audited(&'static str),
    /// None, and why not.
    Not(&'static str),
}
use Decision::{Audited, Not};

const SUBMISSION: &str = "work that was handed over: the job names its key, and the log has its history";

/// Every route that is not only for reading. A new one fails the test below until it stands here.
const DECISIONS: &[(&str, Decision)] = &[
    ("DELETE /v1/keys/{key_id}", Audited("key.revoke")),
    ("DELETE /v1/reviews/{job_id}/claim", Audited("review.release")),
    ("POST /v1/dead-letters/change", Audited("dead_letter.put")),
    ("POST /v1/dead-letters/replay", Audited("job.replay")),
    ("POST /v1/dead-letters/{job_id}", Audited("dead_letter.put")),
    ("POST /v1/documents", Not(SUBMISSION)),
    ("POST /v1/job-batches", Not(SUBMISSION)),
    ("POST /v1/job-batches/{batch_id}/cancel", Audited("batch.cancel")),
    ("POST /v1/jobs", Not(SUBMISSION)),
    ("POST /v1/jobs/{job_id}/cancel", Audited("job.cancel")),
    ("POST /v1/jobs/{job_id}/replay", Audited("job.replay")),
    ("POST /v1/keys", Audited("key.create")),
    ("POST /v1/reviews/{job_id}", Audited("review.correct")),
    ("POST /v1/reviews/{job_id}/claim", Audited("review.claim")),
    ("POST /v1/revisions", Audited("revision.apply")),
    ("POST /v1/revisions/{number}/rollback", Audited("revision.rollback")),
    ("PUT /v1/datasets/{name}", Audited("dataset.put")),
    ("PUT /v1/keys/{key_id}", Audited("key.put")),
    ("PUT /v1/tenants/{tenant}", Audited("tenant.put")),
];

#[test]
fn every_route_that_changes_something_has_a_decision_about_the_audit() {
    let mut changing: Vec<_> = routes()
        .iter()
        .filter(|route| route.method != http::Method::GET)
        .map(|route| format!("{} {}", route.method, route.path))
        .collect();
    changing.sort();
    let decided: Vec<_> = DECISIONS.iter().map(|(route, _)| (*route).to_owned()).collect();
    assert_eq!(changing, decided, "add the route to DECISIONS, and audit it unless there is a reason not to");
    for (route, decision) in DECISIONS {
        match decision {
            Audited(action) => {
                assert!(forebay_store::record::AuditAction::from_name(action).is_some(), "{route}: {action}");
            }
            Not(why) => assert!(why.len() > 20, "{route}: say why"),
        }
    }
}

/// Does one thing of each kind as `root`; gives a key that was made on the way.
async fn busy(bench: &Bench, root: &str) -> String {
    let made = bench.post(root, "/v1/keys", &json!({"name": "=erp", "scopes": ["read"]})).await;
    let key_id = made.body["key_id"].as_str().unwrap().to_owned();
    let limit = asked(root, "PUT", &format!("/v1/keys/{key_id}"));
    bench.send(limit.body(Body::from(r#"{"max_in_flight": 3}"#)).unwrap()).await;
    bench.send(asked(root, "DELETE", &format!("/v1/keys/{key_id}")).body(Body::empty()).unwrap()).await;
    bench.send(asked(root, "PUT", "/v1/tenants/acme").body(Body::from("{}")).unwrap()).await;
    let changed = format!("{}\n#", definitions::DEFAULT);
    let apply = asked(root, "POST", "/v1/revisions").header("content-type", "text/toml");
    bench.send(apply.body(Body::from(changed)).unwrap()).await;
    bench.post(root, "/v1/revisions/1/rollback", &json!({})).await;
    let job = bench.submit(root).await;
    bench.post(root, &format!("/v1/jobs/{job}/cancel"), &json!({})).await;
    key_id
}

fn actions(answer: &Answer) -> Vec<&str> {
    answer.body["data"].as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect()
}

const BUSY: [&str; 7] = [
    "job.cancel",
    "revision.rollback",
    "revision.apply",
    "tenant.put",
    "key.revoke",
    "key.put",
    "key.create",
];

#[tokio::test]
async fn what_was_done_is_listed_with_who_did_it() {
    let bench = Bench::new().await;
    let root = bench.key("default", &[Scope::Admin]).await;
    let key_id = busy(&bench, &root).await;
    let list = bench.get(&root, "/v1/audit").await;
    assert_eq!(actions(&list)[..7], BUSY, "newest first");
    let revoked = &list.body["data"][4];
    assert_eq!((&revoked["subject"], &revoked["tenant"]), (&json!(key_id), &json!("default")));
    assert_eq!(revoked["actor"]["name"], "test");
    assert!(revoked["before"].is_object() && revoked["after"]["revoked_at"].is_string(), "{revoked}");
    assert!(list.body["data"][1].get("tenant").is_none(), "definitions are the installation's affair");
    let text = String::from_utf8(list.bytes.clone()).unwrap();
    assert!(!text.contains("fbk_") || !text.contains(&root), "no key is shown");
}

#[tokio::test]
async fn records_are_found_by_what_is_asked() {
    let bench = Bench::new().await;
    let root = bench.key("default", &[Scope::Admin]).await;
    let key_id = busy(&bench, &root).await;
    let found = async |filter: &str| {
        let answer = bench.get(&root, &format!("/v1/audit?{filter}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        actions(&answer).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found(&format!("subject={key_id}")).await, ["key.revoke", "key.put", "key.create"]);
    assert_eq!(found("action=revision.rollback").await, ["revision.rollback"]);
    let me = bench.get(&root, "/v1/audit?limit=1").await.body["data"][0]["actor"]["key_id"].clone();
    assert_eq!(found(&format!("key={}", me.as_str().unwrap())).await, BUSY);
    assert_eq!(found("tenant=acme").await, ["tenant.put"]);
    assert_eq!(found("since=2999-01-01T00:00:00Z").await, [""; 0]);
    assert_eq!(found("until=1999-01-01T00:00:00Z").await, [""; 0]);
    for refused in ["action=key.made", "key=erp", "since=yesterday", "limit=201", "sort=asc", "cursor=7"] {
        let answer = bench.get(&root, &format!("/v1/audit?{refused}")).await;
        assert_eq!(answer.code(), "invalid_parameter", "{refused}");
    }
    assert_eq!(bench.get(&root, "/v1/audit?tenant=nobody").await.code(), "not_found");
}

#[tokio::test]
async fn a_tenants_admin_sees_its_own_affairs() {
    let bench = Bench::new().await;
    let root = bench.key("default", &[Scope::Admin]).await;
    busy(&bench, &root).await;
    let acme = bench.key("acme", &[Scope::Admin]).await;
    let list = bench.get(&acme, "/v1/audit").await;
    assert_eq!(actions(&list), ["key.create", "tenant.put"]);
    assert_eq!(bench.get(&acme, "/v1/audit?tenant=default").await.code(), "not_found");
    assert_eq!(actions(&bench.get(&acme, "/v1/audit?tenant=acme").await), ["key.create", "tenant.put"]);
    let export = String::from_utf8(bench.get(&acme, "/v1/audit/export").await.bytes).unwrap();
    assert_eq!(export.lines().count(), 2);
    let reader = bench.key("acme", &[Scope::Read, Scope::Operate]).await;
    assert_eq!(bench.get(&reader, "/v1/audit").await.code(), "forbidden");
}

#[tokio::test]
async fn pages_and_export_hold_each_record_once() {
    let bench = Bench::new().await;
    let root = bench.key("default", &[Scope::Admin]).await;
    for nth in 0..450 {
        let settings = TenantSettings { max_in_flight: Some(nth), ..TenantSettings::default() };
        bench.app.store.put_tenant("acme".to_owned(), settings, Actor::program()).await.unwrap();
    }
    let mut paged = Vec::new();
    let mut path = "/v1/audit?tenant=acme&limit=200".to_owned();
    loop {
        let page = bench.get(&root, &path).await;
        let entries = page.body["data"].as_array().unwrap();
        paged.extend(entries.iter().map(|entry| entry["number"].as_i64().unwrap()));
        let Some(link) = page.header("link") else { break };
        path = link.trim_start_matches('<').split('>').next().unwrap().to_owned();
    }
    assert_eq!(paged.len(), 450);
    assert!(paged.is_sorted_by(|one, next| one > next));

    let lines = bench.get(&root, "/v1/audit/export?tenant=acme").await;
    assert_eq!(lines.header("content-type"), Some("application/jsonl"));
    let lines = String::from_utf8(lines.bytes).unwrap();
    let exported: Vec<_> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["number"].as_i64().unwrap())
        .collect();
    assert_eq!(exported, paged);
    let csv = bench.get(&root, "/v1/audit/export?tenant=acme&format=csv").await;
    let csv = String::from_utf8(csv.bytes).unwrap();
    assert_eq!(csv.matches("\r\n").count(), 451);
    assert!(csv.starts_with("number,at,tenant,actor_key,"), "{}", &csv[..100]);
    assert_eq!(bench.get(&root, "/v1/audit/export?format=xml").await.code(), "invalid_parameter");
    assert_eq!(bench.get(&root, "/v1/audit/export?limit=5").await.code(), "invalid_parameter");
}
