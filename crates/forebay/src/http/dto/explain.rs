use forebay_core::job::State;
use forebay_core::time::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

/// What a job waits for.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(in crate::http) struct Explanation {
    #[schema(value_type = String)]
    pub(in crate::http) state: State,
    /// Everything that stands in its way at the moment; empty when nothing does.
    pub(in crate::http) waiting_for: Vec<Waiting>,
    /// Due jobs of the same tenant and key that go first; absent when the job is not in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) ahead: Option<u64>,
    /// When it is likely to be done; absent when nobody can know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) eta: Option<Eta>,
}

/// One thing that stands in the way.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(in crate::http) struct Waiting {
    /// `fair_share`, `pool_limit`, `cooldown`, `budget`, `in_flight_limit`, `retry_at`, `not_before`,
    /// `ordering_key`, `child`, `approval`, `callback`, `paused`, `no_worker` or `worker`.
    #[schema(value_type = String)]
    pub(in crate::http) kind: &'static str,
    /// The same for a person, with the numbers.
    pub(in crate::http) detail: String,
    /// Until when, where time alone decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(in crate::http) until: Option<Timestamp>,
}

/// A range of times.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub(in crate::http) struct Eta {
    /// Half of such jobs are done by then.
    #[schema(value_type = String, format = DateTime)]
    pub(in crate::http) p50: Timestamp,
    /// Nine of ten are.
    #[schema(value_type = String, format = DateTime)]
    pub(in crate::http) p90: Timestamp,
}
