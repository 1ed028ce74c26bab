//! Reading rows: columns in the order in which the statements select them.

use forebay_core::digest::Digest;
use forebay_core::failure::FailureClass;
use forebay_core::id::Id;
use forebay_core::job::{Failure, Job, Priority, State};
use forebay_core::money::Micros;
use forebay_core::time::Timestamp;
use forebay_core::word::Word;

use crate::StoreError;
use crate::postgres::types::{Fixed, Int};
use crate::record::{Bytes, JobRecord, JobUsage};

/// A row of either database.
#[derive(Clone, Copy)]
pub enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(&'r tokio_postgres::Row),
}

/// The columns of a row, one after the other.
pub struct Columns<'r> {
    row: Row<'r>,
    next: usize,
}

type Read<T> = Result<T, StoreError>;

impl<'r> Columns<'r> {
    pub fn of(row: Row<'r>) -> Self {
        Self { row, next: 0 }
    }

    /// The next column as it is.
    pub fn get<T: Column>(&mut self) -> Read<T> {
        let value = T::read(self.row, self.next);
        self.next += 1;
        value
    }

    /// Passes over columns.
    pub fn skip(&mut self, columns: usize) {
        self.next += columns;
    }

    pub fn count<T: TryFrom<i64>>(&mut self) -> Read<T> {
        let number: i64 = self.get()?;
        T::try_from(number).map_err(|_| self.unreadable("a number is out of range"))
    }

    pub fn maybe_count<T: TryFrom<i64>>(&mut self) -> Read<Option<T>> {
        let number: Option<i64> = self.get()?;
        number
            .map(|number| T::try_from(number).map_err(|_| self.unreadable("a number is out of range")))
            .transpose()
    }

    pub fn time(&mut self) -> Read<Timestamp> {
        self.get().map(Timestamp::from_millis)
    }

    pub fn maybe_time(&mut self) -> Read<Option<Timestamp>> {
        Ok(self.get::<Option<i64>>()?.map(Timestamp::from_millis))
    }

    pub fn micros(&mut self) -> Read<Micros> {
        self.get().map(Micros)
    }

    pub fn maybe_micros(&mut self) -> Read<Option<Micros>> {
        Ok(self.get::<Option<i64>>()?.map(Micros))
    }

    pub fn id<K>(&mut self) -> Read<Id<K>> {
        self.get().map(Id::from_bytes)
    }

    pub fn maybe_id<K>(&mut self) -> Read<Option<Id<K>>> {
        Ok(self.get::<Option<[u8; 16]>>()?.map(Id::from_bytes))
    }

    pub fn digest(&mut self) -> Read<Digest> {
        self.get().map(Digest::from_bytes)
    }

    pub fn maybe_digest(&mut self) -> Read<Option<Digest>> {
        Ok(self.get::<Option<[u8; 32]>>()?.map(Digest::from_bytes))
    }

    /// A word of a closed list. A word that this build does not know is an error of the row, not a crash.
    pub fn word<T>(&mut self, from_name: fn(&str) -> Option<T>) -> Read<T> {
        let word: String = self.get()?;
        from_name(&word).ok_or_else(|| self.unreadable(&format!("`{word}` is not known to this build")))
    }

    /// A word of a list that a newer build may have more of.
    pub fn any_word<T>(&mut self, from_name: fn(&str) -> Option<T>) -> Read<Word<T>> {
        Ok(Word::read(self.get()?, from_name))
    }

    /// Why something failed. A class that a newer build has added is read as one that can't be read.
    pub fn class(&mut self) -> Read<FailureClass> {
        self.maybe_class().map(|class| class.unwrap_or(FailureClass::Undecodable))
    }

    /// As above, where it may not have failed.
    pub fn maybe_class(&mut self) -> Read<Option<FailureClass>> {
        let class: Option<String> = self.get()?;
        Ok(class.map(|class| FailureClass::from_name(&class).unwrap_or(FailureClass::Undecodable)))
    }

    pub fn maybe_word<T>(&mut self, from_name: fn(&str) -> Option<T>) -> Read<Option<T>> {
        Ok(self.get::<Option<String>>()?.and_then(|word| from_name(&word)))
    }

    /// A JSON text that is there.
    pub fn json<T: serde::de::DeserializeOwned>(&mut self) -> Read<T> {
        let text: String = self.get()?;
        serde_json::from_str(&text).map_err(|_| self.unreadable("not the JSON that is expected"))
    }

    /// A JSON text.
    pub fn maybe_json(&mut self) -> Read<Option<serde_json::Value>> {
        let text: Option<String> = self.get()?;
        text.map(|text| serde_json::from_str(&text).map_err(|_| self.unreadable("not JSON"))).transpose()
    }

    /// Bytes of a row, or of the blob that the next column names.
    pub fn maybe_bytes(&mut self) -> Read<Option<Bytes>> {
        let inline: Option<Vec<u8>> = self.get()?;
        let blob = self.maybe_digest()?;
        Ok(inline.map(Bytes::Inline).or(blob.map(Bytes::Blob)))
    }

    pub fn bytes(&mut self) -> Read<Bytes> {
        self.maybe_bytes()?.ok_or_else(|| self.unreadable("neither bytes nor a blob"))
    }

    fn unreadable(&self, reason: &str) -> StoreError {
        StoreError::Corrupt(format!("column {}: {reason}", self.next))
    }
}

/// A row of the view `job_records`, in the order of its columns.
pub fn job_record(c: &mut Columns<'_>) -> Read<JobRecord> {
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
        // Another one that a newer build has added has its place from there.
        priority: c.maybe_word(Priority::from_name)?.unwrap_or_default(),
        pool: c.get()?,
        ordering_key: c.get()?,
        behind_key: !c.get::<bool>()?,
        keeps_key: c.get()?,
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
pub fn failure(c: &mut Columns<'_>) -> Read<Option<Failure>> {
    let class = c.maybe_class()?;
    let message: Option<String> = c.get()?;
    Ok(class.map(|class| Failure { class, message: message.unwrap_or_default() }))
}

/// A number for a column. Counts above what a column holds don't occur; they would stop at the largest.
pub fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The most rows that a statement may give.
pub fn limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// The two columns of bytes that are in the row or in a blob.
pub fn split(bytes: &Bytes) -> (Option<&[u8]>, Option<&[u8]>) {
    match bytes {
        Bytes::Inline(bytes) => (Some(bytes), None),
        Bytes::Blob(digest) => (None, Some(digest.as_bytes())),
    }
}

/// What a column can be read as.
pub trait Column: Sized {
    fn read(row: Row<'_>, index: usize) -> Read<Self>;
}

/// A column that each database's library reads as it is.
macro_rules! columns {
    ($($value:ty as $raw:ty),* $(,)?) => {
        $(
            impl Column for $value {
                fn read(row: Row<'_>, index: usize) -> Read<Self> {
                    match row {
                        Row::Sqlite(row) => Ok(row.get(index)?),
                        Row::Postgres(row) => Ok(row.try_get::<_, $raw>(index)?.into()),
                    }
                }
            }

            impl Column for Option<$value> {
                fn read(row: Row<'_>, index: usize) -> Read<Self> {
                    match row {
                        Row::Sqlite(row) => Ok(row.get(index)?),
                        Row::Postgres(row) => Ok(row.try_get::<_, Option<$raw>>(index)?.map(Into::into)),
                    }
                }
            }
        )*
    };
}
columns! {
    i64 as Int,
    bool as bool,
    String as String,
    Vec<u8> as Vec<u8>,
    [u8; 16] as Fixed<16>,
    [u8; 32] as Fixed<32>,
}
