//! How fast jobs may be handed in: what a transaction takes out of the buckets.
//!
//! A bucket is read once, decided on in memory, and written once, before the commit, with what all jobs of the transaction
//! took. Another process may have taken from it meanwhile: it is looked at again as the row is written, and the transaction
//! begins anew where it holds less than was taken.

use std::collections::BTreeMap;

use forebay_core::rate::{Bucket, Rate, micros};

use super::columns::{int, limit};
use super::sql;
use super::transaction::Tx;
use super::values::params;
use crate::StoreError;
use crate::record::{RateLeft, RateLimit, RateLimited};

/// What was taken, by whose bucket it is.
#[derive(Debug, Default)]
pub(super) struct Buckets(BTreeMap<(&'static str, String), Drawn>);

#[derive(Debug)]
struct Drawn {
    bucket: Bucket,
    jobs: u64,
    rate: Rate,
}

/// Takes a job's part out of each of its buckets, or out of none.
pub(super) fn take(
    tx: &Tx<'_>,
    limits: &[RateLimit],
) -> Result<Result<Vec<RateLeft>, RateLimited>, StoreError> {
    let mut buckets = Vec::with_capacity(limits.len());
    for limit in limits {
        buckets.push((limit, bucket(tx, limit)?));
    }
    let waits = buckets.iter().filter_map(|(limit, bucket)| {
        bucket.take(limit.rate, tx.now).err().map(|wait| (wait, limit.counted))
    });
    // The longest wait: before that, it would be refused again.
    if let Some((retry_after, counted)) = waits.max() {
        let rates = buckets.iter().map(|(limit, bucket)| limit.left(*bucket, tx.now)).collect();
        return Ok(Err(RateLimited { counted, retry_after, rates }));
    }
    let mut left = Vec::with_capacity(buckets.len());
    for (limit, bucket) in buckets {
        let bucket = bucket.take(limit.rate, tx.now).unwrap_or(bucket);
        tx.buckets(|buckets| buckets.note(limit, bucket));
        left.push(limit.left(bucket, tx.now));
    }
    Ok(Ok(left))
}

/// A bucket as this transaction leaves it.
fn bucket(tx: &Tx<'_>, limit: &RateLimit) -> Result<Bucket, StoreError> {
    if let Some(bucket) = tx.buckets(|buckets| buckets.known(limit)) {
        return Ok(bucket);
    }
    let name = (limit.counted.name(), &limit.who);
    let stored = tx.row(sql!("rates/bucket"), name, |c| c.get())?;
    Ok(stored.map_or_else(Bucket::default, Bucket::full_at))
}

/// Deletes rows of buckets that are full.
pub(super) fn forget(tx: &Tx<'_>, most: usize) -> Result<usize, StoreError> {
    tx.execute(sql!("rates/forget"), (micros(tx.now), limit(most)))
}

impl Buckets {
    fn known(&self, limit: &RateLimit) -> Option<Bucket> {
        self.0.get(&key(limit)).map(|drawn| drawn.bucket)
    }

    fn note(&mut self, limit: &RateLimit, bucket: Bucket) {
        let drawn = self.0.entry(key(limit)).or_insert(Drawn { bucket, jobs: 0, rate: limit.rate });
        drawn.bucket = bucket;
        drawn.jobs += 1;
    }

    /// Writes all of it, in the order of the key, which is everybody's.
    pub(super) fn write(self, tx: &Tx<'_>) -> Result<(), StoreError> {
        for ((counted, who), Drawn { jobs, rate, .. }) in self.0 {
            tx.write(
                sql!("rates/take"),
                params! {
                    ":counted": counted,
                    ":who": who,
                    ":taken": rate.part().saturating_mul(int(jobs)),
                    ":whole": rate.whole(),
                    ":now": micros(tx.now),
                },
            )?;
        }
        Ok(())
    }
}

fn key(limit: &RateLimit) -> (&'static str, String) {
    (limit.counted.name(), limit.who.clone())
}
