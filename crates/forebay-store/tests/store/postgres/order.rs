//! Whoever locks several jobs does so in the order of their numbers, and before anything else, in whatever order they are
//! asked for: two who are after the same ones wait for each other, and neither has to begin anew.
#![allow(clippy::disallowed_methods, reason = "a test has no tasks whose end somebody waits for")]

use std::sync::Arc;
use std::time::Duration;

use forebay_core::digest::Digest;
use forebay_core::id::{BatchId, JobId};
use forebay_core::job::{Priority, State};
use forebay_core::time::Millis;
use forebay_store::record::{
    Actor, BatchKind, Begun, Claim, Claimed, Committed, Held, Member, NewBatch, NewJob, Placed,
};
use forebay_store::{Claims as _, Store};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::database::{Database, LeftOpen};
use crate::bundle::{Bundle, LEASE, succeed, succeeded, used};

struct Stage {
    database: Arc<Database>,
    b: Bundle,
    /// How many deadlocks the server had counted in this database before.
    counted: String,
}

impl Stage {
    async fn new() -> Self {
        let database = Arc::new(Database::new());
        let counted = deadlocks(&database);
        let b = Bundle::new(Arc::clone(&database)).await;
        Self { database, b, counted }
    }

    /// Somebody who has a job, the nth that was accepted, until this is dropped.
    fn somebody_has(&self, nth: u32) -> LeftOpen {
        let url = self.database.url();
        LeftOpen::having_done(
            url,
            format!(
                "SELECT FROM jobs WHERE seq = (SELECT seq FROM jobs ORDER BY seq OFFSET {nth} LIMIT 1) FOR UPDATE"
            ),
        )
    }

    async fn until_so_many_wait(&self, many: usize) {
        let asked = "SELECT pid FROM pg_stat_activity
                     WHERE datname = current_database() AND wait_event_type = 'Lock'";
        while self.database.ask(asked).len() != many {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// A job that nothing else is in line with at its desk before it is over.
    fn report_first(&self, claimed: &Claimed) -> JoinHandle<Committed> {
        let (store, report) = (self.b.store(), self.b.new_commit(claimed, succeeded(used(10, 5)), succeed()));
        tokio::spawn(async move { store.commit_step(report).await.unwrap() })
    }

    /// Reports these in one transaction, once the desk is free: in this order. Returns when they wait for it.
    async fn report_together(&self, claimed: [&Claimed; 3]) -> JoinHandle<[Committed; 3]> {
        let store = self.b.store();
        let reports = claimed.map(|job| self.b.new_commit(job, succeeded(used(10, 5)), succeed()));
        let (told, in_line) = oneshot::channel();
        let reporting = tokio::spawn(async move {
            let [one, two, three] = reports.map(|report| store.commit_step(report));
            let in_line = async { told.send(()).unwrap() };
            let (one, two, three, ()) = tokio::join!(biased; one, two, three, in_line);
            [one.unwrap(), two.unwrap(), three.unwrap()]
        });
        in_line.await.unwrap();
        reporting
    }

    fn extend(&self, claimed: [&Claimed; 2]) -> JoinHandle<bool> {
        let (store, held) = (self.b.store(), claimed.map(held).to_vec());
        tokio::spawn(
            async move { store.extend(held, LEASE).await.unwrap().iter().all(|extended| extended.kept) },
        )
    }

    /// Four jobs are reported, the first one alone, and the others together while their lease is extended and somebody
    /// has the second. In the order of their numbers they are given from the first to the last.
    async fn reported_latest_first(&self, claimed: [&Claimed; 4]) {
        let [busy, first, between, last] = claimed;
        let (has_busy, has_first) = (self.somebody_has(0), self.somebody_has(1));
        let reporting = self.report_first(busy);
        self.until_so_many_wait(1).await;
        let together = self.report_together([last, between, first]).await;
        let extending = self.extend([first, last]);
        self.until_so_many_wait(2).await;
        drop(has_busy);
        reporting.await.unwrap();
        self.until_so_many_wait(2).await;
        drop(has_first);
        extending.await.unwrap();
        for committed in together.await.unwrap() {
            assert!(matches!(committed, Committed::Done { state: State::Succeeded, .. }), "{committed:?}");
        }
    }

    /// None of all that was a deadlock.
    async fn finish(self) {
        self.b.finish().await;
        self.database.until_gone(&self.database.now()).await;
        assert_eq!(deadlocks(&self.database), self.counted, "nobody waits in a circle");
    }
}

fn deadlocks(database: &Database) -> String {
    database.ask("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").remove(0)
}

fn held(claimed: &Claimed) -> Held {
    Held { job_id: claimed.job_id, attempt_id: claimed.attempt_id, fence: claimed.fence }
}

/// In the order in which they were accepted.
async fn claimed_by(store: &dyn Store, b: &Bundle, jobs: [JobId; 4]) -> [Claimed; 4] {
    let claim = Claim { slots: 4, ..b.new_claim() };
    let claimed = store.claim(claim).await.unwrap().claimed;
    jobs.map(|job| claimed.iter().find(|claimed| claimed.job_id == job).expect("it is claimed").clone())
}

async fn accepted(b: &Bundle) -> [JobId; 4] {
    b.accept_of(b.alpha, 4).await.try_into().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reports_that_come_latest_first_lock_jobs_in_their_order() {
    let stage = Stage::new().await;
    let jobs = accepted(&stage.b).await;
    let claimed = claimed_by(&*stage.b.store(), &stage.b, jobs).await;
    stage.reported_latest_first(claimed.each_ref()).await;
    stage.finish().await;
}

/// What another process has claimed is read and locked first, and so is whatever is reported with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reports_of_what_is_in_hand_and_of_what_is_not_lock_jobs_in_their_order() {
    let stage = Stage::new().await;
    let [busy, first, between, last] = accepted(&stage.b).await;
    let in_hand = stage.b.claim(3).await;
    let other = stage.database.beside(&stage.b).await;
    let theirs = other.claim(stage.b.new_claim()).await.unwrap().claimed.remove(0);
    drop(other);
    let of = |job| in_hand.iter().chain([&theirs]).find(|claimed| claimed.job_id == job).unwrap();
    assert_eq!(theirs.job_id, last);
    stage.reported_latest_first([busy, first, between, last].map(of)).await;
    stage.finish().await;
}

/// A batch of these jobs.
async fn batch_of(b: &Bundle, jobs: impl IntoIterator<Item = NewJob>) -> BatchId {
    let batch = NewBatch {
        tenant: b.alpha,
        kind: BatchKind::Jobs,
        size: 4,
        idempotency_key: None,
        idempotency_ttl: Millis::from_secs(60),
        body_digest: Digest::of(b"body"),
    };
    let Begun::New(batch) = b.store().begin_batch(batch).await.unwrap() else { panic!("it is new") };
    let members = jobs.into_iter().zip(0..).map(|(job, position)| (position, Member::Job(job))).collect();
    let placed = b.store().place(b.alpha, batch, members, true).await.unwrap();
    assert!(matches!(placed, Placed::Each(each) if each.iter().all(Result::is_ok)));
    batch
}

/// Whose end is that of a member has its batch written before the next one is looked at.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn reports_of_members_of_a_batch_lock_jobs_in_their_order() {
    let stage = Stage::new().await;
    let jobs: [NewJob; 4] = std::array::from_fn(|_| stage.b.new_job());
    let ids = jobs.each_ref().map(|job| job.id);
    batch_of(&stage.b, jobs).await;
    let claimed = claimed_by(&*stage.b.store(), &stage.b, ids).await;
    stage.reported_latest_first(claimed.each_ref()).await;
    stage.finish().await;
}

/// The later job goes first. Beside that, somebody has both in their order.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_claim_locks_jobs_in_their_order_whichever_goes_first() {
    let stage = Stage::new().await;
    stage.b.accept(NewJob { priority: Priority::Low, ..stage.b.new_job() }).await;
    let high = stage.b.accept(NewJob { priority: Priority::High, ..stage.b.new_job() }).await;
    let has_first = stage.somebody_has(0);
    let url = stage.database.url();
    let both = tokio::task::spawn_blocking(|| {
        drop(LeftOpen::having_done(url, "SELECT FROM jobs ORDER BY seq FOR UPDATE"));
    });
    stage.until_so_many_wait(1).await;
    let (store, claim) = (stage.b.store(), Claim { slots: 2, ..stage.b.new_claim() });
    let claiming = tokio::spawn(async move { store.claim(claim).await.unwrap().claimed });
    stage.until_so_many_wait(2).await;
    drop(has_first);
    both.await.unwrap();
    let claimed = claiming.await.unwrap();
    assert_eq!((claimed.len(), claimed[0].job_id), (2, high), "the later one went first");
    for claimed in &claimed {
        stage.b.succeed(claimed).await;
    }
    stage.finish().await;
}

/// A member ends while the whole batch is cancelled: both come to the batch by way of the job.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_end_of_a_member_and_of_its_batch_come_one_after_the_other() {
    let stage = Stage::new().await;
    let batch = batch_of(&stage.b, [stage.b.new_job(), stage.b.new_job()]).await;
    let claimed = stage.b.claim_one().await;
    let has_batch = LeftOpen::having_done(stage.database.url(), "SELECT FROM batches FOR UPDATE");
    let (store, tenant) = (stage.b.store(), stage.b.alpha);
    let cancelling =
        tokio::spawn(async move { store.cancel_batch(tenant, batch, 9, Actor::program()).await.unwrap() });
    stage.until_so_many_wait(1).await;
    let reporting = stage.report_first(&claimed);
    stage.until_so_many_wait(2).await;
    drop(has_batch);
    assert_eq!((cancelling.await.unwrap(), reporting.await.unwrap()), (Some(2), Committed::Lost));
    stage.finish().await;
}
