use forebay_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// How many processes with the role `work` are worth running, and how that came about.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Scaling {
    /// So many processes: calls, by slots, rounded up.
    pub(in crate::http) desired: u64,
    /// Due jobs that their tenants' limits let run. Of very many, a hundred thousand a pool are counted.
    pub(in crate::http) runnable: u64,
    /// How long the first of the due jobs has waited; absent where none waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) oldest_age_seconds: Option<f64>,
    /// The share of the calls that the limits sustain which is not under way, 0 to 1, in the pool that has the most left.
    /// Absent where no limit is known to bind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) provider_headroom: Option<f64>,
    /// Calls at a time that it is worth having workers for, over the pools.
    pub(in crate::http) calls: u64,
    /// Calls that a process holds at a time.
    pub(in crate::http) slots: u64,
    /// Where that is known from: `parameter`, `workers` (the least of those that are heard of), or `configuration` (of the
    /// process that answers, where no worker is heard of).
    #[schema(value_type = String, example = "workers")]
    pub(in crate::http) slots_from: &'static str,
    /// In how long the due jobs are to have run.
    pub(in crate::http) drain_ms: i64,
    /// Pool by pool, by name.
    pub(in crate::http) pools: Vec<PoolScaling>,
}

/// How many calls at a time a pool is worth having workers for.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct PoolScaling {
    pub(in crate::http) pool: String,
    /// The smaller of what is needed and what is allowed, and never fewer than are under way.
    pub(in crate::http) calls: u64,
    /// What decides: `nothing` (waits or runs), `backlog`, the name of a limit of the pool, `task_limit`, `cooldown`, or
    /// `unmeasured` (no call of what waits has ended yet: one call more than are under way).
    #[schema(value_type = String, example = "backlog")]
    pub(in crate::http) bound_by: &'static str,
    /// Due jobs.
    pub(in crate::http) waiting: u64,
    /// Those that their tenants' limits of calls at the same time let run.
    pub(in crate::http) runnable: u64,
    /// Calls under way; those of the task where it is asked about.
    pub(in crate::http) in_flight: u64,
    /// Calls at a time with which the due jobs will have run in time.
    pub(in crate::http) needed_calls: u64,
    /// Calls at a time that the limits sustain; absent where none is known to bind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) allowed_calls: Option<u64>,
    /// How many calls were measured.
    pub(in crate::http) measured_calls: u64,
    /// How long a call took on average; absent where none was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) mean_ms: Option<i64>,
    /// Tokens that it reserved on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) mean_tokens: Option<u64>,
    /// Not called until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(in crate::http) cooldown_until: Option<Timestamp>,
}
