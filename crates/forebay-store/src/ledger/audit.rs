//! Who changed what, and when. A row is written in the transaction of its change: neither is there without
//! the other.

use async_trait::async_trait;
use serde_json::Value;

use super::columns::{Columns, limit};
use super::transaction::Tx;
use super::values::params;
use super::{Backend, Ledger, sql};
use crate::record::{Actor, AuditAction, AuditPage, AuditQuery, AuditRecord};
use crate::{Audit, StoreError};

#[async_trait]
impl<B: Backend> Audit for Ledger<B> {
    async fn audit(&self, query: AuditQuery) -> Result<AuditPage, StoreError> {
        self.read(move |tx| page(tx, &query)).await
    }
}

/// A change that is to be audited.
pub(super) struct Entry<'a> {
    /// Whose affair; `None` where it is the whole installation's.
    pub(super) tenant: Option<i64>,
    pub(super) by: &'a Actor,
    pub(super) action: AuditAction,
    pub(super) subject: String,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

/// Writes an audit row. For changes only: what asks for a state that is there already leaves none.
pub(super) fn append(tx: &Tx<'_>, entry: &Entry<'_>) -> Result<(), StoreError> {
    let text = |value: &Option<Value>| value.as_ref().map(Value::to_string);
    tx.execute(
        sql!("audit/append"),
        params! {
            ":at": tx.now.as_millis(),
            ":tenant": entry.tenant,
            ":actor_key": entry.by.key.as_ref().map(|key| key.as_bytes()),
            ":actor_name": entry.by.name,
            ":action": entry.action.name(),
            ":subject": entry.subject,
            ":before": text(&entry.before),
            ":after": text(&entry.after),
        },
    )?;
    Ok(())
}

fn page(tx: &Tx<'_>, query: &AuditQuery) -> Result<AuditPage, StoreError> {
    let mut records = tx.rows(
        sql!("audit/list"),
        params! {
            ":tenant": query.tenant,
            ":action": query.action.map(AuditAction::name),
            ":subject": query.subject,
            ":actor_key": query.actor.as_ref().map(|key| key.as_bytes()),
            ":since": query.since.map_or(0, |at| at.as_millis()),
            ":until": query.until.map_or(i64::MAX, |at| at.as_millis()),
            ":before": query.before.unwrap_or(i64::MAX),
            // One more than the page shows whether there is another page.
            ":limit": limit(query.limit.saturating_add(1)),
        },
        record,
    )?;
    let more = records.len() > query.limit;
    records.truncate(query.limit);
    let next = records.last().filter(|_| more).map(|record| record.seq);
    Ok(AuditPage { records, next })
}

fn record(c: &mut Columns<'_>) -> Result<AuditRecord, StoreError> {
    Ok(AuditRecord {
        seq: c.get()?,
        at: c.time()?,
        tenant: c.get()?,
        actor: Actor { key: c.maybe_id()?, name: c.get()? },
        action: c.any_word(AuditAction::from_name)?,
        subject: c.get()?,
        before: c.maybe_json()?,
        after: c.maybe_json()?,
    })
}
