//! One transaction, or one consistent read: the database, the time, and what is to be told after the commit.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};

use forebay_core::digest::Digest;
use forebay_core::event::Origin;
use forebay_core::id::{BatchId, JobId};
use forebay_core::job::State;
use forebay_core::time::Timestamp;

use super::claim::PoolRow;
use super::claim::marks::{Learned, Place, Remembered, SubLane};
use super::columns::{Columns, job_record};
use super::rates::Buckets;
use super::settle::Open;
use super::sql;
use super::statement::Statement;
use super::tally::{Pending, Tally};
use super::values::Params;
use crate::postgres::postgres_sql;
use crate::postgres::session::Session;
use crate::postgres::writes::Rows;
use crate::record::{Changed, JobRecord, Taken, Work};
use crate::{StoreError, sqlite};

/// A transaction under way.
pub struct Tx<'c> {
    database: Database<'c>,
    /// Now: one time for the whole transaction.
    pub now: Timestamp,
    /// The store's identity.
    pub origin: Origin,
    last_event: Cell<Option<i64>>,
    news: RefCell<News>,
    tally: RefCell<Tally>,
    buckets: RefCell<Buckets>,
    known: RefCell<Known>,
    claimed: RefCell<Vec<InHand>>,
    /// The last of the pools that this transaction has taken, by name.
    pool: RefCell<Option<String>>,
}

/// Where statements run.
#[derive(Clone, Copy)]
pub enum Database<'c> {
    Sqlite(&'c rusqlite::Connection),
    Postgres(&'c Session),
}

/// What was read before the verbs run, and what became of it since: rows that this transaction has locked.
#[derive(Default)]
pub struct Known {
    pub jobs: HashMap<JobId, KnownJob>,
    /// Open attempts, by their job's number and fence.
    pub attempts: HashMap<(i64, u64), Open>,
    pub keys: HashMap<(i64, String), Option<KeyHolder>>,
    /// Unfinished jobs, by tenant.
    pub pending: Vec<(i64, Pending)>,
    /// Pools that are taken until the end of this transaction, because somebody stands by for what it makes claimable.
    pub pools: HashMap<String, PoolRow>,
    /// What it takes to run jobs that this transaction has accepted.
    pub works: HashMap<JobId, Work>,
}

/// A job as a claim of this process has left it, with its open attempt.
pub struct InHand {
    pub record: JobRecord,
    pub open: Open,
}

/// A job's row as this transaction would find it.
pub struct KnownJob {
    pub record: Option<JobRecord>,
    /// Whether the row itself may lag behind, because its writing waits for the flush.
    pub unwritten: bool,
}

/// What an idempotency key stands for: its job, the digest of the request, and the job's state where it is still there.
#[derive(Debug, Clone, Copy)]
pub struct KeyHolder {
    pub job_id: JobId,
    pub digest: Digest,
    pub state: Option<State>,
    /// A key stands for nothing from then on.
    pub expires_at: Timestamp,
}

/// What others learn when the transaction has committed.
#[derive(Debug, Default)]
pub struct News {
    /// Jobs that changed.
    pub changed: Vec<Changed>,
    /// Jobs that were taken from whoever ran them.
    pub taken: Vec<Taken>,
    /// Pools in which something may be claimed now.
    pub pools: BTreeSet<String>,
    /// Whether another revision is active.
    pub revision: bool,
    /// Where the due jobs of pools begin.
    pub learned: Vec<Learned>,
}

impl<'c> Tx<'c> {
    pub fn new(database: Database<'c>, now: Timestamp, origin: Origin) -> Self {
        Self::knowing(database, now, origin, Known::default())
    }

    pub fn knowing(database: Database<'c>, now: Timestamp, origin: Origin, mut known: Known) -> Self {
        let mut tally = Tally::default();
        for (tenant, pending) in known.pending.drain(..) {
            tally.read_pending(tenant, pending);
        }
        let pool = known.pools.keys().max().cloned();
        Self {
            database,
            now,
            origin,
            last_event: Cell::new(None),
            news: RefCell::default(),
            tally: RefCell::new(tally),
            buckets: RefCell::default(),
            known: RefCell::new(known),
            claimed: RefCell::default(),
            pool: RefCell::new(pool),
        }
    }

    /// Runs a statement now; says how many rows it changed.
    pub fn execute(&self, sql: &'static Statement, params: impl Params) -> Result<usize, StoreError> {
        match self.database {
            Database::Sqlite(connection) => sqlite::rows::execute(connection, sql, &params),
            Database::Postgres(session) => session.execute(sql, &params),
        }
    }

    /// Writes one row, before the next read or before the commit: whoever wrote it does not need to know how it went.
    /// That there is no such row, or that there is one already, ends the transaction.
    pub fn write(&self, sql: &'static Statement, params: impl Params) -> Result<(), StoreError> {
        match self.database {
            Database::Sqlite(connection) => match sqlite::rows::execute(connection, sql, &params)? {
                1 => Ok(()),
                rows => Err(StoreError::Corrupt(format!("{} wrote {rows} rows instead of one", sql.name))),
            },
            Database::Postgres(session) => session.defer(sql, &params, Rows::Each),
        }
    }

    /// As [`Tx::write`], where it is as good that there is no such row, or that there is one already.
    pub fn write_if_needed(&self, sql: &'static Statement, params: impl Params) -> Result<(), StoreError> {
        match self.database {
            Database::Sqlite(connection) => sqlite::rows::execute(connection, sql, &params).map(|_| ()),
            Database::Postgres(session) => session.defer(sql, &params, Rows::Any),
        }
    }

    /// The one row of a query, if it has one.
    pub fn row<T>(
        &self,
        sql: &'static Statement,
        params: impl Params,
        read: impl FnOnce(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match self.database {
            Database::Sqlite(connection) => sqlite::rows::row(connection, sql, &params, read),
            Database::Postgres(session) => session.row(sql, &params, read),
        }
    }

    /// All rows of a query.
    pub fn rows<T>(
        &self,
        sql: &'static Statement,
        params: impl Params,
        read: impl FnMut(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        match self.database {
            Database::Sqlite(connection) => sqlite::rows::rows(connection, sql, &params, read),
            Database::Postgres(session) => session.rows(sql, &params, read),
        }
    }

    /// All rows of a query that is asked for each of these, in any order: each on its own, or with all of them at once where
    /// that spares the way to the server.
    pub fn rows_of_each<T, P: Params>(
        &self,
        sql: &'static Statement,
        each: impl IntoIterator<Item = P>,
        mut read: impl FnMut(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        match self.database {
            Database::Sqlite(connection) => {
                let mut all = Vec::new();
                for params in each {
                    all.append(&mut sqlite::rows::rows(connection, sql, &params, &mut read)?);
                }
                Ok(all)
            }
            Database::Postgres(session) => session.rows_of_each(sql, each, read),
        }
    }

    /// The job as it is now, whoever owns it. In a write nobody else changes it until the commit.
    pub fn job(&self, id: JobId) -> Result<Option<JobRecord>, StoreError> {
        let Database::Postgres(session) = self.database else {
            return self.row(sql!("jobs/load"), [id.as_bytes()], job_record);
        };
        if let Some(known) = self.known.borrow_mut().jobs.get_mut(&id) {
            if std::mem::take(&mut known.unwritten) {
                session.flush()?;
            }
            return Ok(known.record.clone());
        }
        if session.only_reads() {
            return self.row(sql!("jobs/load"), [id.as_bytes()], job_record);
        }
        let record = self.row(sql!("jobs/lock"), [id.as_bytes()], job_record)?;
        let known = KnownJob { record: record.clone(), unwritten: false };
        self.known.borrow_mut().jobs.insert(id, known);
        Ok(record)
    }

    /// Reads several jobs that are going to be changed, and locks them in the order in which everybody does.
    pub fn lock_jobs(&self, ids: &[JobId]) -> Result<(), StoreError> {
        let Database::Postgres(session) = self.database else {
            return Ok(());
        };
        let rows = ids.iter().map(|id| [id.as_bytes()]);
        for record in session.rows_of_each(postgres_sql!("jobs/lock_many"), rows, job_record)? {
            let id = record.id;
            self.known.borrow_mut().jobs.insert(id, KnownJob { record: Some(record), unwritten: false });
        }
        Ok(())
    }

    /// Keeps a job's record as this transaction has written it.
    pub fn know_job(&self, record: &JobRecord) {
        if let Database::Postgres(_) = self.database {
            let known = KnownJob { record: Some(record.clone()), unwritten: true };
            self.known.borrow_mut().jobs.insert(record.id, known);
        }
    }

    /// A job's row has changed by itself: it is read again when it is asked for.
    pub fn forget_job(&self, id: JobId) {
        self.known.borrow_mut().jobs.remove(&id);
    }

    /// Keeps what this transaction has claimed: of use when it is reported, if nobody changes the job until then.
    pub fn know_claimed(&self, record: &JobRecord, open: impl FnOnce() -> Open) {
        if let Database::Postgres(_) = self.database {
            self.claimed.borrow_mut().push(InHand { record: record.clone(), open: open() });
        }
    }

    /// What this transaction has claimed.
    pub fn take_claimed(&self) -> Vec<InHand> {
        self.claimed.take()
    }

    /// An open attempt that was read before the verbs ran. It is taken: who settles it does so once.
    pub fn take_attempt(&self, job: i64, fence: u64) -> Option<Open> {
        self.known.borrow_mut().attempts.remove(&(job, fence))
    }

    /// What is known of an idempotency key without asking the database: perhaps that it stands for nothing.
    pub fn known_key(&self, tenant: i64, key: &str) -> Option<Option<KeyHolder>> {
        let known = self.known.borrow();
        if known.keys.is_empty() {
            return None;
        }
        let holder = *known.keys.get(&(tenant, key.to_owned()))?;
        Some(holder.filter(|holder| holder.expires_at > self.now))
    }

    /// Keeps what this transaction has made a key stand for.
    pub fn know_key(&self, tenant: i64, key: &str, holder: KeyHolder) {
        if let Database::Postgres(_) = self.database {
            self.known.borrow_mut().keys.insert((tenant, key.to_owned()), Some(holder));
        }
    }

    /// The number of the next event.
    pub fn next_event_number(&self) -> Result<i64, StoreError> {
        let next = match self.database {
            // There is one writer, so the numbers rise in commit order.
            Database::Sqlite(_) => self.last_event_number()? + 1,
            Database::Postgres(session) => session.next_number()?,
        };
        self.last_event.set(Some(next));
        Ok(next)
    }

    /// The number of the last event: after a change that ended no job was saved, that of its event.
    pub fn last_event_number(&self) -> Result<i64, StoreError> {
        match self.last_event.get() {
            Some(last) => Ok(last),
            None => {
                let last = self.row(sql!("log/last_number"), (), |c| c.get::<Option<i64>>())?;
                Ok(last.flatten().unwrap_or_default())
            }
        }
    }

    /// Whether entries of indexes stay that others with an old snapshot may need, and are walked over.
    pub fn keeps_old_entries(&self) -> bool {
        matches!(self.database, Database::Postgres(_))
    }

    /// How many jobs' work a claim reads along: a server answers for all of them at once, whereas one by one they hold up
    /// the only writer.
    pub fn reads_along(&self) -> usize {
        match self.database {
            Database::Sqlite(_) => 8,
            Database::Postgres(_) => 64,
        }
    }

    /// Says that so many events will be appended after what is read next.
    pub fn expect_events(&self, events: usize) {
        if let Database::Postgres(session) = self.database {
            session.expect_numbers(events);
        }
    }

    /// A pool that was taken before the verbs ran, as it was found.
    pub fn take_pool(&self, name: &str) -> Option<PoolRow> {
        self.known.borrow_mut().pools.remove(name)
    }

    /// Keeps what it takes to run a job that is accepted, where somebody stands by who may claim it along.
    pub fn know_work(&self, pool: &str, work: impl FnOnce() -> Work) {
        let mut known = self.known.borrow_mut();
        if known.pools.contains_key(pool) {
            let work = work();
            known.works.insert(work.job_id, work);
        }
    }

    /// What it takes to run a job, where that is known.
    pub fn take_work(&self, job: JobId) -> Option<Work> {
        self.known.borrow_mut().works.remove(&job)
    }

    /// Whether a pool may be waited for that another process has: not by who has taken one that comes after it.
    pub fn may_wait_for_pool(&self, name: &str) -> bool {
        self.pool.borrow().as_deref().is_none_or(|taken| taken <= name)
    }

    /// Notes that a pool is taken until the end of this transaction.
    pub fn hold_pool(&self, name: &str) {
        let taken = self.pool.take().filter(|taken| taken.as_str() > name);
        self.pool.replace(Some(taken.unwrap_or_else(|| name.to_owned())));
    }

    /// Notes something that is counted.
    pub(super) fn tally<T>(&self, note: impl FnOnce(&mut Tally) -> T) -> T {
        note(&mut self.tally.borrow_mut())
    }

    /// What was taken out of the buckets of those who hand jobs in.
    pub(super) fn buckets<T>(&self, note: impl FnOnce(&mut Buckets) -> T) -> T {
        note(&mut self.buckets.borrow_mut())
    }

    /// Writes what was counted so far: before the commit, and before anybody reads a row that counts.
    pub fn write_tally(&self) -> Result<(), StoreError> {
        self.buckets.take().write(self)?;
        self.tally.take().write(self)
    }

    /// Notes that a job changed.
    pub fn note_change(&self, job_id: JobId, tenant: i64) {
        self.news.borrow_mut().changed.push(Changed { job_id, tenant });
    }

    /// Notes that a job was taken from whoever ran it, and has this fence now.
    pub fn note_taken(&self, job_id: JobId, fence: u64) {
        self.news.borrow_mut().taken.push(Taken { job_id, fence });
    }

    /// Notes that a batch is complete: whoever follows the tenant's events looks again.
    pub fn note_batch(&self, batch: BatchId, tenant: i64) {
        let job_id = JobId::from_bytes(*batch.as_bytes());
        self.note_change(job_id, tenant);
    }

    /// Notes that another revision is active.
    pub fn note_revision(&self) {
        self.news.borrow_mut().revision = true;
    }

    /// Notes that something may be claimed in a pool.
    pub fn note_pool(&self, pool: &str) {
        let mut news = self.news.borrow_mut();
        if !news.pools.contains(pool) {
            news.pools.insert(pool.to_owned());
        }
    }

    /// Notes that a job is due: in that lane and place, or in one that is not known here.
    pub fn note_due(&self, pool: &str, what: Option<(SubLane, Place)>) {
        self.note_pool(pool);
        self.note_learned(Learned::Due(pool.to_owned(), what));
    }

    /// Notes what was learned of a pool.
    pub fn note_learned(&self, learned: Learned) {
        self.news.borrow_mut().learned.push(learned);
    }

    /// What this transaction has put into a pool counts, too.
    pub fn add_due(&self, pool: &str, known: &mut Remembered) {
        for learned in &self.news.borrow().learned {
            if let Learned::Due(of, what) = learned
                && of == pool
            {
                known.add(what.as_ref());
            }
        }
    }

    /// The pools in which something may be claimed, which nobody is told of any more unless they are noted again.
    pub fn take_pools(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.news.borrow_mut().pools)
    }

    pub fn into_news(self) -> News {
        self.news.into_inner()
    }
}
