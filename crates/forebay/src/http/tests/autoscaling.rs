//! How many workers are worth running.

use forebay_core::attempt::Outcome;
use forebay_core::failure::FailureClass;
use forebay_core::job::Failure;
use forebay_store::record::{Actor, Scope, TenantSettings, Then};
use serde_json::{Value, json};

use super::Bench;

impl Bench {
    async fn scaling(&self, key: &str, query: &str) -> Value {
        let answer = self.get(key, &format!("/v1/autoscaling/workers{query}")).await;
        assert_eq!(answer.status, http::StatusCode::OK, "{}", answer.body);
        answer.body
    }
}

async fn run_one(bench: &Bench) {
    let failure = Failure::new(FailureClass::ProviderError, "it went wrong");
    bench.commit_one(Outcome::FailedAfterSend, Then::FailJob { entry: None, failure }).await;
}

#[tokio::test]
async fn nothing_to_do_needs_no_worker() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Operate]).await;
    let scaling = bench.scaling(&key, "").await;
    assert_eq!(
        (&scaling["desired"], &scaling["runnable"], &scaling["calls"]),
        (&json!(0), &json!(0), &json!(0))
    );
    assert_eq!(scaling.get("oldest_age_seconds"), None);
    assert_eq!((&scaling["slots"], &scaling["slots_from"]), (&json!(256), &json!("configuration")));
    let pool = &scaling["pools"][0];
    assert_eq!((&pool["pool"], &pool["bound_by"]), (&json!("openai"), &json!("nothing")));
    assert_eq!((pool.get("mean_ms"), &pool["measured_calls"]), (None, &json!(0)), "nothing is made up");
}

#[tokio::test]
async fn a_first_worker_brings_the_figures_for_more() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Operate, Scope::Submit]).await;
    for _ in 0..6 {
        bench.submit(&key).await;
    }
    let scaling = bench.scaling(&key, "?slots=2").await;
    assert_eq!((&scaling["desired"], &scaling["runnable"]), (&json!(1), &json!(6)));
    assert!(scaling["oldest_age_seconds"].as_f64().unwrap() >= 0.0);
    let pool = &scaling["pools"][0];
    assert_eq!((&pool["bound_by"], &pool["needed_calls"]), (&json!("unmeasured"), &json!(1)));

    run_one(&bench).await;
    let scaling = bench.scaling(&key, "?slots=2&drain_ms=1000").await;
    let pool = &scaling["pools"][0];
    assert_eq!((&pool["bound_by"], &pool["measured_calls"]), (&json!("backlog"), &json!(1)));
    assert!(pool["mean_ms"].as_i64().unwrap() >= 1 && pool["mean_tokens"].as_u64().unwrap() > 0, "{pool}");
    assert!(scaling["provider_headroom"].as_f64().unwrap() > 0.0, "{scaling}");
}

#[tokio::test]
async fn tenants_that_may_not_call_need_no_worker() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Operate]).await;
    let acme = bench.key("acme", &[Scope::Submit]).await;
    let none = TenantSettings { max_in_flight: Some(0), ..TenantSettings::default() };
    bench.app.store.put_tenant("acme".to_owned(), none, Actor::program()).await.unwrap();
    bench.submit(&acme).await;
    let scaling = bench.scaling(&key, "").await;
    let pool = &scaling["pools"][0];
    assert_eq!((&pool["waiting"], &pool["runnable"], &scaling["desired"]), (&json!(1), &json!(0), &json!(0)));
}

#[tokio::test]
async fn a_pool_or_a_task_is_asked_about() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Operate, Scope::Submit]).await;
    bench.submit(&key).await;
    for (query, runnable) in
        [("?task=chat", 1), ("?task=invoice", 0), ("?pool=openai", 1), ("?pool=openai&task=chat", 1)]
    {
        let scaling = bench.scaling(&key, query).await;
        let pools: Vec<_> = scaling["pools"].as_array().unwrap().iter().map(|pool| &pool["pool"]).collect();
        assert_eq!((&scaling["runnable"], pools), (&json!(runnable), vec![&json!("openai")]), "{query}");
    }
}

#[tokio::test]
async fn workers_say_how_many_calls_they_hold() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Operate]).await;
    bench.report_a_worker().await;
    let scaling = bench.scaling(&key, "").await;
    assert_eq!((&scaling["slots"], &scaling["slots_from"]), (&json!(7), &json!("workers")));
    let told = bench.scaling(&key, "?slots=3").await;
    assert_eq!((&told["slots"], &told["slots_from"]), (&json!(3), &json!("parameter")));
}

#[tokio::test]
async fn what_is_not_known_is_refused() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Operate]).await;
    for (query, code) in [
        ("pool=none", "not_found"),
        ("task=none", "not_found"),
        ("task=", "not_found"),
        ("drain_ms=999", "invalid_parameter"),
        ("drain_ms=soon", "invalid_parameter"),
        ("slots=0", "invalid_parameter"),
        ("slots=-1", "invalid_parameter"),
        ("queue=chat", "invalid_parameter"),
    ] {
        assert_eq!(
            bench.get(&key, &format!("/v1/autoscaling/workers?{query}")).await.code(),
            code,
            "{query}"
        );
    }
    let reader = bench.key("default", &[Scope::Read]).await;
    assert_eq!(bench.get(&reader, "/v1/autoscaling/workers").await.code(), "forbidden");
}
