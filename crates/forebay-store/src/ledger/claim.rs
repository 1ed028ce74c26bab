//! Handing jobs out: ownership and capacity in one transaction, tenants in turn.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Weak;

use async_trait::async_trait;
use forebay_core::grant::{Account, Reservation};
use forebay_core::id::JobId;
use forebay_core::lifecycle::{self, Refusal};
use forebay_core::time::{Millis, Timestamp};
use forebay_core::window::{Bucket, Full, Window};

use super::columns::{Columns, int, job_record, limit};
use super::signals::{Board, new_id};
use super::transaction::Tx;
use super::values::params;
use super::{Backend, Ledger, Needs, extend, queue, save, sql};
use crate::record::{Claim, ClaimReply, Claimed, Extended, Held, JobRecord, StandingClaim, Told, Work};
use crate::{Claims, StoreError, failpoint};

/// Jobs that become due by time, moved into their lanes by one claim at most.
const PROMOTED: i64 = 500;
/// Heads of a lane that are read together.
const HEADS: usize = 16;
/// Jobs at the head of their lanes that one claim sets aside at most: the writer has others to serve.
const SET_ASIDE: usize = 200;
/// How long a job is out of its lane that is larger than a limit of the pool: until somebody may have raised it.
const PARKED: Millis = Millis::from_secs(30);
/// Jobs whose work a standing claim reads along: above that, reading it elsewhere holds up the writer less.
const READ_ALONG: usize = 8;

#[async_trait]
impl<B: Backend> Claims for Ledger<B> {
    async fn claim(&self, claim: Claim) -> Result<ClaimReply, StoreError> {
        self.write("claim", Needs::nothing(), move |tx| Round::open(tx, &claim)?.run()).await
    }

    fn stand_by(&self, pool: &str, claim: Weak<dyn StandingClaim>) {
        self.backend.board().stand_by(pool, claim);
    }

    async fn work(&self, jobs: Vec<JobId>) -> Result<Vec<Work>, StoreError> {
        self.read(move |tx| jobs.into_iter().map(|job| queue::work(tx, job)).collect()).await
    }

    async fn extend(&self, held: Vec<Held>, lease: Millis) -> Result<Vec<Extended>, StoreError> {
        let needs = Needs { jobs: held.iter().map(|held| held.job_id).collect(), ..Needs::nothing() };
        self.write("extend", needs, move |tx| {
            held.iter().map(|held| extend::extend(tx, held, lease)).collect()
        })
        .await
    }
}

/// Makes the standing claims of the pools in which this transaction has made something claimable. Whom to tell what
/// they brought, once it is committed, is added to `told`.
pub(super) fn for_those_who_stand_by(
    tx: &Tx<'_>,
    board: &Board,
    told: &mut Vec<(ClaimReply, Told)>,
) -> Result<(), StoreError> {
    for pool in tx.take_pools() {
        let Some((claim, tell)) = board.standing_claim(&pool) else {
            tx.note_pool(&pool);
            continue;
        };
        let mut reply = Round::open(tx, &claim)?.run()?;
        failpoint::reach("claim", "before_commit");
        if reply.claimed.len() == claim.slots {
            // There may be more, for other slots.
            tx.note_pool(&pool);
        }
        if reply.claimed.len() <= READ_ALONG {
            // What can't be read is read again by whoever runs the job, and judged there.
            let work = reply.claimed.iter().map(|claimed| queue::work(tx, claimed.job_id));
            reply.work = work.collect::<Result<_, _>>().unwrap_or_default();
        }
        told.push((reply, tell));
    }
    Ok(())
}

/// One claim under way: what the pool has used, and which lanes can give nothing more.
struct Round<'t, 'c> {
    tx: &'t Tx<'c>,
    claim: &'t Claim,
    cooldown_until: Timestamp,
    window: Window,
    charged: BTreeMap<Timestamp, Bucket>,
    turn: i64,
    tenants: HashMap<i64, Tenant>,
    /// The lane behind each that was asked for; one that has become empty since is passed when its turn comes.
    lanes: HashMap<i64, Option<i64>>,
    /// The jobs at the front of each lane, as far as they were read.
    heads: HashMap<i64, VecDeque<Head>>,
    /// Lanes that are empty, or whose tenant has no room of its own.
    passed: HashSet<i64>,
    /// Heads that were late, or larger than the pool's limit.
    set_aside: usize,
    reply: ClaimReply,
}

/// What a tenant may still do in this round.
struct Tenant {
    in_flight: u64,
    max_in_flight: Option<u64>,
    period_start: Timestamp,
    account: Account,
}

/// A job at the head of its lane, with what its step needs.
struct Head {
    record: JobRecord,
    step: StepNeed,
}

struct StepNeed {
    model: String,
    input_tokens: u64,
    output_tokens: u64,
}

/// What came of a lane's turn.
enum Turn {
    Took(Claimed),
    /// The head was late and has been ended, or can't run at all by the pool's limits: the lane has another one.
    Again,
    Passed,
    PoolFull(Full),
}

impl<'t, 'c> Round<'t, 'c> {
    fn open(tx: &'t Tx<'c>, claim: &'t Claim) -> Result<Self, StoreError> {
        promote_due(tx)?;
        let (in_flight, cooldown_until, turn) = pool(tx, &claim.pool)?;
        let window = Window::new(queue::buckets(tx, &claim.pool)?, in_flight, tx.now);
        Ok(Self {
            tx,
            claim,
            cooldown_until,
            window,
            charged: BTreeMap::new(),
            turn,
            tenants: HashMap::new(),
            lanes: HashMap::new(),
            heads: HashMap::new(),
            passed: HashSet::new(),
            set_aside: 0,
            reply: ClaimReply::default(),
        })
    }

    fn run(mut self) -> Result<ClaimReply, StoreError> {
        if self.cooldown_until <= self.tx.now {
            self.take_turns()?;
        }
        // A look that finds nothing writes nothing.
        if !self.charged.is_empty() {
            self.write_pool()?;
        }
        self.reply.next = self.next_look()?;
        Ok(self.reply)
    }

    /// Lets each lane give one job, round after round, until the slots or the pool or the lanes are used up.
    fn take_turns(&mut self) -> Result<(), StoreError> {
        while self.reply.claimed.len() < self.claim.slots && self.set_aside < SET_ASIDE {
            let Some(tenant) = self.next_lane()? else { break };
            match self.take_from(tenant)? {
                Turn::Took(claimed) => {
                    self.reply.claimed.push(claimed);
                    self.turn = tenant;
                }
                Turn::Again => self.set_aside += 1,
                Turn::Passed => {
                    self.passed.insert(tenant);
                    self.turn = tenant;
                }
                // The head keeps its turn, and what is free waits for it.
                Turn::PoolFull(full) => {
                    self.reply.full = Some(full);
                    break;
                }
            }
        }
        Ok(())
    }

    /// The next tenant after the last one that was served, with due jobs and not passed in this round.
    fn next_lane(&mut self) -> Result<Option<i64>, StoreError> {
        let mut candidate = self.turn;
        let mut wrapped = false;
        loop {
            match self.lane_after(candidate)? {
                Some(tenant) if wrapped && tenant > self.turn => return Ok(None),
                Some(tenant) if !self.passed.contains(&tenant) => return Ok(Some(tenant)),
                Some(tenant) => candidate = tenant,
                None if wrapped => return Ok(None),
                None => {
                    wrapped = true;
                    candidate = -1;
                }
            }
        }
    }

    fn lane_after(&mut self, tenant: i64) -> Result<Option<i64>, StoreError> {
        if let Some(known) = self.lanes.get(&tenant) {
            return Ok(*known);
        }
        let next = self.tx.row(sql!("claim/lane_after"), (&self.claim.pool, tenant), |c| c.get())?;
        self.lanes.insert(tenant, next);
        Ok(next)
    }

    fn take_from(&mut self, tenant: i64) -> Result<Turn, StoreError> {
        let Some(head) = self.head(tenant)? else {
            return Ok(Turn::Passed);
        };
        let change = match lifecycle::claim(&head.record.job, self.tx.now, self.claim.lease) {
            Ok(change) => change,
            Err(Refusal::PastDeadline { .. }) => {
                let expired = lifecycle::expire(&head.record.job, self.tx.now);
                expired.map(|change| save::save(self.tx, &head.record, change)).ok().transpose()?;
                // Its end may have put another job of its ordering key in front of those that were read.
                self.heads.remove(&tenant);
                return Ok(Turn::Again);
            }
            Err(refusal) => return Err(StoreError::Corrupt(format!("{}: {refusal}", head.record.id))),
        };
        let Some(price) = self.claim.prices.get(&head.step.model).copied() else {
            self.reply.unpriced.insert(head.step.model, head.record.revision);
            return Ok(Turn::Passed);
        };
        let reserved = Reservation::of(head.step.input_tokens, head.step.output_tokens, &price);
        if self.claim.limits.rules_out(reserved.tokens()).is_some() {
            // The limit was lowered since the job was accepted. It keeps its place and holds up nobody.
            let until = self.tx.now.after(PARKED).as_millis();
            self.tx.write(sql!("claim/park"), (head.record.seq, until))?;
            return Ok(Turn::Again);
        }
        let Some(account) = self.room_of(tenant, &reserved)? else {
            return Ok(Turn::Passed);
        };
        match self.window.take(&reserved, &self.claim.limits, self.tx.now) {
            Err(full) => Ok(Turn::PoolFull(full)),
            Ok(bucket) => {
                self.charged.insert(bucket.start, bucket);
                let after = save::save(self.tx, &head.record, change)?;
                let claimed = self.grant(&after, &head.step, &price, reserved)?;
                if let Some(tenant) = self.tenants.get_mut(&tenant) {
                    tenant.in_flight += 1;
                    tenant.account = account;
                }
                Ok(Turn::Took(claimed))
            }
        }
    }

    fn head(&mut self, tenant: i64) -> Result<Option<Head>, StoreError> {
        let heads = self.heads.entry(tenant).or_default();
        if heads.is_empty() {
            let wanted = HEADS.min(self.claim.slots - self.reply.claimed.len());
            let lane = (&self.claim.pool, tenant, limit(wanted));
            heads.extend(self.tx.rows(sql!("claim/lane_heads"), lane, head)?);
        }
        Ok(heads.pop_front())
    }

    /// The tenant's account with the reservation taken; `None` when it has no room of its own.
    fn room_of(&mut self, id: i64, reserved: &Reservation) -> Result<Option<Account>, StoreError> {
        let tenant = match self.tenants.entry(id) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => new.insert(tenant(self.tx, id)?),
        };
        let full = tenant.max_in_flight.is_some_and(|limit| tenant.in_flight >= limit);
        Ok(if full { None } else { tenant.account.reserve(reserved.micros) })
    }

    /// Writes attempt and grant, before anything outside is called (I14), and takes the money.
    fn grant(
        &self,
        record: &JobRecord,
        step: &StepNeed,
        price: &forebay_core::money::Price,
        reserved: Reservation,
    ) -> Result<Claimed, StoreError> {
        let attempt_id = new_id(self.tx.now);
        let tenant = self.tenants.get(&record.tenant);
        let period_start = tenant.map_or(Timestamp::from_millis(0), |tenant| tenant.period_start);
        let most_in_flight = tenant.and_then(|tenant| tenant.max_in_flight);
        let limit = tenant.and_then(|tenant| tenant.account.limit);
        self.tx.write(
            sql!("claim/insert_attempt"),
            params! {
                ":id": forebay_core::id::AttemptId::as_bytes(&attempt_id),
                ":job": record.seq,
                ":fence": int(record.job.fence),
                ":tenant": record.tenant,
                ":generation": record.job.generation,
                ":step": record.job.step,
                ":claim_id": self.claim.id.as_bytes(),
                ":worker": self.claim.worker,
                ":build": self.claim.build,
                ":task": record.task,
                ":pool": self.claim.pool,
                ":model": step.model,
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
        self.tx.tally(|tally| {
            tally.count_call(record.tenant, most_in_flight, &self.claim.pool);
            tally.reserve(record.tenant, period_start, reserved.micros, limit);
        });
        Ok(Claimed {
            job_id: record.id,
            tenant: record.tenant,
            attempt_id,
            fence: record.job.fence,
            granted_at: self.tx.now,
            reserved,
        })
    }

    fn write_pool(&self) -> Result<(), StoreError> {
        self.tx.execute(sql!("claim/update_pool"), (&self.claim.pool, self.turn))?;
        for bucket in self.charged.values() {
            let row = (&self.claim.pool, bucket.start.as_millis(), int(bucket.requests), int(bucket.tokens));
            self.tx.write(sql!("claim/put_bucket"), row)?;
        }
        let forgotten = self.tx.now.before(Millis::from_secs(120)).as_millis();
        self.tx.execute(sql!("claim/forget_buckets"), (&self.claim.pool, forgotten))?;
        Ok(())
    }

    /// When time alone may bring something: a job becomes due, a minute's limit frees up, a cooldown ends. At
    /// once where late jobs were in the way and may still be.
    fn next_look(&self) -> Result<Option<Timestamp>, StoreError> {
        let due = next_due(self.tx)?;
        let cooled = Some(self.cooldown_until).filter(|until| *until > self.tx.now);
        let freed = self.reply.full.and_then(|full| full.until);
        let again = (self.set_aside == SET_ASIDE).then_some(self.tx.now);
        Ok([due, cooled, freed, again].into_iter().flatten().min())
    }
}

fn head(c: &mut Columns<'_>) -> Result<Head, StoreError> {
    let record = job_record(c)?;
    let step = StepNeed { model: c.get()?, input_tokens: c.count()?, output_tokens: c.count()? };
    Ok(Head { record, step })
}

/// How many calls of a pool are in flight, how long it rests, and which tenant was served last. A pool that nothing was
/// claimed from yet gets its row.
fn pool(tx: &Tx<'_>, name: &str) -> Result<(u64, Timestamp, i64), StoreError> {
    let read = || tx.row(sql!("claim/pool"), [name], |c| Ok((c.count::<u64>()?, c.time()?, c.get()?)));
    let mut pool = read()?;
    if pool.is_none() {
        tx.execute(sql!("claim/create_pool"), [name])?;
        pool = read()?;
    }
    let (calls, cooldown, turn) =
        pool.ok_or_else(|| StoreError::Corrupt(format!("pool {name} is not in the store")))?;
    let noted = tx.tally(|tally| tally.calls_in(name));
    Ok((calls.saturating_add_signed(noted), cooldown, turn))
}

/// When the next queued job becomes due by time alone.
fn next_due(tx: &Tx<'_>) -> Result<Option<Timestamp>, StoreError> {
    Ok(tx.row(sql!("claim/next_due"), (), |c| c.maybe_time())?.flatten())
}

/// Moves jobs whose time has come into their lanes.
fn promote_due(tx: &Tx<'_>) -> Result<(), StoreError> {
    if next_due(tx)?.is_none_or(|due| due > tx.now) {
        return Ok(());
    }
    let pools = tx.rows(sql!("claim/promote_due"), (tx.now.as_millis(), PROMOTED), |c| c.get::<String>())?;
    for pool in pools {
        tx.note_pool(&pool);
    }
    Ok(())
}

fn tenant(tx: &Tx<'_>, id: i64) -> Result<Tenant, StoreError> {
    let (period_start, account) = queue::account(tx, id)?;
    let (in_flight, max_in_flight) = queue::tenant_in_flight(tx, id)?;
    Ok(Tenant { in_flight, max_in_flight, period_start, account })
}
