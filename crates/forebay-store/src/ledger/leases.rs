//! Who owns what, as it is now.

use std::collections::HashMap;

use async_trait::async_trait;
use forebay_core::id::{JobId, ProcessId};
use forebay_core::time::Millis;

use super::transaction::Tx;
use super::{Backend, Ledger, Needs, sql};
use crate::record::{Held, Lead};
use crate::{Leases, StoreError};

#[async_trait]
impl<B: Backend> Leases for Ledger<B> {
    async fn lead(&self, what: &str, who: ProcessId, span: Millis) -> Result<Option<Lead>, StoreError> {
        let what = what.to_owned();
        self.write("lead", Needs::nothing(), move |tx| {
            let until = tx.now.after(span);
            let asked = (&what, who.as_bytes(), tx.now.as_millis(), until.as_millis());
            tx.row(sql!("leases/lead"), asked, |c| Ok(Lead { fence: c.count()?, until }))
        })
        .await
    }

    async fn stop_leading(&self, what: &str, who: ProcessId) -> Result<(), StoreError> {
        let what = what.to_owned();
        self.write("stop_leading", Needs::nothing(), move |tx| {
            tx.execute(sql!("leases/stop_leading"), (&what, who.as_bytes(), tx.now.as_millis())).map(drop)
        })
        .await
    }

    async fn lost(&self, held: Vec<Held>) -> Result<Vec<Held>, StoreError> {
        self.read(move |tx| lost(tx, held)).await
    }
}

/// A job that is not there, or that has a higher fence, is its holder's no more.
fn lost(tx: &Tx<'_>, mut held: Vec<Held>) -> Result<Vec<Held>, StoreError> {
    let ids: Vec<String> = held.iter().map(|held| hex(held.job_id)).collect();
    let ids = serde_json::json!(ids).to_string();
    let fences: HashMap<JobId, u64> =
        tx.rows(sql!("jobs/fences"), [ids], |c| Ok((c.id()?, c.count()?)))?.into_iter().collect();
    held.retain(|held| fences.get(&held.job_id).is_none_or(|fence| *fence > held.fence));
    Ok(held)
}

fn hex(job: JobId) -> String {
    job.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}
