//! The ledger by itself: jobs that do nothing, accepted, claimed and completed through the store's verbs with all
//! that is written then, without HTTP and without a provider.

use std::sync::Arc;
use std::time::Duration;

use forebay_core::attempt::{Outcome, Usage};
use forebay_core::definition::{OnFailure, PoolLimits};
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
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::caller::floor_body;
use crate::runtime::{BUILD, random_bytes};

/// Jobs that are claimed together.
pub(super) const BATCH: usize = 50;
/// Batches that are under way at the same time.
const WORKERS: usize = 4;
/// Jobs that are handed in at the same time.
const ACCEPTED: usize = 500;
/// What a job leaves behind, in bytes.
pub(super) const RESULT: usize = 400;

const POOL: &str = "bench";
const MODEL: &str = "small";
const PRICE: Price = Price {
    input_per_mtok: Micros(250_000),
    cached_input_per_mtok: None,
    output_per_mtok: Micros(2_000_000),
};

/// How long it took to accept so many jobs, and to work them off.
pub(super) async fn run(store: Arc<dyn Store>, jobs: usize) -> Result<(Duration, Duration), StoreError> {
    let tenant = store.put_tenant("bench".to_owned(), TenantSettings::default(), Actor::program()).await?.id;
    let began = Instant::now();
    for first in (0..jobs).step_by(ACCEPTED) {
        let group = (first..jobs.min(first + ACCEPTED)).map(|nth| store.accept(new_job(&store, tenant, nth)));
        try_join_all(group).await?;
    }
    let accepted = began.elapsed();
    let began = Instant::now();
    let mut workers: JoinSet<_> = (0..WORKERS).map(|_| work(Arc::clone(&store))).collect();
    let mut done = 0;
    while let Some(worked) = workers.join_next().await {
        done += worked.unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))?;
    }
    if done != jobs {
        return Err(StoreError::Corrupt(format!("{done} of {jobs} jobs were completed")));
    }
    Ok((accepted, began.elapsed()))
}

/// Claims and completes until there is nothing left; says how many jobs.
async fn work(store: Arc<dyn Store>) -> Result<usize, StoreError> {
    let mut done = 0;
    loop {
        let claimed = store.claim(claim(&store)).await?.claimed;
        if claimed.is_empty() {
            return Ok(done);
        }
        let commits = claimed.iter().map(|claimed| store.commit_step(commit(&store, claimed)));
        let committed = try_join_all(commits).await?;
        done += committed.iter().filter(|committed| matches!(committed, Committed::Done { .. })).count();
    }
}

fn new_job(store: &Arc<dyn Store>, tenant: i64, nth: usize) -> NewJob {
    let input = floor_body().into_bytes();
    let digest = Digest::of(&input);
    NewJob {
        id: store.new_job_id(),
        tenant,
        key_id: None,
        idempotency_key: Some(format!("bench-{nth}")),
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
        let (accepted, drained) = run(store, 120).await.unwrap();
        assert!(accepted > Duration::ZERO && drained > Duration::ZERO);
    }
}
