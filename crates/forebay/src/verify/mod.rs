//! Whether a store holds what it promises, judged from its records and from what others saw.
//!
//! This module shares nothing with the rest of the service: it has its own statements, its own arithmetic and
//! its own tables of what may follow what, since it must not trust the code that it judges. A backend is read
//! into plain [`records`]; the [`checks`] are functions over these, each with a test that breaks what it guards.
//! `docs/verify.md` says what is checked for each invariant, and what can't be seen from records.

mod checks;
pub mod logs;
pub mod records;
pub mod report;
pub mod sqlite;
pub mod world;

use records::Records;
use report::{Findings, Report};
use world::{Outside, World};

/// Judges what a store says, and what was seen from outside.
pub fn judge(store: &Records, outside: &Outside) -> Report {
    let mut findings = Findings::default();
    checks::all(&World::new(store, outside), &mut findings);
    findings.report()
}
