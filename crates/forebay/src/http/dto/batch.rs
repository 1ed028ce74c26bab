use forebay_core::id::{BatchId, JobId};
use forebay_core::time::Timestamp;
use forebay_store::record::{BatchRecord, MemberRecord};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::shapes;

/// Many jobs in one call. Only its shape.
#[derive(ToSchema)]
#[allow(dead_code, reason = "only its schema is of use")]
pub(in crate::http) struct BatchBody {
    /// The jobs, each as it would be submitted by itself, and with an `idempotency_key` of its own where it has one.
    #[schema(min_items = 1, max_items = 1000)]
    jobs: Vec<BatchJob>,
}

/// One job of a batch; its schema is that of a submission, and a key.
#[derive(ToSchema)]
pub(in crate::http) struct BatchJob {}

/// What became of the members of a call.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct BatchTaken {
    #[schema(value_type = String)]
    pub(in crate::http) batch_id: BatchId,
    pub(in crate::http) results: Vec<MemberResult>,
}

/// What became of one member of a call.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct MemberResult {
    /// Its place in the call.
    index: u64,
    /// As its own call would have been answered.
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    job_id: Option<JobId>,
    /// The job had been accepted before, under the member's own key.
    #[serde(skip_serializing_if = "Option::is_none")]
    replayed: Option<bool>,
    /// The failed job that it does again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    replay_of: Option<JobId>,
    /// Why there is no job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    problem: Option<Value>,
}

impl From<MemberRecord> for MemberResult {
    fn from(member: MemberRecord) -> Self {
        let (index, replay_of) = (member.position, member.replay_of);
        match member.outcome {
            Ok(accepted) => Self {
                index,
                status: 202,
                job_id: Some(accepted.job_id),
                replayed: accepted.replayed.then_some(true),
                replay_of,
                problem: None,
            },
            Err(refused) => Self {
                index,
                status: refused.status,
                job_id: None,
                replayed: None,
                replay_of,
                problem: serde_json::from_str(&refused.problem).ok(),
            },
        }
    }
}

impl MemberResult {
    /// A member that was not taken in before its batch was cancelled.
    pub(in crate::http) fn cancelled(index: u64, problem: Value) -> Self {
        Self { index, status: 409, job_id: None, replayed: None, replay_of: None, problem: Some(problem) }
    }
}

/// What came of a call that replays dead letters.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct ReplayTaken {
    /// The batch of the new jobs; absent where there was nothing to replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(in crate::http) batch_id: Option<BatchId>,
    /// How many new jobs there are.
    pub(in crate::http) replayed: u64,
    /// How many dead letters could not be replayed; `results` says why.
    pub(in crate::http) refused: u64,
    /// How many are left for the next call.
    pub(in crate::http) left: u64,
    /// Where the next call goes on; absent when none are left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) next_cursor: Option<String>,
    /// The limit that stopped the call before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub(in crate::http) stopped: Option<Value>,
    pub(in crate::http) results: Vec<MemberResult>,
}

/// A batch.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Batch {
    #[schema(value_type = String)]
    pub(in crate::http) batch_id: BatchId,
    /// `jobs`, or `replay` where dead letters were replayed.
    #[schema(value_type = String, example = "jobs")]
    kind: &'static str,
    /// How many members its call has; of a replay, how many it may have.
    size: u64,
    /// Members whose job has not ended, and one more as long as the call takes members in. A job in review has not
    /// ended.
    open: u64,
    /// Members that were taken in; fewer than `size` where the call broke off. Only where one batch is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    placed: Option<u64>,
    /// Members that became no job. Only where one batch is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<u64>,
    /// Jobs by state, from their rows. Only where one batch is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    counts: Option<Map<String, Value>>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    cancelled_at: Option<Timestamp>,
    /// When the last of its jobs had ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Timestamp>,
    /// Where its jobs are listed.
    jobs_url: String,
}

impl Batch {
    /// A batch without what its members' rows say.
    pub(in crate::http) fn brief(record: &BatchRecord) -> Self {
        Self {
            batch_id: record.id,
            kind: record.kind.name(),
            size: record.size,
            open: record.open,
            placed: None,
            refused: None,
            counts: None,
            created_at: record.created_at,
            cancelled_at: record.cancelled_at,
            finished_at: record.finished_at,
            jobs_url: format!("/v1/jobs?batch={}", record.id),
        }
    }

    /// A batch with what its members' rows say.
    pub(in crate::http) fn whole(record: &BatchRecord) -> Self {
        let counts = record.counts.iter().map(|(state, count)| (state.name().to_owned(), (*count).into()));
        Self {
            placed: Some(record.placed),
            refused: Some(record.refused),
            counts: Some(counts.collect()),
            ..Self::brief(record)
        }
    }
}

/// A page of batches, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct BatchList {
    pub(in crate::http) data: Vec<Batch>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) next_cursor: Option<String>,
}

/// Which dead letters are to be replayed, and how. Only its shape.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct ReplayManyBody {
    /// The dead letters of this task. With `name@revision` they are replayed by that revision, else as the active
    /// definitions have the task.
    #[schema(schema_with = shapes::task)]
    task: Option<String>,
    #[schema(schema_with = shapes::class, required = false)]
    class: Option<String>,
    /// Only of jobs that ran by this revision.
    #[schema(minimum = 1)]
    revision: Option<u32>,
    /// Only of this owner.
    #[schema(schema_with = shapes::text::<64>, required = false)]
    owner: Option<String>,
    /// Only those that nobody deals with.
    unowned: Option<bool>,
    /// Only of jobs that failed at this time or later.
    #[schema(value_type = Option<String>, format = DateTime)]
    after: Option<Timestamp>,
    /// Only of jobs that failed before this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    before: Option<Timestamp>,
    /// Only of jobs that were accepted at this time or later.
    #[schema(value_type = Option<String>, format = DateTime)]
    created_after: Option<Timestamp>,
    /// Only of jobs that were accepted before this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    created_before: Option<Timestamp>,
    /// Only with these members of `metadata`.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
    /// Why; kept in the audit.
    #[schema(schema_with = shapes::text::<1000>)]
    reason: Option<String>,
    /// Also those that were replayed before.
    again: Option<bool>,
    /// The most; 1,000 where absent.
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<u64>,
    /// The `next_cursor` of the call before.
    cursor: Option<String>,
}
