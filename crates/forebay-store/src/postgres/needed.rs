//! What the verbs of a transaction have said that they will read, read for all of them at once.

use std::collections::{BTreeSet, HashMap, HashSet};

use forebay_core::id::JobId;
use forebay_core::time::Timestamp;
use futures_util::future::try_join_all;

use super::in_hand::Hand;
use super::postgres_sql;
use super::session::Session;
use super::types::{Column, Owned};
use crate::StoreError;
use crate::ledger::accept::{key_holder, unfinished};
use crate::ledger::claim::{PoolRow, pool_row};
use crate::ledger::columns::{Columns, Row, job_record};
use crate::ledger::desk::Verb;
use crate::ledger::settle::{self, Open};
use crate::ledger::signals::Board;
use crate::ledger::statement::Statement;
use crate::ledger::tally::Pending;
use crate::ledger::transaction::{InHand, KeyHolder, Known, KnownJob};

/// Rows as a statement takes them: one array a column.
#[derive(Default)]
pub(super) struct Needed {
    jobs: Vec<Vec<Owned>>,
    ids: Vec<JobId>,
    in_hand: Vec<InHand>,
    tenants: Vec<Vec<Owned>>,
    events: usize,
    keys: Vec<Vec<Owned>>,
    names: HashSet<(i64, String)>,
    /// In the order in which they are taken.
    pools: BTreeSet<String>,
    /// Those of them that are waited for.
    claims: BTreeSet<String>,
}

type Rows = Vec<tokio_postgres::Row>;

impl Needed {
    /// What the verbs need. Pools only where somebody stands by who could claim what becomes claimable in them.
    pub(super) fn by(group: &[Box<dyn Verb>], hand: &Hand, standing: Option<&Board>) -> Self {
        let mut needed = Self::default();
        let mut seen = HashSet::new();
        let mut counted = HashSet::new();
        for needs in group.iter().map(|verb| verb.needs()) {
            for job in needs.jobs.iter().filter(|job| seen.insert(**job)) {
                // What writes no events is a heartbeat, after which the job still is in hand.
                if needs.events > 0
                    && let Some(job) = hand.take(*job)
                {
                    needed.in_hand.push(job);
                    continue;
                }
                needed.ids.push(*job);
                needed.jobs.push(vec![Owned::Bytes(job.as_bytes().to_vec())]);
            }
            for (tenant, key) in &needs.keys {
                if needed.names.insert((*tenant, key.clone())) {
                    needed.keys.push(vec![Owned::Int(*tenant), Owned::Text(key.clone())]);
                }
            }
            for tenant in needs.pending.iter().filter(|tenant| counted.insert(**tenant)) {
                needed.tenants.push(vec![Owned::Int(*tenant)]);
            }
            needed.claims.extend(needs.claims.iter().cloned());
            needed.pools.extend(needs.pools.iter().cloned());
            needed.events += needs.events;
        }
        if !needed.ids.is_empty() {
            // All jobs are locked in one order. Those in hand would be so later, when they are written.
            for job in needed.in_hand.drain(..) {
                needed.ids.push(job.record.id);
                needed.jobs.push(vec![Owned::Bytes(job.record.id.as_bytes().to_vec())]);
            }
        }
        needed.pools.retain(|pool| standing.is_some_and(|board| board.has_room(pool)));
        needed.pools.extend(needed.claims.iter().cloned());
        needed
    }

    /// The statements that read it, and the one that locks what is in hand.
    pub(super) fn statements(&self) -> impl Iterator<Item = &'static Statement> {
        let jobs = [postgres_sql!("jobs/lock_many"), postgres_sql!("attempts/open_many")];
        let jobs = jobs.into_iter().filter(|_| !self.jobs.is_empty());
        let in_hand = (!self.in_hand.is_empty()).then(|| postgres_sql!("jobs/lock_numbers"));
        let keys = (!self.keys.is_empty()).then(|| postgres_sql!("accept/find_keys"));
        let pending = (!self.tenants.is_empty()).then(|| postgres_sql!("accept/load_many"));
        let numbers = (self.events > 0).then(|| postgres_sql!("log/draw"));
        let pools = self.pools.iter().map(|pool| self.taken_by(pool));
        jobs.chain(in_hand)
            .chain(keys)
            .chain(pending)
            .chain(pools)
            .chain([postgres_sql!("link/now")])
            .chain(numbers)
    }

    /// Reads all of it: one message to the server, one answer.
    pub(super) async fn read(self, session: &Session) -> Result<(Timestamp, Known), StoreError> {
        let (jobs, attempts, keys, pending, pools, now, ()) = tokio::try_join!(
            self.jobs(session),
            self.attempts(session),
            self.keys(session),
            self.pending(session),
            self.pools(session),
            // After the locks: what others wrote before they let go of a row is not later than this.
            session.query(postgres_sql!("link/now"), Vec::<Owned>::new()),
            session.draw_ahead(self.events),
        )?;
        let now = now.first().ok_or_else(|| StoreError::Corrupt("the server has no clock".to_owned()))?;
        let mut known = Known { jobs, attempts, keys, pending, pools, ..Known::default() };
        session.have_in_hand(self.in_hand.iter().map(|job| job.record.seq));
        for InHand { record, open } in self.in_hand {
            known.attempts.insert((record.seq, record.job.fence), open);
            known.jobs.insert(record.id, KnownJob { record: Some(record), unwritten: false });
        }
        Ok((Timestamp::from_millis(now.try_get(0)?), known))
    }

    /// Locks the jobs, in the order of their numbers.
    async fn jobs(&self, session: &Session) -> Result<HashMap<JobId, KnownJob>, StoreError> {
        let nobody = || KnownJob { record: None, unwritten: false };
        let mut known: HashMap<_, _> = self.ids.iter().map(|id| (*id, nobody())).collect();
        if known.is_empty() {
            return Ok(known);
        }
        for row in ask(session, postgres_sql!("jobs/lock_many"), &self.jobs, 1).await? {
            let record = job_record(&mut columns(&row))?;
            known.insert(record.id, KnownJob { record: Some(record), unwritten: false });
        }
        Ok(known)
    }

    /// The open attempts of the jobs, each under its job's number and fence.
    async fn attempts(&self, session: &Session) -> Result<HashMap<(i64, u64), Open>, StoreError> {
        if self.jobs.is_empty() {
            return Ok(HashMap::new());
        }
        let rows = ask(session, postgres_sql!("attempts/open_many"), &self.jobs, 1).await?;
        let opened = rows.iter().map(|row| {
            let mut c = columns(row);
            Ok(((c.get()?, c.count()?), settle::open(&mut c)?))
        });
        opened.collect()
    }

    /// What the idempotency keys stand for.
    async fn keys(&self, session: &Session) -> Result<HashMap<(i64, String), Option<KeyHolder>>, StoreError> {
        let mut known: HashMap<_, _> = self.names.iter().map(|name| (name.clone(), None)).collect();
        if known.is_empty() {
            return Ok(known);
        }
        for row in ask(session, postgres_sql!("accept/find_keys"), &self.keys, 2).await? {
            let mut c = columns(&row);
            let name = (c.get()?, c.get()?);
            known.insert(name, Some(key_holder(&mut c)?));
        }
        Ok(known)
    }

    /// Unfinished jobs of tenants.
    async fn pending(&self, session: &Session) -> Result<Vec<(i64, Pending)>, StoreError> {
        if self.tenants.is_empty() {
            return Ok(Vec::new());
        }
        let rows = ask(session, postgres_sql!("accept/load_many"), &self.tenants, 1).await?;
        let counted = rows.iter().map(|row| {
            let mut c = columns(row);
            Ok((c.get()?, unfinished(&mut c)?))
        });
        counted.collect()
    }

    fn taken_by(&self, pool: &str) -> &'static Statement {
        if self.claims.contains(pool) {
            postgres_sql!("claim/pool")
        } else {
            postgres_sql!("claim/pool_if_free")
        }
    }

    /// Takes the pools, those that are only of use now where no other process has them.
    async fn pools(&self, session: &Session) -> Result<HashMap<String, PoolRow>, StoreError> {
        let found = self.pools.iter().map(async |pool| {
            let rows = session.query(self.taken_by(pool), vec![Owned::Text(pool.clone())]).await?;
            let row = rows.first().map(|row| pool_row(&mut columns(row))).transpose()?;
            Ok::<_, StoreError>(row.map(|row| (pool.clone(), row)))
        });
        Ok(try_join_all(found).await?.into_iter().flatten().collect())
    }
}

async fn ask(
    session: &Session,
    sql: &'static Statement,
    rows: &[Vec<Owned>],
    width: usize,
) -> Result<Rows, StoreError> {
    session.query(sql, (0..width).map(|index| Column { rows, index }).collect()).await
}

fn columns(row: &tokio_postgres::Row) -> Columns<'_> {
    Columns::of(Row::Postgres(row))
}
