//! Blobs in a folder.

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;

use forebay_core::digest::Digest;
use forebay_store::blob::{Blobs, FsBlobs, RENEWED_AFTER};

use crate::conformance::{Backend, cases};

struct Folder(tempfile::TempDir);

async fn folder() -> Folder {
    Folder(tempfile::tempdir().unwrap())
}

impl Folder {
    fn path(&self, digest: Digest) -> PathBuf {
        let name = digest.to_string();
        self.0.path().join("blobs").join(&name[..2]).join(name)
    }
}

impl Backend for Folder {
    fn open(&self) -> Arc<dyn Blobs> {
        Arc::new(FsBlobs::open(self.0.path().join("blobs")).unwrap())
    }

    async fn replace(&self, digest: Digest, bytes: &'static [u8]) {
        fs::write(self.path(digest), bytes).unwrap();
    }
}

cases!(folder);

#[tokio::test]
async fn an_old_blob_is_young_again_after_a_put() {
    let folder = folder().await;
    let blobs = folder.open();
    let digest = blobs.put(b"old".to_vec()).await.unwrap();
    let file = File::options().write(true).open(folder.path(digest)).unwrap();
    let old = file.metadata().unwrap().modified().unwrap() - RENEWED_AFTER;
    file.set_modified(old).unwrap();
    assert!(blobs.list(None, 1).await.unwrap()[0].age >= RENEWED_AFTER);
    blobs.put(b"old".to_vec()).await.unwrap();
    assert!(blobs.list(None, 1).await.unwrap()[0].age < RENEWED_AFTER);
}

#[tokio::test]
async fn what_a_crash_left_half_written_is_no_blob() {
    let folder = folder().await;
    let blobs = folder.open();
    let digest = blobs.put(b"whole".to_vec()).await.unwrap();
    fs::write(folder.path(digest).with_file_name(".0123456789abcdef"), b"who").unwrap();
    assert_eq!(blobs.list(None, 10).await.unwrap().len(), 1);
}
