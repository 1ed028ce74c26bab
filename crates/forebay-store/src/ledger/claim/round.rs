//! One claim: the lanes of a pool take turns until the slots, the pool or the jobs are used up.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use forebay_core::fairness::Leaves;
use forebay_core::grant::{Account, Reservation};
use forebay_core::job::Job;
use forebay_core::lifecycle::{self, Change, Refusal};
use forebay_core::money::Price;
use forebay_core::time::{Millis, Timestamp};
use serde_json::Value;

use super::front::{Asked, Front, Head, Lane, Next};
use super::marks::{Marks, Span};
use super::memory::Memory;
use super::pool::{Pool, Wait};
use crate::StoreError;
use crate::ledger::columns::int;
use crate::ledger::settle::Open;
use crate::ledger::signals::new_id;
use crate::ledger::tally::{CallOf, MostCalls};
use crate::ledger::transaction::Tx;
use crate::ledger::values::params;
use crate::ledger::{save, sql};
use crate::record::{Claim, ClaimReply, Claimed, JobRecord};

/// Jobs that become due by time, moved into their lanes by one claim at most.
const PROMOTED: i64 = 500;
/// Jobs at the head of their lanes that one claim sets aside at most: the writer has others to serve.
const SET_ASIDE: usize = 200;
/// How long a job is out of its lane that is larger than a limit of the pool: until somebody may have raised it.
const PARKED: Millis = Millis::from_secs(30);
/// How often one claim looks at most. What it has passed over by then, the next one does not look at again.
const LOOKS: usize = 16;
/// Tenants that a claim looks at when those of the first look had too little.
const MORE_TENANTS: usize = 64;

/// One claim under way.
pub(super) struct Round<'t, 'c> {
    tx: &'t Tx<'c>,
    claim: &'t Claim,
    pool: Pool<'t>,
    /// Calls in flight of the tasks that may have so many only.
    task_calls: BTreeMap<String, u64>,
    /// Tasks that take no more calls.
    closed: BTreeSet<String>,
    /// Tenants whose lanes can give nothing more to this claim.
    passed: HashSet<i64>,
    /// Heads that were late, or larger than the pool's limit.
    set_aside: usize,
    /// Whether whose turn it is, or what a lane may take, is to be stored.
    has_moved: bool,
    /// Whether jobs may have become due by time that were not known of at the beginning.
    is_due_stale: bool,
    parked_until: Option<Timestamp>,
    /// Whether the lanes were not looked through to their end.
    looks_on: bool,
    memory: Memory,
    reply: ClaimReply,
}

/// How a lane's turn ends.
enum Turn {
    /// Its credit is used up.
    Over,
    /// The lane can give nothing more.
    Gone,
    /// There may be more of it that was not read.
    Unread,
    /// No slots are left, or the pool is full.
    Stop,
}

/// What came of a head.
enum Took {
    Job,
    /// The head was set aside: another one comes next.
    Again,
    /// What comes next has to be read anew.
    Unread,
    /// The tenant has no room of its own.
    Passed,
    /// The head keeps its turn, and what is free waits for it.
    PoolFull,
}

impl<'t, 'c> Round<'t, 'c> {
    /// Takes the pool; `None` where another process has it.
    pub(super) fn open(
        tx: &'t Tx<'c>,
        claim: &'t Claim,
        wait: Wait,
        marks: &Marks,
    ) -> Result<Option<Self>, StoreError> {
        let Some(mut pool) = Pool::take(tx, &claim.pool, wait)? else {
            return Ok(None);
        };
        if pool.due.is_some_and(|due| due <= tx.now) {
            promote_due(tx)?;
            pool.due = next_due(tx)?;
        }
        let mut round = Self {
            tx,
            claim,
            pool,
            task_calls: task_calls(tx, claim)?,
            closed: BTreeSet::new(),
            passed: HashSet::new(),
            set_aside: 0,
            has_moved: false,
            is_due_stale: false,
            parked_until: None,
            looks_on: false,
            memory: Memory::of(tx, claim, marks),
            reply: ClaimReply::default(),
        };
        claim.task_limits.keys().for_each(|task| round.close_if_full(task));
        Ok(Some(round))
    }

    pub(super) fn run(mut self) -> Result<ClaimReply, StoreError> {
        if self.pool.cooldown_until <= self.tx.now {
            self.take_turns()?;
        }
        // A look that finds nothing writes nothing.
        if self.has_moved || !self.reply.claimed.is_empty() {
            self.pool.write(self.tx)?;
        }
        self.reply.next = self.next_look()?;
        self.memory.keep(self.tx, &self.claim.pool);
        Ok(self.reply)
    }

    fn take_turns(&mut self) -> Result<(), StoreError> {
        for look in 0..LOOKS {
            let front = self.look(look)?;
            self.pool.measure(self.tx, front.in_flight, front.tokens_in_flight, &self.claim.limits)?;
            if !self.serve(front)? {
                return Ok(());
            }
        }
        // The next claim goes on from here.
        self.has_moved = true;
        self.looks_on = true;
        Ok(())
    }

    /// Reads what comes next. The first look is for as much as will do where all costs are alike.
    fn look(&mut self, look: usize) -> Result<Front, StoreError> {
        let slots = self.claim.slots - self.reply.claimed.len();
        let span = Span {
            from: self.pool.round.next_from(),
            tenants: if look == 0 { slots } else { slots.max(MORE_TENANTS) },
            jobs: slots * (1 + look),
        };
        let closed = Value::from_iter(self.closed.iter().cloned());
        self.tx.expect_events(slots);
        self.memory.look(self.tx, Asked { claim: self.claim, span, closed })
    }

    /// Lets the lanes take turns; says whether it is worth looking again.
    fn serve(&mut self, front: Front) -> Result<bool, StoreError> {
        let Front { lanes: mut waiting, more, .. } = front;
        let mut seen = Vec::new();
        let mut first_turns = waiting.len();
        let again = loop {
            if self.is_done() {
                break false;
            }
            // Where there may be other tenants, they come before those that have had their turn.
            if more && first_turns == 0 {
                break true;
            }
            let Some(mut lane) = waiting.pop_front() else { break false };
            first_turns = first_turns.saturating_sub(1);
            match self.turn(&mut lane)? {
                Turn::Over => waiting.push_back(lane),
                Turn::Gone => seen.push(lane),
                ends @ (Turn::Unread | Turn::Stop) => {
                    seen.push(lane);
                    break matches!(ends, Turn::Unread);
                }
            }
        };
        if again || !self.reply.claimed.is_empty() {
            seen.iter().chain(&waiting).try_for_each(|lane| self.store(lane))?;
        }
        Ok(again)
    }

    fn store(&mut self, lane: &Lane) -> Result<(), StoreError> {
        self.has_moved |= lane.write(self.tx, &self.claim.pool)?;
        self.memory.served(lane);
        Ok(())
    }

    fn turn(&mut self, lane: &mut Lane) -> Result<Turn, StoreError> {
        match lane.next() {
            Next::Job { cost } if !self.passed.contains(&lane.tenant) => {
                self.pool.round.give(lane.tenant, lane.weight, cost, &mut lane.credit);
            }
            Next::Unread => return Ok(Turn::Unread),
            Next::Job { .. } | Next::Nothing => {
                self.pool.round.pass(lane.tenant);
                return Ok(Turn::Gone);
            }
        }
        loop {
            let next = lane.next();
            let leaves = if lane.is_held_up() { Leaves::Blocked } else { Leaves::Empty };
            if next == Next::Nothing {
                return Ok(self.leave(lane, leaves));
            }
            if !self.pool.round.goes_on(lane.credit) {
                return Ok(Turn::Over);
            }
            if self.is_done() {
                return Ok(Turn::Stop);
            }
            if next == Next::Unread {
                return Ok(Turn::Unread);
            }
            match self.take_from(lane)? {
                Took::Job | Took::Again => {}
                Took::Unread => return Ok(Turn::Unread),
                Took::Passed => return Ok(self.leave(lane, Leaves::Blocked)),
                Took::PoolFull => return Ok(Turn::Stop),
            }
        }
    }

    /// Whether nothing more is to be taken, whoever's turn it is.
    fn is_done(&self) -> bool {
        self.reply.claimed.len() == self.claim.slots || self.set_aside == SET_ASIDE
    }

    fn leave(&mut self, lane: &mut Lane, why: Leaves) -> Turn {
        self.pool.round.leave(&mut lane.credit, why);
        lane.yields();
        self.passed.insert(lane.tenant);
        Turn::Gone
    }

    /// What stands in a lane was due once: where it is not, the clock has gone back, and nobody waits for the old time.
    fn claimed(&self, job: &Job) -> Result<Change, Refusal> {
        let (now, lease) = (self.tx.now, self.claim.lease);
        match lifecycle::claim(job, now, lease) {
            Err(Refusal::NotDue { .. }) => {
                lifecycle::claim(&Job { available_at: now, ..job.clone() }, now, lease)
            }
            claimed => claimed,
        }
    }

    fn take_from(&mut self, lane: &mut Lane) -> Result<Took, StoreError> {
        let Some((head, key)) = lane.pop() else {
            return Ok(Took::Unread);
        };
        let change = match self.claimed(&head.record.job) {
            Ok(change) => change,
            Err(Refusal::PastDeadline { .. }) => return self.expire(&head.record),
            Err(refusal) => return Err(StoreError::Corrupt(format!("{}: {refusal}", head.record.id))),
        };
        let Some(price) = self.claim.prices.get(&head.step.model).copied() else {
            self.reply.unpriced.insert(head.step.model, head.record.revision);
            return Ok(Took::Passed);
        };
        let reserved = Reservation::of(head.step.input_tokens, head.step.output_tokens, &price);
        if self.claim.limits.rules_out(&reserved).is_some() {
            return self.park(&head.record);
        }
        if key.is_full() {
            lane.pass_key();
            return Ok(Took::Again);
        }
        if self.closed.contains(&head.record.task) {
            lane.hold_up();
            return Ok(Took::Again);
        }
        let (key, of_key) = (key.lane, key.max_in_flight);
        let of_task = self.claim.task_limits.get(&head.record.task).copied();
        let most = MostCalls { of_tenant: lane.max_in_flight, of_key, of_task };
        let Some(account) = room_of(lane, &reserved) else {
            return Ok(Took::Passed);
        };
        if let Err(full) = self.pool.charge(&reserved, &self.claim.limits, self.tx.now) {
            self.reply.full = Some(full);
            return Ok(Took::PoolFull);
        }
        let granted =
            Granted { key, period_start: lane.period_start, limit: lane.account.limit, price, reserved };
        self.grant(&head, change, &granted, most)?;
        lane.account = account;
        self.memory.took(key, &head);
        lane.took(head.step.cost());
        self.pool.round.take(head.step.cost(), &mut lane.credit);
        Ok(Took::Job)
    }

    /// Ends a job that is late.
    fn expire(&mut self, record: &JobRecord) -> Result<Took, StoreError> {
        if let Ok(change) = lifecycle::expire(&record.job, self.tx.now) {
            save::save(self.tx, record, change)?;
        }
        self.set_aside += 1;
        // Its end may have put another job of its ordering key in front of those that were read.
        self.is_due_stale |= record.ordering_key.is_some();
        Ok(if record.ordering_key.is_some() { Took::Unread } else { Took::Again })
    }

    /// A limit was lowered since the job was accepted. It keeps its place and holds up nobody.
    fn park(&mut self, record: &JobRecord) -> Result<Took, StoreError> {
        let until = self.tx.now.after(PARKED);
        self.tx.write(sql!("claim/park"), (record.seq, until.as_millis()))?;
        self.parked_until = Some(until);
        self.set_aside += 1;
        Ok(Took::Again)
    }

    /// Writes job, attempt and grant, before anything outside is called (I14), and takes the money.
    fn grant(
        &mut self,
        head: &Head,
        change: Change,
        granted: &Granted,
        most: MostCalls,
    ) -> Result<(), StoreError> {
        let record = save::save(self.tx, &head.record, change)?;
        let Granted { key, period_start, limit, price, reserved } = granted;
        let attempt_id = new_id(self.tx.now);
        self.tx.write(
            sql!("claim/insert_attempt"),
            params! {
                ":id": forebay_core::id::AttemptId::as_bytes(&attempt_id),
                ":job": record.seq,
                ":fence": int(record.job.fence),
                ":tenant": record.tenant,
                ":lane": key,
                ":generation": record.job.generation,
                ":step": record.job.step,
                ":claim_id": self.claim.id.as_bytes(),
                ":worker": self.claim.worker,
                ":build": self.claim.build,
                ":task": record.task,
                ":pool": self.claim.pool,
                ":model": head.step.model,
                ":claimed_at": self.tx.now.as_millis(),
                ":permit_until": record.job.lease_until.unwrap_or(self.tx.now).as_millis(),
                ":reserved_input": int(reserved.input_tokens),
                ":reserved_output": int(reserved.output_tokens),
                ":reserved_micros": reserved.micros.0,
                ":price_input": price.input_per_mtok.0,
                ":price_cached": price.cached_input_per_mtok.map(|price| price.0),
                ":price_output": price.output_per_mtok.0,
                ":budget_start": period_start.as_millis(),
            },
        )?;
        let tokens = reserved.tokens();
        let call =
            CallOf { tenant: record.tenant, pool: &self.claim.pool, lane: *key, task: &record.task, tokens };
        self.tx.tally(|tally| {
            tally.count_call(call, most);
            tally.reserve(record.tenant, *period_start, reserved.micros, *limit);
        });
        if let Some(calls) = self.task_calls.get_mut(&record.task) {
            *calls += 1;
        }
        self.close_if_full(&record.task);
        self.tx.know_claimed(&record, || Open {
            id: attempt_id,
            tenant: record.tenant,
            lane: *key,
            task: record.task.clone(),
            pool: self.claim.pool.clone(),
            model: head.step.model.clone(),
            reserved: *reserved,
            price: *price,
            budget_start: *period_start,
            holds_permit: true,
            charged_at: self.tx.now,
        });
        self.reply.claimed.push(Claimed {
            job_id: record.id,
            tenant: record.tenant,
            attempt_id,
            fence: record.job.fence,
            granted_at: self.tx.now,
            reserved: *reserved,
        });
        Ok(())
    }

    fn close_if_full(&mut self, task: &str) {
        let calls = self.task_calls.get(task).copied().unwrap_or_default();
        if self.claim.task_limits.get(task).is_some_and(|limit| calls >= *limit) {
            self.closed.insert(task.to_owned());
        }
    }

    /// When time alone may bring something: a job becomes due, a minute's limit frees up, a cooldown ends. At
    /// once where late jobs were in the way, or lanes without room, and others may be behind them.
    fn next_look(&self) -> Result<Option<Timestamp>, StoreError> {
        let due = if self.is_due_stale { next_due(self.tx)? } else { self.pool.due };
        let cooled = Some(self.pool.cooldown_until).filter(|until| *until > self.tx.now);
        let freed = self.reply.full.and_then(|full| full.until);
        let again = (self.set_aside == SET_ASIDE || self.looks_on).then_some(self.tx.now);
        let unseen = self.memory.unseen_until(self.tx.now).filter(|_| !self.is_done());
        Ok([due, self.parked_until, cooled, freed, again, unseen].into_iter().flatten().min())
    }
}

/// What a call is granted.
struct Granted {
    key: i64,
    period_start: Timestamp,
    /// Of the account, as it was looked at.
    limit: Option<forebay_core::money::Micros>,
    price: Price,
    reserved: Reservation,
}

/// The tenant's account with the reservation taken; `None` when it has no room of its own.
fn room_of(lane: &Lane, reserved: &Reservation) -> Option<Account> {
    let full = lane.max_in_flight.is_some_and(|limit| lane.in_flight >= limit);
    if full { None } else { lane.account.reserve(reserved.micros) }
}

/// Calls in flight of the tasks that have a limit.
fn task_calls(tx: &Tx<'_>, claim: &Claim) -> Result<BTreeMap<String, u64>, StoreError> {
    if claim.task_limits.is_empty() {
        return Ok(BTreeMap::new());
    }
    let names = Value::from_iter(claim.task_limits.keys().cloned()).to_string();
    let rows = tx.rows(sql!("calls/of_tasks"), [names], |c| Ok((c.get::<String>()?, c.count::<u64>()?)))?;
    let mut calls: BTreeMap<_, _> = rows.into_iter().collect();
    for task in claim.task_limits.keys() {
        let noted = tx.tally(|tally| tally.calls_of_task(task));
        let calls = calls.entry(task.clone()).or_default();
        *calls = calls.saturating_add_signed(noted);
    }
    Ok(calls)
}

/// When the next queued job becomes due by time alone.
fn next_due(tx: &Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    Ok(tx.row(sql!("claim/next_due"), (), |c| c.maybe_time())?.flatten())
}

/// Moves jobs whose time has come into their lanes.
fn promote_due(tx: &Tx<'_>) -> Result<(), StoreError> {
    let pools = tx.rows(sql!("claim/promote_due"), (tx.now.as_millis(), PROMOTED), |c| c.get::<String>())?;
    for pool in pools {
        tx.note_due(&pool, None);
    }
    Ok(())
}
