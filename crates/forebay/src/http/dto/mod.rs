//! The shapes that are sent. Members may be added, never renamed, retyped or dropped. An absent member is
//! unknown or does not apply.

mod access;
mod attempt;
mod audit;
mod batch;
mod dataset;
mod document;
mod explain;
mod job;
mod letter;
mod operate;
mod retention;
mod review;
mod revision;
mod scaling;
mod shapes;
mod task;
mod worker;

pub(super) use access::{Key, KeyBody, KeyList, NewKeyAnswer, NewKeyBody, Tenant, TenantBody, TenantList};
pub(super) use attempt::{Attempt, AttemptList, Step, StepList};
pub(super) use audit::{AuditEntry, AuditList};
pub(super) use batch::{Batch, BatchBody, BatchList, BatchTaken, MemberResult, ReplayManyBody, ReplayTaken};
pub(super) use dataset::{Dataset, DatasetHistory, DatasetList};
pub(super) use document::Document;
pub(super) use explain::{Eta, Explanation, Waiting};
pub(super) use job::{AcceptedJob, Job, JobList, JobResult, SubmitBody, job_url};
pub(super) use letter::{
    DeadLetter, DeadLetterBody, DeadLetterGroups, DeadLetterList, LetterResult, LettersBody, LettersChanged,
    ReplayBody, jobs_or_filter,
};
pub(super) use operate::{Pool, PoolList, Ready, Usage, UsageLine, UsageSums, day};
pub(super) use retention::Retention;
pub(super) use review::{
    ClaimBody, DecisionBody, ReviewDecided, ReviewDetail, ReviewLine, ReviewList, ReviewStep, ReviewSummary,
    by_decision, read,
};
pub(super) use revision::{
    ActorDto, Revision, RevisionBody, RevisionDiff, RevisionEntry, RevisionList, RevisionTrial, RollbackBody,
};
pub(super) use scaling::{PoolScaling, Scaling};
pub(super) use task::{Task, TaskList};
pub(super) use worker::{Worker, WorkerList};

/// The currency of all amounts, as ISO 4217 writes it.
pub(super) const CURRENCY: &str = "USD";
