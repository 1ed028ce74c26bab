use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::definition::{
    AtBudget, Deadlines, Endpoint, Extraction, Model, OnUnknown, Pool, PoolLimits, Provider, ProviderKind,
    StructuredOutput,
};
use crate::digest::Digest;
use crate::extract::{Policy, References, Schema, evaluate};
use crate::failure::FailureClass;
use crate::money::Price;
use crate::prompt::Prompt;
use crate::request::Input;
use crate::retry::RetryPolicy;
use crate::time::Millis;

const DOCUMENT: &str = "Acme Tools\nAmount due: 24.00\n";

fn task(kind: TaskKind) -> Task {
    let provider = Provider {
        name: "p".to_owned(),
        kind: ProviderKind::Compatible,
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        credential: None,
        deadlines: Deadlines::default(),
    };
    let pool = Pool { name: "p".to_owned(), provider: Arc::new(provider), limits: PoolLimits::default() };
    let model = Model {
        name: "small".to_owned(),
        pool: Arc::new(pool),
        provider_model: "small".to_owned(),
        endpoint: Endpoint::Chat,
        context_tokens: 1_000,
        max_output_tokens: 500,
        price: Price::default(),
        structured_output: StructuredOutput::default(),
    };
    Task {
        name: "t".to_owned(),
        description: String::new(),
        kind,
        model: Arc::new(model),
        max_output_tokens: 100,
        params: json!({"temperature": 0}).as_object().cloned().unwrap_or_default(),
        allowed_params: vec!["temperature".to_owned()],
        retry: RetryPolicy::default(),
        on_unknown: OnUnknown::Retry,
        default_ttl: Millis::from_secs(3_600),
        attempt_total: Millis::from_secs(120),
        at_budget: AtBudget::Wait,
        max_in_flight: None,
        on_failure: Default::default(),
        review_due: Millis::from_secs(3_600),
        review_default: Default::default(),
        digest: Digest::of(b"t"),
    }
}

fn chat() -> Task {
    task(TaskKind::Llm { prompt: None })
}

fn extraction() -> Arc<Extraction> {
    let schema =
        json!({"type": "object", "properties": {"total": {"type": "string"}}, "required": ["total"]});
    let policy = json!({"version": 1, "required": ["/total"], "evidence": {}});
    let variables = ["document".to_owned()];
    Arc::new(Extraction {
        prompt: Arc::new(Prompt::compile("Read this.\n{{ document }}", &variables).unwrap()),
        schema: Arc::new(Schema::compile(&schema).unwrap()),
        policy: Arc::new(serde_json::from_value::<Policy>(policy).unwrap()),
        policy_name: "note@1".to_owned(),
        corrections: 1,
    })
}

fn request(input: Input, params: Value) -> StoredRequest {
    StoredRequest { input, params: params.as_object().cloned().unwrap_or_default() }
}

fn prompt(text: &str) -> Input {
    Input::Messages(vec![json!({"role": "user", "content": text})])
}

/// What an answer leaves in the journal.
fn entry(answer: &str, truncated: bool) -> Entry {
    let extraction = extraction();
    let references = References::on(jiff::civil::date(2024, 2, 29));
    let evaluation =
        evaluate(answer, truncated, DOCUMENT, &extraction.schema, &extraction.policy, &references);
    Entry::Extraction { answer: answer.to_owned(), evaluation, against: Against::default() }
}

fn after(journal: &[Entry]) -> Next {
    let task = task(TaskKind::Extract(extraction()));
    next(&task, &request(Input::Text(DOCUMENT.to_owned()), json!({})), DOCUMENT, journal)
}

const GOOD: &str =
    r#"{"output": {"total": "24.00"}, "evidence": [{"field": "/total", "quote": "Amount due: 24.00"}]}"#;
const BAD: &str =
    r#"{"output": {"total": "25.00"}, "evidence": [{"field": "/total", "quote": "Amount due: 25.00"}]}"#;

#[test]
fn an_llm_job_is_one_call_and_its_answer() {
    let asked = request(prompt("What is two and two?"), json!({"max_output_tokens": 7}));
    let first = next(&chat(), &asked, "", &[]);
    assert_eq!(first, Next::Step(Step { kind: StepKind::ModelCall, input_tokens: 7, output_tokens: 7 }));
    let done = Entry::Chat { text: "Four.".to_owned(), finish_reason: "stop".to_owned() };
    let end = Conclusion::Succeed(json!({"text": "Four.", "finish_reason": "stop"}));
    assert_eq!(next(&chat(), &asked, "", &[done]), Next::End(end));
}

#[test]
fn a_request_sets_parameters_over_the_tasks_own_and_limits_within_them() {
    let asked = request(prompt("x"), json!({"temperature": 1, "max_output_tokens": 9_999}));
    let ModelRequest::Chat { params, max_output_tokens, .. } = compose(&chat(), &asked, "", &[]).unwrap()
    else {
        panic!("a chat")
    };
    assert_eq!((Value::Object(params), max_output_tokens), (json!({"temperature": 1}), 100));
}

#[test]
fn what_can_not_fit_the_models_context_is_never_sent() {
    let long = request(prompt(&"x".repeat(5_006)), json!({}));
    let refused = compose(&chat(), &long, "", &[]).unwrap_err();
    assert_eq!(refused.class, FailureClass::InvalidRequest);
    assert!(compose(&chat(), &request(prompt(&"x".repeat(5_000)), json!({})), "", &[]).is_ok());
}

#[test]
fn an_answer_that_passes_is_the_output() {
    assert_eq!(after(&[entry(GOOD, false)]), Next::End(Conclusion::Succeed(json!({"total": "24.00"}))));
}

#[test]
fn an_answer_in_doubt_is_corrected_once_and_then_a_persons_matter() {
    let Next::Step(step) = after(&[entry(BAD, false)]) else { panic!("a step") };
    assert_eq!(step.kind, StepKind::Correction);
    let Next::End(Conclusion::Review(doubt)) = after(&[entry(BAD, false), entry(BAD, false)]) else {
        panic!("a review")
    };
    assert_eq!(doubt.class, FailureClass::PolicyFailed);
    let corrected = after(&[entry(BAD, false), entry(GOOD, false)]);
    assert!(matches!(corrected, Next::End(Conclusion::Succeed(_))));
}

/// No other answer brings master data, or makes a document the first of its kind.
#[test]
fn what_no_answer_can_change_is_a_persons_at_once() {
    use crate::extract::{Finding, FindingCode};
    for code in [FindingCode::DatasetMissing, FindingCode::Duplicate] {
        let mut last = entry(GOOD, false);
        let Entry::Extraction { evaluation, .. } = &mut last else { unreachable!() };
        evaluation.findings = vec![Finding::new(FindingCode::Schema, "", "x"), Finding::new(code, "", "y")];
        assert!(matches!(after(&[last]), Next::End(Conclusion::Review(_))), "{code:?}");
    }
}

#[test]
fn an_answer_that_was_cut_is_not_asked_for_again_and_never_passes() {
    let Next::End(Conclusion::Review(doubt)) = after(&[entry(GOOD, true)]) else { panic!("a review") };
    assert_eq!(doubt.class, FailureClass::Truncated);
}

#[test]
fn a_correction_tells_the_model_its_own_answer_and_what_is_wrong_with_it() {
    let task = task(TaskKind::Extract(extraction()));
    let asked = request(Input::Text(DOCUMENT.to_owned()), json!({}));
    let composed = compose(&task, &asked, DOCUMENT, &[entry(BAD, false)]).unwrap();
    let ModelRequest::Chat { messages, .. } = composed else { panic!("a chat") };
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert!(messages[0]["content"].as_str().unwrap().contains("Amount due: 24.00"));
    assert_eq!(messages[1]["content"], BAD);
    assert!(messages[2]["content"].as_str().unwrap().contains("/total"));
}

#[test]
fn the_same_journal_gives_the_same_plan() {
    let journal = [entry(BAD, false)];
    assert_eq!(after(&journal), after(&journal));
    let stored = serde_json::to_vec(&journal).unwrap();
    let read: Vec<Entry> = serde_json::from_slice(&stored).unwrap();
    assert_eq!(after(&read), after(&journal), "also from what the store kept");
}

#[test]
fn a_prompt_of_an_llm_task_comes_before_the_callers_messages() {
    let prompt_of_task = Prompt::compile("Be brief.", &[]).unwrap();
    assert_eq!(prompt_of_task.render(&BTreeMap::new()).unwrap(), "Be brief.");
    let task = task(TaskKind::Llm { prompt: Some(Arc::new(prompt_of_task)) });
    let composed = compose(&task, &request(prompt("x"), json!({})), "", &[]).unwrap();
    let ModelRequest::Chat { messages, .. } = composed else { panic!("a chat") };
    assert_eq!(messages[0], json!({"role": "system", "content": "Be brief."}));
}
