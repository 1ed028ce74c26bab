use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::time::Timestamp;

use super::{AcceptRefused, Actor, Bytes, JobRecord, NewJob};

/// Whether somebody has dealt with a dead letter. The names are in the API and the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LetterState {
    /// Nobody has.
    #[default]
    Open,
    /// A new job does its work again, has done it, or has failed at it, being a dead letter itself then.
    Replayed,
    /// A person says that it is settled.
    Resolved,
    /// A person says that it is not worth the trouble.
    Dismissed,
}

impl LetterState {
    /// Every state.
    pub const ALL: [LetterState; 4] =
        [LetterState::Open, LetterState::Replayed, LetterState::Resolved, LetterState::Dismissed];

    /// The name in the API and the database.
    pub const fn name(self) -> &'static str {
        match self {
            LetterState::Open => "open",
            LetterState::Replayed => "replayed",
            LetterState::Resolved => "resolved",
            LetterState::Dismissed => "dismissed",
        }
    }

    /// The state of that name.
    pub fn from_name(name: &str) -> Option<LetterState> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }
}

/// Which dead letters. A condition that is absent excludes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LetterFilter {
    /// Of this task.
    pub task: Option<String>,
    /// Of this failure class.
    pub class: Option<FailureClass>,
    /// Of jobs that ran by this revision.
    pub revision: Option<u32>,
    /// Of this owner.
    pub owner: Option<String>,
    /// Only those that nobody deals with.
    pub unowned: bool,
    /// That failed at this time or later.
    pub failed_after: Option<Timestamp>,
    /// That failed before this time.
    pub failed_before: Option<Timestamp>,
    /// Of jobs that were accepted at this time or later.
    pub created_after: Option<Timestamp>,
    /// Of jobs that were accepted before this time.
    pub created_before: Option<Timestamp>,
    /// With these members of metadata.
    pub metadata: Vec<(String, String)>,
}

/// A page of dead letters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LetterQuery {
    /// Which ones.
    pub filter: LetterFilter,
    /// In this state.
    pub state: LetterState,
    /// Only those that failed before the one with this number: where the page before ended.
    pub before: Option<i64>,
    /// The most on the page.
    pub limit: usize,
}

/// What is to be replayed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayQuery {
    /// Which dead letters, of those that are open.
    pub filter: LetterFilter,
    /// Also those that were replayed before.
    pub again: bool,
    /// Only those that failed after the one with this number.
    pub after: i64,
}

/// A failed job and who deals with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetterRecord {
    /// Its place in the order of failing.
    pub seq: i64,
    /// Whether somebody has dealt with it.
    pub state: LetterState,
    /// Who does.
    pub owner: Option<String>,
    /// When state or owner last changed.
    pub updated_at: Timestamp,
    /// How many notes it has.
    pub notes: u64,
    /// The job.
    pub job: JobRecord,
}

/// Dead letters, latest failure first.
#[derive(Debug, Clone, Default)]
pub struct LetterPage {
    /// The letters.
    pub letters: Vec<LetterRecord>,
    /// Where the next page begins, if there is one.
    pub next: Option<i64>,
}

/// Dead letters of one task and failure class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LetterGroup {
    /// The task.
    pub task: String,
    /// Why the jobs failed.
    pub class: FailureClass,
    /// How many there are.
    pub count: u64,
    /// When the first one failed.
    pub oldest: Timestamp,
    /// When the last one failed.
    pub newest: Timestamp,
}

/// A dead letter with all that is known of it.
#[derive(Debug, Clone)]
pub struct Letter {
    /// The letter.
    pub record: LetterRecord,
    /// What persons wrote about it, oldest first.
    pub notes: Vec<NoteRecord>,
    /// The jobs that do its work again, latest first.
    pub replays: Vec<(JobId, State)>,
}

/// What a person wrote about a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteRecord {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub author: Actor,
    /// What.
    pub text: String,
}

/// What a person does about a dead letter. What is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LetterChange {
    /// Whether it is dealt with. One that is opened again and has a replay is replayed.
    pub state: Option<LetterState>,
    /// Who deals with it; `Some(None)` is nobody.
    pub owner: Option<Option<String>>,
    /// What is to be remembered.
    pub note: Option<String>,
}

/// What came of a change.
#[derive(Debug, Clone)]
pub enum LetterChanged {
    /// It is done.
    Done(Box<LetterRecord>),
    /// It has as many notes as it may.
    TooManyNotes,
}

/// All dead letters that are open, over all tenants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpenLetters {
    /// How many.
    pub count: u64,
    /// When the first one failed.
    pub oldest: Option<Timestamp>,
}

/// A job, and what it was asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaySource {
    /// Its place in the order of failing; 0 where it did not fail.
    pub seq: i64,
    /// The job.
    pub job: JobRecord,
    /// The stored request.
    pub input: Bytes,
    /// Versions of one document.
    pub series: Option<(String, i64)>,
}

/// A job that does the work of a failed one again.
#[derive(Debug, Clone)]
pub struct NewReplay {
    /// The new job; it says which one it replays.
    pub job: NewJob,
    /// Why.
    pub reason: Option<String>,
    /// Also when another replay is at work or has succeeded.
    pub again: bool,
    /// Who asks.
    pub by: Actor,
}

/// Why a job is not done again. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayRefused {
    /// The tenant has no such job.
    NoJob,
    /// It did not fail.
    NotFailed {
        /// Where it is.
        state: State,
    },
    /// Another replay is at work or has succeeded.
    Replayed {
        /// That one.
        by: JobId,
    },
    /// The new job is not accepted.
    NotAccepted(AcceptRefused),
}
