//! What a bucket promises where the service or the way to it misbehaves.

use std::time::{Duration, Instant};

use forebay_core::digest::Digest;
use forebay_store::StoreError;
use forebay_store::blob::s3::{KeySource, Limits, S3Blobs, S3Bucket};
use forebay_store::blob::{BLOB_BYTES, Blobs, probe};

use crate::bucket::{bucket, http};
use crate::fake::{Fake, Reply, answer, error};

const IMPATIENT: Limits = Limits { answer: Duration::from_millis(100), total: Duration::from_millis(1_000) };

/// Blobs on a server of a test's own, with keys in a file.
struct Far {
    server: Fake,
    blobs: S3Blobs,
    keys: tempfile::TempDir,
}

async fn far(reply: impl Fn(&crate::fake::Asked, usize) -> Reply + Send + Sync + 'static) -> Far {
    let server = Fake::start(reply).await;
    let keys = tempfile::tempdir().unwrap();
    let file = keys.path().join("credentials");
    std::fs::write(&file, credentials("first")).unwrap();
    let bucket = S3Bucket {
        name: "docs".to_owned(),
        prefix: "p".to_owned(),
        endpoint: Some(format!("http://{}", server.address)),
        region: "eu-test-1".to_owned(),
        in_host: false,
        keys: KeySource::File(file),
    };
    Far { blobs: S3Blobs::new(bucket, http(), Limits::default()).unwrap(), server, keys }
}

fn credentials(key: &str) -> String {
    format!("[default]\naws_access_key_id = {key}\naws_secret_access_key = of-{key}\n")
}

impl Far {
    fn methods(&self) -> Vec<String> {
        self.server.asked().iter().map(|asked| asked.method().to_owned()).collect()
    }
}

/// The message of a failure that may be over the next time.
fn unavailable<T: std::fmt::Debug>(failed: Result<T, StoreError>) -> String {
    match failed {
        Err(StoreError::Unavailable(message)) => message,
        other => panic!("{other:?}"),
    }
}

fn not_found() -> Reply {
    answer("404 Not Found", "", "")
}

fn head(bytes: usize, modified: &str) -> Reply {
    let answer = format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {bytes}\r\nETag: \"e\"\r\nLast-Modified: {modified}\r\n\r\n"
    );
    Reply::Bytes(answer.into())
}

const LONG_AGO: &str = "Thu, 01 Jan 2026 00:00:00 GMT";
const MODIFIED: &str = "ETag: \"e\"\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n";

#[tokio::test]
async fn a_put_asks_first_and_sends_what_it_signed() {
    let far = far(|asked, _| match asked.method() {
        "HEAD" => not_found(),
        _ => answer("200 OK", "ETag: \"e\"\r\n", ""),
    })
    .await;
    let digest = far.blobs.put(b"content".to_vec()).await.unwrap();
    assert_eq!(far.methods(), ["HEAD", "PUT"]);
    let put = &far.server.asked()[1];
    let name = digest.to_string();
    assert!(put.head.starts_with(&format!("PUT /docs/p/{}/{name} HTTP/1.1\r\n", &name[..2])), "{}", put.head);
    assert_eq!(put.body, b"content");
    assert_eq!(put.header("x-amz-content-sha256"), Some(name.as_str()));
    let signed = put.header("authorization").unwrap();
    assert!(signed.contains("Credential=first/") && signed.contains("/eu-test-1/s3/"), "{signed}");
}

#[tokio::test]
async fn what_is_there_is_not_sent_again_unless_it_is_old_or_cut() {
    // A date to come, by the server's clock, is as young as can be.
    const YOUNG: &str = "Tue, 01 Jan 2199 00:00:00 GMT";
    for (bytes, modified, expected) in
        [(7, YOUNG, &["HEAD"][..]), (7, LONG_AGO, &["HEAD", "PUT"]), (6, YOUNG, &["HEAD", "PUT"])]
    {
        let far = far(move |asked, _| match asked.method() {
            "HEAD" => head(bytes, modified),
            _ => answer("200 OK", "ETag: \"e\"\r\n", ""),
        })
        .await;
        far.blobs.put(b"content".to_vec()).await.unwrap();
        assert_eq!(far.methods(), expected, "{bytes} bytes of {modified}");
    }
}

#[tokio::test]
async fn the_name_of_the_bucket_may_stand_in_the_host() {
    let far = far(|_, _| answer("200 OK", MODIFIED, "content")).await;
    let address = far.server.address;
    let bucket = S3Bucket {
        name: "docs".to_owned(),
        prefix: String::new(),
        endpoint: Some(format!("http://s3.example:{}", address.port())),
        region: "eu-test-1".to_owned(),
        in_host: true,
        keys: KeySource::File(far.keys.path().join("credentials")),
    };
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).resolve("docs.s3.example", address);
    rustls::crypto::ring::default_provider().install_default().ok();
    let blobs = S3Blobs::new(bucket, http.build().unwrap(), Limits::default()).unwrap();
    blobs.get(Digest::of(b"content")).await.unwrap();
    let asked = &far.server.asked()[0];
    assert_eq!(asked.header("host"), Some(format!("docs.s3.example:{}", address.port()).as_str()));
    let name = Digest::of(b"content").to_string();
    assert!(asked.head.starts_with(&format!("GET /{}/{name} ", &name[..2])), "{}", asked.head);
}

#[tokio::test]
async fn keys_that_are_refused_are_named_with_the_setting() {
    let mut bucket = bucket().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("credentials");
    let KeySource::File(good) = bucket.bucket.keys else { panic!("keys are in a file") };
    let good = std::fs::read_to_string(good).unwrap();
    let forged = good.replace("secret_access_key = ", "secret_access_key = x");
    bucket.bucket.keys = KeySource::File(file.clone());
    let blobs = bucket.blobs();
    for (keys, code, setting) in [
        (credentials("AKIANOBODY"), "InvalidAccessKeyId", "blobs_credentials"),
        (forged, "SignatureDoesNotMatch", "blobs_credentials"),
        (good.replace("[default]", "[writer]").replace("[reader]", "[default]"), "AccessDenied", "put"),
        (
            good.replace("\n[reader]", "\naws_session_token = forged\n[reader]"),
            "InvalidToken",
            "blobs_credentials",
        ),
    ] {
        std::fs::write(&file, keys).unwrap();
        for failed in [unavailable(blobs.put(b"content".to_vec()).await), unavailable(probe(&blobs).await)] {
            assert!(failed.starts_with("the bucket `forebay` at http://127.0.0.1:"), "{failed}");
            assert!(failed.contains(code) && failed.contains(setting), "{failed}");
        }
    }
}

#[tokio::test]
async fn what_is_refused_is_not_tried_again() {
    let far = far(|asked, _| match asked.method() {
        "HEAD" => answer("403 Forbidden", "", ""),
        _ => error("403 Forbidden", "AccessDenied"),
    })
    .await;
    unavailable(far.blobs.put(b"content".to_vec()).await);
    unavailable(far.blobs.get(Digest::of(b"content")).await);
    unavailable(far.blobs.list(None, 1).await);
    assert_eq!(far.methods(), ["HEAD", "PUT", "GET", "GET"]);
}

#[tokio::test]
async fn without_keys_nothing_is_asked() {
    let far = far(|_, _| not_found()).await;
    std::fs::remove_file(far.keys.path().join("credentials")).unwrap();
    let failed = unavailable(far.blobs.put(b"content".to_vec()).await);
    assert!(failed.contains("which holds the keys of the bucket, can't be read"), "{failed}");
    assert_eq!(far.methods(), [""; 0]);
}

#[tokio::test]
async fn rotated_keys_are_used_at_once() {
    let far = far(|_, _| error("404 Not Found", "NoSuchKey")).await;
    let digest = Digest::of(b"content");
    assert_eq!(far.blobs.get(digest).await.unwrap(), None);
    std::fs::write(far.keys.path().join("credentials"), credentials("second")).unwrap();
    assert_eq!(far.blobs.get(digest).await.unwrap(), None);
    let asked = far.server.asked();
    let key = |at: usize| asked[at].header("authorization").unwrap().split(['=', '/']).nth(1).unwrap();
    assert_eq!((key(0), key(1)), ("first", "second"));
}

#[tokio::test]
async fn a_bucket_that_is_not_there_is_no_absent_blob() {
    let mut absent = bucket().await;
    absent.bucket.name = "forebay-not-there".to_owned();
    let blobs = absent.blobs();
    for failed in [
        unavailable(blobs.put(b"content".to_vec()).await),
        unavailable(blobs.get(Digest::of(b"content")).await),
        unavailable(blobs.list(None, 1).await),
        unavailable(probe(&blobs).await),
    ] {
        assert!(failed.contains("`forebay-not-there`") && failed.contains("no such bucket"), "{failed}");
    }
}

#[tokio::test]
async fn a_service_that_is_down_is_named() {
    let mut down = bucket().await;
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    down.bucket.endpoint = Some(format!("http://127.0.0.1:{port}"));
    let blobs = S3Blobs::new(down.bucket.clone(), http(), IMPATIENT).unwrap();
    for failed in [
        unavailable(blobs.put(b"content".to_vec()).await),
        unavailable(blobs.get(Digest::of(b"content")).await),
    ] {
        let says_why = failed.contains("refused") || failed.contains("it was not done within 1000 ms");
        assert!(failed.contains(&port.to_string()) && says_why, "{failed}");
    }
}

#[tokio::test]
async fn a_service_that_never_answers_is_given_up() {
    let far = far(|_, _| Reply::Hang(Vec::new())).await;
    let blobs = S3Blobs::new(bucket_of(&far), http(), IMPATIENT).unwrap();
    let began = Instant::now();
    let failed = unavailable(blobs.get(Digest::of(b"content")).await);
    assert!(failed.contains("within 1000 ms") || failed.contains("no answer within 100 ms"), "{failed}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let tries = far.methods().len();
    assert!((2..=7).contains(&tries), "{tries}");
}

#[tokio::test]
async fn an_answer_that_stalls_is_given_up() {
    let far = far(|_, _| {
        Reply::Hang(format!("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n{MODIFIED}\r\ncont").into_bytes())
    })
    .await;
    let blobs = S3Blobs::new(bucket_of(&far), http(), IMPATIENT).unwrap();
    let began = Instant::now();
    let failed = unavailable(blobs.get(Digest::of(b"content")).await);
    assert!(failed.contains("it was not done within 1000 ms"), "{failed}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

fn bucket_of(far: &Far) -> S3Bucket {
    S3Bucket {
        name: "docs".to_owned(),
        prefix: "p".to_owned(),
        endpoint: Some(format!("http://{}", far.server.address)),
        region: "eu-test-1".to_owned(),
        in_host: false,
        keys: KeySource::File(far.keys.path().join("credentials")),
    }
}

#[tokio::test]
async fn a_body_that_is_cut_is_read_on_from_there() {
    let far = far(|asked, _| match asked.header("range") {
        None => {
            Reply::Bytes(format!("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n{MODIFIED}\r\ncont").into_bytes())
        }
        Some(range) => {
            assert_eq!(range, "bytes=4-6");
            answer("206 Partial Content", &format!("Content-Range: bytes 4-6/7\r\n{MODIFIED}"), "ent")
        }
    })
    .await;
    assert_eq!(far.blobs.get(Digest::of(b"content")).await.unwrap(), Some(b"content".to_vec()));
    assert_eq!(far.methods(), ["GET", "GET"]);
}

#[tokio::test]
async fn a_body_that_is_always_cut_is_no_blob() {
    let far = far(|_, _| {
        Reply::Bytes(format!("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n{MODIFIED}\r\ncont").into_bytes())
    })
    .await;
    let blobs = S3Blobs::new(bucket_of(&far), http(), IMPATIENT).unwrap();
    unavailable(blobs.get(Digest::of(b"content")).await);
    assert!(far.methods().len() <= 7);
}

#[tokio::test]
async fn more_than_any_blob_has_is_not_read() {
    let length = BLOB_BYTES + 1;
    let far = far(move |_, _| {
        Reply::Hang(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n{MODIFIED}\r\nx").into_bytes())
    })
    .await;
    let read = far.blobs.get(Digest::of(b"content")).await;
    assert!(matches!(read, Err(StoreError::Blob { .. })), "{read:?}");
}

#[tokio::test]
async fn a_service_that_is_busy_is_asked_again_and_not_for_ever() {
    let busy = far(|asked, number| match (number, asked.method()) {
        (0..=1, _) => error("503 Slow Down", "SlowDown"),
        (_, "HEAD") => not_found(),
        (3, _) => error("500 Internal Server Error", "InternalError"),
        _ => answer("200 OK", "ETag: \"e\"\r\n", ""),
    })
    .await;
    busy.blobs.put(b"content".to_vec()).await.unwrap();
    assert_eq!(busy.methods(), ["HEAD", "HEAD", "HEAD", "PUT", "PUT"]);

    let always = far(|_, _| error("503 Slow Down", "SlowDown")).await;
    let failed = unavailable(always.blobs.get(Digest::of(b"content")).await);
    assert!(failed.contains("SlowDown: because of SlowDown"), "{failed}");
    assert_eq!(always.methods().len(), 7, "the first try and six more");
}

#[tokio::test]
async fn a_redirect_to_another_region_is_not_followed() {
    let far = far(|_, _| {
        let elsewhere = "Location: http://127.0.0.1:1/\r\n";
        answer("301 Moved Permanently", elsewhere, "")
    })
    .await;
    let failed = unavailable(far.blobs.get(Digest::of(b"content")).await);
    assert!(failed.contains("301"), "{failed}");
    assert_eq!(far.methods(), ["GET"]);
}

#[tokio::test]
async fn a_connection_that_breaks_is_made_anew() {
    let far = far(|_, number| match number {
        0 => Reply::Bytes(Vec::new()),
        _ => answer("200 OK", MODIFIED, "content"),
    })
    .await;
    assert_eq!(far.blobs.get(Digest::of(b"content")).await.unwrap(), Some(b"content".to_vec()));
    assert_eq!(far.methods(), ["GET", "GET"]);
}
