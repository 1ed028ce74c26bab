//! What every part of the running service shares.

use std::sync::Arc;

use forebay_store::Store;
use forebay_store::blob::Blobs;

use crate::config::Settings;
use crate::datasets::Tables;
use crate::metrics::Metrics;
use crate::revisions::Revisions;
use crate::runtime::Tasks;

/// The running service, as its parts see it.
#[derive(Clone)]
pub struct App {
    /// The ledger.
    pub store: Arc<dyn Store>,
    /// Documents, and what is too large for a row.
    pub blobs: Arc<dyn Blobs>,
    /// Master data that answers are compared with.
    pub tables: Arc<Tables>,
    /// Definitions: the active ones, and those that jobs were accepted under.
    pub revisions: Arc<Revisions>,
    /// How the process is set up.
    pub settings: Arc<Settings>,
    /// Counters and gauges.
    pub metrics: Arc<Metrics>,
    /// Background tasks, and the word to stop.
    pub tasks: Tasks,
}
