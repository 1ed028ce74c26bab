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

/// Numbers that can be worked out on paper.
#[test]
fn plan_says_what_paper_says() {
    const BURST: &str = "--backlog 10000 --attempts 1.10 --service 15s --tokens 6000 --requests-per-minute 600 \
                         --tokens-per-minute 600_000 --max-in-flight 30";
    let burst = |more: &str| format!("{BURST} {more}");
    for (arguments, said) in [
        (burst(""), &["tokens_per_minute    600000   1.6667      1.5152  binds", "done in 6600 s"][..]),
        (burst("--arrivals 1/s"), &["backlog alone  done in 6600 s", "with arrivals  done in 19412 s"]),
        (
            burst("--arrivals 2/s"),
            &["no steady state exists: the backlog grows by 0.4848 jobs a second, 1745 an hour"],
        ),
        ("--arrivals 20/s --service 15s".to_owned(), &["300 calls on average"]),
        ("--backlog 30000 --late 2%".to_owned(), &["600 jobs of the backlog by their share"]),
        ("--arrivals 5/s --service 8s".to_owned(), &["58 by utilization"]),
        ("--arrivals 5/s --service 8s --utilization 90%".to_owned(), &["45 by utilization"]),
        ("--arrivals 0.5/s --service 8s".to_owned(), &["6 by utilization, 6 by headroom"]),
    ] {
        let plan = Command::new(FOREBAY).arg("plan").args(arguments.split_whitespace()).output().unwrap();
        assert_eq!(plan.status.code(), Some(0), "{}", String::from_utf8_lossy(&plan.stderr));
        let text = stdout(&plan);
        assert!(said.iter().all(|said| text.contains(said)), "{arguments}: {text}");
    }
    let nothing = Command::new(FOREBAY).arg("plan").output().unwrap();
    assert_eq!(nothing.status.code(), Some(2));
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

/// Runs a command with lines that somebody types.
fn typed(server: &Server, arguments: &[&str], lines: &str) -> Output {
    use std::io::Write as _;
    let mut child = Command::new(FOREBAY)
        .args(arguments)
        .env("FOREBAY_URL", &server.url)
        .env("FOREBAY_KEY", &server.key)
        .env("EDITOR", "sed -i 's/993548900/4711/'")
        .env_remove("VISUAL")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn reviews_are_walked_through_and_decided_one_by_one() {
    let invoice = include_str!("../../../../examples/invoices/coolblue1.txt");
    let doubtful = include_str!("../../../../examples/invoices/coolblue1.first.txt");
    let sim = simulator(&json!({"rules": [{"reply": doubtful}]})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    // As many as this would wait for the pool's minute.
    server.apply(&forebay::definitions::DEFAULT.replace("tokens_per_minute = 200000", "")).await;
    let mut jobs = Vec::new();
    for _ in 0..5 {
        let job = server.submit(&json!({"task": "invoice", "input": {"text": invoice}})).await;
        assert_eq!(server.settled(&job).await["state"], "REVIEW_REQUIRED");
        jobs.push(job);
    }
    let list = forebay(&server, &["review", "list", "--task", "invoice", "--json"]);
    let listed: Vec<Value> = stdout(&list).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(listed.iter().map(|review| review["job_id"].as_str().unwrap()).collect::<Vec<_>>(), jobs);
    let show = stdout(&forebay(&server, &["review", "show", &jobs[0]]));
    assert!(
        show.contains("FINDINGS") && show.contains("[Totaal                 € 717,97]"),
        "places are marked without colors: {show}"
    );

    let walk = typed(
        &server,
        &["review"],
        "nonsense\na the sum is right\n/supplier=Other\nu\nc\ns\nr\nnot ours\nq\n",
    );
    let said = String::from_utf8_lossy(&walk.stderr).into_owned();
    assert_eq!(walk.status.code(), Some(0), "{said}");
    assert!(said.contains("3 decided, 2 left"), "{said}");
    let mut states = Vec::new();
    for job in &jobs {
        states.push(server.get(&format!("/v1/jobs/{job}")).await["state"].as_str().unwrap().to_owned());
    }
    let left = "REVIEW_REQUIRED";
    assert_eq!(states, ["SUCCEEDED", "SUCCEEDED", left, "FAILED_TERMINAL", left]);
    let edited = server.get(&format!("/v1/jobs/{}/result", jobs[1])).await;
    assert_eq!(edited["output"]["invoice_number"], "4711");
    assert_eq!(edited["provenance"]["review"]["changed"], json!(["/invoice_number"]));
    let queue = server.get("/v1/reviews?claimed=none").await;
    assert_eq!(queue["data"].as_array().unwrap().len(), 2, "what was left is given back");

    let correct = forebay(&server, &["review", "correct", &jobs[2], "--set", "/total=5.00", "--json"]);
    let decided: Value = serde_json::from_slice(&correct.stdout).unwrap();
    assert_eq!((&decided["state"], &decided["decision"]), (&json!("SUCCEEDED"), &json!("correct")));
    let late = forebay(&server, &["review", "approve", &jobs[2]]);
    assert_eq!(late.status.code(), Some(6), "{}", String::from_utf8_lossy(&late.stderr));
    let wrong = forebay(&server, &["review", "correct", &jobs[4], "--set", "/total=5,00"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("/output/total"), "the member is named");
    let held = forebay(&server, &["review", "claim", &jobs[4], "--for", "1h"]);
    assert!(stdout(&held).contains("holds it until"), "{}", stdout(&held));
    assert_eq!(forebay(&server, &["review", "release", &jobs[4]]).status.code(), Some(0));
    assert_eq!(forebay(&server, &["review", "--json"]).status.code(), Some(2));
    let lines = stdout(&forebay(&server, &["review", "export", "--decision", "correct"]));
    let corrected: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(corrected.len(), 2);
    let cursor = corrected[0]["cursor"].as_str().unwrap();
    let rest = stdout(&forebay(&server, &["review", "export", "--decision", "correct", "--after", cursor]));
    assert_eq!(rest.lines().count(), 1);
}
