//! Definitions as immutable numbered revisions.

use forebay_core::digest::Digest;
use forebay_store::record::{Actor, NewRevision, RevisionRecord};

use crate::bundle::Bundle;

async fn apply(b: &Bundle, source: &str) -> RevisionRecord {
    let comment = Some("because".to_owned());
    let revision = NewRevision { source: source.to_owned(), comment, by: Actor::program() };
    b.store().apply_revision(revision).await.unwrap()
}

pub async fn numbers_rise_and_the_last_is_active(b: &Bundle) {
    assert_eq!(b.store().active_revision().await.unwrap(), None);
    let one = apply(b, "a = 1").await;
    assert_eq!((one.number, &one.source[..], one.digest), (1, "a = 1", Digest::of(b"a = 1")));
    assert_eq!((one.comment.as_deref(), one.created_at), (Some("because"), b.now()));
    let two = apply(b, "a = 2").await;
    assert_eq!(two.number, 2);
    assert_eq!(b.store().active_revision().await.unwrap(), Some(two));
    assert_eq!(b.store().revision(1).await.unwrap(), Some(one));
    assert_eq!(b.store().revision(3).await.unwrap(), None);
}

pub async fn the_active_text_is_not_kept_twice(b: &Bundle) {
    let one = apply(b, "a = 1").await;
    b.wait_secs(1);
    assert_eq!(apply(b, "a = 1").await, one);
    assert_eq!(b.store().revision(2).await.unwrap(), None);
}

pub async fn an_older_text_can_be_applied_again(b: &Bundle) {
    apply(b, "a = 1").await;
    apply(b, "a = 2").await;
    let three = apply(b, "a = 1").await;
    assert_eq!((three.number, &three.source[..]), (3, "a = 1"));
    b.restart().await;
    assert_eq!(b.store().active_revision().await.unwrap(), Some(three));
}
