//! One connection, driven by the thread that uses it. Reads run at once; writes of single rows wait and go out together,
//! each statement once for all its rows.
//!
//! Where a pooler stands in between, each transaction may have another connection of the server, on which a prepared
//! statement's name means nothing, or what another process means by it. A session finds that out when it connects, and
//! then sends statements whole and without names.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt as _;
use futures_util::future::try_join_all;
use tokio::runtime::Runtime;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, Statement as Prepared};

use super::text::Text;
use super::types::{Column, Owned};
use super::{Target, connect, epoch, postgres_sql};
use crate::StoreError;
use crate::ledger::columns::{self, Columns};
use crate::ledger::statement::Statement;
use crate::ledger::values::Params;

/// How long an answer may take: longer than the server's own limits on a statement, after which there is one.
const PATIENCE: Duration = Duration::from_secs(12);
/// Numbers of the log that are drawn at once, at least and at most.
const NUMBERS: usize = 16;
const MOST_NUMBERS: usize = 1_024;

/// A connection with what was prepared on it.
pub struct Session {
    client: Client,
    /// Taken when the session is dropped.
    runtime: Option<Runtime>,
    /// Whether what is prepared stays on the connection.
    keeps_names: bool,
    in_transaction: Cell<bool>,
    prepared: RefCell<HashMap<&'static str, Ready>>,
    deferred: RefCell<Vec<Deferred>>,
    numbers: RefCell<VecDeque<i64>>,
    /// Numbers that the transaction may want in all.
    wanted: Cell<usize>,
    only_reads: Cell<bool>,
    /// Whether the transaction under way has written something.
    wrote: Cell<bool>,
    /// An answer did not come in time; one that still comes would be taken for that of another question.
    given_up: Cell<bool>,
}

/// A statement that this connection knows.
#[derive(Clone)]
struct Ready {
    call: Call,
    /// The names of its parameters, by number; none where they are given by position.
    names: Arc<[String]>,
}

/// How a statement is run.
#[derive(Clone)]
enum Call {
    ByName(Prepared),
    Whole { sql: Arc<str>, params: Arc<[Type]> },
}

impl Call {
    fn params(&self) -> &[Type] {
        match self {
            Call::ByName(prepared) => prepared.params(),
            Call::Whole { params, .. } => params,
        }
    }
}

/// How many rows a write changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

impl Session {
    /// Connects in place of a session that was lost, or beside others: what stands in the way may pass.
    pub(super) fn again(target: &Target) -> Result<Self, StoreError> {
        Self::open(target).map_err(|error| match error {
            StoreError::Unreachable(error) => StoreError::Unavailable(error.to_string()),
            error => error,
        })
    }

    /// Connects. Whoever calls must not be on a thread that runs tasks.
    pub(super) fn open(target: &Target) -> Result<Self, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| StoreError::Unavailable(format!("no loop for a connection: {error}")))?;
        let mark = format!("{:016x}", rand::random::<u64>());
        let (client, link) = runtime.block_on(connect::marked(target, &mark))?;
        // What goes wrong on the link is told to whoever waits for an answer.
        runtime.spawn(link);
        let keeps_names = runtime.block_on(connect::has_mark(&client, &mark))?;
        Ok(Self {
            client,
            runtime: Some(runtime),
            keeps_names,
            in_transaction: Cell::new(false),
            prepared: RefCell::default(),
            deferred: RefCell::default(),
            numbers: RefCell::default(),
            wanted: Cell::new(NUMBERS),
            only_reads: Cell::new(false),
            wrote: Cell::new(false),
            given_up: Cell::new(false),
        })
    }

    /// Whether the connection is of no more use.
    pub(super) fn is_closed(&self) -> bool {
        self.given_up.get() || self.client.is_closed()
    }

    /// Runs what is to be done on this connection, and the connection meanwhile, for as long as an answer may take.
    pub(super) fn block_on<T>(
        &self,
        doing: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.block_on_patiently(async {
            match tokio::time::timeout(PATIENCE, doing).await {
                Ok(done) => done,
                Err(_) => {
                    self.given_up.set(true);
                    Err(StoreError::Unavailable("the database has not answered for too long".to_owned()))
                }
            }
        })
    }

    /// The same, however long it takes.
    #[allow(clippy::expect_used, reason = "it is there until the session is dropped")]
    pub(super) fn block_on_patiently<T>(&self, doing: impl Future<Output = T>) -> T {
        self.runtime.as_ref().expect("a session that is in use").block_on(doing)
    }

    /// Runs statements without parameters and without an answer, divided by semicolons.
    pub(super) async fn command(&self, sql: &str) -> Result<(), StoreError> {
        match sql {
            "COMMIT" | "ROLLBACK" => self.in_transaction.set(false),
            begin if begin.starts_with("BEGIN") => self.in_transaction.set(true),
            _ => {}
        }
        Ok(self.client.batch_execute(sql).await?)
    }

    /// Whether the transaction under way is one that writes nothing.
    pub fn only_reads(&self) -> bool {
        self.only_reads.get()
    }

    /// Nothing is left of the transaction before. The next one runs so many verbs; none, where it only reads.
    pub(super) fn begin(&self, verbs: usize) {
        self.only_reads.set(verbs == 0);
        self.wrote.set(false);
        self.wanted.set((2 * verbs).clamp(NUMBERS, MOST_NUMBERS));
        self.deferred.borrow_mut().clear();
        self.forget_numbers();
    }

    /// Whether the transaction under way has written something, or is going to.
    pub(super) fn writes(&self) -> bool {
        self.wrote.get() || !self.deferred.borrow().is_empty()
    }

    /// Leaves drawn numbers unused: whatever locks a row after they were drawn may come to one whose last event has a
    /// higher number.
    fn forget_numbers(&self) {
        self.numbers.borrow_mut().clear();
    }

    /// The transaction may want so many numbers at once.
    pub fn expect_numbers(&self, numbers: usize) {
        self.wanted.set(self.wanted.get().max(numbers.min(MOST_NUMBERS)));
    }

    /// The next number of the log.
    pub fn next_number(&self) -> Result<i64, StoreError> {
        if let Some(number) = self.numbers.borrow_mut().pop_front() {
            return Ok(number);
        }
        let numbers = self.block_on(self.draw(self.wanted.get()))?;
        let mut kept = self.numbers.borrow_mut();
        kept.extend(numbers);
        kept.pop_front().ok_or_else(|| StoreError::Corrupt("the log gave no number".to_owned()))
    }

    async fn draw(&self, many: usize) -> Result<Vec<i64>, StoreError> {
        let many = i64::try_from(many).unwrap_or(i64::MAX);
        let rows = self.query(postgres_sql!("log/draw"), vec![Owned::Int(many)]).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }

    /// Runs a statement now; says how many rows it changed.
    pub fn execute(&self, sql: &'static Statement, params: &impl Params) -> Result<usize, StoreError> {
        self.flush()?;
        self.wrote.set(true);
        self.forget_numbers();
        self.block_on(async {
            let ready = self.ready(sql).await?;
            let values = in_order(sql, &ready, params)?;
            let changed = self.write_with(&ready, &values).await?;
            Ok(usize::try_from(changed).unwrap_or(usize::MAX))
        })
    }

    /// The one row of a query, if it has one.
    pub fn row<T>(
        &self,
        sql: &'static Statement,
        params: &impl Params,
        read: impl FnOnce(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        let rows = self.rows_of(sql, params)?;
        rows.first().map(|row| read(&mut Columns::of(columns::Row::Postgres(row)))).transpose()
    }

    /// All rows of a query.
    pub fn rows<T>(
        &self,
        sql: &'static Statement,
        params: &impl Params,
        mut read: impl FnMut(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.rows_of(sql, params)?;
        rows.iter().map(|row| read(&mut Columns::of(columns::Row::Postgres(row)))).collect()
    }

    fn rows_of(&self, sql: &'static Statement, params: &impl Params) -> Result<Vec<Row>, StoreError> {
        self.flush()?;
        // Some that give rows write as well.
        if sql.postgres.contains("RETURNING") {
            self.wrote.set(true);
        }
        self.forget_numbers();
        self.block_on(async {
            let ready = self.ready(sql).await?;
            let values = in_order(sql, &ready, params)?;
            self.rows_with(&ready, &values).await
        })
    }

    /// All rows of a query whose parameters are in the order of their numbers.
    pub(super) async fn query(
        &self,
        sql: &'static Statement,
        values: Vec<impl ToSql>,
    ) -> Result<Vec<Row>, StoreError> {
        let ready = self.ready(sql).await?;
        self.rows_with(&ready, &values).await
    }

    async fn rows_with(&self, ready: &Ready, values: &[impl ToSql]) -> Result<Vec<Row>, StoreError> {
        let rows = match &ready.call {
            Call::ByName(prepared) => self.client.query_raw(prepared, values).await?,
            Call::Whole { sql, params } => {
                self.client.query_typed_raw(sql, values.iter().zip(params.iter().cloned())).await?
            }
        };
        Ok(rows.try_collect().await?)
    }

    async fn write_with(&self, ready: &Ready, values: &[impl ToSql + Sync]) -> Result<u64, StoreError> {
        match &ready.call {
            Call::ByName(prepared) => Ok(self.client.execute_raw(prepared, values).await?),
            Call::Whole { sql, params } => {
                let typed = values.iter().zip(params.iter());
                let typed: Vec<_> =
                    typed.map(|(value, ty)| (value as &(dyn ToSql + Sync), ty.clone())).collect();
                Ok(self.client.execute_typed(sql, &typed).await?)
            }
        }
    }

    /// Has a row written with the next flush. A statement that waits already takes it along.
    pub fn defer(
        &self,
        sql: &'static Statement,
        params: &impl Params,
        expected: Rows,
    ) -> Result<(), StoreError> {
        let ready = self.block_on_unless_known(sql)?;
        let row = in_order(sql, &ready, params)?;
        let mut deferred = self.deferred.borrow_mut();
        match deferred.iter_mut().find(|waiting| std::ptr::eq(waiting.sql, sql)) {
            Some(waiting) => waiting.rows.push(row),
            None => deferred.push(Deferred { sql, expected, rows: vec![row] }),
        }
        Ok(())
    }

    fn block_on_unless_known(&self, sql: &'static Statement) -> Result<Ready, StoreError> {
        if let Some(ready) = self.prepared.borrow().get(sql.name) {
            return Ok(ready.clone());
        }
        self.block_on(self.ready(sql))
    }

    /// Writes what waits, in the order in which each statement was first asked for, without waiting between them. Steps
    /// that are left come first: they are copied from the rows of jobs, which then move on.
    pub fn flush(&self) -> Result<(), StoreError> {
        let mut deferred = self.deferred.take();
        if deferred.is_empty() {
            return Ok(());
        }
        self.wrote.set(true);
        deferred.sort_by_key(|waiting| waiting.sql.name != "steps/finish");
        self.block_on(async {
            if deferred.iter().any(|waiting| waiting.sql.name == "log/append") {
                epoch::stamp(self).await?;
            }
            // Each sends its message when it is asked first, which is in this order.
            try_join_all(deferred.iter().map(|waiting| self.send(waiting))).await?;
            Ok(())
        })
    }

    async fn send(&self, waiting: &Deferred) -> Result<(), StoreError> {
        let ready = self.ready(waiting.sql).await?;
        let columns = waiting.rows.first().map_or(0, Vec::len);
        let columns: Vec<_> = (0..columns).map(|index| Column { rows: &waiting.rows, index }).collect();
        let written = self.write_with(&ready, &columns).await?;
        if waiting.expected == Rows::Any || written == waiting.rows.len() as u64 {
            return Ok(());
        }
        let (sql, rows) = (waiting.sql.name, waiting.rows.len());
        Err(StoreError::Raced(format!("{sql} wrote {written} of {rows} rows")))
    }

    /// Has these statements known to the server, so that they run in the order in which they are asked for.
    pub(super) async fn prepare(
        &self,
        statements: impl Iterator<Item = &'static Statement>,
    ) -> Result<(), StoreError> {
        for sql in statements {
            self.ready(sql).await?;
        }
        Ok(())
    }

    async fn ready(&self, sql: &'static Statement) -> Result<Ready, StoreError> {
        if let Some(ready) = self.prepared.borrow().get(sql.name) {
            return Ok(ready.clone());
        }
        let text = Text::of(sql.postgres);
        let call = match self.keeps_names {
            true => self.client.prepare(&text.sql).await.map(Call::ByName).map_err(StoreError::from),
            false => self.whole(&text.sql).await,
        };
        let call = call.inspect_err(|error| {
            tracing::debug!(statement = sql.name, %error, "a statement could not be prepared");
        })?;
        let ready = Ready { call, names: text.names.into() };
        self.prepared.borrow_mut().insert(sql.name, ready.clone());
        Ok(ready)
    }

    /// A statement with the types of its parameters, which the server tells when the statement is prepared under a
    /// name. That name is gone before another transaction may meet it.
    async fn whole(&self, sql: &str) -> Result<Call, StoreError> {
        let is_alone = !self.in_transaction.get();
        if is_alone {
            self.command("BEGIN").await?;
        }
        let params = self.client.prepare(sql).await.map(|prepared| prepared.params().into());
        if is_alone {
            self.command("COMMIT").await?;
        }
        Ok(Call::Whole { sql: sql.into(), params: params? })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Without waiting: this may happen on a thread that runs tasks.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The values of parameters by number, however they are given.
fn in_order(sql: &Statement, ready: &Ready, params: &impl Params) -> Result<Vec<Owned>, StoreError> {
    let mut values = vec![Owned::Null; ready.call.params().len()];
    let mut next = 0;
    let mut unknown = None;
    params.each(&mut |name, value| {
        let at = match ready.names.get(next) {
            _ if name.is_empty() => Some(next),
            Some(expected) if expected == name => Some(next),
            _ => ready.names.iter().position(|known| known == name),
        };
        next += 1;
        match at.and_then(|at| values.get_mut(at)) {
            Some(slot) => *slot = value.into(),
            None => unknown = Some(format!("{} has no parameter {name} at {next}", sql.name)),
        }
    });
    match unknown {
        Some(unknown) => Err(StoreError::Database(unknown)),
        None if next != values.len() => Err(StoreError::Database(format!(
            "{} takes {} parameters and was given {next}",
            sql.name,
            values.len()
        ))),
        None => Ok(values),
    }
}
