//! The ledger by itself: jobs that do nothing, accepted, claimed and completed through the store's verbs with all
//! that is written then, without HTTP and without a provider.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use forebay_core::attempt::{Outcome, Usage};
use forebay_core::definition::{CountTokens, OnFailure, PoolLimits};
use forebay_core::digest::Digest;
use forebay_core::id::ClaimId;
use forebay_core::job::Priority;
use forebay_core::money::{Micros, Price};
use forebay_core::time::Millis;
use forebay_store::record::{
    Actor, AttemptClose, Bytes, Claim, Claimed, Committed, NewJob, NewResult, NewStep, StepCommit,
    TenantSettings, Then,
};
use forebay_store::{Store, StoreError};
use futures_util::future::try_join_all;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::caller::floor_body;
use super::stage::Folder;
use crate::cli::error::CliError;
use crate::runtime::{BUILD, random_bytes};

/// Jobs that are claimed together.
pub(super) const BATCH: usize = 50;
/// Batches that are under way at the same time.
const WORKERS: usize = 4;
/// Jobs that are handed in at the same time.
const ACCEPTED: usize = 500;
/// Tenants that are made at the same time.
const MADE: usize = 64;
/// What a job leaves behind, in bytes.
pub(super) const RESULT: usize = 400;
/// How long nothing may be claimable while jobs are left.
const PATIENCE: Duration = Duration::from_secs(30);

const POOL: &str = "bench";
const MODEL: &str = "small";
const PRICE: Price = Price {
    input_per_mtok: Micros(250_000),
    cached_input_per_mtok: None,
    output_per_mtok: Micros(2_000_000),
};

/// A store that is used by itself, with tenants who have jobs in turn.
pub(super) struct Ledger {
    store: Arc<dyn Store>,
    tenants: Vec<i64>,
    /// Tells its jobs' idempotency keys from those of others before.
    run: u64,
    accepted: AtomicUsize,
}

impl Ledger {
    /// Opens the store of a folder, and makes so many tenants unless they are there.
    pub(super) async fn open(folder: &Folder, tenants: u32) -> Result<Self, CliError> {
        let made = Self::of(folder.open().await?, tenants).await;
        made.map_err(|error| CliError::failed("tenants can't be made", &error))
    }

    async fn of(store: Arc<dyn Store>, tenants: u32) -> Result<Self, StoreError> {
        let make = |nth: u32| {
            let store = Arc::clone(&store);
            async move {
                let name = format!("bench-{nth}");
                let made = store.put_tenant(name, TenantSettings::default(), Actor::program()).await;
                made.map(|tenant| tenant.id)
            }
        };
        let tenants = stream::iter(0..tenants).map(make).buffered(MADE).try_collect().await?;
        let run = u64::from_be_bytes(random_bytes());
        Ok(Self { store, tenants, run, accepted: AtomicUsize::new(0) })
    }

    /// Accepts so many jobs of tenants in turn; says how long that took, and now and then how far it is.
    pub(super) async fn accept(&self, jobs: usize, says: impl Fn(usize)) -> Result<Duration, StoreError> {
        self.accept_of(None, jobs, says).await
    }

    /// As above, with one ordering key for each tenant.
    pub(super) async fn accept_in_order(
        &self,
        jobs: usize,
        says: impl Fn(usize),
    ) -> Result<Duration, StoreError> {
        self.accept_of(Some("one"), jobs, says).await
    }

    async fn accept_of(
        &self,
        ordering_key: Option<&str>,
        jobs: usize,
        says: impl Fn(usize),
    ) -> Result<Duration, StoreError> {
        let began = Instant::now();
        let first = self.accepted.fetch_add(jobs, Relaxed);
        let accept = |nth| {
            let ordering_key = ordering_key.map(str::to_owned);
            self.store.accept(NewJob { ordering_key, ..self.new_job(nth) })
        };
        let mut accepted =
            stream::iter(first..first + jobs).map(accept).buffer_unordered(ACCEPTED).enumerate();
        while let Some((done, outcome)) = accepted.next().await {
            if let Err(refusal) = outcome? {
                return Err(StoreError::Corrupt(format!("a job was refused: {refusal:?}")));
            }
            if done % ACCEPTED == 0 {
                says(done);
            }
        }
        Ok(began.elapsed())
    }

    /// Claims what one claim takes.
    pub(super) async fn claim(&self) -> Result<Vec<Claimed>, StoreError> {
        Ok(self.store.claim(claim(&self.store)).await?.claimed)
    }

    /// Completes jobs that were claimed; says how many.
    pub(super) async fn complete(&self, claimed: &[Claimed]) -> Result<usize, StoreError> {
        let commits = claimed.iter().map(|claimed| self.store.commit_step(commit(&self.store, claimed)));
        let committed = try_join_all(commits).await?;
        Ok(committed.iter().filter(|committed| matches!(committed, Committed::Done { .. })).count())
    }

    /// Claims and completes so many jobs, which have to be there; says how long that took.
    pub(super) async fn drain(self, jobs: usize) -> Result<Duration, StoreError> {
        let began = Instant::now();
        let (ledger, left) = (Arc::new(self), Arc::new(AtomicUsize::new(jobs)));
        let mut workers: JoinSet<_> =
            (0..WORKERS).map(|_| work(Arc::clone(&ledger), Arc::clone(&left))).collect();
        let mut done = 0;
        while let Some(worked) = workers.join_next().await {
            done += worked.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))?;
        }
        if done != jobs {
            return Err(StoreError::Corrupt(format!("{done} of {jobs} jobs were completed")));
        }
        Ok(began.elapsed())
    }

    fn new_job(&self, nth: usize) -> NewJob {
        let tenant = self.tenants.get(nth % self.tenants.len().max(1)).copied().unwrap_or_default();
        new_job(&self.store, tenant, format!("bench-{:x}-{nth}", self.run))
    }
}

/// Claims and completes until none is left to be claimed; says how many jobs.
async fn work(ledger: Arc<Ledger>, left: Arc<AtomicUsize>) -> Result<usize, StoreError> {
    let (mut done, mut last) = (0, Instant::now());
    while left.load(Relaxed) > 0 {
        let claimed = ledger.claim().await?;
        left.fetch_sub(claimed.len(), Relaxed);
        done += ledger.complete(&claimed).await?;
        if !claimed.is_empty() {
            last = Instant::now();
        } else if last.elapsed() > PATIENCE {
            return Err(StoreError::Corrupt(format!("{} jobs can't be claimed", left.load(Relaxed))));
        } else {
            // Others may have taken them; or they are claimable in a moment.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    Ok(done)
}

fn new_job(store: &Arc<dyn Store>, tenant: i64, idempotency_key: String) -> NewJob {
    let input = floor_body().into_bytes();
    let digest = Digest::of(&input);
    NewJob {
        id: store.new_job_id(),
        tenant,
        key_id: None,
        idempotency_key: Some(idempotency_key),
        idempotency_ttl: Millis::from_secs(14 * 24 * 3_600),
        body_digest: digest,
        request_digest: digest,
        task: "chat".to_owned(),
        kind: "llm",
        revision: 1,
        priority: Priority::Normal,
        not_before: None,
        deadline: store.now().after(Millis::from_secs(24 * 3_600)),
        input: Bytes::Inline(input),
        document: None,
        ordering_key: None,
        on_failure: OnFailure::Continue,
        correlation_id: None,
        metadata: None,
        series: None,
        replay_of: None,
        batch: None,
        first_step: NewStep {
            kind: "call",
            pool: POOL.to_owned(),
            model: MODEL.to_owned(),
            target: 0,
            input_tokens: 120,
            output_tokens: 100,
        },
        max_pending: u64::MAX,
        refuse_above_budget: None,
        rate_limits: Vec::new(),
    }
}

fn claim(store: &Arc<dyn Store>) -> Claim {
    Claim {
        id: ClaimId::new(store.now(), random_bytes()),
        pool: POOL.to_owned(),
        limits: PoolLimits::default(),
        prices: [(MODEL.to_owned(), PRICE)].into(),
        slots: BATCH,
        tasks: std::collections::BTreeSet::new(),
        task_limits: std::collections::BTreeMap::new(),
        lease: Millis::from_secs(30),
        worker: "bench".to_owned(),
        build: BUILD,
    }
}

fn commit(store: &Arc<dyn Store>, claimed: &Claimed) -> StepCommit {
    let text = "y".repeat(RESULT);
    let output = format!("\"{text}\"").into_bytes();
    StepCommit {
        job_id: claimed.job_id,
        attempt_id: claimed.attempt_id,
        fence: claimed.fence,
        incarnation: store.origin().incarnation,
        close: AttemptClose {
            outcome: Outcome::Succeeded,
            failure: None,
            usage: Some(Usage { input_tokens: 110, output_tokens: 100, ..Usage::default() }),
            provider_request_id: Some("req-1".to_owned()),
            provider_model: Some(MODEL.to_owned()),
            count_tokens: CountTokens::Reserved,
            cooldown: None,
        },
        then: Then::Succeed {
            fingerprint: None,
            entry: Bytes::Inline(format!(r#"{{"Chat":{{"text":"{text}"}}}}"#).into_bytes()),
            result: NewResult { output: Bytes::Inline(output), provenance: br#"{"model":"small"}"#.to_vec() },
        },
    }
}

#[cfg(test)]
mod tests {
    use forebay_store::SystemClock;
    use forebay_store::sqlite::SqliteStore;

    use super::*;

    #[tokio::test]
    async fn every_job_is_accepted_claimed_and_completed() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("forebay.db"), Arc::new(SystemClock)).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let ledger = Ledger::of(Arc::clone(&store), 3).await.unwrap();
        ledger.accept(120, |_| ()).await.unwrap();
        let claimed = ledger.claim().await.unwrap();
        assert_eq!(claimed.len(), BATCH);
        assert_eq!(ledger.complete(&claimed).await.unwrap(), BATCH);
        ledger.accept(BATCH, |_| ()).await.unwrap();
        ledger.drain(120).await.unwrap();
        let tenants = store.tenants().await.unwrap();
        assert_eq!(tenants.len(), 3);
        assert!(tenants.iter().all(|tenant| tenant.pending_jobs == 0));
    }
}
