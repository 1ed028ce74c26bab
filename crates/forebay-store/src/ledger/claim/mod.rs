//! Handing jobs out: ownership and capacity in one transaction, tenants in turn.

mod front;
pub mod marks;
mod memory;
mod pool;
mod round;

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use forebay_core::id::JobId;
use forebay_core::time::Millis;

use self::pool::Wait;
pub use self::pool::{PoolRow, pool_row};
use self::round::Round;
use super::signals::Board;
use super::transaction::Tx;
use super::{Backend, Ledger, Needs, extend, queue};
use crate::record::{Claim, ClaimReply, Extended, Held, StandingClaim, Told, Work};
use crate::{Claims, StoreError, failpoint};

#[async_trait]
impl<B: Backend> Claims for Ledger<B> {
    async fn claim(&self, claim: Claim) -> Result<ClaimReply, StoreError> {
        let marks = Arc::clone(self.backend.board().marks());
        let needs = Needs { claims: vec![claim.pool.clone()], ..Needs::nothing() };
        self.write("claim", needs, move |tx| {
            let round = Round::open(tx, &claim, Wait::ForIt, &marks)?;
            // Where another process has the pool, it is asked for again in a moment.
            let Some(round) = round else {
                return Ok(ClaimReply { next: Some(tx.now), ..ClaimReply::default() });
            };
            let mut reply = round.run()?;
            read_along(tx, &mut reply);
            Ok(reply)
        })
        .await
    }

    fn stand_by(&self, pool: &str, claim: Weak<dyn StandingClaim>) {
        self.backend.board().stand_by(pool, claim);
    }

    async fn work(&self, jobs: Vec<JobId>) -> Result<Vec<Work>, StoreError> {
        self.read(move |tx| queue::work(tx, &jobs)).await
    }

    async fn extend(&self, held: Vec<Held>, lease: Millis) -> Result<Vec<Extended>, StoreError> {
        let needs = Needs { jobs: held.iter().map(|held| held.job_id).collect(), ..Needs::nothing() };
        self.write("extend", needs, move |tx| {
            held.iter().map(|held| extend::extend(tx, held, lease)).collect()
        })
        .await
    }
}

/// Reads what the workers need of what was claimed, where that is cheaper here than in a transaction of its own.
fn read_along(tx: &Tx<'_>, reply: &mut ClaimReply) {
    let ids: Vec<_> = reply.claimed.iter().map(|claimed| claimed.job_id).collect();
    if !ids.is_empty() && ids.len() <= tx.reads_along() {
        // What can't be read is read again by whoever runs the job, and judged there.
        reply.work = queue::work(tx, &ids).unwrap_or_default();
    }
}

/// Makes the standing claims of the pools in which this transaction has made something claimable. Whom to tell what
/// they brought, once it is committed, is added to `told`.
pub(super) fn for_those_who_stand_by(
    tx: &Tx<'_>,
    board: &Board,
    told: &mut Vec<(ClaimReply, Told)>,
) -> Result<(), StoreError> {
    for pool in tx.take_pools() {
        let Some((claim, tell)) = board.standing_claim(&pool) else {
            tx.note_pool(&pool);
            continue;
        };
        let Some(round) = Round::open(tx, &claim, Wait::Never, board.marks())? else {
            tx.note_pool(&pool);
            continue;
        };
        let mut reply = round.run()?;
        failpoint::reach("claim", "before_commit");
        if reply.claimed.len() == claim.slots {
            // There may be more, for other slots.
            tx.note_pool(&pool);
        }
        read_along(tx, &mut reply);
        told.push((reply, tell));
    }
    Ok(())
}
