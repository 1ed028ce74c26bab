//! Reads a SQLite store: one consistent state, without changing a byte.

use std::path::Path;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::Unreadable;
use super::records::Records;
use super::rows::{Columns, Value};
use super::tables::{TABLES, Table};

/// Reads everything that a store says, in one transaction.
///
/// # Errors
///
/// When the file is not there, is damaged, or has not the tables of this build.
pub fn read(path: &Path) -> Result<Records, Unreadable> {
    let store = path.display().to_string();
    let unreadable =
        |error: rusqlite::Error| Unreadable::Read { store: store.clone(), reason: error.to_string() };
    let connection =
        open(path).map_err(|error| Unreadable::Open { store: store.clone(), reason: error.to_string() })?;
    let damage = connection.query_row("PRAGMA quick_check(1)", (), |row| row.get::<_, String>(0));
    match damage.map_err(unreadable)?.as_str() {
        "ok" => {}
        reason => return Err(Unreadable::Read { store, reason: reason.to_owned() }),
    }
    connection.execute_batch("BEGIN").map_err(unreadable)?;
    let mut records = Records::default();
    for table in TABLES {
        read_table(&connection, table, &mut records).map_err(|reason| Unreadable::Read {
            store: store.clone(),
            reason: format!("{}: {reason}", table.name),
        })?;
    }
    Ok(records)
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA busy_timeout = 5000;")?;
    Ok(connection)
}

fn read_table(
    from: &Connection,
    table: &Table,
    records: &mut Records,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut statement = from.prepare(table.sqlite)?;
    let width = statement.column_count();
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let values = (0..width).map(|column| row.get_ref(column).map(value)).collect::<Result<_, _>>()?;
        (table.take)(&mut Columns::of(values), records)?;
    }
    Ok(())
}

fn value(found: ValueRef<'_>) -> Value {
    match found {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
        ValueRef::Real(_) => Value::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_of_this_build_is_read_and_others_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("forebay.db");
        assert!(matches!(read(&path), Err(Unreadable::Open { .. })));
        forebay_store::sqlite::migrate(&path).unwrap();
        let store = Connection::open(&path).unwrap();
        store.execute("INSERT INTO meta VALUES (1, 2, 3, x'00', NULL, 4)", ()).unwrap();
        drop(store);
        let before = std::fs::read(&path).unwrap();
        assert_eq!(read(&path).unwrap().incarnation, 3);
        assert_eq!(std::fs::read(&path).unwrap(), before, "nothing is written");
        std::fs::write(&path, b"SQLite is something else, and this is no database at all").unwrap();
        assert!(read(&path).is_err());
    }
}
