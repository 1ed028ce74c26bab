use forebay_core::digest::Digest;
use forebay_core::id::{BatchId, JobId};
use forebay_core::job::State;
use forebay_core::time::{Millis, Timestamp};

use super::{Accepted, NewJob, NewReplay, ReplayRefused};

/// What the call of a batch asked for. The names are in the API and the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchKind {
    /// Jobs.
    Jobs,
    /// That failed jobs are done again.
    Replay,
}

impl BatchKind {
    /// The name in the API and the database.
    pub const fn name(self) -> &'static str {
        match self {
            BatchKind::Jobs => "jobs",
            BatchKind::Replay => "replay",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<BatchKind> {
        [BatchKind::Jobs, BatchKind::Replay].into_iter().find(|kind| kind.name() == name)
    }
}

/// A batch that is to be begun.
#[derive(Debug, Clone)]
pub struct NewBatch {
    /// Whose.
    pub tenant: i64,
    /// What its call asks for.
    pub kind: BatchKind,
    /// How many members the call has, or may have.
    pub size: u64,
    /// What makes a second call the same; without one, every call is new.
    pub idempotency_key: Option<String>,
    /// How long the key is kept at least.
    pub idempotency_ttl: Millis,
    /// What a repeated key is compared by.
    pub body_digest: Digest,
}

/// What a call's idempotency key stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// A batch that was begun just now.
    New(BatchId),
    /// The batch of the same call, made before.
    Known(BatchId),
    /// Another call. Nothing was written.
    KeyReused(BatchId),
}

/// A member on its way into a batch.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "most are jobs")]
pub enum Member {
    /// A job that is to be accepted.
    Job(NewJob),
    /// A failed job that is to be done again.
    Replay(NewReplay),
    /// One that was refused.
    Refused(MemberProblem),
}

/// Why a member of a batch became no job, as its own call would have been answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberProblem {
    /// The HTTP status.
    pub status: u16,
    /// The problem, JSON.
    pub problem: String,
    /// The failed job that was to be done again.
    pub replay_of: Option<JobId>,
}

/// What became of members that were to be placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placed {
    /// Each by itself, in order. Of those that were not accepted nothing was written.
    Each(Vec<Result<(), ReplayRefused>>),
    /// The batch takes no members any more: its call was completed by somebody else, or it was cancelled.
    Closed,
}

/// What is known of a batch's member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberRecord {
    /// Its place in the call.
    pub position: u64,
    /// Its job, or why there is none.
    pub outcome: Result<Accepted, MemberProblem>,
    /// The failed job that it does again.
    pub replay_of: Option<JobId>,
}

/// A batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRecord {
    /// Its place in the order in which batches were begun.
    pub seq: i64,
    /// Its id.
    pub id: BatchId,
    /// Whose.
    pub tenant: i64,
    /// What its call asked for.
    pub kind: BatchKind,
    /// How many members the call has, or may have.
    pub size: u64,
    /// Members whose job has not ended, and one more as long as the call takes members in.
    pub open: u64,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When its call had taken in all members.
    pub filled_at: Option<Timestamp>,
    /// When it was cancelled.
    pub cancelled_at: Option<Timestamp>,
    /// When the last of its jobs had ended.
    pub finished_at: Option<Timestamp>,
    /// Members that were taken in so far.
    pub placed: u64,
    /// Those of them that became no job.
    pub refused: u64,
    /// Its members' jobs by state, from their rows; states without one are left out.
    pub counts: Vec<(State, u64)>,
}

/// A page of batches, newest first.
#[derive(Debug, Clone, Default)]
pub struct BatchPage {
    /// The batches.
    pub batches: Vec<BatchRecord>,
    /// Where the next page begins, if there is one.
    pub next: Option<i64>,
}
