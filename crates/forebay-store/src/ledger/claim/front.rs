//! What a claim looks at, in one read: the next tenants, their keys, and the jobs at the front of each.

use std::collections::VecDeque;

use forebay_core::fairness::{Credit, Weight};
use forebay_core::grant::Account;
use forebay_core::money::Micros;
use forebay_core::time::{Millis, Timestamp};
use serde_json::Value;

use super::marks::{Place, Span};
use crate::StoreError;
use crate::ledger::columns::{Columns, int, job_record, limit};
use crate::ledger::sql;
use crate::ledger::transaction::Tx;
use crate::ledger::values::params;
use crate::record::{Claim, JobRecord};

/// How exactly it is known since when a lane has had something to take, where it takes nothing.
const YIELDED: Millis = Millis::from_secs(10);

/// What is asked for.
#[derive(Clone)]
pub(super) struct Asked<'a> {
    pub(super) claim: &'a Claim,
    pub(super) span: Span,
    /// Tasks that take no more calls.
    pub(super) closed: Value,
}

/// What there is.
pub(super) struct Front {
    /// In the order of their turns.
    pub(super) lanes: VecDeque<Lane>,
    /// Whether there may be tenants behind them.
    pub(super) more: bool,
    /// Calls under way in the pool.
    pub(super) in_flight: u64,
    /// Tokens reserved for them.
    pub(super) tokens_in_flight: u64,
}

/// The due jobs of a tenant.
pub(super) struct Lane {
    pub(super) tenant: i64,
    pub(super) weight: Weight,
    pub(super) credit: Credit,
    pub(super) max_in_flight: Option<u64>,
    pub(super) in_flight: u64,
    pub(super) period_start: Timestamp,
    pub(super) account: Account,
    /// The key that was served last, by the number of its lane.
    turn: i64,
    /// When it last had nothing to take.
    yielded_at: Timestamp,
    /// Cost of what it has taken in this claim, and whether it had nothing more to take.
    served: u64,
    has_yielded: bool,
    /// Credit and turn as they are stored.
    was: (Credit, i64),
    /// In the order of their turns.
    keys: VecDeque<Key>,
    /// Whether there may be keys behind them.
    more_keys: bool,
    /// Whether something waits that this claim can't take.
    is_held_up: bool,
}

/// The due jobs that a key has handed in, or that none has.
pub(super) struct Key {
    pub(super) lane: i64,
    pub(super) max_in_flight: Option<u64>,
    pub(super) in_flight: u64,
    heads: VecDeque<Head>,
    /// As many as were asked for; where there are as many, there may be more behind them.
    want: usize,
    more: bool,
}

/// A job at the front, with what its step needs.
pub(super) struct Head {
    pub(super) at: Place,
    pub(super) record: JobRecord,
    pub(super) step: StepNeed,
}

pub(super) struct StepNeed {
    pub(super) model: String,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

/// What comes next in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A job that counts for so much.
    Job { cost: u64 },
    /// It has to be read first.
    Unread,
    /// Nothing that this claim can take.
    Nothing,
}

impl Front {
    /// Reads it, from the beginning or of the lanes that are known and from where each begins.
    pub(super) fn read(tx: &Tx<'_>, asked: &Asked<'_>, known: Option<Value>) -> Result<Self, StoreError> {
        let only = &asked.claim.tasks;
        let only = (!only.is_empty()).then(|| Value::from_iter(only.iter().cloned()).to_string());
        let mut rows = tx.rows(
            sql!("claim/front"),
            params! {
                ":pool": asked.claim.pool,
                ":from": asked.span.from,
                ":tenants": limit(asked.span.tenants),
                ":slots": limit(asked.span.jobs),
                ":closed": asked.closed.to_string(),
                ":only": only,
                ":known": known.map(|lanes| lanes.to_string()),
                ":day": tx.now.start_of_day().as_millis(),
                ":month": tx.now.start_of_month().as_millis(),
            },
            Row::read,
        )?;
        rows.sort_unstable_by_key(|row| row.place);
        let mut front = Self { lanes: VecDeque::new(), more: false, in_flight: 0, tokens_in_flight: 0 };
        for row in rows {
            (front.in_flight, front.tokens_in_flight) = row.pool_in_flight;
            front.lanes.extend(row.lane);
            let Some(lane) = front.lanes.back_mut() else { continue };
            lane.keys.extend(row.key);
            let Some(key) = lane.keys.back_mut() else { continue };
            key.heads.extend(row.head);
            key.more = key.heads.len() >= key.want;
        }
        front.more = front.lanes.len() >= asked.span.tenants;
        for lane in &mut front.lanes {
            lane.add_what_is_noted(tx);
            // What is not asked for, or what a closed task has, was passed over.
            lane.is_held_up = only.is_some() || lane.keys.iter().any(|key| key.heads.is_empty());
        }
        Ok(front)
    }

    /// Whether jobs of all tenants were read, and of all their keys.
    pub(super) fn has_all_lanes(&self) -> bool {
        !self.more && self.lanes.iter().all(|lane| !lane.more_keys)
    }

    /// Whether there is nothing behind what was read.
    pub(super) fn is_all(&self) -> bool {
        self.has_all_lanes() && self.lanes.iter().flat_map(|lane| &lane.keys).all(|key| !key.more)
    }

    /// The jobs, each with the number of the key's lane.
    pub(super) fn heads(&self) -> impl Iterator<Item = (i64, &Head)> {
        let keys = self.lanes.iter().flat_map(|lane| &lane.keys);
        keys.flat_map(|key| key.heads.iter().map(move |head| (key.lane, head)))
    }
}

/// A row, with the tenant and the key that it is the first row of.
struct Row {
    /// Which tenant, which of its keys, which job.
    place: (i64, i64, i64),
    /// Calls, and tokens reserved for them.
    pool_in_flight: (u64, u64),
    lane: Option<Lane>,
    key: Option<Key>,
    head: Option<Head>,
}

impl Row {
    fn read(c: &mut Columns<'_>) -> Result<Self, StoreError> {
        let place @ (_, key, nth) = (c.get()?, c.get()?, c.get()?);
        let (tenant, lane) = (c.get()?, c.get()?);
        let at = c.get::<Option<i64>>()?.zip(c.get()?).map(|(place, seq)| Place { place, seq });
        let (want, more_keys) = (c.count()?, c.get()?);
        let mut of_pool = || Ok::<_, StoreError>(c.maybe_count()?.unwrap_or_default());
        let pool_in_flight = (of_pool()?, of_pool()?);
        let (max_in_flight, in_flight) = (c.maybe_count()?, c.maybe_count()?.unwrap_or_default());
        let key_read = Key { lane, max_in_flight, in_flight, heads: VecDeque::new(), want, more: false };
        let lane = if (key, nth) == (1, 1) {
            Some(Lane::read(tenant, more_keys, c)?)
        } else {
            c.skip(Lane::COLUMNS);
            None
        };
        let head = at.map(|at| Head::read(at, c)).transpose()?;
        Ok(Self { place, pool_in_flight, lane, key: (nth == 1).then_some(key_read), head })
    }
}

impl Lane {
    const COLUMNS: usize = 11;

    fn read(tenant: i64, more_keys: bool, c: &mut Columns<'_>) -> Result<Self, StoreError> {
        let weight = Weight::new(c.count()?).unwrap_or_default();
        let credit = Credit(c.get::<Option<i64>>()?.unwrap_or_default());
        let turn = c.get::<Option<i64>>()?.unwrap_or_default();
        let yielded_at = c.maybe_time()?.unwrap_or(Timestamp::from_millis(0));
        let (max_in_flight, in_flight) = (c.maybe_count()?, c.count()?);
        let (limit, period_start) = (c.maybe_micros()?, c.time()?);
        let mut used = || Ok::<_, StoreError>(c.maybe_micros()?.unwrap_or(Micros::ZERO));
        let account = Account { limit, reserved: used()?, spent: used()?, uncertain: used()? };
        Ok(Self {
            tenant,
            weight,
            credit,
            max_in_flight,
            in_flight,
            period_start,
            account,
            turn,
            yielded_at,
            served: 0,
            has_yielded: false,
            was: (credit, turn),
            keys: VecDeque::new(),
            more_keys,
            is_held_up: false,
        })
    }

    /// What this transaction has counted and not written yet counts, too.
    fn add_what_is_noted(&mut self, tx: &Tx<'_>) {
        tx.tally(|tally| {
            self.in_flight = self.in_flight.saturating_add_signed(tally.calls_of(self.tenant));
            self.account = tally.account(self.tenant, self.period_start, self.account);
            for key in &mut self.keys {
                key.in_flight = key.in_flight.saturating_add_signed(tally.calls_of_key(key.lane));
            }
        });
    }

    /// What comes next, after keys that have nothing more to give.
    pub(super) fn next(&mut self) -> Next {
        while let Some(key) = self.keys.front() {
            match key.heads.front() {
                Some(head) => return Next::Job { cost: head.step.cost() },
                None if key.more => return Next::Unread,
                None => {
                    let key = self.keys.pop_front();
                    self.turn = key.filter(|_| self.more_keys).map_or(self.turn, |key| key.lane);
                }
            }
        }
        if self.more_keys { Next::Unread } else { Next::Nothing }
    }

    /// The job that comes next, with its key.
    pub(super) fn pop(&mut self) -> Option<(Head, &mut Key)> {
        let key = self.keys.front_mut()?;
        Some((key.heads.pop_front()?, key))
    }

    /// A job of that cost was taken: its key has had its turn.
    pub(super) fn took(&mut self, cost: u64) {
        self.in_flight += 1;
        self.served += cost;
        if let Some(mut key) = self.keys.pop_front() {
            key.in_flight += 1;
            self.turn = key.lane;
            self.keys.push_back(key);
        }
    }

    /// Passes over the key whose turn it is.
    pub(super) fn pass_key(&mut self) {
        self.is_held_up = true;
        if let Some(key) = self.keys.front_mut() {
            key.heads.clear();
            key.more = false;
        }
    }

    /// The key that was served last.
    pub(super) fn turn(&self) -> i64 {
        self.turn
    }

    /// Something waits that this claim can't take.
    pub(super) fn hold_up(&mut self) {
        self.is_held_up = true;
    }

    pub(super) fn is_held_up(&self) -> bool {
        self.is_held_up
    }

    /// It has nothing more that this claim can take.
    pub(super) fn yields(&mut self) {
        self.has_yielded = true;
    }

    /// Stores what became of it, where it is not as it was; says whether it was so.
    pub(super) fn write(&self, tx: &Tx<'_>, pool: &str) -> Result<bool, StoreError> {
        let yields = self.has_yielded && self.yielded_at < tx.now.before(YIELDED);
        if self.served == 0 && !yields && (self.credit, self.turn) == self.was {
            return Ok(false);
        }
        let yielded_at = self.has_yielded.then_some(tx.now.as_millis());
        let row = (pool, self.tenant, self.credit.0, self.turn, int(self.served), yielded_at);
        tx.write(sql!("claim/put_lane"), row)?;
        Ok(true)
    }
}

impl Key {
    pub(super) fn is_full(&self) -> bool {
        self.max_in_flight.is_some_and(|limit| self.in_flight >= limit)
    }
}

impl Head {
    fn read(at: Place, c: &mut Columns<'_>) -> Result<Self, StoreError> {
        let record = job_record(c)?;
        let step = StepNeed { model: c.get()?, input_tokens: c.count()?, output_tokens: c.count()? };
        Ok(Self { at, record, step })
    }
}

impl StepNeed {
    /// What it counts for in the turns.
    pub(super) fn cost(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens).max(1)
    }
}
