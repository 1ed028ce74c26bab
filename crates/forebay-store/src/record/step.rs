use forebay_core::attempt::{Outcome, Usage};
use forebay_core::definition::CountTokens;
use forebay_core::digest::Digest;
use forebay_core::id::{AttemptId, Incarnation, JobId};
use forebay_core::job::{Failure, State};
use forebay_core::lifecycle::Failed;
use forebay_core::time::{Millis, Timestamp};

use super::{NewReview, NewStep};

/// Bytes in a row, or in the blob store when they are many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bytes {
    /// In the row.
    Inline(Vec<u8>),
    /// In the blob store, written and synced before the row.
    Blob(Digest),
}

impl Default for Bytes {
    /// None, in the row.
    fn default() -> Self {
        Bytes::Inline(Vec::new())
    }
}

/// What became of an attempt, and what its job does then.
#[derive(Debug, Clone)]
pub struct StepCommit {
    /// Whose step it is.
    pub job_id: JobId,
    /// Which attempt.
    pub attempt_id: AttemptId,
    /// The owner's fence.
    pub fence: u64,
    /// The store's life in which it was claimed.
    pub incarnation: Incarnation,
    /// How it went.
    pub close: AttemptClose,
    /// What comes next.
    pub then: Then,
}

/// How an attempt went.
#[derive(Debug, Clone)]
pub struct AttemptClose {
    /// What came of it, as far as money is concerned.
    pub outcome: Outcome,
    /// Why it did not help, where it did not.
    pub failure: Option<Failure>,
    /// What the provider said it used.
    pub usage: Option<Usage>,
    /// The provider's name for the call.
    pub provider_request_id: Option<String>,
    /// The model that the provider says it used.
    pub provider_model: Option<String>,
    /// What it counts with against the limits of its pool from now on.
    pub count_tokens: CountTokens,
    /// How long the pool must not be called, from what the provider said.
    pub cooldown: Option<Millis>,
}

/// What a job does after an attempt.
#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant, reason = "one value a call, moved twice")]
pub enum Then {
    /// The step is done and the next one needs capacity.
    Next {
        /// What the step left behind.
        entry: Bytes,
        /// What comes next.
        step: NewStep,
    },
    /// The last step is done, and the job succeeded.
    Succeed {
        /// What the step left behind.
        entry: Bytes,
        /// What the job is worth.
        result: NewResult,
        /// What it is about, where its policy says so: no other job of the task may have succeeded with the same.
        fingerprint: Option<Digest>,
    },
    /// The last step is done, and a person must decide.
    Review {
        /// What the step left behind; absent when it left nothing.
        entry: Option<Bytes>,
        /// Why.
        failure: Failure,
        /// What the person sees.
        review: NewReview,
    },
    /// The last step is done, and the job can't be.
    FailJob {
        /// What the step left behind; absent when it left nothing.
        entry: Option<Bytes>,
        /// Why.
        failure: Failure,
    },
    /// The try failed: again later, or not. Its `now` and `fence` are the store's to fill in. The review is
    /// what a person sees when it comes to that.
    Fail(Failed, NewReview),
    /// Nothing was sent: back into the queue.
    Release,
}

/// A job's output and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewResult {
    /// JSON.
    pub output: Bytes,
    /// JSON.
    pub provenance: Vec<u8>,
}

/// Whether a commit changed the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// It did.
    Done {
        /// The job's state now.
        state: State,
        /// When a retry is due.
        available_at: Timestamp,
    },
    /// The job belongs to somebody else, or has ended: nothing but evidence was written.
    Lost,
    /// Another job has succeeded with the same fingerprint: nothing was written, and the job is still the
    /// caller's to commit otherwise.
    Duplicate {
        /// The other job.
        of: JobId,
    },
}
