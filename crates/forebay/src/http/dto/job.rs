use forebay_core::id::{BatchId, JobId};
use forebay_core::job::{Failure, State};
use forebay_core::money::Micros;
use forebay_core::time::Timestamp;
use forebay_store::record::{Accepted, JobRecord};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::CURRENCY;

/// A job is committed.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct AcceptedJob {
    #[schema(value_type = String, example = "job_0199c0ffee0070008000000000000001")]
    job_id: JobId,
    /// Its state now; of a job that was accepted earlier, whatever it has come to.
    #[schema(value_type = String, example = "READY")]
    state: State,
    /// Where the job is looked at.
    status_url: String,
}

impl From<&Accepted> for AcceptedJob {
    fn from(accepted: &Accepted) -> Self {
        let status_url = job_url(accepted.job_id);
        Self { job_id: accepted.job_id, state: accepted.state, status_url }
    }
}

/// The address of a job.
pub(in crate::http) fn job_url(job: JobId) -> String {
    format!("/v1/jobs/{job}")
}

/// A job.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Job {
    #[schema(value_type = String)]
    pub(in crate::http) job_id: JobId,
    /// The task's name.
    task: String,
    /// The task's kind: `llm` or `extract`.
    kind: String,
    /// The revision of the definitions that the job runs by.
    revision: u32,
    #[schema(value_type = String, example = "RUNNING")]
    pub(in crate::http) state: State,
    /// Rises with every change of state; the `ETag`.
    state_version: u64,
    /// Why it failed, why a person must look, or why the last try failed while another one is scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<JobFailure>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// Until when machines may work on it.
    #[schema(value_type = String, format = DateTime)]
    deadline: Timestamp,
    /// When the next try is due, while one is scheduled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    retry_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Timestamp>,
    /// `high`, `normal` or `low`.
    priority: &'static str,
    /// 1, and one more for each rerun.
    generation: u32,
    attempts: AttemptCount,
    usage: JobUse,
    /// Where the result is when the job has succeeded.
    result_url: String,
    /// Where the decision is that a person owes.
    #[serde(skip_serializing_if = "Option::is_none")]
    review_url: Option<String>,
    /// The caller's own members.
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordering_key: Option<String>,
    /// Carried by every event of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<String>,
    /// The failed job that this one does again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    replay_of: Option<JobId>,
    /// The latest job that does this one's work again, where it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    replayed_by: Option<JobId>,
    /// The batch that it came with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    batch_id: Option<BatchId>,
}

/// Why a job is where it is.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct JobFailure {
    /// The failure class: one of a closed list.
    #[schema(value_type = String, example = "policy_failed")]
    class: &'static str,
    /// What happened, for a person.
    message: String,
    /// How many findings the review has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) findings_count: Option<u32>,
}

impl JobFailure {
    /// A failure, with the findings that a review has.
    pub(super) fn of(failure: Failure, findings_count: Option<u32>) -> Self {
        Self { class: failure.class.name(), message: failure.message, findings_count }
    }
}

/// Attempts of the current step; deferrals by a provider's limit do not count.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct AttemptCount {
    made: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    max: Option<u32>,
}

/// What the job's attempts used so far.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct JobUse {
    input_tokens: u64,
    output_tokens: u64,
    /// Billed for certain, in millionths of the currency's unit.
    #[schema(value_type = i64)]
    cost_micros: Micros,
    /// Perhaps billed: set aside until it is known.
    #[schema(value_type = i64)]
    uncertain_micros: Micros,
    currency: &'static str,
}

impl Job {
    /// A job as callers see it; `max_attempts` by its task.
    pub(in crate::http) fn new(record: JobRecord, max_attempts: Option<u32>) -> Self {
        let job = record.job;
        let url = job_url(record.id);
        let failure = job.failure.map(|failure| JobFailure::of(failure, None));
        Self {
            job_id: record.id,
            task: record.task,
            kind: record.kind,
            revision: record.revision,
            state: job.state,
            state_version: job.state_version,
            failure,
            created_at: record.created_at,
            updated_at: record.updated_at,
            deadline: job.deadline,
            retry_at: (job.state == State::RetryScheduled).then_some(job.available_at),
            finished_at: record.finished_at,
            priority: record.priority.name(),
            generation: job.generation,
            attempts: AttemptCount { made: job.attempts, max: max_attempts },
            usage: JobUse {
                input_tokens: record.usage.input_tokens,
                output_tokens: record.usage.output_tokens,
                cost_micros: record.usage.cost,
                uncertain_micros: record.usage.uncertain,
                currency: CURRENCY,
            },
            result_url: format!("{url}/result"),
            review_url: (job.state == State::ReviewRequired).then(|| format!("/v1/reviews/{}", record.id)),
            metadata: record.metadata.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default(),
            ordering_key: record.ordering_key,
            correlation_id: record.correlation_id,
            replay_of: record.replay_of,
            replayed_by: record.replayed_by,
            batch_id: record.batch,
        }
    }

    /// Says how many findings the review has.
    pub(in crate::http) fn with_findings(mut self, count: u32) -> Self {
        if let Some(failure) = &mut self.failure {
            failure.findings_count = Some(count);
        }
        self
    }

    /// The entity tag of this version.
    pub(in crate::http) fn etag(&self) -> String {
        format!("\"{}\"", self.state_version)
    }
}

/// A page of jobs, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct JobList {
    pub(in crate::http) data: Vec<Job>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) next_cursor: Option<String>,
}

/// A job's result. Only its shape: the stored bytes are sent as they are.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct JobResult {
    #[schema(value_type = String)]
    job_id: JobId,
    /// What the job was for; of an `extract` task, by the task's schema.
    output: Value,
    /// Model, provider, revision, digests of prompt and schema, policy, attempt, evidence.
    #[schema(value_type = Object)]
    provenance: Value,
}

/// What a job is asked for with. The document has its schema by hand; the body is read by its own parser.
#[derive(ToSchema)]
#[schema(as = Submit)]
pub(in crate::http) struct SubmitBody {}
