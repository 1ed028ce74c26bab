//! Each command of an operator as a process against a server process: the ordinary path, `--json`, and an error with its
//! exit code and the words that a person needs.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{FOREBAY, Home, Server, definitions, simulator};

const INVOICE: &str = include_str!("../../../../examples/invoices/coolblue1.txt");
const DOUBTFUL: &str = include_str!("../../../../examples/invoices/coolblue1.first.txt");
const NEVER: &str = "job_00000000000000000000000000000000";

/// What a command said.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Said {
    /// Its lines of JSON, where it was asked for them.
    fn records(&self) -> Vec<Value> {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }

    #[track_caller]
    fn is(&self, code: i32, out: &[&str], err: &[&str]) {
        let Said { out: said, err: complained, .. } = self;
        assert_eq!(self.code, Some(code), "{said}\n{complained}");
        for part in out {
            assert!(said.contains(part), "`{part}` is not in: {said}\n{complained}");
        }
        for part in err {
            assert!(complained.contains(part), "`{part}` is not in: {complained}");
        }
    }
}

/// Runs `forebay` with these words, and the last one with what else is given.
fn run(server: &Server, words: &str) -> Said {
    run_with(server, &words.split_whitespace().collect::<Vec<_>>(), "")
}

fn run_with(server: &Server, arguments: &[&str], input: &str) -> Said {
    use std::io::Write as _;
    let mut child = Command::new(FOREBAY)
        .args(arguments)
        .env("FOREBAY_URL", &server.url)
        .env("FOREBAY_KEY", &server.key)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

/// A job that failed since the provider refuses what it says.
async fn failed(server: &Server) -> String {
    let job_id = server.submit(&json!({"task": "chat", "input": {"prompt": "bad"}})).await;
    assert_eq!(server.settled(&job_id).await["state"], "FAILED_TERMINAL");
    job_id
}

/// A provider that refuses `bad` with the status 400.
fn picky() -> Value {
    json!({"rules": [{"match": {"contains": "bad"}, "fault": {"kind": "status", "status": 400}}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_submits_a_file_and_the_same_file_again_submits_nothing_twice() {
    let sim = simulator(&picky()).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    server.apply(&definitions(&sim.base_url(), "", "")).await;
    let line = |prompt: &str| json!({"task": "chat", "input": {"prompt": prompt}}).to_string();
    let file = home.path().join("jobs.jsonl");
    let mut lines: Vec<String> = (0..1_100).map(|n| line(&format!("number {n}"))).collect();
    lines[7] = line("the same");
    lines[8] = line("the same");
    lines[9] = r#"{"task":"chat","input":{"prompt":"x"},"deadine":1}"#.to_owned();
    std::fs::write(&file, lines.join("\n")).unwrap();
    let submit = ["batch", "submit", path(&file)];

    let first = run_with(&server, &submit, "");
    first.is(
        6,
        &["      8  job_", "     10  -", "refused: /deadine: ", "(unknown_member)"],
        &["1099 accepted, 0 submitted before, 1 refused", "forebay batch watch batch_"],
    );
    lines[9] = line("mended");
    lines.insert(0, line("another"));
    std::fs::write(&file, lines.join("\n")).unwrap();
    let again = run_with(&server, &[&submit[..], &["--wait"]].concat(), "");
    again.is(0, &["SUCCEEDED"], &["2 accepted, 1099 submitted before, 0 refused"]);
    let jobs = run(&server, "jobs --all --json").records();
    assert_eq!(jobs.len(), 1_101, "none is lost and none is double");

    let elsewhere = run_with(&server, &["batch", "submit", "-", "--wait", "--json"], &line("bad"));
    let records: Vec<Value> = elsewhere.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (elsewhere.code, &records[0]["line"], &records[1]["counts"]),
        (Some(3), &json!(1), &json!({"FAILED_TERMINAL": 1}))
    );
    let batch = records[0]["batch_id"].as_str().unwrap();
    run(&server, &format!("batch get {batch}")).is(0, &["1 FAILED_TERMINAL"], &[]);
    run(&server, &format!("batch cancel {batch}")).is(0, &["1 FAILED_TERMINAL"], &[]);
    assert_eq!(run(&server, "batch list --limit 2 --json").records().len(), 2);

    let broken = run_with(&server, &["batch", "submit", "-"], "{\"task\":\"chat\"}\n{\"task\":\n7");
    broken.is(2, &[], &["line 2: no JSON", "line 3: expected a job", "nothing was submitted"]);
    run(&server, "batch submit nowhere.jsonl").is(1, &[], &["nowhere.jsonl can't be read"]);
    run(&server, "batch get batch_00000000000000000000000000000000").is(6, &[], &["not_found"]);
}

/// The process is killed while it sends; whatever it had sent by then, the second one completes.
#[tokio::test(flavor = "multi_thread")]
async fn batch_goes_on_where_it_was_killed() {
    const JOBS: usize = 2_500;
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    server.apply(&definitions(&sim.base_url(), "", "")).await;
    let file = home.path().join("jobs.jsonl");
    let line =
        |n: usize| json!({"task": "chat", "input": {"prompt": format!("{}", n % 100)}}).to_string() + "\n";
    std::fs::write(&file, (0..JOBS).map(line).collect::<String>()).unwrap();
    let submit = ["batch", "submit", path(&file), "--json"];
    let mut child = Command::new(FOREBAY)
        .args(submit)
        .env("FOREBAY_URL", &server.url)
        .env("FOREBAY_KEY", &server.key)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut seen = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(seen.by_ref().take(1_100).count(), 1_100, "the second call has begun to be told of");
    child.kill().unwrap();
    child.wait().unwrap();
    let outcomes = run_with(&server, &submit, "").records();
    let mut jobs: Vec<_> = outcomes.iter().map(|outcome| outcome["job_id"].as_str().unwrap()).collect();
    jobs.sort_unstable();
    jobs.dedup();
    assert_eq!(jobs.len(), JOBS, "each line has a job of its own, equal ones too");
    assert_eq!(run(&server, "jobs --all --json").records().len(), JOBS, "and there is no other");
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_waits_for_limits_and_finds_what_was_refused_before() {
    let sim = simulator(&json!({"rules": [{"first_token_ms": 20}]})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    server.apply(&definitions(&sim.base_url(), "", "")).await;
    let limit = server.request(Method::PUT, "/v1/tenants/default").json(&json!({"max_pending_jobs": 20}));
    assert!(limit.send().await.unwrap().status().is_success());
    let lines: String = (0..50)
        .map(|n| format!("{}\n", json!({"task": "chat", "input": {"prompt": format!("{n}")}})))
        .collect();
    let taken = run_with(&server, &["batch", "submit", "-", "--wait"], &lines);
    taken.is(
        0,
        &["SUCCEEDED"],
        &["jobs wait 1 s for a limit: ", "50 accepted, 0 submitted before, 0 refused"],
    );

    let later = json!({"task": "later", "input": {"prompt": "x"}}).to_string();
    run_with(&server, &["batch", "submit", "-"], &later).is(6, &["refused: "], &["1 refused"]);
    let both = definitions(&sim.base_url(), "", "")
        + "[tasks.later]\nkind = \"llm\"\nmodel = \"small\"\nmax_output_tokens = 10\n";
    server.apply(&both).await;
    run_with(&server, &["batch", "submit", "-"], &later).is(0, &["accepted"], &["1 accepted"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_listed_counted_noted_owned_and_put_away() {
    let sim = simulator(&picky()).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let (job, other) = (failed(&server).await, failed(&server).await);
    run(&server, "dead-letters groups").is(0, &["TASK", "chat  invalid_request  2"], &[]);
    run(&server, "dead-letters list --class invalid_request").is(0, &["WHY", &job, &other], &[]);
    run(&server, "dead-letters list --limit 1").is(0, &[&other], &["there are more"]);
    let show = run(&server, &format!("dead-letters show {job}"));
    show.is(
        0,
        &["class      invalid_request", "means      ", "state      open"],
        &["forebay get", "--attempts"],
    );
    run(&server, &format!("get {job} --attempts")).is(0, &["WHAT WAS SAID", "HTTP 400"], &[]);
    run_with(&server, &["dead-letters", "note", &job, "the provider said no"], "").is(0, &[&job], &[]);
    run(&server, &format!("dead-letters own {job} anna")).is(0, &["open  anna"], &[]);
    let letter = run(&server, &format!("dead-letters show {job} --json")).records();
    assert_eq!(
        (&letter[0]["owner"], &letter[0]["notes"][0]["text"]),
        (&json!("anna"), &json!("the provider said no"))
    );
    assert_eq!(run(&server, "dead-letters list --owner anna --json").records().len(), 1);
    run(&server, &format!("dead-letters dismiss {job} {other}")).is(0, &["dismissed  anna"], &[]);
    assert_eq!(run(&server, "dead-letters groups --json").records(), [] as [Value; 0]);
    run(&server, &format!("dead-letters open {other}")).is(0, &["open"], &[]);

    let third = failed(&server).await;
    run(&server, "dead-letters change --unowned").is(2, &[], &["--assign"]);
    run(&server, "dead-letters change --dismiss").is(2, &[], &["there is nothing named to change", "--all"]);
    run(&server, "dead-letters change --unowned --assign bert --dry-run").is(0, &["invalid_request  2"], &[]);
    run(&server, "dead-letters change --after 1h --unowned --assign bert").is(
        0,
        &["2 changed, 0 refused"],
        &[],
    );
    let two = run(&server, &format!("dead-letters change {third} {NEVER} --note seen --dismiss"));
    two.is(6, &["1 changed, 1 refused"], &[&format!("{NEVER} is not changed")]);
    let back = run(&server, "dead-letters change --all --among dismissed --owner bert --reopen --json");
    assert_eq!(back.records()[0]["results"], json!([{"job_id": third, "state": "open"}]));

    let missing = run(&server, &format!("dead-letters resolve {NEVER} {other}"));
    missing.is(6, &[&format!("{other}  resolved")], &[NEVER, "not_found"]);
    run(&server, "dead-letters list --class nonsense").is(6, &[], &["class", "a failure class, such as"]);
    run(&server, "dead-letters show 17").is(2, &[], &["17", "job_"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn replay_does_failed_jobs_again_and_says_which_it_can_not() {
    let mut recovers = picky();
    recovers["rules"][0]["times"] = json!(2);
    let sim = simulator(&recovers).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let (job, other) = (failed(&server).await, failed(&server).await);
    run(&server, "replay").is(2, &[], &["there is nothing named to replay", "--all"]);
    run(&server, "replay --all --dry-run").is(0, &["chat  invalid_request  2"], &[]);
    let one = run(&server, &format!("replay {job} --reason again"));
    one.is(0, &[&format!("replays {job}")], &[]);
    let twice = run(&server, &format!("replay {job} {NEVER}"));
    twice.is(6, &[], &[&format!("{job}: "), "conflict", NEVER, "not_found"]);
    let many = run(&server, "replay --task chat --json");
    assert_eq!(many.records()[0]["results"][0]["replay_of"], json!(other));
    let good = server.submit(&json!({"task": "chat", "input": {"prompt": "good"}})).await;
    server.settled(&good).await;
    run(&server, &format!("replay {good}")).is(6, &[], &[&good, "conflict"]);
    run(&server, "replay --all --task-revision chat@77").is(0, &["0 replayed"], &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn diff_rollback_and_audit_tell_what_changed_and_who_did_it() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let old = definitions(&sim.base_url(), "", "");
    server.apply(&old).await;
    let file = home.path().join("new.toml");
    std::fs::write(&file, old.replace("max_output_tokens = 100\n", "max_output_tokens = 50\n")).unwrap();
    let file = path(&file);
    let what = "max_output_tokens: 100 -> 50";
    run(&server, &format!("diff {file}")).is(
        0,
        &["~ task chat", what, "results of new jobs may differ: chat"],
        &[],
    );
    run(&server, &format!("diff {file} --exit-code")).is(1, &[what], &[]);
    let records = run(&server, &format!("diff {file} --json")).records();
    assert!(records[0].to_string().contains("max_output_tokens"), "{records:?}");
    run(&server, &format!("apply {file} --expect 1")).is(6, &[], &["conflict"]);
    run(&server, &format!("apply {file} --expect 2 --comment shorter")).is(0, &[what], &[]);
    run(&server, "diff --from 2 --to 9").is(6, &[], &["revision 9"]);

    run(&server, "rollback --dry-run").is(0, &["max_output_tokens: 50 -> 100"], &[]);
    assert_eq!(server.get("/v1/revisions/active").await["number"], 3);
    run(&server, "rollback --expect 2").is(6, &[], &["conflict"]);
    run(&server, "rollback 77").is(6, &[], &["revision 77"]);
    let back = run(&server, "rollback --comment wrong --json").records();
    assert_eq!(
        (&back[0]["number"], &back[0]["comment"]),
        (&json!(4), &json!("rollback to revision 2: wrong")),
        "{back:?}"
    );

    run(&server, "audit --limit 1").is(0, &["WHO", "revision.rollback"], &["there are more"]);
    let applied = run(&server, "audit --action revision.apply --subject 3 --json").records();
    assert_eq!(applied.len(), 1, "{applied:?}");
    let export = run(&server, "audit --export csv");
    export.is(0, &["number,at,tenant,actor_key", "revision.rollback"], &[]);
    let lines = run(&server, "audit --export jsonl").records();
    assert_eq!(lines.len(), run(&server, "audit --limit 200 --json").records().len());
    follow(&server);
    run(&server, "audit --action nonsense").is(2, &[], &["revision.apply"]);
    run(&server, "audit --tenant nobody").is(6, &[], &["nobody"]);
}

/// Follows the audit until a change comes that is made meanwhile.
fn follow(server: &Server) {
    let mut child = Command::new(FOREBAY)
        .args(["audit", "--follow", "--limit", "2", "--json"])
        .env("FOREBAY_URL", &server.url)
        .env("FOREBAY_KEY", &server.key)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut entries = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let numbers: Vec<_> = entries.by_ref().take(2).map(|entry| entry["number"].as_u64().unwrap()).collect();
    assert!(numbers[0] < numbers[1], "the latest come oldest first: {numbers:?}");
    run(server, "key create followed --scope read").is(0, &["fbk_"], &[]);
    let next = entries.next().unwrap();
    assert_eq!(
        (&next["action"], &next["after"]["name"]),
        (&json!("key.create"), &json!("followed")),
        "{next}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_tells_what_the_server_lacks() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    run(&server, "doctor").is(0, &["ok    key", "credential   openai: the server finds it"], &[]);
    server.apply(&definitions(&sim.base_url(), "", "").replace("OPENAI_API_KEY", "NOBODY_SET_THIS")).await;
    let lacks = run(&server, "doctor");
    lacks.is(1, &["fail  credential   sim: the server does not find it: ", "NOBODY_SET_THIS"], &[]);
    let records = run(&server, "doctor --json").out;
    assert!(records.lines().any(|line| line.contains("\"mark\":\"fail\"")), "{records}");
}

#[tokio::test(flavor = "multi_thread")]
async fn review_lists_shows_and_decides() {
    let sim = simulator(&json!({"rules": [{"reply": DOUBTFUL}]})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let job = server.submit(&json!({"task": "invoice", "input": {"text": INVOICE}})).await;
    assert_eq!(server.settled(&job).await["state"], "REVIEW_REQUIRED");
    run(&server, "review list").is(0, &["JOB", &job], &[]);
    assert_eq!(run(&server, "review list --json").records()[0]["job_id"], json!(job));
    run(&server, &format!("review show {job}")).is(0, &["FINDINGS", "Totaal"], &[]);
    let shown = run(&server, &format!("review show {job} --json")).records();
    assert!(!shown[0]["findings"].as_array().unwrap().is_empty());
    run(&server, &format!("review approve {job} --version 1")).is(6, &[], &["conflict"]);
    run(&server, &format!("review reject {job} --comment duplicate")).is(0, &[&job], &[]);
    run(&server, &format!("review approve {job}")).is(
        6,
        &[],
        &["the review has ended: `reject` by", "conflict"],
    );
    run(&server, &format!("review show {NEVER}")).is(6, &[], &["not_found"]);
    assert_eq!(run(&server, "review export").records()[0]["decision"], "reject");
}

#[tokio::test(flavor = "multi_thread")]
async fn dataset_is_sent_listed_and_shown() {
    let sim = simulator(&json!({})).await;
    let home = Home::new();
    let server = Server::start(&home, &sim.base_url());
    let file = home.path().join("suppliers.csv");
    std::fs::write(&file, "name;iban\nACME;NL91ABNA0417164300\n").unwrap();
    let file = path(&file);
    run(&server, &format!("dataset put suppliers {file}")).is(0, &["suppliers  version 1  rows 1"], &[]);
    run(&server, &format!("dataset put suppliers {file}")).is(0, &["already"], &[]);
    run(&server, "dataset list").is(0, &["DATASET", "suppliers"], &[]);
    assert_eq!(run(&server, "dataset get suppliers --json").records()[0]["version"], 1);
    run(&server, "dataset get suppliers --content").is(0, &["ACME"], &[]);
    let wrong = run_with(&server, &["dataset", "put", "suppliers", "-"], "name,iban\nonly one\n");
    wrong.is(6, &[], &["2:", "invalid_member"]);
    let late = run_with(&server, &["dataset", "put", "suppliers", "-", "--if-version", "7"], "name\nx\n");
    late.is(6, &[], &["conflict"]);
    run(&server, "dataset get nothing").is(6, &[], &["not_found"]);
}
