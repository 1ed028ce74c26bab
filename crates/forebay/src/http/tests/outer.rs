use super::*;
use crate::http::api::Api;
use crate::http::outer::surround;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// 50,000 times `x` in JSON.
const BOMB: &str = "H4sIAAAAAAACA+3BAQkAQAgEsC4XwzbfQhC7fw/ZNnmpNAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAKdkP8YXB0tYwwAA";
/// `{"name":"a","scopes":["read"]}`
const SMALL: &str = "H4sIAAAAAAACA6tWykvMTVWyUkpU0lEqTs4vSC1WsopWKkpNTFGKrQUA8dNxxR4AAAA=";

#[tokio::test]
async fn every_answer_carries_the_id_of_its_request() {
    let bench = Bench::new().await;
    let mine = Request::get("/nothing").header("x-request-id", "mine-1").body(Body::empty()).unwrap();
    let answer = bench.send(mine).await;
    assert_eq!(answer.header("x-request-id"), Some("mine-1"));
    assert_eq!(answer.body["request_id"], "mine-1");
    let unsafe_id = Request::get("/livez").header("x-request-id", "a b").body(Body::empty()).unwrap();
    let made = bench.send(unsafe_id).await;
    assert!(made.header("x-request-id").unwrap().starts_with("req_"));
}

#[tokio::test]
async fn a_request_has_one_host() {
    let bench = Bench::new().await;
    let hosts = |count: usize| {
        let names = ["a.example", "b.example"].into_iter().take(count);
        names
            .fold(Request::get("/livez"), |request, name| request.header("host", name))
            .body(Body::empty())
            .unwrap()
    };
    assert_eq!(bench.send(hosts(1)).await.status, StatusCode::OK);
    let two = bench.send(hosts(2)).await;
    assert_eq!((two.status, two.code()), (StatusCode::BAD_REQUEST, "invalid_parameter"), "{}", two.body);
}

#[tokio::test]
async fn pools_say_whether_the_key_of_their_provider_is_found() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Admin]).await;
    let file = bench._folder.path().join("provider.key");
    let with_file = definitions::DEFAULT
        .replace("api_key_env = \"OPENAI_API_KEY\"", &format!("api_key_file = \"{}\"", file.display()));
    assert_ne!(with_file, definitions::DEFAULT);
    let apply = asked(&key, "POST", "/v1/revisions").header("content-type", "application/toml");
    let applied = bench.send(apply.body(Body::from(with_file)).unwrap()).await;
    assert_eq!(applied.status, StatusCode::CREATED, "{}", applied.body);
    let pool = async || bench.get(&key, "/v1/pools").await.body["data"][0].clone();
    let missing = pool().await;
    assert_eq!(missing["credential_found"], false, "{missing}");
    assert!(missing["credential_problem"].as_str().unwrap().contains("provider.key"), "{missing}");
    std::fs::write(&file, "sk-secret\n").unwrap();
    let found = pool().await;
    assert_eq!((&found["credential_found"], found.get("credential_problem")), (&json!(true), None));
    assert!(!found.to_string().contains("sk-secret"));
}

#[tokio::test]
async fn unknown_addresses_and_methods_are_problems() {
    let bench = Bench::new().await;
    let absent = bench.get("", "/v1/nothing").await;
    assert_eq!((absent.status, absent.code()), (StatusCode::NOT_FOUND, "not_found"));
    assert_eq!(absent.header("content-type"), Some("application/problem+json"));
    let wrong = bench.send(Request::delete("/v1/jobs").body(Body::empty()).unwrap()).await;
    assert_eq!((wrong.status, wrong.code()), (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"));
    let allow = wrong.header("allow").unwrap();
    assert!(allow.contains("GET") && allow.contains("POST"), "{allow}");
}

#[tokio::test]
async fn a_panic_is_a_problem_with_the_id_of_its_request() {
    let bench = Bench::new().await;
    let api = Api::new(bench.app.clone(), Arc::new(Door::new(bench.app.clone())));
    let boom: Router<Api> = Router::new().route("/boom", get(async || -> &'static str { panic!("secret") }));
    let router = surround(boom, &api).with_state(api);
    let request = Request::get("/boom").header("x-request-id", "mine-1").body(Body::empty()).unwrap();
    let answer = Answer::read(router.oneshot(request).await.unwrap()).await;
    assert_eq!((answer.status, answer.code()), (StatusCode::INTERNAL_SERVER_ERROR, "internal"));
    assert_eq!(answer.body["request_id"], "mine-1");
    assert!(!String::from_utf8(answer.bytes).unwrap().contains("secret"));
}

#[tokio::test]
async fn a_head_may_have_n_bytes_and_not_one_more() {
    let bench = Bench::new().await;
    // `GET /livez HTTP/1.1`, the name `x`, and what separates lines.
    let rest = 16 * 1024 - "GET /livez HTTP/1.1\r\nx: \r\n\r\n".len();
    let with =
        |length: usize| Request::get("/livez").header("x", "a".repeat(length)).body(Body::empty()).unwrap();
    assert_eq!(bench.send(with(rest)).await.status, StatusCode::OK);
    let refused = bench.send(with(rest + 1)).await;
    assert_eq!(refused.status, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    assert_eq!(refused.code(), "too_large");
}

#[tokio::test]
async fn bodies_may_be_compressed_within_the_ratio() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Admin]).await;
    let send = async |body: &str, encoding: &str| {
        let request = asked(&key, "POST", "/v1/keys").header("content-encoding", encoding);
        bench.send(request.body(Body::from(STANDARD.decode(body).unwrap())).unwrap()).await
    };
    assert_eq!(send(SMALL, "gzip").await.status, StatusCode::CREATED);
    let bomb = send(BOMB, "gzip").await;
    assert_eq!((bomb.status, bomb.code()), (StatusCode::PAYLOAD_TOO_LARGE, "too_large"));
    assert_eq!(send(SMALL, "br").await.code(), "unsupported_media_type");
    assert_eq!(send("AAAA", "gzip").await.code(), "invalid_json");
}

#[tokio::test]
async fn a_body_may_have_n_bytes_and_not_one_more() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit]).await;
    let limit = 4 * 1024 * 1024;
    let send = async |length: usize| {
        let request = asked(&key, "POST", "/v1/jobs").body(Body::from(vec![b' '; length])).unwrap();
        bench.send(request).await
    };
    assert_eq!(send(limit).await.code(), "invalid_json");
    let refused = send(limit + 1).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::PAYLOAD_TOO_LARGE, "too_large"));
}

#[tokio::test]
async fn media_types_are_negotiated() {
    let bench = Bench::new().await;
    let key = bench.key("default", &[Scope::Submit, Scope::Read]).await;
    let form = asked(&key, "POST", "/v1/jobs").header("content-type", "text/plain").body(Body::from("{}"));
    let answer = bench.send(form.unwrap()).await;
    assert_eq!(
        (answer.status, answer.code()),
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type")
    );
    let picky = asked(&key, "GET", "/v1/jobs").header("accept", "text/html").body(Body::empty()).unwrap();
    let answer = bench.send(picky).await;
    assert_eq!((answer.status, answer.code()), (StatusCode::NOT_ACCEPTABLE, "not_acceptable"));
}
