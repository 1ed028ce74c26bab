//! What calls may be made at the same time, while those who make them die, come too late and are cancelled.
#![allow(clippy::disallowed_methods, reason = "a test has no tasks whose end somebody waits for")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use forebay_core::definition::OnUnknown;
use forebay_core::failure::FailureClass;
use forebay_core::job::State;
use forebay_core::review::ReviewDefault;
use forebay_store::postgres::PostgresStore;
use forebay_store::record::{Actor, Claim, Claimed, NewReview, TenantSettings};
use forebay_store::{Claims as _, Jobs as _, Steps as _, Upkeep as _};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::task::JoinSet;

use super::database::{Database, with};
use crate::bundle::{Bundle, LEASE, REVIEW_DUE, failed, lost, succeed, succeeded, try_failed, used};

/// Calls of the tenant at the same time.
const LIMIT: usize = 3;
const JOBS: usize = 120;
const WORKERS: u64 = 9;

/// Works until it is told to stop.
struct Worker {
    b: Arc<Bundle>,
    store: PostgresStore,
    over: Arc<AtomicBool>,
    random: SmallRng,
}

impl Worker {
    async fn run(mut self) {
        while !self.over.load(Ordering::Relaxed) {
            let claim = Claim { slots: 2, ..self.b.new_claim() };
            let claimed = self.store.claim(claim).await.unwrap().claimed;
            if claimed.is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            for claimed in &claimed {
                self.call(claimed).await;
            }
        }
    }

    async fn call(&mut self, claimed: &Claimed) {
        let b = &self.b;
        let success = b.new_commit(claimed, succeeded(used(10, 5)), succeed());
        let class = FailureClass::ProviderError;
        match self.random.random_range(0..10) {
            // It dies.
            0 | 1 => {}
            2 => drop(self.store.cancel(b.alpha, claimed.job_id, Actor::program()).await.unwrap()),
            // It is cancelled, and reports all the same.
            3 => {
                self.store.cancel(b.alpha, claimed.job_id, Actor::program()).await.unwrap();
                self.store.commit_step(success).await.unwrap();
            }
            4 => drop(
                self.store
                    .commit_step(b.new_commit(claimed, failed(class), try_failed(class)))
                    .await
                    .unwrap(),
            ),
            // Perhaps too late.
            5 => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                self.store.commit_step(success).await.unwrap();
            }
            _ => drop(self.store.commit_step(success).await.unwrap()),
        }
    }
}

/// Rescues what has lapsed and gives permits back, beside another that does the same.
async fn maintain(b: Arc<Bundle>, store: PostgresStore, over: Arc<AtomicBool>) {
    while !over.load(Ordering::Relaxed) {
        for lapsed in store.lapsed(9).await.unwrap() {
            let review = NewReview::without_output(REVIEW_DUE, ReviewDefault::None);
            store.rescue(lapsed.job_id, lost(OnUnknown::Retry), review).await.unwrap();
        }
        store.sweep_grants(9).await.unwrap();
        b.wait_secs(LEASE.get() / 4_000);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// C09, F66, F111: a permit comes back once, whatever became of who held it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn permits_come_back_once_whatever_becomes_of_workers() {
    let database = Arc::new(Database::new());
    let b = Arc::new(Bundle::new(Arc::clone(&database)).await);
    b.allow(b.alpha, TenantSettings { max_in_flight: Some(LIMIT as u64), ..TenantSettings::default() }).await;
    b.accept_together((0..JOBS).map(|_| b.new_job()).collect()).await;
    let stores = [database.beside(&b).await, database.beside(&b).await, database.beside(&b).await];
    let over = Arc::new(AtomicBool::new(false));
    let mut busy = JoinSet::new();
    for nth in 0..WORKERS {
        let (b, over, random) = (Arc::clone(&b), Arc::clone(&over), SmallRng::seed_from_u64(nth));
        let store = stores[usize::try_from(nth).unwrap() % stores.len()].clone();
        busy.spawn(Worker { b, store, over, random }.run());
    }
    for store in &stores[..2] {
        busy.spawn(maintain(Arc::clone(&b), store.clone(), Arc::clone(&over)));
    }
    let (url, watched) = (database.url(), Arc::clone(&over));
    let most = tokio::task::spawn_blocking(move || {
        with(url, async move |client| {
            let asked = "SELECT count(*) FROM attempts WHERE permit_until IS NOT NULL";
            let mut most = 0;
            while !watched.load(Ordering::Relaxed) {
                most = most.max(client.query_one(asked, &[]).await.unwrap().get::<_, i64>(0));
            }
            most
        })
    });
    let ended = async {
        while b.tenant(b.alpha).await.pending_jobs > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(30), ended).await;
    over.store(true, Ordering::Relaxed);
    busy.join_all().await;
    assert_eq!(most.await.unwrap(), LIMIT as i64, "never more, and no fewer where there is work");
    assert!(ended.is_ok(), "{} jobs do not end", b.tenant(b.alpha).await.pending_jobs);
    b.wait(LEASE);
    while b.store().sweep_grants(100).await.unwrap() > 0 {}
    assert_eq!((b.in_flight().await, b.tenant(b.alpha).await.in_flight), (0, 0));
    b.accept_of(b.alpha, LIMIT + 2).await;
    assert_eq!(b.claim(9).await.len(), LIMIT, "all of them are to be had");
    assert_eq!(b.count(b.alpha, State::Running).await, LIMIT as u64);
    drop(stores);
    Arc::into_inner(b).expect("nobody else is at work").finish().await;
}
