//! How a process is set up: as written, then ready to use.
//!
//! [`load`] puts the layers over each other (the program's own defaults, a file, the environment, flags),
//! keeps of every value where it was written, and refuses what is wrong all at once, in words that name the
//! key, the value, the place and the fix.

mod blobs;
mod fault;
mod given;
mod key;
mod layers;
mod only;
mod ready;
mod roles;
mod store;

use std::net::SocketAddr;
use std::path::PathBuf;

use forebay_core::time::Millis;

pub use blobs::BlobPlace;
pub use fault::ConfigFault;
pub use key::Key;
pub use layers::{Sources, load};
pub use only::{Only, Unknown};
pub use roles::Roles;
pub use store::{NotAStore, PASSWORD_VARIABLE, StoreUrl};

/// The commented defaults, in the form of a configuration file. The base of every configuration.
pub const DEFAULTS: &str = include_str!("../../defaults/forebay.toml");

/// How many read a PostgreSQL database at the same time, where nobody says otherwise.
pub const READERS: usize = 8;

/// What a serving process goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where the API listens; port 0 picks a free one. Default 127.0.0.1:7120.
    pub listen: SocketAddr,
    /// Where the ledger is. Default: the file `forebay.db`.
    pub store: StoreUrl,
    /// Whether processes on one PostgreSQL database tell each other by NOTIFY what they do; otherwise each finds
    /// out within a second. Default true.
    pub notify: bool,
    /// Reads of a PostgreSQL database at the same time; each takes a connection. Default 8.
    pub readers: usize,
    /// Where documents are, and what is too large for a row. Default: the folder `forebay.db.blobs`.
    pub blobs: BlobPlace,
    /// What the process does. Default: everything.
    pub roles: Roles,
    /// The pools that it claims from, if it works. Default: all.
    pub pools: Only,
    /// The tasks whose jobs it claims, if it works. Default: all.
    pub tasks: Only,
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
        let store = StoreUrl::Sqlite(database.into());
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7120)),
            blobs: BlobPlace::Folder(store.blob_folder()),
            store,
            notify: true,
            readers: READERS,
            roles: Roles::ALL,
            pools: Only::default(),
            tasks: Only::default(),
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
