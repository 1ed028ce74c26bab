//! Reads a PostgreSQL store: one consistent state, of one moment, without writing anything.

use futures_util::TryStreamExt as _;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, Type};
use tokio_postgres::{Client, Row};

use super::Unreadable;
use super::records::Records;
use super::rows::{Columns, Value};
use super::tables::{TABLES, Table};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A transaction that sees one state of the whole database, may write nothing, and may take its time.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL statement_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0";

/// Reads everything that a store says, in one transaction. In errors the store is called as `store` says.
///
/// # Errors
///
/// When the connection breaks, the user may not read, or the database has not the tables of this build.
pub async fn read(client: &Client, store: &str) -> Result<Records, Unreadable> {
    let unreadable = |reason: String| Unreadable::Read { store: store.to_owned(), reason };
    client.batch_execute(BEGIN).await.map_err(|error| unreadable(said(&error)))?;
    let mut records = Records::default();
    for table in TABLES {
        read_table(client, table, &mut records)
            .await
            .map_err(|reason| unreadable(format!("{}: {reason}", table.name)))?;
    }
    client.batch_execute("COMMIT").await.map_err(|error| unreadable(said(&error)))?;
    Ok(records)
}

async fn read_table(client: &Client, table: &Table, records: &mut Records) -> Result<(), String> {
    let none: [(String, Type); 0] = [];
    // Without a name on the server: behind a pool another process may have the same.
    let rows = client.query_typed_raw(table.postgres, none).await.map_err(|error| said(&error))?;
    let mut rows = std::pin::pin!(rows);
    while let Some(row) = rows.try_next().await.map_err(|error| said(&error))? {
        let values = values(&row).map_err(|error| said(&error))?;
        (table.take)(&mut Columns::of(values), records).map_err(|mismatch| mismatch.to_string())?;
    }
    Ok(())
}

fn said(error: &tokio_postgres::Error) -> String {
    let Some(refusal) = error.as_db_error() else { return error.to_string() };
    let fix = match refusal.code() {
        &SqlState::UNDEFINED_TABLE | &SqlState::UNDEFINED_COLUMN => {
            "; it is no store of this build: name another, or run `forebay migrate`"
        }
        &SqlState::INSUFFICIENT_PRIVILEGE => "; GRANT SELECT ON ALL TABLES IN SCHEMA public to the user",
        _ => "",
    };
    format!("{}{fix}", refusal.message())
}

fn values(row: &Row) -> Result<Vec<Value>, tokio_postgres::Error> {
    (0..row.len()).map(|column| row.try_get(column)).collect()
}

impl<'r> FromSql<'r> for Value {
    fn from_sql(kind: &Type, raw: &'r [u8]) -> Result<Self, Failure> {
        Ok(match *kind {
            Type::BOOL => Value::Integer(bool::from_sql(kind, raw)?.into()),
            Type::INT2 => Value::Integer(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Value::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Value::Integer(i64::from_sql(kind, raw)?),
            Type::TEXT | Type::VARCHAR => Value::Text(String::from_sql(kind, raw)?),
            Type::BYTEA | Type::UUID => Value::Bytes(raw.to_vec()),
            _ => Value::Other,
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failure> {
        Ok(Value::Null)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
