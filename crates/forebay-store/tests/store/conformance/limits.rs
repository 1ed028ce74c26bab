//! Calls in flight of tenants, keys and tasks: each at n and n + 1, changed while jobs wait, and in nobody else's way.

use std::collections::BTreeMap;

use forebay_store::record::{Actor, AuditAction, AuditQuery, Claim, NewJob, TenantSettings};

use super::shares::key_of;
use crate::bundle::Bundle;

fn limited(b: &Bundle, task: &str, limit: u64) -> Claim {
    Claim { task_limits: BTreeMap::from([(task.to_owned(), limit)]), slots: 50, ..b.new_claim() }
}

pub async fn a_key_holds_at_n(b: &Bundle) {
    let key_id = Some(key_of(b, b.alpha, Some(2)).await);
    for _ in 0..5 {
        b.accept(NewJob { key_id, ..b.new_job() }).await;
    }
    let first = b.claim(9).await;
    assert_eq!(first.len(), 2);
    assert_eq!(b.claim(9).await, []);
    let key = b.store().keys(b.alpha).await.unwrap().remove(0);
    assert_eq!((key.in_flight, key.max_in_flight), (2, Some(2)));
    b.succeed(&first[0]).await;
    assert_eq!(b.claim(9).await.len(), 1);
}

pub async fn the_limit_of_a_key_counts_at_once(b: &Bundle) {
    let key = key_of(b, b.alpha, Some(1)).await;
    for _ in 0..4 {
        b.accept(NewJob { key_id: Some(key), ..b.new_job() }).await;
    }
    assert_eq!(b.claim(9).await.len(), 1);
    let signal = b.store().pool_signal("main");
    let changed = b.store().limit_key(b.alpha, key, Some(3), Actor::program()).await.unwrap().unwrap();
    assert_eq!(changed.max_in_flight, Some(3));
    signal.notified().await;
    assert_eq!(b.claim(9).await.len(), 2);
    b.store().limit_key(b.alpha, key, None, Actor::program()).await.unwrap().unwrap();
    assert_eq!(b.claim(9).await.len(), 1);
    assert_eq!(b.store().limit_key(b.beta, key, None, Actor::program()).await.unwrap(), None);
    let entries =
        b.store().audit(AuditQuery { action: Some(AuditAction::KeyPut), ..audit(b) }).await.unwrap().records;
    assert_eq!(entries.len(), 2, "what changes nothing leaves none");
}

fn audit(b: &Bundle) -> AuditQuery {
    AuditQuery { tenant: Some(b.alpha), limit: 10, ..AuditQuery::default() }
}

/// What one key may not take is not lost for another, and costs the tenant nothing.
pub async fn a_full_key_is_passed_by(b: &Bundle) {
    let full = key_of(b, b.alpha, Some(1)).await;
    let free = key_of(b, b.alpha, None).await;
    for key_id in [Some(full), Some(free), None] {
        for _ in 0..6 {
            b.accept(NewJob { key_id, ..b.new_job() }).await;
        }
    }
    b.accept_of(b.beta, 10).await;
    let claimed = b.claim(16).await;
    assert_eq!(claimed.len(), 16);
    assert_eq!(claimed.iter().filter(|claimed| claimed.tenant == b.alpha).count(), 8);
    for slots in [1, 1, 9] {
        assert!(!b.claim(slots).await.is_empty(), "others have jobs");
    }
    assert_eq!(b.claim(9).await, [], "what is left is the full key's");
}

pub async fn a_task_holds_at_n_over_all_tenants(b: &Bundle) {
    b.accept_of(b.alpha, 4).await;
    b.accept_of(b.beta, 4).await;
    let first = b.take(limited(b, "chat", 3)).await.claimed;
    assert_eq!(first.len(), 3);
    assert_eq!(b.take(limited(b, "chat", 3)).await.claimed, []);
    b.succeed(&first[0]).await;
    assert_eq!(b.take(limited(b, "chat", 3)).await.claimed.len(), 1);
    assert_eq!(b.take(limited(b, "chat", 5)).await.claimed.len(), 2, "a higher limit counts at once");
    assert_eq!(b.claim(9).await.len(), 2, "and so does none");
}

pub async fn a_full_task_is_passed_by(b: &Bundle) {
    b.accept_together((0..100).map(|_| b.new_job()).collect()).await;
    let of_task = |task: &str| NewJob { task: task.to_owned(), ..b.new_job() };
    let behind = b.accept(of_task("invoice")).await;
    let before = b.accept(of_task("agenda")).await;
    let claimed: Vec<_> =
        b.take(limited(b, "chat", 2)).await.claimed.into_iter().map(|job| job.job_id).collect();
    assert_eq!(claimed.len(), 4);
    assert!(claimed.contains(&behind) && claimed.contains(&before));
    assert_eq!(b.take(limited(b, "chat", 0)).await.claimed, []);
}

/// What a transaction has counted and not written counts: a call that ends makes room for one that begins.
pub async fn a_call_that_ends_makes_room_in_its_own_transaction(b: &Bundle) {
    b.allow(b.alpha, TenantSettings { max_in_flight: Some(1), ..TenantSettings::default() }).await;
    let key_id = Some(key_of(b, b.alpha, Some(1)).await);
    for _ in 0..3 {
        b.accept(NewJob { key_id, ..b.new_job() }).await;
    }
    for _ in 0..3 {
        let claimed = b.take(limited(b, "chat", 1)).await.claimed;
        assert_eq!(claimed.len(), 1);
        assert_eq!(b.claim(9).await, []);
        b.succeed(&claimed[0]).await;
    }
}

/// I17: many workers at once, and no limit is exceeded by one.
pub async fn many_claimers_never_exceed_the_limit_of_a_key(b: &Bundle) {
    let key_id = Some(key_of(b, b.alpha, Some(13)).await);
    b.accept_together((0..80).map(|_| NewJob { key_id, ..b.new_job() }).collect()).await;
    b.accept_together((0..40).map(|_| b.new_job_of(b.beta)).collect()).await;
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (store, claim) = (b.store(), Claim { slots: 4, ..b.new_claim() });
        workers.spawn(async move { store.claim(claim).await.unwrap().claimed });
    }
    let claimed: Vec<_> = workers.join_all().await.into_iter().flatten().collect();
    assert_eq!(claimed.iter().filter(|claimed| claimed.tenant == b.alpha).count(), 13);
    assert_eq!(claimed.len(), 53);
}
