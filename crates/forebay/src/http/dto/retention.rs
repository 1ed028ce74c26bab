use forebay_core::definition;
use forebay_core::time::{Millis, Timestamp};
use forebay_store::record::Retained;
use serde::Serialize;
use utoipa::ToSchema;

/// How long what has ended is kept, and what was deleted since the store was made.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Retention {
    /// The revision whose rules these are.
    revision: u32,
    /// A job with its result, attempts and events, from its end on.
    results_ms: i64,
    /// A job that failed, from when somebody last dealt with it.
    dead_letters_ms: i64,
    /// A document that no job refers to.
    documents_ms: i64,
    /// An idempotency key that is used now.
    idempotency_keys_ms: i64,
    deleted: Deleted,
    /// When the oldest job was accepted that is there.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_job_at: Option<Timestamp>,
    /// When the oldest event was written that is there.
    #[schema(value_type = Option<String>, format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_event_at: Option<Timestamp>,
}

/// Rows that were deleted because their time was over.
#[derive(Debug, Serialize, ToSchema)]
struct Deleted {
    jobs: u64,
    attempts: u64,
    events: u64,
    batches: u64,
    documents: u64,
    idempotency_keys: u64,
}

impl Retention {
    /// The rules of a revision, and what the store says.
    pub(in crate::http) fn new(
        revision: u32,
        rules: definition::Retention,
        idempotency_keys: Millis,
        retained: &Retained,
    ) -> Self {
        let deleted = &retained.deleted;
        Self {
            revision,
            results_ms: rules.results.get(),
            dead_letters_ms: rules.dead_letters.get(),
            documents_ms: rules.documents.get(),
            idempotency_keys_ms: idempotency_keys.get(),
            deleted: Deleted {
                jobs: deleted.jobs,
                attempts: deleted.attempts,
                events: deleted.events,
                batches: deleted.batches,
                documents: deleted.documents,
                idempotency_keys: deleted.keys,
            },
            oldest_job_at: retained.oldest_job,
            oldest_event_at: retained.oldest_event,
        }
    }
}
