//! A pool as a claim finds it and leaves it: how long it rests, whose turn it is, and what was charged to it.

use forebay_core::definition::PoolLimits;
use forebay_core::fairness::Round;
use forebay_core::grant::Reservation;
use forebay_core::time::{Millis, Timestamp};
use forebay_core::window::{Bucket, Full, Span, Use, Window};

use crate::StoreError;
use crate::ledger::columns::{Columns, int};
use crate::ledger::transaction::Tx;
use crate::ledger::{queue, sql};

/// How long a charge is kept beyond the time in which it counts.
const KEPT: Millis = Millis::from_secs(60);

/// Whether a claim waits for a pool that another process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// As long as it takes.
    ForIt,
    /// Others wait for this transaction.
    Never,
}

/// A pool's row.
#[derive(Debug, Clone, Copy)]
pub struct PoolRow {
    cooldown_until: Timestamp,
    /// Whose turn it is.
    round: Round,
    /// When the next queued job becomes due by time alone, in whatever pool.
    due: Option<Timestamp>,
}

/// The columns of a pool's row.
pub fn pool_row(c: &mut Columns<'_>) -> Result<PoolRow, StoreError> {
    let cooldown_until = c.time()?;
    let (turn, is_on) = (c.get()?, c.get()?);
    let round = Round { turn, is_on, quantum: c.count()?, largest: c.count()? };
    Ok(PoolRow { cooldown_until, round, due: c.maybe_time()? })
}

/// A pool that nobody else hands out meanwhile.
pub(super) struct Pool<'c> {
    name: &'c str,
    pub(super) cooldown_until: Timestamp,
    /// When the next queued job became due by time alone, in whatever pool, as of the beginning.
    pub(super) due: Option<Timestamp>,
    /// Whose turn it is.
    pub(super) round: Round,
    was: Round,
    window: Option<Window>,
    charged: Vec<Reservation>,
}

impl<'c> Pool<'c> {
    /// Takes the pool for this transaction; `None` where another process has it. A pool that nothing was claimed from yet
    /// gets its row.
    pub(super) fn take(tx: &Tx<'_>, name: &'c str, wait: Wait) -> Result<Option<Self>, StoreError> {
        let row = match tx.take_pool(name) {
            Some(taken) => Some(taken),
            None => Self::find(tx, name, wait)?,
        };
        Ok(row.map(|row| {
            tx.hold_pool(name);
            Self::as_found(name, row)
        }))
    }

    fn find(tx: &Tx<'_>, name: &str, wait: Wait) -> Result<Option<PoolRow>, StoreError> {
        // Who has a pool waits for none that comes before it: two that did would wait for each other.
        let waits = wait == Wait::ForIt && tx.may_wait_for_pool(name);
        let found = if waits { sql!("claim/pool") } else { sql!("claim/pool_if_free") };
        let read = |sql| tx.row(sql, [name], pool_row);
        match read(found)? {
            Some(row) => Ok(Some(row)),
            None if tx.execute(sql!("claim/create_pool"), [name])? == 1 || waits => read(sql!("claim/pool")),
            None => Ok(None),
        }
    }

    fn as_found(name: &'c str, row: PoolRow) -> Self {
        let PoolRow { cooldown_until, round, due } = row;
        Self { name, cooldown_until, due, round, was: round, window: None, charged: Vec::new() }
    }

    /// Learns what the pool has used. The charges of the last minute are read where there is a limit for them.
    pub(super) fn measure(
        &mut self,
        tx: &Tx<'_>,
        in_flight: u64,
        tokens_in_flight: u64,
        limits: &PoolLimits,
    ) -> Result<(), StoreError> {
        if self.window.is_some() {
            return Ok(());
        }
        let (minute, day) = queue::buckets(tx, self.name, |span| limits.looks_back(span))?;
        let (calls, tokens) = tx.tally(|tally| (tally.calls_in(self.name), tally.tokens_in(self.name)));
        let in_flight = in_flight.saturating_add_signed(calls);
        let tokens_in_flight = tokens_in_flight.saturating_add_signed(tokens);
        self.window = Some(Window::new(Use { in_flight, tokens_in_flight, minute, day }, tx.now));
        Ok(())
    }

    /// Takes room for a call in every dimension, or says which is full.
    pub(super) fn charge(
        &mut self,
        call: &Reservation,
        limits: &PoolLimits,
        now: Timestamp,
    ) -> Result<(), Full> {
        self.window.get_or_insert_default().take(call, limits, now)?;
        self.charged.push(*call);
        Ok(())
    }

    /// Writes what became of it.
    pub(super) fn write(&self, tx: &Tx<'_>) -> Result<(), StoreError> {
        if self.round != self.was {
            let Round { turn, is_on, quantum, largest } = self.round;
            tx.write(sql!("claim/update_pool"), (self.name, turn, is_on, int(quantum), int(largest)))?;
        }
        if self.charged.is_empty() {
            return Ok(());
        }
        for span in Span::ALL {
            let mut bucket = Bucket::at(tx.now, span);
            self.charged.iter().for_each(|call| bucket.add(call));
            let Bucket { start, requests, input_tokens, output_tokens } = bucket;
            let (width, start) = (span.bucket().get(), start.as_millis());
            let row = (self.name, width, start, false, int(requests), int(input_tokens), int(output_tokens));
            tx.write(sql!("claim/charge_bucket"), row)?;
            let forgotten = tx.now.before(span.counts()).before(KEPT).as_millis();
            tx.write_if_needed(sql!("claim/forget_buckets"), (self.name, width, forgotten))?;
        }
        Ok(())
    }
}
