//! Reads a SQLite store: one consistent state, by statements of this module's own, without changing a byte.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, Row, types::FromSql};
use sha2::{Digest as _, Sha256};

use super::records::{
    Attempt, Audit, Batch, BlobFault, Budget, Event, Grant, Id, IdempotencyKey, Input, Job, JobResult,
    Letter, Member, Pool, Records, Review, Revision, Step, Tenant, UsageDay,
};

/// Why a store can't be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// There is no such file, or it can't be opened.
    #[error("{path} can't be opened: {reason}")]
    Open {
        /// The database file.
        path: String,
        /// Why.
        reason: String,
    },
    /// The file is damaged, or is not a store of this schema.
    #[error("{path} can't be read: {reason}")]
    Read {
        /// The database file.
        path: String,
        /// Why.
        reason: String,
    },
}

/// The statement in `sql/verify/sqlite/NAME.sql`.
macro_rules! sql {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/verify/sqlite/", $name, ".sql"))
    };
}

/// Reads everything that a store says, in one transaction.
///
/// # Errors
///
/// When the file is not there, is damaged, or has not the tables of this build.
pub fn read(path: &Path) -> Result<Records, Unreadable> {
    let shown = path.display().to_string();
    let connection =
        open(path).map_err(|error| Unreadable::Open { path: shown.clone(), reason: error.to_string() })?;
    let unreadable =
        |error: rusqlite::Error| Unreadable::Read { path: shown.clone(), reason: error.to_string() };
    let damage = connection.query_row("PRAGMA quick_check(1)", (), |row| row.get::<_, String>(0));
    match damage.map_err(unreadable)?.as_str() {
        "ok" => {}
        reason => return Err(Unreadable::Read { path: shown, reason: reason.to_owned() }),
    }
    connection.execute_batch("BEGIN").map_err(unreadable)?;
    let mut records = records(&connection).map_err(unreadable)?;
    records.blob_faults = blob_faults(&connection, &blob_folder(path)).map_err(unreadable)?;
    Ok(records)
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA busy_timeout = 5000;")?;
    Ok(connection)
}

fn records(from: &Connection) -> rusqlite::Result<Records> {
    Ok(Records {
        incarnation: from.query_row(sql!("meta"), (), |row| row.get(0))?,
        tenants: all(from, sql!("tenants"), tenant)?,
        revisions: all(from, sql!("revisions"), |c| Ok(Revision { number: c.next()?, source: c.next()? }))?,
        jobs: all(from, sql!("jobs"), job)?,
        inputs: all(from, sql!("inputs"), input)?,
        keys: all(from, sql!("idempotency_keys"), key)?,
        steps: all(from, sql!("steps"), step)?,
        attempts: all(from, sql!("attempts"), attempt)?,
        grants: all(from, sql!("grants"), grant)?,
        pools: all(from, sql!("pools"), |c| Ok(Pool { name: c.next()?, in_flight: c.next()? }))?,
        budgets: all(from, sql!("budgets"), budget)?,
        usage_days: all(from, sql!("usage_days"), usage_day)?,
        results: all(from, sql!("results"), result)?,
        reviews: all(from, sql!("reviews"), review)?,
        events: all(from, sql!("events"), event)?,
        audit: all(from, sql!("audit"), audit)?,
        letters: all(from, sql!("dead_letters"), letter)?,
        batches: all(from, sql!("batches"), batch)?,
        members: all(from, sql!("batch_members"), member)?,
        blob_faults: Vec::new(),
    })
}

/// The columns of a row, one after the other.
struct Columns<'r> {
    row: &'r Row<'r>,
    at: usize,
}

impl Columns<'_> {
    fn next<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        self.at += 1;
        self.row.get(self.at - 1)
    }

    fn id(&mut self) -> rusqlite::Result<Id> {
        self.next().map(Id)
    }

    fn maybe_id(&mut self) -> rusqlite::Result<Option<Id>> {
        Ok(self.next::<Option<[u8; 16]>>()?.map(Id))
    }
}

fn all<T>(
    from: &Connection,
    sql: &str,
    read: impl Fn(&mut Columns<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut statement = from.prepare(sql)?;
    let rows = statement.query_map((), |row| read(&mut Columns { row, at: 0 }))?;
    rows.collect()
}

fn tenant(c: &mut Columns<'_>) -> rusqlite::Result<Tenant> {
    Ok(Tenant {
        id: c.next()?,
        name: c.next()?,
        max_pending_jobs: c.next()?,
        budget_micros: c.next()?,
        budget_period: c.next()?,
        pending_jobs: c.next()?,
        in_flight: c.next()?,
    })
}

fn job(c: &mut Columns<'_>) -> rusqlite::Result<Job> {
    Ok(Job {
        id: c.id()?,
        seq: c.next()?,
        tenant: c.next()?,
        task: c.next()?,
        kind: c.next()?,
        revision: c.next()?,
        state: c.next()?,
        state_version: c.next()?,
        fence: c.next()?,
        generation: c.next()?,
        step: c.next()?,
        attempts: c.next()?,
        deferrals: c.next()?,
        available_at: c.next()?,
        lease_until: c.next()?,
        deadline: c.next()?,
        failure_class: c.next()?,
        failure_message: c.next()?,
        pool: c.next()?,
        claimable: c.next()?,
        key_first: c.next()?,
        ordering_key: c.next()?,
        input_tokens: c.next()?,
        output_tokens: c.next()?,
        cost_micros: c.next()?,
        uncertain_micros: c.next()?,
        updated_at: c.next()?,
        finished_at: c.next()?,
    })
}

fn input(c: &mut Columns<'_>) -> rusqlite::Result<Input> {
    Ok(Input {
        job: c.id()?,
        body: c.next()?,
        blob: c.next()?,
        request_digest: c.next()?,
        document: c.next()?,
        idempotency_key: c.next()?,
        series_key: c.next()?,
        series_version: c.next()?,
        not_before: c.next()?,
        replay_of: c.maybe_id()?,
        batch: c.maybe_id()?,
        created_at: c.next()?,
    })
}

fn key(c: &mut Columns<'_>) -> rusqlite::Result<IdempotencyKey> {
    Ok(IdempotencyKey {
        tenant: c.next()?,
        key: c.next()?,
        job: c.id()?,
        body_digest: c.next()?,
        expires_at: c.next()?,
    })
}

fn step(c: &mut Columns<'_>) -> rusqlite::Result<Step> {
    Ok(Step {
        job: c.id()?,
        generation: c.next()?,
        number: c.next()?,
        finished_at: c.next()?,
        entry: c.next()?,
        has_entry: c.next()?,
    })
}

fn attempt(c: &mut Columns<'_>) -> rusqlite::Result<Attempt> {
    Ok(Attempt {
        id: c.id()?,
        job: c.id()?,
        tenant: c.next()?,
        generation: c.next()?,
        step: c.next()?,
        number: c.next()?,
        fence: c.next()?,
        worker: c.next()?,
        build: c.next()?,
        task: c.next()?,
        pool: c.next()?,
        model: c.next()?,
        claimed_at: c.next()?,
        settled_at: c.next()?,
        outcome: c.next()?,
        failure_class: c.next()?,
        message: c.next()?,
        reserved_input: c.next()?,
        reserved_output: c.next()?,
        reserved_micros: c.next()?,
        price_input: c.next()?,
        price_cached: c.next()?,
        price_output: c.next()?,
        budget_start: c.next()?,
        input_tokens: c.next()?,
        cached_tokens: c.next()?,
        output_tokens: c.next()?,
        cost_micros: c.next()?,
        uncertain_micros: c.next()?,
        overage_micros: c.next()?,
        evidence: c.next()?,
    })
}

fn grant(c: &mut Columns<'_>) -> rusqlite::Result<Grant> {
    Ok(Grant { attempt: c.id()?, job: c.id()?, tenant: c.next()?, pool: c.next()?, lease_until: c.next()? })
}

fn budget(c: &mut Columns<'_>) -> rusqlite::Result<Budget> {
    Ok(Budget {
        tenant: c.next()?,
        period_start: c.next()?,
        reserved: c.next()?,
        spent: c.next()?,
        uncertain: c.next()?,
        overage: c.next()?,
    })
}

fn usage_day(c: &mut Columns<'_>) -> rusqlite::Result<UsageDay> {
    Ok(UsageDay {
        tenant: c.next()?,
        day: c.next()?,
        task: c.next()?,
        model: c.next()?,
        pool: c.next()?,
        attempts: c.next()?,
        input_tokens: c.next()?,
        output_tokens: c.next()?,
        cost_micros: c.next()?,
        uncertain_micros: c.next()?,
    })
}

fn result(c: &mut Columns<'_>) -> rusqlite::Result<JobResult> {
    Ok(JobResult {
        job: c.id()?,
        generation: c.next()?,
        output: c.next()?,
        provenance: c.next()?,
        created_at: c.next()?,
    })
}

fn review(c: &mut Columns<'_>) -> rusqlite::Result<Review> {
    Ok(Review {
        job: c.id()?,
        generation: c.next()?,
        opened_at: c.next()?,
        due_at: c.next()?,
        due_default: c.next()?,
        alerted_at: c.next()?,
        output: c.next()?,
        has_output: c.next()?,
        decided_at: c.next()?,
        decision: c.next()?,
        decided_by: c.maybe_id()?,
        decided_version: c.next()?,
        decided_seq: c.next()?,
    })
}

fn event(c: &mut Columns<'_>) -> rusqlite::Result<Event> {
    Ok(Event {
        seq: c.next()?,
        tenant: c.next()?,
        job: c.id()?,
        kind: c.next()?,
        state_version: c.next()?,
        at: c.next()?,
        body: c.next()?,
    })
}

fn audit(c: &mut Columns<'_>) -> rusqlite::Result<Audit> {
    Ok(Audit {
        seq: c.next()?,
        at: c.next()?,
        tenant: c.next()?,
        actor: c.next()?,
        action: c.next()?,
        subject: c.next()?,
        before: c.next()?,
        after: c.next()?,
    })
}

fn letter(c: &mut Columns<'_>) -> rusqlite::Result<Letter> {
    Ok(Letter {
        job: c.id()?,
        tenant: c.next()?,
        seq: c.next()?,
        class: c.next()?,
        failed_at: c.next()?,
        state: c.next()?,
    })
}

fn batch(c: &mut Columns<'_>) -> rusqlite::Result<Batch> {
    Ok(Batch {
        id: c.id()?,
        tenant: c.next()?,
        kind: c.next()?,
        size: c.next()?,
        open: c.next()?,
        filled_at: c.next()?,
        finished_at: c.next()?,
    })
}

fn member(c: &mut Columns<'_>) -> rusqlite::Result<Member> {
    Ok(Member { batch: c.id()?, position: c.next()?, job: c.maybe_id()?, replay_of: c.maybe_id()? })
}

/// The folder of blobs beside the database.
fn blob_folder(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".blobs");
    PathBuf::from(name)
}

/// Looks at every file that a row refers to: it is there, and its content is that of its name.
fn blob_faults(from: &Connection, folder: &Path) -> rusqlite::Result<Vec<BlobFault>> {
    let documents = all(from, sql!("documents"), |c| Ok((None, c.next::<Vec<u8>>()?)))?;
    let blobs = all(from, sql!("blobs"), |c| Ok((c.maybe_id()?, c.next::<Vec<u8>>()?)))?;
    let faults = documents.into_iter().chain(blobs).filter_map(|(job, digest)| {
        let digest = hex(&digest);
        let file = folder.join(digest.get(..2).unwrap_or_default()).join(&digest);
        let problem = match std::fs::read(&file) {
            Ok(bytes) if hex(&Sha256::digest(&bytes)) == digest => return None,
            Ok(_) => "the content of the file is another".to_owned(),
            Err(error) => error.to_string(),
        };
        Some(BlobFault { job, digest, problem })
    });
    Ok(faults.collect())
}

/// Bytes in hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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

    #[test]
    fn every_statement_is_used() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/sql/verify/sqlite");
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            assert!(include_str!("sqlite.rs").contains(&format!("sql!(\"{name}\")")), "{name}");
        }
    }
}
