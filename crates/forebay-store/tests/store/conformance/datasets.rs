//! Master data by tenant, name and version.

use forebay_core::digest::Digest;
use forebay_store::record::{Actor, AuditAction, AuditQuery, DatasetPut, DatasetRecord, NewDataset};
use serde_json::json;

use crate::bundle::Bundle;

fn suppliers(tenant: i64, content: &[u8]) -> NewDataset {
    NewDataset {
        tenant,
        name: "suppliers".to_owned(),
        digest: Digest::of(content),
        columns: vec!["iban".to_owned(), "name".to_owned()],
        rows: 2,
        bytes: content.len() as u64,
        expected: None,
        most: 3,
        by: Actor::program(),
    }
}

async fn put(b: &Bundle, dataset: NewDataset) -> DatasetPut {
    b.store().put_dataset(dataset).await.unwrap()
}

async fn new(b: &Bundle, dataset: NewDataset) -> DatasetRecord {
    match put(b, dataset).await {
        DatasetPut::New(record) => record,
        other => panic!("{other:?}"),
    }
}

async fn find(b: &Bundle, tenant: i64, version: Option<u32>) -> Option<DatasetRecord> {
    b.store().dataset(tenant, "suppliers", version).await.unwrap()
}

pub async fn versions_are_counted_and_stay(b: &Bundle) {
    let first = new(b, suppliers(b.alpha, b"one")).await;
    assert_eq!((first.version, first.rows, first.bytes, first.created_at), (1, 2, 3, b.now()));
    assert_eq!(
        (first.digest, &first.columns[..]),
        (Digest::of(b"one"), &["iban", "name"].map(String::from)[..])
    );
    b.wait_secs(1);
    let second = new(b, suppliers(b.alpha, b"two")).await;
    assert_eq!(second.version, 2);
    let again = new(b, suppliers(b.alpha, b"one")).await;
    assert_eq!((again.version, again.digest), (3, first.digest), "what was in force before is in force anew");
    b.restart().await;
    assert_eq!(find(b, b.alpha, None).await, Some(again.clone()));
    assert_eq!(find(b, b.alpha, Some(1)).await, Some(first.clone()));
    assert_eq!(find(b, b.alpha, Some(4)).await, None);
    let versions = b.store().dataset_versions(b.alpha, "suppliers", 9).await.unwrap();
    assert_eq!(versions, [again.clone(), second, first]);
    assert_eq!(b.store().dataset_versions(b.alpha, "suppliers", 1).await.unwrap(), [again]);
}

pub async fn the_same_content_again_is_no_new_version(b: &Bundle) {
    let first = new(b, suppliers(b.alpha, b"one")).await;
    b.wait_secs(1);
    assert_eq!(put(b, suppliers(b.alpha, b"one")).await, DatasetPut::Same(first.clone()));
    assert_eq!(find(b, b.alpha, None).await, Some(first));
}

/// I27: the same name of two tenants is two datasets.
pub async fn a_dataset_is_its_tenants(b: &Bundle) {
    let ours = new(b, suppliers(b.alpha, b"one")).await;
    assert_eq!(find(b, b.beta, None).await, None);
    assert_eq!(b.store().datasets(b.beta).await.unwrap(), []);
    assert_eq!(new(b, suppliers(b.beta, b"two")).await.version, 1);
    let accounts = NewDataset { name: "accounts".to_owned(), ..suppliers(b.alpha, b"three") };
    let accounts = new(b, accounts).await;
    assert_eq!(b.store().datasets(b.alpha).await.unwrap(), [accounts, ours], "by name");
}

pub async fn only_on_the_version_that_was_seen(b: &Bundle) {
    let expecting =
        |expected, content: &[u8]| NewDataset { expected: Some(expected), ..suppliers(b.alpha, content) };
    assert_eq!(put(b, expecting(1, b"one")).await, DatasetPut::Moved(None));
    new(b, suppliers(b.alpha, b"one")).await;
    let second = new(b, expecting(1, b"two")).await;
    assert_eq!(put(b, expecting(1, b"three")).await, DatasetPut::Moved(Some(second.clone())));
    assert_eq!(put(b, expecting(2, b"two")).await, DatasetPut::Same(second));
}

pub async fn as_many_as_a_tenant_may_have(b: &Bundle) {
    let named = |name: &str| NewDataset { name: name.to_owned(), ..suppliers(b.alpha, b"one") };
    for name in ["a", "b", "c"] {
        new(b, named(name)).await;
    }
    assert_eq!(put(b, named("d")).await, DatasetPut::TooMany);
    let more = NewDataset { digest: Digest::of(b"two"), ..named("a") };
    assert_eq!(new(b, more).await.version, 2, "a version is not one more");
    new(b, suppliers(b.beta, b"one")).await;
}

pub async fn a_new_version_is_audited(b: &Bundle) {
    for content in [&b"one"[..], b"two", b"two"] {
        put(b, suppliers(b.alpha, content)).await;
    }
    put(b, NewDataset { expected: Some(1), ..suppliers(b.alpha, b"three") }).await;
    let query = AuditQuery { action: Some(AuditAction::DatasetPut), limit: 9, ..AuditQuery::default() };
    let records = b.store().audit(query).await.unwrap().records;
    let shown = |version: u32, content: &[u8]| {
        Some(json!({"version": version, "digest": Digest::of(content), "rows": 2}))
    };
    let told: Vec<_> =
        records.into_iter().map(|record| (record.subject, record.before, record.after)).collect();
    let name = || "suppliers".to_owned();
    assert_eq!(told, [(name(), shown(1, b"one"), shown(2, b"two")), (name(), None, shown(1, b"one"))]);
}
