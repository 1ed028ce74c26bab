use super::*;

const SCOPES: [Scope; 2] = [Scope::Submit, Scope::Read];

async fn upload(bench: &Bench, key: &str, media_type: &str, body: &'static str) -> Answer {
    let request = asked(key, "POST", "/v1/documents").header("content-type", media_type);
    bench.send(request.body(Body::from(body)).unwrap()).await
}

#[tokio::test]
async fn a_document_is_known_by_its_bytes_and_stays_an_attachment() {
    let bench = Bench::new().await;
    let key = bench.key("default", &SCOPES).await;
    let new = upload(&bench, &key, "text/html", "<script>").await;
    assert_eq!((new.status, &new.body["bytes"]), (StatusCode::CREATED, &json!(8)), "{}", new.body);
    assert_eq!(upload(&bench, &key, "text/html", "<script>").await.status, StatusCode::OK);
    let id = new.body["document_id"].as_str().unwrap();
    assert_eq!(new.header("location"), Some(format!("/v1/documents/{id}").as_str()));
    let content = bench.get(&key, &format!("/v1/documents/{id}/content")).await;
    assert_eq!(content.bytes, b"<script>");
    assert_eq!(content.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(content.header("content-security-policy"), Some("sandbox; default-src 'none'"));
    assert!(content.header("content-disposition").unwrap().starts_with("attachment"));

    let other = bench.key("acme", &SCOPES).await;
    assert_eq!(bench.get(&other, &format!("/v1/documents/{id}")).await.code(), "not_found");
    assert_eq!(bench.get(&other, &format!("/v1/documents/{id}/content")).await.code(), "not_found");
    assert_eq!(upload(&bench, &other, "text/html", "<script>").await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn a_form_has_one_file() {
    let bench = Bench::new().await;
    let key = bench.key("default", &SCOPES).await;
    let form = "multipart/form-data; boundary=b";
    let one = "--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\
               content-type: text/plain\r\n\r\nhello\r\n--b--\r\n";
    let uploaded = upload(&bench, &key, form, one).await;
    assert_eq!(uploaded.status, StatusCode::CREATED, "{}", uploaded.body);
    assert_eq!((&uploaded.body["bytes"], &uploaded.body["media_type"]), (&json!(5), &json!("text/plain")));
    let other = "--b\r\ncontent-disposition: form-data; name=\"note\"\r\n\r\nhello\r\n--b--\r\n";
    assert_eq!(upload(&bench, &key, form, other).await.code(), "unknown_member");
    assert_eq!(upload(&bench, &key, form, "--b--\r\n").await.code(), "missing_member");
    assert_eq!(upload(&bench, &key, form, "--b\r\nnonsense").await.code(), "invalid_member");
    assert_eq!(upload(&bench, &key, "text/plain", "").await.code(), "invalid_member");
}

#[tokio::test]
async fn a_document_may_have_n_bytes_and_not_one_more() {
    let bench = Bench::new().await;
    let key = bench.key("default", &SCOPES).await;
    let send = async |length: usize| {
        let request = asked(&key, "POST", "/v1/documents").body(Body::from(vec![0; length])).unwrap();
        bench.send(request).await
    };
    let limit = 64 * 1024 * 1024;
    assert_eq!(send(limit).await.status, StatusCode::CREATED);
    let refused = send(limit + 1).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::PAYLOAD_TOO_LARGE, "too_large"));
}
