//! Ordering keys: one job at a time, in accept order, per tenant, task and key.

use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::job::{Priority, State};
use forebay_core::time::Millis;
use forebay_store::record::{Actor, NewJob};

use crate::bundle::{Bundle, review, succeeded, used};

async fn in_a_row(b: &Bundle, count: usize) -> Vec<JobId> {
    let mut jobs = Vec::new();
    for _ in 0..count {
        jobs.push(b.accept(b.ordered_job("k")).await);
    }
    jobs
}

pub async fn one_at_a_time_in_accept_order(b: &Bundle) {
    let mut jobs = in_a_row(b, 2).await;
    jobs.push(b.accept(NewJob { priority: Priority::High, ..b.ordered_job("k") }).await);
    let free = b.accept_one().await;
    assert_eq!(b.claim_ids(9).await, [jobs[0], free]);
    assert!(b.job(jobs[1]).await.behind_key);
    for pair in jobs.windows(2) {
        assert_eq!(b.claim(9).await, [], "the first one has not ended");
        let running = b.job(pair[0]).await;
        let attempt = b.attempts(pair[0]).await.remove(0);
        let claimed = forebay_store::record::Claimed {
            job_id: running.id,
            tenant: running.tenant,
            attempt_id: attempt.id,
            fence: attempt.fence,
            granted_at: attempt.claimed_at,
            reserved: Default::default(),
        };
        b.succeed(&claimed).await;
        assert_eq!(b.claim_ids(9).await, [pair[1]]);
    }
}

pub async fn across_a_retry(b: &Bundle) {
    let jobs = in_a_row(b, 2).await;
    let claimed = b.claim_one().await;
    assert_eq!(b.fail(&claimed, FailureClass::ProviderError).await, State::RetryScheduled);
    assert_eq!(b.claim(9).await, [], "the one that waits for its next try is still the first");
    b.wait_secs(60);
    let claimed = b.claim(9).await;
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].job_id, jobs[0]);
    b.succeed(&claimed[0]).await;
    assert_eq!(b.claim_ids(9).await, [jobs[1]]);
}

pub async fn across_a_step(b: &Bundle) {
    let jobs = in_a_row(b, 2).await;
    let claimed = b.claim_one().await;
    b.step_on(&claimed, b.new_step()).await;
    let claimed = b.claim(9).await;
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].job_id, jobs[0]);
    b.succeed(&claimed[0]).await;
    assert_eq!(b.claim_ids(9).await, [jobs[1]]);
}

/// What a person has not decided has not ended.
pub async fn a_review_blocks_those_behind_it(b: &Bundle) {
    let first = b.accept(b.ordered_job("k")).await;
    let claimed = b.claim_one().await;
    b.commit_own(&claimed, succeeded(used(1, 1)), review()).await;
    let behind = in_a_row(b, 2).await;
    assert_eq!(b.claim(9).await, []);
    b.store().cancel(b.alpha, first, Actor::program()).await.unwrap();
    assert_eq!(b.claim_ids(9).await, [behind[0]]);
}

pub async fn cancelling_one_in_the_middle_lets_nobody_pass(b: &Bundle) {
    let jobs = in_a_row(b, 3).await;
    let first = b.claim_one().await;
    b.store().cancel(b.alpha, jobs[1], Actor::program()).await.unwrap();
    assert_eq!(b.claim(9).await, [], "the first one is still running");
    b.succeed(&first).await;
    assert_eq!(b.claim_ids(9).await, [jobs[2]]);
}

pub async fn the_end_of_the_first_releases_one_that_is_not_due(b: &Bundle) {
    let first = b.accept(b.ordered_job("k")).await;
    let later = b.now().after(Millis::from_secs(60));
    let second = b.accept(NewJob { not_before: Some(later), ..b.ordered_job("k") }).await;
    let claimed = b.claim_one().await;
    assert_eq!(claimed.job_id, first);
    b.succeed(&claimed).await;
    assert_eq!(b.claim(9).await, []);
    assert!(!b.job(second).await.behind_key);
    b.wait_secs(60);
    assert_eq!(b.claim_ids(9).await, [second]);
}

pub async fn keys_belong_to_a_tenant_and_a_task(b: &Bundle) {
    let mine = b.accept(b.ordered_job("k")).await;
    let other_task = b.accept(NewJob { task: "invoice".to_owned(), ..b.ordered_job("k") }).await;
    let theirs = b.accept(NewJob { tenant: b.beta, ..b.ordered_job("k") }).await;
    let mut claimed = b.claim_ids(9).await;
    claimed.sort();
    let mut expected = vec![mine, other_task, theirs];
    expected.sort();
    assert_eq!(claimed, expected);
}

pub async fn one_that_expires_makes_room(b: &Bundle) {
    let soon = b.now().after(Millis::from_secs(60));
    let first = b.accept(NewJob { deadline: soon, ..b.ordered_job("k") }).await;
    let second = b.accept(b.ordered_job("k")).await;
    b.wait_secs(60);
    assert_eq!(b.claim_ids(9).await, [second]);
    assert_eq!(b.state(first).await, State::FailedTerminal);
}
