//! What the compiler does not check about this repository: who may import whom, how long a function may be, and
//! that the documents say what the code does. Every failure says what to do about it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that panics has failed")]

mod documents;
mod failpoints;
mod imports;
mod migrations;
mod planted;
mod shape;
mod source;

use std::path::PathBuf;

/// The root of the repository.
fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/forebay is two below the root").to_owned()
}

/// Fails with all findings at once, and with what to do about them.
fn none(findings: &[String], what_to_do: &str) {
    assert!(findings.is_empty(), "\n\n{}\n\n{what_to_do}\n", findings.join("\n"));
}
