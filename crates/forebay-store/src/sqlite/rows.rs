//! Running statements on a connection. Each is prepared once a connection and found again by its text.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ToSql};

use crate::StoreError;
use crate::ledger::columns::{Columns, Row};
use crate::ledger::statement::Statement;
use crate::ledger::values::{Params, Value};

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(number),
            Value::Flag(flag) => ValueRef::Integer(i64::from(flag)),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Runs a statement; says how many rows it changed.
pub(crate) fn execute(
    connection: &Connection,
    sql: &Statement,
    params: &impl Params,
) -> Result<usize, StoreError> {
    Ok(bound(connection, sql, params)?.raw_execute()?)
}

/// The one row of a query, if it has one.
pub(crate) fn row<T>(
    connection: &Connection,
    sql: &Statement,
    params: &impl Params,
    read: impl FnOnce(&mut Columns<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut statement = bound(connection, sql, params)?;
    let mut rows = statement.raw_query();
    rows.next()?.map(|row| read(&mut Columns::of(Row::Sqlite(row)))).transpose()
}

/// All rows of a query.
pub(crate) fn rows<T>(
    connection: &Connection,
    sql: &Statement,
    params: &impl Params,
    mut read: impl FnMut(&mut Columns<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = bound(connection, sql, params)?;
    let mut rows = statement.raw_query();
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(&mut Columns::of(Row::Sqlite(row)))?);
    }
    Ok(all)
}

fn bound<'c>(
    connection: &'c Connection,
    sql: &Statement,
    params: &impl Params,
) -> Result<CachedStatement<'c>, StoreError> {
    let mut statement = connection.prepare_cached(sql.sqlite)?;
    let mut index = 0;
    let mut bound = Ok(());
    params.each(&mut |name, value| {
        index += 1;
        if bound.is_ok() {
            bound = bind(&mut statement, index, name, value);
        }
    });
    bound?;
    debug_assert_eq!(statement.parameter_count(), index, "{}", sql.name);
    Ok(statement)
}

/// Parameters are mostly given in the order in which the statement names them; then none is looked up.
fn bind(
    statement: &mut CachedStatement<'_>,
    index: usize,
    name: &str,
    value: Value<'_>,
) -> rusqlite::Result<()> {
    if name.is_empty() || statement.parameter_name(index) == Some(name) {
        return statement.raw_bind_parameter(index, value);
    }
    match statement.parameter_index(name)? {
        Some(index) => statement.raw_bind_parameter(index, value),
        None => Err(rusqlite::Error::InvalidParameterName(name.to_owned())),
    }
}
