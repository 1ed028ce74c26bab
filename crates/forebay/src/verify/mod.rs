//! Whether a store holds what it promises, judged from its records and from what others saw.
//!
//! This module shares nothing with the rest of the service: it has its own statements, its own arithmetic and
//! its own tables of what may follow what, since it must not trust the code that it judges. A backend is read
//! into plain [`records`]; the [`checks`] are functions over these, each with a test that breaks what it guards.
//! `docs/verify.md` says what is checked for each invariant, and what can't be seen from records.

mod blobs;
mod checks;
pub mod logs;
pub mod postgres;
pub mod records;
pub mod report;
mod rows;
pub mod sqlite;
mod tables;
pub mod world;

use std::path::Path;

use records::{Id, Records};
use report::{Findings, Report};
use world::{Outside, World};

/// Why a store can't be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is not there, or can't be opened.
    #[error("{store} can't be opened: {reason}")]
    Open {
        /// Which store.
        store: String,
        /// Why.
        reason: String,
    },
    /// It is damaged, or no store of this schema.
    #[error("{store} can't be read: {reason}")]
    Read {
        /// Which store.
        store: String,
        /// Why.
        reason: String,
    },
}

/// Looks at the files that rows of a store refer to.
pub fn look_at_blobs(store: &mut Records, folder: &Path) {
    store.blob_faults = blobs::faults(store, folder);
}

/// Takes down what was found under the digest of a blob that a row refers to: bytes, or why there are none.
pub fn look_at_blob(store: &mut Records, job: Option<Id>, digest: &[u8], found: Result<Vec<u8>, String>) {
    store.blob_faults.extend(blobs::fault(job, digest, found));
}

/// Judges what a store says, and what was seen from outside.
pub fn judge(store: &Records, outside: &Outside) -> Report {
    let mut findings = Findings::default();
    checks::all(&World::new(store, outside), &mut findings);
    findings.report()
}

#[cfg(test)]
mod tests;
