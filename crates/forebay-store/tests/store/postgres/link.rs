//! What breaks between a process and its database: whoever is told that something was written finds it, and nothing is
//! written twice.

use std::sync::Arc;
use std::time::Duration;

use forebay_core::job::State;
use forebay_store::postgres::{PostgresStore, Settings};
use forebay_store::record::{Committed, NewJob};
use forebay_store::{Accept as _, Claims as _, Steps as _, StoreError};
use tokio::task::JoinSet;

use super::database::{Database, address, server, with};
use crate::bundle::{Bundle, succeed, succeeded, used};
use crate::chaos_proxy::{Action, ChaosProxy, Cut};

/// A store behind a proxy, beside the bundle's own on the same database.
struct Far {
    b: Bundle,
    name: String,
    store: PostgresStore,
    way: ChaosProxy,
}

impl Far {
    async fn new() -> Self {
        let database = Database::new();
        let name = database.name().to_owned();
        let b = Bundle::new(database).await;
        let way = ChaosProxy::start(address());
        let target = Database::target_of(&name, way.address());
        let settings = Settings { clock: Some(b.clock.clone()), ..Settings::of(target) };
        let store = PostgresStore::open(settings).await.unwrap();
        // From now on every statement that an acceptance needs is known to the connection.
        store.accept(b.keyed_job("first")).await.unwrap().unwrap();
        Self { b, name, store, way }
    }

    /// Accepts a job while something happens to the commit.
    async fn accept_while(&self, action: Action) -> Result<NewJob, StoreError> {
        let job = self.b.keyed_job("order-1");
        let trigger = self.way.on(b"COMMIT", 1, action);
        let accepted = self.store.accept(job.clone()).await?.unwrap();
        trigger.fired(1).await;
        assert_eq!((accepted.job_id, accepted.replayed), (job.id, false));
        Ok(job)
    }

    /// The job is there once, with one event, and its key stands for it.
    async fn finds_once(self, job: &NewJob) {
        let again =
            self.store.accept(NewJob { id: self.b.new_job().id, ..job.clone() }).await.unwrap().unwrap();
        assert_eq!((again.job_id, again.replayed), (job.id, true));
        assert_eq!(self.b.all_jobs(self.b.alpha).await.len(), 2, "the first one and this");
        assert_eq!(self.b.events(self.b.alpha, Some(job.id)).await.len(), 1);
        drop(self.store);
        self.b.finish().await;
    }
}

/// F03: the server has committed, and its answer never arrives.
#[tokio::test]
async fn a_commit_whose_answer_is_cut_off_is_found_to_have_happened() {
    let far = Far::new().await;
    let job = far.accept_while(Action::CutAtAnswer).await.unwrap();
    far.finds_once(&job).await;
}

/// The server never heard of the commit.
#[tokio::test]
async fn a_commit_that_never_arrives_is_made_again() {
    let far = Far::new().await;
    let job = far.accept_while(Action::CutBefore).await.unwrap();
    far.finds_once(&job).await;
}

/// The link goes dead without a word: the process waits for a while and no longer.
#[tokio::test]
async fn a_commit_whose_answer_is_lost_without_a_word_is_asked_for() {
    let far = Far::new().await;
    let job = far.accept_while(Action::LoseAnswer).await.unwrap();
    far.finds_once(&job).await;
}

/// F50: the worker does not make the call again.
#[tokio::test]
async fn a_step_whose_answer_is_cut_off_is_committed() {
    let far = Far::new().await;
    let claimed = far.store.claim(far.b.new_claim()).await.unwrap().claimed.pop().unwrap();
    let trigger = far.way.on(b"COMMIT", 1, Action::CutAtAnswer);
    let commit = far.b.new_commit(&claimed, succeeded(used(10, 5)), succeed());
    let committed = far.store.commit_step(commit).await.unwrap();
    trigger.fired(1).await;
    assert!(matches!(committed, Committed::Done { state: State::Succeeded, .. }), "{committed:?}");
    assert_eq!(far.b.attempts(claimed.job_id).await.len(), 1);
    drop(far.store);
    far.b.finish().await;
}

/// F69: whatever a connection is doing when it is ended, each caller is told the truth.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn connections_that_are_ended_all_the_time_lose_nothing() {
    let far = Arc::new(Far::new().await);
    let mut callers = JoinSet::new();
    for nth in 0..16 {
        let far = Arc::clone(&far);
        callers.spawn(async move {
            let mut told = Vec::new();
            for round in 0..20 {
                let job = far.b.keyed_job(&format!("{nth}-{round}"));
                match far.store.accept(job).await {
                    Ok(accepted) => told.push(accepted.unwrap().job_id),
                    Err(StoreError::Unavailable(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            told
        });
    }
    let mut accepted = Vec::new();
    loop {
        tokio::select! {
            done = callers.join_next() => match done {
                Some(told) => accepted.extend(told.unwrap()),
                None => break,
            },
            () = tokio::time::sleep(Duration::from_millis(30)) => far.end_connections(),
        }
    }
    assert!(accepted.len() > 100, "{} jobs were accepted all the same", accepted.len());
    for job in accepted {
        far.b.job(job).await;
    }
    let far = Arc::into_inner(far).unwrap();
    drop(far.store);
    far.b.finish().await;
}

impl Far {
    /// Ends every connection of this store: some as an operator would, all others on the way.
    fn end_connections(&self) {
        let name = self.name.clone();
        with(server(), async move |client| {
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                       WHERE datname = $1 AND pid <> pg_backend_pid() AND random() < 0.3";
            client.execute(end, &[&name]).await.unwrap();
        });
        self.way.cut(Cut::Reset);
    }
}

/// F71, C07: while the server takes no writes, that is what callers are told; afterwards everything goes on by itself.
#[tokio::test]
async fn a_server_that_only_reads_is_unavailable_and_nothing_more() {
    let far = Far::new().await;
    far.reads_only(true);
    let refused = far.store.accept(far.b.keyed_job("order-1")).await;
    assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    far.reads_only(false);
    let job = far.b.keyed_job("order-2");
    far.store.accept(job.clone()).await.unwrap().unwrap();
    far.finds_once(&job).await;
}

impl Far {
    fn reads_only(&self, on: bool) {
        let name = self.name.clone();
        with(server(), async move |client| {
            let set = format!("ALTER DATABASE {name} SET default_transaction_read_only = {on}");
            client.batch_execute(&set).await.unwrap();
        });
        self.way.cut(Cut::Reset);
    }
}

/// F78, C20: callers that go away in the middle leave no transaction behind, and undo nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn callers_that_go_away_leave_no_transaction_behind() {
    let far = Far::new().await;
    for nth in 0..300_u64 {
        let accepting = far.store.accept(far.b.keyed_job(&format!("gone-{nth}")));
        tokio::time::timeout(Duration::from_micros(nth * 20 % 5_000), accepting).await.ok();
    }
    let mut accepted = Vec::new();
    for _ in 0..50 {
        accepted.push(far.store.accept(far.b.new_job()).await.unwrap().unwrap().job_id);
    }
    let name = far.name.clone();
    let idle: i64 = with(server(), async move |client| {
        let asked = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND state LIKE 'idle in%'
                     AND state_change < clock_timestamp() - interval '1 second'";
        client.query_one(asked, &[&name]).await.unwrap().get(0)
    });
    assert_eq!(idle, 0, "transactions that nobody goes on with");
    for job in accepted {
        far.b.job(job).await;
    }
    drop(far.store);
    far.b.finish().await;
}

/// The clock is read after the wait for the rows, also by what a connection runs for the first time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_report_that_waits_for_its_job_is_dated_after_the_wait() {
    let database = Database::new();
    let (url, target) = (database.url(), database.target());
    let b = Bundle::new(database).await;
    // By the clock of the server. What one has claimed is not in the hands of the other.
    let store = PostgresStore::open(Settings::of(target.clone())).await.unwrap();
    let other = PostgresStore::open(Settings::of(target)).await.unwrap();
    let claim_by = async |store: &PostgresStore| {
        store.accept(b.new_job()).await.unwrap().unwrap();
        store.claim(b.new_claim()).await.unwrap().claimed.pop().unwrap()
    };
    let in_hand = claim_by(&store).await;
    store.commit_step(b.new_commit(&in_hand, succeeded(used(10, 5)), succeed())).await.unwrap();
    let claimed = claim_by(&other).await;
    let (locked, is_locked) = tokio::sync::oneshot::channel();
    let holder = tokio::task::spawn_blocking(move || {
        with(url, async move |client| {
            client.batch_execute("BEGIN; SELECT FROM jobs FOR UPDATE").await.unwrap();
            locked.send(()).unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
            let now = "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint)";
            let let_go: i64 = client.query_one(now, &[]).await.unwrap().get(0);
            client.batch_execute("COMMIT").await.unwrap();
            let_go
        })
    });
    is_locked.await.unwrap();
    store.commit_step(b.new_commit(&claimed, succeeded(used(10, 5)), succeed())).await.unwrap();
    let let_go = holder.await.unwrap();
    let settled = b.attempts(claimed.job_id).await[0].ended_at.unwrap().as_millis();
    assert!(settled >= let_go, "settled at {settled}, while another had the job until {let_go}");
}
