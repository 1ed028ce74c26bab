//! Batches of jobs: I1, I28, I30.

use std::collections::BTreeMap;

use serde_json::Value;

use super::log::event_id;
use crate::verify::records::{Batch, Event};
use crate::verify::report::{About, Findings, Invariant as I};
use crate::verify::world::{World, is_terminal};

pub(super) fn check(world: &World<'_>, findings: &mut Findings) {
    for batch in &world.store.batches {
        members(world, batch, findings);
        open(world, batch, findings);
        completed(world, batch, findings);
    }
    for event in world.store.events.iter().filter(|event| event.kind.starts_with("batch.")) {
        body(world, event, findings);
    }
}

fn named(batch: &Batch) -> String {
    format!("batches: {} {} of {}", batch.id.named("batch"), batch.kind, batch.size)
}

/// A member's job is there, of its tenant, and does again what the member says (I1). A batch has the members of its
/// call (I30).
fn members(world: &World<'_>, batch: &Batch, findings: &mut Findings) {
    let members = world.members(batch.id);
    for member in members {
        let Some(id) = member.job else { continue };
        // Of a complete batch, jobs may have been deleted.
        let gone = batch.finished_at.is_some() && world.store.deleted.jobs > 0;
        let own = world.job(id).map_or(gone, |job| job.tenant == batch.tenant);
        let again = member.replay_of.is_none()
            || world.input(id).map_or(gone, |input| input.replay_of == member.replay_of);
        findings.check(I::I1, About::job(id), own && again, "a member of a batch has its job", || {
            vec![named(batch), format!("batch_members: position {} {member:?}", member.position)]
        });
    }
    let count = i64::try_from(members.len()).unwrap_or(i64::MAX);
    let whole =
        count <= batch.size && (batch.filled_at.is_none() || batch.kind != "jobs" || count == batch.size);
    findings.check(I::I30, About::STORE, whole, "a batch has the members of its call", || {
        vec![named(batch), format!("batch_members: {count}")]
    });
}

/// The counter of a batch is what its members' jobs say (I30).
fn open(world: &World<'_>, batch: &Batch, findings: &mut Findings) {
    let jobs = world.members(batch.id).iter().filter_map(|member| world.job(member.job?));
    let unfinished = jobs.filter(|job| !is_terminal(&job.state)).count();
    let expected = i64::try_from(unfinished).unwrap_or(i64::MAX) + i64::from(batch.filled_at.is_none());
    findings.check(I::I30, About::STORE, batch.open == expected, "a batch counts its open members", || {
        vec![format!("{} open {}", named(batch), batch.open), format!("jobs: {expected} unfinished")]
    });
}

/// A batch ends once, with its event (I30).
fn completed(world: &World<'_>, batch: &Batch, findings: &mut Findings) {
    let events: Vec<_> = world
        .events(batch.id)
        .iter()
        .filter(|event| event.kind == "batch.completed")
        .map(|event| event.at)
        .collect();
    let expected: Vec<_> = batch.finished_at.into_iter().collect();
    findings.check(I::I30, About::STORE, events == expected, "a batch has one event of its end", || {
        vec![
            format!("{} finished_at {:?}", named(batch), batch.finished_at),
            format!("events: completed at {events:?}"),
        ]
    });
}

/// The event of a batch says what its rows say (I28).
fn body(world: &World<'_>, event: &Event, findings: &mut Findings) {
    let body: Value = serde_json::from_slice(&event.body).unwrap_or_default();
    let batch = world.batch(event.job).filter(|batch| batch.tenant == event.tenant);
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    // Those that retention has deleted already; the batch goes after them.
    let mut deleted = 0;
    for job in world.members(event.job).iter().filter_map(|member| member.job) {
        match world.job(job) {
            Some(job) => *counts.entry(&job.state).or_default() += 1,
            None => deleted += 1,
        }
    }
    let told = body["data"]["counts"].as_object().into_iter().flatten();
    let told: BTreeMap<_, _> = told.filter_map(|(state, n)| Some((state.as_str(), n.as_i64()?))).collect();
    let counted = told.values().sum::<i64>() == counts.values().sum::<i64>() + deleted
        && counts.iter().all(|(state, n)| told.get(state) >= Some(n));
    let refused = world.members(event.job).iter().filter(|member| member.job.is_none()).count();
    let says = batch.is_some()
        && body["id"] == event_id(world, event.seq)
        && body["type"] == format!("dev.forebay.{}.v1", event.kind)
        && body["subject"] == event.job.named("batch")
        && counted
        && body["data"]["refused"] == refused;
    findings.check(I::I28, About::STORE, says, "the event of a batch says what its rows say", || {
        vec![
            format!("events: {} {}", event.seq, event.kind),
            format!("body: {body}"),
            format!("jobs: {counts:?}"),
        ]
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
    fn batches_are_counted() {
        is_found(&broken(|case| case.store.batches[0].open = 1), I::I30, "open members");
        is_found(&broken(|case| case.store.batches[0].size = 1), I::I30, "members of its call");
        is_found(&broken(|case| case.store.batches[0].finished_at = None), I::I30, "event of its end");
        is_found(&broken(|case| _ = case.store.members.pop()), I::I28, "what its rows say");
        is_found(&broken(|case| case.store.batches[0].tenant = 2), I::I1, "has its job");
        let other = broken(|case| case.store.members[0].replay_of = Some(case.lost));
        is_found(&other, I::I1, "has its job");
    }

    #[test]
    fn jobs_of_a_batch_that_retention_has_deleted_are_not_missed() {
        let without_a_job = |case: &mut Case| {
            let gone = case.store.members.iter().find_map(|member| member.job);
            case.store.jobs.retain(|job| Some(job.id) != gone);
            case.store.deleted.jobs = 1;
        };
        assert_eq!(broken(without_a_job), []);
        let found = broken(|case| {
            without_a_job(case);
            case.store.members.retain(|member| member.job.is_none());
        });
        is_found(&found, I::I28, "what its rows say");
    }
}
