//! What time alone must bring about: I10, I29.

use std::collections::HashMap;

use crate::verify::records::{Id, Job, KeptKey};
use crate::verify::report::{About, Findings, Invariant as I};
use crate::verify::world::{World, is_terminal, waits_for_machines};

pub(super) fn check(world: &World<'_>, findings: &mut Findings) {
    let turns = Turns::of(world);
    world.store.kept_keys.iter().for_each(|row| kept(world, row, &turns, findings));
    for job in &world.store.jobs {
        findable(world, job, &turns, findings);
        in_turn(world, job, &turns, findings);
        not_late(world, job, findings);
        not_early(world, job, findings);
        if world.outside.drained {
            let idle = !waits_for_machines(&job.state);
            findings.check(I::I10, About::job(job.id), idle, "a job still waits for machines", || {
                vec![format!("jobs: {} available_at {}", job.state, job.available_at)]
            });
        }
    }
}

/// Jobs of each ordering key, in the order of their acceptance, and where they end in the log.
struct Turns<'r> {
    by_key: HashMap<(i64, String, String), Vec<&'r Job>>,
    kept: HashMap<(i64, String, String), Vec<&'r KeptKey>>,
    ended: HashMap<Id, (i64, i64)>,
}

impl<'r> Turns<'r> {
    fn of(world: &World<'r>) -> Self {
        let mut by_key: HashMap<_, Vec<&Job>> = HashMap::new();
        for job in &world.store.jobs {
            if let Some(key) = &job.ordering_key {
                by_key.entry((job.tenant, job.task.clone(), key.clone())).or_default().push(job);
            }
        }
        let ends = world
            .store
            .events
            .iter()
            .filter(|event| matches!(&*event.kind, "succeeded" | "failed" | "cancelled"));
        let mut kept: HashMap<_, Vec<&KeptKey>> = HashMap::new();
        for row in &world.store.kept_keys {
            kept.entry((row.tenant, row.task.clone(), row.ordering_key.clone())).or_default().push(row);
        }
        Self { by_key, kept, ended: ends.map(|event| (event.job, event.place())).collect() }
    }

    /// Jobs of the same key, itself included.
    fn of_key(&self, job: &Job) -> &[&'r Job] {
        key(job).and_then(|key| self.by_key.get(&key)).map(Vec::as_slice).unwrap_or_default()
    }

    /// What keeps the job's key.
    fn kept(&self, job: &Job) -> &[&'r KeptKey] {
        key(job).and_then(|key| self.kept.get(&key)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Jobs of the same key that were accepted before.
    fn earlier(&self, job: &Job) -> &[&'r Job] {
        let of_key = self.of_key(job);
        &of_key[..of_key.partition_point(|other| other.seq < job.seq)]
    }
}

fn key(job: &Job) -> Option<(i64, String, String)> {
    Some((job.tenant, job.task.clone(), job.ordering_key.clone()?))
}

/// A queued job is marked so that a scan finds it (I10).
fn findable(world: &World<'_>, job: &Job, turns: &Turns<'_>, findings: &mut Findings) {
    if is_terminal(&job.state) {
        return;
    }
    let about = About::job(job.id);
    let marks = || vec![format!("jobs: key_first {} ordering_key {:?}", job.key_first, job.ordering_key)];
    let others = turns.of_key(job).iter().filter(|other| other.id != job.id && !is_terminal(&other.state));
    let other_first = others.clone().any(|other| other.key_first);
    let kept = turns.kept(job);
    let in_turn = match (job.key_first, kept) {
        // What does a failed job's work again goes before those that wait for it.
        (true, [_, ..]) => kept.iter().any(|kept| replays(world, job, kept)),
        (true, []) => {
            let passes = world.input(job.id).is_some_and(|input| input.replay_of.is_some());
            passes || !others.clone().any(|other| other.seq < job.seq)
        }
        (false, kept) => other_first || !kept.is_empty(),
    };
    findings.check(
        I::I10,
        about,
        in_turn && !(job.key_first && other_first),
        "the first of an ordering key is marked, and no other",
        marks,
    );
    let queued = matches!(job.state.as_str(), "READY" | "RETRY_SCHEDULED");
    let claimable = !job.claimable || (queued && job.key_first);
    findings.check(I::I10, about, claimable, "what is claimable is queued and first of its key", marks);
}

/// Whether a job does the work again of the one that keeps a key.
fn replays(world: &World<'_>, job: &Job, kept: &KeptKey) -> bool {
    let original = world.input(job.id).and_then(|input| input.replay_of);
    original.is_some_and(|original| original == kept.first_job || original == kept.latest_job)
}

/// While a failed job keeps an ordering key, nothing of it runs but what does its work again.
fn kept(world: &World<'_>, kept: &KeptKey, turns: &Turns<'_>, findings: &mut Findings) {
    let since = turns.ended.get(&kept.first_job);
    let failed = world.job(kept.latest_job).is_some_and(|job| job.state == "FAILED_TERMINAL");
    findings.check(
        I::I10,
        About::job(kept.latest_job),
        failed && since.is_some(),
        "what keeps a key has failed",
        || vec![format!("kept_keys: {} {}", kept.task, kept.ordering_key)],
    );
    let key = (kept.tenant, kept.task.clone(), kept.ordering_key.clone());
    let of_key = turns.by_key.get(&key).map(Vec::as_slice).unwrap_or_default();
    for job in of_key.iter().filter(|job| world.input(job.id).is_none_or(|input| input.replay_of.is_none())) {
        let passed = world.claims(job.id).into_iter().find(|claim| Some(&claim.claimed.place()) > since);
        findings.check(
            I::I10,
            About::job(job.id),
            passed.is_none(),
            "a job passed one that keeps its ordering key",
            || vec![format!("kept_keys: {}", kept.first_job.named("job"))],
        );
    }
}

/// No claim came before its time, or before its turn (I10).
fn in_turn(world: &World<'_>, job: &Job, turns: &Turns<'_>, findings: &mut Findings) {
    let not_before =
        world.input(job.id).and_then(|input| input.not_before).filter(|_| !world.outside.clock_moved);
    for claim in world.claims(job.id) {
        let about = About::attempt(job.id, claim.attempt.id);
        let due = not_before.is_none_or(|from| claim.attempt.claimed_at >= from);
        findings.check(I::I10, about, due, "a job was claimed before its time", || {
            vec![
                format!("inputs: not_before {not_before:?}"),
                format!("attempts: claimed at {}", claim.attempt.claimed_at),
            ]
        });
        // What does a failed job's work again may go before those that wait for it.
        let again = world.input(job.id).is_some_and(|input| input.replay_of.is_some());
        let earlier = turns.earlier(job).iter().filter(|_| !again);
        let passed = earlier
            .clone()
            .find(|earlier| turns.ended.get(&earlier.id).is_none_or(|ended| *ended > claim.claimed.place()));
        findings.check(
            I::I10,
            about,
            passed.is_none(),
            "a job passed an earlier one of its ordering key",
            || {
                vec![
                    format!("events: {} claimed", claim.claimed.seq),
                    format!("jobs: {:?} was unfinished", passed.map(|job| job.id.named("job"))),
                ]
            },
        );
    }
}

/// What waits for machines beyond its deadline is ended (I29).
fn not_late(world: &World<'_>, job: &Job, findings: &mut Findings) {
    if !waits_for_machines(&job.state) || world.outside.clock_moved {
        return;
    }
    let in_time = job.deadline + world.outside.grace >= world.now;
    findings.check(
        I::I29,
        About::job(job.id),
        in_time,
        "a job waits for machines beyond its deadline",
        || {
            vec![
                format!("jobs: {} deadline {}", job.state, job.deadline),
                format!("events: the store lived until {}", world.now),
            ]
        },
    );
}

/// What was ended for its deadline while it waited had come to it (I29). A failed try may be the last one earlier, when
/// too little time is left.
fn not_early(world: &World<'_>, job: &Job, findings: &mut Findings) {
    let changes = world.changes(job.id);
    let [.., before, end] = changes.as_slice() else { return };
    let for_its_deadline = end.kind == "failed" && job.failure_class.as_deref() == Some("deadline");
    if !for_its_deadline || before.kind == "claimed" || world.outside.clock_moved {
        return;
    }
    findings.check(
        I::I29,
        About::job(job.id),
        end.at >= job.deadline,
        "a job was ended for its deadline before it",
        || vec![format!("jobs: deadline {}", job.deadline), format!("events: failed at {}", end.at)],
    );
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
    fn marks_that_hide_a_job_are_noticed() {
        is_found(
            &broken(|case| case.job_mut(case.waits).key_first = false),
            I::I10,
            "first of an ordering key",
        );
        is_found(&broken(|case| case.job_mut(case.runs).claimable = true), I::I10, "claimable");
    }

    #[test]
    fn a_job_that_does_not_wait_for_its_turn_is_noticed() {
        let passed = broken(|case| {
            for job in [case.runs, case.lost] {
                case.job_mut(job).ordering_key = Some("k".to_owned());
            }
        });
        is_found(&passed, I::I10, "passed an earlier one");
        let early = broken(|case| case.input_mut(case.done).not_before = Some(i64::MAX));
        is_found(&early, I::I10, "before its time");
    }

    #[test]
    fn what_waits_too_long_is_noticed() {
        is_found(&broken(|case| case.job_mut(case.waits).deadline = 1), I::I29, "beyond its deadline");
        is_found(&broken(|case| case.outside.drained = true), I::I10, "still waits");
    }

    #[test]
    fn what_is_ended_too_early_is_noticed() {
        let early = broken(|case| {
            let job = case.waits;
            let mut end = case.store.events.iter().find(|event| event.job == job).unwrap().clone();
            end.kind = "failed".to_owned();
            case.store.events.push(end);
            case.job_mut(job).failure_class = Some("deadline".to_owned());
        });
        is_found(&early, I::I29, "before it");
    }
}
