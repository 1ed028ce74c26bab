//! What a job leaves behind: I21, I24.

use serde_json::{Value, json};

use crate::verify::records::{Job, JobResult, Review};
use crate::verify::report::{About, Findings, Invariant as I};
use crate::verify::world::World;

pub(super) fn check(world: &World<'_>, findings: &mut Findings) {
    for job in &world.store.jobs {
        let result = world.results(job.id).iter().find(|result| result.generation == job.generation).copied();
        let succeeded = job.state == "SUCCEEDED";
        findings.check(
            I::I24,
            About::job(job.id),
            succeeded == result.is_some(),
            "a result is there when its job succeeded, and only then",
            || {
                vec![
                    format!("jobs: {}", job.state),
                    format!("results: {} row", usize::from(result.is_some())),
                ]
            },
        );
        if let Some(result) = result.filter(|_| succeeded) {
            with_its_event(world, job, result, findings);
            judged(world, job, result, findings);
        }
    }
}

/// Result, provenance and event are of one transaction, and name the rules that were in force (I24).
fn with_its_event(world: &World<'_>, job: &Job, result: &JobResult, findings: &mut Findings) {
    let event = world.events(job.id).iter().rev().find(|event| event.kind == "succeeded");
    let together = event.is_some_and(|event| event.at == result.created_at);
    findings.check(
        I::I24,
        About::job(job.id),
        together,
        "a result is written with the event of success",
        || {
            vec![
                format!("results: at {}", result.created_at),
                format!("events: succeeded at {:?}", event.map(|event| event.at)),
            ]
        },
    );
    let provenance = provenance(result);
    let rows = || vec![format!("jobs: revision {}", job.revision), format!("results: {provenance}")];
    let revision = provenance["revision"].as_i64() == Some(job.revision);
    findings.check(
        I::I24,
        About::job(job.id),
        revision,
        "a result names the revision that it was made by",
        rows,
    );
    // The last one of its generation: it succeeded, or left the doubt that a person decided about.
    let last = world.attempts(job.id).iter().rfind(|attempt| attempt.generation == result.generation);
    let own = last.is_some_and(|attempt| provenance["attempt_id"] == attempt.id.named("att"));
    findings.check(I::I24, About::job(job.id), own, "a result names the attempt that it comes from", rows);
}

fn provenance(result: &JobResult) -> Value {
    serde_json::from_slice(&result.provenance).unwrap_or_default()
}

/// A success follows a passed evaluation, or a person's decision (I21).
fn judged(world: &World<'_>, job: &Job, result: &JobResult, findings: &mut Findings) {
    let before = world.events(job.id).iter().rev().nth(1).map(|event| event.kind.as_str());
    if before == Some("review_required") {
        return decided(world, job, result, findings);
    }
    let about = About::job(job.id);
    let unsigned = provenance(result)["review"].is_null();
    findings.check(I::I21, about, unsigned, "what machines made bears a person's signature", || {
        vec![format!("results: {}", provenance(result))]
    });
    let step =
        world.steps(job.id).iter().find(|step| (step.generation, step.number) == (job.generation, job.step));
    let left = step.is_some_and(|step| step.has_entry && step.finished_at.is_some());
    findings.check(I::I21, about, left, "a success has a journal entry", || {
        vec![format!("steps: generation {} step {}: no entry", job.generation, job.step)]
    });
    // What is too large for a row is in a file, and not looked into.
    let Some(entry) = step.and_then(|step| step.entry.as_ref()) else { return };
    let entry: Value = serde_json::from_slice(entry).unwrap_or_default();
    if job.kind == "extract" {
        evaluated(world, job, result, &entry, findings);
    } else {
        let answered = matches!(entry["kind"].as_str(), Some("chat" | "embeddings"));
        findings.check(I::I21, about, answered, "a success has an answer", || {
            vec![format!("steps: {}", entry["kind"])]
        });
    }
}

fn evaluated(world: &World<'_>, job: &Job, result: &JobResult, entry: &Value, findings: &mut Findings) {
    let about = About::job(job.id);
    let evaluation = &entry["evaluation"];
    let rows = || vec![format!("steps: findings {}", evaluation["findings"])];
    let passed =
        evaluation["findings"].as_array().is_some_and(Vec::is_empty) && evaluation["output"].is_object();
    findings.check(I::I21, about, passed, "an extraction succeeded with findings or without an output", rows);
    if let Some(output) = &result.output {
        let output: Value = serde_json::from_slice(output).unwrap_or_default();
        let same = output == evaluation["output"];
        findings.check(I::I21, about, same, "the result is the output that was evaluated", || {
            vec![format!("results: {} bytes that differ", output.to_string().len())]
        });
    }
    names_rules(job, result, findings);
    for evidence in evaluation["evidence"].as_array().into_iter().flatten() {
        in_document(world, job, evidence, findings);
    }
}

/// The result of an extraction names the rules that it was held against, also where a person wrote it.
fn names_rules(job: &Job, result: &JobResult, findings: &mut Findings) {
    let provenance = provenance(result);
    let named = provenance["policy"].is_string() && provenance["schema_sha256"].is_string();
    findings.check(
        I::I21,
        About::job(job.id),
        named,
        "a result names the policy and the schema that it was held against",
        || vec![format!("results: {provenance}")],
    );
}

/// A quote stands where the evaluation says, as far as the document is in the row.
fn in_document(world: &World<'_>, job: &Job, evidence: &Value, findings: &mut Findings) {
    let span = &evidence["span"];
    let stored = world.input(job.id).and_then(|input| input.body.as_ref());
    let request: Value = stored.and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
    let (Some(text), Some(start), Some(end)) =
        (request["input"]["text"].as_str(), span["start"].as_u64(), span["end"].as_u64())
    else {
        return;
    };
    let place = usize::try_from(start).unwrap_or(usize::MAX)..usize::try_from(end).unwrap_or(usize::MAX);
    // Layout and typography aside, which leaves letters and digits.
    let letters = |text: &str| text.chars().filter(|sign| sign.is_alphanumeric()).collect::<String>();
    let quote = letters(evidence["quote"].as_str().unwrap_or_default());
    let stands = text.get(place).is_some_and(|found| !found.trim().is_empty() && letters(found) == quote);
    findings.check(I::I21, About::job(job.id), stands, "a quote stands in the document", || {
        vec![format!("steps: {} at {start} to {end}", evidence["field"])]
    });
}

fn decided(world: &World<'_>, job: &Job, result: &JobResult, findings: &mut Findings) {
    let review = world.reviews(job.id).iter().find(|review| review.generation == job.generation).copied();
    let right = review.is_some_and(|review| is_a_yes(review) && review.decided_at == job.finished_at);
    let about = About::job(job.id);
    findings.check(I::I21, about, right, "a success after a review has a decision on record", || {
        vec![format!("reviews: {review:?}")]
    });
    let signature = &provenance(result)["review"];
    let signed = review.is_some_and(|review| {
        signature["decision"] == json!(review.decision)
            && signature["decided_by"] == json!(review.decided_by.map(|key| key.named("key")))
    });
    findings.check(
        I::I21,
        about,
        signed,
        "a result that was decided about bears the decision's signature",
        || vec![format!("reviews: {review:?}"), format!("results: {signature}")],
    );
    if job.kind == "extract" {
        names_rules(job, result, findings);
    }
    let approved = review.filter(|review| review.decision.as_deref() == Some("approve"));
    if let Some((seen, output)) =
        approved.and_then(|review| review.output.as_ref().zip(result.output.as_ref()))
    {
        let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
        let same = value(seen) == value(output);
        findings.check(I::I21, about, same, "what was approved is the result", || {
            vec![format!("reviews: {} bytes", seen.len()), format!("results: {} bytes", output.len())]
        });
    }
}

/// Somebody approved what was there, or wrote what is right.
fn is_a_yes(review: &Review) -> bool {
    match review.decision.as_deref() {
        Some("approve") => review.has_output,
        Some("correct") => review.decided_by.is_some(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::checks::testing::{Case, case, is_found};
    use crate::verify::records::Id;

    fn broken(change: impl FnOnce(&mut Case)) -> Vec<(I, String)> {
        case().broken_by(change, check)
    }

    #[test]
    fn a_sound_store_passes() {
        assert_eq!(broken(|_| {}), []);
    }

    #[test]
    fn results_and_successes_go_together() {
        is_found(&broken(|case| case.store.results.clear()), I::I24, "only then");
        let too_early = broken(|case| {
            let mut result = case.store.results[0].clone();
            result.job = case.waits;
            case.store.results.push(result);
        });
        is_found(&too_early, I::I24, "only then");
        is_found(&broken(|case| case.store.results[0].created_at += 1), I::I24, "with the event");
        is_found(&broken(|case| case.job_mut(case.done).revision = 2), I::I24, "revision");
        let other = broken(|case| {
            case.store.results[0].provenance = br#"{"revision":1,"attempt_id":"att_00"}"#.to_vec();
        });
        is_found(&other, I::I24, "attempt");
        let earlier = broken(|case| {
            let job = case.done;
            let mut later = (*case.attempts_of(job).last().unwrap()).clone();
            (later.id, later.fence) = (Id([99; 16]), later.fence + 1);
            case.store.attempts.push(later);
        });
        is_found(&earlier, I::I24, "attempt");
    }

    #[test]
    fn a_success_with_findings_is_noticed() {
        let entry = |text: &str| {
            let text = text.to_owned();
            broken(move |case| {
                let job = case.extracted;
                case.step_mut(job).entry = Some(text.into_bytes());
            })
        };
        let finding =
            r#"{"kind":"extraction","evaluation":{"output":{"total":"1.00"},"findings":[{}],"evidence":[]}}"#;
        is_found(&entry(finding), I::I21, "with findings");
        let other =
            r#"{"kind":"extraction","evaluation":{"output":{"total":"2.00"},"findings":[],"evidence":[]}}"#;
        is_found(&entry(other), I::I21, "that was evaluated");
        let beyond = r#"{"kind":"extraction","evaluation":{"output":{"total":"1.00"},"findings":[],
            "evidence":[{"field":"/total","span":{"start":0,"end":900}}]}}"#;
        is_found(&entry(beyond), I::I21, "stands in the document");
        let none = broken(|case| {
            let job = case.extracted;
            case.step_mut(job).has_entry = false;
        });
        is_found(&none, I::I21, "journal entry");
    }

    #[test]
    fn a_success_after_a_review_needs_its_decision() {
        is_found(
            &broken(|case| case.review_mut(case.approved).decision = None),
            I::I21,
            "decision on record",
        );
        let nothing = broken(|case| case.review_mut(case.approved).has_output = false);
        is_found(&nothing, I::I21, "decision on record");
        let other = broken(|case| case.review_mut(case.approved).output = Some(b"{}".to_vec()));
        is_found(&other, I::I21, "what was approved");
        let somebody_else = broken(|case| case.review_mut(case.approved).decided_by = Some(Id([8; 16])));
        is_found(&somebody_else, I::I21, "signature");
        let result_of = |job: fn(&Case) -> Id, provenance: &'static [u8]| {
            broken(move |case| {
                let job = job(case);
                let result = case.store.results.iter_mut().find(|result| result.job == job).unwrap();
                result.provenance = provenance.to_vec();
            })
        };
        is_found(&result_of(|case| case.approved, b"{}"), I::I21, "policy and the schema");
        let signed = br#"{"revision":1,"review":{"decision":"approve"}}"#;
        is_found(&result_of(|case| case.done, signed), I::I21, "what machines made");
    }
}
