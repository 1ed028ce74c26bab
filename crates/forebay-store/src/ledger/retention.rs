//! Deleting what nobody needs any more, in small transactions.
//!
//! A job goes as a whole, with everything that belongs to it, so that what is left adds up; what has to add up without it
//! (accounts, use by day, the log of a tenant) keeps a sum of what is gone. Jobs are walked through in the order in which
//! they were accepted, which costs no index: an old page is read, and those of it that are due are deleted.

use async_trait::async_trait;
use forebay_core::digest::Digest;
use forebay_core::time::{Millis, Timestamp};
use serde_json::json;

use super::columns::{Columns, int, limit};
use super::statement::Statement;
use super::transaction::Tx;
use super::values::params;
use super::{Backend, Ledger, Needs, rates, sql};
use crate::record::{Deleted, Keep, Retained, Walked};
use crate::{Retention, StoreError};

#[async_trait]
impl<B: Backend> Retention for Ledger<B> {
    async fn delete_jobs(&self, after: i64, keep: Keep, most: usize) -> Result<Walked, StoreError> {
        // What nobody may read yet is not deleted.
        self.backend.close_log().await?;
        let span = keep.results.min(keep.dead_letters);
        let (next, due) = self
            .read(move |tx| {
                let (page, next) = old(tx, sql!("retention/jobs"), after, span, most)?;
                Ok((next, due_jobs(tx, &page, keep)?))
            })
            .await?;
        if due.is_empty() {
            return Ok(Walked { next, deleted: Deleted::default() });
        }
        let deleted =
            self.write("delete_jobs", Needs::nothing(), move |tx| delete_jobs(tx, &due, keep)).await?;
        Ok(Walked { next, deleted })
    }

    async fn delete_batches(&self, after: i64, keep: Keep, most: usize) -> Result<Walked, StoreError> {
        self.backend.close_log().await?;
        let (next, due) = self
            .read(move |tx| {
                let (page, next) = old(tx, sql!("retention/batches"), after, keep.results, most)?;
                Ok((next, due_batches(tx, &page, keep)?))
            })
            .await?;
        if due.is_empty() {
            return Ok(Walked { next, deleted: Deleted::default() });
        }
        let deleted =
            self.write("delete_batches", Needs::nothing(), move |tx| delete_batches(tx, &due, keep)).await?;
        Ok(Walked { next, deleted })
    }

    async fn delete_documents(&self, keep: Keep, most: usize) -> Result<(usize, Deleted), StoreError> {
        self.write("delete_documents", Needs::nothing(), move |tx| delete_documents(tx, keep, most)).await
    }

    async fn delete_keys(&self, most: usize) -> Result<Deleted, StoreError> {
        self.write("delete_keys", Needs::nothing(), move |tx| {
            let keys = tx.execute(sql!("retention/delete_keys"), (tx.now.as_millis(), limit(most)))?;
            noted(tx, Deleted { keys: keys as u64, ..Deleted::default() })
        })
        .await
    }

    async fn forget_rates(&self, most: usize) -> Result<usize, StoreError> {
        self.write("forget_rates", Needs::nothing(), move |tx| rates::forget(tx, most)).await
    }

    async fn unreferenced(&self, blobs: Vec<Digest>) -> Result<Vec<Digest>, StoreError> {
        let names = json!(blobs.iter().map(Digest::to_string).collect::<Vec<_>>()).to_string();
        self.read(move |tx| tx.rows(sql!("retention/unreferenced"), [&names], |c| c.digest())).await
    }

    async fn retained(&self) -> Result<Retained, StoreError> {
        self.read(|tx| Ok(tx.row(sql!("retention/totals"), (), retained)?.unwrap_or_default())).await
    }
}

/// The next of what is old enough, and where to go on behind it; nowhere where all that follows is too young.
fn old(
    tx: &Tx<'_>,
    page: &'static Statement,
    after: i64,
    span: Millis,
    most: usize,
) -> Result<(Vec<i64>, Option<i64>), StoreError> {
    let rows = tx.rows(page, (after, limit(most)), |c| Ok((c.get::<i64>()?, c.time()?)))?;
    let before = tx.now.before(span);
    let old: Vec<i64> = rows.iter().take_while(|(_, at)| *at <= before).map(|(seq, _)| *seq).collect();
    let next = old.last().copied().filter(|_| old.len() == most.max(1));
    Ok((old, next))
}

fn due_jobs(tx: &Tx<'_>, page: &[i64], keep: Keep) -> Result<Vec<i64>, StoreError> {
    let (ended, dealt_with) = (tx.now.before(keep.results), tx.now.before(keep.dead_letters));
    numbers(tx, sql!("retention/due_jobs"), page, &[ended, dealt_with])
}

fn due_batches(tx: &Tx<'_>, page: &[i64], keep: Keep) -> Result<Vec<i64>, StoreError> {
    numbers(tx, sql!("retention/due_batches"), page, &[tx.now.before(keep.results), tx.now])
}

fn delete_jobs(tx: &Tx<'_>, due: &[i64], keep: Keep) -> Result<Deleted, StoreError> {
    let locked = numbers(tx, sql!("retention/lock_jobs"), due, &[])?;
    // As they are now: somebody may have dealt with one of them since it was read.
    let due = due_jobs(tx, &locked, keep)?;
    let of = list(&due);
    let each = |statement| -> Result<u64, StoreError> { Ok(tx.execute(statement, [&of])? as u64) };
    for sum in [sql!("retention/keep_usage"), sql!("retention/keep_money"), sql!("retention/note_events")] {
        each(sum)?;
    }
    let now = tx.now.as_millis();
    tx.execute(sql!("retention/keep_keys"), (&of, now))?;
    let keys = tx.execute(sql!("retention/delete_keys_of_jobs"), (&of, now))? as u64;
    let events = each(sql!("retention/delete_events"))?;
    let attempts = each(sql!("retention/delete_attempts"))?;
    for of_job in [
        sql!("retention/delete_steps"),
        sql!("retention/delete_results"),
        sql!("retention/delete_reviews"),
        sql!("retention/delete_dead_letter_notes"),
        sql!("retention/delete_dead_letters"),
        sql!("retention/note_accepted"),
        sql!("retention/delete_inputs"),
    ] {
        each(of_job)?;
    }
    let jobs = each(sql!("retention/delete_jobs"))?;
    noted(tx, Deleted { jobs, attempts, events, keys, ..Deleted::default() })
}

fn delete_batches(tx: &Tx<'_>, due: &[i64], keep: Keep) -> Result<Deleted, StoreError> {
    let locked = numbers(tx, sql!("retention/lock_batches"), due, &[])?;
    let of = list(&due_batches(tx, &locked, keep)?);
    tx.execute(sql!("retention/note_batch_events"), [&of])?;
    let events = tx.execute(sql!("retention/delete_batch_events"), [&of])? as u64;
    tx.execute(sql!("retention/delete_batch_members"), [&of])?;
    let batches = tx.execute(sql!("retention/delete_batches"), [&of])? as u64;
    noted(tx, Deleted { batches, events, ..Deleted::default() })
}

/// Says how many were looked at besides. One that a job refers to is not looked at again before its time is over once more.
fn delete_documents(tx: &Tx<'_>, keep: Keep, most: usize) -> Result<(usize, Deleted), StoreError> {
    let unseen = (tx.now.before(keep.documents).as_millis(), limit(most));
    let old = tx.rows(sql!("retention/old_documents"), unseen, |c| Ok((c.get::<i64>()?, c.digest()?)))?;
    let mut documents = 0;
    for (tenant, digest) in &old {
        let used = (*tenant, digest.as_bytes(), tx.now.as_millis());
        if tx.execute(sql!("retention/use_document"), used)? == 0 {
            documents += tx.execute(sql!("retention/delete_document"), (*tenant, digest.as_bytes()))? as u64;
        }
    }
    Ok((old.len(), noted(tx, Deleted { documents, ..Deleted::default() })?))
}

/// Adds to what was ever deleted.
fn noted(tx: &Tx<'_>, deleted: Deleted) -> Result<Deleted, StoreError> {
    if !deleted.is_nothing() {
        tx.execute(
            sql!("retention/note"),
            params! {
                ":jobs": int(deleted.jobs),
                ":attempts": int(deleted.attempts),
                ":events": int(deleted.events),
                ":batches": int(deleted.batches),
                ":documents": int(deleted.documents),
                ":keys": int(deleted.keys),
            },
        )?;
    }
    Ok(deleted)
}

/// Those of these rows that a statement finds.
fn numbers(
    tx: &Tx<'_>,
    statement: &'static Statement,
    of: &[i64],
    times: &[Timestamp],
) -> Result<Vec<i64>, StoreError> {
    let of = list(of);
    let number = |c: &mut Columns<'_>| c.get();
    match times {
        [one, other] => tx.rows(statement, (&of, one.as_millis(), other.as_millis()), number),
        _ => tx.rows(statement, [&of], number),
    }
}

/// Numbers as statements take many of them: as a JSON array.
fn list(numbers: &[i64]) -> String {
    json!(numbers).to_string()
}

fn retained(c: &mut Columns<'_>) -> Result<Retained, StoreError> {
    let deleted = Deleted {
        jobs: c.count()?,
        attempts: c.count()?,
        events: c.count()?,
        batches: c.count()?,
        documents: c.count()?,
        keys: c.count()?,
    };
    Ok(Retained { deleted, oldest_job: c.maybe_time()?, oldest_event: c.maybe_time()? })
}
