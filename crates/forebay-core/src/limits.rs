//! Limits that Forebay publishes and enforces (each has a test at n and at n + 1).

/// Bytes of a request head.
pub const REQUEST_HEAD_BYTES: usize = 16 * 1024;
/// Bytes of a request body, after decompression.
pub const REQUEST_BODY_BYTES: usize = 4 * 1024 * 1024;
/// How many times larger a body may become by decompression.
pub const DECOMPRESSION_RATIO: usize = 20;
/// Levels of arrays and objects in a request.
pub const JSON_DEPTH: usize = 64;
/// Members and elements in a job's request, over all levels.
pub const JSON_MEMBERS: usize = 10_000;
/// Header fields of a request; what reads requests holds it by itself.
pub const HEADER_FIELDS: usize = 100;
/// Texts that one job may embed.
pub const EMBED_TEXTS: usize = 2_048;
/// Visible ASCII characters of an idempotency key.
pub const IDEMPOTENCY_KEY_CHARS: usize = 255;
/// Members of a job's metadata.
pub const METADATA_MEMBERS: usize = 16;
/// Characters of a metadata key.
pub const METADATA_KEY_CHARS: usize = 64;
/// Characters of a metadata value.
pub const METADATA_VALUE_CHARS: usize = 512;
/// Bytes of a document.
pub const DOCUMENT_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of a dataset, as it is sent.
pub const DATASET_BYTES: usize = 16 * 1024 * 1024;
/// Datasets of a tenant.
pub const DATASETS_PER_TENANT: usize = 200;
/// Rows of a dataset.
pub const DATASET_ROWS: usize = 100_000;
/// Columns of a dataset.
pub const DATASET_COLUMNS: usize = 64;
/// Characters of a column's name.
pub const DATASET_COLUMN_CHARS: usize = 64;
/// Bytes of one value in a dataset.
pub const DATASET_CELL_BYTES: usize = 4 * 1024;
/// Bytes of a task's JSON Schema.
pub const SCHEMA_BYTES: usize = 64 * 1024;
/// Bytes of a provider's whole reply.
pub const PROVIDER_REPLY_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of one line of a provider's stream.
pub const PROVIDER_LINE_BYTES: usize = 1024 * 1024;
/// Jobs of one batch call.
pub const BATCH_JOBS: usize = 1_000;
/// Bytes of the body of a batch call, after decompression.
pub const BATCH_BODY_BYTES: usize = 16 * 1024 * 1024;
/// Dead letters that one call replays.
pub const REPLAY_JOBS: usize = 1_000;
/// Dead letters that one call changes.
pub const LETTERS: usize = 1_000;
/// Characters of a note on a dead letter.
pub const NOTE_CHARS: usize = 2_000;
/// Notes on one dead letter.
pub const NOTES: usize = 100;
/// Characters of a comment on a review.
pub const COMMENT_CHARS: usize = 2_000;
/// Seconds that a claim holds a review at most.
pub const CLAIM_SECONDS: i64 = 8 * 3_600;
/// Characters of a document's text that a review shows; the whole document stands under its own address.
pub const REVIEW_TEXT_CHARS: usize = 1_000_000;
/// Jobs on one page of a list.
pub const LIST_PAGE: usize = 200;
/// Open event streams of one tenant.
pub const STREAMS_PER_TENANT: usize = 50;
/// Open event streams of one process.
pub const STREAMS_PER_PROCESS: usize = 5_000;
/// Inputs and results larger than this many bytes go to the blob store.
pub const INLINE_BYTES: usize = 64 * 1024;
/// Characters that are kept of an error message from outside.
pub const MESSAGE_CHARS: usize = 2_000;
/// Seconds that a client has to send a request's head.
pub const HEAD_SECONDS: u64 = 5;
/// Seconds that a client has to send a request's body.
pub const BODY_SECONDS: u64 = 30;
/// Seconds that `Prefer: wait` may hold a request.
pub const LONG_POLL_SECONDS: u64 = 60;
/// Characters of an ordering key, a correlation id or a series key.
pub const KEY_CHARS: usize = 255;

/// One published limit.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// What is limited.
    pub what: &'static str,
    /// How much it may be.
    pub most: usize,
    /// Of what.
    pub unit: &'static str,
    /// What happens to more.
    pub beyond: &'static str,
}

const fn limit(what: &'static str, most: usize, unit: &'static str, beyond: &'static str) -> Limit {
    Limit { what, most, unit, beyond }
}

const TOO_LARGE: &str = "413 `too_large`";
const HEAD: &str = "431 `too_large`";
const JSON: &str = "400 `invalid_json`";
const MEMBER: &str = "400 `invalid_member`";
const PARAMETER: &str = "400 `invalid_parameter`";
const QUOTA: &str = "429 `quota_exceeded`";
const ATTEMPT: &str = "the attempt fails with `too_large`";

/// The limits that callers and operators read, in the order of the documentation.
pub const PUBLISHED: [Limit; 39] = [
    limit("head of a request", REQUEST_HEAD_BYTES, "bytes", HEAD),
    limit("headers of a request", HEADER_FIELDS, "fields", HEAD),
    limit("body of a request, after decompression", REQUEST_BODY_BYTES, "bytes", TOO_LARGE),
    limit("growth of a body by decompression", DECOMPRESSION_RATIO, "times", TOO_LARGE),
    limit("time to send a head", HEAD_SECONDS as usize, "seconds", "the connection is closed"),
    limit("time to send each 4 MB of a body", BODY_SECONDS as usize, "seconds", "408 `request_timeout`"),
    limit("levels of JSON", JSON_DEPTH, "levels", JSON),
    limit("members and elements of JSON, over all levels", JSON_MEMBERS, "members", JSON),
    limit("idempotency key", IDEMPOTENCY_KEY_CHARS, "visible ASCII characters", PARAMETER),
    limit("metadata of a job", METADATA_MEMBERS, "members", MEMBER),
    limit("name in metadata", METADATA_KEY_CHARS, "characters", MEMBER),
    limit("value in metadata", METADATA_VALUE_CHARS, "characters", MEMBER),
    limit("ordering key, correlation id, series key", KEY_CHARS, "characters", MEMBER),
    limit("texts to embed in a job", EMBED_TEXTS, "texts", MEMBER),
    limit("document", DOCUMENT_BYTES, "bytes", TOO_LARGE),
    limit("dataset, as it is sent", DATASET_BYTES, "bytes", TOO_LARGE),
    limit("rows of a dataset", DATASET_ROWS, "rows", MEMBER),
    limit("columns of a dataset", DATASET_COLUMNS, "columns", MEMBER),
    limit("name of a column", DATASET_COLUMN_CHARS, "characters", MEMBER),
    limit("value in a dataset", DATASET_CELL_BYTES, "bytes", MEMBER),
    limit("datasets of a tenant", DATASETS_PER_TENANT, "datasets", QUOTA),
    limit("JSON Schema of a task", SCHEMA_BYTES, "bytes", MEMBER),
    limit("jobs of a batch call", BATCH_JOBS, "jobs", MEMBER),
    limit("body of a batch call", BATCH_BODY_BYTES, "bytes", TOO_LARGE),
    limit("dead letters that a call replays", REPLAY_JOBS, "letters", "the next call goes on from there"),
    limit("dead letters that a call changes", LETTERS, "letters", MEMBER),
    limit("note on a dead letter", NOTE_CHARS, "characters", MEMBER),
    limit("notes on a dead letter", NOTES, "notes", "409 `conflict`"),
    limit("comment on a review", COMMENT_CHARS, "characters", MEMBER),
    limit("claim of a review", CLAIM_SECONDS as usize, "seconds", MEMBER),
    limit("text of a document beside a review", REVIEW_TEXT_CHARS, "characters", "it is cut"),
    limit("page of a list", LIST_PAGE, "entries", PARAMETER),
    limit("wait by `Prefer`", LONG_POLL_SECONDS as usize, "seconds", "it is shortened to that"),
    limit("open event streams of a tenant", STREAMS_PER_TENANT, "streams", QUOTA),
    limit("open event streams of a process", STREAMS_PER_PROCESS, "streams", "503 `overloaded`"),
    limit("reply of a provider", PROVIDER_REPLY_BYTES, "bytes", ATTEMPT),
    limit("line of a provider's stream", PROVIDER_LINE_BYTES, "bytes", ATTEMPT),
    limit("message from outside", MESSAGE_CHARS, "characters", "it is cut"),
    limit("input or result in a row", INLINE_BYTES, "bytes", "it goes to the blob store"),
];
