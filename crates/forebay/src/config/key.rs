//! The keys of a configuration.

/// One thing that can be configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// Where the API listens.
    Listen,
    /// Where the ledger is.
    Store,
    /// What the process does.
    Roles,
    /// Jobs in hand at the same time.
    Slots,
    /// How long a worker is undisturbed without a heartbeat.
    LeaseMs,
    /// How often leases are extended.
    HeartbeatMs,
    /// How often maintenance looks.
    ReaperIntervalMs,
    /// How long calls may go on at shutdown.
    DrainMs,
    /// Unfinished jobs over all tenants.
    MaxPendingJobs,
    /// How long idempotency keys are kept.
    IdempotencyTtlMs,
}

impl Key {
    /// Every key, in the order of the commented defaults.
    pub const ALL: [Key; 10] = [
        Key::Listen,
        Key::Store,
        Key::Roles,
        Key::Slots,
        Key::LeaseMs,
        Key::HeartbeatMs,
        Key::ReaperIntervalMs,
        Key::DrainMs,
        Key::MaxPendingJobs,
        Key::IdempotencyTtlMs,
    ];

    /// The name in a configuration file.
    pub const fn name(self) -> &'static str {
        match self {
            Key::Listen => "listen",
            Key::Store => "store",
            Key::Roles => "roles",
            Key::Slots => "slots",
            Key::LeaseMs => "lease_ms",
            Key::HeartbeatMs => "heartbeat_ms",
            Key::ReaperIntervalMs => "reaper_interval_ms",
            Key::DrainMs => "drain_ms",
            Key::MaxPendingJobs => "max_pending_jobs",
            Key::IdempotencyTtlMs => "idempotency_ttl_ms",
        }
    }

    /// The variable that sets it: `FOREBAY_LEASE_MS`.
    pub fn variable(self) -> String {
        format!("FOREBAY_{}", self.name().to_ascii_uppercase())
    }

    /// The key of that name.
    pub fn from_name(name: &str) -> Option<Key> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// All names, for a message.
    pub(super) fn names() -> String {
        Self::ALL.map(Key::name).join(", ")
    }
}
