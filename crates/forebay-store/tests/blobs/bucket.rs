//! Blobs in a bucket of a real S3 server.

use std::sync::Arc;

use forebay_core::digest::Digest;
use forebay_store::blob::Blobs;
use forebay_store::blob::s3::{KeySource, Limits, S3Blobs, S3Bucket};
use object_store::aws::{AwsAuthorizer, AwsCredential};
use object_store::client::HttpRequestBody;

use crate::conformance::{Backend, cases};

/// A prefix of its own, in the bucket that all tests share.
pub struct Bucket {
    pub bucket: S3Bucket,
}

pub async fn bucket() -> Bucket {
    let variable = |name: &str| {
        std::env::var(name).unwrap_or_else(|_| {
            panic!("{name} is not set: scripts/services start s3, then eval \"$(scripts/services env s3)\"")
        })
    };
    let bucket = S3Bucket {
        name: "forebay".to_owned(),
        prefix: format!("tests/{:016x}", rand::random::<u64>()),
        endpoint: Some(variable("FOREBAY_TEST_S3")),
        region: "us-east-1".to_owned(),
        in_host: false,
        keys: KeySource::File(variable("FOREBAY_TEST_S3_KEYS").into()),
    };
    Bucket { bucket }
}

/// An HTTP client as the service has it.
pub fn http() -> reqwest::Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls =
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let tls = tls.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth();
    let builder = reqwest::Client::builder().tls_backend_preconfigured(tls).no_proxy();
    builder.retry(reqwest::retry::never()).redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

impl Bucket {
    pub fn blobs(&self) -> S3Blobs {
        S3Blobs::new(self.bucket.clone(), http(), Limits::default()).unwrap()
    }
}

impl Backend for Bucket {
    fn open(&self) -> Arc<dyn Blobs> {
        Arc::new(self.blobs())
    }

    async fn replace(&self, digest: Digest, bytes: &'static [u8]) {
        let S3Bucket { name, prefix, endpoint, keys, region, .. } = &self.bucket;
        let (endpoint, digest) = (endpoint.as_deref().unwrap(), digest.to_string());
        let url = format!("{endpoint}/{name}/{prefix}/{}/{digest}", &digest[..2]);
        let body = HttpRequestBody::from(bytes.to_vec());
        let mut put = http::Request::put(url).body(body).unwrap();
        let KeySource::File(file) = keys else { panic!("keys are in a file") };
        let text = std::fs::read_to_string(file).unwrap();
        let line = |at: usize| text.lines().nth(at).unwrap().rsplit(' ').next().unwrap().to_owned();
        let keys = AwsCredential { key_id: line(1), secret_key: line(2), token: None };
        AwsAuthorizer::new(&keys, "s3", region).try_authorize(&mut put, None).unwrap();
        let put = put.map(reqwest::Body::wrap).try_into().unwrap();
        let answer = http().execute(put).await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
    }
}

cases!(bucket);

#[tokio::test]
async fn prefixes_keep_blobs_apart() {
    let (one, mut other) = (bucket().await, bucket().await);
    let digest = one.open().put(b"of one".to_vec()).await.unwrap();
    for prefix in [other.bucket.prefix.clone(), format!("{}/below", one.bucket.prefix), String::new()] {
        other.bucket.prefix = prefix;
        let blobs = other.open();
        assert_eq!(blobs.get(digest).await.unwrap(), None);
        blobs.put(b"of another".to_vec()).await.unwrap();
    }
    assert_eq!(one.open().get(Digest::of(b"of another")).await.unwrap(), None);
}
