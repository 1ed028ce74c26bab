//! What the verbs of a transaction have said that they will read, read for all of them at once.

use std::collections::{HashMap, HashSet};

use forebay_core::id::JobId;

use super::postgres_sql;
use super::session::Session;
use super::types::{Column, Owned};
use crate::StoreError;
use crate::ledger::accept::key_holder;
use crate::ledger::columns::{Columns, Row, job_record};
use crate::ledger::desk::Verb;
use crate::ledger::settle::{self, Open};
use crate::ledger::statement::Statement;
use crate::ledger::transaction::{KeyHolder, KnownJob};

/// Rows as a statement takes them: one array a column.
pub(super) struct Needed {
    jobs: Vec<Vec<Owned>>,
    ids: Vec<JobId>,
    keys: Vec<Vec<Owned>>,
    names: HashSet<(i64, String)>,
}

type Rows = Vec<tokio_postgres::Row>;

impl Needed {
    pub(super) fn by(group: &[Box<dyn Verb>]) -> Self {
        let mut needed = Self { jobs: vec![], ids: vec![], keys: vec![], names: HashSet::new() };
        let mut seen = HashSet::new();
        for needs in group.iter().map(|verb| verb.needs()) {
            for job in needs.jobs.iter().filter(|job| seen.insert(**job)) {
                needed.ids.push(*job);
                needed.jobs.push(vec![Owned::Bytes(job.as_bytes().to_vec())]);
            }
            for (tenant, key) in &needs.keys {
                if needed.names.insert((*tenant, key.clone())) {
                    needed.keys.push(vec![Owned::Int(*tenant), Owned::Text(key.clone())]);
                }
            }
        }
        needed
    }

    /// The statements that read it.
    pub(super) fn statements(&self) -> impl Iterator<Item = &'static Statement> {
        let jobs = [postgres_sql!("jobs/lock_many"), postgres_sql!("attempts/open_many")];
        let jobs = jobs.into_iter().filter(|_| !self.jobs.is_empty());
        jobs.chain((!self.keys.is_empty()).then(|| postgres_sql!("accept/find_keys")))
    }

    /// Locks the jobs, in the order of their numbers.
    pub(super) async fn jobs(&self, session: &Session) -> Result<HashMap<JobId, KnownJob>, StoreError> {
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
    pub(super) async fn attempts(&self, session: &Session) -> Result<HashMap<(i64, u64), Open>, StoreError> {
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
    pub(super) async fn keys(
        &self,
        session: &Session,
    ) -> Result<HashMap<(i64, String), Option<KeyHolder>>, StoreError> {
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
