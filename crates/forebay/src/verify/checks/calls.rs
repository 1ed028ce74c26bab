//! Calls of providers: I5, I14, I16.

use std::collections::{HashMap, HashSet};

use crate::verify::logs::Call;
use crate::verify::records::{Attempt, Event, Id, Job};
use crate::verify::report::{About, Findings, Invariant as I};
use crate::verify::world::{Claim, World};

/// Classes of failure that put a step off instead of counting as a try of it.
const DEFERRING: &[&str] = &["rate_limited", "quota_exhausted"];

/// How far the clocks of store and provider may differ on one machine, in milliseconds: the store's times are those of
/// the start of a transaction, the provider's clock is set once.
const SKEW: i64 = 50;

pub(super) fn check(world: &World<'_>, findings: &mut Findings) {
    let maxima = Maxima::read(world);
    for job in &world.store.jobs {
        counts(world, job, &maxima, findings);
        planned(world, job, findings);
    }
    let Some(calls) = &world.outside.calls else { return };
    let attempts: HashMap<Id, &Attempt> =
        world.store.attempts.iter().map(|attempt| (attempt.id, attempt)).collect();
    let mut seen = HashSet::new();
    let (mut unexplained, mut deleted) = (0, world.store.deleted.attempts);
    for call in calls {
        let attempt = call.attempt().and_then(|id| attempts.get(&id).copied());
        if attempt.is_none() && call.attempt().is_some_and(|id| seen.insert(id)) && deleted > 0 {
            // One of those that retention has deleted.
            deleted -= 1;
            continue;
        }
        let explained = explained(call, attempt, &mut seen, findings);
        unexplained += u64::from(!explained);
        if let Some(attempt) = attempt.filter(|_| !world.outside.clock_moved) {
            between(call, attempt, findings);
        }
    }
    findings.figures.calls = Some(calls.len() as u64);
    findings.figures.unexplained_calls = Some(unexplained);
    for attempt in &world.store.attempts {
        made(attempt, seen.contains(&attempt.id), findings);
    }
    if !world.outside.clock_moved {
        hints(world, calls, findings);
    }
}

/// The most attempts of a step, by revision and task; as the definitions say it.
struct Maxima(HashMap<(i64, String), (i64, i64)>);

impl Maxima {
    fn read(world: &World<'_>) -> Self {
        let mut maxima = HashMap::new();
        for revision in &world.store.revisions {
            let definitions: toml::Table = revision.source.parse().unwrap_or_default();
            let tasks = definitions.get("tasks").and_then(toml::Value::as_table).into_iter().flatten();
            for (name, task) in tasks {
                maxima.insert((revision.number, name.clone()), maximum(task.get("retry")));
            }
        }
        Self(maxima)
    }

    fn of(&self, job: &Job) -> Option<(i64, i64)> {
        self.0.get(&(job.revision, job.task.clone())).copied()
    }
}

/// Attempts and deferrals that a table of retries allows: five and fifty where it is silent.
fn maximum(retry: Option<&toml::Value>) -> (i64, i64) {
    let number = |name: &str| retry.and_then(|retry| retry.get(name)).and_then(toml::Value::as_integer);
    let delays = retry.and_then(|retry| retry.get("delays_ms")).and_then(toml::Value::as_array);
    let by_delays = delays.and_then(|delays| i64::try_from(delays.len()).ok()).map(|delays| delays + 1);
    (number("max_attempts").or(by_delays).unwrap_or(5), number("max_deferrals").unwrap_or(50))
}

/// Whether the attempt was given back before anything was sent.
fn was_released(attempt: &Attempt) -> bool {
    attempt.outcome.as_deref() == Some("failed_before_send") && attempt.failure_class.is_none()
}

fn defers(attempt: &Attempt) -> bool {
    attempt.failure_class.as_deref().is_some_and(|class| DEFERRING.contains(&class))
}

/// The job counts its tries as they are on record, and within the maximum of its step (I14).
fn counts(world: &World<'_>, job: &Job, maxima: &Maxima, findings: &mut Findings) {
    let mut by_step: HashMap<(i64, i64), (i64, i64)> = HashMap::new();
    for attempt in world.attempts(job.id).iter().filter(|attempt| !was_released(attempt)) {
        let (tries, deferrals) = by_step.entry((attempt.generation, attempt.step)).or_default();
        *(if defers(attempt) { deferrals } else { tries }) += 1;
    }
    let current = by_step.get(&(job.generation, job.step)).copied().unwrap_or_default();
    let right = current == (job.attempts, job.deferrals);
    findings.check(I::I14, About::job(job.id), right, "a job counts the attempts that are on record", || {
        vec![
            format!("jobs: attempts {} deferrals {}", job.attempts, job.deferrals),
            format!("attempts: of step {}: {} tries, {} deferrals", job.step, current.0, current.1),
        ]
    });
    let Some((most, most_deferrals)) = maxima.of(job) else { return };
    for ((generation, step), (tries, deferrals)) in by_step {
        // The deferral that is one too many is the one that ends the job.
        let within = tries <= most && deferrals <= most_deferrals + 1;
        findings.check(
            I::I14,
            About::job(job.id),
            within,
            "a step has more attempts than its maximum",
            || {
                vec![
                    format!("revisions: {} allows {most} attempts, {most_deferrals} deferrals", job.revision),
                    format!("attempts: of generation {generation} step {step}: {tries} and {deferrals}"),
                ]
            },
        );
    }
}

/// A try is planned before the deadline (I16).
fn planned(world: &World<'_>, job: &Job, findings: &mut Findings) {
    if job.state == "RETRY_SCHEDULED" {
        let in_time = job.available_at < job.deadline;
        findings.check(I::I16, About::job(job.id), in_time, "a try is planned beyond the deadline", || {
            vec![format!("jobs: available_at {} deadline {}", job.available_at, job.deadline)]
        });
    }
    if world.outside.clock_moved {
        return;
    }
    for attempt in world.attempts(job.id).iter().filter(|attempt| attempt.generation == job.generation) {
        let in_time = attempt.claimed_at < job.deadline;
        let about = About::attempt(job.id, attempt.id);
        findings.check(I::I16, about, in_time, "a try began beyond the deadline", || {
            vec![
                format!("jobs: deadline {}", job.deadline),
                format!("attempts: claimed at {}", attempt.claimed_at),
            ]
        });
    }
}

/// A call names an attempt on record, and is the only one that does (I14).
fn explained(
    call: &Call,
    attempt: Option<&Attempt>,
    seen: &mut HashSet<Id>,
    findings: &mut Findings,
) -> bool {
    let about = attempt.map_or(About::STORE, |attempt| About::attempt(attempt.job, attempt.id));
    let line = || vec![format!("provider log: {} {:?}", call.seq, call.forebay_attempt)];
    findings.check(I::I14, about, attempt.is_some(), "a call has an attempt on record", line);
    let Some(attempt) = attempt else { return false };
    let first = seen.insert(attempt.id);
    findings.check(I::I14, about, first, "an attempt was called once", line);
    let sent = attempt.outcome.as_deref() != Some("failed_before_send");
    findings.check(I::I14, about, sent, "an attempt that was not sent has no call", line);
    first && sent
}

/// An attempt that says it had an answer was called (I14).
fn made(attempt: &Attempt, called: bool, findings: &mut Findings) {
    let answered = matches!(attempt.outcome.as_deref(), Some("succeeded" | "failed_after_send"));
    if answered {
        let about = About::attempt(attempt.job, attempt.id);
        findings.check(I::I14, about, called, "an attempt with an answer has its call", || {
            vec![format!("attempts: {:?}", attempt.outcome), "provider log: no such call".to_owned()]
        });
    }
}

/// The attempt is written before the call, and settled after it: the call is in neither transaction (I5, I14).
fn between(call: &Call, attempt: &Attempt, findings: &mut Findings) {
    let about = About::attempt(attempt.job, attempt.id);
    let rows = || {
        vec![
            format!("attempts: claimed at {} settled at {:?}", attempt.claimed_at, attempt.settled_at),
            format!("provider log: {} began {} ended {:?}", call.seq, call.began(), call.ended_at_ms),
        ]
    };
    let before = attempt.claimed_at <= call.began() + SKEW;
    findings.check(I::I14, about, before, "an attempt is written before its call", rows);
    if call.succeeded() && attempt.outcome.as_deref() == Some("succeeded") {
        let after = attempt.settled_at.is_some_and(|settled| settled + SKEW >= call.began());
        findings.check(I::I5, about, before && after, "a call lies between claim and settlement", rows);
    }
}

/// Whoever was told to wait waits: the job of the call, and after a 429 the whole pool (I16). What comes after what is
/// seen by the log: times of transactions at work side by side don't tell.
fn hints(world: &World<'_>, calls: &[Call], findings: &mut Findings) {
    let mut by_pool: HashMap<&str, Vec<Claim<'_>>> = HashMap::new();
    let mut settled_by: HashMap<Id, (&Attempt, &Event)> = HashMap::new();
    for claim in world.store.jobs.iter().flat_map(|job| world.claims(job.id)) {
        if let Some(next) = claim.next {
            settled_by.insert(claim.attempt.id, (claim.attempt, next));
        }
        by_pool.entry(&claim.attempt.pool).or_default().push(claim);
    }
    for of_pool in by_pool.values_mut() {
        of_pool.sort_by_key(|claim| claim.claimed.place());
    }
    for call in calls {
        let Some(hint) = call.retry_after_ms else { continue };
        let Some((told, settled)) = call.attempt().and_then(|id| settled_by.get(&id)) else { continue };
        // Only what Forebay heard binds it: a report that was too late changes nothing.
        if told.outcome.as_deref() != Some("failed_after_send") {
            continue;
        }
        let limits_pool = call.status == Some(429);
        let of_pool = by_pool.get(told.pool.as_str()).map(Vec::as_slice).unwrap_or_default();
        let from = of_pool.partition_point(|claim| claim.claimed.place() <= settled.place());
        let over = settled.at + hint;
        let early = of_pool[from..]
            .iter()
            .map(|claim| claim.attempt)
            .take_while(|attempt| attempt.claimed_at < over + world.outside.grace)
            .find(|attempt| attempt.claimed_at < over && (limits_pool || attempt.job == told.job));
        let about = About::attempt(told.job, told.id);
        findings.check(
            I::I16,
            about,
            early.is_none(),
            "a try began before the provider's hint was over",
            || {
                let claimed = early
                    .map(|attempt| format!("{} claimed at {}", attempt.id.named("att"), attempt.claimed_at));
                vec![
                    format!("provider log: {} asks for {hint} ms", call.seq),
                    format!("attempts: settled at {}", settled.at),
                    format!("attempts: {claimed:?}"),
                ]
            },
        );
    }
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
    fn deferring_classes_are_those_that_do_not_count() {
        use forebay_core::failure::FailureClass;
        let classes = FailureClass::ALL.into_iter().filter(|class| !class.facts().counts);
        assert_eq!(classes.map(FailureClass::name).collect::<Vec<_>>(), DEFERRING);
    }

    #[test]
    fn the_maximum_is_read_as_it_is_written() {
        let of = |text: &str| maximum(Some(&toml::Value::Table(text.parse().unwrap())));
        assert_eq!(maximum(None), (5, 50));
        assert_eq!(of("max_attempts = 3\nmax_deferrals = 4"), (3, 4));
        assert_eq!(of("delays_ms = [1, 2, 3]"), (4, 50));
    }

    #[test]
    fn attempts_that_are_counted_wrongly_are_noticed() {
        is_found(&broken(|case| case.job_mut(case.done).attempts += 1), I::I14, "counts the attempts");
        is_found(&broken(|case| case.job_mut(case.lost).attempts = 0), I::I14, "counts the attempts");
        let beyond = broken(|case| {
            case.store.revisions[0].source = "[tasks.chat.retry]\nmax_attempts = 1".to_owned();
        });
        is_found(&beyond, I::I14, "more attempts than its maximum");
    }

    #[test]
    fn calls_and_attempts_explain_each_other() {
        is_found(&broken(|case| case.calls()[0].forebay_attempt = None), I::I14, "attempt on record");
        let twice = broken(|case| {
            let again = case.calls()[0].clone();
            case.calls().push(again);
        });
        is_found(&twice, I::I14, "called once");
        let unsent = broken(|case| {
            case.attempt_mut(case.done, 0).outcome = Some("failed_before_send".to_owned());
        });
        is_found(&unsent, I::I14, "was not sent");
        is_found(&broken(|case| drop(case.calls().remove(1))), I::I14, "has its call");
        let early = broken(|case| case.calls()[0].started_at_ms -= 1_000.0);
        is_found(&early, I::I14, "before its call");
        let late = broken(|case| case.calls()[1].started_at_ms += 1_000.0);
        is_found(&late, I::I5, "between claim and settlement");
    }

    #[test]
    fn a_try_within_the_hint_is_noticed() {
        let found = broken(|case| {
            case.calls()[0].retry_after_ms = Some(500);
            case.calls()[0].status = Some(429);
        });
        is_found(&found, I::I16, "hint");
    }

    #[test]
    fn a_try_beyond_the_deadline_is_noticed() {
        is_found(&broken(|case| case.job_mut(case.lost).available_at = i64::MAX), I::I16, "planned");
        is_found(&broken(|case| case.job_mut(case.done).deadline = 1), I::I16, "began");
    }
}
