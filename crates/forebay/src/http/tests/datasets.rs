use forebay_core::digest::Digest;
use forebay_core::limits::DATASET_BYTES;

use super::*;

const SCOPES: [Scope; 3] = [Scope::Operate, Scope::Read, Scope::Inspect];
const SUPPLIERS: &str = "name;iban\nCoolblue B.V.;NL91ABNA0417164300\n";

async fn put(bench: &Bench, key: &str, media_type: &str, body: impl Into<Body>) -> Answer {
    put_if(bench, key, media_type, body, "x-nothing", "").await
}

async fn put_if(
    bench: &Bench,
    key: &str,
    media_type: &str,
    body: impl Into<Body>,
    condition: &str,
    value: &str,
) -> Answer {
    let request = asked(key, "PUT", "/v1/datasets/suppliers").header("content-type", media_type);
    bench.send(request.header(condition, value).body(body.into()).unwrap()).await
}

#[tokio::test]
async fn a_dataset_has_versions_and_its_content_has_the_digest_that_it_says() {
    let bench = Bench::new().await;
    let key = bench.key("default", &SCOPES).await;
    let first = put(&bench, &key, "text/csv; charset=utf-8", SUPPLIERS).await;
    assert_eq!(first.status, StatusCode::CREATED, "{}", first.body);
    assert_eq!(
        (first.header("etag"), first.header("location")),
        (Some("\"1\""), Some("/v1/datasets/suppliers"))
    );
    assert_eq!((&first.body["rows"], &first.body["columns"]), (&json!(1), &json!(["iban", "name"])));

    let as_json = json!([{"name": "Coolblue B.V.", "iban": "NL91ABNA0417164300"}]).to_string();
    let same = put(&bench, &key, "application/json", as_json).await;
    assert_eq!((same.status, same.header("etag"), &same.body), (StatusCode::OK, Some("\"1\""), &first.body));
    let second = put(&bench, &key, "text/csv", "name\nAcme\n").await;
    assert_eq!((second.status, second.header("etag")), (StatusCode::CREATED, Some("\"2\"")));

    let list = bench.get(&key, "/v1/datasets").await;
    assert_eq!(list.body["data"], json!([second.body]));
    let one = bench.get(&key, "/v1/datasets/suppliers").await;
    assert_eq!((&one.body["version"], one.header("etag")), (&json!(2), Some("\"2\"")));
    assert_eq!(one.body["versions"], json!([second.body, first.body]));
    for (query, version) in [("", &second), ("?version=1", &first), ("?version=2", &second)] {
        let content = bench.get(&key, &format!("/v1/datasets/suppliers/content{query}")).await;
        assert_eq!(Digest::of(&content.bytes).to_string(), version.body["digest"].as_str().unwrap());
        assert_eq!(content.header("etag"), version.header("etag"));
        assert!(content.header("content-disposition").unwrap().starts_with("attachment"));
    }
    assert_eq!(bench.get(&key, "/v1/datasets/suppliers/content?version=3").await.code(), "not_found");
    assert_eq!(bench.get(&key, "/v1/datasets/suppliers/content?version=0").await.code(), "invalid_parameter");
}

#[tokio::test]
async fn what_is_refused_leaves_no_content() {
    let bench = Bench::new().await;
    let key = bench.key("default", &SCOPES).await;
    put(&bench, &key, "text/csv", SUPPLIERS).await;
    let blobs = || {
        let folders = std::fs::read_dir(bench._folder.path().join("blobs")).unwrap();
        folders
            .map(|folder| std::fs::read_dir(folder.unwrap().path()).map_or(1, Iterator::count))
            .sum::<usize>()
    };
    let before = blobs();
    let moved = put_if(&bench, &key, "text/csv", "name\nAcme\n", "if-match", "\"7\"").await;
    assert_eq!((moved.status, moved.code()), (StatusCode::CONFLICT, "conflict"), "{}", moved.body);
    assert_eq!(blobs(), before);
    let right = put_if(&bench, &key, "text/csv", "name\nAcme\n", "if-match", "\"1\"").await;
    assert_eq!((right.status, blobs()), (StatusCode::CREATED, before + 1));
}

/// I27: also for master data.
#[tokio::test]
async fn another_tenant_sees_nothing_of_it() {
    let bench = Bench::new().await;
    let (key, other) = (bench.key("default", &SCOPES).await, bench.key("acme", &SCOPES).await);
    put(&bench, &key, "text/csv", SUPPLIERS).await;
    assert_eq!(bench.get(&other, "/v1/datasets").await.body["data"], json!([]));
    assert_eq!(bench.get(&other, "/v1/datasets/suppliers").await.code(), "not_found");
    assert_eq!(bench.get(&other, "/v1/datasets/suppliers/content").await.code(), "not_found");
    let theirs = put(&bench, &other, "text/csv", SUPPLIERS).await;
    assert_eq!((theirs.status, &theirs.body["version"]), (StatusCode::CREATED, &json!(1)));
}

#[tokio::test]
async fn faults_are_told_with_their_places_and_nothing_is_stored() {
    let bench = Bench::new().await;
    let key = bench.key("default", &SCOPES).await;
    let refused = put(&bench, &key, "text/csv", "a,b\n1\n1,2\n1,2,3\n").await;
    assert_eq!((refused.status, refused.code()), (StatusCode::BAD_REQUEST, "invalid_member"));
    let places = |answer: &Answer| -> Vec<Value> {
        let items = answer.body["errors"].as_array().unwrap();
        items.iter().map(|item| json!([item["line"], item["column"], item["pointer"]])).collect()
    };
    assert_eq!(places(&refused), [json!([2, 1, null]), json!([4, 1, null])]);
    let refused = put(&bench, &key, "application/json", r#"[{"a": 1}, {"a": true}]"#).await;
    assert_eq!((refused.code(), places(&refused)), ("invalid_member", vec![json!([1, 21, "/1/a"])]));
    for (media_type, body) in [("text/csv", "\u{fffd}\"\n"), ("application/json", "{}"), ("text/csv", "")] {
        assert_eq!(put(&bench, &key, media_type, body).await.code(), "invalid_member", "{body}");
    }
    assert_eq!(put(&bench, &key, "text/plain", SUPPLIERS).await.code(), "unsupported_media_type");
    let request = asked(&key, "PUT", "/v1/datasets/Suppliers").header("content-type", "text/csv");
    assert_eq!(bench.send(request.body(Body::from(SUPPLIERS)).unwrap()).await.code(), "invalid_parameter");
    assert_eq!(bench.get(&key, "/v1/datasets").await.body["data"], json!([]));
}

#[tokio::test]
async fn a_change_may_be_bound_to_what_was_seen() {
    let bench = Bench::new().await;
    let key = bench.key("default", &SCOPES).await;
    let none = put_if(&bench, &key, "text/csv", SUPPLIERS, "if-match", "\"1\"").await;
    assert_eq!((none.status, none.code()), (StatusCode::CONFLICT, "conflict"));
    let put_if =
        |body: &'static str, condition, value| put_if(&bench, &key, "text/csv", body, condition, value);
    assert_eq!(put_if(SUPPLIERS, "x-nothing", "").await.status, StatusCode::CREATED);
    assert_eq!(put_if("a\n1\n", "if-match", "\"1\"").await.status, StatusCode::CREATED);
    assert_eq!(put_if("a\n2\n", "if-match", "\"1\"").await.code(), "conflict");
    assert_eq!(put_if("a\n2\n", "if-match", "2").await.code(), "invalid_parameter");
}

#[tokio::test]
async fn a_dataset_may_have_n_bytes_and_not_one_more() {
    let bench = Bench::new().await;
    let key = bench.key("default", &SCOPES).await;
    let lines = |bytes: usize| "a\n1\n".to_owned() + &"\n".repeat(bytes - 4);
    assert_eq!(put(&bench, &key, "text/csv", lines(DATASET_BYTES)).await.status, StatusCode::CREATED);
    let refused = put(&bench, &key, "text/csv", lines(DATASET_BYTES + 1)).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::PAYLOAD_TOO_LARGE, "too_large"));
}
