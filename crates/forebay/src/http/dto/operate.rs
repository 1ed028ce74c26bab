use forebay_core::definition::{CountTokens, Pacing, PoolLimits};
use forebay_core::money::Micros;
use forebay_core::time::Timestamp;
use forebay_core::window::{Dimension, Use};
use forebay_store::record::UsageRow;
use serde::Serialize;
use utoipa::ToSchema;

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
    input_tokens_per_minute: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_tokens_per_minute: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_per_minute: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests_per_day: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_per_day: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens_in_flight: Option<u64>,
    /// How many hundredths of the limits per minute and day are left unused.
    safety_margin_percent: u8,
    /// Whether calls are spread over the minute.
    #[schema(value_type = String, example = "even")]
    pacing: Pacing,
    /// What a call counts with once it is over: what was reserved, or what it used.
    #[schema(value_type = String, example = "reserved")]
    count_tokens: CountTokens,
}

impl From<PoolLimits> for PoolLimitsDto {
    fn from(limits: PoolLimits) -> Self {
        Self {
            requests_per_minute: limits.requests_per_minute,
            input_tokens_per_minute: limits.input_tokens_per_minute,
            output_tokens_per_minute: limits.output_tokens_per_minute,
            tokens_per_minute: limits.tokens_per_minute,
            requests_per_day: limits.requests_per_day,
            tokens_per_day: limits.tokens_per_day,
            max_in_flight: limits.max_in_flight,
            max_tokens_in_flight: limits.max_tokens_in_flight,
            safety_margin_percent: limits.safety_margin_percent,
            pacing: limits.pacing,
            count_tokens: limits.count_tokens,
        }
    }
}

/// What counts against a pool's limits at the moment: tokens as they were reserved, or as they were used where the pool
/// counts them so.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct PoolUse {
    /// Calls of the last minute.
    requests: u64,
    /// Tokens sent in the last minute.
    input_tokens: u64,
    /// Tokens generated in the last minute.
    output_tokens: u64,
    /// Both of them.
    tokens: u64,
    /// Calls of the last 24 hours.
    requests_per_day: u64,
    /// Tokens of the last 24 hours.
    tokens_per_day: u64,
    /// Calls under way.
    in_flight: u64,
    /// Tokens reserved for them.
    tokens_in_flight: u64,
}

impl From<&Use> for PoolUse {
    fn from(used: &Use) -> Self {
        Self {
            requests: used.of(Dimension::RequestsPerMinute),
            input_tokens: used.of(Dimension::InputTokensPerMinute),
            output_tokens: used.of(Dimension::OutputTokensPerMinute),
            tokens: used.of(Dimension::TokensPerMinute),
            requests_per_day: used.of(Dimension::RequestsPerDay),
            tokens_per_day: used.of(Dimension::TokensPerDay),
            in_flight: used.of(Dimension::InFlight),
            tokens_in_flight: used.of(Dimension::TokensInFlight),
        }
    }
}

/// All pools of the active definitions, by name.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct PoolList {
    pub(in crate::http) data: Vec<Pool>,
}

/// What was used. Rows are ordered by day, then by the names of tenant, task, model and pool.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Usage {
    /// The first day, UTC.
    #[schema(example = "2026-12-01")]
    from: String,
    /// The last day, included.
    to: String,
    currency: &'static str,
    data: Vec<UsageLine>,
    /// The sum of all rows.
    total: UsageSums,
}

/// What was used by what it is told apart by; what it is added up over is absent.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct UsageLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) tenant: Option<String>,
    /// UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) day: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) task: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) pool: Option<String>,
    #[serde(flatten)]
    pub(in crate::http) sums: UsageSums,
}

/// Attempts that were settled, and what they took.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(in crate::http) struct UsageSums {
    pub(in crate::http) attempts: u64,
    pub(in crate::http) input_tokens: u64,
    pub(in crate::http) output_tokens: u64,
    #[schema(value_type = i64)]
    pub(in crate::http) cost_micros: Micros,
    /// What may have been billed, and nobody knows.
    #[schema(value_type = i64)]
    pub(in crate::http) uncertain_micros: Micros,
}

impl UsageSums {
    /// Adds others.
    pub(in crate::http) fn add(&mut self, other: &UsageSums) {
        self.attempts = self.attempts.saturating_add(other.attempts);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost_micros = self.cost_micros.plus(other.cost_micros);
        self.uncertain_micros = self.uncertain_micros.plus(other.uncertain_micros);
    }
}

impl From<UsageRow> for UsageLine {
    fn from(row: UsageRow) -> Self {
        Self {
            tenant: row.key.tenant,
            day: row.key.day.map(day),
            task: row.key.task,
            model: row.key.model,
            pool: row.key.pool,
            sums: UsageSums {
                attempts: row.attempts,
                input_tokens: row.input_tokens,
                output_tokens: row.output_tokens,
                cost_micros: row.cost,
                uncertain_micros: row.uncertain,
            },
        }
    }
}

/// The day of a time, UTC.
pub(in crate::http) fn day(at: Timestamp) -> String {
    at.to_string().chars().take_while(|char| *char != 'T').collect()
}
