use forebay_core::time::{Millis, Timestamp};

/// How long what has ended is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// A job with everything that belongs to it, from its end on; likewise a batch.
    pub results: Millis,
    /// A job that failed, from when somebody last dealt with its dead letter.
    pub dead_letters: Millis,
    /// A document that no job refers to, from when it was uploaded or seen in use last.
    pub documents: Millis,
}

/// How far a walk came in the order of accepting, and what it has deleted on the way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Walked {
    /// Where to go on; none where all that follows is too young.
    pub next: Option<i64>,
    /// What was deleted.
    pub deleted: Deleted,
}

/// Rows that retention has deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Jobs, with their inputs, steps, results, reviews and dead letters.
    pub jobs: u64,
    /// Attempts of these jobs.
    pub attempts: u64,
    /// Events, of these jobs and of batches.
    pub events: u64,
    /// Batches, with what was noted of their members.
    pub batches: u64,
    /// Documents. Their bytes are removed from the blob store later.
    pub documents: u64,
    /// Idempotency keys.
    pub keys: u64,
}

impl Deleted {
    /// Whether nothing was.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// Each number with its name in the API and the metrics.
    pub const fn each(&self) -> [(&'static str, u64); 6] {
        [
            ("jobs", self.jobs),
            ("attempts", self.attempts),
            ("events", self.events),
            ("batches", self.batches),
            ("documents", self.documents),
            ("idempotency_keys", self.keys),
        ]
    }
}

/// What is kept, and what was deleted since the store was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retained {
    /// All that was ever deleted.
    pub deleted: Deleted,
    /// When the oldest job was accepted that is there.
    pub oldest_job: Option<Timestamp>,
    /// When the oldest event was written that is there.
    pub oldest_event: Option<Timestamp>,
}
