//! Every fault as it looks on the wire, in one piece and as a stream.

use serde_json::json;

use super::*;
use crate::sim::Ended;

async fn with_fault(fault: &str) -> SimHandle {
    start(&format!("[defaults]\noutput_tokens = 20\n[[rules]]\nfault = {fault}")).await
}

/// What has come by the time that it stays quiet; the connection is still open.
async fn until_quiet(sim: &SimHandle, more: Value, at_least: usize) -> (TcpStream, Vec<u8>) {
    let mut stream = connect(sim).await;
    let request = request("POST", "/v1/chat/completions", "", &chat_body(more));
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    loop {
        match timeout(Duration::from_millis(40), stream.read_buf(&mut bytes)).await {
            Ok(read) => assert_ne!(read.unwrap(), 0, "the connection ended"),
            Err(_) if bytes.len() >= at_least => break,
            Err(_) => {}
        }
    }
    (stream, bytes)
}

#[tokio::test]
async fn status_answers_with_an_error() {
    let sim = with_fault(r#"{ kind = "status", status = 503, retry_after = 1.5 }"#).await;
    let answer = stream(&sim).await;
    let error = &answer.json()["error"];
    assert_eq!(
        (answer.status, &error["type"], &error["code"]),
        (503, &json!("server_error"), &json!("overloaded"))
    );
    assert_eq!(
        (answer.headers["retry-after"].as_str(), answer.headers["retry-after-ms"].as_str()),
        ("2", "1500")
    );
    let row = first_row(&sim).await;
    assert_eq!((row.status, row.fault, row.ended), (Some(503), Some("status"), Ended::Complete));
}

#[tokio::test]
async fn every_error_status_can_be_had() {
    let rules: String = (400..600)
        .map(|status| {
            format!(
                "[[rules]]\nmatch.nth = {}\nfault = {{ kind = \"status\", status = {status} }}\n",
                status - 399
            )
        })
        .collect();
    let sim = start(&rules).await;
    for status in 400..600 {
        assert_eq!(chat(&sim, json!({})).await.status, status);
    }
    assert_eq!(chat(&sim, json!({})).await.status, 200);
}

#[tokio::test]
async fn status_sends_the_body_and_the_headers_as_written() {
    let scenario = r#"
        [[rules]]
        times = 1
        fault = { kind = "status", status = 429, body = "plain", headers = { "Retry-After" = "Wed, 21 Oct 2015 07:28:00 GMT", "content-type" = "text/plain" } }
        [[rules]]
        fault = { kind = "status", status = 429, body = { object = "error", code = "1300" } }
    "#;
    let sim = start(scenario).await;
    let plain = chat(&sim, json!({})).await;
    assert_eq!((plain.text(), plain.headers["content-type"].as_str()), ("plain", "text/plain"));
    assert_eq!(plain.headers["retry-after"], "Wed, 21 Oct 2015 07:28:00 GMT");
    assert_eq!(chat(&sim, json!({})).await.json(), json!({ "object": "error", "code": "1300" }));
}

#[tokio::test]
async fn hang_sends_nothing_until_the_client_leaves() {
    let sim = with_fault(r#""hang""#).await;
    let (connection, bytes) = until_quiet(&sim, json!({}), 0).await;
    assert!(bytes.is_empty());
    assert_eq!(sim.limits().accounts[0].in_flight.current, 1);
    drop(connection);
    let row = first_row(&sim).await;
    assert_eq!((row.status, row.fault, row.ended), (None, Some("hang"), Ended::ClientClosed));
    assert_eq!(sim.limits().accounts[0].in_flight.current, 0);
}

#[tokio::test]
async fn hang_ends_after_its_time() {
    let sim = with_fault(r#"{ kind = "hang", for_ms = 10 }"#).await;
    let answer = chat(&sim, json!({})).await;
    assert!(answer.body.is_empty() && answer.status == 0 && !answer.reset);
    assert_eq!(first_row(&sim).await.ended, Ended::Cut);
}

#[tokio::test]
async fn hang_after_first_token_stops_in_the_middle() {
    let sim = with_fault(r#""hang_after_first_token""#).await;
    let (connection, bytes) = until_quiet(&sim, json!({ "stream": true }), 500).await;
    let answer = take_apart(&bytes, false);
    assert!(answer.streamed_text().starts_with("[simulated] ") && !answer.whole);
    assert_eq!(answer.streamed_text().len(), 16, "one chunk of four tokens");
    drop(connection);
    let row = first_row(&sim).await;
    assert_eq!((row.status, row.output_tokens, row.ended), (Some(200), 4, Ended::ClientClosed));

    let (_connection, bytes) = until_quiet(&sim, json!({}), 100).await;
    assert_eq!(take_apart(&bytes, false).body.len(), 16);
}

#[tokio::test]
async fn drip_sends_one_token_at_a_time() {
    let sim = with_fault(r#"{ kind = "drip", every_ms = 5 }"#).await;
    let started = tokio::time::Instant::now();
    let dripped = stream(&sim).await;
    assert!(started.elapsed() >= Duration::from_millis(95), "nineteen intervals");
    assert_eq!(dripped.events().len(), 1 + 20 + 2);
    assert!(dripped.is_done());

    let sim = with_fault(r#"{ kind = "drip", every_ms = 0.1 }"#).await;
    let whole = chat(&sim, json!({})).await;
    assert_eq!(whole.json()["usage"]["completion_tokens"], 20);
    let row = first_row(&sim).await;
    assert_eq!((row.output_tokens, row.ended), (20, Ended::Complete));
}

#[tokio::test]
async fn cut_ends_the_connection_after_some_chunks() {
    for (reset, streamed) in [(false, true), (true, true), (false, false), (true, false)] {
        let sim = with_fault(&format!(r#"{{ kind = "cut", after_chunks = 2, reset = {reset} }}"#)).await;
        let answer = chat(&sim, json!({ "stream": streamed })).await;
        assert_eq!((answer.status, answer.whole, answer.reset), (200, false, reset), "streamed: {streamed}");
        assert_eq!(answer.body.len().min(33), if streamed { 33 } else { 32 });
        let row = first_row(&sim).await;
        let tokens = if streamed { 8 } else { 0 };
        assert_eq!((row.fault, row.output_tokens, row.ended), (Some("cut"), tokens, Ended::Cut));
    }
}

#[tokio::test]
async fn no_finish_reason_ends_in_good_order_but_says_nothing() {
    let sim = with_fault(r#""no_finish_reason""#).await;
    let streamed = stream(&sim).await;
    assert!(streamed.whole && !streamed.is_done());
    assert_eq!(streamed.streamed_text().len(), 80);
    assert!(streamed.events().iter().all(|event| event["choices"][0]["finish_reason"].is_null()));
    let whole = chat(&sim, json!({})).await.json();
    assert!(whole["choices"][0]["finish_reason"].is_null());
}

#[tokio::test]
async fn error_mid_stream_comes_after_a_good_head() {
    let sim = with_fault(r#"{ kind = "error_mid_stream", after_chunks = 2, message = "gone" }"#).await;
    let streamed = stream(&sim).await;
    let events = streamed.events();
    assert_eq!((streamed.status, streamed.whole, streamed.is_done()), (200, true, false));
    assert_eq!((events.len(), &events[3]["error"]["message"]), (4, &json!("gone")));
    assert_eq!(streamed.streamed_text().len(), 32);
    let whole = chat(&sim, json!({})).await;
    assert_eq!((whole.status, &whole.json()["error"]["message"]), (200, &json!("gone")));
}

#[tokio::test]
async fn malformed_json_does_not_parse() {
    let sim = with_fault(r#""malformed_json""#).await;
    let whole = chat(&sim, json!({})).await;
    assert!(whole.whole && serde_json::from_slice::<Value>(&whole.body).is_err());
    let streamed = stream(&sim).await;
    let data: Vec<_> =
        streamed.text().split("\n\n").filter_map(|event| event.strip_prefix("data: ")).collect();
    assert!(
        serde_json::from_str::<Value>(data[1]).is_err() && serde_json::from_str::<Value>(data[2]).is_ok()
    );
    assert!(streamed.is_done());
}

#[tokio::test]
async fn invalid_utf8_stands_in_the_content() {
    let sim = with_fault(r#""invalid_utf8""#).await;
    for streamed in [false, true] {
        let answer = chat(&sim, json!({ "stream": streamed })).await;
        assert!(answer.whole && str::from_utf8(&answer.body).is_err());
        assert!(
            answer.body.windows(14).any(|window| window == b"\"content\":\"\xFF\xFE["),
            "streamed: {streamed}"
        );
    }
}

#[tokio::test]
async fn empty_choices_have_no_text() {
    let sim = with_fault(r#""empty_choices""#).await;
    assert_eq!(chat(&sim, json!({})).await.json()["choices"], json!([]));
    let streamed = stream(&sim).await;
    assert!(streamed.is_done() && streamed.events().iter().all(|event| event["choices"] == json!([])));
    let body = json!({ "model": "m", "input": "a" }).to_string();
    assert_eq!(send(&sim, "POST", "/v1/embeddings", "", &body).await.json()["data"], json!([]));
    assert_eq!(send(&sim, "POST", "/v1/responses", "", &body).await.json()["output"], json!([]));
}

#[tokio::test]
async fn refusal_has_no_content() {
    let sim = with_fault(r#"{ kind = "refusal", text = "No." }"#).await;
    let message = chat(&sim, json!({})).await.json()["choices"][0]["message"].clone();
    assert_eq!((&message["content"], &message["refusal"]), (&Value::Null, &json!("No.")));
    let events = stream(&sim).await.events();
    assert_eq!(events[1]["choices"][0]["delta"], json!({ "refusal": "No." }));
    let body = json!({ "model": "m", "input": "a" }).to_string();
    let response = send(&sim, "POST", "/v1/responses", "", &body).await.json();
    assert_eq!(response["output"][0]["content"][0], json!({ "type": "refusal", "refusal": "No." }));
}

#[tokio::test]
async fn finish_length_and_content_filter_stop_early() {
    let sim = with_fault(r#""finish_length""#).await;
    let body = chat(&sim, json!({ "response_format": { "type": "json_object" } })).await.json();
    let choice = &body["choices"][0];
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("length"), &json!("{\"simulat"))
    );
    assert_eq!(stream(&sim).await.streamed_text().len(), 40);
    let body = json!({ "model": "m", "input": "a" }).to_string();
    let response = send(&sim, "POST", "/v1/responses", "", &body).await.json();
    assert_eq!(
        (&response["status"], &response["incomplete_details"]["reason"]),
        (&json!("incomplete"), &json!("max_output_tokens"))
    );

    let sim = with_fault(r#""content_filter""#).await;
    let body = chat(&sim, json!({})).await.json();
    assert_eq!(
        (&body["choices"][0]["finish_reason"], &body["choices"][0]["message"]["content"]),
        (&json!("content_filter"), &json!(""))
    );
    assert_eq!(stream(&sim).await.streamed_text(), "");
}

#[tokio::test]
async fn tool_call_comes_without_being_asked_for() {
    let sim =
        with_fault(r#"{ kind = "tool_call", name = "delete_all", arguments = "{\"now\":true}" }"#).await;
    let choice = chat(&sim, json!({})).await.json()["choices"][0].clone();
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("tool_calls"), &Value::Null)
    );
    assert_eq!(
        choice["message"]["tool_calls"][0]["function"],
        json!({ "name": "delete_all", "arguments": "{\"now\":true}" })
    );
    let events = stream(&sim).await.events();
    let arguments: String = events
        .iter()
        .filter_map(|event| event.pointer("/choices/0/delta/tool_calls/0/function/arguments")?.as_str())
        .collect();
    assert_eq!(arguments, "{\"now\":true}");
    assert_eq!(events[0]["choices"][0]["delta"]["tool_calls"][0]["function"]["name"], "delete_all");
}

#[tokio::test]
async fn wrong_model_names_another() {
    let sim = with_fault(r#"{ kind = "wrong_model", model = "cheaper" }"#).await;
    assert_eq!(chat(&sim, json!({})).await.json()["model"], "cheaper");
    assert!(stream(&sim).await.events().iter().all(|event| event["model"] == "cheaper"));
    let body = json!({ "model": "m", "input": "a" }).to_string();
    assert_eq!(send(&sim, "POST", "/v1/embeddings", "", &body).await.json()["model"], "cheaper");
    assert_eq!(first_row(&sim).await.model.as_deref(), Some("m"), "the log has what was asked for");
}

#[tokio::test]
async fn redirect_leads_to_a_path_that_the_log_shows() {
    let sim = with_fault(r#""redirect""#).await;
    let answer = chat(&sim, json!({})).await;
    assert_eq!((answer.status, answer.headers["location"].as_str()), (307, "/v1/redirected"));
    assert_eq!(send(&sim, "POST", "/v1/redirected", "", "{}").await.status, 404);
    assert_eq!(&*sim.requests(0)[1].path, "/v1/redirected");
}

#[tokio::test]
async fn giant_line_has_the_bytes_asked_for() {
    let sim = with_fault(r#"{ kind = "giant_line", bytes = 200000 }"#).await;
    let whole = chat(&sim, json!({})).await;
    let text = whole.json()["choices"][0]["message"]["content"].as_str().unwrap().len();
    assert_eq!((whole.whole, text), (true, 200_000 + 80));
    let streamed = stream(&sim).await;
    assert!(streamed.is_done() && streamed.text().lines().any(|line| line.len() > 200_000));
    assert_eq!(streamed.streamed_text().len(), 200_000 + 80);
}

#[tokio::test]
async fn close_before_response_sends_no_byte() {
    for reset in [false, true] {
        let sim = with_fault(&format!(r#"{{ kind = "close_before_response", reset = {reset} }}"#)).await;
        let answer = chat(&sim, json!({})).await;
        assert_eq!((answer.body.len(), answer.reset), (0, reset));
        let row = first_row(&sim).await;
        assert_eq!((row.status, row.ended), (None, Ended::Cut));
    }
}

#[tokio::test]
async fn usage_can_be_missing_zero_or_higher() {
    for (usage, reported, logged) in [
        (r#""missing""#, Value::Null, 20),
        (r#""zero""#, json!(0), 20),
        (r#""higher""#, json!(40), 40),
        ("{ input_tokens = 1, output_tokens = 77 }", json!(77), 77),
    ] {
        let sim = start(&format!("[defaults]\noutput_tokens = 20\n[[rules]]\nusage = {usage}")).await;
        assert_eq!(chat(&sim, json!({})).await.json()["usage"]["completion_tokens"], reported);
        assert_eq!(first_row(&sim).await.output_tokens, logged);
        let last = stream(&sim).await.events().pop().unwrap();
        assert_eq!(last["usage"]["completion_tokens"], reported);
    }
}
