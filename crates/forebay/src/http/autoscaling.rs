//! How many workers are worth running: the smaller of what the backlog needs and what the providers' limits sustain.
//! [`sizing`] decides; what it is told is what the ledger has.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use forebay_core::capacity::sizing::{self, Demand};
use forebay_core::definition::{Pool, Task};
use forebay_core::time::{Millis, Timestamp};
use forebay_store::record::{PoolDemand, ProcessRecord, Scope, WaitingJobs};

use super::api::Api;
use super::dto::{PoolScaling, Scaling};
use super::params::Params;
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get};
use crate::presence::is_silent;
use crate::revisions::Revision;

/// In how long due jobs are to have run, when the caller does not say.
const DRAIN: Millis = Millis::from_secs(60);

/// The routes of autoscaling.
pub(super) fn routes() -> Vec<Route> {
    let name = r#"{"type":"string"}"#;
    vec![
        get("/v1/autoscaling/workers", workers).needs(
            Scope::Operate,
            Doc::of("autoscaling", "How many workers are worth running")
                .more(
                    "For a metrics-api scaler of KEDA. The smaller of what the backlog needs and what the providers' limits \
                     sustain, over the jobs of all tenants. Everything is measured: due jobs, calls under way, and how long \
                     the last calls for such jobs took.",
                )
                .query("pool", name, "Only this pool of the active definitions")
                .query("task", name, "Only jobs of this task of the active definitions, in its pool unless `pool` says")
                .query(
                    "drain_ms",
                    r#"{"type":"integer","minimum":1000,"maximum":86400000,"default":60000}"#,
                    "In how long what is due is to have run",
                )
                .query(
                    "slots",
                    r#"{"type":"integer","minimum":1,"maximum":100000}"#,
                    "Calls that a process holds at a time; where absent, as its workers say",
                )
                .gives::<Scaling>(200, "The number, and how it came about")
                .refuses(&[Code::InvalidParameter, Code::NotFound]),
        ),
    ]
}

/// `GET /v1/autoscaling/workers`
async fn workers(State(api): State<Api>, mut params: Params) -> Result<Json<Scaling>, Problem> {
    let revision = api.app.revisions.active();
    let (pools, task) = named(&mut params, &revision)?;
    let drain = params.parsed("drain_ms", "a number from 1000 to 86400000", number_in(1_000, 86_400_000))?;
    let drain = drain.map_or(DRAIN, |ms| Millis::new(i64::try_from(ms).unwrap_or(i64::MAX)));
    let slots = params.parsed("slots", "a number from 1 to 100000", number_in(1, 100_000))?;
    params.end()?;
    let store = &api.app.store;
    let now = store.now();
    let mut answer = Scaling {
        desired: 0,
        runnable: 0,
        oldest_age_seconds: None,
        provider_headroom: None,
        calls: 0,
        slots: 0,
        slots_from: "",
        drain_ms: drain.get(),
        pools: Vec::new(),
    };
    for pool in &pools {
        let demand = store.demand(&pool.name, task.map(|task| task.name.as_str())).await?;
        add(&mut answer, pool, task, demand, now);
    }
    let configured = api.app.settings.slots as u64;
    (answer.slots, answer.slots_from) = match slots {
        Some(slots) => (slots, "parameter"),
        None => match slots_of(&store.processes().await?, &pools, task, now) {
            Some(slots) => (slots, "workers"),
            None => (configured, "configuration"),
        },
    };
    answer.desired = sizing::processes(answer.calls, answer.slots);
    Ok(Json(answer))
}

/// The pools and the task that are asked about.
fn named<'r>(
    params: &mut Params,
    revision: &'r Revision,
) -> Result<(Vec<&'r Pool>, Option<&'r Task>), Problem> {
    let definitions = &revision.definitions;
    let pool = match params.text("pool")? {
        Some(name) => Some(definitions.pools.get(&name).map(|pool| &**pool).ok_or_else(Problem::not_found)?),
        None => None,
    };
    let task = match params.text("task")? {
        Some(name) => Some(revision.task(&name).map(|task| &**task).ok_or_else(Problem::not_found)?),
        None => None,
    };
    let pools = match pool.or(task.map(|task| &*task.model.pool)) {
        Some(pool) => vec![pool],
        None => definitions.pools.values().map(|pool| &**pool).collect(),
    };
    Ok((pools, task))
}

fn number_in(least: u64, most: u64) -> impl FnOnce(&str) -> Option<u64> {
    move |text| text.parse().ok().filter(|number| (least..=most).contains(number))
}

/// Adds a pool to the answer.
fn add(answer: &mut Scaling, pool: &Pool, task: Option<&Task>, found: PoolDemand, now: Timestamp) {
    let drain = Millis::new(answer.drain_ms);
    let demand = demand(task, &found, now.after(drain));
    let sizing = sizing::size(&demand, &pool.limits.limited().collect::<Vec<_>>(), drain);
    let waited =
        found.waiting.iter().map(|kind| now.since(kind.since).get() as f64 / 1_000.0).reduce(f64::max);
    answer.calls = answer.calls.saturating_add(sizing.calls);
    answer.runnable = answer.runnable.saturating_add(demand.runnable);
    answer.oldest_age_seconds = larger(answer.oldest_age_seconds, waited);
    answer.provider_headroom = larger(answer.provider_headroom, sizing.headroom(&demand));
    answer.pools.push(PoolScaling {
        pool: pool.name.clone(),
        calls: sizing.calls,
        bound_by: sizing.bound.name(),
        waiting: found.waiting.iter().map(|kind| kind.jobs).sum(),
        runnable: demand.runnable,
        in_flight: demand.in_flight,
        needed_calls: sizing.needed,
        allowed_calls: sizing.allowed,
        measured_calls: found.waiting.iter().map(|kind| kind.calls.calls).sum(),
        mean_ms: demand.attempt.mean.map(Millis::get),
        mean_tokens: demand.attempt.tokens(),
        cooldown_until: found.cooldown_until,
    });
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    [one, other].into_iter().flatten().reduce(f64::max)
}

/// What the ledger has, as sizing takes it.
fn demand(task: Option<&Task>, found: &PoolDemand, drained_at: Timestamp) -> Demand {
    let kinds: Vec<_> = found.waiting.iter().map(|kind| (kind.jobs, kind.calls)).collect();
    let in_flight = found.task_in_flight.map_or(found.in_flight, |calls| calls.min(found.in_flight));
    Demand {
        runnable: runnable(&found.waiting),
        in_flight,
        others_in_flight: found.in_flight - in_flight,
        attempt: sizing::expected(&kinds),
        task_limit: task.and_then(|task| task.max_in_flight),
        rests: found.cooldown_until.is_some_and(|until| until > drained_at),
    }
}

/// Due jobs, of each tenant no more than it may begin calls for.
fn runnable(waiting: &[WaitingJobs]) -> u64 {
    let mut of_tenants = BTreeMap::<i64, (u64, u64)>::new();
    for kind in waiting {
        let room = kind.max_in_flight.map_or(u64::MAX, |most| most.saturating_sub(kind.in_flight));
        of_tenants.entry(kind.tenant).or_insert((0, room)).0 += kind.jobs;
    }
    of_tenants.values().map(|(jobs, room)| jobs.min(room)).sum()
}

/// The slots of the smallest of the workers that would take such jobs.
fn slots_of(
    processes: &[ProcessRecord],
    pools: &[&Pool],
    task: Option<&Task>,
    now: Timestamp,
) -> Option<u64> {
    let takes = |process: &&ProcessRecord| {
        let report = &process.report;
        let serves = |pool: &&Pool| report.pools.as_ref().is_none_or(|pools| pools.contains(&pool.name));
        let runs = |task: &Task| report.tasks.as_ref().is_none_or(|tasks| tasks.contains(&task.name));
        report.slots > 0
            && !is_silent(process.heard_at, now)
            && pools.iter().any(serves)
            && task.is_none_or(runs)
    };
    processes.iter().filter(takes).map(|process| process.report.slots).min()
}
