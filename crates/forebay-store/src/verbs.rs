//! What can be asked of a store, by concern. Each verb is one transaction or one consistent read.

mod access;

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use forebay_core::digest::Digest;
use forebay_core::event::Origin;
use forebay_core::id::{AttemptId, BatchId, JobId, ProcessId};
use forebay_core::lifecycle::Failed;
use forebay_core::time::{Millis, Timestamp};
use tokio::sync::{Notify, broadcast};

pub use self::access::{Access, Audit};
use crate::StoreError;
use crate::record::{
    AcceptRefused, Accepted, Actor, Applied, AttemptRecord, BatchPage, BatchRecord, Begun, Cancelled,
    Changed, Claim, ClaimReply, Committed, DatasetPut, DatasetRecord, Decided, DecidedQuery, DecidedReview,
    Deleted, DocumentRecord, DueReview, EventPage, EventQuery, Extended, Held, JobPage, JobQuery, JobRecord,
    Keep, Lapsed, Lead, Letter, LetterChange, LetterChanged, LetterFilter, LetterGroup, LetterPage,
    LetterQuery, LetterState, Member, MemberRecord, NewBatch, NewDataset, NewDecision, NewDocument, NewJob,
    NewReplay, NewReview, NewRevision, OpenLetters, Placed, PoolDemand, PoolStatus, ProcessRecord,
    ProcessReport, Queue, ReplayQuery, ReplayRefused, ReplaySource, ResultRecord, Retained, ReviewPage,
    ReviewQuery, ReviewRecord, ReviewRefused, RevisionPage, RevisionRecord, Shares, StandingClaim,
    StepCommit, StepRecord, Taken, UsageQuery, UsageRow, Walked, Work,
};

/// Everything that the service needs of a store.
pub trait Store:
    Accept
    + Claims
    + Steps
    + Upkeep
    + Retention
    + Leases
    + Processes
    + Jobs
    + Inspect
    + Log
    + Letters
    + Replays
    + Batches
    + Reviews
    + Access
    + Audit
    + Revisions
    + Documents
    + Datasets
    + Fingerprints
    + Signals
{
}

impl<T> Store for T where
    T: Accept
        + Claims
        + Steps
        + Upkeep
        + Retention
        + Leases
        + Processes
        + Jobs
        + Inspect
        + Log
        + Letters
        + Replays
        + Batches
        + Reviews
        + Access
        + Audit
        + Revisions
        + Documents
        + Datasets
        + Fingerprints
        + Signals
{
}

/// Taking jobs in.
#[async_trait]
pub trait Accept: Send + Sync {
    /// Looks the idempotency key up and, when it is new, admits the job and commits it with its input, its
    /// first step and its event (I1, I2). A replay of an accepted job passes no admission (I20).
    async fn accept(&self, job: NewJob) -> Result<Result<Accepted, AcceptRefused>, StoreError>;

    /// What an idempotency key stands for already, to a request with that digest. For requests that nothing would
    /// accept any more, and that may have been accepted when they were first made (I2).
    async fn accepted_before(
        &self,
        tenant: i64,
        key: String,
        body_digest: Digest,
    ) -> Result<Option<Result<Accepted, AcceptRefused>>, StoreError>;
}

/// Handing jobs out.
#[async_trait]
pub trait Claims: Send + Sync {
    /// Takes up to `claim.slots` due jobs of one pool for a worker: ownership, attempt, capacity and money in
    /// one transaction, tenants in turn.
    async fn claim(&self, claim: Claim) -> Result<ClaimReply, StoreError>;

    /// Has a claim made whenever a job of the pool becomes claimable, for as long as somebody keeps it; one a pool,
    /// the latest. It saves a commit and is no promise: whoever stands by claims when the pool's signal says so, too,
    /// and now and then in any case.
    fn stand_by(&self, pool: &str, claim: Weak<dyn StandingClaim>);

    /// Reads what a worker needs to run jobs it has claimed, in the order given.
    async fn work(&self, jobs: Vec<JobId>) -> Result<Vec<Work>, StoreError>;

    /// Prolongs the leases of jobs and of their grants; says which are lost.
    async fn extend(&self, held: Vec<Held>, lease: Millis) -> Result<Vec<Extended>, StoreError>;
}

/// Writing what became of an attempt.
#[async_trait]
pub trait Steps: Send + Sync {
    /// Settles the attempt and moves its job on, guarded by fence and incarnation (I12, I24). When the job
    /// belongs to somebody else by now, only evidence is kept on the attempt, and the permit is returned.
    async fn commit_step(&self, commit: StepCommit) -> Result<Committed, StoreError>;
}

/// What maintenance does. Each verb acts on the row as it is now, never on what was read before (I13, I15).
#[async_trait]
pub trait Upkeep: Send + Sync {
    /// Running jobs whose lease has lapsed, longest first.
    async fn lapsed(&self, limit: usize) -> Result<Vec<Lapsed>, StoreError>;

    /// Takes a job from an owner whose lease has lapsed. `None` when there is nothing to do any more.
    /// The review is what a person sees when it comes to that.
    async fn rescue(
        &self,
        job: JobId,
        lost: Failed,
        review: NewReview,
    ) -> Result<Option<JobRecord>, StoreError>;

    /// Jobs that wait for machines and are past their deadline, longest first.
    async fn overdue(&self, limit: usize) -> Result<Vec<JobId>, StoreError>;

    /// Ends a job past its deadline. `None` when there is nothing to do any more.
    async fn expire(&self, job: JobId) -> Result<Option<JobRecord>, StoreError>;

    /// Returns permits whose lease has lapsed and whose attempt is closed; says how many.
    async fn sweep_grants(&self, limit: usize) -> Result<usize, StoreError>;
}

/// Deleting what has been kept for long enough. Whatever somebody still wants stays: what has not ended, a review that is
/// owed, a job whose work is being done again, members of a batch that is not complete, and the last event of the log.
#[async_trait]
pub trait Retention: Send + Sync {
    /// Looks at jobs in the order of accepting, from behind `after` on, at most so many, and deletes those whose time is
    /// over, with everything that belongs to them. An idempotency key that has not expired stays.
    async fn delete_jobs(&self, after: i64, keep: Keep, most: usize) -> Result<Walked, StoreError>;

    /// As above, for batches of which no job is left.
    async fn delete_batches(&self, after: i64, keep: Keep, most: usize) -> Result<Walked, StoreError>;

    /// Looks at documents that were not used for long enough, at most so many, and deletes those that no job refers to;
    /// says how many it looked at. The bytes are in the blob store still.
    async fn delete_documents(&self, keep: Keep, most: usize) -> Result<(usize, Deleted), StoreError>;

    /// Deletes idempotency keys that have outlived their job and have expired, at most so many.
    async fn delete_keys(&self, most: usize) -> Result<Deleted, StoreError>;

    /// Forgets how fast jobs were handed in where it is by now as if none had been, at most so many; says of how many.
    async fn forget_rates(&self, most: usize) -> Result<usize, StoreError>;

    /// Those of these blobs that no row refers to, in any order.
    async fn unreferenced(&self, blobs: Vec<Digest>) -> Result<Vec<Digest>, StoreError>;

    /// What is kept, and what was deleted.
    async fn retained(&self) -> Result<Retained, StoreError>;
}

/// Who owns what for a while, where several processes may.
#[async_trait]
pub trait Leases: Send + Sync {
    /// Takes what only one process does at a time, or prolongs it, for a span from now on. `None` while another one has
    /// it. Whoever has lost it, because it was paused, say, is not stopped by that: each verb that it calls has to be
    /// harmless then.
    async fn lead(&self, what: &str, who: ProcessId, span: Millis) -> Result<Option<Lead>, StoreError>;

    /// Lets others have it at once. Nothing where another one has it.
    async fn stop_leading(&self, what: &str, who: ProcessId) -> Result<(), StoreError>;

    /// Those of these jobs that are not their holder's any more. Changes nothing.
    async fn lost(&self, held: Vec<Held>) -> Result<Vec<Held>, StoreError>;
}

/// The processes that work on a store, as each says of itself.
#[async_trait]
pub trait Processes: Send + Sync {
    /// What a process says of itself now. Who was not heard of for an hour is forgotten.
    async fn report(&self, report: ProcessReport) -> Result<(), StoreError>;

    /// A process ends.
    async fn sign_off(&self, who: ProcessId) -> Result<(), StoreError>;

    /// All that were heard of lately, oldest first.
    async fn processes(&self) -> Result<Vec<ProcessRecord>, StoreError>;
}

/// Looking at jobs, and ending them by request. Every verb is bound to a tenant (I27).
#[async_trait]
pub trait Jobs: Send + Sync {
    /// A job of the tenant.
    async fn job(&self, tenant: i64, job: JobId) -> Result<Option<JobRecord>, StoreError>;

    /// A page of the tenant's jobs, newest first.
    async fn jobs(&self, tenant: i64, query: JobQuery) -> Result<JobPage, StoreError>;

    /// Ends a job by request. `None` when the tenant has no such job.
    async fn cancel(&self, tenant: i64, job: JobId, by: Actor) -> Result<Option<Cancelled>, StoreError>;

    /// The result of the job's latest generation.
    async fn result(&self, tenant: i64, job: JobId) -> Result<Option<ResultRecord>, StoreError>;
}

/// Looking behind jobs.
#[async_trait]
pub trait Inspect: Send + Sync {
    /// The attempts of a job, oldest first.
    async fn attempts(&self, tenant: i64, job: JobId) -> Result<Vec<AttemptRecord>, StoreError>;

    /// The steps of a job, oldest first.
    async fn steps(&self, tenant: i64, job: JobId) -> Result<Vec<StepRecord>, StoreError>;

    /// Where a job stands in its lane and what its pool and its tenant have used.
    async fn queue(&self, tenant: i64, job: JobId) -> Result<Option<Queue>, StoreError>;

    /// The use of each pool that was ever claimed from.
    async fn pools(&self) -> Result<Vec<PoolStatus>, StoreError>;

    /// What there is to do in a pool, of one task or of all.
    async fn demand(&self, pool: &str, task: Option<&str>) -> Result<PoolDemand, StoreError>;

    /// What the tenants with due jobs were handed of each pool.
    async fn shares(&self) -> Result<Vec<Shares>, StoreError>;

    /// How many jobs are in each state, over all tenants or of one.
    async fn counts(&self, tenant: Option<i64>) -> Result<Vec<(forebay_core::job::State, u64)>, StoreError>;

    /// What was used, row by row in their order, also for what retention has deleted.
    async fn usage(&self, query: UsageQuery) -> Result<Vec<UsageRow>, StoreError>;
}

/// Reading the log.
#[async_trait]
pub trait Log: Send + Sync {
    /// Events after a position, of a tenant or of one of its jobs.
    async fn events(&self, tenant: i64, query: EventQuery) -> Result<EventPage, StoreError>;
}

/// Dead letters: jobs that failed, and who deals with them. A job becomes one in the transaction that fails it.
#[async_trait]
pub trait Letters: Send + Sync {
    /// A page of the tenant's dead letters, latest failure first.
    async fn letters(&self, tenant: i64, query: LetterQuery) -> Result<LetterPage, StoreError>;

    /// The tenant's dead letters in a state by task and failure class, most frequent first.
    async fn letter_groups(
        &self,
        tenant: i64,
        state: LetterState,
        filter: LetterFilter,
    ) -> Result<Vec<LetterGroup>, StoreError>;

    /// How many there are to be replayed.
    async fn letters_left(&self, tenant: i64, query: ReplayQuery) -> Result<u64, StoreError>;

    /// A dead letter of the tenant.
    async fn letter(&self, tenant: i64, job: JobId) -> Result<Option<Letter>, StoreError>;

    /// Changes who deals with dead letters, says that they are dealt with, or adds a note to each; one outcome for each
    /// job, in order. `None` when the tenant has no such letter, which does not hold up the others.
    async fn change_letters(
        &self,
        tenant: i64,
        jobs: Vec<JobId>,
        change: LetterChange,
        by: Actor,
    ) -> Result<Vec<Option<LetterChanged>>, StoreError>;

    /// How many are open over all tenants, and since when.
    async fn open_letters(&self) -> Result<OpenLetters, StoreError>;
}

/// Doing the work of failed jobs again, as new jobs that are linked to them.
#[async_trait]
pub trait Replays: Send + Sync {
    /// A job of the tenant with what it was asked to do, whether it failed or not.
    async fn replay_source(&self, tenant: i64, job: JobId) -> Result<Option<ReplaySource>, StoreError>;

    /// Up to that many jobs that are to be replayed, oldest failure first.
    async fn replayable(
        &self,
        tenant: i64,
        query: ReplayQuery,
        limit: usize,
    ) -> Result<Vec<ReplaySource>, StoreError>;

    /// Accepts a job that does a failed one's work again, as [`Accept::accept`] does any job, notes it on the
    /// failed one and changes nothing else of it (I13).
    async fn replay(&self, replay: NewReplay) -> Result<Result<Accepted, ReplayRefused>, StoreError>;
}

/// Jobs that are handed over in one call, each of which is accepted or refused by itself.
#[async_trait]
pub trait Batches: Send + Sync {
    /// Begins a batch, or finds the one that its key stands for.
    async fn begin_batch(&self, batch: NewBatch) -> Result<Begun, StoreError>;

    /// Takes members in, each at its position and each once, however often that is asked for. With the last ones
    /// the batch is filled; it is complete when the jobs of its members have ended.
    async fn place(
        &self,
        tenant: i64,
        batch: BatchId,
        members: Vec<(u64, Member)>,
        last: bool,
    ) -> Result<Placed, StoreError>;

    /// A batch of the tenant, with its members' jobs by state.
    async fn batch(&self, tenant: i64, batch: BatchId) -> Result<Option<BatchRecord>, StoreError>;

    /// A page of the tenant's batches, newest first, without what their members' rows say.
    async fn batches(&self, tenant: i64, before: Option<i64>, most: usize) -> Result<BatchPage, StoreError>;

    /// What became of the members that were taken in, in order.
    async fn members(&self, tenant: i64, batch: BatchId) -> Result<Vec<MemberRecord>, StoreError>;

    /// Ends up to that many jobs of a batch, which takes no members any more; says how many there were. `None` when
    /// the tenant has no such batch.
    async fn cancel_batch(
        &self,
        tenant: i64,
        batch: BatchId,
        most: usize,
        by: Actor,
    ) -> Result<Option<usize>, StoreError>;
}

/// Reviews that persons owe. Every verb but those of maintenance is bound to a tenant (I27).
#[async_trait]
pub trait Reviews: Send + Sync {
    /// The open or latest review of a job.
    async fn review(&self, tenant: i64, job: JobId) -> Result<Option<ReviewRecord>, StoreError>;

    /// A page of a tenant's open reviews, oldest first.
    async fn reviews(&self, tenant: i64, query: ReviewQuery) -> Result<ReviewPage, StoreError>;

    /// Reviews that persons have decided, in the order of the decisions.
    async fn decided_reviews(
        &self,
        tenant: i64,
        query: DecidedQuery,
    ) -> Result<Vec<DecidedReview>, StoreError>;

    /// Gives an open review to a key for a while. Whoever holds it prolongs that; nobody takes it from another.
    async fn claim_review(
        &self,
        tenant: i64,
        job: JobId,
        span: Millis,
        by: Actor,
    ) -> Result<Result<ReviewRecord, ReviewRefused>, StoreError>;

    /// Gives a review back. That nobody holds it is as good.
    async fn release_review(
        &self,
        tenant: i64,
        job: JobId,
        by: Actor,
    ) -> Result<Result<ReviewRecord, ReviewRefused>, StoreError>;

    /// Decides a review: the job moves on, with its result or its next step, its event and the audit record, or
    /// nothing is written. The same decision about the same version by the same key, sent again, changes
    /// nothing and is no error.
    async fn decide_review(
        &self,
        decision: NewDecision,
    ) -> Result<Result<Decided, ReviewRefused>, StoreError>;

    /// Open reviews of all tenants whose due time has passed and of which nobody was told, longest first.
    async fn due_reviews(&self, limit: usize) -> Result<Vec<DueReview>, StoreError>;

    /// Notes, once, that a review was not decided in time; `false` when there is nothing to note any more.
    async fn alert_review(&self, job: JobId, generation: u32) -> Result<bool, StoreError>;

    /// How many open reviews of all tenants are past their due time.
    async fn count_overdue_reviews(&self) -> Result<u64, StoreError>;
}

/// Definitions as immutable numbered revisions.
#[async_trait]
pub trait Revisions: Send + Sync {
    /// Keeps a revision and makes it the active one, if the expected one is active. The same text as the
    /// active one is not kept twice, whatever was expected: what is asked for is so.
    async fn apply_revision(&self, revision: NewRevision) -> Result<Applied, StoreError>;

    /// The active revision.
    async fn active_revision(&self) -> Result<Option<RevisionRecord>, StoreError>;

    /// A page of revisions below a number, newest first.
    async fn revisions(&self, before: Option<u32>, limit: usize) -> Result<RevisionPage, StoreError>;

    /// A revision by its number.
    async fn revision(&self, number: u32) -> Result<Option<RevisionRecord>, StoreError>;
}

/// Master data by tenant, name and version. The content is in the blob store before the row is.
#[async_trait]
pub trait Datasets: Send + Sync {
    /// Makes this the latest version of the dataset, unless the latest has the same content.
    async fn put_dataset(&self, dataset: NewDataset) -> Result<DatasetPut, StoreError>;

    /// A version of a dataset, or its latest.
    async fn dataset(
        &self,
        tenant: i64,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<DatasetRecord>, StoreError>;

    /// The versions of a dataset, newest first.
    async fn dataset_versions(
        &self,
        tenant: i64,
        name: &str,
        most: usize,
    ) -> Result<Vec<DatasetRecord>, StoreError>;

    /// The latest version of each dataset of a tenant, by name.
    async fn datasets(&self, tenant: i64) -> Result<Vec<DatasetRecord>, StoreError>;
}

/// What successful jobs were about, by tenant and task. Jobs take fingerprints as they succeed.
#[async_trait]
pub trait Fingerprints: Send + Sync {
    /// The job that succeeded with a fingerprint.
    async fn fingerprint_holder(
        &self,
        tenant: i64,
        task: &str,
        fingerprint: Digest,
    ) -> Result<Option<JobId>, StoreError>;
}

/// Documents by tenant and digest. The bytes are in the blob store before the row is.
#[async_trait]
pub trait Documents: Send + Sync {
    /// Notes that the tenant has these bytes; `false` when it had them.
    async fn add_document(&self, document: NewDocument) -> Result<(DocumentRecord, bool), StoreError>;

    /// A document of the tenant.
    async fn document(&self, tenant: i64, digest: Digest) -> Result<Option<DocumentRecord>, StoreError>;
}

/// What the store tells without being asked, and who it is.
pub trait Signals: Send + Sync {
    /// Now, by the store's clock.
    fn now(&self) -> Timestamp;

    /// The store's identity, for events and fences.
    fn origin(&self) -> Origin;

    /// The secret that makes cursors unforgeable.
    fn cursor_secret(&self) -> [u8; 32];

    /// Notified when a job of the pool may have become claimable. Register before looking.
    fn pool_signal(&self, pool: &str) -> Arc<Notify>;

    /// The jobs that changed, commit by commit: in this process at once, in another within a second. A change may be
    /// told twice, and a receiver that lags looks again.
    fn changes(&self) -> broadcast::Receiver<Arc<Vec<Changed>>>;

    /// The jobs that were taken from whoever ran them: in this process at once; of what others did, only some
    /// ([`Leases::lost`] knows all).
    fn taken(&self) -> broadcast::Receiver<Arc<Vec<Taken>>>;

    /// Notified when another revision may be active, whoever applied it: within a second.
    fn revision_signal(&self) -> Arc<Notify>;

    /// Ids that nobody else makes.
    fn new_job_id(&self) -> JobId;

    /// As above, for attempts.
    fn new_attempt_id(&self) -> AttemptId;
}
