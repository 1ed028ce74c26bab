//! Ownership: I9, I11, I12, I13, I15.

use crate::verify::records::{Attempt, Job};
use crate::verify::report::{About, Findings, Invariant as I};
use crate::verify::world::{Claim, World, is_terminal};

/// What may come after an event of a job. The state that each leads to is in [`state_after`].
const NEXT: &[(&str, &[&str])] = &[
    ("accepted", &["claimed", "failed", "cancelled"]),
    ("ready", &["claimed", "failed", "cancelled"]),
    (
        "claimed",
        &[
            "ready",
            "step_done",
            "retry_scheduled",
            "waiting",
            "review_required",
            "succeeded",
            "failed",
            "cancelled",
        ],
    ),
    ("step_done", &["claimed", "failed", "cancelled"]),
    ("retry_scheduled", &["claimed", "failed", "cancelled"]),
    ("waiting", &["ready", "failed", "cancelled"]),
    ("review_required", &["succeeded", "failed", "ready", "cancelled"]),
    ("succeeded", &[]),
    ("failed", &["replayed"]),
    ("replayed", &["replayed"]),
    ("cancelled", &[]),
];

/// The state that an event leads to.
pub(super) fn state_after(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "accepted" | "ready" | "step_done" => "READY",
        "claimed" => "RUNNING",
        "retry_scheduled" => "RETRY_SCHEDULED",
        "waiting" => "WAITING",
        "review_required" => "REVIEW_REQUIRED",
        "succeeded" => "SUCCEEDED",
        "failed" | "replayed" => "FAILED_TERMINAL",
        "cancelled" => "CANCELLED",
        _ => return None,
    })
}

pub(super) fn check(world: &World<'_>, findings: &mut Findings) {
    for job in &world.store.jobs {
        path(world, job, findings);
        claims(world, job, findings);
        fences(world, job, findings);
        settlements(world, job, findings);
        end(world, job, findings);
        lease(world, job, findings);
    }
}

/// The events of a job are a way through the lifecycle, and end where the job is (I9).
fn path(world: &World<'_>, job: &Job, findings: &mut Findings) {
    let events = world.events(job.id);
    for pair in events.windows(2) {
        let [before, after] = pair else { continue };
        let allowed =
            NEXT.iter().find(|row| row.0 == before.kind).is_some_and(|row| row.1.contains(&&*after.kind));
        findings.check(
            I::I9,
            About::job(job.id),
            allowed,
            "an event follows another that it can't follow",
            || [before, after].map(|event| format!("events: {} {}", event.seq, event.kind)).to_vec(),
        );
    }
    let last = events.last().and_then(|event| state_after(&event.kind));
    findings.check(
        I::I9,
        About::job(job.id),
        last == Some(&*job.state),
        "a job is where its last event led",
        || vec![format!("jobs: {}", job.state), format!("events: the last leads to {last:?}")],
    );
}

/// A claim is an event and an attempt together (I11).
fn claims(world: &World<'_>, job: &Job, findings: &mut Findings) {
    let claimed = world.events(job.id).iter().filter(|event| event.kind == "claimed").count();
    let attempts = world.attempts(job.id);
    let about = About::job(job.id);
    findings.check(I::I11, about, claimed == attempts.len(), "each claim has its attempt", || {
        vec![format!("events: {claimed} claimed"), format!("attempts: {}", attempts.len())]
    });
    let mut numbers = std::collections::HashMap::new();
    for attempt in attempts {
        let expected = numbers.entry((attempt.generation, attempt.step)).or_insert(0);
        *expected += 1;
        let about = About::attempt(job.id, attempt.id);
        findings.check(
            I::I11,
            about,
            attempt.number == *expected,
            "attempts are numbered within their step",
            || vec![format!("attempts: number {} where {expected} is due", attempt.number)],
        );
    }
    for claim in world.claims(job.id) {
        let about = About::attempt(job.id, claim.attempt.id);
        let same = claim.claimed.at == claim.attempt.claimed_at;
        findings.check(I::I11, about, same, "an attempt is written with its claim", || {
            vec![
                format!("events: {} claimed at {}", claim.claimed.seq, claim.claimed.at),
                format!("attempts: claimed at {}", claim.attempt.claimed_at),
            ]
        });
    }
    let mut won = std::collections::HashSet::new();
    for attempt in attempts.iter().filter(|attempt| is_whole_success(attempt)) {
        let first = won.insert((attempt.generation, attempt.step));
        let about = About::attempt(job.id, attempt.id);
        findings.check(I::I11, about, first, "one attempt completes a step", || {
            vec![format!("attempts: a second success of step {}", attempt.step)]
        });
    }
}

fn is_whole_success(attempt: &Attempt) -> bool {
    attempt.outcome.as_deref() == Some("succeeded") && attempt.failure_class.is_none()
}

/// Whether somebody else closed the attempt since its worker was not heard of. A worker that hands its job back
/// at shutdown says the same class with other words.
fn was_rescued(attempt: &Attempt) -> bool {
    attempt.failure_class.as_deref() == Some("worker_lost")
        && attempt
            .message
            .as_deref()
            .is_some_and(|message| message.starts_with("the worker was not heard of"))
}

/// The fence rises with each change of owner: by one with a claim, by one more where the job was taken (I11, I15).
fn fences(world: &World<'_>, job: &Job, findings: &mut Findings) {
    let attempts = world.attempts(job.id);
    let mut fence = 0;
    for (nth, attempt) in attempts.iter().enumerate() {
        let about = About::attempt(job.id, attempt.id);
        let rescued = nth.checked_sub(1).is_some_and(|before| was_rescued(attempts[before]));
        let least = fence + 1 + i64::from(rescued);
        let invariant = if rescued { I::I15 } else { I::I11 };
        findings.check(invariant, about, attempt.fence == least, "a claim raises the fence by one", || {
            vec![format!("attempts: fence {} where {least} is due", attempt.fence)]
        });
        fence = attempt.fence;
    }
    let rescued = attempts.last().is_some_and(|attempt| was_rescued(attempt));
    findings.figures.rescues += attempts.iter().filter(|attempt| was_rescued(attempt)).count() as u64;
    let cancelled = job.state == "CANCELLED";
    let expired = job.state == "FAILED_TERMINAL" && job.failure_class.as_deref() == Some("deadline");
    let least = fence + i64::from(rescued) + i64::from(cancelled);
    let most = least + i64::from(expired);
    let invariant = if rescued { I::I15 } else { I::I11 };
    let right = (least..=most).contains(&job.fence);
    findings.check(invariant, About::job(job.id), right, "whoever takes a job raises its fence", || {
        vec![
            format!("jobs: {} fence {}", job.state, job.fence),
            format!("attempts: the last has fence {fence}"),
        ]
    });
}

/// An attempt is settled in the transaction of what came of it (I12).
fn settlements(world: &World<'_>, job: &Job, findings: &mut Findings) {
    for claim in world.claims(job.id) {
        let about = About::attempt(job.id, claim.attempt.id);
        let together = claim.attempt.settled_at == claim.next.map(|event| event.at);
        let rows = || settled_rows(&claim);
        findings.check(I::I12, about, together, "an attempt is settled with what its job does next", rows);
        let open = claim.attempt.settled_at.is_none();
        let owned = !open || (job.state == "RUNNING" && job.fence == claim.attempt.fence);
        findings.check(I::I12, about, owned, "an open attempt is its running job's, under its fence", || {
            vec![
                format!("jobs: {} fence {}", job.state, job.fence),
                format!("attempts: open, fence {}", claim.attempt.fence),
            ]
        });
        if !world.outside.clock_moved {
            evidence(claim.attempt, about, findings);
        }
    }
    let open = world.attempts(job.id).iter().filter(|attempt| attempt.settled_at.is_none()).count();
    let expected = usize::from(job.state == "RUNNING");
    findings.check(
        I::I12,
        About::job(job.id),
        open == expected,
        "a running job has one open attempt, others none",
        || vec![format!("jobs: {}", job.state), format!("attempts: {open} open")],
    );
}

fn settled_rows(claim: &Claim<'_>) -> Vec<String> {
    let next =
        claim.next.map_or("none".to_owned(), |event| format!("{} {} at {}", event.seq, event.kind, event.at));
    vec![format!("attempts: settled at {:?}", claim.attempt.settled_at), format!("events: next {next}")]
}

/// What a worker reported too late is kept beside what was settled before, and only then: its own commit under a
/// fence that is still its own counts, however late it is.
fn evidence(attempt: &Attempt, about: About, findings: &mut Findings) {
    let Some(text) = &attempt.evidence else { return };
    let evidence: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let at = evidence["at"].as_str().and_then(|at| at.parse::<jiff::Timestamp>().ok());
    let late = at.is_some_and(|at| attempt.settled_at.is_some_and(|settled| at.as_millisecond() >= settled));
    let by_others = attempt.outcome.as_deref() == Some("unknown");
    findings.check(
        I::I12,
        about,
        late && by_others,
        "a report is set aside only where another settled before it",
        || {
            vec![
                format!("attempts: settled at {:?} as {:?}", attempt.settled_at, attempt.outcome),
                format!("attempts: evidence of {at:?}"),
            ]
        },
    );
}

/// What has ended stays as it was then (I13).
fn end(world: &World<'_>, job: &Job, findings: &mut Findings) {
    if !is_terminal(&job.state) {
        let none = job.finished_at.is_none();
        findings.check(I::I13, About::job(job.id), none, "only what has ended has an end", || {
            vec![format!("jobs: {} finished_at {:?}", job.state, job.finished_at)]
        });
        return;
    }
    let last = world.changes(job.id).last().map(|event| event.at);
    let as_then = job.finished_at == last && Some(job.updated_at) == last;
    findings.check(
        I::I13,
        About::job(job.id),
        as_then,
        "a job that has ended is as its last event left it",
        || {
            vec![
                format!("jobs: finished_at {:?} updated_at {}", job.finished_at, job.updated_at),
                format!("events: the last at {last:?}"),
            ]
        },
    );
}

/// Nobody holds a job for long without a heartbeat (I15).
fn lease(world: &World<'_>, job: &Job, findings: &mut Findings) {
    let Some(until) = job.lease_until else { return };
    let in_time = world.outside.clock_moved || until + world.outside.grace >= world.now;
    findings.check(I::I15, About::job(job.id), in_time, "a lease lapsed and nobody took the job", || {
        vec![format!("jobs: lease_until {until}"), format!("events: the store lived until {}", world.now)]
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::checks::testing::{Case, case, is_found};

    fn broken(change: impl FnOnce(&mut Case)) -> Vec<(I, String)> {
        case().broken_by(change, check)
    }

    #[test]
    fn a_sound_store_passes() {
        assert_eq!(broken(|_| {}), []);
    }

    #[test]
    fn a_way_that_the_lifecycle_does_not_have_is_noticed() {
        let reset = broken(|case| {
            let mut again = case.events_of(case.done)[0].clone();
            again.kind = "ready".to_owned();
            case.append(again);
        });
        is_found(&reset, I::I9, "can't follow");
        is_found(
            &broken(|case| case.job_mut(case.waits).state = "WAITING".to_owned()),
            I::I9,
            "last event led",
        );
    }

    #[test]
    fn claims_attempts_and_fences_go_together() {
        let gone = broken(|case| {
            let first = case.attempts_of(case.done)[0].id;
            case.store.attempts.retain(|attempt| attempt.id != first);
        });
        is_found(&gone, I::I11, "each claim has its attempt");
        is_found(&broken(|case| case.attempt_mut(case.done, 1).number = 1), I::I11, "numbered");
        is_found(&broken(|case| case.attempt_mut(case.done, 1).fence = 3), I::I11, "raises the fence by one");
        is_found(
            &broken(|case| case.attempt_mut(case.lost, 0).claimed_at -= 1),
            I::I11,
            "written with its claim",
        );
        is_found(&broken(|case| case.job_mut(case.lost).fence = 1), I::I15, "raises its fence");
        let twice = broken(|case| {
            let first = case.attempt_mut(case.done, 0);
            (first.outcome, first.failure_class) = (Some("succeeded".to_owned()), None);
        });
        is_found(&twice, I::I11, "one attempt completes a step");
    }

    #[test]
    fn a_settlement_apart_from_its_event_is_noticed() {
        is_found(&broken(|case| case.attempt_mut(case.done, 0).settled_at = Some(1)), I::I12, "settled with");
        let open = broken(|case| {
            let attempt = case.attempt_mut(case.done, 0);
            (attempt.settled_at, attempt.outcome) = (None, None);
        });
        is_found(&open, I::I12, "under its fence");
    }

    #[test]
    fn a_result_that_was_refused_under_its_own_fence_is_noticed() {
        let found = broken(|case| {
            let attempt = case.attempt_mut(case.lost, 0);
            attempt.evidence = Some(r#"{"at":"1970-01-01T00:00:00.001Z","outcome":"succeeded"}"#.to_owned());
        });
        is_found(&found, I::I12, "set aside");
    }

    #[test]
    fn a_change_after_the_end_is_noticed() {
        is_found(
            &broken(|case| case.job_mut(case.done).updated_at += 1),
            I::I13,
            "as its last event left it",
        );
        is_found(&broken(|case| case.job_mut(case.waits).finished_at = Some(1)), I::I13, "has an end");
    }

    #[test]
    fn a_job_that_nobody_rescues_is_noticed() {
        is_found(&broken(|case| case.job_mut(case.runs).lease_until = Some(1)), I::I15, "lapsed");
    }
}
