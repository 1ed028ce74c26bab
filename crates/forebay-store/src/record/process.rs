use forebay_core::id::ProcessId;
use forebay_core::time::Timestamp;

/// What a process says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessReport {
    /// Which process.
    pub id: ProcessId,
    /// What it is called in attempts; of its machine and unique.
    pub name: String,
    /// Its build.
    pub build: String,
    /// What it does, by name.
    pub roles: Vec<String>,
    /// Jobs that it may have in hand.
    pub slots: u64,
    /// The pools that it claims from; all where it says nothing.
    pub pools: Option<Vec<String>>,
    /// The tasks whose jobs it claims; all where it says nothing.
    pub tasks: Option<Vec<String>>,
    /// Jobs that it has in hand.
    pub in_hand: u64,
    /// When it started.
    pub started_at: Timestamp,
}

/// A process that was heard of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessRecord {
    /// What it said last.
    pub report: ProcessReport,
    /// When.
    pub heard_at: Timestamp,
    /// What it does at the moment and nobody else.
    pub leads: Vec<String>,
}

/// What one process does at a time, and nobody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lead {
    /// Rises with each change of hands.
    pub fence: u64,
    /// Until when, by the store's clock.
    pub until: Timestamp,
}
