use forebay_core::attempt::{Outcome, Usage};
use forebay_core::digest::Digest;
use forebay_core::failure::FailureClass;
use forebay_core::fairness::Weight;
use forebay_core::grant::Account;
use forebay_core::id::{AttemptId, BatchId, JobId};
use forebay_core::job::{Job, Priority, State};
use forebay_core::money::Micros;
use forebay_core::time::Timestamp;
use forebay_core::window::Use;

use super::Bytes;

/// A job as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRecord {
    /// Its id.
    pub id: JobId,
    /// Its place in accept order.
    pub seq: i64,
    /// Who owns it.
    pub tenant: i64,
    /// The task's name.
    pub task: String,
    /// The task's kind.
    pub kind: String,
    /// The revision it runs by.
    pub revision: u32,
    /// What the rules know of it.
    pub job: Job,
    /// Its priority.
    pub priority: Priority,
    /// The pool of its current step.
    pub pool: String,
    /// One at a time per this key.
    pub ordering_key: Option<String>,
    /// Whether another job of its ordering key goes first, or one that failed keeps the key.
    pub behind_key: bool,
    /// Whether it keeps its ordering key if it fails.
    pub keeps_key: bool,
    /// What its attempts used so far.
    pub usage: JobUsage,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// The caller's own members, as JSON text.
    pub metadata: Option<String>,
    /// Carried by its events.
    pub correlation_id: Option<String>,
    /// The failed job that it does again.
    pub replay_of: Option<JobId>,
    /// The digest of its request together with its task.
    pub request_digest: Digest,
    /// The document it reads.
    pub document: Option<Digest>,
    /// The batch that it came with.
    pub batch: Option<BatchId>,
    /// The latest job that does its work again, where it failed.
    pub replayed_by: Option<JobId>,
}

impl JobRecord {
    /// The record with what another attempt used.
    #[must_use]
    pub fn with_use_of(mut self, attempt: &JobUsage) -> Self {
        let usage = &mut self.usage;
        usage.input_tokens = usage.input_tokens.saturating_add(attempt.input_tokens);
        usage.output_tokens = usage.output_tokens.saturating_add(attempt.output_tokens);
        usage.cost = usage.cost.plus(attempt.cost);
        usage.uncertain = usage.uncertain.plus(attempt.uncertain);
        self
    }
}

/// What a job's attempts used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JobUsage {
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens generated.
    pub output_tokens: u64,
    /// Billed for certain.
    pub cost: Micros,
    /// Perhaps billed.
    pub uncertain: Micros,
}

/// Which jobs to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobQuery {
    /// Only in this state.
    pub state: Option<State>,
    /// Only of this task.
    pub task: Option<String>,
    /// Only members of this batch.
    pub batch: Option<BatchId>,
    /// Only accepted at this time or later.
    pub created_after: Option<Timestamp>,
    /// Only with these members of metadata.
    pub metadata: Vec<(String, String)>,
    /// Only accepted before the job with this sequence number: where the page before ended.
    pub before: Option<i64>,
    /// The most jobs on the page.
    pub limit: usize,
}

/// A page of jobs.
#[derive(Debug, Clone, Default)]
pub struct JobPage {
    /// The jobs, newest first.
    pub jobs: Vec<JobRecord>,
    /// Where the next page begins, if there is one.
    pub next: Option<i64>,
}

/// What came of a request to cancel.
#[derive(Debug, Clone)]
pub enum Cancelled {
    /// It is cancelled, now or before.
    Done(Box<JobRecord>),
    /// It had ended otherwise.
    EndedOtherwise(Box<JobRecord>),
}

/// A job's output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultRecord {
    /// JSON.
    pub output: Bytes,
    /// JSON.
    pub provenance: Vec<u8>,
}

/// One claim and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the API")]
pub struct AttemptRecord {
    pub id: AttemptId,
    pub generation: u32,
    pub step: u32,
    pub number: u32,
    pub fence: u64,
    pub worker: String,
    pub build: String,
    pub pool: String,
    pub model: String,
    pub claimed_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    pub outcome: Option<Outcome>,
    pub failure_class: Option<FailureClass>,
    pub message: Option<String>,
    pub usage: Option<Usage>,
    pub reserved_tokens: u64,
    pub reserved: Micros,
    pub cost: Option<Micros>,
    pub uncertain: Option<Micros>,
    pub overage: Option<Micros>,
    pub provider_request_id: Option<String>,
    pub provider_model: Option<String>,
    pub evidence: Option<String>,
}

/// One step of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the API")]
pub struct StepRecord {
    pub generation: u32,
    pub number: u32,
    pub kind: String,
    pub pool: String,
    pub model: String,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub planned_at: Timestamp,
    pub finished_at: Option<Timestamp>,
    pub attempts: u32,
    pub entry: Option<Bytes>,
}

/// Where a job stands in its lane, for `explain`.
#[derive(Debug, Clone)]
pub struct Queue {
    /// The job.
    pub job: JobRecord,
    /// Due jobs of its tenant and key in its pool that go first.
    pub ahead: u64,
    /// Tenants that have due jobs in the pool, its own included.
    pub lanes: u64,
    /// The job that failed and keeps the ordering key that it waits for.
    pub kept_by: Option<JobId>,
    /// Keys of its tenant that do; jobs that no key has handed in count as those of one.
    pub keys: u64,
    /// What its current step needs.
    pub step: StepRecord,
    /// Its pool's use.
    pub pool: PoolStatus,
    /// Its tenant's calls under way, and how many there may be.
    pub tenant_in_flight: (u64, Option<u64>),
    /// Those of the jobs that its key has handed in, and how many there may be.
    pub key_in_flight: (u64, Option<u64>),
    /// Those of its task.
    pub task_in_flight: u64,
    /// Its tenant's account in the current period.
    pub account: Account,
    /// How long attempts of its task took lately, in milliseconds, shortest first.
    pub recent_durations: Vec<i64>,
}

/// A pool's use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolStatus {
    /// Its name.
    pub name: String,
    /// What it has used of its limits.
    pub used: Use,
    /// Not called until then.
    pub cooldown_until: Option<Timestamp>,
    /// Why.
    pub cooldown_class: Option<FailureClass>,
    /// Due jobs that wait for it.
    pub waiting: u64,
}

/// What the tenants with due jobs in a pool were handed of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shares {
    /// The pool's name.
    pub pool: String,
    /// The largest cost of a job lately: tokens of its input, as estimated, and of its output, as limited.
    pub largest: u64,
    /// By tenant; the first of them where they are very many.
    pub lanes: Vec<LaneShare>,
}

/// What one tenant was handed of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneShare {
    /// Whose it is.
    pub tenant: i64,
    /// Its share of the pool, beside other tenants.
    pub weight: Weight,
    /// The cost of all that it was ever handed.
    pub served: u64,
    /// When it last had nothing that it could take: no due job, or a limit of its own.
    pub yielded_at: Timestamp,
}
