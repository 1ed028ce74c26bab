//! Definitions as immutable numbered revisions.

use async_trait::async_trait;
use forebay_core::digest::Digest;
use rusqlite::Row;

use super::columns::Columns;
use super::transaction::Tx;
use super::{SqliteStore, sql};
use crate::record::{NewRevision, RevisionRecord};
use crate::{Revisions, StoreError};

#[async_trait]
impl Revisions for SqliteStore {
    async fn apply_revision(&self, revision: NewRevision) -> Result<RevisionRecord, StoreError> {
        self.write(move |tx| apply(tx, &revision)).await
    }

    async fn active_revision(&self) -> Result<Option<RevisionRecord>, StoreError> {
        self.read(active).await
    }

    async fn revision(&self, number: u32) -> Result<Option<RevisionRecord>, StoreError> {
        self.read(move |tx| tx.row(sql!("revisions/by_number"), [number], record)).await
    }
}

fn active(tx: &Tx<'_>) -> Result<Option<RevisionRecord>, StoreError> {
    tx.row(sql!("revisions/active"), (), record)
}

fn apply(tx: &Tx<'_>, revision: &NewRevision) -> Result<RevisionRecord, StoreError> {
    let digest = Digest::of(revision.source.as_bytes());
    if let Some(active) = active(tx)?.filter(|active| active.digest == digest) {
        return Ok(active);
    }
    let by = revision.created_by.as_ref().map(|key| key.as_bytes());
    let row = (&revision.source, digest.as_bytes(), &revision.comment, by, tx.now.as_millis());
    tx.execute(sql!("revisions/insert"), row)?;
    tx.execute(sql!("revisions/activate_last"), ())?;
    active(tx)?.ok_or_else(|| StoreError::Corrupt("the revision just written is not there".to_owned()))
}

fn record(row: &Row<'_>) -> rusqlite::Result<RevisionRecord> {
    let mut c = Columns::of(row);
    Ok(RevisionRecord {
        number: c.count()?,
        source: c.get()?,
        digest: c.digest()?,
        comment: c.get()?,
        created_at: c.time()?,
    })
}
