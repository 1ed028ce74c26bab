use forebay_core::digest::Digest;
use forebay_core::time::Timestamp;

use super::audit::Actor;

/// Definitions that are to be applied.
#[derive(Debug, Clone)]
pub struct NewRevision {
    /// The text.
    pub source: String,
    /// Why.
    pub comment: Option<String>,
    /// By whom.
    pub by: Actor,
    /// Only where this revision is the active one; whatever is active where absent.
    pub expect: Option<u32>,
    /// The revision whose text this is again, where it is a rollback.
    pub rolled_back_to: Option<u32>,
}

impl NewRevision {
    /// Definitions to be applied whatever is active.
    pub fn of(source: impl Into<String>, by: Actor) -> Self {
        Self { source: source.into(), comment: None, by, expect: None, rolled_back_to: None }
    }
}

/// What became of definitions that were to be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// They are the active revision now.
    New(RevisionRecord),
    /// They were it before: nothing has changed.
    Already(RevisionRecord),
    /// Another revision than the expected one is active: nothing has changed.
    Moved(RevisionRecord),
}

impl Applied {
    /// The revision that is active then.
    pub fn active(&self) -> &RevisionRecord {
        match self {
            Applied::New(record) | Applied::Already(record) | Applied::Moved(record) => record,
        }
    }
}

/// Definitions that were applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionRecord {
    /// Number, author, time.
    pub info: RevisionInfo,
    /// The text.
    pub source: String,
}

/// What is known of a revision beside its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionInfo {
    /// Its number; rises.
    pub number: u32,
    /// The text's digest.
    pub digest: Digest,
    /// Why.
    pub comment: Option<String>,
    /// When.
    pub created_at: Timestamp,
    /// By whom.
    pub by: Actor,
}

/// Revisions, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RevisionPage {
    /// The revisions.
    pub revisions: Vec<RevisionInfo>,
    /// Where the next page starts; absent on the last.
    pub next: Option<u32>,
}
