//! What a healthy simulator answers.

use serde_json::json;

use super::*;

#[tokio::test]
async fn a_chat_says_that_it_is_simulated_and_counts_its_tokens() {
    let sim = start("").await;
    let answer = chat(&sim, json!({})).await;
    let body = answer.json();
    let text = body["choices"][0]["message"]["content"].as_str().unwrap();
    assert_eq!((answer.status, answer.headers["x-forebay-simulated"].as_str()), (200, "true"));
    assert_eq!(answer.headers["x-request-id"], "req_sim_1");
    assert!(text.starts_with("[simulated] "));
    assert_eq!(text.len(), 128, "32 tokens of four bytes");
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    assert_eq!(
        (&body["system_fingerprint"], &body["object"]),
        (&json!("forebay-sim"), &json!("chat.completion"))
    );
    assert_eq!(body["usage"]["prompt_tokens"], 3, "nine bytes");
    assert_eq!(body["usage"]["completion_tokens"], 32);
    assert_eq!(body["usage"]["total_tokens"], 35);
}

#[tokio::test]
async fn a_stream_carries_the_same_text_and_ends_with_usage_and_done() {
    let sim = start("[defaults]\noutput_tokens = 10\nchunk_tokens = 4").await;
    let answer = stream(&sim).await;
    let events = answer.events();
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    assert!(answer.whole && answer.is_done());
    assert_eq!(events.len(), 1 + 3 + 1 + 1, "role, three chunks, finish, usage");
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(answer.streamed_text().len(), 40);
    assert_eq!(events[4]["choices"][0]["finish_reason"], "stop");
    assert_eq!((&events[5]["choices"], &events[5]["usage"]["completion_tokens"]), (&json!([]), &json!(10)));

    let plain = chat(&sim, json!({ "stream": true })).await;
    assert_eq!(plain.events().len(), 5);
    assert!(plain.events().iter().all(|event| event.get("usage").is_none()));
}

#[tokio::test]
async fn the_requested_maximum_cuts_the_text() {
    let sim = start("[[rules]]\nreply = \"a reply that is given word for word\"").await;
    let whole = chat(&sim, json!({ "max_tokens": 9 })).await.json();
    assert_eq!(whole["choices"][0]["message"]["content"], "a reply that is given word for word");
    assert_eq!(whole["choices"][0]["finish_reason"], "stop");
    let cut = chat(&sim, json!({ "max_completion_tokens": 2 })).await.json();
    assert_eq!(cut["choices"][0]["message"]["content"], "a reply ");
    assert_eq!(cut["choices"][0]["finish_reason"], "length");
    assert_eq!(cut["usage"]["completion_tokens"], 2);
}

#[tokio::test]
async fn structured_output_follows_the_schema() {
    let sim = start("").await;
    let schema = json!({ "type": "object", "required": ["total", "currency"], "properties": {
        "total": { "type": "number", "minimum": 3 }, "currency": { "type": "string" } } });
    let format = json!({ "type": "json_schema", "json_schema": { "name": "invoice", "schema": schema } });
    let body = chat(&sim, json!({ "response_format": format })).await.json();
    let text = body["choices"][0]["message"]["content"].as_str().unwrap();
    let value: Value = serde_json::from_str(text).unwrap();
    assert_eq!(value, json!({ "total": 3, "currency": "simulated" }));
    assert_eq!(body["usage"]["completion_tokens"], text.len().div_ceil(4));

    let object = chat(&sim, json!({ "response_format": { "type": "json_object" } })).await.json();
    assert_eq!(object["choices"][0]["message"]["content"], r#"{"simulated":true}"#);

    let format = json!({ "format": { "type": "json_schema", "name": "invoice", "schema": schema } });
    let body = json!({ "model": "m", "input": "hi", "text": format }).to_string();
    let response = send(&sim, "POST", "/v1/responses", "", &body).await.json();
    let text = response["output"][0]["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap()["currency"], "simulated");
}

#[tokio::test]
async fn embeddings_come_as_floats_or_base64() {
    let sim = start("[defaults]\nembedding_dimensions = 8").await;
    let ask = async |more: Value| {
        let mut body = json!({ "model": "m", "input": ["invoice", "order", "invoice"] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        send(&sim, "POST", "/v1/embeddings", "", &body.to_string()).await.json()
    };
    let floats = ask(json!({})).await;
    let vector = floats["data"][0]["embedding"].as_array().unwrap();
    assert_eq!((vector.len(), floats["data"].as_array().unwrap().len()), (8, 3));
    assert_eq!(floats["data"][0]["embedding"], floats["data"][2]["embedding"]);
    assert_ne!(floats["data"][0]["embedding"], floats["data"][1]["embedding"]);
    assert_eq!(floats["usage"], json!({ "prompt_tokens": 6, "total_tokens": 6 }));

    let encoded = ask(json!({ "encoding_format": "base64", "dimensions": 2 })).await;
    assert_eq!(encoded["data"][0]["embedding"].as_str().unwrap().len(), 12, "eight bytes");
}

#[tokio::test]
async fn responses_are_answered_at_once() {
    let sim = start("").await;
    let body = json!({ "model": "m", "input": "hello you", "instructions": "be brief" }).to_string();
    let response = send(&sim, "POST", "/v1/responses", "", &body).await.json();
    assert_eq!((&response["status"], &response["object"]), (&json!("completed"), &json!("response")));
    assert!(response["output"][0]["content"][0]["text"].as_str().unwrap().starts_with("[simulated] "));
    assert_eq!(response["usage"]["input_tokens"], 5);
    assert_eq!(response["usage"]["total_tokens"], 37);
}

#[tokio::test]
async fn models_are_those_of_the_scenario() {
    let sim = start("models = [\"org/one\", \"two\"]").await;
    let list = get(&sim, "/v1/models").await.json();
    assert_eq!((&list["data"][0]["id"], &list["data"][1]["id"]), (&json!("org/one"), &json!("two")));
    assert_eq!(get(&sim, "/v1/models/org/one").await.json()["id"], "org/one");
    assert_eq!(get(&sim, "/v1/models/org%2Fone").await.json()["id"], "org/one");
    assert_eq!(get(&sim, "/v1/models/three").await.status, 404);
    let unknown = chat(&sim, json!({})).await;
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (404, &json!("model_not_found")));
    assert_eq!(chat(&sim, json!({ "model": "two" })).await.status, 200);

    let any = start("").await;
    assert_eq!(get(&any, "/v1/models").await.json()["data"][0]["id"], "forebay-sim");
    assert_eq!(get(&any, "/v1/models/whatever").await.status, 200);
    assert_eq!(get(&any, "/health").await.json(), json!({ "status": "ok", "simulated": true }));
}

#[tokio::test]
async fn errors_have_all_four_members() {
    let sim = start("").await;
    for (path, body, code) in [
        ("/v1/chat/completions", "{", "invalid_json"),
        ("/v1/chat/completions", "{}", "missing_required_parameter"),
        ("/v1/audio/speech", "{}", "unknown_url"),
    ] {
        let answer = send(&sim, "POST", path, "", body).await;
        let error = answer.json()["error"].clone();
        assert_eq!((&error["code"], error.as_object().unwrap().len()), (&json!(code), 4));
        assert_eq!(answer.headers["x-forebay-simulated"], "true");
    }
    assert!(sim.requests(0).iter().all(|row| row.counted_tokens.is_none()));
}

#[tokio::test]
async fn the_same_seed_gives_the_same_answers() {
    let ask = async |seed: u64| {
        let sim =
            start(&format!("seed = {seed}\n[defaults]\noutput_tokens = {{ min = 20, max = 90 }}")).await;
        let mut texts = Vec::new();
        for _ in 0..3 {
            texts.push(chat(&sim, json!({})).await.json()["choices"][0]["message"]["content"].clone());
        }
        texts
    };
    assert_eq!(ask(1).await, ask(1).await);
    assert_ne!(ask(1).await, ask(2).await);
}

#[tokio::test]
async fn time_runs_faster_by_the_scale() {
    let scenario =
        "time_scale = 60\n[defaults]\nfirst_token_ms = 3000\nper_token_ms = 100\noutput_tokens = 31";
    let sim = start(scenario).await;
    for more in [json!({}), json!({ "stream": true })] {
        let started = tokio::time::Instant::now();
        assert_eq!(chat(&sim, more).await.status, 200);
        let took = started.elapsed();
        assert!(took >= Duration::from_millis(100), "six seconds at scale 60 took {took:?}");
        assert!(took < Duration::from_secs(5), "six seconds at scale 60 took {took:?}");
    }
}

/// Prints how many calls a second come through; the figure depends on the machine and the build.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_calls_are_all_answered_and_logged() {
    const CLIENTS: usize = 32;
    const CALLS: usize = 100;
    let sim = start("[defaults]\noutput_tokens = 16").await;
    let started = tokio::time::Instant::now();
    let clients = (0..CLIENTS).map(|_| many_calls(&sim, CALLS));
    futures_util::future::join_all(clients).await;
    let rate = (CLIENTS * CALLS) as f64 / started.elapsed().as_secs_f64();
    println!("{rate:.0} calls a second");
    let rows = sim.requests(0);
    assert_eq!(rows.len(), CLIENTS * CALLS);
    assert!(rows.iter().all(|row| row.status == Some(200) && row.ended == crate::sim::Ended::Complete));
}

async fn many_calls(sim: &SimHandle, calls: usize) {
    let mut stream = connect(sim).await;
    let request = request("POST", "/v1/chat/completions", "", &chat_body(json!({})));
    let mut buffer = vec![0; 16 * 1024];
    for _ in 0..calls {
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut filled = 0;
        while !take_apart(&buffer[..filled], false).whole {
            let read = timeout(PATIENCE, stream.read(&mut buffer[filled..])).await.unwrap().unwrap();
            assert_ne!(read, 0);
            filled += read;
        }
    }
}
