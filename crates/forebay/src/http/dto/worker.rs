use forebay_core::id::ProcessId;
use forebay_core::time::Timestamp;
use forebay_store::record::{ProcessRecord, ProcessReport};
use serde::Serialize;
use utoipa::ToSchema;

/// A process of this installation, as it said of itself last.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Worker {
    #[schema(value_type = String)]
    process_id: ProcessId,
    /// As attempts name it: `worker`.
    name: String,
    build: String,
    /// What it does: `api`, `work`, `maintain`.
    roles: Vec<String>,
    /// Jobs that it may have in hand; 0 without the role `work`.
    slots: u64,
    jobs_in_hand: u64,
    /// The pools that it claims from; all where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pools: Option<Vec<String>>,
    /// The tasks whose jobs it claims; all where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Vec<String>>,
    /// What it does at the moment and no other process: `maintenance`.
    leads: Vec<String>,
    #[schema(value_type = String, format = DateTime)]
    started_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    heard_at: Timestamp,
    /// Whether it should have been heard of since: it is dead, paused, or cut off.
    silent: bool,
}

impl Worker {
    /// A process that is or is not silent.
    pub(in crate::http) fn new(record: ProcessRecord, silent: bool) -> Self {
        let ProcessRecord { report, heard_at, leads } = record;
        let ProcessReport { id, name, build, roles, slots, pools, tasks, in_hand, started_at } = report;
        Self {
            process_id: id,
            name,
            build,
            roles,
            slots,
            jobs_in_hand: in_hand,
            pools,
            tasks,
            leads,
            started_at,
            heard_at,
            silent,
        }
    }
}

/// The processes that were heard of within an hour, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct WorkerList {
    pub(in crate::http) data: Vec<Worker>,
}
