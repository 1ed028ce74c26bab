//! Dead letters: which jobs failed, and who deals with them. Every statement names the tenant.

use async_trait::async_trait;
use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::limits::NOTES;
use forebay_core::time::Timestamp;
use serde_json::{Value, json};

use super::columns::{Columns, job_record, limit};
use super::transaction::Tx;
use super::values::{Named, params};
use super::{Backend, Ledger, Needs, audit, ordering, sql};
use crate::record::{
    Actor, AuditAction, JobRecord, Letter, LetterChange, LetterChanged, LetterFilter, LetterGroup,
    LetterPage, LetterQuery, LetterRecord, LetterState, NoteRecord, OpenLetters, ReplayQuery,
};
use crate::{Letters, StoreError};

#[async_trait]
impl<B: Backend> Letters for Ledger<B> {
    async fn letters(&self, tenant: i64, query: LetterQuery) -> Result<LetterPage, StoreError> {
        self.read(move |tx| page(tx, tenant, &query)).await
    }

    async fn letter_groups(
        &self,
        tenant: i64,
        state: LetterState,
        filter: LetterFilter,
    ) -> Result<Vec<LetterGroup>, StoreError> {
        self.read(move |tx| groups(tx, tenant, state, &filter)).await
    }

    async fn letters_left(&self, tenant: i64, query: ReplayQuery) -> Result<u64, StoreError> {
        self.read(move |tx| left(tx, tenant, &query)).await
    }

    async fn letter(&self, tenant: i64, job: JobId) -> Result<Option<Letter>, StoreError> {
        self.read(move |tx| {
            let Some(record) = one(tx, tenant, job)? else {
                return Ok(None);
            };
            let notes = tx.rows(sql!("letters/notes"), [job.as_bytes()], note)?;
            Ok(Some(Letter { record, notes, replays: replays(tx, job)? }))
        })
        .await
    }

    async fn change_letters(
        &self,
        tenant: i64,
        jobs: Vec<JobId>,
        change: LetterChange,
        by: Actor,
    ) -> Result<Vec<Option<LetterChanged>>, StoreError> {
        self.write("change_letters", Needs::nothing(), move |tx| {
            jobs.iter().map(|job| apply(tx, tenant, *job, &change, &by)).collect()
        })
        .await
    }

    async fn open_letters(&self) -> Result<OpenLetters, StoreError> {
        self.read(|tx| {
            let found = tx.row(sql!("letters/open"), (), |c| {
                Ok(OpenLetters { count: c.count()?, oldest: c.maybe_time()? })
            })?;
            Ok(found.unwrap_or_default())
        })
        .await
    }
}

/// Makes a job that has just failed a dead letter; `number` is that of the event that says so.
pub(super) fn open(tx: &Tx<'_>, record: &JobRecord, number: i64) -> Result<(), StoreError> {
    tx.write(
        sql!("letters/insert"),
        params! {
            ":job_id": record.id.as_bytes(),
            ":tenant": record.tenant,
            ":seq": number,
            ":task": record.task,
            ":revision": record.revision,
            ":class": record.job.failure.as_ref().map(|failure| failure.class.name()),
            ":created_at": record.created_at.as_millis(),
            ":now": tx.now.as_millis(),
        },
    )?;
    Ok(())
}

/// Notes that a new job does a dead letter's work again.
pub(super) fn replayed(tx: &Tx<'_>, letter: &LetterRecord) -> Result<(), StoreError> {
    update(tx, letter.job.id, LetterState::Replayed, letter.owner.as_deref())
}

/// A replay was cancelled: what it stood for may be open again.
pub(super) fn reopen(tx: &Tx<'_>, original: JobId) -> Result<(), StoreError> {
    tx.execute(sql!("letters/reopen"), (original.as_bytes(), tx.now.as_millis()))?;
    Ok(())
}

/// The numbers and ids of what is to be replayed, oldest failure first.
pub(super) fn oldest(
    tx: &Tx<'_>,
    tenant: i64,
    query: &ReplayQuery,
    most: usize,
) -> Result<Vec<(i64, JobId)>, StoreError> {
    let filter = Conditions::of(&query.filter);
    tx.rows(
        sql!("letters/oldest"),
        &filter.with(params! {
            ":tenant": tenant,
            ":or_state": or_state(query).name(),
            ":after": query.after,
            ":limit": limit(most),
        })[..],
        |c| Ok((c.get()?, c.id()?)),
    )
}

/// How many are to be replayed.
fn left(tx: &Tx<'_>, tenant: i64, query: &ReplayQuery) -> Result<u64, StoreError> {
    let filter = Conditions::of(&query.filter);
    let count = tx.row(
        sql!("letters/left"),
        &filter.with(params! {
            ":tenant": tenant,
            ":or_state": or_state(query).name(),
            ":after": query.after,
        })[..],
        |c| c.count(),
    )?;
    Ok(count.unwrap_or_default())
}

/// The jobs that do the work of a failed one again, latest first.
pub(super) fn replays(tx: &Tx<'_>, job: JobId) -> Result<Vec<(JobId, State)>, StoreError> {
    tx.rows(sql!("letters/replays"), [job.as_bytes()], |c| Ok((c.id()?, c.word(State::from_name)?)))
}

/// A dead letter of the tenant.
pub(super) fn one(tx: &Tx<'_>, tenant: i64, job: JobId) -> Result<Option<LetterRecord>, StoreError> {
    tx.row(sql!("letters/one"), (tenant, job.as_bytes()), record)
}

const fn or_state(query: &ReplayQuery) -> LetterState {
    if query.again { LetterState::Replayed } else { LetterState::Open }
}

fn page(tx: &Tx<'_>, tenant: i64, query: &LetterQuery) -> Result<LetterPage, StoreError> {
    let filter = Conditions::of(&query.filter);
    let mut letters = tx.rows(
        sql!("letters/page"),
        &filter.with(params! {
            ":tenant": tenant,
            ":state": query.state.name(),
            ":before": query.before.unwrap_or(i64::MAX),
            // One more than the page shows whether there is another page.
            ":limit": limit(query.limit.saturating_add(1)),
        })[..],
        record,
    )?;
    let more = letters.len() > query.limit;
    letters.truncate(query.limit);
    let next = letters.last().filter(|_| more).map(|letter| letter.seq);
    Ok(LetterPage { letters, next })
}

fn groups(
    tx: &Tx<'_>,
    tenant: i64,
    state: LetterState,
    filter: &LetterFilter,
) -> Result<Vec<LetterGroup>, StoreError> {
    let filter = Conditions::of(filter);
    tx.rows(
        sql!("letters/groups"),
        &filter.with(params! {
            ":tenant": tenant,
            ":state": state.name(),
        })[..],
        |c| {
            Ok(LetterGroup {
                task: c.get()?,
                class: c.class()?,
                count: c.count()?,
                oldest: c.time()?,
                newest: c.time()?,
            })
        },
    )
}

/// A filter as the statements take it.
struct Conditions<'f> {
    task: Option<&'f str>,
    class: Option<&'static str>,
    revision: Option<u32>,
    owner: Option<&'f str>,
    unowned: bool,
    failed: (i64, i64),
    created: (i64, i64),
    metadata: String,
}

impl<'f> Conditions<'f> {
    fn of(filter: &'f LetterFilter) -> Self {
        let span = |after: Option<Timestamp>, before: Option<Timestamp>| {
            (after.map_or(i64::MIN, |at| at.as_millis()), before.map_or(i64::MAX, |at| at.as_millis()))
        };
        let metadata: serde_json::Map<String, Value> =
            filter.metadata.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
        Self {
            task: filter.task.as_deref(),
            class: filter.class.map(FailureClass::name),
            revision: filter.revision,
            owner: filter.owner.as_deref(),
            unowned: filter.unowned,
            failed: span(filter.failed_after, filter.failed_before),
            created: span(filter.created_after, filter.created_before),
            metadata: Value::Object(metadata).to_string(),
        }
    }

    /// The parameters of a statement that finds by the filter, with those of its own.
    fn with<'p>(&'p self, own: &[Named<'p>]) -> Vec<Named<'p>> {
        let filter: &[Named<'p>] = params! {
            ":task": self.task,
            ":class": self.class,
            ":revision": self.revision,
            ":owner": self.owner,
            ":unowned": self.unowned,
            ":failed_after": self.failed.0,
            ":failed_before": self.failed.1,
            ":created_after": self.created.0,
            ":created_before": self.created.1,
            ":metadata": self.metadata,
        };
        [own, filter].concat()
    }
}

fn apply(
    tx: &Tx<'_>,
    tenant: i64,
    job: JobId,
    change: &LetterChange,
    by: &Actor,
) -> Result<Option<LetterChanged>, StoreError> {
    let Some(before) = one(tx, tenant, job)? else {
        return Ok(None);
    };
    if change.note.is_some() && before.notes >= NOTES as u64 {
        return Ok(Some(LetterChanged::TooManyNotes));
    }
    let state = match change.state {
        Some(LetterState::Open) if is_replayed(tx, job)? => LetterState::Replayed,
        Some(state) => state,
        None => before.state,
    };
    let owner = change.owner.clone().unwrap_or_else(|| before.owner.clone());
    if (state, &owner) != (before.state, &before.owner) {
        update(tx, job, state, owner.as_deref())?;
        let shown =
            |state: LetterState, owner: &Option<String>| json!({ "state": state.name(), "owner": owner });
        let (was, is) = (shown(before.state, &before.owner), shown(state, &owner));
        append(tx, &before, by, AuditAction::DeadLetterPut, Some(was), is)?;
        if matches!(state, LetterState::Resolved | LetterState::Dismissed) {
            ordering::dealt_with(tx, tenant, job)?;
        }
    }
    if let Some(text) = &change.note {
        let author = by.key.as_ref().map(|key| key.as_bytes());
        let row = (job.as_bytes(), tx.now.as_millis(), author, &by.name, text);
        tx.execute(sql!("letters/insert_note"), row)?;
        append(tx, &before, by, AuditAction::DeadLetterNote, None, json!({ "note": before.notes + 1 }))?;
    }
    let after = one(tx, tenant, job)?.unwrap_or(before);
    Ok(Some(LetterChanged::Done(Box::new(after))))
}

/// Whether a replay stands for the job. One that was cancelled does not.
fn is_replayed(tx: &Tx<'_>, job: JobId) -> Result<bool, StoreError> {
    Ok(replays(tx, job)?.iter().any(|(_, state)| *state != State::Cancelled))
}

fn update(tx: &Tx<'_>, job: JobId, state: LetterState, owner: Option<&str>) -> Result<(), StoreError> {
    tx.execute(sql!("letters/update"), (job.as_bytes(), state.name(), owner, tx.now.as_millis()))?;
    Ok(())
}

fn append(
    tx: &Tx<'_>,
    letter: &LetterRecord,
    by: &Actor,
    action: AuditAction,
    before: Option<Value>,
    after: Value,
) -> Result<(), StoreError> {
    let subject = letter.job.id.to_string();
    audit::append(
        tx,
        &audit::Entry { tenant: Some(letter.job.tenant), by, action, subject, before, after: Some(after) },
    )
}

fn record(c: &mut Columns<'_>) -> Result<LetterRecord, StoreError> {
    Ok(LetterRecord {
        seq: c.get()?,
        state: c.word(LetterState::from_name)?,
        owner: c.get()?,
        updated_at: c.time()?,
        notes: c.count()?,
        job: job_record(c)?,
    })
}

fn note(c: &mut Columns<'_>) -> Result<NoteRecord, StoreError> {
    Ok(NoteRecord { at: c.time()?, author: Actor { key: c.maybe_id()?, name: c.get()? }, text: c.get()? })
}
