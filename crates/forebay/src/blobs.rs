//! The store of blobs that the settings name.

use std::sync::Arc;

use forebay_gateway::Gateway;
use forebay_store::StoreError;
use forebay_store::blob::s3::{Limits, S3Blobs, S3Bucket};
use forebay_store::blob::{self, Blobs, FsBlobs, KeptBlobs};

use crate::config::{BlobPlace, Settings, StoreUrl};

/// Opens it, for good: a bucket that can't be written, read and deleted is refused.
///
/// # Errors
///
/// What does not work, in words for whoever runs it.
pub async fn open(settings: &Settings, gateway: &Gateway) -> Result<Arc<dyn Blobs>, String> {
    if may_be_unseen(settings) {
        tracing::warn!(
            "a process on another machine does not see the blobs in {}: for several machines set `blobs` to a bucket, or \
             to a folder that all of them share",
            settings.blobs
        );
    }
    match &settings.blobs {
        BlobPlace::Folder(path) => Ok(Arc::new(FsBlobs::open(path).map_err(reason)?)),
        BlobPlace::Bucket(bucket) => {
            let blobs =
                S3Blobs::new((**bucket).clone(), gateway.http(), Limits::default()).map_err(reason)?;
            blob::probe(&blobs).await.map_err(reason)?;
            Ok(Arc::new(KeptBlobs::new(blobs)))
        }
    }
}

/// Writes a blob there, reads it back and removes it. A folder that is not there yet is left so, and told as `false`:
/// the server makes it.
///
/// # Errors
///
/// What does not work, in words for whoever runs it.
pub async fn examine(place: &BlobPlace) -> Result<bool, String> {
    match place {
        BlobPlace::Folder(path) if !path.exists() => return Ok(false),
        BlobPlace::Folder(path) => blob::probe(&FsBlobs::open(path).map_err(reason)?).await,
        BlobPlace::Bucket(bucket) => blob::probe(&reach(bucket)?).await,
    }
    .map_err(reason)?;
    Ok(true)
}

/// A bucket, of which nothing is tried yet.
///
/// # Errors
///
/// What can't be used, in words for whoever runs it.
pub fn reach(bucket: &S3Bucket) -> Result<S3Blobs, String> {
    let gateway = Gateway::new().map_err(|error| error.to_string())?;
    S3Blobs::new(bucket.clone(), gateway.http(), Limits::default()).map_err(reason)
}

/// Whether processes may use the same ledger that do not see the same blobs.
fn may_be_unseen(settings: &Settings) -> bool {
    match (&settings.store, &settings.blobs) {
        (StoreUrl::Postgres(_), BlobPlace::Folder(_)) => true,
        (StoreUrl::Postgres(_), BlobPlace::Bucket(_)) | (StoreUrl::Sqlite(_), _) => false,
    }
}

fn reason(error: StoreError) -> String {
    match error {
        StoreError::Unavailable(reason) => reason,
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Sources};

    #[test]
    fn a_folder_beside_a_database_of_a_server_may_be_unseen_by_others() {
        for (store, blobs, expected) in [
            ("postgres://db/forebay", "", true),
            ("postgres://db/forebay", "folder:/mnt/shared", true),
            ("postgres://db/forebay", "s3://docs", false),
            ("sqlite:forebay.db", "", false),
            ("sqlite:forebay.db", "s3://docs", false),
        ] {
            let environment = |name: &str| match name {
                "FOREBAY_STORE" => Some(store.to_owned()),
                "FOREBAY_BLOBS" => Some(blobs.to_owned()),
                _ => None,
            };
            let sources = Sources { file: None, environment: &environment, flags: Vec::new() };
            assert_eq!(may_be_unseen(&config::load(sources).unwrap()), expected, "{store} {blobs}");
        }
    }

    #[tokio::test]
    async fn a_folder_is_tried_and_one_that_is_not_there_is_not_made() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("blobs");
        let place = BlobPlace::Folder(folder.clone());
        assert_eq!(examine(&place).await, Ok(false));
        assert!(!folder.exists());
        std::fs::create_dir(&folder).unwrap();
        assert_eq!(examine(&place).await, Ok(true));
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::write(&folder, "no folder").unwrap();
        assert!(examine(&place).await.is_err());
    }
}
