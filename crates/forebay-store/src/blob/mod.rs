//! Bytes by digest: documents, and inputs and results that are too large for a row.
//!
//! A blob is durable before the commit that refers to it, and never changes. Reading checks the digest, so that
//! other content is never taken for it. What no row refers to harms nothing: it is what a crash between the two
//! leaves.

mod fs;
mod kept;
pub mod s3;

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use forebay_core::digest::Digest;
use forebay_core::limits::DOCUMENT_BYTES;

use crate::StoreError;

pub use fs::FsBlobs;
pub use kept::KeptBlobs;

/// Bytes of the largest blob. No document, input or result comes near it.
pub const BLOB_BYTES: usize = 2 * DOCUMENT_BYTES;

/// A blob of this age is written anew by the next put. Whoever removes what nothing refers to, and leaves alone what
/// is younger than [`LEFT_ALONE`], thus never removes what somebody has just put and is about to refer to.
pub const RENEWED_AFTER: Duration = Duration::from_secs(6 * 3_600);

/// A blob that is younger is never removed because no row refers to it: somebody may be about to write that row.
pub const LEFT_ALONE: Duration = Duration::from_secs(24 * 3_600);

/// Digesting more bytes than this holds up other tasks for too long.
const DIGESTED_AT_ONCE: usize = 256 * 1024;

/// Where blobs live.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Keeps at most [`BLOB_BYTES`]; when this returns, they survive a crash. Keeping the same bytes again is no
    /// change and costs little, but a blob that is older than [`RENEWED_AFTER`], or not of that length, is written
    /// anew.
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, StoreError>;

    /// The bytes of that digest; `None` when they are not here.
    async fn get(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError>;

    /// Removes a blob. That it is not here is no failure.
    async fn remove(&self, digest: Digest) -> Result<(), StoreError>;

    /// Removes a blob that was written so long ago or longer; says whether it did. Looks at that at the last moment: a
    /// blob that somebody has put anew stays.
    async fn remove_older(&self, digest: Digest, than: Duration) -> Result<bool, StoreError>;

    /// What is here: in the order of digests, from behind `after` on, at most so many.
    async fn list(&self, after: Option<Digest>, most: usize) -> Result<Vec<Stored>, StoreError>;
}

/// A blob that is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// Which one.
    pub digest: Digest,
    /// How long ago it was written.
    pub age: Duration,
}

/// Writes a blob, reads it back and removes it.
///
/// # Errors
///
/// What does not work.
pub async fn probe(blobs: &dyn Blobs) -> Result<(), StoreError> {
    let mut bytes = b"a probe that Forebay wrote to see whether it can ".to_vec();
    bytes.extend(rand::random::<[u8; 16]>());
    let digest = blobs.put(bytes.clone()).await?;
    let found = blobs.get(digest).await?;
    if found != Some(bytes) {
        let reason = "it was written and is not found: every process must see what another one writes";
        return Err(StoreError::Blob { digest: digest.to_string(), reason: reason.to_owned() });
    }
    blobs.remove(digest).await
}

/// The digest of bytes that are to be kept.
async fn digest(bytes: Vec<u8>) -> Result<(Digest, Vec<u8>), StoreError> {
    if bytes.len() > BLOB_BYTES {
        let reason = format!("{} bytes are more than {BLOB_BYTES}, which is the most", bytes.len());
        return Err(StoreError::Blob { digest: "of what was to be kept".to_owned(), reason });
    }
    if bytes.len() <= DIGESTED_AT_ONCE {
        return Ok((Digest::of(&bytes), bytes));
    }
    in_background(move || Ok((Digest::of(&bytes), bytes))).await
}

/// Bytes that were found under a digest, if they are those of the digest.
async fn checked(expected: Digest, bytes: Vec<u8>) -> Result<Vec<u8>, StoreError> {
    match digest(bytes).await? {
        (found, bytes) if found == expected => Ok(bytes),
        _ => {
            let reason = "the content is not that of the digest".to_owned();
            Err(StoreError::Blob { digest: expected.to_string(), reason })
        }
    }
}

/// How long ago that was; nothing for a time that has not come, as two clocks may see it.
fn age(written: SystemTime) -> Duration {
    written.elapsed().unwrap_or_default()
}

/// Runs work where it does not hold up other tasks. It goes on when the caller is cancelled.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(StoreError::Unavailable(format!("work on a blob was cut off: {error}"))))
}
