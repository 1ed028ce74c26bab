//! Who maintains the store stands still between looking and acting, and others act meanwhile: what it does when it wakes up
//! it does on the rows as they are then.
#![allow(clippy::disallowed_methods, reason = "a test has no tasks whose end somebody waits for")]

use std::sync::Arc;

use forebay_core::failure::FailureClass;
use forebay_core::job::State;
use forebay_core::time::Millis;
use forebay_store::postgres::PostgresStore;
use forebay_store::record::{Actor, Keep, Walked};
use forebay_store::{Retention as _, Upkeep as _};

use super::database::{Database, address};
use crate::bundle::{Bundle, LEASE, succeed, succeeded, used};
use crate::chaos_proxy::{Action, ChaosProxy};
use crate::conformance::letters::{dead, replay_of};

const HOUR: Millis = Millis::from_secs(3_600);
const KEEP: Keep = Keep { results: HOUR, dead_letters: HOUR, documents: HOUR };

struct Stage {
    b: Arc<Bundle>,
    leader: PostgresStore,
    way: ChaosProxy,
}

impl Stage {
    async fn new() -> Self {
        let database = Arc::new(Database::new());
        let b = Bundle::new(Arc::clone(&database)).await;
        let way = ChaosProxy::start(address());
        let leader = Database::beside_at(Database::target_of(database.name(), way.address()), &b).await;
        Self { b: Arc::new(b), leader, way }
    }

    /// Has the leader do something, and others something else when it is about to write.
    async fn paused<T: Send + 'static>(
        &self,
        at: &str,
        leads: impl Future<Output = T> + Send + 'static,
        others: impl Future<Output = ()>,
    ) -> T {
        let pause = self.way.on(at.as_bytes(), 1, Action::Hold);
        let leading = tokio::spawn(leads);
        pause.fired(1).await;
        others.await;
        pause.release();
        leading.await.unwrap()
    }

    async fn finish(self) {
        drop(self.leader);
        Arc::into_inner(self.b).expect("nobody else is at work").finish().await;
    }
}

/// Permits that have lapsed are given back by somebody else, and taken again by whoever calls next.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_sweep_that_stood_still_gives_no_permit_back_twice() {
    let stage = Stage::new().await;
    let b = &stage.b;
    let (reported, swept) = (b.accept_one().await, b.accept_one().await);
    let claimed = b.claim(2).await;
    for job in [reported, swept] {
        b.store().cancel(b.alpha, job, Actor::program()).await.unwrap();
    }
    b.wait(LEASE);
    let leader = stage.leader.clone();
    let sweeping = async move { leader.sweep_grants(9).await.unwrap() };
    let meanwhile = async {
        let late = claimed.iter().find(|claimed| claimed.job_id == reported).unwrap();
        b.commit(late, succeeded(used(1, 1)), succeed()).await;
        assert_eq!(b.store().sweep_grants(9).await.unwrap(), 1, "the other one's");
        b.accept_one().await;
        b.claim_one().await;
    };
    let returned = stage.paused("(permit_until <= ", sweeping, meanwhile).await;
    assert_eq!((returned, b.in_flight().await, b.tenant(b.alpha).await.in_flight), (0, 1, 1));
    stage.finish().await;
}

/// What was due to be deleted is deleted by somebody else, or somebody wants it after all.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_deletion_that_stood_still_deletes_what_nobody_wants_and_that_once() {
    let stage = Stage::new().await;
    let b = &stage.b;
    let wanted = dead(b, b.new_job(), FailureClass::InvalidRequest).await;
    let done = b.accept_one().await;
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    b.wait(HOUR);
    // The log's last event stays.
    b.accept(b.new_job_of(b.beta)).await;
    let leader = stage.leader.clone();
    let deleting = async move { leader.delete_jobs(0, KEEP, 9).await.unwrap() };
    let meanwhile = async {
        b.store().replay(replay_of(b, wanted)).await.unwrap().unwrap();
        let Walked { deleted, .. } = b.deleting(b.store().delete_jobs(0, KEEP, 9)).await.unwrap();
        assert_eq!(deleted.jobs, 1);
        assert!(b.store().job(b.alpha, done).await.unwrap().is_none());
    };
    let walked = stage.paused("FOR UPDATE SKIP LOCKED", deleting, meanwhile).await;
    assert_eq!(walked.deleted.jobs, 0);
    assert_eq!(b.state(wanted).await, State::FailedTerminal);
    let deleted = b.store().retained().await.unwrap().deleted;
    assert_eq!((deleted.jobs, deleted.events, deleted.attempts), (1, 3, 1), "counted once");
    stage.finish().await;
}
