//! What the verbs take and give.

mod accept;
mod access;
mod audit;
mod batch;
mod claim;
mod dataset;
mod demand;
mod job;
mod letter;
mod log;
mod process;
mod rate;
mod retention;
mod review;
mod revision;
mod step;
mod usage;

pub use accept::{AcceptRefused, Accepted, NewJob, NewStep};
pub use access::{
    BudgetPeriod, DocumentRecord, KeyRecord, NewDocument, NewKey, Scope, TenantRecord, TenantSettings,
};
pub use audit::{Actor, AuditAction, AuditPage, AuditQuery, AuditRecord};
pub use batch::{
    BatchKind, BatchPage, BatchRecord, Begun, Member, MemberProblem, MemberRecord, NewBatch, Placed,
};
pub use claim::{Claim, ClaimReply, Claimed, Extended, Held, Lapsed, ModelPrice, StandingClaim, Told, Work};
pub use dataset::{DatasetPut, DatasetRecord, NewDataset};
pub use demand::{PoolDemand, WaitingJobs};
pub use job::{
    AttemptRecord, Cancelled, JobPage, JobQuery, JobRecord, JobUsage, LaneShare, PoolStatus, Queue,
    ResultRecord, Shares, StepRecord,
};
pub use letter::{
    Letter, LetterChange, LetterChanged, LetterFilter, LetterGroup, LetterPage, LetterQuery, LetterRecord,
    LetterState, NewReplay, NoteRecord, OpenLetters, ReplayQuery, ReplayRefused, ReplaySource,
};
pub use log::{Changed, EventPage, EventQuery, EventRecord, Place, Taken};
pub use process::{Lead, ProcessRecord, ProcessReport};
pub use rate::{RateLeft, RateLimit, RateLimited};
pub use retention::{Deleted, Keep, Retained, Walked};
pub use review::{
    Decided, DecidedQuery, DecidedReview, DecisionRecord, DueReview, HeldBy, NewDecision, NewReview,
    ReviewClaim, ReviewEntry, ReviewPage, ReviewQuery, ReviewRecord, ReviewRefused, Verdict,
};
pub use revision::{Applied, NewRevision, RevisionInfo, RevisionPage, RevisionRecord};
pub use step::{AttemptClose, Bytes, Committed, NewResult, StepCommit, Then};
pub use usage::{UsageBy, UsageKey, UsageQuery, UsageRow};
