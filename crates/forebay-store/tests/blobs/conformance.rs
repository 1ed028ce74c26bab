//! The cases. They know nothing of any backend.

use std::sync::Arc;
use std::time::Duration;

use forebay_core::digest::Digest;
use forebay_store::StoreError;
use forebay_store::blob::{BLOB_BYTES, Blobs, probe};

/// A store of blobs, empty, for one case.
pub trait Backend: Send + Sync {
    /// The blobs, as a process opens them; a second call opens the same for another process.
    fn open(&self) -> Arc<dyn Blobs>;

    /// Puts other bytes in the place of a blob, behind the store's back.
    fn replace(&self, digest: Digest, bytes: &'static [u8]) -> impl Future<Output = ()> + Send;
}

/// One test a case for a backend. `$backend` is a path to an `async fn` that makes a [`Backend`].
macro_rules! cases {
    ($backend:path) => {
        $crate::conformance::cases! { $backend;
            what_was_kept_is_read_back,
            nothing_is_a_blob_too,
            another_process_reads_it,
            what_was_never_kept_is_not_there,
            keeping_it_again_is_no_change,
            many_at_once_keep_the_same,
            the_largest_document_is_kept,
            more_than_the_most_is_refused,
            other_content_is_never_handed_out,
            what_was_cut_is_mended_by_the_next_put,
            what_was_removed_is_gone,
            only_what_is_old_enough_is_removed,
            a_list_has_everything_in_order_and_in_pages,
            a_probe_leaves_nothing,
        }
    };
    ($backend:path; $($case:ident,)*) => {
        $(
            #[tokio::test]
            async fn $case() {
                $crate::conformance::$case(&$backend().await).await;
            }
        )*
    };
}
pub(crate) use cases;

pub async fn what_was_kept_is_read_back(backend: &impl Backend) {
    let blobs = backend.open();
    let odd = vec![0, 0xff, b'\n', 0xc3];
    let digest = blobs.put(odd.clone()).await.unwrap();
    assert_eq!(digest, Digest::of(&odd));
    assert_eq!(blobs.get(digest).await.unwrap(), Some(odd));
}

pub async fn nothing_is_a_blob_too(backend: &impl Backend) {
    let blobs = backend.open();
    let digest = blobs.put(Vec::new()).await.unwrap();
    assert_eq!(blobs.get(digest).await.unwrap(), Some(Vec::new()));
}

pub async fn another_process_reads_it(backend: &impl Backend) {
    let digest = backend.open().put(b"for all".to_vec()).await.unwrap();
    assert_eq!(backend.open().get(digest).await.unwrap(), Some(b"for all".to_vec()));
}

pub async fn what_was_never_kept_is_not_there(backend: &impl Backend) {
    let blobs = backend.open();
    blobs.put(b"a neighbour".to_vec()).await.unwrap();
    assert_eq!(blobs.get(Digest::of(b"never")).await.unwrap(), None);
}

pub async fn keeping_it_again_is_no_change(backend: &impl Backend) {
    let blobs = backend.open();
    let first = blobs.put(b"abc".to_vec()).await.unwrap();
    assert_eq!(blobs.put(b"abc".to_vec()).await.unwrap(), first);
    assert_eq!(blobs.list(None, 10).await.unwrap().len(), 1);
    assert_eq!(blobs.get(first).await.unwrap(), Some(b"abc".to_vec()));
}

pub async fn many_at_once_keep_the_same(backend: &impl Backend) {
    let bytes = vec![7; 300_000];
    let puts = (0..16).map(|_| {
        let (blobs, bytes) = (backend.open(), bytes.clone());
        tokio::spawn(async move { blobs.put(bytes).await })
    });
    for put in puts.collect::<Vec<_>>() {
        assert_eq!(put.await.unwrap().unwrap(), Digest::of(&bytes));
    }
    let blobs = backend.open();
    assert_eq!(blobs.list(None, 10).await.unwrap().len(), 1);
    assert_eq!(blobs.get(Digest::of(&bytes)).await.unwrap(), Some(bytes));
}

pub async fn the_largest_document_is_kept(backend: &impl Backend) {
    let blobs = backend.open();
    let mut bytes = vec![b'x'; forebay_core::limits::DOCUMENT_BYTES];
    bytes[12_345_678] = b'y';
    let digest = blobs.put(bytes.clone()).await.unwrap();
    assert!(blobs.get(digest).await.unwrap() == Some(bytes), "other bytes came back");
}

pub async fn more_than_the_most_is_refused(backend: &impl Backend) {
    let blobs = backend.open();
    let refused = blobs.put(vec![0; BLOB_BYTES + 1]).await;
    assert!(matches!(refused, Err(StoreError::Blob { .. })), "{refused:?}");
    assert_eq!(blobs.list(None, 10).await.unwrap(), []);
}

pub async fn other_content_is_never_handed_out(backend: &impl Backend) {
    let blobs = backend.open();
    let digest = blobs.put(b"the true content".to_vec()).await.unwrap();
    for other in [&b"the fake content"[..], b"the true", b""] {
        backend.replace(digest, other).await;
        let read = blobs.get(digest).await;
        assert!(matches!(read, Err(StoreError::Blob { .. })), "{read:?}");
    }
}

pub async fn what_was_cut_is_mended_by_the_next_put(backend: &impl Backend) {
    let blobs = backend.open();
    let digest = blobs.put(b"the true content".to_vec()).await.unwrap();
    backend.replace(digest, b"the true").await;
    blobs.put(b"the true content".to_vec()).await.unwrap();
    assert_eq!(blobs.get(digest).await.unwrap(), Some(b"the true content".to_vec()));
}

pub async fn what_was_removed_is_gone(backend: &impl Backend) {
    let blobs = backend.open();
    let [gone, stays] = [b"gone", b"stay"].map(|bytes| bytes.to_vec());
    let (gone, stays) = (blobs.put(gone).await.unwrap(), blobs.put(stays).await.unwrap());
    for _ in 0..2 {
        blobs.remove(gone).await.unwrap();
        assert_eq!(blobs.get(gone).await.unwrap(), None);
    }
    assert!(blobs.get(stays).await.unwrap().is_some());
    blobs.put(b"gone".to_vec()).await.unwrap();
    assert!(blobs.get(gone).await.unwrap().is_some());
}

pub async fn only_what_is_old_enough_is_removed(backend: &impl Backend) {
    let blobs = backend.open();
    let digest = blobs.put(b"perhaps".to_vec()).await.unwrap();
    assert!(!blobs.remove_older(digest, Duration::from_secs(600)).await.unwrap(), "somebody has just put it");
    assert!(blobs.get(digest).await.unwrap().is_some());
    assert!(blobs.remove_older(digest, Duration::ZERO).await.unwrap());
    assert_eq!(blobs.get(digest).await.unwrap(), None);
    assert!(!blobs.remove_older(digest, Duration::ZERO).await.unwrap(), "it is gone");
}

pub async fn a_list_has_everything_in_order_and_in_pages(backend: &impl Backend) {
    let blobs = backend.open();
    let mut all = Vec::new();
    for n in 0..23_u8 {
        all.push(blobs.put(vec![n]).await.unwrap());
    }
    all.sort();
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page = blobs.list(after, 5).await.unwrap();
        assert!(page.len() <= 5);
        assert!(page.iter().all(|stored| stored.age < Duration::from_secs(600)), "{page:?}");
        let Some(last) = page.last() else { break };
        after = Some(last.digest);
        listed.extend(page.iter().map(|stored| stored.digest));
    }
    assert_eq!(listed, all);
}

pub async fn a_probe_leaves_nothing(backend: &impl Backend) {
    let blobs = backend.open();
    probe(blobs.as_ref()).await.unwrap();
    assert_eq!(blobs.list(None, 10).await.unwrap(), []);
}
