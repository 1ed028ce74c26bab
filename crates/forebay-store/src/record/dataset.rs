use forebay_core::digest::Digest;
use forebay_core::id::KeyId;
use forebay_core::time::Timestamp;

use super::audit::Actor;

/// Master data that a tenant sends. Its content is in the blob store already, under its digest.
#[derive(Debug, Clone)]
pub struct NewDataset {
    /// Whose.
    pub tenant: i64,
    /// Its name.
    pub name: String,
    /// Of its content.
    pub digest: Digest,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// How many rows it has.
    pub rows: u64,
    /// How many bytes its content has.
    pub bytes: u64,
    /// The version that must be the latest; any, or none at all, where absent.
    pub expected: Option<u32>,
    /// How many datasets a tenant may have.
    pub most: u64,
    /// By whom.
    pub by: Actor,
}

/// One version of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetRecord {
    /// Its name within the tenant.
    pub name: String,
    /// Its version, from 1.
    pub version: u32,
    /// Of its content.
    pub digest: Digest,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// How many rows it has.
    pub rows: u64,
    /// How many bytes its content has.
    pub bytes: u64,
    /// When it was sent.
    pub created_at: Timestamp,
    /// By which key; absent for the program itself.
    pub created_by: Option<KeyId>,
}

/// What came of sending a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatasetPut {
    /// A new version.
    New(DatasetRecord),
    /// The latest version has the same content; nothing was written.
    Same(DatasetRecord),
    /// Another version is the latest than the caller expected, or none is; nothing was written.
    Moved(Option<DatasetRecord>),
    /// The tenant has as many datasets as it may; nothing was written.
    TooMany,
}
