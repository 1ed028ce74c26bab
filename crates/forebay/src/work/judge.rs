//! What a call was worth, and what its job does then.

use forebay_core::attempt::{Outcome, Usage};
use forebay_core::definition::{CountTokens, Task, TaskKind};
use forebay_core::extract::Evaluation;
use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::job::Failure;
use forebay_core::lifecycle::Failed;
use forebay_core::plan::{self, Against, Conclusion, Entry, Next};
use forebay_core::retry::RetryPolicy;
use forebay_core::review::ReviewDefault;
use forebay_core::time::{Millis, Timestamp};
use forebay_gateway::{Answer, Report};
use forebay_store::StoreError;
use forebay_store::record::{AttemptClose, Bytes, Claimed, NewResult, NewReview, Then};
use serde_json::{Value, json};

use super::execute::{self, Prepared};
use super::{Worker, evaluate};
use crate::accept;

/// How long a person has where the task can't be read.
const UNREAD_REVIEW_DUE: Millis = Millis::from_secs(72 * 3_600);

/// How an attempt is closed, and what its job does then.
pub(super) struct Verdict {
    pub(super) close: AttemptClose,
    pub(super) then: Then,
}

/// Nothing was sent, because the step could not be prepared.
pub(super) fn not_sent(failure: Failure) -> Verdict {
    let close = AttemptClose { failure: Some(failure.clone()), ..closed(Outcome::FailedBeforeSend) };
    let failed = Failed {
        fence: 0,
        outcome: Outcome::FailedBeforeSend,
        failure,
        hint: None,
        on_unknown: forebay_core::definition::OnUnknown::Retry,
        retry: RetryPolicy::default(),
        attempt_total: Millis::ZERO,
        now: Timestamp::from_millis(0),
        random: rand::random(),
    };
    let review = NewReview::without_output(UNREAD_REVIEW_DUE, ReviewDefault::None);
    Verdict { close, then: Then::Fail(failed, review) }
}

/// The grant came too late to be used.
pub(super) fn released() -> Verdict {
    Verdict { close: closed(Outcome::FailedBeforeSend), then: Then::Release }
}

/// The lease is lost, and with it perhaps the job. Where somebody took it, the commit finds that out and keeps this
/// as evidence; where nobody has yet, it is a try of which nobody knows whether it was billed, like any other.
pub(super) fn dropped(prepared: &Prepared) -> Verdict {
    let failure = Failure::new(FailureClass::WorkerLost, "the worker lost its lease during the call");
    failed(prepared, closed(Outcome::Unknown), failure, None)
}

/// The process stops, and the call would take too long.
pub(super) fn handed_back(prepared: &Prepared) -> Verdict {
    let failure = Failure::new(FailureClass::WorkerLost, "the process stopped while the call was running");
    failed(prepared, closed(Outcome::Unknown), failure, None)
}

/// What the provider's report means for the job. `of` is another job that is known to have succeeded with the same
/// fingerprint.
pub(super) async fn judge(
    worker: &Worker,
    prepared: &Prepared,
    claimed: &Claimed,
    report: &Report,
    of: Option<JobId>,
) -> Verdict {
    let close = AttemptClose {
        outcome: report.outcome,
        failure: None,
        usage: report.usage,
        provider_request_id: report.provider_request_id.clone(),
        provider_model: report.model.clone(),
        count_tokens: execute::limits(worker, &prepared.task).count_tokens,
        cooldown: None,
    };
    match (&prepared.task.kind, &report.result) {
        (TaskKind::Extract(_), Ok(Answer::Chat { text, .. })) => {
            let entry = evaluate::entry(worker, prepared, text, false, of).await;
            conclude(worker, prepared, claimed, close, entry).await
        }
        // An answer that was cut is looked at like any other, and never passes.
        (TaskKind::Extract(_), Err(failure)) if failure.class == FailureClass::Truncated => {
            let text = report.partial.as_deref().unwrap_or_default();
            let entry = evaluate::entry(worker, prepared, text, true, of).await;
            conclude(worker, prepared, claimed, close, entry).await
        }
        (TaskKind::Llm { .. }, Ok(Answer::Chat { text, finish_reason })) => {
            let entry = Entry::Chat { text: text.clone(), finish_reason: finish_reason.clone() };
            conclude(worker, prepared, claimed, close, Ok(entry)).await
        }
        (TaskKind::Llm { .. }, Ok(Answer::Embeddings { vectors })) => {
            let entry = Entry::Embeddings { vectors: vectors.clone() };
            conclude(worker, prepared, claimed, close, Ok(entry)).await
        }
        (TaskKind::Extract(_), Ok(Answer::Embeddings { .. })) => {
            let failure = Failure::new(FailureClass::InvalidOutput, "the model answered with embeddings");
            failed(prepared, close, failure, None)
        }
        (_, Err(failure)) => {
            let why = Failure::new(failure.class, failure.message.clone());
            let mut verdict = failed(prepared, close, why, failure.hint);
            // The attempt alone keeps what the provider wrote, which may repeat what it was sent (I31).
            verdict.close.failure = Some(Failure::new(failure.class, failure.in_full()));
            verdict
        }
    }
}

/// Plans on from the new entry, if there is one.
async fn conclude(
    worker: &Worker,
    prepared: &Prepared,
    claimed: &Claimed,
    close: AttemptClose,
    entry: Result<Entry, String>,
) -> Verdict {
    let concluded = match entry {
        Ok(entry) => then(worker, prepared, claimed, &close, entry).await,
        Err(error) => Err(error),
    };
    match concluded {
        Ok((failure, then)) => Verdict { close: AttemptClose { failure, ..close }, then },
        Err(error) => failed(prepared, close, Failure::new(FailureClass::Internal, error), None),
    }
}

/// What the job does next, with everything that is to be written; and why, where the answer did not help.
async fn then(
    worker: &Worker,
    prepared: &Prepared,
    claimed: &Claimed,
    close: &AttemptClose,
    entry: Entry,
) -> Result<(Option<Failure>, Then), String> {
    let mut journal = prepared.journal.clone();
    journal.push(entry);
    let next = plan::next(&prepared.task, &prepared.request, &prepared.document, &journal);
    let entry = journal.last();
    let (evaluation, against) = match entry {
        Some(Entry::Extraction { evaluation, against, .. }) => (Some(evaluation), Some(against)),
        Some(Entry::Chat { .. } | Entry::Embeddings { .. }) | None => (None, None),
    };
    let store = |value: Vec<u8>| async {
        accept::bytes(&worker.app, value).await.map_err(|error| match error {
            StoreError::Unavailable(_) => execute::no_blobs(&error).message,
            error => error.to_string(),
        })
    };
    let journaled = store(json_bytes(&entry)?).await?;
    let provenance = json_bytes(&provenance(prepared, claimed, close, evaluation, against))?;
    Ok(match next {
        Next::Step(step) => {
            let failure = evaluation.and_then(Evaluation::failure_class).map(|class| {
                Failure::new(
                    class,
                    format!(
                        "{} findings; the model is asked again",
                        evaluation.map_or(0, |e| e.findings.len())
                    ),
                )
            });
            (failure, Then::Next { entry: journaled, step: accept::new_step(&prepared.task, &step) })
        }
        Next::End(Conclusion::Succeed(output)) => {
            let output = store(json_bytes(&output)?).await?;
            (
                None,
                Then::Succeed {
                    entry: journaled,
                    result: NewResult { output, provenance },
                    fingerprint: evaluation.and_then(|evaluation| evaluation.fingerprint),
                },
            )
        }
        Next::End(Conclusion::Review(failure)) => {
            let output = evaluation.and_then(|evaluation| evaluation.output.as_ref());
            let output = match output {
                Some(output) => Some(store(json_bytes(output)?).await?),
                None => None,
            };
            let review = review(&prepared.task, evaluation, output, provenance)?;
            (Some(failure.clone()), Then::Review { entry: Some(journaled), failure, review })
        }
        Next::End(Conclusion::Fail(failure)) => {
            (Some(failure.clone()), Then::FailJob { entry: Some(journaled), failure })
        }
    })
}

fn review(
    task: &Task,
    evaluation: Option<&Evaluation>,
    output: Option<Bytes>,
    provenance: Vec<u8>,
) -> Result<NewReview, String> {
    let findings = evaluation.map(|evaluation| evaluation.findings.as_slice()).unwrap_or_default();
    Ok(NewReview {
        due_in: task.review_due,
        due_default: task.review_default,
        findings: json_bytes(&findings)?,
        output,
        provenance,
    })
}

/// The try failed as a try: the rules say whether there is another.
fn failed(
    prepared: &Prepared,
    close: AttemptClose,
    failure: Failure,
    hint: Option<forebay_core::retry::Hint>,
) -> Verdict {
    let failed = Failed {
        fence: 0,
        outcome: close.outcome,
        failure: failure.clone(),
        hint,
        on_unknown: prepared.task.on_unknown,
        retry: prepared.task.retry.clone(),
        attempt_total: prepared.task.attempt_total,
        now: Timestamp::from_millis(0),
        random: rand::random(),
    };
    let close = AttemptClose { failure: Some(failure), cooldown: hint.map(|hint| hint.wait), ..close };
    Verdict { close, then: Then::Fail(failed, no_output(&prepared.task)) }
}

fn closed(outcome: Outcome) -> AttemptClose {
    AttemptClose {
        outcome,
        failure: None,
        usage: None::<Usage>,
        provider_request_id: None,
        provider_model: None,
        count_tokens: CountTokens::Reserved,
        cooldown: None,
    }
}

fn no_output(task: &Task) -> NewReview {
    NewReview::without_output(task.review_due, task.review_default)
}

/// Where an output comes from: enough to find the call, the rules and the places in the document again.
fn provenance(
    prepared: &Prepared,
    claimed: &Claimed,
    close: &AttemptClose,
    evaluation: Option<&Evaluation>,
    against: Option<&Against>,
) -> Value {
    let task = &prepared.task;
    let model = close.provider_model.clone().unwrap_or_else(|| task.model.provider_model.clone());
    let mut provenance = json!({
        "model": model,
        "provider": prepared.provider.name,
        "revision": prepared.work.revision,
        "attempt_id": claimed.attempt_id,
        "datasets": [],
        "evidence": [],
    });
    let prompt = match &task.kind {
        TaskKind::Llm { prompt } => prompt.as_ref(),
        TaskKind::Extract(extraction) => {
            provenance["schema_sha256"] = json!(extraction.schema.digest());
            provenance["policy"] = json!(extraction.policy_name);
            Some(&extraction.prompt)
        }
    };
    if let Some(prompt) = prompt {
        provenance["prompt_sha256"] = json!(prompt.digest());
    }
    if let Some(evaluation) = evaluation {
        provenance["evidence"] = json!(evaluation.evidence);
        provenance["repairs"] = json!(evaluation.repairs);
    }
    if let Some(against) = against {
        provenance["datasets"] = json!(against.datasets);
        provenance["judged_on"] = json!(against.day);
    }
    provenance
}

fn json_bytes(value: &(impl serde::Serialize + ?Sized)) -> Result<Vec<u8>, String> {
    serde_json::to_vec(value).map_err(|error| format!("could not be written as JSON: {error}"))
}
