//! Definitions as immutable numbered revisions.

use async_trait::async_trait;
use forebay_core::digest::Digest;
use serde_json::{Value, json};

use super::columns::{Columns, limit as most};
use super::transaction::Tx;
use super::{Backend, Ledger, Needs, audit, sql};
use crate::record::{Actor, Applied, AuditAction, NewRevision, RevisionInfo, RevisionPage, RevisionRecord};
use crate::{Revisions, StoreError};

#[async_trait]
impl<B: Backend> Revisions for Ledger<B> {
    async fn apply_revision(&self, revision: NewRevision) -> Result<Applied, StoreError> {
        self.write("apply_revision", Needs::nothing(), move |tx| apply(tx, &revision)).await
    }

    async fn active_revision(&self) -> Result<Option<RevisionRecord>, StoreError> {
        self.read(active).await
    }

    async fn revisions(&self, before: Option<u32>, limit: usize) -> Result<RevisionPage, StoreError> {
        self.read(move |tx| page(tx, before, limit)).await
    }

    async fn revision(&self, number: u32) -> Result<Option<RevisionRecord>, StoreError> {
        self.read(move |tx| tx.row(sql!("revisions/by_number"), [number], record)).await
    }
}

fn active(tx: &Tx<'_>) -> Result<Option<RevisionRecord>, StoreError> {
    tx.row(sql!("revisions/active"), (), record)
}

fn page(tx: &Tx<'_>, before: Option<u32>, limit: usize) -> Result<RevisionPage, StoreError> {
    // One more than the page shows whether there is another page.
    let bounds = (before.map_or(i64::MAX, i64::from), most(limit.saturating_add(1)));
    let mut revisions = tx.rows(sql!("revisions/list"), bounds, info)?;
    let more = revisions.len() > limit;
    revisions.truncate(limit);
    let next = revisions.last().filter(|_| more).map(|info| info.number);
    Ok(RevisionPage { revisions, next })
}

fn apply(tx: &Tx<'_>, revision: &NewRevision) -> Result<Applied, StoreError> {
    // One at a time.
    tx.row(sql!("meta/lock"), (), |_| Ok(()))?;
    let digest = Digest::of(revision.source.as_bytes());
    let before = match active(tx)? {
        Some(active) if active.info.digest == digest => return Ok(Applied::Already(active)),
        Some(active) if revision.expect.is_some_and(|number| number != active.info.number) => {
            return Ok(Applied::Moved(active));
        }
        before => before,
    };
    let by = revision.by.key.as_ref().map(|key| key.as_bytes());
    let row = (&revision.source, digest.as_bytes(), &revision.comment, by, tx.now.as_millis());
    tx.execute(sql!("revisions/insert"), row)?;
    tx.execute(sql!("revisions/activate_last"), ())?;
    tx.note_revision();
    let record = active(tx)?
        .ok_or_else(|| StoreError::Corrupt("the revision just written is not there".to_owned()))?;
    let mut after = shown(&record.info);
    let mut action = AuditAction::RevisionApply;
    if let Some(number) = revision.rolled_back_to {
        action = AuditAction::RevisionRollback;
        after["rolled_back_to"] = json!(number);
    }
    let entry = audit::Entry {
        tenant: None,
        by: &revision.by,
        action,
        subject: record.info.number.to_string(),
        before: before.map(|before| shown(&before.info)),
        after: Some(after),
    };
    audit::append(tx, &entry)?;
    Ok(Applied::New(record))
}

/// A revision as the audit shows it: its text is kept with the revision.
fn shown(info: &RevisionInfo) -> Value {
    json!({ "number": info.number, "digest": info.digest.to_string(), "comment": info.comment })
}

fn record(c: &mut Columns<'_>) -> Result<RevisionRecord, StoreError> {
    Ok(RevisionRecord { info: info(c)?, source: c.get()? })
}

fn info(c: &mut Columns<'_>) -> Result<RevisionInfo, StoreError> {
    Ok(RevisionInfo {
        number: c.count()?,
        digest: c.digest()?,
        comment: c.get()?,
        created_at: c.time()?,
        by: Actor { key: c.maybe_id()?, name: c.get::<Option<String>>()?.unwrap_or(Actor::program().name) },
    })
}
