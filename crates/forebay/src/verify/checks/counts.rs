//! Counters: I30.

use std::collections::HashMap;

use crate::verify::records::{Attempt, Id};
use crate::verify::report::{About, Findings, Invariant as I};
use crate::verify::world::{World, is_terminal};

pub(super) fn check(world: &World<'_>, findings: &mut Findings) {
    for tenant in &world.store.tenants {
        let all = tenant.id == 0;
        let jobs = world.store.jobs.iter().filter(|job| all || job.tenant == tenant.id);
        let unfinished = count(jobs.filter(|job| !is_terminal(&job.state)).count());
        findings.check(
            I::I30,
            About::STORE,
            tenant.pending_jobs == unfinished,
            "unfinished jobs are counted",
            || {
                vec![
                    format!("tenant_load: tenant {} pending_jobs {}", tenant.id, tenant.pending_jobs),
                    format!("jobs: {unfinished} unfinished"),
                ]
            },
        );
    }
    for tenant in world.tenants() {
        let grants = count(world.store.grants.iter().filter(|grant| grant.tenant == tenant.id).count());
        findings.check(
            I::I30,
            About::STORE,
            tenant.in_flight == grants,
            "a tenant's calls are counted",
            || {
                vec![
                    format!("tenant_load: {} in_flight {}", tenant.name, tenant.in_flight),
                    format!("grants: {grants}"),
                ]
            },
        );
        let of_tenant = world.store.events.iter().filter(|event| event.tenant == tenant.id);
        let accepted = of_tenant.filter(|event| event.kind == "accepted").count();
        let jobs = world.store.jobs.iter().filter(|job| job.tenant == tenant.id).count();
        findings.check(
            I::I30,
            About::STORE,
            accepted == jobs,
            "what was accepted is the sum over all states",
            || vec![format!("events: {accepted} accepted of {}", tenant.name), format!("jobs: {jobs}")],
        );
    }
    calls(world, findings);
    permits(world, findings);
}

/// The calls of each pool, task and key, and the tokens of those of a pool.
fn calls(world: &World<'_>, findings: &mut Findings) {
    let mut grants = HashMap::<(&str, String), i64>::new();
    for grant in &world.store.grants {
        let key = (grant.lane != 0).then(|| ("key", grant.lane.to_string()));
        for counted in [("pool", grant.pool.clone()), ("task", grant.task.clone())].into_iter().chain(key) {
            *grants.entry(counted).or_default() += 1;
        }
        *grants.entry(("tokens", grant.pool.clone())).or_default() += grant.tokens;
    }
    let mut counters: HashMap<_, _> = grants.keys().map(|counted| (counted.clone(), 0)).collect();
    let rows = &world.store.calls;
    counters.extend(rows.iter().map(|row| ((row.kind.as_str(), row.name.clone()), row.in_flight)));
    for (counted, in_flight) in counters {
        let grants = grants.get(&counted).copied().unwrap_or_default();
        let (kind, name) = &counted;
        findings.check(
            I::I30,
            About::STORE,
            in_flight == grants,
            "the calls of a pool, their tokens, and the calls of a task or a key are counted",
            || vec![format!("calls: {kind} {name} in_flight {in_flight}"), format!("grants: {grants}")],
        );
    }
}

fn count(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// A permit belongs to an attempt, and does not outlive it for long.
fn permits(world: &World<'_>, findings: &mut Findings) {
    let attempts: HashMap<Id, &Attempt> =
        world.store.attempts.iter().map(|attempt| (attempt.id, attempt)).collect();
    for grant in &world.store.grants {
        let about = About::attempt(grant.job, grant.attempt);
        let attempt = attempts.get(&grant.attempt);
        let own = attempt.is_some_and(|attempt| {
            (attempt.job, attempt.tenant, &attempt.pool) == (grant.job, grant.tenant, &grant.pool)
        });
        findings.check(I::I30, about, own, "a permit is its attempt's", || {
            vec![
                format!("grants: tenant {} pool {}", grant.tenant, grant.pool),
                "attempts: not the same".to_owned(),
            ]
        });
        let open = attempt.is_some_and(|attempt| attempt.settled_at.is_none());
        let live = world.outside.clock_moved || grant.lease_until + world.outside.grace >= world.now;
        findings.check(I::I30, about, open || live, "a permit was never given back", || {
            vec![format!("grants: lease_until {}", grant.lease_until), "attempts: settled".to_owned()]
        });
    }
    let held: std::collections::HashSet<Id> = world.store.grants.iter().map(|grant| grant.attempt).collect();
    for attempt in world.store.attempts.iter().filter(|attempt| attempt.settled_at.is_none()) {
        let about = About::attempt(attempt.job, attempt.id);
        findings.check(I::I30, about, held.contains(&attempt.id), "a call under way has its permit", || {
            vec!["attempts: open".to_owned(), "grants: no row".to_owned()]
        });
    }
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
            found.iter().any(|(at, problem)| *at == I::I30 && problem.contains(words)),
            "{words}: {found:?}"
        );
    }

    #[test]
    fn a_sound_store_passes() {
        assert_eq!(broken(|_| {}), []);
    }

    #[test]
    fn counters_that_differ_are_noticed() {
        is_found(&broken(|case| case.tenant_mut(0).pending_jobs += 1), "unfinished");
        is_found(&broken(|case| case.tenant_mut(1).pending_jobs -= 1), "unfinished");
        is_found(&broken(|case| case.tenant_mut(1).in_flight += 1), "a tenant's calls");
        is_found(&broken(|case| case.store.calls[0].in_flight += 1), "the calls of a pool");
        is_found(&broken(|case| case.store.calls[1].in_flight += 1), "the calls of a pool");
        is_found(&broken(|case| drop(case.store.calls.pop())), "the calls of a pool, their tokens");
        is_found(&broken(|case| case.store.grants.clear()), "has its permit");
        let lost = broken(|case| case.store.events.retain(|event| event.job != case.waits));
        is_found(&lost, "sum over all states");
    }

    #[test]
    fn a_permit_that_stays_is_noticed() {
        let leaked = broken(|case| {
            let mut grant = case.store.grants[0].clone();
            let lost = case.attempts_of(case.lost)[0].clone();
            (grant.attempt, grant.job, grant.lease_until) = (lost.id, lost.job, 1);
            case.store.grants.push(grant);
        });
        is_found(&leaked, "never given back");
        is_found(&broken(|case| case.store.grants[0].pool = "other".to_owned()), "its attempt's");
    }
}
