//! Who is served first.

use forebay_core::failure::FailureClass;
use forebay_core::job::Priority;
use forebay_core::money::Micros;
use forebay_core::time::Millis;
use forebay_store::record::{NewJob, TenantSettings};

use crate::bundle::Bundle;

/// I19: a tenant's single job waits one round at most, whatever another one queues.
pub async fn tenants_take_turns(b: &Bundle) {
    b.accept_together((0..1_000).map(|_| b.new_job()).collect()).await;
    let single = b.accept(b.new_job_of(b.beta)).await;
    assert!(b.claim_ids(2).await.contains(&single));
}

/// The turn is the store's: workers that take one job each serve all tenants.
pub async fn the_turn_goes_on_where_it_stopped(b: &Bundle) {
    b.accept_of(b.alpha, 3).await;
    b.accept_of(b.beta, 3).await;
    let mut served = Vec::new();
    for _ in 0..6 {
        served.push(b.claim_one().await.tenant);
    }
    assert!(served.windows(2).all(|pair| pair[0] != pair[1]), "{served:?}");
}

pub async fn a_tenant_at_its_limit_is_passed_by(b: &Bundle) {
    b.allow(b.alpha, TenantSettings { max_in_flight: Some(2), ..TenantSettings::default() }).await;
    b.accept_of(b.alpha, 5).await;
    b.accept_of(b.beta, 3).await;
    let claimed = b.claim(9).await;
    let of = |tenant| claimed.iter().filter(|claimed| claimed.tenant == tenant).count();
    assert_eq!((of(b.alpha), of(b.beta)), (2, 3));
    let done = claimed.iter().find(|claimed| claimed.tenant == b.alpha).unwrap();
    b.succeed(done).await;
    assert_eq!(b.claim(9).await.len(), 1);
}

/// What one tenant can't pay holds nobody else up.
pub async fn a_tenant_without_money_is_passed_by(b: &Bundle) {
    b.allow(b.alpha, TenantSettings { budget: Some(Micros(250)), ..TenantSettings::default() }).await;
    b.accept_of(b.alpha, 3).await;
    b.accept_of(b.beta, 3).await;
    let claimed = b.claim(9).await;
    let of = |tenant| claimed.iter().filter(|claimed| claimed.tenant == tenant).count();
    assert_eq!((of(b.alpha), of(b.beta)), (1, 3));
    b.allow(b.alpha, TenantSettings::default()).await;
    assert_eq!(b.claim(9).await.len(), 2, "more money lets the rest go");
}

pub async fn priority_goes_first(b: &Bundle) {
    let mut jobs = Vec::new();
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        jobs.push(b.accept(NewJob { priority, ..b.new_job() }).await);
    }
    jobs.reverse();
    assert_eq!(b.claim_ids(3).await, jobs);
}

/// Nothing starves: a class is a head start, not precedence.
pub async fn waiting_long_enough_beats_priority(b: &Bundle) {
    let waited = b.accept_one().await;
    b.wait(Millis::from_secs(600));
    let at_par = b.accept(NewJob { priority: Priority::High, ..b.new_job() }).await;
    b.wait(Millis::new(1));
    let later = b.accept(NewJob { priority: Priority::High, ..b.new_job() }).await;
    assert_eq!(b.claim_ids(3).await, [waited, at_par, later]);
}

pub async fn retries_go_before_new_jobs(b: &Bundle) {
    let retried = b.accept_one().await;
    let claimed = b.claim_one().await;
    b.fail(&claimed, FailureClass::ProviderError).await;
    let new = b.accept_one().await;
    b.wait_secs(60);
    assert_eq!(b.claim_ids(2).await, [retried, new]);
}

pub async fn jobs_that_have_started_go_before_new_ones(b: &Bundle) {
    let started = b.accept_one().await;
    let claimed = b.claim_one().await;
    let new = b.accept_one().await;
    b.wait_secs(1);
    b.step_on(&claimed, b.new_step()).await;
    assert_eq!(b.claim_ids(2).await, [started, new]);
}

pub async fn among_equals_in_accept_order(b: &Bundle) {
    let jobs = b.accept_of(b.alpha, 20).await;
    assert_eq!(b.claim_ids(20).await, jobs);
}
