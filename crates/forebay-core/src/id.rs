//! Identifiers: opaque to callers, typed and compact inside.
//!
//! In the API an id is a prefix and 32 hex digits (`job_0199…`); in the database it is the 16 bytes of a
//! version 7 UUID. Nothing orders by an id: the time in it only keeps index pages warm.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use crate::time::Timestamp;

/// What an id names; gives the prefix that callers see.
pub trait Kind {
    /// The text before the hex digits, with its underscore.
    const PREFIX: &'static str;
}

/// An id of one kind of thing.
pub struct Id<K> {
    uuid: Uuid,
    kind: PhantomData<fn() -> K>,
}

/// Marks ids of jobs.
pub enum JobKind {}
/// Marks ids of attempts.
pub enum AttemptKind {}
/// Marks ids of API keys.
pub enum KeyKind {}
/// Marks ids of claims.
pub enum ClaimKind {}
/// Marks ids of batches of jobs.
pub enum BatchKind {}
/// Marks ids of processes.
pub enum ProcessKind {}

impl Kind for JobKind {
    const PREFIX: &'static str = "job_";
}
impl Kind for AttemptKind {
    const PREFIX: &'static str = "att_";
}
impl Kind for KeyKind {
    const PREFIX: &'static str = "key_";
}
impl Kind for ClaimKind {
    const PREFIX: &'static str = "clm_";
}
impl Kind for BatchKind {
    const PREFIX: &'static str = "batch_";
}
impl Kind for ProcessKind {
    const PREFIX: &'static str = "prc_";
}

/// Names a job.
pub type JobId = Id<JobKind>;
/// Names an attempt; sent to providers as `X-Forebay-Attempt`.
pub type AttemptId = Id<AttemptKind>;
/// Names an API key; not the key itself.
pub type KeyId = Id<KeyKind>;
/// Names one claim call, so that the unknown outcome of its commit can be resolved by looking.
pub type ClaimId = Id<ClaimKind>;
/// Names jobs that were handed over in one call.
pub type BatchId = Id<BatchKind>;
/// Names a process, from its start to its end.
pub type ProcessId = Id<ProcessKind>;

impl<K> Id<K> {
    /// Makes an id from the time and ten random bytes.
    pub fn new(now: Timestamp, random: [u8; 10]) -> Self {
        let millis = now.as_millis().max(0).unsigned_abs();
        Self::from_bytes(*uuid::Builder::from_unix_timestamp_millis(millis, &random).as_uuid().as_bytes())
    }

    /// Reads the form that the database keeps.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self { uuid: Uuid::from_bytes(bytes), kind: PhantomData }
    }

    /// The form that the database keeps.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.uuid.as_bytes()
    }
}

impl<K> Clone for Id<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Id<K> {}
impl<K> PartialEq for Id<K> {
    fn eq(&self, other: &Self) -> bool {
        self.uuid == other.uuid
    }
}
impl<K> Eq for Id<K> {}
impl<K> PartialOrd for Id<K> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<K> Ord for Id<K> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.uuid.cmp(&other.uuid)
    }
}
impl<K> Hash for Id<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.uuid.hash(state);
    }
}

impl<K: Kind> fmt::Display for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", K::PREFIX, self.uuid.simple())
    }
}
impl<K: Kind> fmt::Debug for Id<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not an id of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected an id that starts with `{prefix}` and goes on with 32 hex digits")]
pub struct NotAnId {
    prefix: &'static str,
}

impl<K: Kind> FromStr for Id<K> {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let refused = NotAnId { prefix: K::PREFIX };
        let hex = text.strip_prefix(K::PREFIX).ok_or(refused.clone())?;
        // The one written form only: an id that can be spelled in two ways is two ids to a cache.
        if hex.len() != 32 || !hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
            return Err(refused);
        }
        Uuid::try_parse(hex).map(|uuid| Self { uuid, kind: PhantomData }).map_err(|_| refused)
    }
}

impl<K: Kind> Serialize for Id<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
impl<'de, K: Kind> Deserialize<'de> for Id<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The identity of the store's life since its last restore. It is part of event ids, cursors and fence
/// checks, so that a worker or a cursor from before a restore is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Incarnation(pub u32);

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_what_it_wrote() {
        let id = JobId::new(Timestamp::from_millis(1_764_500_000_000), [7; 10]);
        assert_eq!(id.to_string().parse::<JobId>().unwrap(), id);
        assert_eq!(JobId::from_bytes(*id.as_bytes()), id);
    }

    #[test]
    fn other_kinds_and_other_spellings_are_refused() {
        let id = JobId::new(Timestamp::from_millis(0), [255; 10]).to_string();
        assert!(id.parse::<AttemptId>().is_err());
        assert!(id.to_uppercase().parse::<JobId>().is_err());
        assert!(format!("{id}0").parse::<JobId>().is_err());
        assert!("job_".parse::<JobId>().is_err());
    }
}
