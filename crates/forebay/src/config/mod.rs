//! How a process is set up, ready to use.

use std::net::SocketAddr;
use std::path::PathBuf;

use forebay_core::time::Millis;

/// What a serving process goes by.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the API listens; port 0 picks a free one. Default 127.0.0.1:7120.
    pub listen: SocketAddr,
    /// The database file of the embedded store. Blobs and the admin key's file stand beside it.
    pub database: PathBuf,
    /// Jobs in hand at the same time, over all pools. Default 256.
    pub slots: usize,
    /// How long a worker is undisturbed without a heartbeat. Default 30 s.
    pub lease: Millis,
    /// How often leases are extended. Default 10 s; the lease is at least three of them.
    pub heartbeat: Millis,
    /// How often maintenance looks. Default 1 s.
    pub reaper_interval: Millis,
    /// How long calls under way may go on at shutdown before they are handed back. Default 20 s.
    pub drain: Millis,
    /// Unfinished jobs over all tenants. Default 1,000,000.
    pub max_pending_jobs: u64,
    /// How long idempotency keys are kept. Default 14 days.
    pub idempotency_ttl: Millis,
}

impl Settings {
    /// The defaults, for a database file.
    pub fn for_database(database: impl Into<PathBuf>) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7120)),
            database: database.into(),
            slots: 256,
            lease: Millis::from_secs(30),
            heartbeat: Millis::from_secs(10),
            reaper_interval: Millis::from_secs(1),
            drain: Millis::from_secs(20),
            max_pending_jobs: 1_000_000,
            idempotency_ttl: Millis::from_secs(14 * 24 * 3_600),
        }
    }
}
