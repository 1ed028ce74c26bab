//! What may happen to a job: `(job, command, now) -> change` or a refusal.
//!
//! One command per file. Each lists every state, so that a new state does not compile until each command
//! has decided about it. [`TABLE`] says the same as data; a test holds the two together, and the store's
//! schema says it a third time.
//!
//! Two promises are kept by every command. A terminal job never changes (I13). The fence never goes back,
//! and whoever takes a job away from its owner raises it (I11, I12, I15).

mod cancel;
mod claim;
mod expire;
mod extend;
mod fail;
mod finish;
mod release;
mod replay;
mod reroute;
mod rescue;
mod review;
mod step_done;
mod submit;
mod table;
mod wait;
mod wake;

pub use cancel::cancel;
pub use claim::claim;
pub use expire::expire;
pub use extend::extend;
pub use fail::{Failed, fail};
pub use finish::{End, finish};
pub use release::release;
pub use replay::replay;
pub use reroute::reroute;
pub use rescue::rescue;
pub use review::{approve, correct, reject, rerun};
pub use step_done::step_done;
pub use submit::{Submitted, submit};
pub use table::{Command, TABLE};
pub use wait::{WaitFor, wait};
pub use wake::wake;

use crate::event::EventType;
use crate::job::{Job, State};
use crate::time::Timestamp;

/// What a command makes of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The job after it.
    pub job: Job,
    /// The event that says so; committed together with the job (I1).
    pub event: EventType,
}

/// Why a command does not apply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not in this state.
    #[error("`{command}` does not apply to a job that is {state}", command = command.name(), state = state.name())]
    State {
        /// Where the job is.
        state: State,
        /// What was asked.
        command: Command,
    },
    /// The caller's fence is not the job's: somebody else owns it now.
    #[error("the job's fence is {current}, not {held}: it belongs to another owner now")]
    StaleFence {
        /// What the caller holds.
        held: u64,
        /// What the job has.
        current: u64,
    },
    /// The lease has lapsed; an extension needs a live one.
    #[error("the lease lapsed at {at}")]
    LeaseLapsed {
        /// When.
        at: Timestamp,
    },
    /// The lease is still live: its owner may be at work.
    #[error("the lease holds until {until}")]
    LeaseHeld {
        /// Until when.
        until: Timestamp,
    },
    /// Not due yet.
    #[error("due at {at}, not yet")]
    NotDue {
        /// When it will be.
        at: Timestamp,
    },
    /// Its deadline has passed.
    #[error("the deadline passed at {at}")]
    PastDeadline {
        /// When.
        at: Timestamp,
    },
    /// Children have not ended.
    #[error("{open} children have not ended")]
    ChildrenOpen {
        /// How many.
        open: u32,
    },
    /// The job changed since the caller looked.
    #[error("the job is at version {current} now, not at {seen}")]
    VersionMoved {
        /// What the caller saw.
        seen: u64,
        /// What it is.
        current: u64,
    },
    /// There is no output that could be approved.
    #[error("there is no output to approve: correct, reject or rerun the job")]
    NoOutput,
}

impl Refusal {
    fn state(job: &Job, command: Command) -> Self {
        Refusal::State { state: job.state, command }
    }
}

impl Job {
    /// The job in another state, one version on. Only a RUNNING job has a lease.
    fn turned(&self, state: State) -> Job {
        Job { state, state_version: self.state_version + 1, lease_until: None, ..self.clone() }
    }

    /// Whether the caller owns the job. Commit beats time: a fence is enough, the lease need not be live.
    fn owned_by(&self, fence: u64) -> Result<(), Refusal> {
        if self.fence == fence {
            Ok(())
        } else {
            Err(Refusal::StaleFence { held: fence, current: self.fence })
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::time::Millis;

    pub(crate) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);

    /// A job in a state, due, with a fence of 3, a live lease where it runs, and an hour to go.
    pub(crate) fn job_in(state: State) -> Job {
        Job {
            state,
            state_version: 5,
            fence: 3,
            generation: 1,
            step: 1,
            attempts: 1,
            deferrals: 0,
            step_since: NOW,
            available_at: NOW,
            lease_until: (state == State::Running).then(|| NOW.after(Millis::from_secs(30))),
            deadline: NOW.after(Millis::from_secs(3_600)),
            open_children: 0,
            failure: None,
        }
    }
}

#[cfg(test)]
mod properties;
