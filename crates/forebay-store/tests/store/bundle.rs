//! What every case starts from: a store of its own, a clock that stands until it is moved, two tenants, and
//! words for what a worker and maintenance do. [`Bundle::finish`] looks for what a case left behind.

mod build;
mod check;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use forebay_core::definition::OnUnknown;
use forebay_core::event::EventType;
use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::review::ReviewDefault;
use forebay_core::time::{Millis, Timestamp};
use forebay_store::record::{
    AcceptRefused, Accepted, Actor, AttemptClose, AttemptRecord, Claim, ClaimReply, Claimed, Committed,
    EventQuery, EventRecord, JobRecord, NewJob, NewReview, NewStep, Place, TenantRecord, TenantSettings,
    Then,
};
use forebay_store::{ManualClock, Store, StoreError};

pub use build::{
    LEASE, MAIN, REVIEW_DUE, closed, failed, lost, next, not_sent, review, review_with, succeed,
    succeed_about, succeeded, try_failed, used,
};

/// 2026-12-01T10:00:00Z: the first of a month, ten hours into its day.
pub const START: Timestamp = Timestamp::from_millis(1_796_119_200_000);

/// One database of a kind, made for one case.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Opens the database; makes it the first time. It tells the time of this clock.
    async fn open(&self, clock: Arc<ManualClock>) -> Result<Arc<dyn Store>, StoreError>;

    /// Rows that contradict each other, one sentence each: what no verb shows.
    async fn audit(&self) -> Vec<String>;

    /// Runs a statement beside the store, as a process of another build might.
    async fn run_beside(&self, statement: &str);
}

/// A store with its clock and two tenants.
pub struct Bundle {
    /// Closed before its database is given to another case.
    store: Mutex<Option<Arc<dyn Store>>>,
    pub backend: Box<dyn Backend>,
    pub clock: Arc<ManualClock>,
    /// A tenant without limits; whatever a builder makes is its.
    pub alpha: i64,
    /// Another one.
    pub beta: i64,
    /// Attempts of jobs that were deleted, with their tenants.
    gone: Mutex<Vec<(i64, AttemptRecord)>>,
}

impl Bundle {
    pub async fn new(backend: impl Backend + 'static) -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let store = backend.open(Arc::clone(&clock)).await.unwrap();
        let alpha = store
            .put_tenant("alpha".to_owned(), TenantSettings::default(), Actor::program())
            .await
            .unwrap()
            .id;
        let beta = store
            .put_tenant("beta".to_owned(), TenantSettings::default(), Actor::program())
            .await
            .unwrap()
            .id;
        Self {
            backend: Box::new(backend),
            clock,
            alpha,
            beta,
            store: Mutex::new(Some(store)),
            gone: Mutex::default(),
        }
    }

    /// The store. Don't keep it over a restart.
    pub fn store(&self) -> Arc<dyn Store> {
        Arc::clone(self.store.lock().unwrap().as_ref().expect("the store is open"))
    }

    /// Closes the store, as the end of its process would, and opens it again.
    pub async fn restart(&self) {
        let closed = self.store.lock().unwrap().take().expect("the store is open");
        assert_eq!(Arc::strong_count(&closed), 1, "somebody kept the store");
        drop(closed);
        let opened = self.backend.open(Arc::clone(&self.clock)).await.unwrap();
        *self.store.lock().unwrap() = Some(opened);
    }

    pub fn now(&self) -> Timestamp {
        self.store().now()
    }

    /// Lets time pass.
    pub fn wait(&self, span: Millis) {
        self.clock.advance(span);
    }

    pub fn wait_secs(&self, secs: i64) {
        self.wait(Millis::from_secs(secs));
    }
}

/// Taking jobs in.
impl Bundle {
    pub async fn submit(&self, job: NewJob) -> Result<Accepted, AcceptRefused> {
        self.store().accept(job).await.unwrap()
    }

    /// Accepts a job that must be new.
    pub async fn accept(&self, job: NewJob) -> JobId {
        let accepted = self.submit(job).await.expect("the job is accepted");
        assert!(!accepted.replayed, "the job is new");
        accepted.job_id
    }

    /// Accepts a job as the builder makes it.
    pub async fn accept_one(&self) -> JobId {
        self.accept(self.new_job()).await
    }

    /// Accepts that many jobs of a tenant, one after the other.
    pub async fn accept_of(&self, tenant: i64, count: usize) -> Vec<JobId> {
        let mut jobs = Vec::with_capacity(count);
        for _ in 0..count {
            jobs.push(self.accept(self.new_job_of(tenant)).await);
        }
        jobs
    }

    /// Accepts all of these at the same time.
    pub async fn accept_together(&self, jobs: Vec<NewJob>) -> Vec<Result<Accepted, AcceptRefused>> {
        let mut calls = tokio::task::JoinSet::new();
        for job in jobs {
            let store = self.store();
            calls.spawn(async move { store.accept(job).await.unwrap() });
        }
        calls.join_all().await
    }
}

/// What a worker does.
impl Bundle {
    pub async fn take(&self, claim: Claim) -> ClaimReply {
        let slots = claim.slots;
        let reply = self.store().claim(claim).await.unwrap();
        assert!(reply.claimed.len() <= slots, "never more than the worker has slots for");
        reply
    }

    /// Claims up to that many jobs of the main pool, which has no limits.
    pub async fn claim(&self, slots: usize) -> Vec<Claimed> {
        self.take(Claim { slots, ..self.new_claim() }).await.claimed
    }

    /// Claims a job that must be there.
    pub async fn claim_one(&self) -> Claimed {
        self.claim(1).await.pop().expect("a job is claimable")
    }

    /// The jobs that a claim of that many would bring, in their order, and brings.
    pub async fn claim_ids(&self, slots: usize) -> Vec<JobId> {
        self.claim(slots).await.into_iter().map(|claimed| claimed.job_id).collect()
    }

    pub async fn commit(&self, claimed: &Claimed, close: AttemptClose, then: Then) -> Committed {
        self.store().commit_step(self.new_commit(claimed, close, then)).await.unwrap()
    }

    /// Commits what must still be the worker's to commit; says where the job is then.
    pub async fn commit_own(&self, claimed: &Claimed, close: AttemptClose, then: Then) -> State {
        match self.commit(claimed, close, then).await {
            Committed::Done { state, .. } => state,
            Committed::Lost => panic!("{} was lost", claimed.job_id),
            Committed::Duplicate { of } => panic!("{} is a duplicate of {of}", claimed.job_id),
        }
    }

    /// Ends a claimed job well, as cheaply as it was reserved.
    pub async fn succeed(&self, claimed: &Claimed) {
        let usage = used(claimed.reserved.input_tokens, claimed.reserved.output_tokens);
        assert_eq!(self.commit_own(claimed, succeeded(usage), succeed()).await, State::Succeeded);
    }

    /// Plans another step.
    pub async fn step_on(&self, claimed: &Claimed, step: NewStep) {
        assert_eq!(self.commit_own(claimed, succeeded(used(100, 50)), next(step)).await, State::Ready);
    }

    /// Fails a claimed job's try for a reason that is tried again.
    pub async fn fail(&self, claimed: &Claimed, class: FailureClass) -> State {
        self.commit_own(claimed, failed(class), try_failed(class)).await
    }
}

/// What maintenance does.
impl Bundle {
    /// Rescues a job whose worker is lost; the task takes the default word on it.
    pub async fn rescue(&self, job: JobId) -> Option<JobRecord> {
        self.rescue_with(job, OnUnknown::Retry).await
    }

    /// As above, and the task says something else about tries that may have been billed.
    pub async fn rescue_with(&self, job: JobId, on_unknown: OnUnknown) -> Option<JobRecord> {
        let review = NewReview::without_output(REVIEW_DUE, ReviewDefault::None);
        self.store().rescue(job, lost(on_unknown), review).await.unwrap()
    }

    /// The running jobs whose lease has lapsed.
    pub async fn lapsed(&self) -> Vec<JobId> {
        self.store().lapsed(100).await.unwrap().into_iter().map(|lapsed| lapsed.job_id).collect()
    }
}

/// Looking.
impl Bundle {
    /// A job of alpha.
    pub async fn job(&self, job: JobId) -> JobRecord {
        self.job_of(self.alpha, job).await
    }

    pub async fn job_of(&self, tenant: i64, job: JobId) -> JobRecord {
        self.store().job(tenant, job).await.unwrap().expect("the job is the tenant's")
    }

    pub async fn state(&self, job: JobId) -> State {
        self.job(job).await.job.state
    }

    /// The attempts of a job of alpha.
    pub async fn attempts(&self, job: JobId) -> Vec<AttemptRecord> {
        self.store().attempts(self.alpha, job).await.unwrap()
    }

    /// All events of a tenant, or of one of its jobs.
    pub async fn events(&self, tenant: i64, job: Option<JobId>) -> Vec<EventRecord> {
        let query = EventQuery { job, after: Place::START, limit: usize::MAX };
        self.store().events(tenant, query).await.unwrap().events
    }

    /// What happened to a job of alpha, in order.
    pub async fn story(&self, job: JobId) -> Vec<EventType> {
        let known = |event: EventRecord| event.kind.known().copied().expect("a known type");
        self.events(self.alpha, Some(job)).await.into_iter().map(known).collect()
    }

    pub async fn tenant(&self, id: i64) -> TenantRecord {
        let tenants = self.store().tenants().await.unwrap();
        tenants.into_iter().find(|tenant| tenant.id == id).expect("the tenant is there")
    }

    /// Changes what a tenant may do.
    pub async fn allow(&self, tenant: i64, settings: TenantSettings) {
        let name = self.tenant(tenant).await.name;
        self.store().put_tenant(name, settings, Actor::program()).await.unwrap();
    }

    /// Calls under way in the main pool.
    pub async fn in_flight(&self) -> u64 {
        let pools = self.store().pools().await.unwrap();
        pools.into_iter().find(|pool| pool.name == MAIN).map_or(0, |pool| pool.used.in_flight)
    }
}
