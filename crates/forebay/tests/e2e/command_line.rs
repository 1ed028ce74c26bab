//! The command line against a running server, and the demo.

use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::harness::{FOREBAY, Home, Server, simulator};

fn forebay(server: &Server, arguments: &[&str]) -> Output {
    Command::new(FOREBAY)
        .args(arguments)
        .env("FOREBAY_URL", &server.url)
        .env("FOREBAY_KEY", &server.key)
        .output()
        .unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_demo_shows_all_invoices_with_nothing_set_up() {
    let demo = Command::new(FOREBAY)
        .args(["demo", "--exit", "--json"])
        .env_remove("OPENAI_API_KEY")
        .env_remove("OPENAI_BASE_URL")
        .output()
        .unwrap();
    assert!(demo.status.success(), "{}", String::from_utf8_lossy(&demo.stderr));
    let shown: Value = serde_json::from_slice(&demo.stdout).unwrap();
    assert_eq!(shown["simulated"], true);
    let states: Vec<_> = shown["invoices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|visit| (visit["document"].as_str().unwrap(), visit["job"]["state"].as_str().unwrap()))
        .collect();
    let review: Vec<_> = states.iter().filter(|(_, state)| *state == "REVIEW_REQUIRED").collect();
    assert_eq!(review, [&("saeco", "REVIEW_REQUIRED")]);
    assert_eq!(states.iter().filter(|(_, state)| *state == "SUCCEEDED").count(), 8, "{states:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn submit_waits_for_the_result_and_exits_by_its_state() {
    let sim = simulator(&json!({"rules": [{"match": {"contains": "bad"}, "fault": {"kind": "status", "status": 401}}, {"reply": "fine"}]})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let good = forebay(&server, &["submit", "chat", "--prompt", "good", "--wait"]);
    assert_eq!(good.status.code(), Some(0), "{}", String::from_utf8_lossy(&good.stderr));
    assert!(stdout(&good).contains("fine"));
    let bad = forebay(&server, &["submit", "chat", "--prompt", "bad", "--wait"]);
    assert_eq!(bad.status.code(), Some(3), "{}", String::from_utf8_lossy(&bad.stderr));
    let unknown = forebay(&server, &["submit", "nonsense", "--prompt", "x"]);
    assert_eq!(unknown.status.code(), Some(6), "{}", String::from_utf8_lossy(&unknown.stderr));
    let list = forebay(&server, &["jobs", "--json"]);
    assert_eq!(list.status.code(), Some(0));
    assert!(stdout(&list).contains("FAILED_TERMINAL"));
}

#[test]
fn nobody_at_the_address_is_exit_code_five() {
    let away = Command::new(FOREBAY)
        .args(["jobs"])
        .env("FOREBAY_URL", "http://127.0.0.1:9")
        .env("FOREBAY_KEY", "fbk_x")
        .output()
        .unwrap();
    assert_eq!(away.status.code(), Some(5), "{}", String::from_utf8_lossy(&away.stderr));
    assert_eq!(Command::new(FOREBAY).arg("nonsense").output().unwrap().status.code(), Some(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definitions_file_with_a_fault_is_refused_with_its_line() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let file = home.path().join("definitions.toml");
    std::fs::write(&file, "[pools.main]\nprovider = \"nobody\"\n").unwrap();
    let refused = forebay(&server, &["apply", file.to_str().unwrap()]);
    assert_ne!(refused.status.code(), Some(0));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("definitions.toml:2") && said.contains("nobody"), "{said}");
    std::fs::write(&file, forebay::definitions::DEFAULT.replace("Rises with", "It rises with")).unwrap();
    let applied = forebay(&server, &["apply", file.to_str().unwrap()]);
    assert_eq!(applied.status.code(), Some(0), "{}", String::from_utf8_lossy(&applied.stderr));
    assert_eq!(server.get("/v1/revisions/active").await["number"], 2);
}
