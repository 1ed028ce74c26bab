//! What it takes to say what happened: I32.

use std::collections::{HashMap, HashSet};

use crate::verify::records::{Id, Job, Letter};
use crate::verify::report::{About, Findings, Invariant as I};
use crate::verify::world::World;

/// The closed list of failure classes.
const CLASSES: &[&str] = &[
    "not_sent",
    "rate_limited",
    "overloaded",
    "quota_exhausted",
    "auth",
    "invalid_request",
    "timeout_connect",
    "timeout_first_byte",
    "timeout_idle",
    "timeout_total",
    "stream_broken",
    "provider_error",
    "too_large",
    "truncated",
    "refused",
    "content_filtered",
    "invalid_output",
    "schema_mismatch",
    "policy_failed",
    "rejected",
    "tool_failed",
    "document_unavailable",
    "worker_lost",
    "deadline",
    "budget",
    "cancelled",
    "attempts_exhausted",
    "undecodable",
    "internal",
];

pub(super) fn check(world: &World<'_>, findings: &mut Findings) {
    let revisions: HashSet<i64> = world.store.revisions.iter().map(|revision| revision.number).collect();
    let cancels: HashSet<&str> = audited(world, "job.cancel");
    let replays: HashSet<&str> = audited(world, "job.replay");
    let letters: HashMap<Id, &Letter> =
        world.store.letters.iter().map(|letter| (letter.job, letter)).collect();
    let since = world.store.audit.first().map_or(i64::MAX, |row| row.at);
    for job in &world.store.jobs {
        let about = About::job(job.id);
        findings.check(I::I32, about, revisions.contains(&job.revision), "a job's revision is kept", || {
            vec![format!("jobs: revision {}", job.revision), "revisions: no row".to_owned()]
        });
        reason(job, findings);
        attempts(world, job, findings);
        letter(world, job, &letters, findings);
        replay(world, job, &replays, findings);
        if job.state == "CANCELLED" && job.finished_at.is_some_and(|at| at >= since) {
            let by_whom = cancels.contains(job.id.named("job").as_str());
            findings.check(I::I32, about, by_whom, "a cancellation is audited", || {
                vec!["jobs: CANCELLED".to_owned(), "audit: no job.cancel of it".to_owned()]
            });
        }
    }
}

fn audited<'r>(world: &World<'r>, action: &str) -> HashSet<&'r str> {
    let rows = world.store.audit.iter().filter(|row| row.action == action);
    rows.map(|row| row.subject.as_str()).collect()
}

/// A job that did not succeed says why, in a class of the closed list and in words.
fn reason(job: &Job, findings: &mut Findings) {
    let failed =
        matches!(job.state.as_str(), "FAILED_TERMINAL" | "CANCELLED" | "REVIEW_REQUIRED" | "RETRY_SCHEDULED");
    let class = job.failure_class.as_deref();
    let message = job.failure_message.as_deref().unwrap_or_default();
    let said = class.is_some_and(|class| CLASSES.contains(&class)) && !message.is_empty();
    let right = if failed { said } else { class.is_none_or(|class| CLASSES.contains(&class)) };
    findings.check(I::I32, About::job(job.id), right, "a job that failed says why", || {
        vec![format!("jobs: {} {class:?} {message:?}", job.state)]
    });
}

/// An attempt says who made it, of which step, and how it failed.
fn attempts(world: &World<'_>, job: &Job, findings: &mut Findings) {
    for attempt in world.attempts(job.id) {
        let about = About::attempt(job.id, attempt.id);
        let signed = !attempt.worker.is_empty() && !attempt.build.is_empty();
        let step = (attempt.generation, attempt.step);
        let of_step = world.steps(job.id).iter().any(|row| (row.generation, row.number) == step);
        findings.check(I::I32, about, signed && of_step, "an attempt has its worker, build and step", || {
            vec![format!(
                "attempts: worker {:?} build {:?} step {}",
                attempt.worker, attempt.build, attempt.step
            )]
        });
        let failed = matches!(attempt.outcome.as_deref(), Some("failed_after_send" | "unknown"));
        let class = attempt.failure_class.as_deref();
        let right = class.map_or(!failed, |class| CLASSES.contains(&class));
        findings.check(I::I32, about, right, "an attempt that failed says why", || {
            vec![format!("attempts: {:?} {class:?}", attempt.outcome)]
        });
    }
}

/// A job that failed is a dead letter since then, and no other job is one.
fn letter(world: &World<'_>, job: &Job, letters: &HashMap<Id, &Letter>, findings: &mut Findings) {
    let letter = letters.get(&job.id);
    let about = About::job(job.id);
    let failed = job.state == "FAILED_TERMINAL";
    findings.check(I::I32, about, failed == letter.is_some(), "a job that failed is a dead letter", || {
        vec![format!("jobs: {}", job.state), format!("dead_letters: {letter:?}")]
    });
    let Some(letter) = letter else { return };
    let event = world.events(job.id).iter().rev().find(|event| event.kind == "failed").map(|event| event.seq);
    let same = Some(letter.failed_at) == job.finished_at
        && Some(letter.seq) == event
        && job.failure_class.as_ref() == Some(&letter.class)
        && letter.tenant == job.tenant;
    findings.check(I::I32, about, same, "a dead letter says what its job says", || {
        vec![
            format!("jobs: {:?} at {:?}", job.failure_class, job.finished_at),
            format!("dead_letters: {letter:?}"),
        ]
    });
}

/// A job that does the work of another again is linked to one that failed, by an event of it and an audit row.
fn replay(world: &World<'_>, job: &Job, audited: &HashSet<&str>, findings: &mut Findings) {
    let Some(of) = world.input(job.id).and_then(|input| input.replay_of) else { return };
    if world.job(of).is_none() && world.store.deleted.jobs > 0 {
        // The failed one goes first.
        return;
    }
    let failed = world.job(of).is_some_and(|of| of.state == "FAILED_TERMINAL" && of.tenant == job.tenant);
    let told = world.events(of).iter().any(|event| event.kind == "replayed");
    let linked = failed && told && audited.contains(of.named("job").as_str());
    findings.check(
        I::I32,
        About::job(job.id),
        linked,
        "a replay is of a failed job, told and audited",
        || {
            vec![
                format!("inputs: replay_of {}", of.named("job")),
                format!("jobs: {:?}", world.job(of).map(|of| &of.state)),
                format!("events: {} replayed", if told { "a" } else { "no" }),
            ]
        },
    );
    let asked = |job: Id| {
        let input = world.input(job)?;
        Some((&input.body, &input.blob, &input.document, &input.series_key, input.series_version))
    };
    findings.check(
        I::I32,
        About::job(job.id),
        asked(job.id) == asked(of),
        "a replay does what was asked for",
        || {
            [of, job.id]
                .map(|job| format!("inputs: {} {:?}", job.named("job"), asked(job).is_some()))
                .to_vec()
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::checks::testing::{Case, case};

    fn broken(change: impl FnOnce(&mut Case)) -> Vec<(I, String)> {
        case().broken_by(change, check)
    }

    fn is_found(found: &[(I, String)], words: &str) {
        assert!(
            found.iter().any(|(at, problem)| *at == I::I32 && problem.contains(words)),
            "{words}: {found:?}"
        );
    }

    #[test]
    fn a_sound_store_passes() {
        assert_eq!(broken(|_| {}), []);
    }

    #[test]
    fn the_closed_list_is_the_closed_list() {
        use forebay_core::failure::FailureClass;
        assert_eq!(FailureClass::ALL.map(FailureClass::name).as_slice(), CLASSES);
    }

    #[test]
    fn what_can_not_be_explained_is_noticed() {
        is_found(&broken(|case| case.store.revisions.clear()), "revision is kept");
        is_found(&broken(|case| case.job_mut(case.lost).failure_class = None), "a job that failed says why");
        is_found(
            &broken(|case| case.job_mut(case.lost).failure_class = Some("x".into())),
            "a job that failed",
        );
        is_found(
            &broken(|case| case.attempt_mut(case.done, 0).failure_class = None),
            "an attempt that failed",
        );
        is_found(&broken(|case| case.attempt_mut(case.done, 0).worker.clear()), "its worker");
        is_found(&broken(|case| case.attempt_mut(case.done, 0).step = 9), "its worker");
        is_found(&broken(|case| case.store.audit.truncate(1)), "a cancellation is audited");
        is_found(&broken(|case| case.store.letters.clear()), "is a dead letter");
        is_found(&broken(|case| case.store.letters[0].failed_at += 1), "says what its job says");
        is_found(
            &broken(|case| case.input_mut(case.waits).replay_of = Some(case.done)),
            "a replay is of a failed job",
        );
        is_found(
            &broken(|case| case.store.audit.retain(|row| row.action != "job.replay")),
            "a replay is of a failed job",
        );
        is_found(
            &broken(|case| case.input_mut(case.again).body = Some(b"{}".to_vec())),
            "a replay does what was asked for",
        );
    }
}
