//! What is in force where when a new revision comes between acceptance, claims and steps.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::{Home, Server, data, definitions, simulator};
use crate::journey::eventually;

/// Definitions with another prompt, model, price and task settings than `definitions` gives, at `provider`.
fn second(provider: &str) -> String {
    definitions(provider, "max_in_flight = 7", "prompt = \"Second.\"")
        .replace("sim-small", "sim-second")
        .replace("input_micros_per_mtok = 1000000", "input_micros_per_mtok = 5000000")
        .replace("output_micros_per_mtok = 2000000", "output_micros_per_mtok = 9000000")
}

fn first(provider: &str) -> String {
    definitions(provider, "", "prompt = \"First.\"")
}

/// A server with the first definitions applied, whose tenant may call nobody until `go`.
async fn held(home: &Home, provider: &str) -> Server {
    let server = Server::start(home, provider);
    server.apply(&first(provider)).await;
    limit(&server, &json!({"max_in_flight": 0})).await;
    server
}

async fn limit(server: &Server, settings: &Value) {
    let put = server.request(Method::PUT, "/v1/tenants/default").json(settings).send().await.unwrap();
    assert!(put.status().is_success(), "{put:?}");
}

async fn go(server: &Server) {
    limit(server, &json!({})).await;
}

async fn explained(server: &Server, job_id: &str) -> Value {
    server.get(&format!("/v1/jobs/{job_id}/explain")).await["waiting_for"].clone()
}

async fn only_attempt(server: &Server, job_id: &str) -> Value {
    let attempts = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
    assert_eq!(data(&attempts).len(), 1, "{attempts}");
    data(&attempts)[0].clone()
}

/// What the call of an attempt costs at these prices in micro-units a token.
fn cost(attempt: &Value, input: i64, output: i64) -> i64 {
    let tokens = |name: &str| attempt["usage"][name].as_i64().unwrap();
    tokens("input_tokens") * input + tokens("output_tokens") * output
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_keeps_its_task_and_pays_the_price_of_its_start() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = held(&home, &sim.base_url()).await;
    let old = server.submit(&json!({"task": "chat", "input": {"prompt": "hi"}})).await;
    server.apply(&second(&sim.base_url())).await;
    let new = server.submit(&json!({"task": "chat", "input": {"prompt": "hi"}})).await;
    go(&server).await;
    let (old_job, new_job) = (server.settled(&old).await, server.settled(&new).await);
    assert_eq!((&old_job["state"], &old_job["revision"]), (&json!("SUCCEEDED"), &json!(2)), "{old_job}");
    assert_eq!((&new_job["state"], &new_job["revision"]), (&json!("SUCCEEDED"), &json!(3)), "{new_job}");
    let calls = sim.requests(0);
    let mut models: Vec<_> = calls.iter().filter_map(|call| call.model.as_deref()).collect();
    models.sort();
    assert_eq!(models, ["sim-second", "sim-small"], "each its own model");
    for job_id in [&old, &new] {
        let attempt = only_attempt(&server, job_id).await;
        assert_eq!(attempt["cost_micros"], cost(&attempt, 5, 9), "the price when it started: {attempt}");
    }
    let prompt = async |job_id: &str| {
        server.get(&format!("/v1/jobs/{job_id}/result")).await["provenance"]["prompt_sha256"].clone()
    };
    assert_ne!(prompt(&old).await, prompt(&new).await, "each its own prompt");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_goes_on_without_its_model_at_the_last_known_price() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = held(&home, &sim.base_url()).await;
    let job_id = server.submit(&json!({"task": "chat", "input": {"prompt": "hi"}})).await;
    server.apply(&second(&sim.base_url())).await;
    let renamed = first(&sim.base_url()).replace("[models.small]", "[models.other]");
    server.apply(&renamed.replace("model = \"small\"", "model = \"other\"")).await;
    go(&server).await;
    let job = server.settled(&job_id).await;
    assert_eq!(job["state"], "SUCCEEDED", "{job}");
    let attempt = only_attempt(&server, &job_id).await;
    assert_eq!(attempt["cost_micros"], cost(&attempt, 5, 9), "what revision 3 said last: {attempt}");
    assert_eq!(sim.requests(0)[0].model.as_deref(), Some("sim-small"), "its own revision's model");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_waits_for_its_pool_and_is_not_lost() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = held(&home, &sim.base_url()).await;
    let job_id = server.submit(&json!({"task": "chat", "input": {"prompt": "hi"}})).await;
    let elsewhere = first(&sim.base_url()).replace("[pools.main]", "[pools.spare]");
    server.apply(&elsewhere.replace("pool = \"main\"", "pool = \"spare\"")).await;
    go(&server).await;
    let waiting = explained(&server, &job_id).await;
    assert_eq!(waiting[0]["kind"], "paused", "{waiting}");
    assert!(waiting[0]["detail"].as_str().unwrap().contains("no pool `main`"), "{waiting}");
    // Others run meanwhile, and nobody can ask for what can't run.
    let other = server.submit(&json!({"task": "chat", "input": {"prompt": "hi"}})).await;
    assert_eq!(server.settled(&other).await["state"], "SUCCEEDED");
    let (status, refused) =
        server.post("/v1/jobs", &json!({"task": "chat@2", "input": {"prompt": "hi"}})).await;
    assert_eq!((status, &refused["code"]), (StatusCode::BAD_REQUEST, &json!("invalid_member")), "{refused}");
    assert_eq!(refused["errors"][0]["pointer"], "/task");
    assert_eq!(server.get(&format!("/v1/jobs/{job_id}")).await["state"], "READY");
    let (status, back) = server.post("/v1/revisions/2/rollback", &json!({})).await;
    assert_eq!((status, &back["number"]), (StatusCode::CREATED, &json!(4)), "{back}");
    assert_eq!(server.settled(&job_id).await["state"], "SUCCEEDED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_below_what_a_job_needs_holds_up_that_job_alone() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = held(&home, &sim.base_url()).await;
    let large = "word ".repeat(2_000);
    let stuck = server.submit(&json!({"task": "chat", "input": {"prompt": large}})).await;
    let small = server.submit(&json!({"task": "chat", "input": {"prompt": "hi"}})).await;
    server.apply(&definitions(&sim.base_url(), "tokens_per_minute = 1000", "prompt = \"First.\"")).await;
    go(&server).await;
    assert_eq!(server.settled(&small).await["state"], "SUCCEEDED");
    let waiting = explained(&server, &stuck).await;
    assert_eq!(waiting[0]["kind"], "pool_limit", "{waiting}");
    assert!(
        waiting[0]["detail"].as_str().unwrap().contains("more than 1000 (tokens_per_minute)"),
        "{waiting}"
    );
    assert_eq!(sim.requests(0).len(), 1);
    let (status, refused) =
        server.post("/v1/jobs", &json!({"task": "chat@2", "input": {"prompt": large}})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "today's limits, whatever the revision: {refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_between_two_steps_changes_price_and_place_but_not_the_task() {
    let answers = json!({"rules": [{"times": 1, "reply": "{}", "first_token_ms": 1500}, {"reply": "{}"}]});
    let (sim, other) = (simulator(&answers).await, simulator(&json!({"rules": [{"reply": "{}"}]})).await);
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let task = |provider: &str, word: &str| {
        definitions(provider, "", "").replace(
            "[tasks.chat]\nkind = \"llm\"",
            &format!(
                "[policies.p]\nversion = 1\n[tasks.chat]\nkind = \"extract\"\npolicy = \"p\"\n\
                 prompt = \"{word} {{{{ document }}}}\"\nschema = '{{\"type\": \"object\"}}'"
            ),
        )
    };
    server.apply(&task(&sim.base_url(), "First")).await;
    let job_id = server.submit(&json!({"task": "chat", "input": {"text": "hi"}})).await;
    eventually("the first step is under way", || sim.requests(0).len() == 1).await;
    let changed = task(&other.base_url(), "Second").replace("sim-small", "sim-second");
    server.apply(&changed.replace("micros_per_mtok = 1000000", "micros_per_mtok = 5000000")).await;
    let job = server.settled(&job_id).await;
    assert_eq!((&job["state"], &job["revision"]), (&json!("REVIEW_REQUIRED"), &json!(2)), "{job}");
    assert_eq!(other.requests(0)[0].model.as_deref(), Some("sim-small"), "its own model, at the new place");
    let attempts = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
    let costs: Vec<_> = data(&attempts).iter().map(|attempt| attempt["cost_micros"].clone()).collect();
    let (one, two) = (&data(&attempts)[0], &data(&attempts)[1]);
    assert_eq!(costs, [json!(cost(one, 1, 2)), json!(cost(two, 5, 2))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_between_two_tries_of_a_submit_is_no_conflict() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = held(&home, &sim.base_url()).await;
    let submit = async |key: &str, body: &Value| {
        let ask = server.request(Method::POST, "/v1/jobs").header("Idempotency-Key", key).json(body);
        let answer = ask.send().await.unwrap();
        let replayed = answer.headers().contains_key("idempotent-replayed");
        let status = answer.status();
        (status, replayed, answer.json::<Value>().await.unwrap()["job_id"].clone())
    };
    let body = json!({"task": "chat", "input": {"prompt": "a"}, "params": {"max_output_tokens": 90}});
    let pinned = json!({"task": "chat@2", "input": {"prompt": "a"}});
    let (first, first_pinned) = (submit("k-1", &body).await.2, submit("k-2", &pinned).await.2);
    let gone = second(&sim.base_url()).replace("[tasks.chat]", "[tasks.talk]");
    let smaller = second(&sim.base_url()).replace("max_output_tokens = 100\n", "max_output_tokens = 80\n");
    assert_ne!(smaller, second(&sim.base_url()));
    for later in [second(&sim.base_url()), smaller, gone] {
        server.apply(&later).await;
        assert_eq!(submit("k-1", &body).await, (StatusCode::ACCEPTED, true, first.clone()), "{later}");
        assert_eq!(submit("k-2", &pinned).await, (StatusCode::ACCEPTED, true, first_pinned.clone()));
    }
    let other = json!({"task": "chat@2", "input": {"prompt": "b"}});
    assert_eq!(submit("k-2", &other).await.0, StatusCode::CONFLICT);
    assert_eq!(submit("k-3", &body).await.0, StatusCode::BAD_REQUEST, "there is no such task any more");
}

/// A pool that a revision brings is at work at once, and not when somebody happens to look. Whoever looks once a second
/// would let nearly all of these wait for nearly a second, since each begins just after a look.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_pool_is_at_work_at_once() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let mut quickest = Duration::MAX;
    for nth in 0..5 {
        let with_pool = definitions(&sim.base_url(), "", "")
            .replace("[pools.main]", &format!("[pools.new{nth}]"))
            .replace("pool = \"main\"", &format!("pool = \"new{nth}\""));
        server.apply(&with_pool).await;
        let began = Instant::now();
        let job_id = server.submit(&json!({"task": "chat", "input": {"prompt": "Hello."}})).await;
        assert_eq!(server.settled(&job_id).await["state"], "SUCCEEDED");
        quickest = quickest.min(began.elapsed());
    }
    assert!(quickest < Duration::from_millis(500), "the quickest took {quickest:?}");
}
