use forebay_core::definition::OnFailure;
use forebay_core::digest::Digest;
use forebay_core::id::{BatchId, JobId, KeyId};
use forebay_core::job::{Priority, State};
use forebay_core::time::{Millis, Timestamp};

use super::{Bytes, RateLeft, RateLimit, RateLimited};

/// A job that is to be accepted, with everything that is decided before the transaction.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Its id, made by [`crate::Signals::new_job_id`].
    pub id: JobId,
    /// Who owns it.
    pub tenant: i64,
    /// The key that it was submitted with; absent for jobs that no caller submitted.
    pub key_id: Option<KeyId>,
    /// What makes a second submission the same; without one, every submission is new.
    pub idempotency_key: Option<String>,
    /// How long the key is kept at least.
    pub idempotency_ttl: Millis,
    /// The digest of the request itself, without the task's revision: what a repeated key is compared by.
    pub body_digest: Digest,
    /// The digest of the request together with the task's: what the job is known by.
    pub request_digest: Digest,
    /// The task's name.
    pub task: String,
    /// The task's kind.
    pub kind: &'static str,
    /// The revision whose task, schema, prompt and policies it runs by.
    pub revision: u32,
    /// Its place among others.
    pub priority: Priority,
    /// Not to be claimed earlier.
    pub not_before: Option<Timestamp>,
    /// Until when machines may work on it.
    pub deadline: Timestamp,
    /// The stored request.
    pub input: Bytes,
    /// The document it reads. It must be the tenant's when the job is committed.
    pub document: Option<Digest>,
    /// One at a time, in accept order, per tenant, task and key.
    pub ordering_key: Option<String>,
    /// What it means for those behind it under its ordering key if it fails.
    pub on_failure: OnFailure,
    /// Carried by every event; the idempotency key where absent.
    pub correlation_id: Option<String>,
    /// The caller's own members, as JSON text.
    pub metadata: Option<String>,
    /// Versions of one document.
    pub series: Option<(String, i64)>,
    /// The failed job that this one does again.
    pub replay_of: Option<JobId>,
    /// The batch that it comes with.
    pub batch: Option<BatchId>,
    /// What it does first.
    pub first_step: NewStep,
    /// The most jobs that may be pending over all tenants.
    pub max_pending: u64,
    /// The most that the first call can cost, when the task refuses what the budget can't pay.
    pub refuse_above_budget: Option<forebay_core::money::Micros>,
    /// How fast jobs like it may be handed in; each of them once.
    pub rate_limits: Vec<RateLimit>,
}

/// A step that is planned and not run yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewStep {
    /// The kind of step, as [`forebay_core::plan`] names it.
    pub kind: &'static str,
    /// The pool that it needs capacity of.
    pub pool: String,
    /// The model that it calls.
    pub model: String,
    /// Which target of the task's model policy that is.
    pub target: u32,
    /// Tokens that the request is expected to have.
    pub input_tokens: u64,
    /// Tokens that the answer may have.
    pub output_tokens: u64,
}

/// A job is committed, now or before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Which one.
    pub job_id: JobId,
    /// Its state now.
    pub state: State,
    /// Whether it had been accepted before under the same key.
    pub replayed: bool,
    /// Where the limits are that it counted against; none for one that had been accepted before.
    pub rates: Vec<RateLeft>,
}

/// Why a job was not accepted. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcceptRefused {
    /// The key stands for another request.
    KeyReused {
        /// The job that it stands for.
        job_id: JobId,
    },
    /// The tenant has as many unfinished jobs as it may.
    TenantFull {
        /// How many it may have.
        limit: u64,
    },
    /// All tenants together have as many unfinished jobs as the system takes.
    SystemFull {
        /// How many it takes.
        limit: u64,
    },
    /// Jobs are handed in faster than they may.
    TooFast(RateLimited),
    /// The document is not, or no longer, the tenant's.
    NoDocument,
    /// There is no such tenant, or it is gone.
    NoTenant,
    /// The budget can't pay for the first call, and the task says to refuse then.
    Budget {
        /// What is left of it.
        left: forebay_core::money::Micros,
    },
}
