//! Who owns what, as it is now.

use std::collections::HashMap;

use async_trait::async_trait;
use forebay_core::id::JobId;

use super::transaction::Tx;
use super::{Backend, Ledger, sql};
use crate::record::Held;
use crate::{Leases, StoreError};

#[async_trait]
impl<B: Backend> Leases for Ledger<B> {
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
