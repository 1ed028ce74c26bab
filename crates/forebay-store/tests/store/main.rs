//! What every store must do, as cases that any backend is put through, and what the embedded one promises
//! beyond them. A new backend supplies a [`bundle::Backend`] and one line of `conformance::cases!`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that panics has failed")]

mod bundle;
#[path = "../support/chaos_proxy.rs"]
mod chaos_proxy;
mod conformance;
mod postgres;
mod proxied;
mod sqlite;
