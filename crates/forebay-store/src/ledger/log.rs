//! Reading the log.

use async_trait::async_trait;
use forebay_core::event::EventType;

use super::columns::{Columns, limit};
use super::transaction::Tx;
use super::{Backend, Ledger, sql};
use crate::record::{EventPage, EventQuery, EventRecord, Place};
use crate::{Log, StoreError};

#[async_trait]
impl<B: Backend> Log for Ledger<B> {
    async fn events(&self, tenant: i64, query: EventQuery) -> Result<EventPage, StoreError> {
        self.backend.close_log().await?;
        self.read(move |tx| page(tx, tenant, &query)).await
    }
}

fn page(tx: &Tx<'_>, tenant: i64, query: &EventQuery) -> Result<EventPage, StoreError> {
    let Place { epoch, seq } = query.after;
    let events = match &query.job {
        Some(job) => {
            let of_job = (tenant, job.as_bytes(), epoch, seq, limit(query.limit));
            tx.rows(sql!("log/of_job"), of_job, event)?
        }
        None => tx.rows(sql!("log/of_tenant"), (tenant, epoch, seq, limit(query.limit)), event)?,
    };
    let deleted = tx.row(sql!("log/deleted"), [tenant], place)?.unwrap_or_default();
    let last = tx.row(sql!("log/last"), (), place)?.unwrap_or_default();
    Ok(EventPage { events, expired: query.job.is_none() && query.after < deleted, last })
}

fn event(c: &mut Columns<'_>) -> Result<EventRecord, StoreError> {
    let Place { epoch, seq } = place(c)?;
    Ok(EventRecord { epoch, seq, kind: c.any_word(EventType::from_name)?, body: c.get()? })
}

fn place(c: &mut Columns<'_>) -> Result<Place, StoreError> {
    Ok(Place { epoch: c.get()?, seq: c.get()? })
}
