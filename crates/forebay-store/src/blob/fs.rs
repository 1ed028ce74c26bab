//! Blobs as files, named by their digest, two levels deep.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use forebay_core::digest::Digest;

use super::{Blobs, RENEWED_AFTER, Stored, age, checked, digest, in_background};
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
        if is_there(&path, bytes.len()) {
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

    fn list(&self, after: Option<Digest>, most: usize) -> io::Result<Vec<Stored>> {
        let after = after.map(|digest| digest.to_string());
        let first = after.as_deref().and_then(|digest| digest.get(..2)).unwrap_or_default();
        let mut found = Vec::new();
        for folder in names(&self.root)?.range(first.to_owned()..).filter(|name| name.len() == 2) {
            let folder = self.root.join(folder);
            for name in names(&folder)? {
                if found.len() == most {
                    return Ok(found);
                }
                let Ok(digest) = name.parse() else { continue };
                if after.as_ref().is_some_and(|after| name <= *after) {
                    continue;
                }
                let metadata = unless_absent(fs::metadata(folder.join(&name)))?;
                if let Some(metadata) = metadata {
                    found.push(Stored { digest, age: age(metadata.modified()?) });
                }
            }
        }
        Ok(found)
    }
}

/// Whether the file need not be written: it has that length and is young enough.
fn is_there(path: &Path, length: usize) -> bool {
    fs::metadata(path).is_ok_and(|found| {
        let is_young = found.modified().is_ok_and(|written| age(written) < RENEWED_AFTER);
        found.len() == length as u64 && is_young
    })
}

fn remove_older(path: &Path, than: Duration) -> io::Result<bool> {
    let Some(found) = unless_absent(fs::metadata(path))? else { return Ok(false) };
    if age(found.modified()?) < than {
        return Ok(false);
    }
    Ok(unless_absent(fs::remove_file(path))?.is_some())
}

/// What a folder has.
fn names(folder: &Path) -> io::Result<BTreeSet<String>> {
    let entries = fs::read_dir(folder)?;
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

fn unless_absent<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
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
        let (digest, bytes) = digest(bytes).await?;
        in_background(move || {
            this.write(digest, &bytes).map(|()| digest).map_err(|error| failed(digest, &error))
        })
        .await
    }

    async fn get(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(digest);
        let read = move || unless_absent(fs::read(path)).map_err(|error| failed(digest, &error));
        match in_background(read).await? {
            Some(bytes) => checked(digest, bytes).await.map(Some),
            None => Ok(None),
        }
    }

    async fn remove(&self, digest: Digest) -> Result<(), StoreError> {
        let path = self.path(digest);
        in_background(move || {
            let removed = unless_absent(fs::remove_file(path));
            removed.map(|_| ()).map_err(|error| failed(digest, &error))
        })
        .await
    }

    async fn remove_older(&self, digest: Digest, than: Duration) -> Result<bool, StoreError> {
        let path = self.path(digest);
        in_background(move || remove_older(&path, than).map_err(|error| failed(digest, &error))).await
    }

    async fn list(&self, after: Option<Digest>, most: usize) -> Result<Vec<Stored>, StoreError> {
        let this = self.clone();
        in_background(move || {
            let listed = FsBlobs::list(&this, after, most);
            let root = this.root.display();
            listed.map_err(|error| StoreError::Unavailable(format!("the blob folder {root}: {error}")))
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
