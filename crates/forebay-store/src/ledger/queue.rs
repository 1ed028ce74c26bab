//! What a job needs and what stands in its way: inputs, pools, accounts.

use std::collections::HashMap;

use forebay_core::failure::FailureClass;
use forebay_core::grant::Account;
use forebay_core::id::JobId;
use forebay_core::time::Timestamp;
use forebay_core::window::{Bucket, Span, Use, Window};

use super::columns::int;
use super::sql;
use super::tally::CallOf;
use super::transaction::Tx;
use crate::StoreError;
use crate::record::{BudgetPeriod, PoolStatus, Work};

/// What a worker needs to run the jobs' current steps, in the order in which they are given.
pub(super) fn work(tx: &Tx<'_>, jobs: &[JobId]) -> Result<Vec<Work>, StoreError> {
    let mut found: HashMap<_, _> =
        jobs.iter().filter_map(|job| tx.take_work(*job)).map(|work| (work.job_id, work)).collect();
    let unread = jobs.iter().filter(|job| !found.contains_key(job)).map(|job| [job.as_bytes()]);
    let read = tx.rows_of_each(sql!("claim/work"), unread, |c| {
        Ok(Work {
            job_id: c.id()?,
            tenant: c.get()?,
            task: c.get()?,
            revision: c.count()?,
            generation: c.count()?,
            step: c.count()?,
            step_kind: c.get()?,
            model: c.get()?,
            output_tokens: c.count()?,
            deadline: c.time()?,
            input: c.bytes()?,
            document: c.maybe_digest()?,
            journal: Vec::new(),
        })
    })?;
    found.extend(read.into_iter().map(|work| (work.job_id, work)));
    let started = found.values().filter(|work| work.step > 1);
    let started: Vec<_> = started.map(|work| (*work.job_id.as_bytes(), work.generation, work.step)).collect();
    let entries = tx.rows_of_each(sql!("claim/journal"), started, |c| Ok((c.id()?, c.bytes()?)))?;
    for (job, entry) in entries {
        found.entry(job).and_modify(|work| work.journal.push(entry));
    }
    let missing = |job| StoreError::Corrupt(format!("{job} has no step or no input"));
    jobs.iter().map(|job| found.remove(job).ok_or_else(|| missing(job))).collect()
}

/// The charges of a pool that may still count over those spans of time.
pub(super) fn buckets(
    tx: &Tx<'_>,
    pool: &str,
    spans: impl Fn(Span) -> bool,
) -> Result<(Vec<Bucket>, Vec<Bucket>), StoreError> {
    let [minute, day] = Span::ALL.map(|span| if spans(span) { span.bucket().get() } else { 0 });
    if (minute, day) == (0, 0) {
        return Ok((Vec::new(), Vec::new()));
    }
    let rows = tx.rows(sql!("claim/buckets"), (pool, minute, day), |c| {
        let width = c.get::<i64>()?;
        let start = c.time()?;
        let (requests, input_tokens, output_tokens) = (c.count()?, c.count()?, c.count()?);
        Ok((width, Bucket { start, requests, input_tokens, output_tokens }))
    })?;
    let (of_minute, of_day) = rows.into_iter().partition::<Vec<_>, _>(|(width, _)| *width == minute);
    let bare = |rows: Vec<(i64, Bucket)>| rows.into_iter().map(|(_, bucket)| bucket).collect();
    Ok((bare(of_minute), bare(of_day)))
}

/// The account of a tenant in the period that it is now, and when that began.
pub(super) fn account(tx: &Tx<'_>, tenant: i64) -> Result<(Timestamp, Account), StoreError> {
    let settings = tx.row(sql!("tenants/budget"), [tenant], |c| {
        Ok((c.maybe_micros()?, c.word(BudgetPeriod::from_name)?))
    })?;
    let (limit, period) =
        settings.ok_or_else(|| StoreError::Corrupt(format!("tenant {tenant} is not in the store")))?;
    let start = period_start(period, tx.now);
    let used = tx.row(sql!("budgets/account"), (tenant, start.as_millis()), |c| {
        Ok(Account { limit, reserved: c.micros()?, spent: c.micros()?, uncertain: c.micros()? })
    })?;
    let row = used.unwrap_or(Account { limit, ..Account::default() });
    Ok((start, tx.tally(|tally| tally.account(tenant, start, row))))
}

/// When the period that contains a time began.
fn period_start(period: BudgetPeriod, now: Timestamp) -> Timestamp {
    match period {
        BudgetPeriod::Day => now.start_of_day(),
        BudgetPeriod::Month => now.start_of_month(),
        BudgetPeriod::Total => Timestamp::from_millis(0),
    }
}

/// A tenant's calls under way, and how many there may be.
pub(super) fn tenant_in_flight(tx: &Tx<'_>, tenant: i64) -> Result<(u64, Option<u64>), StoreError> {
    let found = tx.row(sql!("tenants/in_flight"), [tenant], |c| Ok((c.count::<u64>()?, c.maybe_count()?)))?;
    let noted = tx.tally(|tally| tally.calls_of(tenant));
    found
        .map(|(calls, most)| (calls.saturating_add_signed(noted), most))
        .ok_or_else(|| StoreError::Corrupt(format!("tenant {tenant} is not in the store")))
}

/// A pool's use; that of a pool which was never claimed from is nothing.
pub(super) fn pool_status(tx: &Tx<'_>, pool: &str) -> Result<PoolStatus, StoreError> {
    let found = tx.row(sql!("inspect/pool"), [pool], |c| {
        let in_flight = (c.maybe_count()?.unwrap_or_default(), c.maybe_count()?.unwrap_or_default());
        Ok((in_flight, c.time()?, c.maybe_word(FailureClass::from_name)?))
    })?;
    let ((in_flight, tokens_in_flight), cooldown, class) =
        found.unwrap_or(((0, 0), Timestamp::from_millis(0), None));
    let cooldown_until = Some(cooldown).filter(|until| *until > tx.now);
    let waiting = tx.row(sql!("inspect/pool_waiting"), [pool], |c| c.get::<i64>())?;
    let (minute, day) = buckets(tx, pool, |_| true)?;
    let used = Window::new(Use { in_flight, tokens_in_flight, minute, day }, tx.now).used().clone();
    Ok(PoolStatus {
        name: pool.to_owned(),
        used,
        cooldown_until,
        cooldown_class: class.filter(|_| cooldown_until.is_some()),
        waiting: waiting.unwrap_or_default().unsigned_abs(),
    })
}

/// Keeps a pool from being called until a time, if that is later than what it has.
pub(super) fn cool_down(
    tx: &Tx<'_>,
    pool: &str,
    until: Timestamp,
    class: FailureClass,
) -> Result<(), StoreError> {
    tx.execute(sql!("claim/cool_down"), (pool, until.as_millis(), class.name()))?;
    Ok(())
}

/// Gives a permit back: the call is over, or its lease has lapsed by a time. Once: a second time there is none.
pub(super) fn return_permit(
    tx: &Tx<'_>,
    (job, fence): (i64, u64),
    lapsed_by: Option<Timestamp>,
) -> Result<bool, StoreError> {
    let lapsed_by = lapsed_by.map_or(i64::MAX, |at| at.as_millis());
    let permit = tx.row(sql!("attempts/permit"), (job, int(fence), lapsed_by), |c| {
        Ok((c.get::<String>()?, c.get::<i64>()?, c.get::<i64>()?, c.get::<String>()?, c.count()?))
    })?;
    let Some((pool, tenant, lane, task, tokens)) = permit else {
        return Ok(false);
    };
    tx.write(sql!("attempts/return_permit"), (job, int(fence)))?;
    permit_returned(tx, CallOf { tenant, pool: &pool, lane, task: &task, tokens });
    Ok(true)
}

/// What a permit that is free again means: a call less, and something may be claimed.
pub(super) fn permit_returned(tx: &Tx<'_>, call: CallOf<'_>) {
    tx.note_pool(call.pool);
    tx.tally(|tally| tally.count_call_over(call));
}
