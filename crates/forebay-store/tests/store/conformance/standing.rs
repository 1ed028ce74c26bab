//! Claims that are made in the very transaction that makes a job claimable.

use std::sync::{Arc, Mutex};

use forebay_core::event::EventType;
use forebay_core::job::State;
use forebay_store::record::{Claim, ClaimReply, NewStep, StandingClaim, Told};

use crate::bundle::Bundle;

/// Somebody who stands by with room for so many jobs each time.
struct Worker {
    claim: Claim,
    told: Arc<Mutex<Vec<ClaimReply>>>,
}

impl StandingClaim for Worker {
    fn has_room(&self) -> bool {
        self.claim.slots > 0
    }

    fn claim(&self) -> Option<(Claim, Told)> {
        let told = Arc::clone(&self.told);
        let tell = move |reply| told.lock().unwrap().push(reply);
        (self.claim.slots > 0).then(|| (self.claim.clone(), Box::new(tell) as Told))
    }
}

fn stand_by(b: &Bundle, slots: usize) -> Arc<Worker> {
    let worker = Arc::new(Worker { claim: Claim { slots, ..b.new_claim() }, told: Arc::default() });
    let claim: Arc<dyn StandingClaim> = Arc::<Worker>::clone(&worker);
    b.store().stand_by("main", Arc::downgrade(&claim));
    worker
}

impl Worker {
    /// What it was told since it was asked last.
    fn heard(&self) -> Vec<ClaimReply> {
        std::mem::take(&mut self.told.lock().unwrap())
    }
}

/// I11, I14: when the answer to a submit is there, the job is claimed, with attempt, event and all.
pub async fn a_job_is_accepted_and_claimed_by_one_commit(b: &Bundle) {
    let worker = stand_by(b, 5);
    let job = b.accept_one().await;
    let reply = worker.heard().remove(0);
    let claimed = &reply.claimed[0];
    assert_eq!((claimed.job_id, claimed.fence, reply.claimed.len()), (job, 1, 1));
    assert_eq!((reply.work[0].job_id, &reply.work[0].task[..], reply.work.len()), (job, "chat", 1));
    assert_eq!((b.state(job).await, b.in_flight().await), (State::Running, 1));
    assert_eq!(b.attempts(job).await[0].id, claimed.attempt_id);
    assert_eq!(b.story(job).await, [EventType::Accepted, EventType::Claimed]);
    assert_eq!(b.claim(1).await, [], "nothing is left for others");
    b.succeed(claimed).await;
}

pub async fn the_next_step_is_claimed_as_the_last_one_is_committed(b: &Bundle) {
    let worker = stand_by(b, 1);
    let job = b.accept_one().await;
    let first = worker.heard().remove(0).claimed.remove(0);
    b.step_on(&first, b.new_step()).await;
    let second = worker.heard().remove(0).claimed.remove(0);
    assert_eq!((second.job_id, second.fence), (job, 2));
    assert_eq!(b.attempts(job).await.len(), 2);
    b.succeed(&second).await;
}

/// I10: there is no room, or not for all, or it is another pool's: the signal tells.
pub async fn what_is_not_claimed_at_once_is_signalled(b: &Bundle) {
    let signal = b.store().pool_signal("main");
    let full = stand_by(b, 0);
    let job = b.accept_one().await;
    signal.notified().await;
    assert!(full.heard().is_empty());
    assert_eq!(b.claim_ids(1).await, [job]);
    let one = stand_by(b, 1);
    b.accept_one().await;
    assert_eq!(one.heard().remove(0).claimed.len(), 1);
    signal.notified().await;
    let elsewhere = NewStep { pool: "other".to_owned(), ..b.new_step() };
    let other = b.store().pool_signal("other");
    b.accept(forebay_store::record::NewJob { first_step: elsewhere, ..b.new_job() }).await;
    other.notified().await;
    assert!(one.heard().is_empty());
}

pub async fn who_has_gone_is_not_asked(b: &Bundle) {
    let signal = b.store().pool_signal("main");
    drop(stand_by(b, 1));
    let job = b.accept_one().await;
    signal.notified().await;
    assert_eq!(b.state(job).await, State::Ready);
}
