//! From what was written to settings that can be used.

use std::net::SocketAddr;

use forebay_core::time::Millis;

use super::fault::ConfigFault;
use super::given::Given;
use super::key::Key;
use super::layers::Layers;
use super::{Only, PASSWORD_VARIABLE, Roles, Settings, StoreUrl, blobs};

const DAY_MS: i64 = 24 * 3_600 * 1_000;

/// Makes settings of the layers. Every fault is added; with one that leaves a key without a value there are no
/// settings.
pub(super) fn settings(
    layers: &Layers,
    variable: &dyn Fn(&str) -> Option<String>,
    faults: &mut Vec<ConfigFault>,
) -> Option<Settings> {
    let mut reader = Reader { layers, faults };
    let listen = reader.read(Key::Listen, listen);
    let store = reader.read(Key::Store, |given| store(given, variable(PASSWORD_VARIABLE)));
    let blobs = blobs::place(&mut reader, store.as_ref(), variable);
    let notify = reader.read(Key::Notify, flag);
    let readers = reader.number(Key::Readers, 1, 1_000);
    let roles = reader.read(Key::Roles, roles);
    let pools = reader.read(Key::Pools, names);
    let tasks = reader.read(Key::Tasks, names);
    let slots = reader.number(Key::Slots, 1, 100_000);
    let lease = reader.number(Key::LeaseMs, 300, DAY_MS);
    let heartbeat = reader.number(Key::HeartbeatMs, 100, DAY_MS);
    let reaper_interval = reader.number(Key::ReaperIntervalMs, 10, DAY_MS);
    let drain = reader.number(Key::DrainMs, 0, 3_600_000);
    let max_pending_jobs = reader.number(Key::MaxPendingJobs, 1, 1_000_000_000);
    let idempotency_ttl = reader.number(Key::IdempotencyTtlMs, 1_000, 3_660 * DAY_MS);
    reader.refuse_contradictions(lease, heartbeat, reaper_interval);
    Some(Settings {
        listen: listen?,
        store: store?,
        notify: notify?,
        readers: usize::try_from(readers?).ok()?,
        blobs: blobs?,
        roles: roles?,
        pools: pools?,
        tasks: tasks?,
        slots: usize::try_from(slots?).ok()?,
        lease: Millis::new(lease?),
        heartbeat: Millis::new(heartbeat?),
        reaper_interval: Millis::new(reaper_interval?),
        drain: Millis::new(drain?),
        max_pending_jobs: max_pending_jobs?.unsigned_abs(),
        idempotency_ttl: Millis::new(idempotency_ttl?),
    })
}

/// What is wrong with a value, and the fix.
pub(super) type Refusal = (String, String);

pub(super) struct Reader<'a> {
    layers: &'a Layers,
    faults: &'a mut Vec<ConfigFault>,
}

impl Reader<'_> {
    pub(super) fn read<T>(&mut self, key: Key, read: impl FnOnce(&Given) -> Result<T, Refusal>) -> Option<T> {
        self.read_as(key, Given::clone, read)
    }

    /// Reads what stands for the value that was given.
    pub(super) fn read_as<T>(
        &mut self,
        key: Key,
        stands_for: impl FnOnce(&Given) -> Given,
        read: impl FnOnce(&Given) -> Result<T, Refusal>,
    ) -> Option<T> {
        let given = stands_for(self.layers.get(&key)?);
        match read(&given) {
            Ok(value) => Some(value),
            Err((problem, fix)) => {
                self.faults.push(ConfigFault::of(key, &given, problem, fix));
                None
            }
        }
    }

    fn number(&mut self, key: Key, least: i64, most: i64) -> Option<i64> {
        self.read(key, |given| {
            let fix = || format!("write a whole number from {least} to {most}, without quotes or a unit");
            let number = given.number().ok_or_else(|| ("not a whole number".to_owned(), fix()))?;
            match number {
                _ if number < least => Err((format!("less than {least}"), fix())),
                _ if number > most => Err((format!("more than {most}"), fix())),
                _ => Ok(number),
            }
        })
    }

    fn refuse_contradictions(&mut self, lease: Option<i64>, heartbeat: Option<i64>, reaper: Option<i64>) {
        if let (Some(lease), Some(heartbeat)) = (lease, heartbeat)
            && lease < 3 * heartbeat
        {
            let problem = format!(
                "shorter than three heartbeats, and heartbeat_ms is {heartbeat} ({})",
                self.place(Key::HeartbeatMs)
            );
            let fix = format!(
                "set lease_ms to {} or more, or heartbeat_ms to {} or less",
                3 * heartbeat,
                lease / 3
            );
            self.refuse(Key::LeaseMs, problem, fix);
        }
        if let (Some(lease), Some(reaper)) = (lease, reaper)
            && reaper > lease
        {
            let problem =
                format!("longer than a lease, and lease_ms is {lease} ({})", self.place(Key::LeaseMs));
            self.refuse(Key::ReaperIntervalMs, problem, format!("set reaper_interval_ms to {lease} or less"));
        }
    }

    fn place(&self, key: Key) -> String {
        self.layers.get(&key).map(|given| given.origin.to_string()).unwrap_or_default()
    }

    fn refuse(&mut self, key: Key, problem: String, fix: String) {
        if let Some(given) = self.layers.get(&key) {
            self.faults.push(ConfigFault::of(key, given, problem, fix));
        }
    }
}

fn listen(given: &Given) -> Result<SocketAddr, Refusal> {
    let read = given.text().and_then(|text| text.trim().parse().ok());
    read.ok_or_else(|| {
        let fix = "write an IP address and a port, such as \"127.0.0.1:7120\" or \"[::1]:7120\"";
        ("not an address to listen on".to_owned(), fix.to_owned())
    })
}

fn store(given: &Given, password: Option<String>) -> Result<StoreUrl, Refusal> {
    // What is no text is no store either.
    let text = given.text().unwrap_or_default();
    StoreUrl::parse(text, password).map_err(|refusal| (refusal.problem, refusal.fix))
}

fn roles(given: &Given) -> Result<Roles, Refusal> {
    let names = given.list().ok_or_else(|| ("not a list of roles".to_owned(), Roles::fix()))?;
    Roles::parse(names.iter().map(String::as_str)).map_err(|problem| (problem, Roles::fix()))
}

fn names(given: &Given) -> Result<Only, Refusal> {
    let fix =
        || "write names with commas between them, or a list of them; an empty list means all".to_owned();
    let names = given.list().ok_or_else(|| ("not a list of names".to_owned(), fix()))?;
    match names.iter().any(String::is_empty) {
        true => Err(("a name is missing".to_owned(), fix())),
        false => Ok(Only::these(names)),
    }
}

fn flag(given: &Given) -> Result<bool, Refusal> {
    let fix = "write true or false, without quotes in a file";
    given.flag().ok_or_else(|| ("neither true nor false".to_owned(), fix.to_owned()))
}
