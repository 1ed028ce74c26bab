use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::time::Timestamp;
use forebay_store::record::{Letter, LetterGroup, LetterRecord, NoteRecord};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Job, shapes};

/// A failed job, and who deals with it.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct DeadLetter {
    #[schema(value_type = String)]
    job_id: JobId,
    /// `open` while nobody has dealt with it; `replayed` once a new job stands in its place; `resolved` or `dismissed` when
    /// a person says so.
    #[schema(value_type = String, example = "open")]
    state: &'static str,
    /// Who deals with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    /// When the job failed.
    #[schema(value_type = String, format = DateTime)]
    failed_at: Timestamp,
    /// When state or owner last changed.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    notes_count: u64,
    /// What persons wrote, oldest first; only where one letter is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Vec<Note>>,
    /// The jobs that do its work again, latest first; only where one letter is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    replays: Option<Vec<Replay>>,
    /// The failed job.
    job: Job,
}

/// What a person wrote about a dead letter.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Note {
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// The name of the key that it was written with.
    author: String,
    text: String,
}

/// A job that does the work of a failed one again.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Replay {
    #[schema(value_type = String)]
    job_id: JobId,
    #[schema(value_type = String, example = "SUCCEEDED")]
    state: State,
}

impl From<LetterRecord> for DeadLetter {
    fn from(letter: LetterRecord) -> Self {
        Self {
            job_id: letter.job.id,
            state: letter.state.name(),
            owner: letter.owner,
            failed_at: letter.job.finished_at.unwrap_or(letter.job.updated_at),
            updated_at: letter.updated_at,
            notes_count: letter.notes,
            notes: None,
            replays: None,
            job: Job::new(letter.job, None),
        }
    }
}

impl From<Letter> for DeadLetter {
    fn from(letter: Letter) -> Self {
        let replays = letter.replays.into_iter().map(|(job_id, state)| Replay { job_id, state });
        Self {
            notes: Some(letter.notes.into_iter().map(Note::from).collect()),
            replays: Some(replays.collect()),
            ..Self::from(letter.record)
        }
    }
}

impl From<NoteRecord> for Note {
    fn from(note: NoteRecord) -> Self {
        Self { at: note.at, author: note.author.name, text: note.text }
    }
}

/// A page of dead letters, latest failure first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct DeadLetterList {
    pub(in crate::http) data: Vec<DeadLetter>,
    /// Where the next page begins; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) next_cursor: Option<String>,
}

/// Dead letters of one task and failure class.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct DeadLetterGroup {
    task: String,
    /// The failure class.
    #[schema(value_type = String, example = "invalid_request")]
    class: &'static str,
    count: u64,
    /// When the first of them failed.
    #[schema(value_type = String, format = DateTime)]
    oldest: Timestamp,
    /// When the last of them failed.
    #[schema(value_type = String, format = DateTime)]
    newest: Timestamp,
}

impl From<LetterGroup> for DeadLetterGroup {
    fn from(group: LetterGroup) -> Self {
        Self {
            task: group.task,
            class: group.class.name(),
            count: group.count,
            oldest: group.oldest,
            newest: group.newest,
        }
    }
}

/// Dead letters by task and failure class, most frequent first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct DeadLetterGroups {
    pub(in crate::http) data: Vec<DeadLetterGroup>,
}

/// What a person does about a dead letter. Only its shape: what is absent stays as it is.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct DeadLetterBody {
    /// `resolved`, `dismissed`, or `open` to open it again.
    #[schema(schema_with = shapes::letter_state)]
    state: Option<String>,
    #[schema(schema_with = shapes::owner)]
    owner: Option<String>,
    /// What is to be remembered. Notes are never changed.
    #[schema(schema_with = shapes::text::<{ forebay_core::limits::NOTE_CHARS }>)]
    note: Option<String>,
}

/// How a failed job is to be done again. Only its shape.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct ReplayBody {
    /// A task's name, or `name@revision`; the job's own task, as the active definitions have it, where absent.
    #[schema(schema_with = shapes::task)]
    task: Option<String>,
    /// Why; kept in the audit.
    #[schema(schema_with = shapes::text::<1000>)]
    reason: Option<String>,
    /// Also when another replay is at work or has succeeded.
    again: Option<bool>,
}
