//! Deletes what has been kept for long enough, a little at a time, by one process at a time.
//!
//! A round goes through jobs, batches, documents and idempotency keys. Each transaction is as large as what is done within
//! [`SPAN`], and is followed by a pause of the same length, so that claims are never held up and never have less than half
//! of the database. Blobs come last, when no row refers to them any more; what a crash leaves there is found in a later
//! round, since every blob is looked at.

use std::time::Duration;

use forebay_core::definition::Retention;
use forebay_core::digest::Digest;
use forebay_store::StoreError;
use forebay_store::blob::LEFT_ALONE;
use forebay_store::record::{Deleted, Keep};
use tokio::time::Instant;
use tracing::{info, warn};

use super::leader::{self, Leader};
use crate::app::App;

/// How long one transaction may take, about.
const SPAN: Duration = Duration::from_millis(20);
/// Rows of jobs, batches, documents or keys that one transaction looks at.
const LEAST_PAGE: usize = 8;
const MOST_PAGE: usize = 512;
/// Those whose rate of handing jobs in is forgotten at once.
const RATES: usize = 10_000;
/// Blobs that are looked at at once.
const BLOBS: usize = 250;

/// Between two rounds, in looks of the maintenance (1 s): a minute.
const ROUND: u32 = 60;
/// Every so many rounds (an hour) a walk begins at the oldest job; otherwise it goes on where the last one came to what
/// was too young.
const WHOLE_WALK: u64 = 60;
/// Every so many rounds (a day) all blobs are looked at.
const SWEEP: u64 = 24 * 60;

/// Deletes until the process stops, while no other process does.
pub async fn run(app: App) {
    let mut leader = Leader::new(app.clone(), leader::RETENTION);
    let look = app.settings.reaper_interval.to_duration();
    let mut walk = Walk::default();
    loop {
        let pause = if leader.leads().await { walk.go_on(&app, look * ROUND).await } else { look };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = app.tasks.stopping().cancelled() => break,
        }
    }
    leader.stop().await;
}

/// What is looked at next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    Start,
    Jobs(i64),
    Batches(i64),
    Documents,
    Keys,
    Blobs(Option<Digest>),
}

/// Where a round is.
struct Walk {
    at: Place,
    /// Rounds that have begun.
    rounds: u64,
    /// What the last walks came to that was too young: a job, a batch.
    young: (i64, i64),
    /// The rules that they went by.
    rules: Retention,
    page: usize,
    /// What this round has deleted.
    deleted: u64,
}

impl Default for Walk {
    fn default() -> Self {
        let rules = Retention::default();
        Self { at: Place::Start, rounds: 0, young: (0, 0), rules, page: LEAST_PAGE, deleted: 0 }
    }
}

impl Walk {
    /// Does one step, and says how long to pause then; `rest` where the round is over.
    async fn go_on(&mut self, app: &App, rest: Duration) -> Duration {
        let began = Instant::now();
        let next = match self.step(app).await {
            Ok(next) => next,
            Err(error) => {
                warn!(%error, at = ?self.at, "what is old could not be deleted");
                None
            }
        };
        let took = began.elapsed();
        match next {
            Some(next) => {
                self.at = next;
                took
            }
            None => {
                if self.deleted > 0 {
                    info!(rows = self.deleted, "deleted what had been kept for long enough");
                }
                *self = Self { at: Place::Start, deleted: 0, ..std::mem::take(self) };
                rest
            }
        }
    }

    /// What comes after this step; nothing where the round is over.
    async fn step(&mut self, app: &App) -> Result<Option<Place>, StoreError> {
        let store = &app.store;
        let keep = self.keep(app);
        let began = Instant::now();
        let (next, deleted) = match self.at {
            Place::Start => return Ok(Some(self.start())),
            Place::Jobs(after) => {
                let walked = store.delete_jobs(after, keep, self.page).await?;
                self.young.0 = walked.next.unwrap_or(after);
                (walked.next.map_or(Place::Batches(self.young.1), Place::Jobs), walked.deleted)
            }
            Place::Batches(after) => {
                let walked = store.delete_batches(after, keep, self.page).await?;
                self.young.1 = walked.next.unwrap_or(after);
                (walked.next.map_or(Place::Documents, Place::Batches), walked.deleted)
            }
            Place::Documents => {
                let (seen, deleted) = store.delete_documents(keep, self.page).await?;
                (if seen == self.page { Place::Documents } else { Place::Keys }, deleted)
            }
            Place::Keys => {
                store.forget_rates(RATES).await?;
                let deleted = store.delete_keys(self.page).await?;
                let whole = usize::try_from(deleted.keys).is_ok_and(|keys| keys == self.page);
                if !whole && self.rounds % SWEEP != 1 {
                    self.note(deleted);
                    return Ok(None);
                }
                (if whole { Place::Keys } else { Place::Blobs(None) }, deleted)
            }
            Place::Blobs(after) => {
                return Ok(sweep(app, after).await?.map(|after| Place::Blobs(Some(after))));
            }
        };
        if !deleted.is_nothing() {
            self.page = page(self.page, began.elapsed());
        }
        self.note(deleted);
        Ok(Some(next))
    }

    fn start(&mut self) -> Place {
        if self.rounds.is_multiple_of(WHOLE_WALK) {
            self.young = (0, 0);
        }
        self.rounds += 1;
        Place::Jobs(self.young.0)
    }

    /// The rules that are in force now; under new ones, every job is looked at again.
    fn keep(&mut self, app: &App) -> Keep {
        let rules = app.revisions.active().definitions.retention;
        if rules != self.rules {
            self.rules = rules;
            self.young = (0, 0);
        }
        Keep { results: rules.results, dead_letters: rules.dead_letters, documents: rules.documents }
    }

    fn note(&mut self, deleted: Deleted) {
        self.deleted += deleted.each().iter().map(|(_, rows)| rows).sum::<u64>();
    }
}

/// As many rows as are done within [`SPAN`], by what the last ones took.
fn page(last: usize, took: Duration) -> usize {
    let page = if took > SPAN { last / 2 } else { last * 2 };
    page.clamp(LEAST_PAGE, MOST_PAGE)
}

/// Looks at some blobs and removes those that no row refers to; says where to go on.
async fn sweep(app: &App, after: Option<Digest>) -> Result<Option<Digest>, StoreError> {
    let found = app.blobs.list(after, BLOBS).await?;
    let old: Vec<_> = found.iter().filter(|blob| blob.age >= LEFT_ALONE).map(|blob| blob.digest).collect();
    for rubbish in app.store.unreferenced(old).await? {
        if app.blobs.remove_older(rubbish, LEFT_ALONE).await? {
            app.metrics.blob_removed();
        }
    }
    Ok(found.last().map(|blob| blob.digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_what_is_done_in_time() {
        assert_eq!(page(64, SPAN), 128);
        assert_eq!(page(64, SPAN * 2), 32);
        assert_eq!((page(MOST_PAGE, Duration::ZERO), page(LEAST_PAGE, SPAN * 9)), (MOST_PAGE, LEAST_PAGE));
    }

    #[test]
    fn every_hour_begins_with_the_oldest() {
        let mut walk = Walk { young: (7, 3), ..Walk::default() };
        assert_eq!(walk.start(), Place::Jobs(0));
        walk.young = (9, 4);
        for _ in 1..WHOLE_WALK {
            assert_eq!(walk.start(), Place::Jobs(9));
        }
        assert_eq!(walk.start(), Place::Jobs(0));
    }
}
