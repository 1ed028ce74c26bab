//! Text from outside that no database takes as it is: it is stored in a form that can be read, and what came with it goes on.

use forebay_core::limits::MESSAGE_CHARS;
use serde_json::{Value, json};

use crate::harness::{Home, Server, data, definitions, simulator};
use crate::postgres::Database;
use crate::processes::until;

/// Whatever is said in an error: escapes that stand for no character, bytes that are none, and far too much of it.
fn said() -> [(&'static str, String); 4] {
    let long = "x".repeat(1 << 20);
    let message = |text: &str| format!(r#"{{"error":{{"message":"{text}","type":"server_error"}}}}"#);
    [
        ("[nul]", message(&format!(r"before \u0000 behind {long}"))),
        ("[surrogate]", message(&format!(r"before \ud800 behind {long}"))),
        ("[bytes]", format!("before \u{0}\u{1b}[31m behind {long}")),
        ("[plain]", message("it went wrong")),
    ]
}

/// C21, F90: jobs of a batch fail with such words beside others that fail as usual, and one succeeds with such an answer. All
/// reach their states, and what was said can be read.
async fn all_reach_their_states(home: &Home) {
    let answer = "nul \u{0}, escape \u{1b}, noncharacter \u{ffff}, beyond \u{1f980}";
    let mut rules = vec![json!({"match": {"contains": "[answer]"}, "reply": answer})];
    rules.extend(said().into_iter().map(|(name, body)| {
        json!({"match": {"contains": name}, "fault": {"kind": "status", "status": 500, "body": body}})
    }));
    let sim = simulator(&json!({"rules": rules})).await;
    let server = Server::start(home, &sim.base_url());
    server.apply(&definitions(&sim.base_url(), "", "[tasks.chat.retry]\nmax_attempts = 1")).await;
    let chat = |name: &str| json!({"task": "chat", "input": {"prompt": name}});
    let odd = ["[nul]", "[surrogate]", "[bytes]", "[answer]"];
    let names: Vec<_> = odd.into_iter().chain([("[plain]"); 20]).collect();
    let jobs: Vec<_> = names.iter().map(|name| chat(name)).collect();
    let (status, batch) = server.post("/v1/job-batches", &json!({"jobs": jobs})).await;
    assert!(status.is_success(), "{batch}");
    let path = format!("/v1/job-batches/{}", batch["batch_id"].as_str().unwrap_or_else(|| panic!("{batch}")));
    let batch = until(&server, &path, |batch| !batch["finished_at"].is_null()).await;
    assert_eq!(batch["counts"], json!({"SUCCEEDED": 1, "FAILED_TERMINAL": names.len() - 1}));
    let all = server.get("/v1/jobs?limit=100").await;
    for job in data(&all) {
        let job_id = job["job_id"].as_str().unwrap();
        let attempts = server.get(&format!("/v1/jobs/{job_id}/attempts")).await;
        match job["state"].as_str().unwrap() {
            "SUCCEEDED" => {
                let result = server.get(&format!("/v1/jobs/{job_id}/result")).await;
                assert!(result.to_string().contains(&json!(answer).to_string().replace('"', "")), "{result}");
            }
            "FAILED_TERMINAL" => is_readable(&attempts),
            state => panic!("{state}: {job}"),
        }
    }
}

/// Cut, and without a character that a terminal acts upon.
fn is_readable(attempts: &Value) {
    let attempt = &data(attempts)[0];
    let words = attempt["message"].as_str().unwrap_or_else(|| panic!("{attempt}"));
    // What the provider said, after what we say of it.
    assert!(words.chars().count() <= MESSAGE_CHARS + 100, "{} characters", words.chars().count());
    assert!(!words.chars().any(|char| char.is_control() && char != '\n'), "{words:?}");
    assert!(words.contains("before") || words.contains("it went wrong"), "{words:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_no_database_takes_holds_up_nothing() {
    all_reach_their_states(&Home::new()).await;
    let database = Database::new();
    all_reach_their_states(&database.home()).await;
}
