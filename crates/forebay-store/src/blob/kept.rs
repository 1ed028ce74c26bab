//! Blobs that were put or read last, in memory.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use forebay_core::digest::Digest;

use super::{Blobs, Stored};
use crate::StoreError;

/// Bytes that are kept at most.
const KEPT_BYTES: usize = 16 * 1024 * 1024;
/// A blob that is larger than this is not kept.
const KEPT_BLOB_BYTES: usize = KEPT_BYTES / 2;

/// Blobs that are far away, of which this process keeps those that it used last: a job whose grant is void because
/// its document came too late has the document when it is claimed again.
pub struct KeptBlobs<B> {
    far: B,
    kept: Mutex<Kept>,
}

/// Blobs, and when each was used last.
#[derive(Default)]
struct Kept {
    blobs: HashMap<Digest, (Vec<u8>, u64)>,
    bytes: usize,
    uses: u64,
}

impl<B: Blobs> KeptBlobs<B> {
    /// Keeps what is used of these.
    pub fn new(far: B) -> Self {
        Self { far, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl<B: Blobs> Blobs for KeptBlobs<B> {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, StoreError> {
        // Always put for good: that it is kept here says nothing about what is there by now.
        let copy = (bytes.len() <= KEPT_BLOB_BYTES).then(|| bytes.clone());
        let digest = self.far.put(bytes).await?;
        if let Some(copy) = copy {
            self.kept().keep(digest, copy);
        }
        Ok(digest)
    }

    async fn get(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(bytes) = self.kept().get(digest) {
            return Ok(Some(bytes));
        }
        let found = self.far.get(digest).await?;
        if let Some(bytes) = found.as_ref().filter(|bytes| bytes.len() <= KEPT_BLOB_BYTES) {
            self.kept().keep(digest, bytes.clone());
        }
        Ok(found)
    }

    async fn remove(&self, digest: Digest) -> Result<(), StoreError> {
        self.kept().forget(digest);
        self.far.remove(digest).await
    }

    async fn remove_older(&self, digest: Digest, than: Duration) -> Result<bool, StoreError> {
        let removed = self.far.remove_older(digest, than).await?;
        if removed {
            self.kept().forget(digest);
        }
        Ok(removed)
    }

    async fn list(&self, after: Option<Digest>, most: usize) -> Result<Vec<Stored>, StoreError> {
        self.far.list(after, most).await
    }
}

impl Kept {
    fn get(&mut self, digest: Digest) -> Option<Vec<u8>> {
        self.uses += 1;
        let (bytes, last) = self.blobs.get_mut(&digest)?;
        *last = self.uses;
        Some(bytes.clone())
    }

    /// Keeps a blob, and forgets those that were not used for longest where they are too many.
    fn keep(&mut self, digest: Digest, bytes: Vec<u8>) {
        self.forget(digest);
        self.uses += 1;
        self.bytes += bytes.len();
        self.blobs.insert(digest, (bytes, self.uses));
        while self.bytes > KEPT_BYTES {
            let oldest = self.blobs.iter().min_by_key(|(_, (_, last))| *last).map(|(digest, _)| *digest);
            let Some(oldest) = oldest else { break };
            self.forget(oldest);
        }
    }

    fn forget(&mut self, digest: Digest) {
        if let Some((bytes, _)) = self.blobs.remove(&digest) {
            self.bytes -= bytes.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blob::FsBlobs;

    #[tokio::test]
    async fn what_was_put_or_read_is_not_fetched_again() {
        let folder = tempfile::tempdir().unwrap();
        let far = FsBlobs::open(folder.path()).unwrap();
        let read = far.put(b"read".to_vec()).await.unwrap();
        let blobs = KeptBlobs::new(far.clone());
        let put = blobs.put(b"put".to_vec()).await.unwrap();
        assert_eq!(blobs.get(read).await.unwrap(), Some(b"read".to_vec()));
        for digest in [read, put] {
            far.remove(digest).await.unwrap();
            assert!(blobs.get(digest).await.unwrap().is_some());
        }
        // A put is never taken for done because of what is kept.
        blobs.put(b"put".to_vec()).await.unwrap();
        assert_eq!(far.get(put).await.unwrap(), Some(b"put".to_vec()));
        blobs.remove(put).await.unwrap();
        assert_eq!(blobs.get(put).await.unwrap(), None);
    }

    #[test]
    fn what_was_used_last_stays_within_the_bound() {
        let mut kept = Kept::default();
        let [a, b, c] = [b"a", b"b", b"c"].map(|name| Digest::of(name));
        kept.keep(a, vec![1; KEPT_BLOB_BYTES]);
        kept.keep(b, vec![2; KEPT_BLOB_BYTES]);
        assert!(kept.get(a).is_some());
        kept.keep(c, vec![3; 1]);
        assert!(kept.get(b).is_none() && kept.get(a).is_some() && kept.get(c).is_some());
        kept.forget(a);
        assert_eq!(kept.bytes, 1);
    }
}
