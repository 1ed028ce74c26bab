//! What there is to do in a pool, for deciding how many workers it is worth.

use forebay_core::capacity::sizing::Sample;
use forebay_core::time::Timestamp;

/// What waits for a pool, and what runs in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolDemand {
    /// Calls under way in the pool.
    pub in_flight: u64,
    /// Those of the task, over all pools, where one was asked about.
    pub task_in_flight: Option<u64>,
    /// Not called until then.
    pub cooldown_until: Option<Timestamp>,
    /// Due jobs by tenant and task. Of very many, a hundred thousand are counted.
    pub waiting: Vec<WaitingJobs>,
}

/// Due jobs of a tenant and a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingJobs {
    /// Whose.
    pub tenant: i64,
    /// Of which task.
    pub task: String,
    /// How many.
    pub jobs: u64,
    /// When the first of them was due.
    pub since: Timestamp,
    /// Calls at the same time that the tenant may have over all pools; no limit where absent.
    pub max_in_flight: Option<u64>,
    /// Calls that it has under way.
    pub in_flight: u64,
    /// The last calls for such jobs in the pool. None are looked for where many tenants and tasks have more jobs.
    pub calls: Sample,
}
