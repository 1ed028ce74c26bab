//! Several processes on one database: what one does the others learn, at once by NOTIFY and within a second without.
//!
//! Each test measures, but only where what it waits for would never come by another way does it say how long it took:
//! this machine may be busy with other tests.

use std::sync::Arc;
use std::time::Duration;

use forebay_store::postgres::{PostgresStore, Settings, Target};
use forebay_store::record::{Actor, Changed, Claimed, Held, NewRevision, Taken};
use forebay_store::{ManualClock, Store};
use tokio::sync::broadcast::Receiver;

use super::database::{Database, Pooled};
use crate::bundle::Bundle;

/// A store as a second process has it, beside the bundle's.
struct Processes {
    bundle: Bundle,
    other: Arc<dyn Store>,
    database: Arc<Database>,
}

enum Notices {
    On,
    Off,
}

impl Processes {
    async fn new(notices: Notices) -> Self {
        let database = Arc::new(Database::new());
        let target = database.target();
        Self::at(database, target, notices).await
    }

    /// The other process reaches the server as `target` says.
    async fn at(database: Arc<Database>, target: Target, notices: Notices) -> Self {
        let bundle = Bundle::new(Arc::clone(&database)).await;
        let notify = matches!(notices, Notices::On);
        let clock: Arc<ManualClock> = Arc::clone(&bundle.clock);
        let settings = Settings { notify, clock: Some(clock), ..Settings::of(target) };
        let other: Arc<dyn Store> = Arc::new(PostgresStore::open(settings).await.unwrap());
        Self { bundle, other, database }
    }

    async fn finish(self) {
        drop(self.other);
        self.bundle.finish().await;
    }

    /// Signals of a pool that are there from the start, because others may have told before somebody listened.
    async fn hears(&self) {
        soon(async {
            // A notice that comes while the other process connects is lost; one that comes through comes soon.
            let signal = self.other.pool_signal("test");
            loop {
                self.database.run("SELECT pg_notify('forebay', '1 0 pool:test')");
                if tokio::time::timeout(Duration::from_millis(200), signal.notified()).await.is_ok() {
                    break;
                }
            }
        })
        .await;
    }
}

/// Waits, but never for ever.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it is never told")
}

async fn told(changes: &mut Receiver<Arc<Vec<Changed>>>, wanted: Changed) {
    soon(async { while !changes.recv().await.unwrap().contains(&wanted) {} }).await;
}

fn held(claimed: &Claimed) -> Held {
    Held { job_id: claimed.job_id, attempt_id: claimed.attempt_id, fence: claimed.fence }
}

#[tokio::test]
async fn a_job_that_one_accepts_is_signalled_in_the_other() {
    let p = Processes::new(Notices::On).await;
    p.hears().await;
    let signal = p.other.pool_signal("main");
    // What was told while it began to listen.
    tokio::time::timeout(Duration::from_millis(50), signal.notified()).await.ok();
    let job = p.bundle.accept_one().await;
    soon(signal.notified()).await;
    assert_eq!(p.bundle.claim_ids(1).await, [job]);
    p.finish().await;
}

#[tokio::test]
async fn a_job_that_one_cancels_is_taken_in_the_other() {
    let p = Processes::new(Notices::On).await;
    p.hears().await;
    let mut taken = p.other.taken();
    let job = p.bundle.accept_one().await;
    let claimed = p.bundle.claim_one().await;
    assert_eq!(p.other.lost(vec![held(&claimed)]).await.unwrap(), []);
    p.bundle.store().cancel(p.bundle.alpha, job, Actor::program()).await.unwrap();
    assert_eq!(*soon(taken.recv()).await.unwrap(), [Taken { job_id: job, fence: 2 }]);
    assert_eq!(p.other.lost(vec![held(&claimed)]).await.unwrap(), [held(&claimed)]);
    p.finish().await;
}

/// The log tells, with notices and without.
#[tokio::test]
async fn whoever_follows_is_told_of_what_the_other_changes() {
    for notices in [Notices::On, Notices::Off] {
        let p = Processes::new(notices).await;
        let before = p.bundle.accept_one().await;
        let mut changes = p.other.changes();
        let job_id = p.bundle.accept_one().await;
        told(&mut changes, Changed { job_id, tenant: p.bundle.alpha }).await;
        let claimed = p.bundle.claim(2).await;
        assert_eq!(claimed[0].job_id, before);
        told(&mut changes, Changed { job_id: before, tenant: p.bundle.alpha }).await;
        for claimed in &claimed {
            p.bundle.succeed(claimed).await;
        }
        told(&mut changes, Changed { job_id, tenant: p.bundle.alpha }).await;
        p.finish().await;
    }
}

/// Many pages, each change once at least.
#[tokio::test]
async fn whoever_follows_is_told_of_everything() {
    let p = Processes::new(Notices::Off).await;
    let mut changes = p.other.changes();
    let jobs = p.bundle.accept_together((0..1_200).map(|_| p.bundle.new_job()).collect()).await;
    let mut wanted: std::collections::HashSet<_> = jobs.into_iter().map(|job| job.unwrap().job_id).collect();
    soon(async {
        while !wanted.is_empty() {
            for changed in changes.recv().await.unwrap().iter() {
                wanted.remove(&changed.job_id);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn another_revision_is_told_to_the_other() {
    for notices in [Notices::On, Notices::Off] {
        let p = Processes::new(notices).await;
        let signal = p.other.revision_signal();
        p.bundle.store().apply_revision(NewRevision::of("a = 1", Actor::program())).await.unwrap();
        soon(async {
            while p.other.active_revision().await.unwrap().is_none() {
                signal.notified().await;
            }
        })
        .await;
        p.finish().await;
    }
}

/// Whoever loses its connections has others soon, listens again, and looks for what it has missed.
#[tokio::test]
async fn lost_connections_are_made_again() {
    let p = Processes::new(Notices::On).await;
    p.hears().await;
    let all = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND application_name = 'forebay'";
    let signal = p.other.pool_signal("main");
    for _ in 0..2 {
        p.database.run(all);
        soon(signal.notified()).await;
        p.hears().await;
    }
    let mut changes = p.other.changes();
    let job_id = p.bundle.accept_one().await;
    told(&mut changes, Changed { job_id, tenant: p.bundle.alpha }).await;
    p.finish().await;
}

/// A pooler in transaction mode swallows notices: what others do is found by looking.
#[tokio::test]
async fn behind_a_pooler_everything_is_told_by_looking() {
    let pooled = Pooled::new();
    let p = Processes::at(Arc::clone(&pooled.database), pooled.target(), Notices::On).await;
    let mut changes = p.other.changes();
    let job_id = p.bundle.accept_one().await;
    told(&mut changes, Changed { job_id, tenant: p.bundle.alpha }).await;
    // What it tells gets through.
    let signal = p.bundle.store().pool_signal("main");
    let job = p.other.accept(p.bundle.new_job()).await.unwrap().unwrap().job_id;
    soon(signal.notified()).await;
    assert_eq!(p.bundle.claim_ids(2).await, [job_id, job]);
    p.finish().await;
}
