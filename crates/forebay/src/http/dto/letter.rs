use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::limits::LETTERS;
use forebay_core::time::Timestamp;
use forebay_store::record::{Letter, LetterGroup, LetterRecord, LetterState, NoteRecord};
use serde::Serialize;
use serde_json::{Map, Value, json};
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

/// Many dead letters, and what a person does about them. Only what its schema refers to: [`jobs_or_filter`] is the
/// schema.
#[derive(ToSchema)]
#[allow(dead_code, reason = "only its schema is of use")]
pub(in crate::http) struct LettersBody {
    filter: LettersFilter,
    set: DeadLetterBody,
}

/// The schema of a change of many: of those that are named, or of those that a filter leaves.
pub(in crate::http) fn jobs_or_filter() -> Value {
    let of = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let mut set = of("DeadLetterBody");
    set["minProperties"] = json!(1);
    let id = json!({"type": "string", "pattern": "^job_[0-9a-f]{32}$"});
    let jobs = json!({"type": "array", "items": id, "minItems": 1, "maxItems": LETTERS, "description": "The jobs that failed."});
    let limit = json!({"type": "integer", "minimum": 1, "maximum": LETTERS, "description": "The most; 1,000 where absent."});
    let cursor = json!({"type": "string", "description": "The `next_cursor` of the call before."});
    json!({
        "description": "Many dead letters, and what a person does about them.",
        "oneOf": [
            {"type": "object", "required": ["jobs", "set"], "properties": {"jobs": jobs, "set": set}},
            {"type": "object", "required": ["filter", "set"],
             "properties": {"filter": of("LettersFilter"), "set": set, "limit": limit, "cursor": cursor}},
        ],
    })
}

/// Which dead letters. What is absent excludes nothing. Only its shape.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct LettersFilter {
    /// In this state; `open` where absent.
    #[schema(schema_with = shapes::any_letter_state, required = false)]
    state: Option<String>,
    /// Only of this task.
    #[schema(schema_with = shapes::text::<64>, required = false)]
    task: Option<String>,
    #[schema(schema_with = shapes::class, required = false)]
    class: Option<String>,
    /// Only of jobs that ran by this revision.
    #[schema(minimum = 1)]
    revision: Option<u32>,
    /// Only of this owner.
    #[schema(schema_with = shapes::text::<64>, required = false)]
    owner: Option<String>,
    /// Only those that nobody deals with.
    unowned: Option<bool>,
    /// Only of jobs that failed at this time or later.
    #[schema(value_type = Option<String>, format = DateTime)]
    after: Option<Timestamp>,
    /// Only of jobs that failed before this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    before: Option<Timestamp>,
    /// Only of jobs that were accepted at this time or later.
    #[schema(value_type = Option<String>, format = DateTime)]
    created_after: Option<Timestamp>,
    /// Only of jobs that were accepted before this time.
    #[schema(value_type = Option<String>, format = DateTime)]
    created_before: Option<Timestamp>,
    /// Only with these members of `metadata`.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
}

/// What came of a call that changes dead letters.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct LettersChanged {
    /// How many are as they were wanted.
    changed: u64,
    /// How many could not be changed; `results` says why.
    refused: u64,
    /// Where the next call goes on; absent when none are left.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    results: Vec<LetterResult>,
}

impl LettersChanged {
    pub(in crate::http) fn new(results: Vec<LetterResult>, next_cursor: Option<String>) -> Self {
        let changed = results.iter().filter(|result| result.problem.is_none()).count() as u64;
        Self { changed, refused: results.len() as u64 - changed, next_cursor, results }
    }
}

/// What became of one dead letter.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct LetterResult {
    #[schema(value_type = String)]
    job_id: JobId,
    /// As it is then; one that has a replay is `replayed` when it is opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "dismissed")]
    state: Option<&'static str>,
    /// Why it was not changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    problem: Option<Value>,
}

impl LetterResult {
    pub(in crate::http) fn changed(job_id: JobId, state: LetterState) -> Self {
        Self { job_id, state: Some(state.name()), problem: None }
    }

    pub(in crate::http) fn refused(job_id: JobId, problem: impl Serialize) -> Self {
        Self { job_id, state: None, problem: serde_json::to_value(problem).ok() }
    }
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
