//! Reading rows: columns in the order in which the statements select them.

use forebay_core::digest::Digest;
use forebay_core::failure::FailureClass;
use forebay_core::id::Id;
use forebay_core::job::{Failure, Job, Priority, State};
use forebay_core::money::Micros;
use forebay_core::time::Timestamp;
use rusqlite::Row;
use rusqlite::types::{FromSql, Type};

use crate::record::{Bytes, JobRecord, JobUsage};

/// The columns of a row, one after the other.
pub(super) struct Columns<'r, 's> {
    row: &'r Row<'s>,
    next: usize,
}

type Read<T> = rusqlite::Result<T>;

impl<'r, 's> Columns<'r, 's> {
    pub(super) fn of(row: &'r Row<'s>) -> Self {
        Self { row, next: 0 }
    }

    /// The next column as it is.
    pub(super) fn get<T: FromSql>(&mut self) -> Read<T> {
        let value = self.row.get(self.next);
        self.next += 1;
        value
    }

    /// Passes over columns.
    pub(super) fn skip(&mut self, columns: usize) {
        self.next += columns;
    }

    pub(super) fn count<T: TryFrom<i64>>(&mut self) -> Read<T> {
        let number: i64 = self.get()?;
        T::try_from(number).map_err(|_| self.unreadable(Type::Integer, "a number is out of range"))
    }

    pub(super) fn maybe_count<T: TryFrom<i64>>(&mut self) -> Read<Option<T>> {
        let number: Option<i64> = self.get()?;
        number
            .map(|number| {
                T::try_from(number).map_err(|_| self.unreadable(Type::Integer, "a number is out of range"))
            })
            .transpose()
    }

    pub(super) fn time(&mut self) -> Read<Timestamp> {
        self.get().map(Timestamp::from_millis)
    }

    pub(super) fn maybe_time(&mut self) -> Read<Option<Timestamp>> {
        Ok(self.get::<Option<i64>>()?.map(Timestamp::from_millis))
    }

    pub(super) fn micros(&mut self) -> Read<Micros> {
        self.get().map(Micros)
    }

    pub(super) fn maybe_micros(&mut self) -> Read<Option<Micros>> {
        Ok(self.get::<Option<i64>>()?.map(Micros))
    }

    pub(super) fn id<K>(&mut self) -> Read<Id<K>> {
        self.get().map(Id::from_bytes)
    }

    pub(super) fn maybe_id<K>(&mut self) -> Read<Option<Id<K>>> {
        Ok(self.get::<Option<[u8; 16]>>()?.map(Id::from_bytes))
    }

    pub(super) fn digest(&mut self) -> Read<Digest> {
        self.get().map(Digest::from_bytes)
    }

    pub(super) fn maybe_digest(&mut self) -> Read<Option<Digest>> {
        Ok(self.get::<Option<[u8; 32]>>()?.map(Digest::from_bytes))
    }

    /// A word of a closed list. A word that this build does not know is an error of the row, not a crash.
    pub(super) fn word<T>(&mut self, from_name: fn(&str) -> Option<T>) -> Read<T> {
        let word: String = self.get()?;
        from_name(&word)
            .ok_or_else(|| self.unreadable(Type::Text, &format!("`{word}` is not known to this build")))
    }

    pub(super) fn maybe_word<T>(&mut self, from_name: fn(&str) -> Option<T>) -> Read<Option<T>> {
        Ok(self.get::<Option<String>>()?.and_then(|word| from_name(&word)))
    }

    /// A JSON text that is there.
    pub(super) fn json<T: serde::de::DeserializeOwned>(&mut self) -> Read<T> {
        let text: String = self.get()?;
        serde_json::from_str(&text).map_err(|_| self.unreadable(Type::Text, "not the JSON that is expected"))
    }

    /// A JSON text.
    pub(super) fn maybe_json(&mut self) -> Read<Option<serde_json::Value>> {
        let text: Option<String> = self.get()?;
        text.map(|text| serde_json::from_str(&text).map_err(|_| self.unreadable(Type::Text, "not JSON")))
            .transpose()
    }

    /// Bytes of a row, or of the blob that the next column names.
    pub(super) fn maybe_bytes(&mut self) -> Read<Option<Bytes>> {
        let inline: Option<Vec<u8>> = self.get()?;
        let blob = self.maybe_digest()?;
        Ok(inline.map(Bytes::Inline).or(blob.map(Bytes::Blob)))
    }

    pub(super) fn bytes(&mut self) -> Read<Bytes> {
        self.maybe_bytes()?.ok_or_else(|| self.unreadable(Type::Null, "neither bytes nor a blob"))
    }

    fn unreadable(&self, kind: Type, reason: &str) -> rusqlite::Error {
        rusqlite::Error::FromSqlConversionFailure(self.next - 1, kind, reason.into())
    }
}

/// A row of the view `job_records`.
pub(super) fn job_record(row: &Row<'_>) -> Read<JobRecord> {
    job_columns(&mut Columns::of(row))
}

/// The columns of the view `job_records`, in its order.
pub(super) fn job_columns(c: &mut Columns<'_, '_>) -> Read<JobRecord> {
    Ok(JobRecord {
        id: c.id()?,
        seq: c.get()?,
        tenant: c.get()?,
        task: c.get()?,
        kind: c.get()?,
        revision: c.count()?,
        job: Job {
            state: c.word(State::from_name)?,
            state_version: c.count()?,
            fence: c.count()?,
            generation: c.count()?,
            step: c.count()?,
            attempts: c.count()?,
            deferrals: c.count()?,
            step_since: c.time()?,
            available_at: c.time()?,
            lease_until: c.maybe_time()?,
            deadline: c.time()?,
            open_children: c.count()?,
            failure: failure(c)?,
        },
        priority: c.word(Priority::from_name)?,
        pool: c.get()?,
        ordering_key: c.get()?,
        behind_key: !c.get::<bool>()?,
        usage: JobUsage {
            input_tokens: c.count()?,
            output_tokens: c.count()?,
            cost: c.micros()?,
            uncertain: c.micros()?,
        },
        created_at: c.time()?,
        updated_at: c.time()?,
        finished_at: c.maybe_time()?,
        metadata: c.get()?,
        correlation_id: c.get()?,
        replay_of: c.maybe_id()?,
        request_digest: c.digest()?,
        document: c.maybe_digest()?,
        batch: c.maybe_id()?,
        replayed_by: c.maybe_id()?,
    })
}

/// The two columns of a class and a message.
pub(super) fn failure(c: &mut Columns<'_, '_>) -> Read<Option<Failure>> {
    let class: Option<String> = c.get()?;
    let message: Option<String> = c.get()?;
    Ok(class.map(|class| Failure {
        class: FailureClass::from_name(&class).unwrap_or(FailureClass::Undecodable),
        message: message.unwrap_or_default(),
    }))
}

/// A number for a column. Counts above what a column holds don't occur; they would stop at the largest.
pub(super) fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The most rows that a statement may give.
pub(super) fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// The two columns of bytes that are in the row or in a blob.
pub(super) fn split(bytes: &Bytes) -> (Option<&[u8]>, Option<&[u8]>) {
    match bytes {
        Bytes::Inline(bytes) => (Some(bytes), None),
        Bytes::Blob(digest) => (None, Some(digest.as_bytes())),
    }
}
