use std::borrow::Cow;

use forebay_core::event::EventType;
use forebay_core::id::JobId;
use forebay_core::word::Word;

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

/// Where an event stands in the log, and a reader who has seen it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The part of the log that was closed at once; always 0 where one process writes it.
    pub epoch: i64,
    /// The event's number.
    pub seq: i64,
}

impl Place {
    /// Before every event.
    pub const START: Self = Self { epoch: 0, seq: 0 };
    /// After every event that there can be.
    pub const END: Self = Self { epoch: i64::MAX, seq: i64::MAX };
}

/// Which events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventQuery {
    /// Only of this job.
    pub job: Option<JobId>,
    /// Only after this place.
    pub after: Place,
    /// The most events.
    pub limit: usize,
}

/// Events in commit order.
#[derive(Debug, Clone, Default)]
pub struct EventPage {
    /// The events.
    pub events: Vec<EventRecord>,
    /// Whether events of the tenant that stood after the query's place were deleted: whoever has read up to there and
    /// not further has missed them. A job's own events are deleted with it only.
    pub expired: bool,
    /// Where the last event of the log stands, whosever it is.
    pub last: Place,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRecord {
    /// Where it stands in the log.
    pub epoch: i64,
    /// Its number.
    pub seq: i64,
    /// What happened.
    pub kind: Word<EventType>,
    /// The CloudEvent, as it is published.
    pub body: Vec<u8>,
}

impl EventRecord {
    /// What happened, as event streams name it: `job.succeeded`.
    pub fn full_name(&self) -> Cow<'_, str> {
        match &self.kind {
            Word::Known(kind) => kind.full_name().into(),
            Word::Unknown(name) if name.contains('.') => name.into(),
            Word::Unknown(name) => format!("job.{name}").into(),
        }
    }

    /// Where it stands.
    pub const fn place(&self) -> Place {
        Place { epoch: self.epoch, seq: self.seq }
    }
}
