//! Definitions as immutable numbered revisions.

use async_trait::async_trait;
use forebay_core::digest::Digest;
use rusqlite::Row;
use serde_json::{Value, json};

use super::columns::Columns;
use super::transaction::Tx;
use super::{SqliteStore, audit, sql};
use crate::record::{AuditAction, NewRevision, RevisionRecord};
use crate::{Revisions, StoreError};

#[async_trait]
impl Revisions for SqliteStore {
    async fn apply_revision(&self, revision: NewRevision) -> Result<RevisionRecord, StoreError> {
        self.write("apply_revision", move |tx| apply(tx, &revision)).await
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
    let before = active(tx)?.map(|active| shown(&active));
    let by = revision.by.key.as_ref().map(|key| key.as_bytes());
    let row = (&revision.source, digest.as_bytes(), &revision.comment, by, tx.now.as_millis());
    tx.execute(sql!("revisions/insert"), row)?;
    tx.execute(sql!("revisions/activate_last"), ())?;
    let record = active(tx)?
        .ok_or_else(|| StoreError::Corrupt("the revision just written is not there".to_owned()))?;
    let entry = audit::Entry {
        tenant: None,
        by: &revision.by,
        action: AuditAction::RevisionApply,
        subject: record.number.to_string(),
        before,
        after: Some(shown(&record)),
    };
    audit::append(tx, &entry)?;
    Ok(record)
}

/// A revision as the audit shows it: its text is kept with the revision.
fn shown(record: &RevisionRecord) -> Value {
    json!({ "number": record.number, "digest": record.digest.to_string(), "comment": record.comment })
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
