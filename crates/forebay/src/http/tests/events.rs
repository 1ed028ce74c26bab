use super::*;
use std::time::Duration;

use axum::body::BodyDataStream;
use futures_util::StreamExt as _;
use tokio::time::timeout;

/// A stream as its reader sees it.
struct Reader {
    body: BodyDataStream,
    text: String,
}

impl Reader {
    async fn open(bench: &Bench, key: &str, path: &str, cursor: Option<&str>) -> Self {
        let mut request = asked(key, "GET", path);
        if let Some(cursor) = cursor {
            request = request.header("last-event-id", cursor);
        }
        let response = bench.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        Self { body: response.into_body().into_data_stream(), text: String::new() }
    }

    /// The next block with an event in it; `None` at the end.
    async fn next(&mut self) -> Option<Block> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let block = Block::read(block);
                self.text = rest.to_owned();
                if !block.event.is_empty() {
                    return Some(block);
                }
                continue;
            }
            let chunk = timeout(Duration::from_secs(30), self.body.next()).await.unwrap()?.unwrap();
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    async fn rest(mut self) -> Vec<Block> {
        let mut blocks = Vec::new();
        while let Some(block) = self.next().await {
            blocks.push(block);
        }
        blocks
    }
}

#[derive(Debug, Default)]
struct Block {
    id: String,
    event: String,
    data: Value,
}

impl Block {
    fn read(text: &str) -> Self {
        let mut block = Self::default();
        for line in text.lines() {
            match line.split_once(": ") {
                Some(("id", id)) => block.id = id.to_owned(),
                Some(("event", event)) => block.event = event.to_owned(),
                Some(("data", data)) => block.data = serde_json::from_str(data).unwrap(),
                _ => {}
            }
        }
        block
    }
}

const ALL: [Scope; 3] = [Scope::Submit, Scope::Read, Scope::Operate];

#[tokio::test]
async fn a_jobs_stream_ends_with_the_job_and_is_resumed_by_cursor() {
    let bench = Bench::new().await;
    let key = bench.key("default", &ALL).await;
    let job = bench.submit(&key).await;
    let path = format!("/v1/jobs/{job}/events");
    let mut reader = Reader::open(&bench, &key, &path, None).await;
    let accepted = reader.next().await.unwrap();
    assert_eq!((accepted.event.as_str(), &accepted.data["subject"]), ("job.accepted", &json!(job)));
    bench.post(&key, &format!("/v1/jobs/{job}/cancel"), &Value::Null).await;
    let rest = reader.rest().await;
    let last = rest.last().unwrap();
    assert_eq!((last.event.as_str(), &last.data["data"]["state"]), ("job.cancelled", &json!("CANCELLED")));

    let resumed = Reader::open(&bench, &key, &path, Some(&accepted.id)).await.rest().await;
    assert_eq!(resumed.len(), rest.len());
    let after_the_end = Reader::open(&bench, &key, &path, Some(&last.id)).await.rest().await;
    assert!(after_the_end.is_empty(), "{after_the_end:?}");
}

#[tokio::test]
async fn a_tenants_stream_begins_now_and_sees_its_own() {
    let bench = Bench::new().await;
    let key = bench.key("default", &ALL).await;
    let other = bench.key("acme", &ALL).await;
    bench.submit(&key).await;
    let mut reader = Reader::open(&bench, &key, "/v1/events", None).await;
    // The opening frame fixes where the stream begins.
    let opening = reader.body.next().await.unwrap().unwrap();
    assert!(opening.starts_with(b"retry: 3000\nid: "));
    bench.submit(&other).await;
    let job = bench.submit(&key).await;
    assert_eq!(reader.next().await.unwrap().data["subject"], json!(job));
}

#[tokio::test]
async fn a_forged_cursor_is_refused_and_an_old_life_gets_a_snapshot() {
    let bench = Bench::new().await;
    let key = bench.key("default", &ALL).await;
    let job = bench.submit(&key).await;
    let path = format!("/v1/jobs/{job}/events");
    let refused = bench.get(&key, &format!("{path}?after=AAAA")).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::BAD_REQUEST, "invalid_parameter"));

    let mut origin = bench.app.store.origin();
    origin.incarnation.0 = origin.incarnation.0.wrapping_sub(1);
    let tenant = bench.app.store.tenant("default").await.unwrap().unwrap().id;
    let before = crate::http::cursor::Cursors::new(bench.app.store.cursor_secret(), origin);
    let cursor = before.write_place(tenant, forebay_store::record::Place::START);
    let mut reader = Reader::open(&bench, &key, &path, Some(&cursor)).await;
    let snapshot = reader.next().await.unwrap();
    assert_eq!((snapshot.event.as_str(), &snapshot.data["job"]["state"]), ("snapshot", &json!("READY")));
    bench.post(&key, &format!("/v1/jobs/{job}/cancel"), &Value::Null).await;
    assert_eq!(reader.next().await.unwrap().event, "job.cancelled");
}

#[tokio::test]
async fn streams_have_their_limit() {
    let bench = Bench::new().await;
    let key = bench.key("default", &ALL).await;
    let mut open = Vec::new();
    for _ in 0..50 {
        open.push(Reader::open(&bench, &key, "/v1/events", None).await);
    }
    let refused = bench.get(&key, "/v1/events").await;
    assert_eq!((refused.status, refused.code()), (StatusCode::TOO_MANY_REQUESTS, "quota_exceeded"));
    assert_eq!(refused.header("retry-after"), Some("10"));
    open.pop();
    Reader::open(&bench, &key, "/v1/events", None).await;
}

#[tokio::test]
async fn a_stream_ends_when_the_server_stops() {
    let bench = Bench::new().await;
    let key = bench.key("default", &ALL).await;
    let reader = Reader::open(&bench, &key, "/v1/events", None).await;
    bench.app.tasks.stopping().cancel();
    assert!(reader.rest().await.is_empty());
}

#[tokio::test]
async fn a_stream_ends_soon_after_its_key_is_revoked() {
    let bench = Bench::new().await;
    let admin = bench.key("default", &[Scope::Admin]).await;
    let made = bench.post(&admin, "/v1/keys", &json!({"name": "a", "scopes": ["read"]})).await;
    let key = made.body["key"].as_str().unwrap();
    let reader = Reader::open(&bench, key, "/v1/events", None).await;
    let path = format!("/v1/keys/{}", made.body["key_id"].as_str().unwrap());
    bench.send(asked(&admin, "DELETE", &path).body(Body::empty()).unwrap()).await;
    let blocks = timeout(Duration::from_secs(30), reader.rest()).await.unwrap();
    let last = blocks.last().unwrap();
    assert_eq!((last.event.as_str(), &last.data["code"]), ("closed", &json!("unauthorized")));
}

/// A reader is told what it has missed, in place of it, and goes on from there.
#[tokio::test]
async fn a_cursor_whose_events_were_deleted_has_expired() {
    let bench = Bench::new().await;
    let key = bench.key("default", &ALL).await;
    let job = bench.submit(&key).await;
    bench.post(&key, &format!("/v1/jobs/{job}/cancel"), &Value::Null).await;
    let path = format!("/v1/jobs/{job}/events");
    let story = Reader::open(&bench, &key, &path, None).await.rest().await;
    let [seen, last] = story.as_slice() else { panic!("{story:?}") };
    bench.submit(&key).await;
    let none = forebay_core::time::Millis::ZERO;
    let keep = forebay_store::record::Keep { results: none, dead_letters: none, documents: none };
    assert_eq!(bench.app.store.delete_jobs(0, keep, 9).await.unwrap().deleted.jobs, 1);
    let mut late = Reader::open(&bench, &key, "/v1/events", Some(&seen.id)).await;
    let snapshot = late.next().await.unwrap();
    assert_eq!((snapshot.event.as_str(), &snapshot.data["reason"]), ("snapshot", &json!("expired")));
    let mut in_time = Reader::open(&bench, &key, "/v1/events", Some(&last.id)).await;
    assert_eq!(in_time.next().await.unwrap().event, "job.accepted", "it has missed nothing");
    bench.submit(&key).await;
    assert_eq!(late.next().await.unwrap().event, "job.accepted");
}
