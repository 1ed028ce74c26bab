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
/// Characters of a note on a dead letter.
pub const NOTE_CHARS: usize = 2_000;
/// Notes on one dead letter.
pub const NOTES: usize = 100;
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
