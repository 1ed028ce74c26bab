//! Blobs as files, named by their digest, two levels deep.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use forebay_core::digest::Digest;

use super::Blobs;
use crate::StoreError;

/// Blobs in a folder of this machine.
#[derive(Debug, Clone)]
pub struct FsBlobs {
    root: PathBuf,
}

impl FsBlobs {
    /// Uses a folder; makes it, readable by its owner alone, when it is not there.
    ///
    /// # Errors
    ///
    /// When it can't be made.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let root = root.into();
        private_dir(&root).map_err(|error| {
            StoreError::Unavailable(format!("the blob folder {} can't be made: {error}", root.display()))
        })?;
        Ok(Self { root })
    }

    fn path(&self, digest: Digest) -> PathBuf {
        let name = digest.to_string();
        self.root.join(&name[..2]).join(name)
    }

    fn write(&self, digest: Digest, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(digest);
        if path.exists() {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(&self.root);
        private_dir(folder)?;
        let mut random = [0_u8; 8];
        rand::fill(&mut random);
        let temporary = folder.join(format!(".{:016x}", u64::from_be_bytes(random)));
        let written = write_synced(&temporary, bytes).and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            // The first error is the one worth telling; the left-over has no name that anyone would read.
            fs::remove_file(&temporary).ok();
        }
        written?;
        File::open(folder)?.sync_all()?;
        File::open(&self.root)?.sync_all()
    }

    fn read(&self, digest: Digest) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.path(digest)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn private_dir(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[async_trait]
impl Blobs for FsBlobs {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, StoreError> {
        let this = self.clone();
        in_background(move || {
            let digest = Digest::of(&bytes);
            this.write(digest, &bytes).map(|()| digest).map_err(|error| failed(digest, &error))
        })
        .await
    }

    async fn get(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let this = self.clone();
        in_background(move || {
            let bytes = this.read(digest).map_err(|error| failed(digest, &error))?;
            match bytes {
                Some(bytes) if Digest::of(&bytes) != digest => Err(StoreError::Blob {
                    digest: digest.to_string(),
                    reason: "the content is not that of the digest".to_owned(),
                }),
                bytes => Ok(bytes),
            }
        })
        .await
    }
}

fn failed(digest: Digest, error: &io::Error) -> StoreError {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    if matches!(error.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem) {
        return StoreError::Unavailable(format!("blob {digest}: {error}"));
    }
    StoreError::Blob { digest: digest.to_string(), reason: error.to_string() }
}

/// Runs file work where it does not hold up other tasks. It goes on when the caller is cancelled.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(StoreError::Unavailable(format!("file work was cut off: {error}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_kept_is_read_back_and_other_content_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = FsBlobs::open(folder.path()).unwrap();
        let digest = blobs.put(b"abc".to_vec()).await.unwrap();
        assert_eq!(blobs.put(b"abc".to_vec()).await.unwrap(), digest);
        assert_eq!(blobs.get(digest).await.unwrap(), Some(b"abc".to_vec()));
        assert_eq!(blobs.get(Digest::of(b"x")).await.unwrap(), None);
        fs::write(blobs.path(digest), b"abd").unwrap();
        assert!(matches!(blobs.get(digest).await, Err(StoreError::Blob { .. })));
    }
}
