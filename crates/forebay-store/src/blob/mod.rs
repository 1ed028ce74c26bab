//! Bytes by digest: documents, and inputs and results that are too large for a row.
//!
//! A blob is written and synced before the commit that refers to it, and never changes. Reading checks the
//! digest, so that other content is never taken for it.

mod fs;

use async_trait::async_trait;
use forebay_core::digest::Digest;

use crate::StoreError;

pub use fs::FsBlobs;

/// Where blobs live.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Keeps bytes; when this returns, they survive a crash. Keeping the same bytes again is no change.
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, StoreError>;

    /// The bytes of that digest; `None` when they are not here.
    async fn get(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError>;
}
