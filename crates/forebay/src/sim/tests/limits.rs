//! Limits as a client meets them.

use serde_json::json;

use super::*;

#[tokio::test]
async fn the_request_above_the_limit_is_refused_as_openai_does() {
    let sim = start("[limits]\nrequests_per_minute = 3").await;
    for remaining in ["2", "1", "0"] {
        let answer = chat(&sim, json!({})).await;
        assert_eq!(
            (answer.status, answer.headers["x-ratelimit-remaining-requests"].as_str()),
            (200, remaining)
        );
        assert_eq!(answer.headers["x-ratelimit-reset-requests"], "1m0s");
    }
    let refused = chat(&sim, json!({})).await;
    let error = &refused.json()["error"];
    assert_eq!(
        (refused.status, &error["type"], &error["code"]),
        (429, &json!("requests"), &json!("rate_limit_exceeded"))
    );
    let (seconds, millis) = (&refused.headers["retry-after"], &refused.headers["retry-after-ms"]);
    let (seconds, millis): (u64, u64) = (seconds.parse().unwrap(), millis.parse().unwrap());
    assert!(
        (30_000..=60_000).contains(&millis) && seconds == millis.div_ceil(1_000),
        "{seconds} s, {millis} ms"
    );
    assert_eq!(chat_as(&sim, "sk-other", json!({})).await.status, 200, "another key has its own account");

    let report = sim.limits();
    let account = report.accounts.iter().find(|account| account.refused == 1).unwrap();
    assert_eq!((account.requests_per_minute.worst, account.requests_per_minute.current), (3, 3));
    assert_eq!(sim.requests(3)[0].limit, Some("requests_per_minute"));
}

#[tokio::test]
async fn after_the_hinted_time_there_is_room() {
    let sim = start("time_scale = 60\n[limits]\nrequests_per_minute = 1").await;
    assert_eq!(chat(&sim, json!({})).await.status, 200);
    let refused = chat(&sim, json!({})).await;
    let wait: u64 = refused.headers["retry-after-ms"].parse().unwrap();
    assert!(
        (refused.status, wait <= 1_000) == (429, true),
        "a minute lasts a second, the hint was {wait} ms"
    );
    tokio::time::sleep(Duration::from_millis(wait)).await;
    assert_eq!(chat(&sim, json!({})).await.status, 200);
    assert_eq!(sim.limits().accounts[0].requests_per_minute.worst, 1);
}

#[tokio::test]
async fn tokens_count_as_reserved_or_as_used() {
    // Prompt 3 + maximum 97; the answer has 7 tokens.
    let scenario = "[defaults]\noutput_tokens = 7\n[limits]\ntokens_per_minute = 200\n";
    let reserved = start(scenario).await;
    let statuses = async |sim: &SimHandle, calls: usize| {
        let mut statuses = Vec::new();
        for _ in 0..calls {
            statuses.push(chat(sim, json!({ "max_tokens": 97 })).await.status);
        }
        statuses
    };
    assert_eq!(statuses(&reserved, 3).await, [200, 200, 429]);
    assert_eq!(reserved.limits().accounts[0].tokens_per_minute.worst, 200);

    let used = start(&format!("{scenario}count = \"used\"")).await;
    assert_eq!(statuses(&used, 12).await, [vec![200; 11], vec![429]].concat(), "11 x 10, then 110 + 100");
    let report = used.limits();
    assert_eq!(report.accounts[0].tokens_per_minute.worst, 110);

    let too_large = chat(&reserved, json!({ "max_tokens": 198 })).await;
    assert_eq!((too_large.status, &too_large.json()["error"]["type"]), (429, &json!("tokens")));
    assert!(!too_large.headers.contains_key("retry-after"), "it can never fit");
}

#[tokio::test]
async fn a_place_in_flight_is_free_when_the_client_leaves() {
    let sim = start("[limits]\nmax_in_flight = 1\n[[rules]]\nmatch = { nth = 1 }\nfault = \"hang\"").await;
    let mut hanging = connect(&sim).await;
    let headers = "authorization: Bearer sk-test\r\n";
    let request = request("POST", "/v1/chat/completions", headers, &chat_body(json!({})));
    hanging.write_all(request.as_bytes()).await.unwrap();
    log_when(&sim, |rows| rows.len() == 1).await;
    let refused = chat(&sim, json!({})).await;
    assert_eq!((refused.status, refused.headers["retry-after"].as_str()), (429, "1"));
    drop(hanging);
    first_row(&sim).await;
    assert_eq!(chat(&sim, json!({})).await.status, 200);
    assert_eq!(sim.limits().accounts[0].in_flight.worst, 1);
}

#[tokio::test]
async fn the_report_and_the_reset_go_over_http() {
    let sim = start("time_scale = 2\n[limits]\nrequests_per_minute = 1").await;
    chat(&sim, json!({})).await;
    let report = get(&sim, "/_sim/limits").await.json();
    assert_eq!((&report["minute_ms"], &report["log_rows"]), (&json!(30_000.0), &json!(1)));
    assert_eq!(report["accounts"][0]["requests_per_minute"]["limit"], 1);
    assert_eq!(report["accounts"][0]["requests_per_minute"]["worst"], 1);
    assert_eq!(chat(&sim, json!({})).await.status, 429);
    assert_eq!(send(&sim, "DELETE", "/_sim/limits", "", "").await.status, 204);
    assert_eq!(chat(&sim, json!({})).await.status, 200);
}
