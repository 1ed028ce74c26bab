//! What every store of blobs must do, as cases that each is put through.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and is no part of the service"
)]

mod conformance;
mod folder;
