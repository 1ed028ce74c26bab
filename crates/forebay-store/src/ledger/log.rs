//! Reading the log.

use async_trait::async_trait;
use forebay_core::event::EventType;

use super::columns::{Columns, limit};
use super::transaction::Tx;
use super::{Backend, Ledger, sql};
use crate::record::{EventPage, EventQuery, EventRecord};
use crate::{Log, StoreError};

#[async_trait]
impl<B: Backend> Log for Ledger<B> {
    async fn events(&self, tenant: i64, query: EventQuery) -> Result<EventPage, StoreError> {
        self.backend.close_log().await?;
        self.read(move |tx| page(tx, tenant, &query)).await
    }
}

fn page(tx: &Tx<'_>, tenant: i64, query: &EventQuery) -> Result<EventPage, StoreError> {
    let events = match &query.job {
        Some(job) => {
            let of_job = (tenant, job.as_bytes(), query.after, limit(query.limit));
            tx.rows(sql!("log/of_job"), of_job, event)?
        }
        None => tx.rows(sql!("log/of_tenant"), (tenant, query.after, limit(query.limit)), event)?,
    };
    let first = tx.row(sql!("log/first_number"), (), |c| c.get::<Option<i64>>())?.flatten();
    let last = tx.last_event_number()?;
    Ok(EventPage { events, first: first.unwrap_or(last + 1), last })
}

fn event(c: &mut Columns<'_>) -> Result<EventRecord, StoreError> {
    Ok(EventRecord { seq: c.get()?, kind: c.word(EventType::from_name)?, body: c.get()? })
}
