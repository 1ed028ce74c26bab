//! How fast jobs may be handed in.

use forebay_core::rate::{Bucket, Counted, Rate};
use forebay_core::time::{Millis, Timestamp};

/// A limit that a job counts against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimit {
    /// Who is counted.
    pub counted: Counted,
    /// Which one of them, in 100 bytes at most: a name that no two of them share.
    pub who: String,
    /// Jobs in a minute.
    pub rate: Rate,
}

impl RateLimit {
    /// Where the limit is, by its bucket.
    pub fn left(&self, bucket: Bucket, now: Timestamp) -> RateLeft {
        let wait = bucket.take(self.rate, now).err();
        let jobs = bucket.left(self.rate, now);
        RateLeft { counted: self.counted, rate: self.rate, jobs, until: wait.unwrap_or(bucket.full_in(now)) }
    }
}

/// Where a limit is after a job was taken in, or was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLeft {
    /// Who is counted.
    pub counted: Counted,
    /// Jobs in a minute.
    pub rate: Rate,
    /// Jobs that would be taken in at once.
    pub jobs: u64,
    /// How long until it is as if none had been; where none would be taken in, how long until one is.
    pub until: Millis,
}

/// Jobs are handed in faster than they may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimited {
    /// Whose limit it is that takes longest.
    pub counted: Counted,
    /// From when on it is worth trying again.
    pub retry_after: Millis,
    /// Where each limit is.
    pub rates: Vec<RateLeft>,
}
