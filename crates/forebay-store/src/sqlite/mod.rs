//! The embedded backend: one SQLite file that belongs to one process.
//!
//! One thread writes. It takes whatever is waiting, runs it as one transaction and answers each caller after
//! the commit (`ledger::desk`). Readers have connections of their own and see committed states only ([`readers`]).
//! Insertion order is commit order, so that the log needs nothing else.

mod checkpoint;
pub mod floor;
mod health;
mod lock;
mod migrate;
mod readers;
pub(crate) mod rows;
mod transactions;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_core::event::Origin;
use forebay_core::id::Incarnation;
use forebay_core::time::Timestamp;

use crate::ledger::desk::{Desk, Writer};
use crate::ledger::signals::Board;
use crate::ledger::transaction::Tx;
use crate::ledger::{Backend, Identity, Ledger, Needs};
use crate::{Clock, StoreError};
pub use health::examine;
use lock::FileLock;
pub use migrate::{MigrationReport, migrate};
use readers::Readers;
use transactions::OneWriter;

/// The statement in `sql/sqlite/NAME.sql`, where the other database needs none.
macro_rules! sqlite_sql {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/sqlite/", $name, ".sql"))
    };
}

/// A store in one SQLite file. Cheap to clone; the file is closed with the last clone.
pub type SqliteStore = Ledger<Sqlite>;

/// One SQLite file.
pub struct Sqlite {
    writer: Writer,
    readers: Readers,
    board: Arc<Board>,
    clock: Arc<dyn Clock>,
    identity: Identity,
    // Released last: no other process may open the file while a connection of ours is open.
    _lock: FileLock,
}

impl Backend for Sqlite {
    async fn write<T: Send + 'static>(
        &self,
        _: Desk,
        needs: Needs,
        verb: impl FnMut(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.writer.run(needs, verb).await
    }

    async fn read<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.readers.run(self.identity.origin, self.clock.now(), verb).await
    }

    /// A commit can be read at once.
    async fn close_log(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn board(&self) -> &Board {
        &self.board
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }
}

impl SqliteStore {
    /// Opens a store; makes it, with all tables, when it is not there. Whatever ran when the file was last in
    /// use has nobody who could still own it: its leases end at once.
    ///
    /// # Errors
    ///
    /// When another process has the file, when a newer build wrote it, or when it can't be read.
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let lock = FileLock::take(path)?;
        let mut connection = connect(path)?;
        refuse_read_only(&connection, path)?;
        refuse_damage(&connection, path)?;
        migrate::apply(&mut connection, path, clock.now())?;
        let identity = identity(&connection, clock.now())?;
        end_leases(&connection, clock.now())?;
        let board = Arc::new(Board::alone());
        let readers = Readers::new(path.to_owned());
        let one = OneWriter::new(connection, path, Arc::clone(&clock), identity.origin)?;
        let writer = Writer::start("writer", one, Arc::clone(&board))?;
        let backend = Sqlite { writer, readers, board, clock, identity, _lock: lock };
        Ok(Self { backend: Arc::new(backend) })
    }
}

/// A file that is larger than this is not read through at the start: that would take longer than a restart may.
/// `forebay doctor --thorough` does it.
const READ_THROUGH: u64 = 1 << 30;

/// Refuses a file that may only be read, which SQLite opens all the same.
fn refuse_read_only(connection: &rusqlite::Connection, path: &Path) -> Result<(), StoreError> {
    if connection.is_readonly(rusqlite::MAIN_DB)? {
        let reason = "the file can't be written: see to its permissions, and to how its disk is mounted";
        return Err(StoreError::Unavailable(format!("{}: {reason}", path.display())));
    }
    Ok(())
}

/// Refuses a file that is not whole, before anything is built upon it.
fn refuse_damage(connection: &rusqlite::Connection, path: &Path) -> Result<(), StoreError> {
    if std::fs::metadata(path).is_ok_and(|file| file.len() > READ_THROUGH) {
        return Ok(());
    }
    read_through(connection, path)
}

fn read_through(connection: &rusqlite::Connection, path: &Path) -> Result<(), StoreError> {
    let verdict = connection.query_row("PRAGMA quick_check(1)", (), |row| row.get::<_, String>(0));
    match verdict {
        Ok(verdict) if verdict == "ok" => Ok(()),
        Ok(reason) => Err(damaged(path, &reason)),
        Err(error) => Err(about(path, error)),
    }
}

fn damaged(path: &Path, reason: &str) -> StoreError {
    StoreError::Damaged { path: path.display().to_string(), reason: reason.to_owned() }
}

/// An error of opening a file, with its name where the file itself is what is wrong.
fn about(path: &Path, error: rusqlite::Error) -> StoreError {
    match StoreError::from(error) {
        StoreError::Corrupt(reason) => damaged(path, &reason),
        StoreError::Unavailable(reason) => StoreError::Unavailable(format!("{}: {reason}", path.display())),
        other => other,
    }
}

/// Opens a connection with the settings that all of ours have.
fn connect(path: &Path) -> Result<rusqlite::Connection, StoreError> {
    make_private(path)?;
    open(path).map_err(|error| about(path, error))
}

/// Makes the file, readable by its owner alone, when it is not there. What SQLite puts beside it gets the same rights.
fn make_private(path: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    match std::fs::File::options().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::Unavailable(format!("{}: {error}", path.display()))),
    }
}

fn open(path: &Path) -> rusqlite::Result<rusqlite::Connection> {
    let connection = rusqlite::Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL;
         PRAGMA synchronous = FULL;
         PRAGMA foreign_keys = ON;
         PRAGMA busy_timeout = 5000;
         -- A connection that commits has checkpoints of its own or does few (see `checkpoint`).
         PRAGMA wal_autocheckpoint = 4000;
         PRAGMA journal_size_limit = 16777216;
         PRAGMA temp_store = MEMORY;
         -- KiB, taken when they are needed. What a large group writes has to fit, or it is written twice.
         PRAGMA cache_size = -16384;",
    )?;
    connection.set_prepared_statement_cache_capacity(128);
    // Else a statement that could use a partial index is planned again for every new value bound to it.
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

fn identity(connection: &rusqlite::Connection, now: Timestamp) -> Result<Identity, StoreError> {
    let mut secret = [0_u8; 32];
    rand::fill(&mut secret);
    let numbers = (rand::random::<i64>() & i64::MAX, i64::from(rand::random::<u32>()));
    connection.execute(sqlite_sql!("meta/create"), (numbers.0, numbers.1, secret, now.as_millis()))?;
    let identity = connection.query_row(sqlite_sql!("meta/read"), (), |row| {
        let incarnation = u32::try_from(row.get::<_, i64>(1)?).unwrap_or_default();
        let origin =
            Origin { store_id: row.get::<_, i64>(0)?.unsigned_abs(), incarnation: Incarnation(incarnation) };
        Ok(Identity { origin, cursor_secret: row.get(2)? })
    })?;
    Ok(identity)
}

fn end_leases(connection: &rusqlite::Connection, now: Timestamp) -> Result<(), StoreError> {
    connection.execute(sqlite_sql!("upkeep/end_job_leases"), [now.as_millis()])?;
    connection.execute(sqlite_sql!("upkeep/end_grant_leases"), [now.as_millis()])?;
    connection.execute(sqlite_sql!("leases/end_all"), [now.as_millis()])?;
    connection.execute(sqlite_sql!("processes/forget_all"), ())?;
    Ok(())
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(
                ErrorCode::DiskFull
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked,
            ) => StoreError::Unavailable(error.to_string()),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Corrupt(error.to_string())
            }
            _ => StoreError::Database(error.to_string()),
        }
    }
}

/// The path of a file beside the database.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
