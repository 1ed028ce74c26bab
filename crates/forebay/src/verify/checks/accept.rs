//! Taking jobs in: I1, I2, I3, I20.

use std::collections::{BTreeMap, HashMap, HashSet};

use sha2::{Digest as _, Sha256};

use crate::verify::logs::Submit;
use crate::verify::records::{Id, Input, Job};
use crate::verify::report::{About, Findings, Invariant as I};
use crate::verify::world::{World, is_terminal};

pub(super) fn check(world: &World<'_>, findings: &mut Findings) {
    for job in &world.store.jobs {
        together(world, job, findings);
    }
    events_have_jobs(world, findings);
    blobs(world, findings);
    keys(world, findings);
    if world.outside.told.is_some() {
        promises(world, findings);
        one_job_a_key(world, findings);
        none_unasked(world, findings);
    }
    hashes(world, findings);
    limits(world, findings);
}

/// A job, its accepted event, its input and its current step (I1).
fn together(world: &World<'_>, job: &Job, findings: &mut Findings) {
    let accepted: Vec<_> = world.events(job.id).iter().filter(|event| event.kind == "accepted").collect();
    let right = match accepted.as_slice() {
        [event] => event.seq == job.seq && event.state_version == 1 && event.tenant == job.tenant,
        _ => false,
    };
    findings.check(
        I::I1,
        About::job(job.id),
        right,
        "a job has one accepted event, its first, with its number",
        || {
            let mut rows = vec![format!("jobs: seq {} tenant {}", job.seq, job.tenant)];
            rows.extend(accepted.iter().map(|event| {
                format!(
                    "events: {} accepted version {} tenant {}",
                    event.seq, event.state_version, event.tenant
                )
            }));
            rows
        },
    );
    findings.check(I::I1, About::job(job.id), world.input(job.id).is_some(), "a job has an input", || {
        vec!["inputs: no row".to_owned()]
    });
    let current = (job.generation, job.step);
    let has_step = world.steps(job.id).iter().any(|step| (step.generation, step.number) == current);
    findings.check(I::I1, About::job(job.id), has_step, "a job has its current step", || {
        vec![format!("jobs: generation {} step {}", current.0, current.1), "steps: no such row".to_owned()]
    });
}

fn events_have_jobs(world: &World<'_>, findings: &mut Findings) {
    for event in world.store.events.iter().filter(|event| !event.kind.starts_with("batch.")) {
        let of_its_own = world.job(event.job).is_some_and(|job| job.tenant == event.tenant);
        findings.check(
            I::I1,
            About::job(event.job),
            of_its_own,
            "an event is of a job of its tenant",
            || vec![format!("events: {} {} tenant {}", event.seq, event.kind, event.tenant)],
        );
    }
}

/// The files that rows refer to (I3 where the content is another, I1 where a job can't run, else I20).
fn blobs(world: &World<'_>, findings: &mut Findings) {
    for fault in &world.store.blob_faults {
        let unfinished = fault.job.and_then(|job| world.job(job)).is_some_and(|job| !is_terminal(&job.state));
        let invariant = match fault.problem.as_str() {
            "the content of the file is another" => I::I3,
            _ if unfinished => I::I1,
            _ => I::I20,
        };
        let about = fault.job.map_or(About::STORE, About::job);
        let rows = vec![format!("blob {}: {}", fault.digest, fault.problem)];
        findings.violated(invariant, about, "a file that a row refers to is there as it was", rows);
    }
}

/// Keys and the jobs that they stand for (I2).
fn keys(world: &World<'_>, findings: &mut Findings) {
    let mut jobs_of: HashMap<(i64, &str), Vec<&Input>> = HashMap::new();
    for input in &world.store.inputs {
        if let (Some(key), Some(job)) = (&input.idempotency_key, world.job(input.job)) {
            jobs_of.entry((job.tenant, key)).or_default().push(input);
        }
    }
    for row in &world.store.keys {
        let named = jobs_of.get(&(row.tenant, row.key.as_str())).map(Vec::as_slice).unwrap_or_default();
        let outlived = row.ended.is_some() && world.job(row.job).is_none();
        let is_its_own = outlived || named.iter().any(|input| input.job == row.job);
        findings.check(
            I::I2,
            About::job(row.job),
            is_its_own,
            "a key stands for a job that was sent with it",
            || vec![format!("idempotency_keys: tenant {} key {}", row.tenant, row.key)],
        );
        // Two jobs of one key are right only where the first one's time had run out.
        let current = named.iter().find(|input| input.job == row.job);
        let kept = current.map_or(0, |input| row.expires_at - input.created_at);
        let mut times: Vec<_> = named.iter().map(|input| input.created_at).collect();
        times.sort_unstable();
        let apart = times.windows(2).all(|pair| pair[1] - pair[0] >= kept);
        findings.check(I::I2, About::job(row.job), apart, "one key made two jobs within its time", || {
            named.iter().map(|input| format!("inputs: {} key {}", input.job.named("job"), row.key)).collect()
        });
    }
}

/// What was answered with 202 is there, as it was asked for (I2, I20).
fn promises(world: &World<'_>, findings: &mut Findings) {
    let (mut promised, mut lost, mut deleted) = (HashSet::new(), HashSet::new(), HashSet::new());
    for submit in world.submits() {
        let told = || {
            vec![format!("client log: {} {:?} {:?}", submit.tenant, submit.idempotency_key, submit.status)]
        };
        if matches!(submit.status, Some(429 | 503)) {
            let hinted = submit.retry_after.is_some();
            findings.check(
                I::I20,
                About::STORE,
                hinted,
                "a refusal for want of room says when to come back",
                told,
            );
        }
        if !submit.is_accepted() {
            continue;
        }
        let Some(id) = submit.job() else {
            findings.violated(I::I2, About::STORE, "an accepted job is named", told());
            continue;
        };
        promised.insert(id);
        let found =
            world.job(id).filter(|_| world.events(id).first().is_some_and(|first| first.kind == "accepted"));
        let kept = found.is_some()
            || (may_be_deleted(world, id) && {
                deleted.insert(id);
                deleted.len() as i64 <= world.store.deleted.jobs
            });
        if !kept {
            lost.insert(id);
        }
        findings.check(I::I20, About::job(id), kept, "what was accepted is in the store", told);
        let as_asked = found.is_none_or(|job| {
            let key = world.input(id).and_then(|input| input.idempotency_key.as_ref());
            world.tenant_named(&submit.tenant) == Some(job.tenant) && key == submit.idempotency_key.as_ref()
        });
        findings.check(I::I2, About::job(id), as_asked, "an accepted job has its tenant and key", told);
    }
    findings.figures.promised = Some(promised.len() as u64);
    findings.figures.lost = Some(lost.len() as u64);
}

/// Whether retention may have deleted a job: it was accepted before the youngest that was. There are at most as many as
/// the store says to have deleted.
fn may_be_deleted(world: &World<'_>, id: Id) -> bool {
    // The first 48 bits of an id are the time when it was made, which is before the job is accepted.
    let made = id.0[..6].iter().fold(0, |made, byte| made << 8 | i64::from(*byte));
    made <= world.store.deleted.accepted_until
}

/// One key, one request, one job (I2); another request under it is refused (I3).
fn one_job_a_key(world: &World<'_>, findings: &mut Findings) {
    let mut by_key: BTreeMap<(&str, &str), Vec<&Submit>> = BTreeMap::new();
    for submit in world.submits().filter(|submit| submit.is_accepted()) {
        if let Some(key) = &submit.idempotency_key {
            by_key.entry((&submit.tenant, key)).or_default().push(submit);
        }
    }
    for ((tenant, key), accepted) in by_key {
        let first = accepted[0];
        let rows = || {
            let line =
                |submit: &&Submit| format!("client log: {:?} body {}", submit.job_id, submit.body_sha256);
            std::iter::once(format!("tenant {tenant} key {key}")).chain(accepted.iter().map(line)).collect()
        };
        let about = first.job().map_or(About::STORE, About::job);
        let same_job = accepted.iter().all(|submit| submit.job_id == first.job_id);
        findings.check(I::I2, about, same_job, "one key was answered with two jobs", rows);
        let same_body = accepted.iter().all(|submit| submit.body_sha256 == first.body_sha256);
        findings.check(I::I3, about, same_body, "two requests were taken for the same", rows);
    }
}

/// Every job was asked for (I2).
fn none_unasked(world: &World<'_>, findings: &mut Findings) {
    let tenants: HashSet<_> =
        world.submits().filter_map(|submit| world.tenant_named(&submit.tenant)).collect();
    let asked: HashSet<_> = world
        .submits()
        .filter_map(|submit| Some((world.tenant_named(&submit.tenant)?, submit.idempotency_key.as_deref()?)))
        .collect();
    let named: HashSet<Id> = world.submits().filter_map(Submit::job).collect();
    for job in world.store.jobs.iter().filter(|job| tenants.contains(&job.tenant)) {
        let Some(input) =
            world.input(job.id).filter(|input| input.replay_of.is_none() && input.batch.is_none())
        else {
            continue;
        };
        let key = input.idempotency_key.as_deref();
        let known = named.contains(&job.id) || key.is_some_and(|key| asked.contains(&(job.tenant, key)));
        findings.check(
            I::I2,
            About::job(job.id),
            known,
            "no line of the client log asked for this job",
            || vec![format!("inputs: key {key:?}")],
        );
    }
}

/// Equal hashes are equal requests, and the stored request is the hashed one (I3).
fn hashes(world: &World<'_>, findings: &mut Findings) {
    let mut first_of: HashMap<&[u8], (&Job, &Input)> = HashMap::new();
    for input in &world.store.inputs {
        let Some(job) = world.job(input.job) else { continue };
        let (other_job, other) = *first_of.entry(&input.request_digest).or_insert((job, input));
        let what = |job: &Job, input: &Input| {
            let blob = input.blob.clone();
            let series = (input.series_key.clone(), input.series_version);
            (job.task.clone(), input.body.clone(), blob, input.document.clone(), series)
        };
        let same = what(job, input) == what(other_job, other);
        findings.check(I::I3, About::job(job.id), same, "two requests have one hash", || {
            vec![format!("inputs: {}", other.job.named("job")), format!("inputs: {}", job.id.named("job"))]
        });
    }
    for row in &world.store.keys {
        let (Some(job), Some(input)) = (world.job(row.job), world.input(row.job)) else { continue };
        // A replay is recognised by what it replays, not by what that was.
        let Some(body) = input.body.as_ref().filter(|_| input.replay_of.is_none()) else { continue };
        let pinned = format!("{}@{}", job.task, job.revision);
        let right =
            [&job.task, &pinned].into_iter().any(|task| row.body_digest == body_digest(body, input, task));
        findings.check(
            I::I3,
            About::job(row.job),
            right,
            "the stored request is the one that was hashed",
            || vec![format!("idempotency_keys: tenant {} key {}", row.tenant, row.key)],
        );
    }
}

/// The hash of what a caller asked for, from what is stored: the stored object with `series` and `task` at its end.
fn body_digest(stored: &[u8], input: &Input, task: &str) -> Vec<u8> {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let mut hashed = stored.strip_suffix(b"}").unwrap_or(stored).to_vec();
    if let (Some(key), Some(version)) = (&input.series_key, input.series_version) {
        hashed.extend(format!(",\"series\":{{\"key\":{},\"version\":{version}}}", text(key)).bytes());
    }
    hashed.extend(format!(",\"task\":{}}}", text(task)).bytes());
    Sha256::digest(&hashed).to_vec()
}

/// No tenant had more unfinished jobs than its limit when a further one was accepted (I20). The limit is known
/// since it was last changed.
fn limits(world: &World<'_>, findings: &mut Findings) {
    for tenant in world.tenants() {
        let Some(limit) = tenant.max_pending_jobs else { continue };
        let changes =
            world.store.audit.iter().filter(|row| row.action == "tenant.put" && row.subject == tenant.name);
        let since = changes.map(|row| row.at).max().unwrap_or(i64::MIN);
        let mut pending = 0_i64;
        for event in world.store.events.iter().filter(|event| event.tenant == tenant.id) {
            match event.kind.as_str() {
                "accepted" => {
                    let about = About::job(event.job);
                    let room = pending < limit || event.at <= since;
                    findings.check(
                        I::I20,
                        about,
                        room,
                        "a job was accepted beyond its tenant's limit",
                        || {
                            vec![
                                format!("tenants: {} max_pending_jobs {limit}", tenant.name),
                                format!("events: {} accepted with {pending} unfinished", event.seq),
                            ]
                        },
                    );
                    pending += 1;
                }
                "succeeded" | "failed" | "cancelled" => pending -= 1,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::checks::testing::{Case, case};

    fn broken(change: impl FnOnce(&mut Case)) -> Vec<(I, String)> {
        case().broken_by(change, check)
    }

    #[test]
    fn a_sound_store_passes() {
        assert_eq!(broken(|_| {}), []);
    }

    #[test]
    fn a_missing_event_input_or_step_is_noticed() {
        let event = broken(|case| {
            case.store.events.retain(|event| event.job != case.done || event.kind != "accepted")
        });
        assert_eq!(event[0].0, I::I1);
        let input = broken(|case| case.store.inputs.retain(|input| input.job != case.waits));
        assert!(input.contains(&(I::I1, "a job has an input".to_owned())), "{input:?}");
        let step = broken(|case| case.store.steps.retain(|step| step.job != case.waits));
        assert_eq!(step, [(I::I1, "a job has its current step".to_owned())]);
    }

    #[test]
    fn an_event_without_a_job_is_noticed() {
        let found = broken(|case| case.store.jobs.retain(|job| job.id != case.done));
        assert!(found.contains(&(I::I1, "an event is of a job of its tenant".to_owned())), "{found:?}");
        assert!(found.contains(&(I::I20, "what was accepted is in the store".to_owned())), "{found:?}");
    }

    #[test]
    fn no_more_than_what_was_deleted_may_be_missing() {
        let gone = |jobs: i64, ended: Option<&str>| {
            broken(|case| {
                let until = i64::MAX;
                case.store.deleted =
                    crate::verify::records::Deleted { jobs, attempts: 9, accepted_until: until };
                let done = case.done;
                case.store.jobs.retain(|job| job.id != done);
                case.store.inputs.retain(|input| input.job != done);
                case.store.events.retain(|event| event.job != done);
                case.store.keys.iter_mut().find(|key| key.job == done).unwrap().ended =
                    ended.map(str::to_owned);
            })
        };
        assert_eq!(gone(1, Some("SUCCEEDED")), []);
        let more = gone(0, Some("SUCCEEDED"));
        assert_eq!(more, [(I::I20, "what was accepted is in the store".to_owned())]);
        let silent = gone(1, None);
        assert_eq!(silent, [(I::I2, "a key stands for a job that was sent with it".to_owned())]);
    }

    #[test]
    fn two_jobs_of_one_key_are_noticed() {
        let found = broken(|case| {
            let key = case.input(case.done).idempotency_key.clone();
            case.input_mut(case.waits).idempotency_key = key;
        });
        assert!(found.contains(&(I::I2, "one key made two jobs within its time".to_owned())), "{found:?}");
    }

    #[test]
    fn a_key_that_was_answered_twice_is_noticed() {
        let jobs = broken(|case| {
            let other = case.waits.named("job");
            case.submit_mut(1).job_id = Some(other);
            case.submit_mut(1).idempotency_key = case.submit_mut(0).idempotency_key.clone();
        });
        assert!(jobs.contains(&(I::I2, "one key was answered with two jobs".to_owned())), "{jobs:?}");
        let bodies = broken(|case| {
            let mut again = case.submit_mut(0).clone();
            again.body_sha256 = "other".to_owned();
            case.told().push(crate::verify::logs::Told::Submit(again));
        });
        assert_eq!(bodies, [(I::I3, "two requests were taken for the same".to_owned())]);
    }

    #[test]
    fn a_job_that_nobody_asked_for_is_noticed() {
        let found = broken(|case| {
            case.told().remove(0);
        });
        assert_eq!(found, [(I::I2, "no line of the client log asked for this job".to_owned())]);
    }

    #[test]
    fn a_hash_that_misses_something_is_noticed() {
        let found = broken(|case| {
            let digest = case.input(case.done).request_digest.clone();
            case.input_mut(case.waits).request_digest = digest;
        });
        assert_eq!(found, [(I::I3, "two requests have one hash".to_owned())]);
        let series = broken(|case| {
            let input = case.input_mut(case.done);
            (input.series_key, input.series_version) = (Some("s".to_owned()), Some(1));
        });
        assert_eq!(series, [(I::I3, "the stored request is the one that was hashed".to_owned())]);
    }

    #[test]
    fn limits_and_refusals_are_held_to_their_word() {
        let limit = broken(|case| case.tenant_mut(1).max_pending_jobs = Some(1));
        assert!(limit.iter().all(|found| found.0 == I::I20) && !limit.is_empty(), "{limit:?}");
        let refusal = broken(|case| {
            case.submit_mut(0).status = Some(503);
        });
        assert_eq!(refusal, [(I::I20, "a refusal for want of room says when to come back".to_owned())]);
    }

    #[test]
    fn files_that_are_gone_or_changed_are_noticed() {
        use crate::verify::records::BlobFault;
        let fault = |job: Option<Id>, problem: &str| BlobFault {
            job,
            digest: "d".to_owned(),
            problem: problem.to_owned(),
        };
        for (of_waiting, problem, invariant) in [
            (true, "not found", I::I1),
            (false, "not found", I::I20),
            (true, "the content of the file is another", I::I3),
        ] {
            let found = broken(|case| {
                let job = if of_waiting { case.waits } else { case.done };
                case.store.blob_faults.push(fault(Some(job), problem));
            });
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].0, invariant);
        }
    }
}
