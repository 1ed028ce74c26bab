//! Why a job is not taken in, in words that name the member and the fix.

use forebay_core::id::{BatchId, JobId};
use forebay_core::job::State;
use forebay_core::money::Micros;
use forebay_core::request::{BatchFault, JsonFault, MemberCode, MemberFault, TaskRef};
use forebay_store::StoreError;
use forebay_store::record::{AcceptRefused, RateLimited, ReplayRefused};

/// Why a job was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The body is not JSON as it is read here.
    #[error(transparent)]
    Json(#[from] JsonFault),
    /// Members are wrong, missing or unknown.
    #[error("{} members of the request are wrong", .0.len())]
    Members(Vec<MemberFault>),
    /// There is no such task, or not in that revision.
    #[error("there is no task `{task}`: GET /v1/tasks lists the tasks")]
    UnknownTask {
        /// As it was asked for.
        task: String,
        /// Where in the body.
        pointer: String,
    },
    /// The idempotency key stands for another request.
    #[error("the idempotency key was used for another request before, which is {job_id}: use a new key")]
    KeyReused {
        /// The job that it stands for.
        job_id: JobId,
    },
    /// The tenant has as many unfinished jobs as it may.
    #[error(
        "the tenant has {limit} unfinished jobs, as many as it may (max_pending_jobs): try again when some have ended"
    )]
    TenantFull {
        /// How many it may have.
        limit: u64,
    },
    /// The whole system has as many unfinished jobs as it takes.
    #[error(
        "the system has {limit} unfinished jobs, as many as it takes (max_pending_jobs): try again later"
    )]
    SystemFull {
        /// How many it takes.
        limit: u64,
    },
    /// Jobs are handed in faster than they may.
    #[error(
        "more jobs are handed in than this {} may in a minute: wait as `Retry-After` says, and send fewer at a time",
        .0.counted.name()
    )]
    TooFast(RateLimited),
    /// The budget can't pay for it.
    #[error("the tenant's budget has {} micro-units left, too little for the first call of this job", .left.0)]
    Budget {
        /// What is left.
        left: Micros,
    },
    /// The caller's tenant is gone since its key was looked at.
    #[error("the key's tenant is not there any more")]
    NoTenant,
    /// There is no such job to be done again.
    #[error("the tenant has no such job")]
    NoJob,
    /// The job did not fail.
    #[error("the job is {}, and only one that is FAILED_TERMINAL can be replayed", .state.name())]
    NotFailed {
        /// Where it is.
        state: State,
    },
    /// Another job does the work again, or has done it.
    #[error("{by} does the job's work again or has done it: say `\"again\": true` to have it done once more")]
    Replayed {
        /// That job.
        by: JobId,
    },
    /// The idempotency key of a call stands for another one.
    #[error("the idempotency key was used for another call before, which made {batch}: use a new key")]
    BatchKeyReused {
        /// The batch that it stands for.
        batch: BatchId,
    },
    /// The store failed in the middle of a batch.
    #[error(
        "{failure}; {batch} has what was taken in before that: the same call under the same key goes on from there"
    )]
    BatchCut {
        /// The batch.
        batch: BatchId,
        /// How it failed.
        failure: StoreError,
    },
    /// Definitions that this build can't read.
    #[error("the job can't be prepared: {0}")]
    Unreadable(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Vec<MemberFault>> for Refused {
    fn from(faults: Vec<MemberFault>) -> Self {
        Refused::Members(faults)
    }
}

impl From<AcceptRefused> for Refused {
    fn from(refused: AcceptRefused) -> Self {
        match refused {
            AcceptRefused::KeyReused { job_id } => Refused::KeyReused { job_id },
            AcceptRefused::TenantFull { limit } => Refused::TenantFull { limit },
            AcceptRefused::SystemFull { limit } => Refused::SystemFull { limit },
            AcceptRefused::TooFast(limited) => Refused::TooFast(limited),
            AcceptRefused::Budget { left } => Refused::Budget { left },
            AcceptRefused::NoDocument => Refused::no_document(),
            AcceptRefused::NoTenant => Refused::NoTenant,
        }
    }
}

impl From<ReplayRefused> for Refused {
    fn from(refused: ReplayRefused) -> Self {
        match refused {
            ReplayRefused::NoJob => Refused::NoJob,
            ReplayRefused::NotFailed { state } => Refused::NotFailed { state },
            ReplayRefused::Replayed { by } => Refused::Replayed { by },
            ReplayRefused::NotAccepted(refused) => refused.into(),
        }
    }
}

impl From<BatchFault> for Refused {
    fn from(fault: BatchFault) -> Self {
        match fault {
            BatchFault::Json(fault) => Refused::Json(fault),
            BatchFault::Members(faults) => Refused::Members(faults),
        }
    }
}

impl Refused {
    /// The refusal of a member that stands at `pointer` in the body of its call.
    pub(super) fn under(mut self, pointer: &str) -> Self {
        match &mut self {
            Refused::Json(fault) => {
                let inside = fault.pointer.take().unwrap_or_default();
                fault.pointer = Some(format!("{pointer}{inside}"));
            }
            Refused::Members(faults) => {
                for fault in faults {
                    fault.pointer.insert_str(0, pointer);
                }
            }
            Refused::UnknownTask { pointer: place, .. } => place.insert_str(0, pointer),
            _ => {}
        }
        self
    }

    /// One member is wrong.
    pub(super) fn member(pointer: String, message: impl Into<String>) -> Self {
        let code = MemberCode::InvalidMember;
        Refused::Members(vec![MemberFault { code, pointer, message: message.into() }])
    }

    pub(super) fn unknown_task(task: &TaskRef) -> Self {
        Refused::UnknownTask { task: task.to_string(), pointer: "/task".to_owned() }
    }

    /// The same words whether it never was, or is another tenant's (I27).
    pub(super) fn no_document() -> Self {
        let message = "the tenant has no such document: upload it with POST /v1/documents first";
        Refused::member("/input/document".to_owned(), message)
    }
}
