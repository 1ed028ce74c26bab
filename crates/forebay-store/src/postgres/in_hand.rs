//! Jobs that this process has in hand: as its claims have left them, so that what is reported of them is written without
//! locking and reading them before. What is written is guarded by fence and version. Where somebody has changed the job
//! meanwhile, the transaction begins anew, and reads.
//!
//! A number of the log that was drawn before the row is written is no harm here: whoever changed the job after the draw
//! has changed its version, too.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use forebay_core::id::JobId;

use crate::ledger::transaction::InHand;

/// More than this is not worth its memory; what is not here is read.
const MOST: usize = 16_384;

/// Of use once: whoever takes a job out is going to change it.
#[derive(Default)]
pub(super) struct Hand(Mutex<HashMap<JobId, InHand>>);

impl Hand {
    pub(super) fn keep(&self, claimed: Vec<InHand>) {
        if claimed.is_empty() {
            return;
        }
        let mut jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if jobs.len() >= MOST {
            // Those that were taken from us are never asked for.
            jobs.clear();
        }
        jobs.extend(claimed.into_iter().map(|job| (job.record.id, job)));
    }

    pub(super) fn take(&self, job: JobId) -> Option<InHand> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&job)
    }
}
