use forebay_core::definition::PoolLimits;
use forebay_core::money::Micros;
use forebay_core::time::Timestamp;
use forebay_store::record::UsageRow;
use serde::Serialize;
use utoipa::ToSchema;

use super::CURRENCY;

/// The server takes requests.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Ready {
    #[schema(value_type = String, example = "ok")]
    pub(in crate::http) status: &'static str,
}

/// A pool: its limits, and its use.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Pool {
    pub(in crate::http) name: String,
    pub(in crate::http) provider: String,
    pub(in crate::http) limits: PoolLimitsDto,
    pub(in crate::http) r#use: PoolUse,
    /// Not called until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(in crate::http) cooldown_until: Option<Timestamp>,
    /// The failure class that led to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(in crate::http) cooldown_class: Option<&'static str>,
    /// Due jobs of all tenants that wait for it.
    pub(in crate::http) waiting: u64,
    /// Whether the process that answers can read the provider's key; absent where none is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) credential_found: Option<bool>,
    /// Why it can't.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) credential_problem: Option<String>,
}

/// What a pool may take; an absent limit does not limit.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolLimits)]
pub(in crate::http) struct PoolLimitsDto {
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_per_minute: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_per_minute: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_in_flight: Option<u64>,
}

impl From<PoolLimits> for PoolLimitsDto {
    fn from(limits: PoolLimits) -> Self {
        Self {
            requests_per_minute: limits.requests_per_minute,
            tokens_per_minute: limits.tokens_per_minute,
            max_in_flight: limits.max_in_flight,
        }
    }
}

/// What counts against a pool's limits at the moment.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct PoolUse {
    /// In the last minute.
    pub(in crate::http) requests: u64,
    /// Reserved in the last minute.
    pub(in crate::http) tokens: u64,
    /// Calls under way.
    pub(in crate::http) in_flight: u64,
}

/// All pools of the active definitions, by name.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct PoolList {
    pub(in crate::http) data: Vec<Pool>,
}

/// What the tenant used, by day, task, model and pool.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Usage {
    /// The first day, UTC.
    #[schema(example = "2026-12-01")]
    pub(in crate::http) from: String,
    /// The last day, included.
    pub(in crate::http) to: String,
    pub(in crate::http) currency: &'static str,
    pub(in crate::http) data: Vec<UsageDay>,
}

impl Usage {
    /// The rows of some days.
    pub(in crate::http) fn new(from: Timestamp, to: Timestamp, rows: Vec<UsageRow>) -> Self {
        let data = rows.into_iter().map(UsageDay::from).collect();
        Self { from: day(from), to: day(to), currency: CURRENCY, data }
    }
}

/// What was used on a day for a task with a model of a pool.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct UsageDay {
    /// UTC.
    day: String,
    task: String,
    model: String,
    pool: String,
    attempts: u64,
    input_tokens: u64,
    output_tokens: u64,
    #[schema(value_type = i64)]
    cost_micros: Micros,
    #[schema(value_type = i64)]
    uncertain_micros: Micros,
}

impl From<UsageRow> for UsageDay {
    fn from(row: UsageRow) -> Self {
        Self {
            day: day(row.day),
            task: row.task,
            model: row.model,
            pool: row.pool,
            attempts: row.attempts,
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            cost_micros: row.cost,
            uncertain_micros: row.uncertain,
        }
    }
}

/// The day of a time, UTC.
fn day(at: Timestamp) -> String {
    at.to_string().chars().take_while(|char| *char != 'T').collect()
}
