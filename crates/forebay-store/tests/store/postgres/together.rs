//! Several processes on one database at once, some of whose commits are slow to arrive: nothing is done twice, nothing is
//! lost, and whoever follows the log misses nothing.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_store::postgres::{PostgresStore, Settings};
use forebay_store::record::{Actor, Claim, Claimed, EventQuery, EventRecord, NewJob, Place};
use forebay_store::{Accept as _, Claims as _, Jobs as _, Log as _, Steps as _};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::database::{Database, address};
use crate::bundle::{Bundle, failed, next, succeed, succeeded, try_failed, used};
use crate::chaos_proxy::{Action, ChaosProxy, Trigger};

const PROCESSES: usize = 3;
const CALLERS: usize = 32;
const ROUNDS: usize = 25;
const KEYS: u32 = 12;
const ORDERING_KEYS: u32 = 3;

/// A process: its store, and the way to the database, on which some of its commits wait.
struct Process {
    store: PostgresStore,
    _slow: Trigger,
    _way: ChaosProxy,
}

impl Process {
    async fn start(database: &str, b: &Bundle) -> Self {
        let way = ChaosProxy::start(address());
        let slow = way.on(b"COMMIT", 60, Action::Delay(Duration::from_millis(40)));
        let target = Database::target_of(database, way.address());
        let settings = Settings { clock: Some(b.clock.clone()), ..Settings::of(target) };
        Self { store: PostgresStore::open(settings).await.unwrap(), _slow: slow, _way: way }
    }
}

/// What the callers know together.
#[derive(Default)]
struct Seen {
    /// The job of each idempotency key.
    keys: HashMap<u32, JobId>,
    /// The ordering key of jobs that have one.
    ordered: HashMap<JobId, u32>,
    /// Which job of an ordering key somebody is at work on.
    at_work: HashMap<u32, JobId>,
    claims: HashSet<(JobId, u64)>,
}

impl Seen {
    fn accepted(&mut self, key: Option<u32>, ordering_key: Option<u32>, job: JobId) {
        if let Some(key) = key {
            assert_eq!(*self.keys.entry(key).or_insert(job), job, "a key is one job, whoever accepted it");
        }
        if let Some(ordering_key) = ordering_key {
            self.ordered.insert(job, ordering_key);
        }
    }

    fn claimed(&mut self, claimed: &Claimed) {
        assert!(self.claims.insert((claimed.job_id, claimed.fence)), "a fence is given once");
        if let Some(key) = self.ordered.get(&claimed.job_id) {
            let other = self.at_work.insert(*key, claimed.job_id);
            assert_eq!(other, None, "one job of an ordering key at a time");
        }
    }

    /// From here on another job of the key may be claimed.
    fn leaves(&mut self, job: JobId) {
        if let Some(key) = self.ordered.get(&job)
            && self.at_work.get(key) == Some(&job)
        {
            self.at_work.remove(key);
        }
    }
}

/// Somebody who does this and that, again and again.
struct Caller {
    store: PostgresStore,
    b: Arc<Bundle>,
    seen: Arc<Mutex<Seen>>,
    random: SmallRng,
}

impl Caller {
    async fn run(mut self) {
        for _ in 0..ROUNDS {
            match self.random.random_range(0..10) {
                0..=4 => self.accept().await,
                5..=8 => self.work().await,
                _ => self.cancel().await,
            }
        }
    }

    async fn accept(&mut self) {
        let key = self.random.random_bool(0.5).then(|| self.random.random_range(0..KEYS));
        // What is accepted under a key is the same each time, its ordering key too.
        let ordering_key = match key {
            Some(key) => (key % 2 == 0).then_some(key % ORDERING_KEYS),
            None => self.random.random_bool(0.4).then(|| self.random.random_range(0..ORDERING_KEYS)),
        };
        let job = NewJob {
            idempotency_key: key.map(|key| key.to_string()),
            ordering_key: ordering_key.map(|key| key.to_string()),
            ..self.b.new_job()
        };
        // Known before it can be claimed by anybody.
        if let (None, Some(ordering_key)) = (key, ordering_key) {
            self.seen.lock().unwrap().ordered.insert(job.id, ordering_key);
        }
        let accepted = self.store.accept(job).await.unwrap().unwrap();
        self.seen.lock().unwrap().accepted(key, ordering_key, accepted.job_id);
    }

    async fn work(&mut self) {
        let claim = Claim { slots: self.random.random_range(1..6), ..self.b.new_claim() };
        for claimed in self.store.claim(claim).await.unwrap().claimed {
            self.seen.lock().unwrap().claimed(&claimed);
            let commit = match self.random.random_range(0..10) {
                0 => self.b.new_commit(&claimed, succeeded(used(10, 5)), next(self.b.new_step())),
                1 => {
                    let class = FailureClass::ProviderError;
                    self.b.new_commit(&claimed, failed(class), try_failed(class))
                }
                _ => self.b.new_commit(&claimed, succeeded(used(10, 5)), succeed()),
            };
            self.seen.lock().unwrap().leaves(claimed.job_id);
            self.store.commit_step(commit).await.unwrap();
        }
    }

    async fn cancel(&mut self) {
        let some = self.seen.lock().unwrap().claims.iter().next().map(|(job, _)| *job);
        if let Some(job) = some {
            self.seen.lock().unwrap().leaves(job);
            self.store.cancel(self.b.alpha, job, Actor::program()).await.unwrap();
        }
    }
}

/// Somebody who reads on from the last event they have seen, until they are told that nothing more comes.
struct Follower {
    over: watch::Sender<bool>,
    reading: JoinHandle<Vec<Place>>,
}

impl Follower {
    #[allow(clippy::disallowed_methods, reason = "the test waits for it")]
    fn start(store: PostgresStore, tenant: i64) -> Self {
        let (over, told) = watch::channel(false);
        let reading = tokio::spawn(async move {
            let mut seen = Vec::new();
            loop {
                let over = *told.borrow();
                let after = seen.last().copied().unwrap_or_default();
                let page = store.events(tenant, EventQuery { job: None, after, limit: 50 }).await.unwrap();
                let quiet = page.events.is_empty();
                seen.extend(page.events.iter().map(EventRecord::place));
                if over && quiet {
                    return seen;
                }
            }
        });
        Self { over, reading }
    }

    async fn until_quiet(self) -> Vec<Place> {
        self.over.send_replace(true);
        self.reading.await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_share_a_ledger() {
    let database = Database::new();
    let name = database.name().to_owned();
    let b = Arc::new(Bundle::new(database).await);
    let mut processes = Vec::new();
    for _ in 0..PROCESSES {
        processes.push(Process::start(&name, &b).await);
    }
    let follower = Follower::start(processes[0].store.clone(), b.alpha);
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut callers = JoinSet::new();
    for nth in 0..CALLERS {
        let store = processes[nth % PROCESSES].store.clone();
        let random = SmallRng::seed_from_u64(nth as u64);
        let caller = Caller { store, b: Arc::clone(&b), seen: Arc::clone(&seen), random };
        callers.spawn(caller.run());
    }
    callers.join_all().await;
    let followed = follower.until_quiet().await;
    let all: Vec<Place> = b.events(b.alpha, None).await.iter().map(EventRecord::place).collect();
    assert!(all.len() > CALLERS * ROUNDS / 2, "a good deal has happened");
    assert_eq!(followed, all, "who follows the log sees each event once, in the log's order");
    drop(processes);
    Arc::into_inner(b).expect("nobody else is at work").finish().await;
}
