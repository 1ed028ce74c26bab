//! Ordering keys: jobs of one tenant, task and key run one at a time, in accept order. Where the task says so, a job that
//! fails keeps its key, until its work was done again or somebody has dealt with its dead letter.

use forebay_core::id::JobId;
use forebay_core::job::State;

use super::columns::Columns;
use super::sql;
use super::statement::Statement;
use super::transaction::Tx;
use super::values::params;
use crate::StoreError;
use crate::record::{JobRecord, NewJob};

/// Whether a new job has to wait for others of its key.
pub(super) fn is_behind(tx: &Tx<'_>, job: &NewJob) -> Result<bool, StoreError> {
    let Some(key) = &job.ordering_key else {
        return Ok(false);
    };
    if tx.row(sql!("ordering/first"), (job.tenant, &job.task, key), |_| Ok(()))?.is_some() {
        return Ok(true);
    }
    if tx.row(sql!("ordering/kept"), (job.tenant, &job.task, key), |_| Ok(()))?.is_none() {
        return Ok(false);
    }
    let Some(original) = &job.replay_of else {
        return Ok(true);
    };
    // What does the work of the failed one again is what the others wait for.
    let row = (job.tenant, &job.task, key, original.as_bytes());
    Ok(tx.row(sql!("ordering/keeps"), row, |_| Ok(()))?.is_none())
}

/// The job whose dead letter keeps a key from those that wait for it.
pub(super) fn keeper(tx: &Tx<'_>, record: &JobRecord) -> Result<Option<JobId>, StoreError> {
    match record.ordering_key.as_ref().filter(|_| record.behind_key) {
        Some(key) => tx.row(sql!("inspect/keeper"), (record.tenant, &record.task, key), |c| c.id()),
        None => Ok(None),
    }
}

/// What the end of a job means for its key, and for the key of the job whose work it did again.
pub(super) fn ended(tx: &Tx<'_>, record: &JobRecord) -> Result<(), StoreError> {
    let own = record.ordering_key.as_deref().map(|key| (&record.task[..], key));
    match (record.job.state, record.replay_of) {
        (State::Succeeded, Some(original)) => dealt_with(tx, record.tenant, original)?,
        (State::FailedTerminal, original) => keep(tx, record, own, original)?,
        _ => {}
    }
    let Some((task, key)) = own else {
        return Ok(());
    };
    release(tx, sql!("ordering/release"), (record.tenant, task, key))?;
    if record.replay_of.is_some() {
        release(tx, sql!("ordering/release_again"), (record.tenant, task, key))?;
    }
    Ok(())
}

/// A job has failed: it keeps its key where its task says so, in place of the job whose work it did again.
fn keep(
    tx: &Tx<'_>,
    record: &JobRecord,
    own: Option<(&str, &str)>,
    original: Option<JobId>,
) -> Result<(), StoreError> {
    let kept_on = match original {
        Some(original) => {
            let row = (record.tenant, original.as_bytes(), record.id.as_bytes());
            tx.rows(sql!("ordering/keep_on"), row, task_and_key)?
        }
        None => Vec::new(),
    };
    let is_kept = |(task, key): &(&str, &str)| kept_on.iter().any(|kept| kept.0 == *task && kept.1 == *key);
    if let Some((task, key)) = own.filter(|own| record.keeps_key && !is_kept(own)) {
        let (id, now) = (record.id.as_bytes(), tx.now.as_millis());
        tx.write(sql!("ordering/keep"), (record.tenant, task, key, id, now))?;
    }
    Ok(())
}

/// A job that failed is dealt with: where it kept its key, the next one may run.
pub(super) fn dealt_with(tx: &Tx<'_>, tenant: i64, job: JobId) -> Result<(), StoreError> {
    let freed = tx.rows(sql!("ordering/free"), (tenant, job.as_bytes()), task_and_key)?;
    freed.iter().try_for_each(|(task, key)| release(tx, sql!("ordering/release"), (tenant, task, key)))
}

/// Lets the next job of a key go, if there is one that may.
fn release(
    tx: &Tx<'_>,
    sql: &'static Statement,
    (tenant, task, key): (i64, &str, &str),
) -> Result<(), StoreError> {
    let next = tx.row(
        sql,
        params! {
            ":tenant": tenant,
            ":task": task,
            ":ordering_key": key,
            ":now": tx.now.as_millis(),
        },
        |c| Ok((c.get::<String>()?, c.id()?)),
    )?;
    if let Some((pool, job)) = next {
        tx.forget_job(job);
        tx.note_due(&pool, None);
    }
    Ok(())
}

fn task_and_key(c: &mut Columns<'_>) -> Result<(String, String), StoreError> {
    Ok((c.get()?, c.get()?))
}
