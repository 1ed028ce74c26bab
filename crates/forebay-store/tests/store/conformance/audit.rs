//! Who changed what: a record with each change, and only with a change.

use forebay_core::id::KeyId;
use forebay_store::record::{Actor, AuditAction, AuditQuery, AuditRecord, NewRevision, TenantSettings};

use super::access::new_key;
use crate::bundle::Bundle;

fn anna() -> Actor {
    Actor { key: Some(KeyId::from_bytes([7; 16])), name: "anna".to_owned() }
}

async fn records(b: &Bundle, query: AuditQuery) -> Vec<AuditRecord> {
    b.store().audit(AuditQuery { limit: 100, ..query }).await.unwrap().records
}

async fn by_anna(b: &Bundle) -> Vec<(AuditAction, String)> {
    let query = AuditQuery { actor: anna().key, ..AuditQuery::default() };
    records(b, query)
        .await
        .into_iter()
        .map(|record| (*record.action.known().unwrap(), record.subject))
        .collect()
}

pub async fn each_change_leaves_a_record(b: &Bundle) {
    let (store, job) = (b.store(), b.accept_one().await);
    let settings = TenantSettings { max_in_flight: Some(3), ..TenantSettings::default() };
    store.put_tenant("gamma".to_owned(), settings, anna()).await.unwrap();
    let key = store.add_key(new_key(b.alpha, "s1"), anna()).await.unwrap();
    store.revoke_key(b.alpha, key.id, anna()).await.unwrap();
    store.apply_revision(NewRevision::of("a = 1", anna())).await.unwrap();
    let back = NewRevision { rolled_back_to: Some(1), ..NewRevision::of("a = 0", anna()) };
    store.apply_revision(back).await.unwrap();
    store.cancel(b.alpha, job, anna()).await.unwrap();
    let expected = [
        (AuditAction::JobCancel, job.to_string()),
        (AuditAction::RevisionRollback, "2".to_owned()),
        (AuditAction::RevisionApply, "1".to_owned()),
        (AuditAction::KeyRevoke, key.id.to_string()),
        (AuditAction::KeyCreate, key.id.to_string()),
        (AuditAction::TenantPut, "gamma".to_owned()),
    ];
    assert_eq!(by_anna(b).await, expected, "newest first");
}

pub async fn what_changes_nothing_leaves_none(b: &Bundle) {
    let (store, job) = (b.store(), b.accept_one().await);
    let key = store.add_key(new_key(b.alpha, "s1"), Actor::program()).await.unwrap();
    store.revoke_key(b.alpha, key.id, Actor::program()).await.unwrap();
    store.cancel(b.alpha, job, Actor::program()).await.unwrap();
    let revision = NewRevision::of("a = 1", Actor::program());
    store.apply_revision(revision.clone()).await.unwrap();

    store.put_tenant("alpha".to_owned(), TenantSettings::default(), anna()).await.unwrap();
    store.revoke_key(b.alpha, key.id, anna()).await.unwrap();
    store.revoke_key(b.beta, key.id, anna()).await.unwrap();
    store.cancel(b.alpha, job, anna()).await.unwrap();
    store.apply_revision(NewRevision { by: anna(), ..revision.clone() }).await.unwrap();
    let moved = NewRevision { expect: Some(7), ..NewRevision::of("a = 2", anna()) };
    store.apply_revision(moved).await.unwrap();
    assert_eq!(by_anna(b).await, []);
}

pub async fn it_says_what_was_and_what_is(b: &Bundle) {
    let settings = TenantSettings { max_in_flight: Some(3), ..TenantSettings::default() };
    b.store().put_tenant("alpha".to_owned(), settings, anna()).await.unwrap();
    let record = records(b, AuditQuery::default()).await.remove(0);
    assert_eq!((record.actor, record.at, record.tenant.as_deref()), (anna(), b.now(), Some("alpha")));
    assert_eq!(record.before.unwrap()["max_in_flight"], serde_json::Value::Null);
    assert_eq!(record.after.unwrap()["max_in_flight"], 3);
}

pub async fn a_tenant_sees_its_own_affairs(b: &Bundle) {
    b.store().add_key(new_key(b.alpha, "s1"), anna()).await.unwrap();
    let theirs = b.store().add_key(new_key(b.beta, "s2"), anna()).await.unwrap();
    b.store().apply_revision(NewRevision::of("a = 1", anna())).await.unwrap();
    let seen =
        records(b, AuditQuery { tenant: Some(b.beta), actor: anna().key, ..AuditQuery::default() }).await;
    assert_eq!(seen.iter().map(|record| record.subject.clone()).collect::<Vec<_>>(), [theirs.id.to_string()]);
}

pub async fn records_are_found_by_what_is_asked(b: &Bundle) {
    let key = b.store().add_key(new_key(b.alpha, "s1"), anna()).await.unwrap();
    b.wait_secs(10);
    let later = b.now();
    b.store().revoke_key(b.alpha, key.id, anna()).await.unwrap();
    let about = |query: AuditQuery| async move {
        let found = records(b, AuditQuery { subject: Some(key.id.to_string()), ..query }).await;
        found.into_iter().map(|record| *record.action.known().unwrap()).collect::<Vec<_>>()
    };
    let all = [AuditAction::KeyRevoke, AuditAction::KeyCreate];
    assert_eq!(about(AuditQuery::default()).await, all);
    assert_eq!(about(AuditQuery { since: Some(later), ..AuditQuery::default() }).await, all[..1]);
    assert_eq!(about(AuditQuery { until: Some(later), ..AuditQuery::default() }).await, all[1..]);
    assert_eq!(about(AuditQuery { action: Some(all[1]), ..AuditQuery::default() }).await, all[1..]);
    let nobody = Some(KeyId::from_bytes([9; 16]));
    assert_eq!(about(AuditQuery { actor: nobody, ..AuditQuery::default() }).await, []);
}

pub async fn pages_hold_each_record_once(b: &Bundle) {
    for secret in ["s1", "s2", "s3", "s4", "s5"] {
        b.store().add_key(new_key(b.alpha, secret), anna()).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let query = AuditQuery { actor: anna().key, before, limit: 2, ..AuditQuery::default() };
        let page = b.store().audit(query).await.unwrap();
        seen.extend(page.records.iter().map(|record| record.seq));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 5);
    assert!(seen.is_sorted_by(|one, next| one > next), "{seen:?}");
}
