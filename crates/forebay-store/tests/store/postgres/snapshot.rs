//! Beside a transaction of somebody else's that is left open: what was claimed since stays in the index, and claims don't
//! walk over it each time.

use std::collections::HashSet;
use std::time::Duration;

use forebay_core::id::JobId;
use forebay_core::job::Priority;
use forebay_store::Accept as _;
use forebay_store::postgres::{PostgresStore, Settings};
use forebay_store::record::NewJob;
use tokio::time::Instant;

use super::database::{Database, LeftOpen, address};
use crate::bundle::Bundle;

/// Enough that to walk over them takes longer than what a claim does otherwise.
const MANY: usize = 12_000;

/// A database in which a look from the beginning takes long, and its name.
async fn long_worked() -> (LeftOpen, Bundle, String) {
    let database = Database::new();
    let name = database.name().to_owned();
    let snapshot = LeftOpen::of(database.url());
    let b = Bundle::new(database).await;
    for _ in 0..MANY / 1_000 {
        b.accept_together((0..1_000).map(|_| b.new_job()).collect()).await;
    }
    let mut claimed = 0;
    while claimed < MANY {
        claimed += b.claim(400).await.len();
    }
    (snapshot, b, name)
}

async fn taken(b: &Bundle, jobs: usize) -> Vec<JobId> {
    let began = Instant::now();
    let mut taken = Vec::new();
    while taken.len() < jobs {
        assert!(began.elapsed() < Duration::from_secs(20), "{} of {jobs}", taken.len());
        taken.extend(b.claim_ids(8).await);
    }
    taken
}

/// Whatever comes first and wherever: other places, tenants, keys and tasks.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_in_front_or_into_a_new_lane_is_claimed_at_once() {
    let (_snapshot, b, _) = long_worked().await;
    b.accept_together((0..50).map(|_| b.new_job()).collect()).await;
    b.claim(8).await;
    let urgent = b.accept(NewJob { priority: Priority::High, ..b.new_job() }).await;
    let theirs = b.accept(b.new_job_of(b.beta)).await;
    let other = b.accept(NewJob { task: "other".to_owned(), priority: Priority::High, ..b.new_job() }).await;
    let claimed: HashSet<_> = b.claim_ids(8).await.into_iter().collect();
    assert!([urgent, theirs, other].iter().all(|job| claimed.contains(job)), "{claimed:?}");
    let first = b.accept(b.ordered_job("k")).await;
    let second = b.accept(b.ordered_job("k")).await;
    let rest = taken(&b, 50 - 16 + 3 + 1).await;
    assert!(rest.contains(&first) && !rest.contains(&second));
}

/// Another process puts something where this one does not look: it looks there a moment later.
#[tokio::test(flavor = "multi_thread")]
async fn what_another_process_puts_in_front_is_claimed_soon() {
    let (_snapshot, b, name) = long_worked().await;
    let other =
        Settings { clock: Some(b.clock.clone()), ..Settings::of(Database::target_of(&name, address())) };
    let other = PostgresStore::open(other).await.unwrap();
    let mut theirs = HashSet::new();
    for round in 0..5 {
        let job = NewJob { task: format!("task-{round}"), ..b.new_job_of(b.beta) };
        theirs.insert(other.accept(job).await.unwrap().unwrap().job_id);
        let urgent = NewJob { priority: Priority::High, ..b.new_job() };
        theirs.insert(other.accept(urgent).await.unwrap().unwrap().job_id);
        let found: HashSet<_> = taken(&b, 2).await.into_iter().collect();
        assert_eq!(found, std::mem::take(&mut theirs));
    }
}
