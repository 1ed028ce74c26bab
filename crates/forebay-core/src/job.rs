//! What the rules know of a job.

use serde::{Deserialize, Serialize};

use crate::failure::FailureClass;
use crate::time::Timestamp;

/// Where a job is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// Waits for a worker and for capacity, from `available_at` on. A claim moves it on, or `expire`.
    Ready,
    /// One worker holds the lease and runs the current step. The worker moves it on; `rescue`, when the
    /// lease lapses without a word from it.
    Running,
    /// Waits for something outside the machine room: children, an approval, a callback, a timer. `wake`
    /// moves it on.
    Waiting,
    /// A try failed and the next one is due at `available_at`. A claim moves it on.
    RetryScheduled,
    /// A person owes a decision. `approve`, `correct`, `reject` or `rerun` moves it on; no deadline does.
    ReviewRequired,
    /// Finished with a result that passed its policy or a person's judgement. Final.
    Succeeded,
    /// Finished without a result; the failure class says why. Final: a replay is a new job.
    FailedTerminal,
    /// Ended by its caller. Final.
    Cancelled,
}

impl State {
    /// Every state.
    pub const ALL: [State; 8] = [
        State::Ready,
        State::Running,
        State::Waiting,
        State::RetryScheduled,
        State::ReviewRequired,
        State::Succeeded,
        State::FailedTerminal,
        State::Cancelled,
    ];

    /// The name in the API and the database.
    pub const fn name(self) -> &'static str {
        match self {
            State::Ready => "READY",
            State::Running => "RUNNING",
            State::Waiting => "WAITING",
            State::RetryScheduled => "RETRY_SCHEDULED",
            State::ReviewRequired => "REVIEW_REQUIRED",
            State::Succeeded => "SUCCEEDED",
            State::FailedTerminal => "FAILED_TERMINAL",
            State::Cancelled => "CANCELLED",
        }
    }

    /// The state of that name.
    pub fn from_name(name: &str) -> Option<State> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether nothing can change the job any more.
    pub const fn is_terminal(self) -> bool {
        match self {
            State::Succeeded | State::FailedTerminal | State::Cancelled => true,
            State::Ready
            | State::Running
            | State::Waiting
            | State::RetryScheduled
            | State::ReviewRequired => false,
        }
    }

    /// Whether the job is over as far as machines are concerned: terminal, or in a person's hands.
    pub const fn is_settled(self) -> bool {
        self.is_terminal() || matches!(self, State::ReviewRequired)
    }
}

/// The part of a job that the rules look at and change. The store keeps it as the narrow job row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Where it is in its life.
    pub state: State,
    /// Rises by one with every change of state.
    pub state_version: u64,
    /// Rises with every change of ownership; guards every write of an owner.
    pub fence: u64,
    /// 1, and one more for each rerun; attempts and deadline belong to a generation.
    pub generation: u32,
    /// The current step, counted from 1 within the generation.
    pub step: u32,
    /// Counted attempts of the current step.
    pub attempts: u32,
    /// Attempts of the current step that a provider's limit put off; not counted above.
    pub deferrals: u32,
    /// When the current step was first due; `max_elapsed` counts from here.
    pub step_since: Timestamp,
    /// From when on a READY or RETRY_SCHEDULED job may be claimed.
    pub available_at: Timestamp,
    /// Until when the owner of a RUNNING job is undisturbed.
    pub lease_until: Option<Timestamp>,
    /// Until when machines may work on it.
    pub deadline: Timestamp,
    /// Children that have not ended.
    pub open_children: u32,
    /// Why it failed or why a person must look; of the last failed try while one is scheduled.
    pub failure: Option<Failure>,
}

/// Why a job is where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The kind of failure.
    pub class: FailureClass,
    /// What a person reads; storable text.
    pub message: String,
}

impl Failure {
    /// A failure of a class with what a person reads about it.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }

    /// The failure as events carry it, which reach others than the job's owner. A message that may repeat what a
    /// person wrote, or what could not be read, gives way to what the class means (I31).
    pub fn for_events(&self) -> Self {
        use FailureClass::{DocumentUnavailable, Internal, Rejected, Undecodable};
        let free = matches!(self.class, Rejected | Undecodable | Internal | DocumentUnavailable);
        if free { Self::new(self.class, self.class.facts().meaning) } else { self.clone() }
    }
}

/// How urgent the caller says a job is. A class gives a head start in the queue, not absolute precedence:
/// whatever has waited long enough is served, so that nothing starves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Goes ahead of what was due up to ten minutes before it.
    High,
    /// In order of being due.
    #[default]
    Normal,
    /// Lets pass what becomes due up to one hour after it.
    Low,
}

impl Priority {
    /// Every priority.
    pub const ALL: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

    /// The name in the API and the database.
    pub const fn name(self) -> &'static str {
        match self {
            Priority::High => "high",
            Priority::Normal => "normal",
            Priority::Low => "low",
        }
    }

    /// The priority of that name.
    pub fn from_name(name: &str) -> Option<Priority> {
        Self::ALL.into_iter().find(|priority| priority.name() == name)
    }

    /// The place in the lane: smaller is sooner. Being a shifted point in time, it ages by itself. A job
    /// that has started (a later step, or a retry) goes before jobs of its class that have not.
    pub fn place(self, available_at: Timestamp, started: bool) -> i64 {
        const MINUTE: i64 = 60_000;
        let head_start = match self {
            Priority::High => 10 * MINUTE,
            Priority::Normal => 0,
            Priority::Low => -60 * MINUTE,
        };
        available_at.as_millis() - head_start - if started { MINUTE } else { 0 }
    }
}
