//! The keys of a configuration.

/// One thing that can be configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// Where the API listens.
    Listen,
    /// Where the ledger is.
    Store,
    /// Whether processes tell each other by NOTIFY.
    Notify,
    /// Connections that read.
    Readers,
    /// Where documents, and what is too large for a row, are.
    Blobs,
    /// The address of the bucket's service.
    BlobsEndpoint,
    /// The bucket's region.
    BlobsRegion,
    /// Whether the bucket's name stands in the path or in the host.
    BlobsAddressing,
    /// Where the bucket's keys are.
    BlobsCredentials,
    /// Where the bucket's service may be without TLS.
    BlobsPlainHttp,
    /// What the process does.
    Roles,
    /// The pools that it claims from.
    Pools,
    /// The tasks whose jobs it claims.
    Tasks,
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
    pub const ALL: [Key; 20] = [
        Key::Listen,
        Key::Store,
        Key::Notify,
        Key::Readers,
        Key::Blobs,
        Key::BlobsEndpoint,
        Key::BlobsRegion,
        Key::BlobsAddressing,
        Key::BlobsCredentials,
        Key::BlobsPlainHttp,
        Key::Roles,
        Key::Pools,
        Key::Tasks,
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
            Key::Notify => "notify",
            Key::Readers => "readers",
            Key::Blobs => "blobs",
            Key::BlobsEndpoint => "blobs_endpoint",
            Key::BlobsRegion => "blobs_region",
            Key::BlobsAddressing => "blobs_addressing",
            Key::BlobsCredentials => "blobs_credentials",
            Key::BlobsPlainHttp => "blobs_plain_http",
            Key::Roles => "roles",
            Key::Pools => "pools",
            Key::Tasks => "tasks",
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
