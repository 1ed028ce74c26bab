//! What a transaction writes: rows that wait for each other and go out together, each statement once for all its rows.
//!
//! That a statement has written as many rows as it was given is the server's to check: whatever comes after a wrong
//! number fails, the commit included, so that nothing has to be waited for in between.

use futures_util::future::try_join_all;

use super::session::{Session, in_order};
use super::types::{Column, Owned};
use super::{epoch, postgres_sql};
use crate::StoreError;
use crate::ledger::statement::Statement;
use crate::ledger::values::Params;

const APPEND: &str = "log/append";
/// What comes first: steps that are left are copied from the rows of jobs, which then move on. Of what is in hand, those
/// rows are the first lock, and others lock jobs first, too.
const FIRST: [&str; 2] = ["steps/finish", UPDATE];
const UPDATE: &str = "jobs/update";

/// How many rows a write changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rows {
    /// One for each row of parameters.
    Each,
    /// As many as there are.
    Any,
}

/// Rows that one statement is going to write.
struct Deferred {
    sql: &'static Statement,
    expected: Rows,
    rows: Vec<Vec<Owned>>,
}

/// What waits to be written.
#[derive(Default)]
pub(super) struct Writes {
    rows: Vec<Deferred>,
    /// Events wait for everything else: they are stamped when all locks are held.
    events: Option<Deferred>,
}

impl Writes {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.events.is_none()
    }
}

/// The text of a write that fails where it writes another number of rows than it is given.
pub(super) fn guarded(sql: &str) -> String {
    format!(
        "WITH written AS ({sql}\nRETURNING 1)\nSELECT 1 / CAST(count(*) = cardinality($1) AS integer) FROM written"
    )
}

impl Session {
    /// Has a row written with the next flush. A statement that waits already takes it along.
    pub fn defer(
        &self,
        sql: &'static Statement,
        params: &impl Params,
        expected: Rows,
    ) -> Result<(), StoreError> {
        let ready = self.block_on_unless_known(sql, expected)?;
        let row = in_order(sql, &ready, params)?;
        let mut writes = self.writes.borrow_mut();
        let Writes { rows, events } = &mut *writes;
        let waiting = match sql.name {
            APPEND => events.as_mut(),
            _ => rows.iter_mut().find(|waiting| std::ptr::eq(waiting.sql, sql)),
        };
        match waiting {
            Some(waiting) => waiting.rows.push(row),
            None if sql.name == APPEND => *events = Some(Deferred { sql, expected, rows: vec![row] }),
            None => rows.push(Deferred { sql, expected, rows: vec![row] }),
        }
        Ok(())
    }

    /// Whether the transaction under way has written something, or is going to.
    pub(super) fn writes(&self) -> bool {
        self.wrote.get() || !self.writes.borrow().is_empty()
    }

    /// Writes what waits except for events, in the order in which each statement was first asked for, without waiting
    /// between them.
    pub fn flush(&self) -> Result<(), StoreError> {
        if self.writes.borrow().rows.is_empty() {
            return Ok(());
        }
        self.block_on(self.send_deferred())
    }

    /// Says which jobs are going to be written, each once, without having been locked.
    pub(super) fn have_in_hand(&self, jobs: impl Iterator<Item = i64>) {
        self.in_hand.borrow_mut().extend(jobs.map(Owned::Int));
    }

    pub(super) async fn send_deferred(&self) -> Result<(), StoreError> {
        let mut rows = std::mem::take(&mut self.writes.borrow_mut().rows);
        if rows.is_empty() {
            return Ok(());
        }
        self.wrote.set(true);
        rows.sort_by_key(|waiting| {
            FIRST.iter().position(|first| *first == waiting.sql.name).unwrap_or(FIRST.len())
        });
        // Each sends its message when it is asked first, which is in this order.
        tokio::try_join!(
            self.lock_in_hand(&rows),
            try_join_all(rows.iter().map(|waiting| self.send(waiting)))
        )?;
        Ok(())
    }

    /// Locks the jobs in hand, unless they all are about to be written, which does so.
    async fn lock_in_hand(&self, rows: &[Deferred]) -> Result<(), StoreError> {
        let in_hand = self.in_hand.take();
        let written =
            rows.iter().find(|waiting| waiting.sql.name == UPDATE).map_or(0, |update| update.rows.len());
        if written < in_hand.len() {
            let in_hand: Vec<_> = in_hand.into_iter().map(|job| vec![job]).collect();
            self.query(postgres_sql!("jobs/lock_numbers"), vec![Column { rows: &in_hand, index: 0 }]).await?;
        }
        Ok(())
    }

    /// Writes what waits, stamps and appends the events, and commits: one message to the server, one answer.
    pub(super) async fn commit(&self) -> Result<(), StoreError> {
        let events = self.writes.borrow_mut().events.take();
        let Some(events) = events else {
            tokio::try_join!(self.send_deferred(), self.command("COMMIT"))?;
            return Ok(());
        };
        epoch::prepare(self).await?;
        tokio::try_join!(
            self.send_deferred(),
            epoch::stamp(self),
            self.send(&events),
            self.command("COMMIT")
        )?;
        Ok(())
    }

    async fn send(&self, waiting: &Deferred) -> Result<(), StoreError> {
        let ready = self.ready(waiting.sql, waiting.expected).await?;
        let columns = waiting.rows.first().map_or(0, Vec::len);
        let columns: Vec<_> = (0..columns).map(|index| Column { rows: &waiting.rows, index }).collect();
        self.write_with(&ready, &columns).await.map_err(|error| match error {
            StoreError::Raced(reason) => StoreError::Raced(format!("{}: {reason}", waiting.sql.name)),
            error => error,
        })?;
        Ok(())
    }
}
