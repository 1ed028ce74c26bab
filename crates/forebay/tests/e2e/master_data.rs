//! What an answer is held against beside its document: master data, and the jobs that succeeded before.

use forebay::sim::SimHandle;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{Home, PATIENCE, Server, data, definitions, simulator};

const COOLBLUE: &str = "NL91ABNA0417164300";
const QUALITY: &str = "DE89370400440532013000";

const BILL: &str = r#"
[policies.bill]
version = 1
required = ["/supplier", "/number", "/total"]
ibans = ["/iban"]

[policies.bill.amounts]
total = "/total"

[[policies.bill.master_data]]
dataset = "suppliers"
match = [{ field = "/supplier", column = "name" }]
equal = [{ field = "/iban", column = "iban", as = "code" }]

[policies.bill.duplicates]
fields = ["/supplier", "/number", "/total"]

[policies.bill.evidence]

[tasks.bill]
kind = "extract"
model = "small"
policy = "bill"
variables = ["document"]
prompt = "Read it. {{ document }}"
schema = '''{"type": "object", "required": ["supplier", "iban", "number", "total"], "additionalProperties": false,
           "properties": {"supplier": {"type": "string"}, "iban": {"type": ["string", "null"]},
                          "number": {"type": "string"}, "total": {"type": "string"}}}'''
"#;

/// A bill's text.
fn bill(supplier: &str, number: &str, iban: &str) -> String {
    format!("{supplier}\nInvoice {number}\nIBAN {iban}\nTotal EUR 717,97\n")
}

/// What a model says about it, faithfully but for the account.
fn answer(supplier: &str, number: &str, iban: &str) -> String {
    let output = json!({"supplier": supplier, "number": number, "iban": iban, "total": "717.97"});
    let quote = |field: &str, quote: &str| json!({"field": field, "quote": quote});
    let evidence = [
        quote("/supplier", supplier),
        quote("/number", &format!("Invoice {number}")),
        quote("/iban", &format!("IBAN {iban}")),
        quote("/total", "Total EUR 717,97"),
    ];
    json!({"output": output, "evidence": evidence}).to_string()
}

struct Desk {
    server: Server,
    sim: SimHandle,
    home: Home,
}

impl Desk {
    /// A server with the task, and a model that gives these answers about bills with these numbers.
    async fn new(answers: &[(&str, String)], first_token_ms: u64) -> Self {
        let rule = |(number, reply): &(&str, String)| json!({"match": {"contains": format!("Invoice {number}\n")}, "reply": reply, "first_token_ms": first_token_ms});
        let sim = simulator(&json!({"rules": answers.iter().map(rule).collect::<Vec<_>>()})).await;
        let home = Home::new();
        let server = Server::start(&home, &sim.base_url());
        server.apply(&(definitions(&sim.base_url(), "", "") + BILL)).await;
        Self { server, sim, home }
    }

    async fn suppliers(&self, rows: &Value) -> Value {
        let put = self.server.request(Method::PUT, "/v1/datasets/suppliers").json(rows);
        let answer = put.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::CREATED);
        answer.json().await.unwrap()
    }

    async fn submit(&self, text: &str) -> String {
        self.server.submit(&json!({"task": "bill", "input": {"text": text}})).await
    }

    /// The id of a job about a text that must succeed, and where its result comes from.
    async fn succeeds(&self, text: &str) -> (String, Value) {
        let id = self.submit(text).await;
        let job = self.server.settled(&id).await;
        assert_eq!(job["state"], "SUCCEEDED", "{job}");
        let result = self.server.get(&format!("/v1/jobs/{id}/result")).await;
        (id, result["provenance"].clone())
    }

    /// The findings on a text that a person has to look at, as code and message.
    async fn doubts(&self, text: &str) -> Vec<(String, String)> {
        let id = self.submit(text).await;
        let job = self.server.settled(&id).await;
        assert_eq!(job["state"], "REVIEW_REQUIRED", "{job}");
        self.findings(&id).await
    }

    async fn findings(&self, id: &str) -> Vec<(String, String)> {
        let review = self.server.get(&format!("/v1/reviews/{id}")).await;
        let findings = review["findings"].as_array().unwrap().iter();
        let word = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
        findings.map(|finding| (word(finding, "code"), word(finding, "message"))).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_held_against_the_latest_master_data() {
    let invented = "NL02RABO0123456789";
    let desk = Desk::new(
        &[
            ("1", answer("Coolblue B.V.", "1", COOLBLUE)),
            ("2", answer("Coolblue B.V.", "2", invented)),
            ("3", answer("Coolblue B.V.", "3", QUALITY)),
            ("4", answer("Coolblue B.V.", "4", QUALITY)),
        ],
        0,
    )
    .await;
    let bill_of = |number: &str, iban: &str| bill("Coolblue B.V.", number, iban);

    let none = desk.doubts(&bill_of("1", COOLBLUE)).await;
    assert_eq!(none.len(), 1, "{none:?}");
    assert!(none[0].0 == "dataset_missing" && none[0].1.contains("`suppliers`"), "{none:?}");
    assert_eq!(desk.sim.requests(0).len(), 1, "no other answer brings master data");

    let first = desk
        .suppliers(&json!([{"name": "Coolblue B.V.", "iban": "NL91 ABNA 0417 1643 00"},
                           {"name": "QualityHosting AG", "iban": QUALITY}]))
        .await;
    let stamp = |dataset: &Value| json!([{"name": "suppliers", "version": dataset["version"], "digest": dataset["digest"]}]);
    let (_, provenance) = desk.succeeds(&bill_of("1", COOLBLUE)).await;
    assert_eq!(provenance["datasets"], stamp(&first));
    assert!(provenance["judged_on"].is_string());

    let codes =
        |findings: Vec<(String, String)>| findings.into_iter().map(|finding| finding.0).collect::<Vec<_>>();
    // The model says an account that the document does not have.
    let codes_of_invented = codes(desk.doubts(&bill_of("2", COOLBLUE)).await);
    assert!(codes_of_invented.contains(&"record_mismatch".to_owned()), "{codes_of_invented:?}");
    assert!(codes_of_invented.contains(&"evidence_not_found".to_owned()), "{codes_of_invented:?}");
    // The document itself has somebody else's.
    assert_eq!(codes(desk.doubts(&bill_of("3", QUALITY)).await), ["record_mismatch"]);

    let second = desk.suppliers(&json!([{"name": "Coolblue B.V.", "iban": QUALITY}])).await;
    assert_eq!(second["version"], 2);
    let (_, provenance) = desk.succeeds(&bill_of("4", QUALITY)).await;
    assert_eq!(provenance["datasets"], stamp(&second), "the latest at the moment of judging");
}

/// A correction is held against the master data of its own day, and its provenance says so. A dataset that is there and
/// can't be read is told from one that is missing.
#[tokio::test(flavor = "multi_thread")]
async fn a_correction_names_the_datasets_and_an_unreadable_one_is_named() {
    let answers = ["1", "2"].map(|number| (number, answer("Coolblue B.V.", number, COOLBLUE)));
    let desk = Desk::new(&answers, 0).await;
    let id = desk.submit(&bill("Coolblue B.V.", "1", COOLBLUE)).await;
    let job = desk.server.settled(&id).await;
    assert_eq!(job["state"], "REVIEW_REQUIRED", "{job}");
    let first = desk.suppliers(&json!([{"name": "Coolblue B.V.", "iban": COOLBLUE}])).await;
    let output = json!({"supplier": "Coolblue B.V.", "number": "1", "iban": COOLBLUE, "total": "717.97"});
    let correct = json!({"decision": "correct", "state_version": job["state_version"], "output": output});
    let (status, decided) = desk.server.post(&format!("/v1/reviews/{id}"), &correct).await;
    assert_eq!((status, &decided["remaining_findings"]), (StatusCode::OK, &json!([])), "{decided}");
    let result = desk.server.get(&format!("/v1/jobs/{id}/result")).await;
    let stamp = json!([{"name": "suppliers", "version": first["version"], "digest": first["digest"]}]);
    assert_eq!(result["provenance"]["datasets"], stamp);

    let second = desk.suppliers(&json!([{"name": "Coolblue B.V.", "iban": QUALITY}])).await;
    remove(desk.home.path(), second["digest"].as_str().unwrap());
    let doubts = desk.doubts(&bill("Coolblue B.V.", "2", COOLBLUE)).await;
    assert_eq!(doubts.len(), 1, "{doubts:?}");
    assert!(doubts[0].0 == "dataset_missing" && doubts[0].1.contains("can't be read"), "{doubts:?}");
}

/// Loses the content with this digest.
fn remove(folder: &std::path::Path, digest: &str) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            remove(&entry, digest);
        } else if entry.file_name().is_some_and(|name| digest.ends_with(&*name.to_string_lossy())) {
            std::fs::remove_file(entry).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_invoice_again_is_a_duplicate_that_a_person_decides_about() {
    let desk = Desk::new(&[("1", answer("Coolblue B.V.", "1", COOLBLUE))], 0).await;
    desk.suppliers(&json!([{"name": "Coolblue B.V.", "iban": COOLBLUE}])).await;
    let text = bill("Coolblue B.V.", "1", COOLBLUE);
    let (first, _) = desk.succeeds(&text).await;
    let calls = desk.sim.requests(0).len();
    let findings = desk.doubts(&text).await;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].0 == "duplicate" && findings[0].1.contains(&first), "{findings:?}");
    assert_eq!(desk.sim.requests(0).len(), calls + 1, "no other answer makes it the first of its kind");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_the_same_invoices_at_once_exactly_one_succeeds() {
    const TIMES: usize = 8;
    let desk = Desk::new(&[("1", answer("Coolblue B.V.", "1", COOLBLUE))], 300).await;
    desk.suppliers(&json!([{"name": "Coolblue B.V.", "iban": COOLBLUE}])).await;
    let mut ids = Vec::new();
    for _ in 0..TIMES {
        ids.push(desk.submit(&bill("Coolblue B.V.", "1", COOLBLUE)).await);
    }
    let mut reviews = Vec::new();
    let mut succeeded = Vec::new();
    for id in ids {
        let job = desk.server.settled(&id).await;
        match job["state"].as_str() {
            Some("SUCCEEDED") => succeeded.push(id),
            Some("REVIEW_REQUIRED") => reviews.push(id),
            _ => panic!("{job}"),
        }
    }
    assert_eq!((succeeded.len(), reviews.len()), (1, TIMES - 1));
    for id in &reviews {
        let findings = desk.findings(id).await;
        assert!(
            findings.iter().any(|(code, message)| code == "duplicate" && message.contains(&succeeded[0]))
        );
    }
    let review = desk.server.get("/v1/reviews").await;
    assert_eq!(data(&review).len(), TIMES - 1);
}

/// What a job is about is taken with its success or not at all: whatever a crash leaves undone is done again, and is
/// then no duplicate of itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_around_the_commit_makes_no_duplicate() {
    for place in ["before_commit", "after_commit"] {
        let mut desk = Desk::new(&[("1", answer("Coolblue B.V.", "1", COOLBLUE))], 0).await;
        desk.suppliers(&json!([{"name": "Coolblue B.V.", "iban": COOLBLUE}])).await;
        let failpoint = format!("commit_step.{place}=abort");
        let address = desk.sim.base_url();
        let restarted = |desk: Desk, environment: &[(&str, &str)]| {
            let Desk { server, sim, home } = desk;
            server.kill_9();
            let server = Server::start_with(&home, &address, environment);
            Desk { server, sim, home }
        };
        desk = restarted(desk, &[("FAILPOINTS", &failpoint)]);
        let text = bill("Coolblue B.V.", "1", COOLBLUE);
        let body = json!({"task": "bill", "input": {"text": &text}});
        let submit = desk.server.request(Method::POST, "/v1/jobs").header("Idempotency-Key", "k");
        // The process may end before it has answered.
        drop(submit.json(&body).send().await);
        let ended = std::time::Instant::now();
        while !desk.server.has_ended() {
            assert!(ended.elapsed() < PATIENCE, "{place}: the process does not come there");
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        desk = restarted(desk, &[]);
        let jobs = desk.server.get("/v1/jobs").await;
        let first = data(&jobs)[0]["job_id"].as_str().unwrap().to_owned();
        let job = desk.server.settled(&first).await;
        assert_eq!(job["state"], "SUCCEEDED", "{place}: {job}");
        let findings = desk.doubts(&text).await;
        assert!(findings[0].0 == "duplicate" && findings[0].1.contains(&first), "{findings:?}");
    }
}
