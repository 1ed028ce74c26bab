//! Closing an attempt, once: outcome, usage, money and permit together.

use forebay_core::attempt::{Outcome, Usage};
use forebay_core::definition::CountTokens;
use forebay_core::grant::{self, Reservation, Settlement};
use forebay_core::id::AttemptId;
use forebay_core::money::Price;
use forebay_core::time::Timestamp;

use super::columns::{Columns, int};
use super::tally::{CallOf, Day};
use super::transaction::Tx;
use super::values::params;
use super::{queue, sql};
use crate::StoreError;
use crate::record::{AttemptClose, Held, JobRecord, JobUsage};

/// An attempt that is not settled yet.
pub struct Open {
    pub(super) id: AttemptId,
    pub(super) tenant: i64,
    pub(super) lane: i64,
    pub(super) task: String,
    pub(super) pool: String,
    pub(super) model: String,
    pub(super) reserved: Reservation,
    pub(super) price: Price,
    pub(super) budget_start: Timestamp,
    pub(super) holds_permit: bool,
    /// When it was charged to its pool.
    pub(super) charged_at: Timestamp,
}

/// Whether the permit for the call in flight goes back with the settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    /// The worker says so: the call is over.
    Return,
    /// Somebody else closed the attempt: its call may still be running, until the worker reports or the
    /// grant's own lease lapses.
    Keep,
}

/// Settles the attempt that the job's fence stands for, and gives what that adds to its job's use, for the caller to write with the job; `None` when
/// it had been settled before or is not the holder's, in which case nothing changes.
pub fn settle(
    tx: &Tx<'_>,
    job: &JobRecord,
    holder: Option<AttemptId>,
    close: &AttemptClose,
    permit: Permit,
) -> Result<Option<JobUsage>, StoreError> {
    let (number, fence) = (job.seq, job.job.fence);
    let found = match tx.take_attempt(number, fence) {
        Some(known) => Some(known),
        None => tx.row(sql!("attempts/open"), (number, int(fence)), open)?,
    };
    // As its owner names it: a report that mixes attempts up settles none.
    let Some(open) = found.filter(|open| holder.is_none_or(|holder| holder == open.id)) else {
        return Ok(None);
    };
    let class = close.failure.as_ref().map(|failure| failure.class);
    let settlement = grant::settle(&open.reserved, &open.price, close.outcome, class, close.usage.as_ref());
    write_attempt(tx, (number, fence), close, &settlement, permit)?;
    if permit == Permit::Return && open.holds_permit {
        let tokens = open.reserved.tokens();
        let call =
            CallOf { tenant: open.tenant, pool: &open.pool, lane: open.lane, task: &open.task, tokens };
        queue::permit_returned(tx, call);
    }
    give_back(tx, &open, close);
    Ok(Some(book(tx, open, close, &settlement)))
}

/// Keeps what a worker reports about an attempt that was closed without it, and gives its permit back. A
/// report about somebody else's attempt says nothing, and must not return the permit of a call that runs.
pub fn keep_evidence(tx: &Tx<'_>, held: &Held, close: &AttemptClose) -> Result<(), StoreError> {
    let key = (held.job_id.as_bytes(), int(held.fence), held.attempt_id.as_bytes());
    let Some(job) = tx.row(sql!("attempts/owned"), key, |c| c.get::<i64>())? else {
        return Ok(());
    };
    let evidence = serde_json::json!({
        "at": tx.now,
        "outcome": close.outcome,
        "failure_class": close.failure.as_ref().map(|failure| failure.class),
        "usage": close.usage,
        "provider_request_id": close.provider_request_id,
        "provider_model": close.provider_model,
    });
    tx.execute(sql!("attempts/keep_evidence"), (job, int(held.fence), evidence.to_string()))?;
    queue::return_permit(tx, (job, held.fence), None)?;
    Ok(())
}

/// The columns of an open attempt.
pub fn open(c: &mut Columns<'_>) -> Result<Open, StoreError> {
    Ok(Open {
        id: c.id()?,
        tenant: c.get()?,
        lane: c.get()?,
        task: c.get()?,
        pool: c.get()?,
        model: c.get()?,
        reserved: Reservation { input_tokens: c.count()?, output_tokens: c.count()?, micros: c.micros()? },
        price: Price {
            input_per_mtok: c.micros()?,
            cached_input_per_mtok: c.maybe_micros()?,
            output_per_mtok: c.micros()?,
        },
        budget_start: c.time()?,
        holds_permit: c.get()?,
        charged_at: c.time()?,
    })
}

/// Takes from what was charged to the pool what a call that was not sent did not use, and what one that is over did not
/// need where the provider counts what was used.
fn give_back(tx: &Tx<'_>, open: &Open, close: &AttemptClose) {
    let Reservation { input_tokens, output_tokens, .. } = open.reserved;
    let unused = |reserved: u64, used: u64| int(reserved) - int(used);
    let back = match (close.outcome, close.count_tokens, close.usage) {
        (Outcome::FailedBeforeSend, _, _) => (1, int(input_tokens), int(output_tokens)),
        (Outcome::Succeeded | Outcome::FailedAfterSend, CountTokens::Used, Some(usage)) => {
            (0, unused(input_tokens, usage.input_tokens), unused(output_tokens, usage.output_tokens))
        }
        _ => return,
    };
    tx.tally(|tally| tally.give_back(&open.pool, open.charged_at, back));
}

fn write_attempt(
    tx: &Tx<'_>,
    (job, fence): (i64, u64),
    close: &AttemptClose,
    settlement: &Settlement,
    permit: Permit,
) -> Result<(), StoreError> {
    tx.write(
        sql!("attempts/settle"),
        params! {
            ":keep_permit": permit == Permit::Keep,
            ":now": tx.now.as_millis(),
            ":outcome": close.outcome.name(),
            ":failure_class": close.failure.as_ref().map(|failure| failure.class.name()),
            ":message": close.failure.as_ref().map(|failure| &failure.message),
            ":provider_request_id": close.provider_request_id,
            ":provider_model": close.provider_model,
            ":input_tokens": close.usage.map(|usage| int(usage.input_tokens)),
            ":cached_tokens": close.usage.map(|usage| int(usage.cached_input_tokens)),
            ":output_tokens": close.usage.map(|usage| int(usage.output_tokens)),
            ":reasoning_tokens": close.usage.map(|usage| int(usage.reasoning_tokens)),
            ":cost_micros": settlement.spent.0,
            ":uncertain_micros": settlement.uncertain.0,
            ":overage_micros": settlement.overage.0,
            ":job": job,
            ":fence": int(fence),
        },
    )
}

/// Books the settlement on the account and the day. Gives what it adds to the job's use.
fn book(tx: &Tx<'_>, open: Open, close: &AttemptClose, settlement: &Settlement) -> JobUsage {
    // Where nothing was billed, what the provider may have reported is no use.
    let used = match close.outcome {
        Outcome::Succeeded | Outcome::FailedAfterSend => close.usage.unwrap_or_default(),
        Outcome::FailedBeforeSend | Outcome::Unknown => Usage::default(),
    };
    let Open { tenant, task, pool, model, reserved, budget_start, .. } = open;
    let day = Day { tenant, start: tx.now.start_of_day(), task, model, pool };
    tx.tally(|tally| {
        tally.settle(tenant, budget_start, reserved.micros, settlement);
        tally.use_up(day, &used, settlement);
    });
    JobUsage {
        input_tokens: used.input_tokens,
        output_tokens: used.output_tokens,
        cost: settlement.spent,
        uncertain: settlement.uncertain,
    }
}
