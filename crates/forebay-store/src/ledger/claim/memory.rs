//! How a claim looks at the front of its pool: from the beginning, or on from what is remembered where that takes too long.

use std::collections::BTreeSet;

use forebay_core::time::{Millis, Timestamp};
use tokio::time::Instant;

use super::front::{Asked, Front, Head, Lane};
use super::marks::{Learned, Marks, Remembered, Span, SubLane};
use crate::StoreError;
use crate::ledger::transaction::Tx;
use crate::record::Claim;

/// Tenants and jobs that are looked at where it takes long anyhow and it is not known how many lanes there are.
const WIDE: usize = 1_024;

/// What one claim remembers of its pool.
pub(super) struct Memory {
    /// As it was at the beginning.
    before: Option<Remembered>,
    /// `None` as long as looks are quick.
    now: Option<Remembered>,
    /// Until when what was not looked at stays unseen.
    unseen_until: Option<Instant>,
}

impl Memory {
    pub(super) fn of(tx: &Tx<'_>, claim: &Claim, marks: &Marks) -> Self {
        let mut before = marks.of(&claim.pool);
        if let Some(known) = &mut before {
            tx.add_due(&claim.pool, known);
        }
        Self { now: before.clone(), before, unseen_until: None }
    }

    /// Reads what comes next; from the beginning where that is known to be needed.
    pub(super) fn look(&mut self, tx: &Tx<'_>, mut asked: Asked<'_>) -> Result<Front, StoreError> {
        let now = Instant::now();
        match &self.now {
            Some(known) if known.is_left_alone(now) => return Front::read(tx, &asked, None),
            Some(known) if known.was_left_alone() => self.now = None,
            _ => {}
        }
        if let Some((known, left)) = self.now.as_ref().and_then(|known| Some((known, known.holds(now)?))) {
            self.unseen_until = Some(now + left);
            let front = Front::read(tx, &asked, Some(known.next(&asked.span)))?;
            if known.is_all() || !front.is_all() {
                return Ok(front);
            }
            // What is known is used up, and there may be more.
        }
        if let Some(known) = &self.now {
            // Only who knows all lanes can be fair to them. New ones may have come to those that are known.
            let wide = known.lanes().map_or(WIDE, |lanes| WIDE.min(2 * lanes));
            let Span { tenants, jobs, .. } = asked.span;
            asked.span = Span { tenants: tenants.max(wide), jobs: jobs.max(wide), ..asked.span };
        }
        let began = Instant::now();
        let front = Front::read(tx, &asked, None)?;
        let took = began.elapsed();
        self.unseen_until = None;
        if let Some(known) = &mut self.now
            && asked.span.tenants >= WIDE
            && !front.has_all_lanes()
        {
            known.leave_alone(Instant::now());
            return Ok(front);
        }
        if !tx.keeps_old_entries() || !Remembered::is_slow(took, front.heads().count()) {
            self.now = None;
            return Ok(front);
        }
        let known = self.now.get_or_insert_default();
        let is_limited = asked.closed.as_array().is_some_and(|closed| !closed.is_empty());
        if front.has_all_lanes() && !is_limited {
            known.looked(Instant::now(), took, front.is_all());
        } else {
            known.looked_at_some();
        }
        let mut seen = BTreeSet::new();
        for (lane, head) in front.heads() {
            let lane = lane_of(lane, head);
            if seen.insert(lane.clone()) {
                known.begins(lane, head.at);
            }
        }
        Ok(front)
    }

    /// A job was taken that a key has handed in.
    pub(super) fn took(&mut self, key: i64, head: &Head) {
        if let Some(known) = &mut self.now {
            known.begins(lane_of(key, head), head.at);
        }
    }

    /// A lane was served.
    pub(super) fn served(&mut self, lane: &Lane) {
        if let Some(known) = &mut self.now {
            known.turn(lane.tenant, lane.turn());
        }
    }

    /// When what was not looked at is seen, where there may be something.
    pub(super) fn unseen_until(&self, now: Timestamp) -> Option<Timestamp> {
        let left = self.unseen_until?.saturating_duration_since(Instant::now());
        Some(now.after(Millis::new(i64::try_from(left.as_millis()).unwrap_or(i64::MAX))))
    }

    /// Has the process remember it once this is committed.
    pub(super) fn keep(self, tx: &Tx<'_>, pool: &str) {
        if self.before.is_some() || self.now.is_some() {
            tx.note_learned(Learned::Looked { pool: pool.to_owned(), before: self.before, now: self.now });
        }
    }
}

fn lane_of(lane: i64, head: &Head) -> SubLane {
    SubLane { tenant: head.record.tenant, lane, task: head.record.task.clone() }
}
