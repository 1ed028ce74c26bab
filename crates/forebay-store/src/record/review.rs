use forebay_core::digest::Digest;
use forebay_core::failure::FailureClass;
use forebay_core::id::{JobId, KeyId};
use forebay_core::job::{Failure, State};
use forebay_core::lifecycle::Refusal;
use forebay_core::review::{Decision, FieldChange, ReviewDefault};
use forebay_core::time::{Millis, Timestamp};

use super::{Actor, Bytes, JobRecord, NewResult, NewStep};

/// What a person is asked to decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReview {
    /// When it should be decided.
    pub due_in: Millis,
    /// What is decided when nobody has decided until then.
    pub due_default: ReviewDefault,
    /// What is doubtful: a JSON array of findings.
    pub findings: Vec<u8>,
    /// The output in doubt, if there is one.
    pub output: Option<Bytes>,
    /// Where it comes from, JSON.
    pub provenance: Vec<u8>,
}

impl NewReview {
    /// About a job that left no output behind.
    pub fn without_output(due_in: Millis, due_default: ReviewDefault) -> Self {
        Self { due_in, due_default, findings: b"[]".to_vec(), output: None, provenance: b"{}".to_vec() }
    }
}

/// A decision that a person owes or has made, as the queue shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewEntry {
    /// Its place in the order of opening.
    pub seq: i64,
    /// Which job.
    pub job_id: JobId,
    /// Which generation of it.
    pub generation: u32,
    /// The task's name.
    pub task: String,
    /// The revision that the job runs by.
    pub revision: u32,
    /// The job's version now: what a decision has to name.
    pub state_version: u64,
    /// Why a person must look.
    pub failure: Option<Failure>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it should be decided.
    pub due_at: Timestamp,
    /// What is decided when nobody has decided until then.
    pub due_default: ReviewDefault,
    /// When its alert was given, after it was due.
    pub alerted_at: Option<Timestamp>,
    /// How many findings there are.
    pub findings_count: u32,
    /// Their codes, each once.
    pub finding_codes: Vec<String>,
    /// Whether there is an output that could be approved.
    pub has_output: bool,
    /// Who holds it at the moment.
    pub claim: Option<ReviewClaim>,
}

/// A reviewer who holds a review for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewClaim {
    /// The reviewer's key.
    pub by: KeyId,
    /// What the key is called.
    pub name: String,
    /// Until when.
    pub until: Timestamp,
}

/// A decision that a person owes or has made, with everything to decide it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewRecord {
    /// What the queue shows.
    pub entry: ReviewEntry,
    /// What is doubtful: a JSON array of findings.
    pub findings: Vec<u8>,
    /// The output in doubt, JSON.
    pub output: Option<Bytes>,
    /// Where it comes from, JSON.
    pub provenance: Vec<u8>,
    /// The document that the job reads.
    pub document: Option<Digest>,
    /// How it ended.
    pub decided: Option<DecisionRecord>,
}

/// How a review ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionRecord {
    /// When.
    pub at: Timestamp,
    /// How.
    pub decision: Decision,
    /// By which key; absent where no person decided.
    pub by: Option<KeyId>,
    /// What the key was called.
    pub name: Option<String>,
    /// What was said about it.
    pub comment: Option<String>,
    /// The job's version that was decided about.
    pub seen: Option<u64>,
    /// What a correction left in doubt: a JSON array of findings.
    pub findings: Option<Vec<u8>>,
    /// Its place in the order of decisions; absent where nobody decided.
    pub seq: Option<i64>,
}

/// Which open reviews. A condition that is absent excludes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewQuery {
    /// Of this task.
    pub task: Option<String>,
    /// Opened for this class of failure.
    pub class: Option<FailureClass>,
    /// With a finding of this code.
    pub finding: Option<String>,
    /// Due before this time.
    pub due_before: Option<Timestamp>,
    /// Opened before this time.
    pub opened_before: Option<Timestamp>,
    /// Held by whom.
    pub held: Option<HeldBy>,
    /// After this place: where the page before ended.
    pub after: i64,
    /// The most reviews.
    pub limit: usize,
}

/// Who holds a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldBy {
    /// This key.
    Key(KeyId),
    /// Nobody.
    Nobody,
    /// Nobody, or this key: what its owner can decide.
    NobodyOr(KeyId),
}

/// Open reviews, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewPage {
    /// The reviews.
    pub reviews: Vec<ReviewEntry>,
    /// Where the next page starts; absent on the last.
    pub next: Option<i64>,
}

/// Which decided reviews. A condition that is absent excludes nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecidedQuery {
    /// Of this task.
    pub task: Option<String>,
    /// Decided in this way.
    pub decision: Option<Decision>,
    /// Decided at this time or later.
    pub since: Option<Timestamp>,
    /// Decided before this time.
    pub until: Option<Timestamp>,
    /// After this place: where the page before ended.
    pub after: i64,
    /// The most reviews.
    pub limit: usize,
}

/// A review that a person has decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedReview {
    /// The review, with the decision.
    pub review: ReviewRecord,
    /// What came of it: the approved or the corrected output.
    pub result: Option<Bytes>,
}

/// A decision that is to be made.
#[derive(Debug, Clone)]
pub struct NewDecision {
    /// Whose job.
    pub tenant: i64,
    /// Which job.
    pub job_id: JobId,
    /// The job's version that was decided about.
    pub seen: u64,
    /// What is decided, with what that needs.
    pub verdict: Verdict,
    /// What is said about it.
    pub comment: Option<String>,
    /// What the result is about, where the task's policy says so and the decision makes one. A person may take a
    /// duplicate for right: then whoever was first keeps the fingerprint.
    pub fingerprint: Option<Digest>,
    /// Covers decision, comment and output: tells the same decision, sent again, from another.
    pub digest: Digest,
    /// By whom.
    pub by: Actor,
}

/// What is decided about a job in review.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "one value a decision, moved twice")]
pub enum Verdict {
    /// The stored output is right.
    Approve,
    /// This is right instead. It has passed the task's schema.
    Correct {
        /// The output. Its provenance is signed by the store.
        result: NewResult,
        /// Where it differs.
        changes: Vec<FieldChange>,
        /// What the policy finds all the same: a JSON array of findings.
        findings: Vec<u8>,
    },
    /// The output is refused.
    Reject,
    /// The machines do it again.
    Rerun {
        /// What they do first.
        step: NewStep,
        /// Until when.
        deadline: Timestamp,
    },
}

impl Verdict {
    /// The decision, as it is stored.
    pub const fn decision(&self) -> Decision {
        match self {
            Verdict::Approve => Decision::Approve,
            Verdict::Correct { .. } => Decision::Correct,
            Verdict::Reject => Decision::Reject,
            Verdict::Rerun { .. } => Decision::Rerun,
        }
    }
}

/// A decision is committed, now or before.
#[derive(Debug, Clone)]
pub struct Decided {
    /// The job as it is now.
    pub job: JobRecord,
    /// The review with its decision.
    pub review: ReviewRecord,
    /// Whether the same key had made the same decision about the same version before.
    pub replayed: bool,
}

/// Why a review was not decided or claimed. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewRefused {
    /// The tenant has no such job.
    NoJob,
    /// The job has no open review.
    NotOpen(State),
    /// The rules speak against it: the job is not in review, or changed since, or there is nothing to approve.
    Rules(Refusal),
    /// Somebody else holds it.
    Held(ReviewClaim),
}

/// An open review whose due time has passed and of which nobody was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueReview {
    /// Whose.
    pub tenant: i64,
    /// Which job.
    pub job_id: JobId,
    /// Which generation.
    pub generation: u32,
    /// The job's version.
    pub state_version: u64,
    /// What is decided now.
    pub due_default: ReviewDefault,
    /// Whether there is an output that could be approved.
    pub has_output: bool,
}
