use forebay_core::event::EventType;
use forebay_core::id::JobId;

/// A job that changed in a commit, or a batch that was completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Changed {
    /// Which job; of a batch, its id.
    pub job_id: JobId,
    /// Whose.
    pub tenant: i64,
}

/// A job that was taken from whoever ran it: it was cancelled, it expired, or its lease had lapsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Which job.
    pub job_id: JobId,
    /// Its fence since: whoever holds the job by a smaller one has lost it.
    pub fence: u64,
}

/// Which events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventQuery {
    /// Only of this job.
    pub job: Option<JobId>,
    /// Only after this number.
    pub after: i64,
    /// The most events.
    pub limit: usize,
}

/// Events in commit order.
#[derive(Debug, Clone, Default)]
pub struct EventPage {
    /// The events.
    pub events: Vec<EventRecord>,
    /// The number of the first event that the log still has; a cursor before it has expired.
    pub first: i64,
    /// The number of the last event that was ever written.
    pub last: i64,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// Its number in the log.
    pub seq: i64,
    /// What happened.
    pub kind: EventType,
    /// The CloudEvent, as it is published.
    pub body: Vec<u8>,
}
