//! The log: I28.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::owner::state_after;
use crate::verify::logs::Shown;
use crate::verify::records::{Epochs, Event};
use crate::verify::report::{About, Findings, Invariant as I};
use crate::verify::world::World;

pub(super) fn check(world: &World<'_>, findings: &mut Findings) {
    match &world.store.epochs {
        None => no_gaps(world, findings),
        Some(epochs) => epoch_stamps(world, epochs, findings),
    }
    for job in &world.store.jobs {
        // That another job does its work again is said of a version that it had already.
        let events = world.changes(job.id);
        let versions = events.iter().map(|event| event.state_version);
        let rising = world.events(job.id).windows(2).all(|pair| pair[0].seq < pair[1].seq);
        let right = rising && versions.eq(1..=job.state_version);
        findings.check(I::I28, About::job(job.id), right, "a job has one event a version, in order", || {
            let versions: Vec<_> = events.iter().map(|event| (event.place(), event.state_version)).collect();
            vec![
                format!("jobs: state_version {}", job.state_version),
                format!("events: places and versions {versions:?}"),
            ]
        });
    }
    for event in world.store.events.iter().filter(|event| !event.kind.starts_with("batch.")) {
        bodies(world, event, findings);
    }
    streams(world, findings);
}

/// One writer draws a number and commits before the next. What retention has deleted has left a gap.
fn no_gaps(world: &World<'_>, findings: &mut Findings) {
    let deleted = world.store.log_deleted.iter().map(|(_, (_, seq))| *seq).max().unwrap_or_default();
    for pair in world.store.events.windows(2) {
        let next = pair[0].seq + 1 == pair[1].seq || pair[1].seq - 1 <= deleted;
        findings.check(I::I28, About::job(pair[1].job), next, "the numbers of the log have no gap", || {
            vec![format!("events: {} is followed by {}", pair[0].seq, pair[1].seq)]
        });
    }
}

/// Many writers draw numbers, and may give them up; an epoch that has not begun has no events.
fn epoch_stamps(world: &World<'_>, epochs: &Epochs, findings: &mut Findings) {
    let behind = epochs.closed < epochs.current;
    findings.check(I::I28, About::STORE, behind, "the current epoch is open", || vec![format!("{epochs:?}")]);
    for event in &world.store.events {
        let begun = (1..=epochs.current).contains(&event.epoch);
        findings.check(
            I::I28,
            About::job(event.job),
            begun,
            "an event is of an epoch that there was",
            || vec![format!("events: {} epoch {}", event.seq, event.epoch), format!("{epochs:?}")],
        );
    }
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
    let places: HashMap<String, (&Event, (i64, i64))> =
        world.store.events.iter().map(|event| (event_id(world, event.seq), (event, event.place()))).collect();
    let mut shown: BTreeMap<(&str, &str), Vec<(i64, i64)>> = BTreeMap::new();
    for line in world.shown() {
        let known = places
            .get(&line.event_id)
            .filter(|known| world.tenant_named(&line.tenant) == Some(known.0.tenant));
        findings.check(
            I::I28,
            About::STORE,
            known.is_some() || was_deleted(world, line),
            "a stream showed an event of its tenant's log",
            || vec![format!("client log: stream {} event {}", line.stream, line.event_id)],
        );
        shown.entry((&line.tenant, &line.stream)).or_default().extend(known.map(|known| known.1));
    }
    for ((tenant, stream), seen) in shown {
        let (Some(first), Some(last)) = (seen.first(), seen.last()) else { continue };
        let id = world.tenant_named(tenant);
        let of_tenant = world.store.events.iter().filter(|event| Some(event.tenant) == id);
        let all = of_tenant.map(Event::place).filter(|place| (first..=last).contains(&place));
        let whole = all.clone().eq(seen.iter().copied());
        findings.check(I::I28, About::STORE, whole, "a stream skipped an event, or showed one twice", || {
            let missing: Vec<_> = all.filter(|place| !seen.contains(place)).take(5).collect();
            vec![
                format!("client log: stream {stream}: {} events", seen.len()),
                format!("events: not shown: {missing:?}"),
            ]
        });
    }
}

/// Whether the event that was shown may have been deleted since: by its number, as many writers draw them nearly in order.
fn was_deleted(world: &World<'_>, line: &Shown) -> bool {
    let tenant = world.tenant_named(&line.tenant);
    let until = world.store.log_deleted.iter().find(|(of, _)| Some(*of) == tenant).map(|(_, place)| place.1);
    let digits = line.event_id.len().checked_sub(16).and_then(|at| line.event_id.get(at..));
    let number = digits.and_then(|digits| i64::from_str_radix(digits, 16).ok());
    number.zip(until).is_some_and(|(number, until)| number <= until)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::checks::testing::{Case, case};
    use crate::verify::logs::Told;

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

    /// The case as many writers would have written it: with numbers that were given up, and an earlier epoch whose
    /// last number is higher than the first of the next.
    fn written_by_many(case: &mut Case) {
        case.store.epochs = Some(Epochs { current: 3, closed: 2 });
        let incarnation = case.store.incarnation;
        for (nth, event) in case.store.events.iter_mut().enumerate() {
            event.epoch = if nth < 3 { 1 } else { 2 };
            let (before, seq) = (event.seq, event.seq * 10);
            event.seq = seq;
            let id = |seq: i64| format!("evt_{incarnation:08x}{seq:016x}");
            event.body = String::from_utf8_lossy(&event.body).replace(&id(before), &id(seq)).into_bytes();
        }
    }

    #[test]
    fn a_log_of_many_writers_has_gaps_and_epochs() {
        assert_eq!(broken(written_by_many), []);
        let unbegun = broken(|case| {
            written_by_many(case);
            case.store.events[3].epoch = 4;
        });
        is_found(&unbegun, "epoch that there was");
        let closed = broken(|case| {
            written_by_many(case);
            case.store.epochs = Some(Epochs { current: 2, closed: 2 });
        });
        is_found(&closed, "current epoch is open");
        let falling = broken(|case| {
            written_by_many(case);
            let job = case.done;
            case.store.events.iter_mut().rfind(|event| event.job == job).unwrap().seq = 1;
        });
        is_found(&falling, "one event a version, in order");
    }

    #[test]
    fn a_stream_follows_epochs_before_numbers() {
        let show = |places: &[usize]| {
            let places = places.to_vec();
            broken(move |case| {
                written_by_many(case);
                // The second event of the log gets the highest number: it is of the first epoch all the same.
                let swap = 5_000;
                let before = format!("{:016x}", case.store.events[1].seq);
                let event = &mut case.store.events[1];
                event.seq = swap;
                event.body = String::from_utf8_lossy(&event.body)
                    .replace(&before, &format!("{swap:016x}"))
                    .into_bytes();
                let job = event.job;
                case.job_mut(job).seq = swap;
                for place in places {
                    let seq = case.store.events[place].seq;
                    let event_id = format!("evt_{:08x}{seq:016x}", case.store.incarnation);
                    case.told().push(Told::Event(Shown {
                        tenant: "default".into(),
                        stream: "s".into(),
                        event_id,
                    }));
                }
            })
        };
        let skipped = |found: &[(I, String)]| found.iter().any(|(_, problem)| problem.contains("skipped"));
        assert!(!skipped(&show(&[0, 1, 2, 3])));
        assert!(skipped(&show(&[0, 2, 3])));
        assert!(skipped(&show(&[0, 2, 3, 1])));
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
