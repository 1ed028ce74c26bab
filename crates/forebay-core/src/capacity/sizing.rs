//! How many calls at a time a pool is worth having workers for: as many as its backlog needs, and no more than its limits
//! sustain.
//!
//! | figure | formula |
//! |---|---|
//! | needed | calls under way + min(runnable jobs, ⌈runnable jobs × mean time of a call / the time to drain them in⌉) |
//! | allowed | by Little's law, calls a second that the limits allow × mean time, the least of all limits |
//! | calls | the smaller of the two, and never fewer than are under way |
//!
//! Everything in it was measured. Where no call was, nobody knows how long one takes: then it is one call more than are
//! under way, and the next answer has figures.

use super::planner::{self, Attempt, Fault, Load, MOST_OF_AN_ATTEMPT, Room};
use crate::time::Millis;
use crate::window::{Dimension, Span};

/// Calls that were measured, added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sample {
    /// How many.
    pub calls: u64,
    /// How long they took together, in milliseconds.
    pub millis: u64,
    /// Tokens that were reserved for what they sent.
    pub input_tokens: u64,
    /// Tokens that were reserved for their answers.
    pub output_tokens: u64,
}

/// What a call takes on average, each kind of job counting as often as it waits; nothing is known where no call was
/// measured. Kinds of which none was are taken to be like the others.
pub fn expected(kinds: &[(u64, Sample)]) -> Attempt {
    let measured: Vec<_> = kinds.iter().filter(|(jobs, sample)| *jobs > 0 && sample.calls > 0).collect();
    let jobs: u128 = measured.iter().map(|(jobs, _)| u128::from(*jobs)).sum();
    let mean = |of: fn(&Sample) -> u64| {
        let shares = measured.iter().map(|(jobs, sample)| {
            u128::from(*jobs).saturating_mul(of(sample).into()) / u128::from(sample.calls)
        });
        let mean = shares.fold(0, u128::saturating_add).checked_div(jobs)?;
        Some(u64::try_from(mean).unwrap_or(u64::MAX).clamp(1, MOST_OF_AN_ATTEMPT))
    };
    Attempt {
        mean: mean(|sample| sample.millis).map(|mean| Millis::new(i64::try_from(mean).unwrap_or(i64::MAX))),
        input_tokens: mean(|sample| sample.input_tokens),
        output_tokens: mean(|sample| sample.output_tokens),
        ..Attempt::default()
    }
}

/// What there is to do in a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Demand {
    /// Due jobs that their tenants' limits let run.
    pub runnable: u64,
    /// Calls under way that are asked about.
    pub in_flight: u64,
    /// Other calls under way in the pool: they use its limits, too.
    pub others_in_flight: u64,
    /// What a call takes, as far as it was measured.
    pub attempt: Attempt,
    /// Calls at the same time that the task may have, where it is asked about and has a limit.
    pub task_limit: Option<u64>,
    /// Whether the pool rests for longer than the time in which the jobs are to be drained.
    pub rests: bool,
}

/// What decides how many calls it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Nothing waits and nothing runs.
    Nothing,
    /// What waits: the limits would allow more.
    Backlog,
    /// A limit of the pool.
    Limit(Dimension),
    /// The task's own limit of calls at the same time.
    TaskLimit,
    /// The provider is not called for longer than the jobs are to wait.
    Cooldown,
    /// No call was measured yet.
    Unmeasured,
}

impl Bound {
    /// The name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Bound::Nothing => "nothing",
            Bound::Backlog => "backlog",
            Bound::Limit(dimension) => dimension.name(),
            Bound::TaskLimit => "task_limit",
            Bound::Cooldown => "cooldown",
            Bound::Unmeasured => "unmeasured",
        }
    }
}

/// How many calls at a time, and how that came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizing {
    /// That the backlog needs, those under way included.
    pub needed: u64,
    /// That the limits sustain; `None` where none is known to.
    pub allowed: Option<u64>,
    /// That it is worth having workers for.
    pub calls: u64,
    /// What decided.
    pub bound: Bound,
}

impl Sizing {
    /// The share of the allowed calls that is not under way, 0 to 1; `None` where no limit is known.
    pub fn headroom(&self, demand: &Demand) -> Option<f64> {
        let allowed = self.allowed?;
        let free = allowed.saturating_sub(demand.in_flight);
        Some(if allowed == 0 { 0.0 } else { free as f64 / allowed as f64 })
    }
}

/// Sizes a pool whose jobs are to be drained within a time.
pub fn size(demand: &Demand, limits: &[(Dimension, u64)], drain: Millis) -> Sizing {
    let more = match demand.attempt.mean {
        Some(mean) => demand.runnable.min(calls_to_drain(demand.runnable, mean, drain)),
        None => demand.runnable.min(1),
    };
    let needed = demand.in_flight.saturating_add(more);
    let least = sustained(demand, limits);
    let allowed = least.map(|(_, calls)| calls);
    let (calls, bound) = match least {
        Some((bound, allowed)) if allowed < needed => (allowed.max(demand.in_flight), bound),
        _ if needed == 0 => (0, Bound::Nothing),
        _ if demand.attempt.mean.is_none() && demand.runnable > 0 => (needed, Bound::Unmeasured),
        _ => (needed, Bound::Backlog),
    };
    Sizing { needed, allowed, calls, bound }
}

/// Processes for so many calls, each with so many slots.
pub fn processes(calls: u64, slots: u64) -> u64 {
    calls.div_ceil(slots.max(1))
}

/// By Little's law: so many calls at a time are done with all jobs when the time is over.
fn calls_to_drain(jobs: u64, mean: Millis, drain: Millis) -> u64 {
    let part = |span: Millis| u128::from(span.get().max(1).unsigned_abs());
    let calls = u128::from(jobs).saturating_mul(part(mean)).div_ceil(part(drain));
    u64::try_from(calls).unwrap_or(u64::MAX)
}

/// The calls at a time that limits sustain, and which of them allows the least.
fn sustained(demand: &Demand, limits: &[(Dimension, u64)]) -> Option<(Bound, u64)> {
    let of_pool = least_of_pool(&demand.attempt, limits)
        .map(|(dimension, calls)| (Bound::Limit(dimension), calls.saturating_sub(demand.others_in_flight)));
    let of_task = demand.task_limit.map(|limit| (Bound::TaskLimit, limit));
    let resting = demand.rests.then_some((Bound::Cooldown, demand.in_flight));
    [resting, of_pool, of_task].into_iter().flatten().min_by_key(|(_, calls)| *calls)
}

/// That of the pool's limits alone. A day's limit is left out: it binds over a day and not at the moment.
fn least_of_pool(attempt: &Attempt, limits: &[(Dimension, u64)]) -> Option<(Dimension, u64)> {
    let now = limits.iter().copied().filter(|(dimension, _)| dimension.span() != Some(Span::Day));
    if attempt.mean.is_none() {
        return now.into_iter().find(|(dimension, _)| *dimension == Dimension::InFlight);
    }
    let load = Load { attempt: *attempt, ..Load::default() };
    match planner::plan(&load, &now.collect::<Vec<_>>(), &Room::default()) {
        Ok(plan) => Some((plan.binding()?.dimension, plan.workers?.of_use?)),
        Err(faults) => faults.into_iter().find_map(|fault| match fault {
            Fault::NeverFits { dimension, .. } => Some((dimension, 0)),
            Fault::NoTokens(..) | Fault::NoMean(_) | Fault::OutOfRange { .. } => None,
        }),
    }
}

#[cfg(test)]
mod tests;
