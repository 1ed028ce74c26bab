use std::collections::{BTreeMap, BTreeSet};

use forebay_core::definition::PoolLimits;
use forebay_core::digest::Digest;
use forebay_core::grant::Reservation;
use forebay_core::id::{AttemptId, ClaimId, JobId};
use forebay_core::money::Price;
use forebay_core::time::{Millis, Timestamp};
use forebay_core::window::Full;

use super::Bytes;

/// A worker asks for jobs of one pool.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Names this call, so that the unknown outcome of its commit can be resolved by looking.
    pub id: ClaimId,
    /// The pool.
    pub pool: String,
    /// Its limits now.
    pub limits: PoolLimits,
    /// What models cost now: those of the definitions, and those that only jobs of older revisions use.
    pub prices: BTreeMap<String, ModelPrice>,
    /// The most jobs to take.
    pub slots: usize,
    /// Claim jobs of these tasks only; of all where it is empty.
    pub tasks: BTreeSet<String>,
    /// The most calls that a task may have at the same time, over all pools and tenants, where there is a limit.
    pub task_limits: BTreeMap<String, u64>,
    /// How long the worker is undisturbed.
    pub lease: Millis,
    /// Who asks: the process.
    pub worker: String,
    /// The build that will run the jobs.
    pub build: &'static str,
}

/// What a model's tokens cost now.
pub type ModelPrice = Price;

/// What a claim brought.
#[derive(Debug, Clone, Default)]
pub struct ClaimReply {
    /// The jobs, in the order of their turn.
    pub claimed: Vec<Claimed>,
    /// The limit that kept more jobs from being taken.
    pub full: Option<Full>,
    /// When it is worth asking again even if nothing happens until then.
    pub next: Option<Timestamp>,
    /// Models of due jobs that the claim gave no price for, with the revision of such a job. Their lanes were
    /// passed by.
    pub unpriced: BTreeMap<String, u32>,
    /// What it takes to run the jobs, in the same order, where that was read together with the claim; else empty.
    pub work: Vec<Work>,
}

/// A claim that is made whenever a transaction makes a job of its pool claimable: inside that transaction, so that
/// one commit is enough to accept a job and to claim it.
pub trait StandingClaim: Send + Sync {
    /// Whether there is room for jobs now, so that it is worth preparing a claim. Must not wait for anything itself.
    fn has_room(&self) -> bool;

    /// The claim as it would be made now, and who is told what it brought; `None` where nobody has room for jobs.
    /// Asked while others wait for the transaction: it must not wait for anything itself.
    fn claim(&self) -> Option<(Claim, Told)>;
}

/// Told of a claim once it is committed; dropped unused where that failed.
pub type Told = Box<dyn FnOnce(ClaimReply) + Send>;

/// A job that a worker owns now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// Which job.
    pub job_id: JobId,
    /// Whose.
    pub tenant: i64,
    /// The attempt that was written for it.
    pub attempt_id: AttemptId,
    /// The owner's fence.
    pub fence: u64,
    /// When capacity was granted.
    pub granted_at: Timestamp,
    /// What was set aside.
    pub reserved: Reservation,
}

/// What a worker needs to know to run a step.
#[derive(Debug, Clone)]
pub struct Work {
    /// Which job.
    pub job_id: JobId,
    /// Whose.
    pub tenant: i64,
    /// The task's name.
    pub task: String,
    /// The revision that it runs by.
    pub revision: u32,
    /// The generation.
    pub generation: u32,
    /// The current step's number.
    pub step: u32,
    /// The current step's kind.
    pub step_kind: String,
    /// The current step's model.
    pub model: String,
    /// The output limit that was reserved.
    pub output_tokens: u64,
    /// Until when machines may work on it.
    pub deadline: Timestamp,
    /// The stored request.
    pub input: Bytes,
    /// The document it reads.
    pub document: Option<Digest>,
    /// What the finished steps of this generation left behind, oldest first.
    pub journal: Vec<Bytes>,
}

/// A job that a worker holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Which job.
    pub job_id: JobId,
    /// Its attempt, whose grant is extended too.
    pub attempt_id: AttemptId,
    /// The owner's fence.
    pub fence: u64,
}

/// What became of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extended {
    /// Which job.
    pub job_id: JobId,
    /// Whether it is still the worker's.
    pub kept: bool,
}

/// A running job whose owner has not been heard of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lapsed {
    /// Which job.
    pub job_id: JobId,
    /// The task's name, for its retry policy.
    pub task: String,
    /// The revision it runs by.
    pub revision: u32,
}
