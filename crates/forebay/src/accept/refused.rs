//! Why a job is not taken in, in words that name the member and the fix.

use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::money::Micros;
use forebay_core::request::{JsonFault, MemberCode, MemberFault, TaskRef};
use forebay_store::StoreError;
use forebay_store::record::{AcceptRefused, ReplayRefused};

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
    #[error("there is no task `{0}`: GET /v1/tasks lists the tasks")]
    UnknownTask(String),
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

impl Refused {
    /// One member is wrong.
    pub(super) fn member(pointer: String, message: impl Into<String>) -> Self {
        let code = MemberCode::InvalidMember;
        Refused::Members(vec![MemberFault { code, pointer, message: message.into() }])
    }

    pub(super) fn unknown_task(task: &TaskRef) -> Self {
        Refused::UnknownTask(task.to_string())
    }

    /// The same words whether it never was, or is another tenant's (I27).
    pub(super) fn no_document() -> Self {
        let message = "the tenant has no such document: upload it with POST /v1/documents first";
        Refused::member("/input/document".to_owned(), message)
    }
}
