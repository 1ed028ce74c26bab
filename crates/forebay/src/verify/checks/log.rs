//! The log: I28.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::owner::state_after;
use crate::verify::records::Event;
use crate::verify::report::{About, Findings, Invariant as I};
use crate::verify::world::World;

pub(super) fn check(world: &World<'_>, findings: &mut Findings) {
    for pair in world.store.events.windows(2) {
        let next = pair[0].seq + 1 == pair[1].seq;
        findings.check(I::I28, About::job(pair[1].job), next, "the numbers of the log have no gap", || {
            vec![format!("events: {} is followed by {}", pair[0].seq, pair[1].seq)]
        });
    }
    for job in &world.store.jobs {
        // That another job does its work again is said of a version that it had already.
        let events = world.changes(job.id);
        let versions = events.iter().map(|event| event.state_version);
        let right = versions.eq(1..=job.state_version);
        findings.check(I::I28, About::job(job.id), right, "a job has one event a version, in order", || {
            let versions: Vec<_> = events.iter().map(|event| event.state_version).collect();
            vec![
                format!("jobs: state_version {}", job.state_version),
                format!("events: versions {versions:?}"),
            ]
        });
    }
    for event in world.store.events.iter().filter(|event| !event.kind.starts_with("batch.")) {
        bodies(world, event, findings);
    }
    streams(world, findings);
}

/// The bytes that are published say what the columns say.
fn bodies(world: &World<'_>, event: &Event, findings: &mut Findings) {
    let body: Value = serde_json::from_slice(&event.body).unwrap_or_default();
    let job = event.job.named("job");
    let says = body["id"] == event_id(world, event.seq)
        && body["type"] == format!("dev.forebay.job.{}.v1", event.kind)
        && body["subject"] == *job
        && body["data"]["state_version"] == event.state_version
        && state_after(&event.kind).is_none_or(|state| body["data"]["state"] == state);
    findings.check(I::I28, About::job(event.job), says, "an event says what its row says", || {
        vec![
            format!("events: {} {} version {}", event.seq, event.kind, event.state_version),
            format!("body: {body}"),
        ]
    });
}

/// The id of an event: the store's incarnation and the number in its log.
pub(super) fn event_id(world: &World<'_>, seq: i64) -> String {
    format!("evt_{:08x}{seq:016x}", world.store.incarnation)
}

/// A stream that was resumed showed every event of its tenant between its first and its last, once and in order.
fn streams(world: &World<'_>, findings: &mut Findings) {
    let numbers: HashMap<String, (i64, i64)> = world
        .store
        .events
        .iter()
        .map(|event| (event_id(world, event.seq), (event.seq, event.tenant)))
        .collect();
    let mut shown: BTreeMap<(&str, &str), Vec<i64>> = BTreeMap::new();
    for line in world.shown() {
        let known =
            numbers.get(&line.event_id).filter(|known| world.tenant_named(&line.tenant) == Some(known.1));
        findings.check(
            I::I28,
            About::STORE,
            known.is_some(),
            "a stream showed an event of its tenant's log",
            || vec![format!("client log: stream {} event {}", line.stream, line.event_id)],
        );
        shown.entry((&line.tenant, &line.stream)).or_default().extend(known.map(|known| known.0));
    }
    for ((tenant, stream), seen) in shown {
        let (Some(first), Some(last)) = (seen.first(), seen.last()) else { continue };
        let id = world.tenant_named(tenant);
        let of_tenant = world.store.events.iter().filter(|event| Some(event.tenant) == id);
        let all = of_tenant.map(|event| event.seq).filter(|seq| (first..=last).contains(&seq));
        let whole = all.clone().eq(seen.iter().copied());
        findings.check(I::I28, About::STORE, whole, "a stream skipped an event, or showed one twice", || {
            let missing: Vec<_> = all.filter(|seq| !seen.contains(seq)).take(5).collect();
            vec![
                format!("client log: stream {stream}: {} events", seen.len()),
                format!("events: not shown: {missing:?}"),
            ]
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::checks::testing::{Case, case};
    use crate::verify::logs::{Shown, Told};

    fn broken(change: impl FnOnce(&mut Case)) -> Vec<(I, String)> {
        case().broken_by(change, check)
    }

    fn is_found(found: &[(I, String)], words: &str) {
        assert!(
            found.iter().any(|(at, problem)| *at == I::I28 && problem.contains(words)),
            "{words}: {found:?}"
        );
    }

    #[test]
    fn a_sound_store_passes() {
        assert_eq!(broken(|_| {}), []);
    }

    #[test]
    fn gaps_are_noticed() {
        let gone = broken(|case| drop(case.store.events.remove(3)));
        is_found(&gone, "no gap");
        is_found(&gone, "one event a version");
        is_found(&broken(|case| case.job_mut(case.done).state_version += 1), "one event a version");
        is_found(&broken(|case| case.store.events[2].body = b"{}".to_vec()), "says what its row says");
    }

    #[test]
    fn a_stream_that_skips_is_noticed() {
        let show = |seqs: &[i64]| {
            let seqs = seqs.to_vec();
            broken(move |case| {
                for seq in seqs {
                    let event_id = format!("evt_{:08x}{seq:016x}", case.store.incarnation);
                    case.told().push(Told::Event(Shown {
                        tenant: "default".into(),
                        stream: "s".into(),
                        event_id,
                    }));
                }
            })
        };
        assert_eq!(show(&[2, 3, 4]), []);
        is_found(&show(&[2, 4]), "skipped");
        is_found(&show(&[2, 3, 3]), "skipped");
        is_found(&show(&[900]), "of its tenant's log");
    }
}
