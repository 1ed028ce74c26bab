//! What every part of the running service shares.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use forebay_core::definition::Credential;
use forebay_core::id::ProcessId;
use forebay_core::time::Timestamp;
use forebay_store::Store;
use forebay_store::blob::Blobs;
use secrecy::SecretString;

use crate::config::Settings;
use crate::datasets::Tables;
use crate::metrics::Metrics;
use crate::revisions::Revisions;
use crate::runtime::{Tasks, random_bytes};

/// Which process of its store this is.
#[derive(Debug)]
pub struct Process {
    /// From its start to its end.
    pub id: ProcessId,
    /// What it is called in attempts: its machine, its number there, and a random part, since numbers repeat.
    pub name: String,
    /// When it started, by the store's clock.
    pub started_at: Timestamp,
    /// Whether the store has not taken the last word of this process.
    unheard: AtomicBool,
}

impl Process {
    /// One that starts now.
    pub fn starting(now: Timestamp) -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = if host.trim().is_empty() { "host" } else { host.trim() };
        let random = u32::from_be_bytes(random_bytes());
        Self {
            id: ProcessId::new(now, random_bytes()),
            name: format!("{host}-{}-{random:08x}", std::process::id()),
            started_at: now,
            unheard: AtomicBool::new(false),
        }
    }

    /// Whether the store has taken the last word of this process, as it takes one every few seconds.
    pub fn is_heard(&self) -> bool {
        !self.unheard.load(Ordering::Relaxed)
    }

    /// Says whether the store has taken it; gives whether that was so before, too.
    pub fn heard(&self, heard: bool) -> bool {
        !self.unheard.swap(!heard, Ordering::Relaxed)
    }
}

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
    /// Which process this is.
    pub process: Arc<Process>,
    /// How the process is set up.
    pub settings: Arc<Settings>,
    /// Counters and gauges.
    pub metrics: Arc<Metrics>,
    /// Background tasks, and the word to stop.
    pub tasks: Tasks,
}

/// The key that a provider is called with, read when it is needed, so that a rotated one is used at once.
///
/// # Errors
///
/// When it is not there, or empty; names its place, and never what is in it.
pub fn secret(credential: &Credential) -> Result<SecretString, String> {
    let (place, found) = match credential {
        Credential::Env(name) => (
            format!("the environment variable {name}"),
            std::env::var(name).map_err(|_| "is not set".to_owned()),
        ),
        Credential::File(path) => {
            let read = std::fs::read_to_string(path).map_err(|error| format!("can't be read: {error}"));
            (format!("the file {path}"), read)
        }
    };
    let key = found.and_then(|found| match found.trim() {
        "" => Err("is empty".to_owned()),
        key => Ok(SecretString::from(key.to_owned())),
    });
    key.map_err(|wrong| format!("{place}, which holds the provider's key, {wrong}"))
}
