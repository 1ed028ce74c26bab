use forebay_core::definition::TaskKind;
use forebay_core::extract::{self, References};
use forebay_core::failure::FailureClass;
use forebay_core::job::Failure;
use forebay_core::review::ReviewDefault;
use forebay_store::record::{Bytes, NewReview};

use super::*;

const INVOICE: &str = include_str!("../../../../../examples/invoices/saeco.txt");
const ANSWER: &str = include_str!("../../../../../examples/invoices/saeco.first.txt");

impl Bench {
    /// A key of a reviewer by that name.
    async fn reviewer(&self, name: &str) -> String {
        let minted = mint_key();
        let key = NewKey {
            tenant: self.app.store.tenant("default").await.unwrap().unwrap().id,
            name: name.to_owned(),
            digest: minted.digest,
            hint: minted.hint,
            scopes: vec![Scope::Submit, Scope::Read, Scope::Review],
            expires_at: None,
            max_in_flight: None,
        };
        self.app.store.add_key(key, Actor::program()).await.unwrap();
        minted.text.expose_secret().to_owned()
    }

    /// An invoice about which the model invented a supplier.
    async fn in_review(&self, key: &str) -> String {
        let upload = asked(key, "POST", "/v1/documents").header("content-type", "text/plain");
        let document = self.send(upload.body(Body::from(INVOICE)).unwrap()).await.body["document_id"].clone();
        let job =
            self.post(key, "/v1/jobs", &json!({"task": "invoice", "input": {"document": document}})).await;
        assert_eq!(job.status, StatusCode::ACCEPTED, "{}", job.body);
        self.commit_one(Outcome::Succeeded, self.doubt()).await;
        job.body["job_id"].as_str().unwrap().to_owned()
    }

    fn doubt(&self) -> Then {
        let revision = self.app.revisions.active();
        let TaskKind::Extract(task) = &revision.task("invoice").unwrap().kind else { panic!("it extracts") };
        let references = References::on(self.app.store.now().date());
        let evaluation = extract::evaluate(ANSWER, false, INVOICE, &task.schema, &task.policy, &references);
        let json = |value: Value| value.to_string().into_bytes();
        let review = NewReview {
            due_in: Millis::from_secs(3_600),
            due_default: ReviewDefault::None,
            findings: json(json!(evaluation.findings)),
            output: evaluation.output.map(|output| Bytes::Inline(json(output))),
            provenance: json(json!({"model": "m", "policy": "invoice@1", "evidence": evaluation.evidence})),
        };
        let failure = Failure::new(FailureClass::PolicyFailed, "a quote is not in the document");
        Then::Review { entry: None, failure, review }
    }

    async fn review(&self, key: &str, job: &str) -> Value {
        let answer = self.get(key, &format!("/v1/reviews/{job}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        answer.body
    }

    async fn decide(&self, key: &str, job: &str, body: Value) -> Answer {
        self.post(key, &format!("/v1/reviews/{job}"), &body).await
    }
}

fn field<'r>(review: &'r Value, pointer: &str) -> &'r Value {
    let fields = review["fields"].as_array().unwrap();
    fields.iter().find(|field| field["pointer"] == pointer).unwrap_or_else(|| panic!("{pointer}: {review}"))
}

#[tokio::test]
async fn whoever_waits_for_the_machines_does_not_wait_for_a_person() {
    let bench = Bench::new().await;
    let key = bench.reviewer("anna").await;
    let path = format!("/v1/jobs/{}", bench.in_review(&key).await);
    let request = asked(&key, "GET", &path).header("prefer", "wait=60").body(Body::empty()).unwrap();
    let waited = tokio::time::timeout(std::time::Duration::from_secs(30), bench.send(request)).await;
    assert_eq!(waited.expect("an answer at once").body["state"], "REVIEW_REQUIRED");
}

#[tokio::test]
async fn a_review_shows_the_text_the_values_and_where_they_stand() {
    let bench = Bench::new().await;
    let key = bench.reviewer("anna").await;
    let job = bench.in_review(&key).await;
    let review = bench.review(&key, &job).await;
    assert_eq!(review["document_text"], INVOICE);
    assert_eq!((&review["state_version"], &review["overdue"]), (&json!(3), &json!(false)));
    assert_eq!(review["output"]["supplier"], "Saeco");
    let supplier = field(&review, "/supplier");
    assert_eq!(supplier["findings"][0]["code"], "evidence_not_found", "{supplier}");
    let total = field(&review, "/total");
    let span = &total["evidence"][0]["span"];
    let place = |name: &str| usize::try_from(span[name].as_u64().unwrap()).unwrap();
    assert!(INVOICE[place("start")..place("end")].contains("49,99"), "{total}");
    assert_eq!((&review["decided"], &review["history"]), (&Value::Null, &json!([])));
    let other = bench.key("other", &[Scope::Review]).await;
    assert_eq!(bench.get(&other, &format!("/v1/reviews/{job}")).await.code(), "not_found");
}

#[tokio::test]
async fn an_approval_is_a_result_that_says_who_vouched_for_it() {
    let bench = Bench::new().await;
    let key = bench.reviewer("anna").await;
    let job = bench.in_review(&key).await;
    let body = json!({"decision": "approve", "state_version": 3, "comment": "the logo says so"});
    let decided = bench.decide(&key, &job, body.clone()).await;
    assert_eq!(decided.status, StatusCode::OK, "{}", decided.body);
    assert_eq!((&decided.body["state"], &decided.body["state_version"]), (&json!("SUCCEEDED"), &json!(4)));
    assert_eq!(decided.header("idempotent-replayed"), None);
    let again = bench.decide(&key, &job, body).await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (StatusCode::OK, Some("true")));
    assert_eq!(again.body, decided.body, "an answer that was lost is given again");

    let result = bench.get(&key, &format!("/v1/jobs/{job}/result")).await.body;
    assert_eq!(result["output"]["supplier"], "Saeco");
    let review = &result["provenance"]["review"];
    assert_eq!((&review["decision"], &review["decided_by_name"]), (&json!("approve"), &json!("anna")));
    assert_eq!(review["comment"], "the logo says so");
    assert_eq!(result["provenance"]["policy"], "invoice@1");

    let late = bench.decide(&key, &job, json!({"decision": "reject", "state_version": 3})).await;
    assert_eq!((late.status, late.code()), (StatusCode::CONFLICT, "conflict"));
    let detail = late.body["detail"].as_str().unwrap();
    assert!(detail.contains("`approve` by `anna`"), "{detail}");
}

#[tokio::test]
async fn a_correction_passes_the_schema_and_keeps_what_the_model_said() {
    let bench = Bench::new().await;
    let key = bench.reviewer("anna").await;
    let job = bench.in_review(&key).await;
    let mut output = bench.review(&key, &job).await["output"].clone();
    let correct = async |output: &Value| {
        bench.decide(&key, &job, json!({"decision": "correct", "state_version": 3, "output": output})).await
    };
    output["total"] = json!("49,99");
    let refused = correct(&output).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::BAD_REQUEST, "invalid_member"));
    assert_eq!(refused.body["errors"][0]["pointer"], "/output/total", "{}", refused.body);

    output["total"] = json!("49.98");
    output["supplier"] = Value::Null;
    let corrected = correct(&output).await;
    assert_eq!(corrected.body["state"], "SUCCEEDED", "{}", corrected.body);
    let remaining = corrected.body["remaining_findings"].as_array().unwrap();
    let codes: Vec<_> = remaining.iter().map(|finding| finding["code"].as_str().unwrap()).collect();
    let expected = ["missing_required", "net_tax_total", "line_sum"];
    assert_eq!(codes, expected, "what the policy finds is recorded");

    let result = bench.get(&key, &format!("/v1/jobs/{job}/result")).await.body;
    assert_eq!((&result["output"]["total"], &result["output"]["supplier"]), (&json!("49.98"), &Value::Null));
    assert_eq!(result["provenance"]["review"]["changed"], json!(["/supplier", "/total"]));
    let evidence = result["provenance"]["evidence"].as_array().unwrap();
    assert!(
        evidence.iter().all(|quote| quote["field"] != "/total"),
        "a quote for another number proves nothing"
    );
    assert!(evidence.iter().any(|quote| quote["field"] == "/net"));

    let review = bench.review(&key, &job).await;
    assert_eq!(review["output"]["total"], "49.99", "the model's stays");
    assert_eq!(review["decided"]["decided_by_name"], "anna");
    let step = &review["history"][0];
    assert_eq!((&step["action"], &step["by_name"]), (&json!("review.correct"), &json!("anna")));
    assert_eq!(
        step["after"]["changes"][1],
        json!({"pointer": "/total", "before": "49.99", "after": "49.98"})
    );
}

#[tokio::test]
async fn a_rejection_fails_the_job_and_a_rerun_queues_it_again() {
    let bench = Bench::new().await;
    let key = bench.reviewer("anna").await;
    let job = bench.in_review(&key).await;
    let rerun = bench.decide(&key, &job, json!({"decision": "rerun", "state_version": 3})).await;
    assert_eq!((&rerun.body["state"], &rerun.body["generation"]), (&json!("READY"), &json!(1)));
    let view = bench.get(&key, &format!("/v1/jobs/{job}")).await.body;
    assert_eq!((&view["generation"], &view["attempts"]["made"]), (&json!(2), &json!(0)));
    bench.commit_one(Outcome::Succeeded, bench.doubt()).await;
    let moved = bench.decide(&key, &job, json!({"decision": "approve", "state_version": 3})).await;
    assert_eq!((moved.status, moved.code()), (StatusCode::CONFLICT, "conflict"));
    let seen = bench.review(&key, &job).await["state_version"].clone();
    let reject = json!({"decision": "reject", "state_version": seen, "comment": "not ours"});
    assert_eq!(bench.decide(&key, &job, reject).await.body["state"], "FAILED_TERMINAL");
    let view = bench.get(&key, &format!("/v1/jobs/{job}")).await.body;
    assert_eq!(view["failure"], json!({"class": "rejected", "message": "not ours"}));
    assert_eq!(bench.get(&key, &format!("/v1/jobs/{job}/result")).await.code(), "no_result");
    let actions: Vec<_> = bench.review(&key, &job).await["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["action"].clone())
        .collect();
    assert_eq!(actions, ["review.rerun", "review.reject"]);
}

#[tokio::test]
async fn a_rerun_may_have_a_time_of_its_own() {
    let bench = Bench::new().await;
    let key = bench.reviewer("anna").await;
    let job = bench.in_review(&key).await;
    let rerun = async |time: Value| {
        let mut body = json!({"decision": "rerun", "state_version": 3});
        body.as_object_mut().unwrap().extend(time.as_object().unwrap().clone());
        bench.decide(&key, &job, body).await
    };
    for late in [json!({"ttl_ms": 1}), json!({"deadline": "2020-01-01T00:00:00Z"})] {
        let refused = rerun(late).await;
        assert_eq!((refused.status, refused.code()), (StatusCode::BAD_REQUEST, "invalid_member"));
        assert_eq!(refused.body["errors"][0]["pointer"], "/deadline", "{}", refused.body);
    }
    let done = rerun(json!({"deadline": "2100-01-01T00:00:00Z"})).await;
    assert_eq!(done.body["state"], "READY", "{}", done.body);
    let view = bench.get(&key, &format!("/v1/jobs/{job}")).await.body;
    assert_eq!(view["deadline"], "2100-01-01T00:00:00.000Z");
    let again = rerun(json!({"deadline": "2100-01-01T00:00:00Z"})).await;
    assert_eq!(again.header("idempotent-replayed"), Some("true"), "{}", again.body);
    assert_eq!(rerun(json!({"deadline": "2100-01-01T00:00:01Z"})).await.code(), "conflict", "another time");
}

#[tokio::test]
async fn what_can_not_be_read_any_more_is_named_and_can_still_be_rejected() {
    let bench = Bench::new().await;
    let key = bench.reviewer("anna").await;
    // Too large for a row, so that it is lost with its blob.
    let text = format!("{INVOICE}{}", " ".repeat(70_000));
    let job = bench.post(&key, "/v1/jobs", &json!({"task": "invoice", "input": {"text": text}})).await;
    let job = job.body["job_id"].as_str().unwrap_or_else(|| panic!("{}", job.body)).to_owned();
    bench.commit_one(Outcome::Succeeded, bench.doubt()).await;
    let output = bench.review(&key, &job).await["output"].clone();
    for folder in std::fs::read_dir(bench._folder.path().join("blobs")).unwrap() {
        std::fs::remove_dir_all(folder.unwrap().path()).unwrap();
    }
    for body in [
        json!({"decision": "correct", "state_version": 3, "output": output}),
        json!({"decision": "rerun", "state_version": 3}),
    ] {
        let refused = bench.decide(&key, &job, body).await;
        assert_eq!((refused.status, refused.code()), (StatusCode::CONFLICT, "conflict"), "{}", refused.body);
        assert!(refused.body["detail"].as_str().unwrap().contains("approve or reject"), "{}", refused.body);
    }
    assert_eq!(bench.review(&key, &job).await.get("document_text"), None, "the rest is shown all the same");
    let reject = json!({"decision": "reject", "state_version": 3});
    assert_eq!(bench.decide(&key, &job, reject).await.status, StatusCode::OK);
}

#[tokio::test]
async fn whoever_holds_a_review_is_named_to_others() {
    let bench = Bench::new().await;
    let (anna, bert) = (bench.reviewer("anna").await, bench.reviewer("bert").await);
    let job = bench.in_review(&anna).await;
    let path = format!("/v1/reviews/{job}/claim");
    let held = bench.send(asked(&anna, "POST", &path).body(Body::empty()).unwrap()).await;
    assert_eq!(held.body["claim"]["claimed_by_name"], "anna", "{}", held.body);
    let refused = bench.post(&bert, &path, &json!({"for_ms": 60_000})).await;
    assert_eq!((refused.status, refused.code()), (StatusCode::CONFLICT, "conflict"));
    let detail = refused.body["detail"].as_str().unwrap();
    let until = held.body["claim"]["claimed_until"].as_str().unwrap();
    assert!(detail.contains("`anna`") && detail.contains(until), "{detail}");
    let decided = bench.decide(&bert, &job, json!({"decision": "approve", "state_version": 3})).await;
    assert_eq!((decided.status, decided.body["detail"].as_str()), (StatusCode::CONFLICT, Some(detail)));
    let list = |key: String, claimed: &'static str| {
        let bench = &bench;
        async move {
            let list = bench.get(&key, &format!("/v1/reviews?claimed={claimed}")).await;
            list.body["data"].as_array().unwrap().len()
        }
    };
    assert_eq!((list(anna.clone(), "me").await, list(bert.clone(), "available").await), (1, 0));
    let release = || asked(&anna, "DELETE", &path).body(Body::empty()).unwrap();
    assert_eq!(bench.send(release()).await.body.get("claim"), None);
    assert_eq!(bench.send(release()).await.status, StatusCode::OK, "twice is once");
    assert_eq!(list(bert, "available").await, 1);
}

#[tokio::test]
async fn the_queue_is_filtered_and_paged() {
    let bench = Bench::new().await;
    let key = bench.reviewer("anna").await;
    let jobs = [bench.in_review(&key).await, bench.in_review(&key).await, bench.in_review(&key).await];
    let page = bench.get(&key, "/v1/reviews?limit=2&finding=evidence_not_found").await;
    let ids = |page: &Answer| -> Vec<String> {
        let data = page.body["data"].as_array().unwrap();
        data.iter().map(|review| review["job_id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&page), jobs[..2]);
    assert_eq!(page.body["data"][0].get("output"), None, "a queue is no place for outputs");
    assert_eq!(page.body["data"][0]["finding_codes"][0], "evidence_not_found");
    let link = page.header("link").unwrap();
    let next = link.strip_prefix('<').unwrap().split_once('>').unwrap().0;
    let last = bench.get(&key, next).await;
    assert_eq!((ids(&last), last.header("link")), (jobs[2..].to_vec(), None));
    let other = next.replace("evidence_not_found", "line_sum");
    assert_eq!(bench.get(&key, &other).await.code(), "invalid_parameter", "another list's cursor");
    for (query, found) in [
        ("task=invoice&class=policy_failed", 3),
        ("task=chat", 0),
        ("class=truncated", 0),
        ("finding=line_sum", 0),
        ("due_before=2000-01-01T00:00:00Z", 0),
        ("due_before=2100-01-01T00:00:00Z", 3),
        ("opened_before=2000-01-01T00:00:00Z", 0),
        ("claimed=none", 3),
    ] {
        assert_eq!(ids(&bench.get(&key, &format!("/v1/reviews?{query}")).await).len(), found, "{query}");
    }
    for query in ["class=nonsense", "finding=nonsense", "claimed=you", "due_before=now", "overdue=true"] {
        assert_eq!(
            bench.get(&key, &format!("/v1/reviews?{query}")).await.code(),
            "invalid_parameter",
            "{query}"
        );
    }
}

#[tokio::test]
async fn what_was_decided_is_an_evaluation_set() {
    let bench = Bench::new().await;
    let key = bench.reviewer("anna").await;
    let (first, second) = (bench.in_review(&key).await, bench.in_review(&key).await);
    let mut output = bench.review(&key, &first).await["output"].clone();
    output["supplier"] = json!("Philips");
    let correct =
        json!({"decision": "correct", "state_version": 3, "output": output, "comment": "by the logo"});
    bench.decide(&key, &first, correct).await;
    bench.decide(&key, &second, json!({"decision": "reject", "state_version": 3})).await;
    let lines = async |query: &str| -> Vec<Value> {
        let answer = bench.get(&key, &format!("/v1/reviews/corrections{query}")).await;
        assert_eq!(answer.header("content-type"), Some("application/x-ndjson"), "{}", answer.body);
        let text = String::from_utf8(answer.bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = lines("").await;
    let ids: Vec<_> = all.iter().map(|line| line["job_id"].as_str().unwrap()).collect();
    assert_eq!(ids, [&first, &second]);
    let line = &all[0];
    assert_eq!((&line["decision"], &line["comment"]), (&json!("correct"), &json!("by the logo")));
    assert_eq!((&line["model_output"]["supplier"], &line["expected_output"]), (&json!("Saeco"), &output));
    let change = json!([{"pointer": "/supplier", "before": "Saeco", "after": "Philips"}]);
    assert_eq!(line["changes"], change);
    assert_eq!(line["findings"][0]["code"], "evidence_not_found");
    let document = line["document_id"].as_str().unwrap();
    assert_eq!(line["text_sha256"].as_str().unwrap(), &document["doc_".len()..]);
    assert_eq!(line.get("document_text"), None);
    assert_eq!((&all[1]["decision"], all[1].get("expected_output")), (&json!("reject"), None));

    let with_text = lines("?text=true&decision=correct").await;
    assert_eq!((with_text.len(), &with_text[0]["document_text"]), (1, &json!(INVOICE)));
    let after = lines(&format!("?cursor={}", line["cursor"].as_str().unwrap())).await;
    assert_eq!(after.len(), 1, "a stream that broke goes on");
    assert_eq!(lines("?until=2000-01-01T00:00:00Z").await.len(), 0);
    assert_eq!(lines("?task=chat").await.len(), 0);
    let refused = bench.get(&key, "/v1/reviews/corrections?decision=cancelled").await;
    assert_eq!(refused.code(), "invalid_parameter");
    let other = bench.key("other", &[Scope::Review]).await;
    assert_eq!(bench.get(&other, "/v1/reviews/corrections").await.bytes, b"");
}
