use forebay_core::attempt::Usage;
use forebay_core::id::AttemptId;
use forebay_core::money::Micros;
use forebay_core::time::Timestamp;
use forebay_store::record::AttemptRecord;
use serde::Serialize;
use utoipa::ToSchema;

/// One claim of a step, and what came of it.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Attempt {
    /// Sent to the provider as `X-Forebay-Attempt`.
    #[schema(value_type = String)]
    attempt_id: AttemptId,
    generation: u32,
    step: u32,
    /// Within its step, deferrals and releases included.
    number: u32,
    fence: u64,
    pool: String,
    model: String,
    worker: String,
    build: String,
    /// `succeeded`, `failed_before_send`, `failed_after_send` or `unknown`; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_class: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    ended_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<TokenUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>)]
    cost_micros: Option<Micros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_request_id: Option<String>,
    /// The model that the provider says it used.
    #[serde(skip_serializing_if = "Option::is_none")]
    provider_model: Option<String>,
    grant: Grant,
    /// What came after the attempt was closed, as it was noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
}

/// Tokens, as the provider reported them.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct TokenUsage {
    input_tokens: u64,
    cached_input_tokens: u64,
    output_tokens: u64,
    reasoning_tokens: u64,
}

/// Capacity and money that were set aside, and what they were settled to.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Grant {
    reserved: Reserved,
    /// Absent while the attempt is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    settled: Option<Settled>,
}

/// What an attempt may use.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Reserved {
    tokens: u64,
    #[schema(value_type = i64)]
    cost_micros: Micros,
}

/// What an attempt has used.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Settled {
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    /// Billed for certain.
    #[schema(value_type = i64)]
    cost_micros: Micros,
    /// Perhaps billed.
    #[schema(value_type = i64)]
    uncertain_micros: Micros,
    /// The part of the cost that nobody had reserved.
    #[schema(value_type = i64)]
    overage_micros: Micros,
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens,
        }
    }
}

impl From<AttemptRecord> for Attempt {
    fn from(record: AttemptRecord) -> Self {
        let grant = Grant::from(&record);
        Self {
            attempt_id: record.id,
            generation: record.generation,
            step: record.step,
            number: record.number,
            fence: record.fence,
            pool: record.pool,
            model: record.model,
            worker: record.worker,
            build: record.build,
            outcome: record.outcome.map(|outcome| outcome.name()),
            failure_class: record.failure_class.map(|class| class.name()),
            message: record.message,
            started_at: record.claimed_at,
            ended_at: record.ended_at,
            usage: record.usage.map(TokenUsage::from),
            cost_micros: record.cost,
            provider_request_id: record.provider_request_id,
            provider_model: record.provider_model,
            grant,
            evidence: record.evidence,
        }
    }
}

impl From<&AttemptRecord> for Grant {
    fn from(record: &AttemptRecord) -> Self {
        let settled = record.outcome.map(|_| Settled {
            tokens: record.usage.map(|usage| usage.total()),
            cost_micros: record.cost.unwrap_or_default(),
            uncertain_micros: record.uncertain.unwrap_or_default(),
            overage_micros: record.overage.unwrap_or_default(),
        });
        Self { reserved: Reserved { tokens: record.reserved_tokens, cost_micros: record.reserved }, settled }
    }
}

/// All attempts of a job, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct AttemptList {
    pub(in crate::http) data: Vec<Attempt>,
}

/// One journaled unit of a job.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Step {
    pub(in crate::http) generation: u32,
    pub(in crate::http) step: u32,
    pub(in crate::http) kind: String,
    /// `pending`, `running`, `waiting`, `done`, or `ended` when the job ended before it was done.
    #[schema(value_type = String)]
    pub(in crate::http) state: &'static str,
    pub(in crate::http) attempts: u32,
    /// What it does, in a sentence.
    pub(in crate::http) summary: String,
    pub(in crate::http) pool: String,
    pub(in crate::http) model: String,
    #[schema(value_type = String, format = DateTime)]
    pub(in crate::http) planned_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(in crate::http) finished_at: Option<Timestamp>,
}

/// All steps of a job, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct StepList {
    pub(in crate::http) data: Vec<Step>,
}
