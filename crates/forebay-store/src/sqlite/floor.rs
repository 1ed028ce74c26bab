//! The floor: what SQLite does on this machine with nothing of the ledger on top, to measure the ledger against.
//!
//! One table with one narrow row a job and one partial index, in a file of its own, with the same durability. It
//! is no store: nothing but `forebay bench` uses it.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::StoreError;

/// Rows of one transaction at most.
const GROUP: usize = 512;

const TABLE: &str = "CREATE TABLE jobs (id INTEGER PRIMARY KEY, state INTEGER NOT NULL DEFAULT 0, fence INTEGER NOT NULL DEFAULT 0, lease_until REAL, created REAL NOT NULL, payload TEXT NOT NULL, result TEXT)";
const PENDING: &str = "CREATE INDEX jobs_pending ON jobs (id) WHERE state = 0";
const INSERT: &str = "INSERT INTO jobs (created, payload) VALUES (unixepoch('subsec'), ?1)";
const CLAIM: &str = "UPDATE jobs SET state = 1, fence = fence + 1, lease_until = unixepoch('subsec') + 30 WHERE id IN (SELECT id FROM jobs WHERE state = 0 ORDER BY id LIMIT ?1) RETURNING id";
const COMPLETE: &str = "UPDATE jobs SET state = 2, result = ?2 WHERE id = ?1 AND state = 1 AND fence = 1";

/// Takes rows in, many in one transaction: one thread writes whatever waits, as the store's writer does.
#[derive(Clone)]
pub struct FloorWriter {
    door: mpsc::UnboundedSender<(String, oneshot::Sender<i64>)>,
}

impl FloorWriter {
    /// Makes the file anew and starts the thread. It ends with the last clone.
    ///
    /// # Errors
    ///
    /// When the file can't be made.
    pub fn start(path: &Path) -> Result<Self, StoreError> {
        let connection = open(path)?;
        let (door, mut waiting) = mpsc::unbounded_channel();
        let write = move || {
            let mut group = Vec::with_capacity(GROUP);
            while waiting.blocking_recv_many(&mut group, GROUP) > 0 {
                if let Err(error) = insert(&connection, &mut group) {
                    tracing::error!(%error, "the floor can't write");
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("floor-writer".to_owned())
            .spawn(write)
            .map_err(|error| StoreError::Unavailable(format!("no thread for the floor: {error}")))?;
        Ok(Self { door })
    }

    /// Inserts one row; its number once it is committed.
    ///
    /// # Errors
    ///
    /// When the thread has ended.
    pub async fn insert(&self, payload: String) -> Result<i64, StoreError> {
        let closed = || StoreError::Unavailable("the floor is closed".to_owned());
        let (caller, number) = oneshot::channel();
        self.door.send((payload, caller)).map_err(|_| closed())?;
        number.await.map_err(|_| closed())
    }
}

fn insert(
    connection: &Connection,
    group: &mut Vec<(String, oneshot::Sender<i64>)>,
) -> Result<(), StoreError> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let mut numbers = Vec::with_capacity(group.len());
    {
        let mut statement = connection.prepare_cached(INSERT)?;
        for (payload, _) in group.iter() {
            numbers.push(statement.insert([payload])?);
        }
    }
    connection.execute_batch("COMMIT")?;
    for ((_, caller), number) in group.drain(..).zip(numbers) {
        // A caller that no longer waits is none of the floor's business.
        caller.send(number).ok();
    }
    Ok(())
}

/// Inserts so many rows, then claims and completes them in batches, a transaction for each half of a batch. Says
/// how long the second part took.
///
/// # Errors
///
/// When the file can't be written.
pub fn cycle(
    path: &Path,
    jobs: usize,
    batch: usize,
    payload: &str,
    result: &str,
) -> Result<Duration, StoreError> {
    let connection = open(path)?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    for _ in 0..jobs {
        connection.prepare_cached(INSERT)?.execute([payload])?;
    }
    connection.execute_batch("COMMIT")?;
    let began = Instant::now();
    let mut done = 0;
    while done < jobs {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let claimed = claim(&connection, batch)?;
        connection.execute_batch("COMMIT; BEGIN IMMEDIATE")?;
        for id in &claimed {
            connection.prepare_cached(COMPLETE)?.execute((id, result))?;
        }
        connection.execute_batch("COMMIT")?;
        done += claimed.len();
    }
    Ok(began.elapsed())
}

fn claim(connection: &Connection, batch: usize) -> Result<Vec<i64>, StoreError> {
    let mut statement = connection.prepare_cached(CLAIM)?;
    let rows = statement.query_map([crate::ledger::columns::limit(batch)], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn open(path: &Path) -> Result<Connection, StoreError> {
    let connection = super::connect(path)?;
    connection.execute_batch(TABLE)?;
    connection.execute_batch(PENDING)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn rows_are_numbered_and_worked_off() {
        let folder = tempfile::tempdir().unwrap();
        let floor = FloorWriter::start(&folder.path().join("accept.db")).unwrap();
        assert_eq!(floor.insert("a".to_owned()).await.unwrap(), 1);
        assert_eq!(floor.insert("b".to_owned()).await.unwrap(), 2);
        cycle(&folder.path().join("cycle.db"), 5, 2, "a", "b").unwrap();
        let connection = Connection::open(folder.path().join("cycle.db")).unwrap();
        let done: i64 =
            connection.query_row("SELECT count(*) FROM jobs WHERE state = 2", (), |row| row.get(0)).unwrap();
        assert_eq!(done, 5);
    }
}
