//! The request log and the scenario over HTTP.

use serde_json::json;

use super::*;
use crate::sim::Ended;

fn rows(answer: &Answer) -> Vec<Value> {
    answer.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_row_has_every_member_that_is_promised() {
    let sim = start("[[rules]]\nname = \"mild\"\nmatch = { path = \"/v1/embeddings\" }").await;
    let headers = "authorization: Bearer sk-test\r\nidempotency-key: inv-1\r\nx-forebay-attempt: att_1\r\n";
    send(&sim, "POST", "/v1/chat/completions", headers, &chat_body(json!({ "stream": true }))).await;
    send(&sim, "POST", "/v1/embeddings", "", r#"{"model":"e","input":"12345"}"#).await;
    let answer = get(&sim, "/_sim/requests").await;
    assert_eq!(answer.headers["content-type"], "application/jsonl");
    let rows = rows(&answer);
    let first = rows[0].as_object().unwrap();
    for (member, value) in [
        ("seq", json!(1)),
        ("path", json!("/v1/chat/completions")),
        ("key_sha8", json!(&forebay_core::digest::Digest::of(b"sk-test").to_string()[..8])),
        ("model", json!("m")),
        ("idempotency_key", json!("inv-1")),
        ("forebay_attempt", json!("att_1")),
        ("stream", json!(true)),
        ("status", json!(200)),
        ("fault", Value::Null),
        ("input_tokens", json!(3)),
        ("output_tokens", json!(32)),
        ("ended", json!("complete")),
        ("counted_tokens", json!(259)),
    ] {
        assert_eq!(first.get(member), Some(&value), "{member}");
    }
    assert_eq!(first.get("retry_after_ms"), Some(&Value::Null));
    assert_eq!(first["at"].as_str().unwrap().len(), "2026-12-01T10:00:00.000Z".len());
    assert!(first["ended_at_ms"].as_f64() >= first["started_at_ms"].as_f64());
    assert_eq!((&rows[1]["key_sha8"], &rows[1]["rule"]), (&Value::Null, &json!("mild")));
    assert_eq!((&rows[1]["input_tokens"], &rows[1]["output_tokens"]), (&json!(2), &json!(0)));
}

#[tokio::test]
async fn a_row_says_how_long_the_client_was_asked_to_wait() {
    let rules = "[limits]\nrequests_per_minute = 1\n[[rules]]\nfault = { kind = \"status\", status = 503, retry_after = 1.5 }";
    let sim = start(rules).await;
    for _ in 0..2 {
        chat(&sim, json!({})).await;
    }
    let asked: Vec<_> = sim.requests(0).iter().map(|row| (row.status, row.retry_after_ms)).collect();
    assert_eq!(asked[0], (Some(503), Some(1_500)));
    assert!(asked[1].0 == Some(429) && asked[1].1.is_some_and(|wait| wait > 50_000), "{asked:?}");
}

#[tokio::test]
async fn the_log_is_read_from_a_row_on_and_emptied() {
    let sim = start("").await;
    for _ in 0..3 {
        chat(&sim, json!({})).await;
    }
    assert_eq!(rows(&get(&sim, "/_sim/requests?after=2").await).len(), 1);
    assert_eq!(rows(&get(&sim, "/_sim/requests?after=18446744073709551615").await).len(), 0);
    assert_eq!(get(&sim, "/_sim/requests?since=2").await.status, 400);
    assert_eq!(send(&sim, "DELETE", "/_sim/requests", "", "").await.status, 204);
    assert_eq!(rows(&get(&sim, "/_sim/requests").await).len(), 0);
    chat(&sim, json!({})).await;
    assert_eq!(sim.requests(0)[0].seq, 4);
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_is_noticed() {
    let sim = start("[defaults]\nper_token_ms = 20\noutput_tokens = 100000").await;
    let mut stream = connect(&sim).await;
    let request = request("POST", "/v1/chat/completions", "", &chat_body(json!({ "stream": true })));
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.read_u8().await.unwrap();
    assert_eq!(sim.requests(0)[0].ended, Ended::Running);
    drop(stream);
    let row = first_row(&sim).await;
    assert_eq!((row.status, row.ended), (Some(200), Ended::ClientClosed));
    assert!(row.output_tokens < 1_000);
}

#[tokio::test]
async fn shutdown_ends_what_runs() {
    let sim = start("[[rules]]\nfault = \"hang\"").await;
    let mut stream = connect(&sim).await;
    let request = request("POST", "/v1/chat/completions", "", &chat_body(json!({})));
    stream.write_all(request.as_bytes()).await.unwrap();
    log_when(&sim, |rows| rows.len() == 1).await;
    timeout(PATIENCE, sim.shutdown()).await.unwrap();
    assert_eq!(sim.requests(0)[0].ended, Ended::Shutdown);
    assert!(TcpStream::connect(sim.address()).await.is_err());
}

#[tokio::test]
async fn the_file_has_a_line_for_each_state() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("requests.jsonl");
    std::fs::write(&file, "{\"earlier\":true}\n").unwrap();
    let sim = start_with(SimOptions { log: Some(file.clone()), ..SimOptions::default() }).await;
    chat(&sim, json!({})).await;
    sim.shutdown().await;
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({ "earlier": true }));
    assert_eq!(
        (&lines[1]["seq"], &lines[1]["ended"], &lines[1]["status"]),
        (&json!(1), &json!("running"), &Value::Null)
    );
    assert_eq!(
        (&lines[2]["seq"], &lines[2]["ended"], &lines[2]["status"]),
        (&json!(1), &json!("complete"), &json!(200))
    );
    assert_eq!(lines.len(), 3);

    let gone = SimOptions { log: Some(folder.path().join("no/such/folder")), ..SimOptions::default() };
    assert!(matches!(serve(gone).await, Err(crate::sim::SimError::Log { .. })));
}

#[tokio::test]
async fn a_scenario_is_shown_replaced_and_refused() {
    let sim = start("seed = 5").await;
    assert_eq!(get(&sim, "/_sim/scenario").await.json()["seed"], 5);
    let fault = r#"{"rules": [{"match": {"nth": 2}, "fault": "empty_choices"}]}"#;
    for _ in 0..2 {
        assert_eq!(send(&sim, "POST", "/_sim/scenario", "", fault).await.status, 200);
        assert_ne!(chat(&sim, json!({})).await.json()["choices"], json!([]));
        assert_eq!(chat(&sim, json!({})).await.json()["choices"], json!([]), "the counts start anew");
    }
    let shown = get(&sim, "/_sim/scenario").await;
    assert_eq!(send(&sim, "POST", "/_sim/scenario", "", shown.text()).await.status, 200);

    for (scenario, name) in [
        (r#"{"rules": [{"match": {"modle": "x"}}]}"#, "`modle`"),
        (r#"{"rules": [{"reply_file": "/etc/hostname"}]}"#, "reply_file"),
        ("{", "EOF"),
    ] {
        let refused = send(&sim, "POST", "/_sim/scenario", "", scenario).await;
        assert_eq!(refused.status, 400);
        assert!(refused.json()["error"]["message"].as_str().unwrap().contains(name));
    }
    assert_eq!(get(&sim, "/_sim/scenario").await.json(), shown.json(), "a refused scenario changes nothing");
}

#[tokio::test]
async fn an_option_takes_the_place_of_the_time_scale() {
    let scenario = Scenario::from_toml("time_scale = 3").unwrap();
    let sim = start_with(SimOptions { scenario, time_scale: Some(60.0), ..SimOptions::default() }).await;
    assert_eq!(sim.limits().minute_ms, 1_000.0);
    send(&sim, "POST", "/_sim/scenario", "", "{}").await;
    assert_eq!(sim.limits().minute_ms, 1_000.0);
    let refused = serve(SimOptions { time_scale: Some(0.0), ..SimOptions::default() }).await;
    assert!(matches!(refused, Err(crate::sim::SimError::TimeScale(_))));
}
