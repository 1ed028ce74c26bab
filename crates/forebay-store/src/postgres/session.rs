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
use tokio::runtime::Runtime;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row, Statement as Prepared};

use super::text::Text;
use super::types::{Column, Owned};
use super::writes::{Rows, Writes, guarded};
use super::{Target, connect, postgres_sql};
use crate::StoreError;
use crate::ledger::columns::{self, Columns};
use crate::ledger::statement::Statement;
use crate::ledger::values::Params;

/// How long an answer may take: longer than the server's own limits on a statement, after which there is one.
const PATIENCE: Duration = Duration::from_secs(12);
/// Numbers of the log that are drawn at once, where nobody has said how many it takes.
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
    prepared: RefCell<HashMap<(&'static str, Rows), Ready>>,
    pub(super) writes: RefCell<Writes>,
    /// Jobs that are going to be written and are not locked.
    pub(super) in_hand: RefCell<Vec<Owned>>,
    numbers: RefCell<VecDeque<i64>>,
    /// How many events the transaction is going to write after what it reads next.
    expected: Cell<usize>,
    only_reads: Cell<bool>,
    /// Whether the transaction under way has written something.
    pub(super) wrote: Cell<bool>,
    /// An answer did not come in time; one that still comes would be taken for that of another question.
    given_up: Cell<bool>,
}

/// A statement that this connection knows.
#[derive(Clone)]
pub(super) struct Ready {
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
            writes: RefCell::default(),
            in_hand: RefCell::default(),
            numbers: RefCell::default(),
            expected: Cell::new(0),
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

    /// Whether nobody else uses the connection to the server, not even between transactions.
    pub(super) fn is_our_own(&self) -> bool {
        self.keeps_names
    }

    /// Nothing is left of the transaction before.
    pub(super) fn begin(&self, only_reads: bool) {
        self.only_reads.set(only_reads);
        self.wrote.set(false);
        self.writes.take();
        self.in_hand.take();
        self.expected.set(0);
        self.forget_numbers();
    }

    /// Leaves drawn numbers unused: whatever locks a row after they were drawn may come to one whose last event has a
    /// higher number.
    fn forget_numbers(&self) {
        self.numbers.borrow_mut().clear();
    }

    /// What is read next will be followed by so many events: their numbers are drawn along, after it.
    pub fn expect_numbers(&self, numbers: usize) {
        self.expected.set(numbers.min(MOST_NUMBERS));
    }

    /// The next number of the log.
    pub fn next_number(&self) -> Result<i64, StoreError> {
        // What was expected has begun: what is read from now on is followed by no such number.
        let expected = self.expected.take();
        if let Some(number) = self.numbers.borrow_mut().pop_front() {
            return Ok(number);
        }
        self.block_on(self.draw_ahead(expected.max(NUMBERS)))?;
        let number = self.numbers.borrow_mut().pop_front();
        number.ok_or_else(|| StoreError::Corrupt("the log gave no number".to_owned()))
    }

    /// Draws numbers of the log, which are good until a row is read or locked.
    pub(super) async fn draw_ahead(&self, many: usize) -> Result<(), StoreError> {
        if many == 0 {
            return Ok(());
        }
        let many = i64::try_from(many).unwrap_or(i64::MAX);
        let rows = self.query(postgres_sql!("log/draw"), vec![Owned::Int(many)]).await?;
        let drawn: Vec<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        self.numbers.borrow_mut().extend(drawn);
        Ok(())
    }

    /// Runs a statement now; says how many rows it changed.
    pub fn execute(&self, sql: &'static Statement, params: &impl Params) -> Result<usize, StoreError> {
        self.wrote.set(true);
        self.forget_numbers();
        self.block_on(async {
            let ready = self.ready(sql, Rows::Any).await?;
            let values = in_order(sql, &ready, params)?;
            // After what waits, and without waiting for it.
            let ((), changed) = tokio::try_join!(self.send_deferred(), self.write_with(&ready, &values))?;
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

    /// All rows of a query that takes each parameter as an array.
    pub fn rows_of_each<T, P: Params>(
        &self,
        sql: &'static Statement,
        each: impl IntoIterator<Item = P>,
        mut read: impl FnMut(&mut Columns<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let ready = self.block_on_unless_known(sql, Rows::Any)?;
        let given: Result<Vec<_>, _> =
            each.into_iter().map(|params| in_order(sql, &ready, &params)).collect();
        let given = given?;
        let width = given.first().map_or(0, Vec::len);
        if width == 0 {
            return Ok(Vec::new());
        }
        let values: Vec<_> = (0..width).map(|index| Column { rows: &given, index }).collect();
        let rows = self.read(sql, |_| Ok(values))?;
        rows.iter().map(|row| read(&mut Columns::of(columns::Row::Postgres(row)))).collect()
    }

    fn rows_of(&self, sql: &'static Statement, params: &impl Params) -> Result<Vec<Row>, StoreError> {
        self.read(sql, |ready| in_order(sql, ready, params))
    }

    fn read<V: ToSql>(
        &self,
        sql: &'static Statement,
        values: impl FnOnce(&Ready) -> Result<Vec<V>, StoreError>,
    ) -> Result<Vec<Row>, StoreError> {
        // Some that give rows write as well.
        if sql.postgres.contains("RETURNING") {
            self.wrote.set(true);
        }
        self.forget_numbers();
        self.block_on(async {
            let ready = self.ready(sql, Rows::Any).await?;
            let values = values(&ready)?;
            let numbers = self.expected.get();
            if numbers > 0 {
                self.prepare([postgres_sql!("log/draw")].into_iter()).await?;
            }
            // After what waits, and without waiting for it.
            let (rows, drawn) = (self.rows_with(&ready, &values), self.draw_ahead(numbers));
            let ((), rows, ()) = tokio::try_join!(self.send_deferred(), rows, drawn)?;
            Ok(rows)
        })
    }

    /// All rows of a query whose parameters are in the order of their numbers.
    pub(super) async fn query(
        &self,
        sql: &'static Statement,
        values: Vec<impl ToSql>,
    ) -> Result<Vec<Row>, StoreError> {
        let ready = self.ready(sql, Rows::Any).await?;
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

    pub(super) async fn write_with(
        &self,
        ready: &Ready,
        values: &[impl ToSql + Sync],
    ) -> Result<u64, StoreError> {
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

    pub(super) fn block_on_unless_known(
        &self,
        sql: &'static Statement,
        rows: Rows,
    ) -> Result<Ready, StoreError> {
        if let Some(ready) = self.prepared.borrow().get(&(sql.name, rows)) {
            return Ok(ready.clone());
        }
        self.block_on(self.ready(sql, rows))
    }

    /// Has these statements known to the server, so that they run in the order in which they are asked for.
    pub(super) async fn prepare(
        &self,
        statements: impl Iterator<Item = &'static Statement>,
    ) -> Result<(), StoreError> {
        for sql in statements {
            self.ready(sql, Rows::Any).await?;
        }
        Ok(())
    }

    pub(super) async fn ready(&self, sql: &'static Statement, rows: Rows) -> Result<Ready, StoreError> {
        if let Some(ready) = self.prepared.borrow().get(&(sql.name, rows)) {
            return Ok(ready.clone());
        }
        let mut text = Text::of(sql.postgres);
        if rows == Rows::Each {
            text.sql = guarded(&text.sql);
        }
        let call = match self.keeps_names {
            true => self.client.prepare(&text.sql).await.map(Call::ByName).map_err(StoreError::from),
            false => self.whole(&text.sql).await,
        };
        let call = call.inspect_err(|error| {
            tracing::debug!(statement = sql.name, %error, "a statement could not be prepared");
        })?;
        let ready = Ready { call, names: text.names.into() };
        self.prepared.borrow_mut().insert((sql.name, rows), ready.clone());
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
pub(super) fn in_order(
    sql: &Statement,
    ready: &Ready,
    params: &impl Params,
) -> Result<Vec<Owned>, StoreError> {
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
