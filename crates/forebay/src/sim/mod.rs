//! A provider of models that is simulated: OpenAI's interface with made-up answers, real limits and faults on
//! demand. For demos, tests and load; see `docs/simulator.md`.
//!
//! A call passes through [`provider`] (read it, put it against its account's limits, choose the rule), then
//! through the module of its endpoint, which composes an answer, and leaves as a [`script`] of steps. The
//! [`ledger`] keeps the request log and the accounts. The simulator is a provider and no part of the
//! service: it uses nothing of the rest of this crate.

mod ask;
mod call;
mod chat;
mod clock;
mod compose;
mod control;
mod embeddings;
mod error;
mod journal;
mod ledger;
mod limiter;
mod models;
mod provider;
mod report;
mod responses;
mod rules;
mod sample;
pub mod scenario;
mod script;
mod server;
#[cfg(test)]
mod tests;
mod text;
mod wire;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use clock::{Clock, Micros};
use journal::Journal;
use ledger::{Arrival, Entry, Ledger, Outcome};
use report::Facts;
use rules::Active;
use scenario::{Limits, Scenario, TokenCounting};

pub use ledger::{Ended, LOG_ROWS, Row};
pub use report::{AccountReport, LimitsReport, Use};

/// How a simulator is started.
#[derive(Debug, Clone)]
pub struct SimOptions {
    /// Where it listens; port 0 takes a free one. Default `127.0.0.1:7121`.
    pub listen: SocketAddr,
    /// What it does. Default: it answers every call at once.
    pub scenario: Scenario,
    /// Takes the place of the `time_scale` of this scenario and of all that replace it.
    pub time_scale: Option<f64>,
    /// A file to which the request log is appended as well.
    pub log: Option<PathBuf>,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7121),
            scenario: Scenario::default(),
            time_scale: None,
            log: None,
        }
    }
}

/// Why a simulator does not start.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The log file cannot be opened for appending.
    #[error("cannot append to the log file {path}")]
    Log {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The time scale is not above 0 and at most 100,000.
    #[error("time scale {0}: expected above 0, at most 100000")]
    TimeScale(f64),
}

/// Starts a simulator. It runs until [`SimHandle::shutdown`], or until its handle is dropped.
pub async fn serve(options: SimOptions) -> Result<SimHandle, SimError> {
    let address = options.listen;
    let listen = |source| SimError::Listen { address, source };
    let sim = Arc::new(Sim::new(options)?);
    let listener = TcpListener::bind(address).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    let router = provider::router(Arc::clone(&sim));
    sim.tasks.spawn(server::accept(Arc::clone(&sim), listener, router));
    sim.tasks.close();
    Ok(SimHandle { sim, address })
}

/// A running simulator. Dropping it stops the simulator without waiting for it.
pub struct SimHandle {
    sim: Arc<Sim>,
    address: SocketAddr,
}

impl SimHandle {
    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a client takes as its base URL, with `/v1` at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The request log: the rows whose `seq` is above `after`, oldest first.
    pub fn requests(&self, after: u64) -> Vec<Row> {
        self.sim.ledger().page(after, usize::MAX)
    }

    /// The use of each limit, as `GET /_sim/limits` shows it.
    pub fn limits(&self) -> LimitsReport {
        self.sim.report()
    }

    /// Replaces the scenario; the counts of its rules start anew.
    pub fn set_scenario(&self, scenario: Scenario) {
        self.sim.set_scenario(scenario);
    }

    /// Closes every connection and waits until nothing runs any more.
    pub async fn shutdown(&self) {
        self.sim.stop.cancel();
        self.sim.tasks.wait().await;
    }
}

impl Drop for SimHandle {
    fn drop(&mut self) {
        self.sim.stop.cancel();
    }
}

/// What every part of a running simulator sees.
struct Sim {
    clock: Clock,
    active: ArcSwap<Active>,
    ledger: Mutex<Ledger>,
    journal: Option<Journal>,
    time_scale: Option<f64>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Sim {
    fn new(options: SimOptions) -> Result<Self, SimError> {
        if let Some(scale) = options.time_scale.filter(|scale| !(*scale > 0.0 && *scale <= 100_000.0)) {
            return Err(SimError::TimeScale(scale));
        }
        let open = |path: PathBuf| Journal::open(&path).map_err(|source| SimError::Log { path, source });
        let sim = Self {
            clock: Clock::start(),
            active: ArcSwap::from_pointee(Active::new(Scenario::default())),
            ledger: Mutex::new(Ledger::new(LOG_ROWS)),
            journal: options.log.map(open).transpose()?,
            time_scale: options.time_scale,
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        sim.set_scenario(options.scenario);
        Ok(sim)
    }

    fn set_scenario(&self, mut scenario: Scenario) {
        scenario.time_scale = self.time_scale.unwrap_or(scenario.time_scale);
        self.active.store(Arc::new(Active::new(scenario)));
    }

    /// The log and the accounts. Nobody may hold them while waiting.
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        lock(&self.ledger)
    }

    /// A call arrives: it gets its row, and its place in the account or a refusal.
    fn arrive(&self, call: Arrival, limits: &Limits, minute: Micros) -> Entry {
        let mut ledger = self.ledger();
        let entry = ledger.arrive(self.clock.now(), call, limits, minute);
        let written = ledger.rows().back().filter(|_| self.journal.is_some()).cloned();
        drop(ledger);
        self.write_line(written);
        entry
    }

    /// A call has ended; `counting` for one that held a place in its account.
    fn end(&self, seq: u64, key: &Option<Arc<str>>, outcome: Outcome, counting: Option<TokenCounting>) {
        let mut ledger = self.ledger();
        let now = self.clock.now();
        let row = match counting {
            Some(counting) => ledger.end(seq, key, now, outcome, counting),
            None => ledger.change(seq, |row| outcome.write(row, now)),
        };
        let written = row.filter(|_| self.journal.is_some()).cloned();
        drop(ledger);
        self.write_line(written);
    }

    fn write_line(&self, row: Option<Row>) {
        if let Some((journal, row)) = self.journal.as_ref().zip(row) {
            journal.append(&row);
        }
    }

    fn report(&self) -> LimitsReport {
        let active = self.active.load_full();
        let facts = Facts::of(&self.ledger());
        facts.report(self.clock.now(), &active.scenario.limits, active.minute)
    }

    fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }
}

/// Takes a lock. A panic elsewhere leaves counts that are at worst one call old, so the lock stays usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
