//! What every store of blobs must do, as cases that a folder and a bucket are put through, and what a bucket promises
//! beyond them. The bucket is one of a real S3 server, which `scripts/services start s3` starts and FOREBAY_TEST_S3
//! names; where a server must misbehave, one of [`fake`] does.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and is no part of the service"
)]

mod bucket;
mod conformance;
mod fake;
mod folder;
mod s3;
