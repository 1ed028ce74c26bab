//! What a job waits for, from stored records alone (I32).

use axum::Json;
use axum::extract::State;
use forebay_core::definition::PoolLimits;
use forebay_core::grant::Reservation;
use forebay_core::id::JobId;
use forebay_core::job::State as JobState;
use forebay_core::money::Price;
use forebay_core::time::{Millis, Timestamp};
use forebay_core::window::{Dimension, Full, Span, Window};
use forebay_store::record::{ProcessRecord, ProcessReport, Queue};

use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::dto::{Eta, Explanation, Waiting};
use crate::http::params::{NoParams, PathId};
use crate::http::problem::Problem;
use crate::presence::is_silent;

/// `GET /v1/jobs/{job_id}/explain`
pub(super) async fn explain(
    State(api): State<Api>,
    principal: Principal,
    PathId(job): PathId<JobId>,
    _: NoParams,
) -> Result<Json<Explanation>, Problem> {
    let store = &api.app.store;
    let queue = store.queue(principal.tenant, job).await?.ok_or_else(Problem::not_found)?;
    let review_due = match queue.job.job.state {
        JobState::ReviewRequired => {
            store.review(principal.tenant, job).await?.map(|review| review.entry.due_at)
        }
        _ => None,
    };
    let processes = match queue.job.job.state {
        JobState::Ready | JobState::RetryScheduled => store.processes().await?,
        _ => Vec::new(),
    };
    let now = store.now();
    let definitions = &api.app.revisions.active().definitions;
    let facts = Facts {
        now,
        limits: definitions.pools.get(&queue.pool.name).map(|pool| pool.limits),
        price: definitions.models.get(&queue.step.model).map(|model| model.price).unwrap_or_default(),
        task_limit: definitions.tasks.get(&queue.job.task).and_then(|task| task.max_in_flight),
        slots: u64::try_from(api.app.settings.slots).unwrap_or(u64::MAX),
        has_worker: processes.iter().any(|process| works_on(process, &queue, now)),
        review_due,
    };
    Ok(Json(facts.explain(&queue)))
}

/// What an explanation needs beside what the store knows.
struct Facts {
    now: Timestamp,
    /// Of the job's pool, by the active definitions; absent when they have no such pool.
    limits: Option<PoolLimits>,
    /// Of the current step's model.
    price: Price,
    /// Calls that the job's task may have at the same time, by the active definitions.
    task_limit: Option<u64>,
    /// Calls that this process makes at the same time.
    slots: u64,
    /// Whether a process that is heard of works on such jobs.
    has_worker: bool,
    review_due: Option<Timestamp>,
}

impl Facts {
    fn explain(&self, queue: &Queue) -> Explanation {
        let state = queue.job.job.state;
        let waiting_for = match state {
            JobState::Ready | JobState::RetryScheduled => self.in_queue(queue),
            JobState::Waiting => vec![outside(queue)],
            JobState::ReviewRequired => vec![self.person()],
            JobState::Running | JobState::Succeeded | JobState::FailedTerminal | JobState::Cancelled => {
                vec![]
            }
        };
        let queued = matches!(state, JobState::Ready | JobState::RetryScheduled);
        let eta = self.eta(queue, &waiting_for);
        Explanation { state, ahead: queued.then_some(queue.ahead), waiting_for, eta }
    }

    /// Everything that keeps a queued job from being claimed now, what lasts longest or is rarest first.
    fn in_queue(&self, queue: &Queue) -> Vec<Waiting> {
        let reasons = [
            self.paused(queue),
            self.no_worker(queue),
            behind_its_key(queue),
            self.too_large(queue),
            self.not_due(queue),
            self.cooldown(queue),
            self.budget(queue),
            self.pool_limit(queue),
            in_flight_limit("The tenant", queue.tenant_in_flight),
            in_flight_limit("The key that handed it in", queue.key_in_flight),
            in_flight_limit(
                &format!("The task `{}`", queue.job.task),
                (queue.task_in_flight, self.task_limit),
            ),
            fair_share(queue),
        ];
        let found: Vec<_> = reasons.into_iter().flatten().collect();
        if found.is_empty() {
            return vec![waiting(
                "worker",
                "Nothing stands in its way: the next free worker takes it.",
                None,
            )];
        }
        found
    }

    fn paused(&self, queue: &Queue) -> Option<Waiting> {
        let pool = &queue.pool.name;
        let detail = format!(
            "The active definitions have no pool `{pool}`, so nothing is called through it until a revision has it again."
        );
        self.limits.is_none().then(|| waiting("paused", detail, None))
    }

    fn no_worker(&self, queue: &Queue) -> Option<Waiting> {
        let (task, pool) = (&queue.job.task, &queue.pool.name);
        let detail = format!(
            "No process that is heard of claims jobs of the task `{task}` from pool `{pool}`: start one with the role `work` \
             that is not restricted to others."
        );
        (self.limits.is_some() && !self.has_worker).then(|| waiting("no_worker", detail, None))
    }

    /// A limit was lowered below what the call needs alone.
    fn too_large(&self, queue: &Queue) -> Option<Waiting> {
        let call = self.reservation(queue);
        let (dimension, limit) = self.limits?.rules_out(&call)?;
        let (tokens, pool, name) = (dimension.need(&call), &queue.pool.name, dimension.name());
        let detail = format!(
            "The call may need {tokens} tokens, and by the active definitions pool `{pool}` never has room for more than \
             {limit} ({name}). It goes on when the limit is raised; other jobs are not held up."
        );
        Some(waiting("pool_limit", detail, None))
    }

    fn not_due(&self, queue: &Queue) -> Option<Waiting> {
        let at = queue.job.job.available_at;
        if at <= self.now || (!is_retry(queue) && self.too_large(queue).is_some()) {
            return None;
        }
        let Some(failure) = queue.job.job.failure.as_ref().filter(|_| is_retry(queue)) else {
            return Some(waiting("not_before", format!("It may not start before {at}."), Some(at)));
        };
        let detail = format!("The last try failed ({}); the next one is due at {at}.", failure.class.name());
        Some(waiting("retry_at", detail, Some(at)))
    }

    fn cooldown(&self, queue: &Queue) -> Option<Waiting> {
        let until = queue.pool.cooldown_until.filter(|until| *until > self.now)?;
        let why = queue.pool.cooldown_class.map(|class| format!(" ({})", class.name())).unwrap_or_default();
        let pool = &queue.pool.name;
        let detail =
            format!("The provider asked to be left alone{why}: pool `{pool}` is not called until {until}.");
        Some(waiting("cooldown", detail, Some(until)))
    }

    fn budget(&self, queue: &Queue) -> Option<Waiting> {
        let needed = self.reservation(queue).micros;
        if queue.account.reserve(needed).is_some() {
            return None;
        }
        let left = queue.account.left().unwrap_or_default();
        let detail = format!(
            "The next call may cost up to {} micros, and the tenant's budget has {} left in this period. It goes on \
             when money is given back, the next period begins, or the budget is raised.",
            needed.0, left.0
        );
        Some(waiting("budget", detail, None))
    }

    fn pool_limit(&self, queue: &Queue) -> Option<Waiting> {
        let full = self.full(queue).filter(|_| self.too_large(queue).is_none())?;
        let (pool, name, used) = (&queue.pool.name, full.dimension.name(), &queue.pool.used);
        let detail = match full.until {
            Some(until) if full.is_paced => format!(
                "Pool `{pool}` spreads its calls over the minute, and the last few seconds have had their part of {name}; \
                 the next is this call's, or another's before it, at {until}."
            ),
            Some(until) => {
                format!("Pool `{pool}` has used up {name}; room for this call is there at {until}.")
            }
            None if full.dimension == Dimension::TokensInFlight => format!(
                "The calls under way in pool `{pool}` may need {} tokens together, and {name} has no room for the {} of this \
                 one; one must end first.",
                used.tokens_in_flight,
                self.reservation(queue).tokens()
            ),
            None => format!(
                "Pool `{pool}` has {} calls under way, as many as {name} allows; one must end first.",
                used.in_flight
            ),
        };
        Some(waiting("pool_limit", detail, full.until))
    }

    fn full(&self, queue: &Queue) -> Option<Full> {
        let mut window = Window::new(queue.pool.used.clone(), self.now);
        window.take(&self.reservation(queue), &self.limits?, self.now).err()
    }

    fn reservation(&self, queue: &Queue) -> Reservation {
        Reservation::of(queue.step.input_tokens, queue.step.output_tokens, &self.price)
    }

    fn person(&self) -> Waiting {
        let detail = match self.review_due {
            Some(due) if due < self.now => format!("A person owes a decision; it was due at {due}."),
            Some(due) => format!("A person owes a decision, due at {due}."),
            None => "A person owes a decision.".to_owned(),
        };
        waiting("approval", detail, self.review_due)
    }

    /// When the job's current step is likely to be done: what came before it in the queue at the rate that the
    /// limits allow, then a call as long as the recent ones. `None` where something else than time decides, or
    /// nothing was measured yet.
    fn eta(&self, queue: &Queue, waiting_for: &[Waiting]) -> Option<Eta> {
        let (half, most) =
            (percentile(&queue.recent_durations, 50)?, percentile(&queue.recent_durations, 90)?);
        let unknown = ["paused", "no_worker", "ordering_key", "budget", "child", "callback", "approval"];
        if queue.job.job.state.is_terminal()
            || waiting_for.iter().any(|reason| unknown.contains(&reason.kind))
        {
            return None;
        }
        if queue.job.job.state == JobState::Running {
            let at = |duration| queue.job.updated_at.after(duration).max(self.now);
            return Some(Eta { p50: at(half), p90: at(most) });
        }
        let starts = waiting_for.iter().filter_map(|reason| reason.until).fold(self.now, Ord::max);
        let at = |duration| starts.after(self.queueing(queue, duration)).after(duration);
        Some(Eta { p50: at(half), p90: at(most) })
    }

    /// How long the jobs ahead keep their tenant's share of the pool busy, if each call takes `duration`.
    fn queueing(&self, queue: &Queue, duration: Millis) -> Millis {
        let limits = self.limits.unwrap_or_default();
        let call = self.reservation(queue);
        let turns = u128::from(queue.lanes.max(1)) * u128::from(queue.keys.max(1));
        let calls = u128::from(queue.ahead) * turns;
        let by_limit = |dimension: Dimension| {
            let (span, limit) = (dimension.span()?, limits.of(dimension)?);
            // What a day has left may go at once; a minute is spread, or over before it matters.
            let left =
                if span == Span::Day { limit.saturating_sub(queue.pool.used.of(dimension)) } else { 0 };
            let needed = (calls * u128::from(dimension.need(&call))).saturating_sub(left.into());
            Some(needed * millis(span.length()) / u128::from(limit))
        };
        let room = |dimension: Dimension| {
            limits.of(dimension).map_or(u64::MAX, |limit| limit / dimension.need(&call).max(1))
        };
        let at_once = room(Dimension::InFlight).min(room(Dimension::TokensInFlight)).min(self.slots).max(1);
        let by_calls = calls * millis(duration) / u128::from(at_once);
        let longest = Dimension::ALL.into_iter().filter_map(by_limit).fold(by_calls, Ord::max);
        Millis::new(i64::try_from(longest).unwrap_or(i64::MAX))
    }
}

fn millis(duration: Millis) -> u128 {
    u128::from(duration.get().unsigned_abs())
}

fn percentile(sorted: &[i64], percent: usize) -> Option<Millis> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last * percent).div_ceil(100)).map(|millis| Millis::new(*millis))
}

fn waiting(kind: &'static str, detail: impl Into<String>, until: Option<Timestamp>) -> Waiting {
    Waiting { kind, detail: detail.into(), until }
}

/// Whether a process claims such jobs, as far as anybody has heard.
fn works_on(process: &ProcessRecord, queue: &Queue, now: Timestamp) -> bool {
    let includes =
        |some: &Option<Vec<String>>, one: &String| some.as_ref().is_none_or(|some| some.contains(one));
    let ProcessReport { roles, pools, tasks, .. } = &process.report;
    !is_silent(process.heard_at, now)
        && roles.iter().any(|role| role == "work")
        && includes(pools, &queue.pool.name)
        && includes(tasks, &queue.job.task)
}

fn is_retry(queue: &Queue) -> bool {
    queue.job.job.state == JobState::RetryScheduled
}

fn behind_its_key(queue: &Queue) -> Option<Waiting> {
    let key = queue.job.ordering_key.as_deref().filter(|_| queue.job.behind_key)?;
    let detail = match queue.kept_by {
        Some(failed) => format!(
            "The job {failed} failed and keeps the ordering key `{key}`: the task lets none behind it go on. It goes on when \
             that job was replayed with success, or its dead letter was resolved or dismissed."
        ),
        None => {
            format!("Another job of the ordering key `{key}` is not finished, and they run one at a time.")
        }
    };
    Some(waiting("ordering_key", detail, None))
}

fn in_flight_limit(whose: &str, (under_way, limit): (u64, Option<u64>)) -> Option<Waiting> {
    let limit = limit.filter(|limit| under_way >= *limit)?;
    let detail =
        format!("{whose} has {under_way} calls under way, of {limit} that it may have; one must end first.");
    Some(waiting("in_flight_limit", detail, None))
}

fn fair_share(queue: &Queue) -> Option<Waiting> {
    let first = match queue.ahead {
        0 => "It is the next job of its key".to_owned(),
        ahead => format!("{ahead} jobs of the same key go first"),
    };
    let others = |count: u64, what: &str| match count {
        0 | 1 => None,
        2 => Some(format!("1 other {what}")),
        count => Some(format!("{} other {what}s", count - 1)),
    };
    let turns = [others(queue.keys, "key"), others(queue.lanes, "tenant")];
    let turns: Vec<_> = turns.into_iter().flatten().collect();
    let detail = match (queue.ahead, &turns[..]) {
        (0, []) => return None,
        (_, []) => format!("{first} in pool `{}`.", queue.pool.name),
        (_, turns) => {
            format!(
                "{first}, and turns are taken with {} in pool `{}`.",
                turns.join(" and "),
                queue.pool.name
            )
        }
    };
    Some(waiting("fair_share", detail, None))
}

/// What a job in WAITING waits for.
fn outside(queue: &Queue) -> Waiting {
    match queue.job.job.open_children {
        0 => waiting("callback", "It waits for a word from outside.", None),
        children => waiting("child", format!("It waits for {children} jobs that it has started."), None),
    }
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
