//! Definitions as immutable numbered revisions.

use forebay_core::digest::Digest;
use forebay_store::record::{Actor, Applied, AuditQuery, NewRevision, RevisionRecord};

use super::access::new_key;
use crate::bundle::Bundle;

fn revision(source: &str) -> NewRevision {
    NewRevision { comment: Some("because".to_owned()), ..NewRevision::of(source, Actor::program()) }
}

async fn apply(b: &Bundle, source: &str) -> RevisionRecord {
    match b.store().apply_revision(revision(source)).await.unwrap() {
        Applied::New(record) => record,
        other => panic!("not new: {other:?}"),
    }
}

pub async fn numbers_rise_and_the_last_is_active(b: &Bundle) {
    assert_eq!(b.store().active_revision().await.unwrap(), None);
    let one = apply(b, "a = 1").await;
    assert_eq!((one.info.number, &one.source[..], one.info.digest), (1, "a = 1", Digest::of(b"a = 1")));
    assert_eq!((one.info.comment.as_deref(), one.info.created_at), (Some("because"), b.now()));
    let two = apply(b, "a = 2").await;
    assert_eq!(two.info.number, 2);
    assert_eq!(b.store().active_revision().await.unwrap(), Some(two));
    assert_eq!(b.store().revision(1).await.unwrap(), Some(one));
    assert_eq!(b.store().revision(3).await.unwrap(), None);
}

pub async fn the_active_text_is_not_kept_twice(b: &Bundle) {
    let one = apply(b, "a = 1").await;
    b.wait_secs(1);
    for expect in [None, Some(1), Some(7)] {
        let again = NewRevision { expect, ..revision("a = 1") };
        assert_eq!(b.store().apply_revision(again).await.unwrap(), Applied::Already(one.clone()));
    }
    assert_eq!(b.store().revision(2).await.unwrap(), None);
}

pub async fn an_older_text_can_be_applied_again(b: &Bundle) {
    apply(b, "a = 1").await;
    apply(b, "a = 2").await;
    let back = NewRevision { rolled_back_to: Some(1), ..revision("a = 1") };
    let three = b.store().apply_revision(back).await.unwrap().active().clone();
    assert_eq!((three.info.number, &three.source[..]), (3, "a = 1"));
    let audited = b.store().audit(AuditQuery { limit: 1, ..AuditQuery::default() }).await.unwrap();
    assert_eq!(audited.records[0].after.as_ref().unwrap()["rolled_back_to"], 1);
    b.restart().await;
    assert_eq!(b.store().active_revision().await.unwrap(), Some(three));
}

pub async fn who_expected_another_one_changes_nothing(b: &Bundle) {
    let one = apply(b, "a = 1").await;
    let expecting = |number, source| NewRevision { expect: Some(number), ..revision(source) };
    let two = b.store().apply_revision(expecting(1, "a = 2")).await.unwrap();
    assert!(matches!(&two, Applied::New(record) if record.info.number == 2), "{two:?}");
    let late = b.store().apply_revision(expecting(one.info.number, "a = 3")).await.unwrap();
    assert_eq!(late, Applied::Moved(two.active().clone()));
    assert_eq!(b.store().active_revision().await.unwrap().as_ref(), Some(two.active()));
}

pub async fn a_list_says_who_and_when(b: &Bundle) {
    let key = b.store().add_key(new_key(b.alpha, "s1"), Actor::program()).await.unwrap();
    let by = Actor { key: Some(key.id), name: key.name };
    apply(b, "a = 1").await;
    b.store().apply_revision(NewRevision { by: by.clone(), ..revision("a = 2") }).await.unwrap();
    apply(b, "a = 3").await;
    let first = b.store().revisions(None, 2).await.unwrap();
    let numbers = |page: &forebay_store::record::RevisionPage| {
        page.revisions.iter().map(|info| info.number).collect::<Vec<_>>()
    };
    assert_eq!((numbers(&first), first.next), (vec![3, 2], Some(2)));
    assert_eq!((&first.revisions[0].by, &first.revisions[1].by), (&Actor::program(), &by));
    let last = b.store().revisions(first.next, 2).await.unwrap();
    assert_eq!((numbers(&last), last.next), (vec![1], None));
}

pub async fn another_active_one_is_told(b: &Bundle) {
    let signal = b.store().revision_signal();
    apply(b, "a = 1").await;
    signal.notified().await;
}
