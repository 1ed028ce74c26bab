//! Blobs in a bucket of S3 or of a service that speaks its protocol, named as in a folder: `PREFIX/ab/abcd...`.
//!
//! The one who tries again is the S3 client below, within [`Limits`]; the HTTP client sends each request once.

mod failed;
mod keys;
mod transport;

use std::fmt;
use std::future::Future;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use forebay_core::digest::Digest;
use futures_util::TryStreamExt as _;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore as _, ObjectStoreExt as _, RetryConfig};

use self::transport::Transport;
use super::{BLOB_BYTES, Blobs, RENEWED_AFTER, Stored, age, checked, digest};
use crate::StoreError;

pub use keys::KeySource;

/// Which bucket, and how it is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Bucket {
    /// Its name.
    pub name: String,
    /// What the names of all blobs begin with, without slashes at its ends; may be empty.
    pub prefix: String,
    /// `http://` or `https://`, a host, perhaps a port; absent for the one that AWS has in the region.
    pub endpoint: Option<String>,
    /// As the service calls it: `eu-central-1`.
    pub region: String,
    /// Whether the bucket's name stands in the host's name, and not in the path.
    pub in_host: bool,
    /// Where its keys are.
    pub keys: KeySource,
}

impl fmt::Display for S3Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the bucket `{}`", self.name)?;
        match &self.endpoint {
            Some(endpoint) => write!(f, " at {endpoint}"),
            None => write!(f, " in {}", self.region),
        }
    }
}

/// How long the service may take. Each of them is a second longer for each megabyte of content.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Until an answer begins, connecting included. 10 s.
    pub answer: Duration,
    /// For all that is done for one blob, further tries included. 30 s.
    pub total: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { answer: Duration::from_secs(10), total: Duration::from_secs(30) }
    }
}

fn for_content(limit: Duration, bytes: usize) -> Duration {
    limit + Duration::from_millis(u64::try_from(bytes / 1_000).unwrap_or(u64::MAX))
}

/// Blobs in a bucket.
#[derive(Debug, Clone)]
pub struct S3Blobs {
    bucket: S3Bucket,
    client: AmazonS3,
    limits: Limits,
}

impl S3Blobs {
    /// Uses a bucket over an HTTP client, which must send each request once and follow no redirect. Asks nothing of
    /// the service yet.
    ///
    /// # Errors
    ///
    /// When the S3 client refuses its settings.
    pub fn new(bucket: S3Bucket, http: reqwest::Client, limits: Limits) -> Result<Self, StoreError> {
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&bucket.name)
            .with_region(&bucket.region)
            .with_virtual_hosted_style_request(bucket.in_host)
            .with_http_connector(Transport::new(http, limits.answer))
            // Some services have no bulk deletion.
            .with_disable_bulk_delete(true)
            .with_retry(RetryConfig {
                backoff: BackoffConfig {
                    init_backoff: Duration::from_millis(100),
                    max_backoff: Duration::from_secs(5),
                    base: 3.0,
                },
                max_retries: 6,
                retry_timeout: limits.total,
            });
        if let Some(endpoint) = &bucket.endpoint {
            builder = builder.with_endpoint(with_host(endpoint, bucket.in_host.then_some(&bucket.name)));
        }
        let client =
            bucket.keys.applied_to(builder).build().map_err(|error| failed::failed(&bucket, &error))?;
        Ok(Self { bucket, client, limits })
    }

    fn path(&self, digest: Digest) -> Path {
        let name = digest.to_string();
        Path::from_iter(self.bucket.prefix.split('/').chain([&name[..2], &name]))
    }

    /// Waits for the service, but not for ever. `None` when it has no such blob.
    async fn within<T>(
        &self,
        limit: Duration,
        asked: impl Future<Output = object_store::Result<T>>,
    ) -> Result<Option<T>, StoreError> {
        match tokio::time::timeout(limit, asked).await {
            Ok(Ok(answer)) => Ok(Some(answer)),
            Ok(Err(error)) if failed::is_absent(&error) => Ok(None),
            Ok(Err(error)) => Err(failed::failed(&self.bucket, &error)),
            Err(_) => {
                let limit = limit.as_millis();
                Err(StoreError::Unavailable(format!("{}: it was not done within {limit} ms", self.bucket)))
            }
        }
    }

    /// Whether the blob need not be written: it has that length and is young enough. What the service refuses to say
    /// counts as no; the write will tell why.
    async fn is_there(&self, path: &Path, length: usize) -> object_store::Result<bool> {
        match self.client.head(path).await {
            Ok(found) => {
                let is_young = age(SystemTime::from(found.last_modified)) < RENEWED_AFTER;
                Ok(found.size == length as u64 && is_young)
            }
            Err(error) if failed::is_silent_refusal(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn absent(&self) -> StoreError {
        StoreError::Unavailable(format!("{}: there is no such bucket", self.bucket))
    }
}

/// An endpoint, with the bucket's name before its host if it is given.
fn with_host(endpoint: &str, name: Option<&String>) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    match (endpoint.split_once("://"), name) {
        (Some((scheme, host)), Some(name)) => format!("{scheme}://{name}.{host}"),
        _ => endpoint.to_owned(),
    }
}

#[async_trait]
impl Blobs for S3Blobs {
    async fn put(&self, bytes: Vec<u8>) -> Result<Digest, StoreError> {
        let (digest, bytes) = digest(bytes).await?;
        let (path, length) = (self.path(digest), bytes.len());
        let put = async {
            if !self.is_there(&path, length).await? {
                self.client.put(&path, bytes.into()).await?;
            }
            Ok(())
        };
        let put = self.within(for_content(self.limits.total, length), put).await?;
        put.map(|()| digest).ok_or_else(|| self.absent())
    }

    async fn get(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(digest);
        let Some(found) = self.within(self.limits.total, self.client.get(&path)).await? else {
            return Ok(None);
        };
        let length = usize::try_from(found.meta.size).unwrap_or(usize::MAX);
        if length > BLOB_BYTES {
            let reason = format!("{length} bytes are there, which is more than any blob has");
            return Err(StoreError::Blob { digest: digest.to_string(), reason });
        }
        let bytes = self.within(for_content(self.limits.total, length), found.bytes()).await?;
        match bytes {
            Some(bytes) => checked(digest, bytes.into()).await.map(Some),
            // It was removed while it was read.
            None => Ok(None),
        }
    }

    async fn remove(&self, digest: Digest) -> Result<(), StoreError> {
        let path = self.path(digest);
        self.within(self.limits.total, self.client.delete(&path)).await.map(|_| ())
    }

    async fn remove_older(&self, digest: Digest, than: Duration) -> Result<bool, StoreError> {
        let path = self.path(digest);
        let remove = async {
            let found = self.client.head(&path).await?;
            if age(SystemTime::from(found.last_modified)) < than {
                return Ok(false);
            }
            self.client.delete(&path).await.map(|()| true)
        };
        Ok(self.within(self.limits.total, remove).await?.unwrap_or(false))
    }

    async fn list(&self, after: Option<Digest>, most: usize) -> Result<Vec<Stored>, StoreError> {
        let prefix = Path::from(self.bucket.prefix.as_str());
        let offset = after.map_or_else(Path::default, |after| self.path(after));
        let mut found = Vec::new();
        let list = async {
            let mut objects = self.client.list_with_offset(Some(&prefix), &offset);
            while found.len() < most
                && let Some(object) = objects.try_next().await?
            {
                let digest = object.location.filename().and_then(|name| name.parse().ok());
                let age = age(SystemTime::from(object.last_modified));
                found.extend(digest.map(|digest| Stored { digest, age }));
            }
            Ok(())
        };
        match self.within(self.limits.total, list).await? {
            Some(()) => Ok(found),
            None => Err(self.absent()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buckets_name_stands_before_the_host_or_nowhere() {
        let name = "docs".to_owned();
        assert_eq!(with_host("http://[::1]:9000/", None), "http://[::1]:9000");
        assert_eq!(with_host("https://s3.example:9000", Some(&name)), "https://docs.s3.example:9000");
    }
}
