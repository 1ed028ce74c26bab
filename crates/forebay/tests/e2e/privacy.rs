//! I31: what was sent to a model, and what came back, stands where its owner looks for it and nowhere else.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Home, Server, data, simulator};

/// A word of the prompt and the document. Whoever repeats it repeats what nobody may.
const NEEDLE: &str = "Needle-4711";
/// The provider's key, as the harness sets it.
const KEY: &str = "sk-test-key";

/// A provider that answers in every way that could carry the word on.
fn provider() -> Value {
    let rule = |word: &str, fault: Value| json!({"match": {"contains": word}, "fault": fault});
    let wrong_key = format!("{KEY} may not read {NEEDLE}");
    let invented = json!({
        "output": {"supplier": NEEDLE, "total": NEEDLE},
        "evidence": [{"field": format!("/{NEEDLE}"), "quote": format!("{NEEDLE} is not there")}],
    });
    json!({"rules": [
        rule("in a status", json!({"kind": "status", "status": 400, "message": wrong_key})),
        rule("in a refusal", json!({"kind": "refusal", "text": format!("not about {NEEDLE}")})),
        rule("in mid-stream", json!({"kind": "error_mid_stream", "message": format!("lost {NEEDLE}")})),
        rule("in a tool", json!({"kind": "tool_call", "name": NEEDLE})),
        {"match": {"contains": "in a document"}, "reply": invented.to_string()},
    ]})
}

#[tokio::test(flavor = "multi_thread")]
async fn no_event_log_line_metric_or_failure_repeats_what_was_sent() {
    let sim = simulator(&provider()).await;
    let home = Home::new();
    let server = Server::start_with(&home, &sim.base_url(), &[("FOREBAY_LOG", "trace")]);
    let mut jobs = Vec::new();
    for place in ["in a status", "in a refusal", "in mid-stream", "in a tool"] {
        let prompt = format!("{NEEDLE} {place}");
        let body = json!({"task": "chat", "input": {"prompt": prompt}, "ttl_ms": 20_000});
        jobs.push(server.submit(&body).await);
    }
    let text = format!("{NEEDLE} in a document");
    jobs.push(server.submit(&json!({"task": "invoice", "input": {"text": text}})).await);
    let (status, refused) =
        server.post("/v1/jobs", &json!({"task": "chat", "input": {"prompt": {"x": NEEDLE}}})).await;
    assert_eq!(status, 400, "{refused}");
    let mut seen = vec![("a problem", refused.to_string())];
    for job in &jobs {
        let settled = server.settled(job).await;
        assert!(settled["failure"]["message"].is_string(), "{settled}");
        seen.push(("a job", settled.to_string()));
        seen.push(("the events of a job", events(&server, job).await));
    }
    let metrics = server.request(Method::GET, "/metrics").send().await.unwrap();
    seen.push(("the metrics", metrics.text().await.unwrap()));

    // The owner finds it all the same: behind the job, and in the review.
    let attempts = server.get(&format!("/v1/jobs/{}/attempts", jobs[0])).await;
    let message = data(&attempts)[0]["message"].as_str().unwrap();
    assert!(message.contains(NEEDLE) && !message.contains(KEY), "{message}");
    let review = server.get(&format!("/v1/reviews/{}", jobs[4])).await;
    assert!(review["findings"].to_string().contains(NEEDLE), "{review}");

    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    seen.push(("the log", std::fs::read_to_string(home.path().join("server.log")).unwrap()));
    for (place, text) in seen {
        for secret in [NEEDLE, KEY] {
            assert!(!text.contains(secret), "{place} repeats {secret}: {}", around(&text, secret));
        }
    }
}

/// The events of a job that is settled, as they are stored and sent.
async fn events(server: &Server, job: &str) -> String {
    let mut stream = server.request(Method::GET, &format!("/v1/jobs/{job}/events")).send().await.unwrap();
    let mut text = String::new();
    while !["event: job.failed", "event: job.review_required"].iter().any(|end| text.contains(end))
        || !text.ends_with("\n\n")
    {
        let piece = stream.chunk().await.unwrap().unwrap_or_else(|| panic!("the stream ended: {text}"));
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    text
}

fn around<'t>(text: &'t str, secret: &str) -> &'t str {
    let at = text.find(secret).unwrap_or_default();
    let from = text[..at].char_indices().rev().nth(200).map_or(0, |(from, _)| from);
    text[from..].lines().next().unwrap_or_default()
}
