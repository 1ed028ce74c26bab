//! Where Forebay keeps its one ledger.
//!
//! [`Store`] is a set of small traits that speak the domain: `accept`, `claim`, `commit_step`, `rescue`.
//! The embedded backend is [`sqlite`]; a second one supplies the same traits and must pass the same
//! conformance suite (`tests/store`). Bytes too large for a row live in a [`blob`] store.

pub mod blob;
pub mod clock;
mod error;
pub mod failpoint;
pub mod health;
mod ledger;
pub mod postgres;
pub mod record;
pub mod sqlite;
mod verbs;

pub use clock::{Clock, ManualClock, SystemClock};
pub use error::StoreError;
pub use verbs::{
    Accept, Access, Audit, Batches, Claims, Datasets, Documents, Fingerprints, Inspect, Jobs, Leases,
    Letters, Log, Processes, Replays, Retention, Reviews, Revisions, Signals, Steps, Store, Upkeep,
};
