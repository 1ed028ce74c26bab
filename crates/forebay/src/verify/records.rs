//! What a store says, in plain records: rows as they are, without any of the types of the service. A further
//! backend fills the same records.

use std::fmt;

/// The sixteen bytes of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Id(pub [u8; 16]);

impl Id {
    /// The id as callers know it, such as `job_0199...`.
    pub fn named(&self, prefix: &str) -> String {
        format!("{prefix}_{self}")
    }

    /// Reads `PREFIX_` and 32 hex digits.
    pub fn parse(text: &str, prefix: &str) -> Option<Self> {
        let digits = text.strip_prefix(prefix)?.strip_prefix('_')?;
        if digits.len() != 32 || !digits.is_ascii() {
            return None;
        }
        let mut bytes = [0; 16];
        for (nth, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * nth..2 * nth + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Everything that a store says. Times are milliseconds since 1970, money is micro-units.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "one list for each table, named as the table is")]
pub struct Records {
    /// The life of the store since its last restore; a part of every event's id.
    pub incarnation: i64,
    /// How far the log is closed, where many write it at the same time. Absent where one does, so that its numbers
    /// have no gaps.
    pub epochs: Option<Epochs>,
    pub tenants: Vec<Tenant>,
    pub revisions: Vec<Revision>,
    pub jobs: Vec<Job>,
    pub inputs: Vec<Input>,
    pub keys: Vec<IdempotencyKey>,
    pub steps: Vec<Step>,
    pub attempts: Vec<Attempt>,
    pub grants: Vec<Grant>,
    pub calls: Vec<Calls>,
    pub kept_keys: Vec<KeptKey>,
    pub budgets: Vec<Budget>,
    pub usage_days: Vec<UsageDay>,
    /// How much retention has deleted.
    pub deleted: Deleted,
    /// What the accounts have of attempts that were deleted.
    pub deleted_money: Vec<Budget>,
    /// What the days have of them.
    pub deleted_usage: Vec<UsageDay>,
    /// Up to which place the events of a tenant were deleted.
    pub log_deleted: Vec<(i64, (i64, i64))>,
    pub results: Vec<JobResult>,
    pub reviews: Vec<Review>,
    pub events: Vec<Event>,
    pub audit: Vec<Audit>,
    pub letters: Vec<Letter>,
    pub batches: Vec<Batch>,
    pub members: Vec<Member>,
    /// The digests of what rows refer to and do not hold, with the job of the row.
    pub blobs: Vec<(Option<Id>, Vec<u8>)>,
    /// What is wrong with the files of documents, inputs and results, where somebody looked.
    pub blob_faults: Vec<BlobFault>,
}

/// A tenant with its counters. The one with id 0 counts for all of them.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Tenant {
    pub id: i64,
    pub name: String,
    pub max_pending_jobs: Option<i64>,
    pub budget_micros: Option<i64>,
    pub budget_period: String,
    pub pending_jobs: i64,
    pub in_flight: i64,
}

/// Definitions as they were written.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Revision {
    pub number: i64,
    pub source: String,
}

/// A job's row.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Job {
    pub id: Id,
    pub seq: i64,
    pub tenant: i64,
    pub task: String,
    pub kind: String,
    pub revision: i64,
    pub state: String,
    pub state_version: i64,
    pub fence: i64,
    pub generation: i64,
    pub step: i64,
    pub attempts: i64,
    pub deferrals: i64,
    pub available_at: i64,
    pub lease_until: Option<i64>,
    pub deadline: i64,
    pub failure_class: Option<String>,
    pub failure_message: Option<String>,
    pub pool: String,
    pub claimable: bool,
    pub key_first: bool,
    pub keeps_key: bool,
    pub ordering_key: Option<String>,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cost_micros: i64,
    pub uncertain_micros: i64,
    pub updated_at: i64,
    pub finished_at: Option<i64>,
}

/// What was asked for.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Input {
    pub job: Id,
    /// The stored request; absent when it is in a blob.
    pub body: Option<Vec<u8>>,
    pub blob: Option<Vec<u8>>,
    pub request_digest: Vec<u8>,
    pub document: Option<Vec<u8>>,
    pub idempotency_key: Option<String>,
    pub series_key: Option<String>,
    pub series_version: Option<i64>,
    pub not_before: Option<i64>,
    pub replay_of: Option<Id>,
    pub batch: Option<Id>,
    pub created_at: i64,
}

/// What a tenant's idempotency key stands for.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct IdempotencyKey {
    pub tenant: i64,
    pub key: String,
    pub job: Id,
    pub body_digest: Vec<u8>,
    pub expires_at: i64,
    /// How its job has ended, where that was deleted.
    pub ended: Option<String>,
}

/// A step with what it left behind.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Step {
    pub job: Id,
    pub generation: i64,
    pub number: i64,
    pub finished_at: Option<i64>,
    pub entry: Option<Vec<u8>>,
    pub has_entry: bool,
}

/// One claim of a step and what came of it.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Attempt {
    pub id: Id,
    pub job: Id,
    pub tenant: i64,
    pub generation: i64,
    pub step: i64,
    pub number: i64,
    pub fence: i64,
    pub worker: String,
    pub build: String,
    pub task: String,
    pub pool: String,
    pub model: String,
    pub claimed_at: i64,
    pub settled_at: Option<i64>,
    pub outcome: Option<String>,
    pub failure_class: Option<String>,
    pub message: Option<String>,
    pub reserved_input: i64,
    pub reserved_output: i64,
    pub reserved_micros: i64,
    pub price_input: i64,
    pub price_cached: Option<i64>,
    pub price_output: i64,
    pub budget_start: i64,
    pub input_tokens: Option<i64>,
    pub cached_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
    pub cost_micros: Option<i64>,
    pub uncertain_micros: Option<i64>,
    pub overage_micros: Option<i64>,
    pub evidence: Option<String>,
}

/// A permit for a call under way.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Grant {
    pub attempt: Id,
    pub job: Id,
    pub tenant: i64,
    pub pool: String,
    pub task: String,
    /// Of the key that handed the job in; 0 where none did.
    pub lane: i64,
    /// Reserved in both directions.
    pub tokens: i64,
    pub lease_until: i64,
}

/// The counter of a pool, a task, or a key by its lane.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Calls {
    pub kind: String,
    pub name: String,
    pub in_flight: i64,
}

/// An ordering key that a failed job keeps.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct KeptKey {
    pub tenant: i64,
    pub task: String,
    pub ordering_key: String,
    pub first_job: Id,
    pub latest_job: Id,
}

/// An account of money.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Budget {
    pub tenant: i64,
    pub period_start: i64,
    pub reserved: i64,
    pub spent: i64,
    pub uncertain: i64,
    pub overage: i64,
}

/// What was used on a day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct UsageDay {
    pub tenant: i64,
    pub day: i64,
    pub task: String,
    pub model: String,
    pub pool: String,
    pub attempts: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cost_micros: i64,
    pub uncertain_micros: i64,
}

/// A job's result.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct JobResult {
    pub job: Id,
    pub generation: i64,
    pub output: Option<Vec<u8>>,
    pub provenance: Vec<u8>,
    pub created_at: i64,
}

/// A decision that a person owes, or has made.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Review {
    pub job: Id,
    pub generation: i64,
    pub opened_at: i64,
    pub due_at: i64,
    /// What happens at the due time where nobody has decided: `none`, `approve` or `reject`.
    pub due_default: String,
    pub alerted_at: Option<i64>,
    /// Absent where there is none, or where it is in a blob.
    pub output: Option<Vec<u8>>,
    pub has_output: bool,
    pub decided_at: Option<i64>,
    pub decision: Option<String>,
    pub decided_by: Option<Id>,
    pub decided_version: Option<i64>,
    pub decided_seq: Option<i64>,
}

/// How much retention has deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs, reason = "one list for each table, named as the table is")]
pub struct Deleted {
    pub jobs: i64,
    pub attempts: i64,
    /// When the youngest of the jobs was accepted.
    pub accepted_until: i64,
}

/// The epochs of a log that many write at the same time.
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Epochs {
    pub current: i64,
    pub closed: i64,
}

/// A row of the log.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Event {
    pub seq: i64,
    /// 0 in a log that one process writes.
    pub epoch: i64,
    pub tenant: i64,
    pub job: Id,
    pub kind: String,
    pub state_version: i64,
    pub at: i64,
    pub body: Vec<u8>,
}

impl Event {
    /// Where it stands in the log.
    pub fn place(&self) -> (i64, i64) {
        (self.epoch, self.seq)
    }
}

/// A failed job that somebody has to deal with.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Letter {
    pub job: Id,
    pub tenant: i64,
    pub seq: i64,
    pub class: String,
    pub failed_at: i64,
    pub state: String,
}

/// Jobs that were handed over in one call.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Batch {
    pub id: Id,
    pub tenant: i64,
    pub kind: String,
    pub size: i64,
    pub open: i64,
    pub filled_at: Option<i64>,
    pub finished_at: Option<i64>,
}

/// What became of a member of a batch.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Member {
    pub batch: Id,
    pub position: i64,
    /// Absent when the member was refused.
    pub job: Option<Id>,
    pub replay_of: Option<Id>,
}

/// Who changed what.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "the columns of the table")]
pub struct Audit {
    pub seq: i64,
    pub at: i64,
    pub tenant: Option<i64>,
    pub actor: String,
    pub action: String,
    pub subject: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

/// A file that a row refers to and that can't stand for it.
#[derive(Debug, Clone, Default)]
#[allow(missing_docs, reason = "what is wrong, and for whom")]
pub struct BlobFault {
    pub job: Option<Id>,
    pub digest: String,
    pub problem: String,
}
