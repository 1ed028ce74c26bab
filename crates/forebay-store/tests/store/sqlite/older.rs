//! Rows from before a migration are what they were after it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use forebay_core::digest::Digest;
use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::review::{Decision, ReviewDefault};
use forebay_store::ManualClock;
use forebay_store::record::{Bytes, ReviewQuery};

use super::SqliteFile;
use crate::bundle::{Backend as _, START};

/// Makes a file as a build did that knew the migrations before this one only.
fn migrated_before(file: &SqliteFile, number: i64) {
    let connection = file.connection();
    connection
        .execute_batch("CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT, checksum TEXT, applied_at INTEGER) STRICT")
        .unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for path in files {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let (digits, name) = stem.split_once('_').unwrap();
        let nth: i64 = digits.parse().unwrap();
        if nth < number {
            let sql = fs::read_to_string(&path).unwrap();
            connection.execute_batch(&sql).unwrap();
            let row = (nth, name, Digest::of(sql.as_bytes()).to_string());
            connection.execute("INSERT INTO migrations VALUES (?1, ?2, ?3, 0)", row).unwrap();
        }
    }
}

/// Two reviews: one is open, one was closed when its job was cancelled.
const REVIEWS: &str = "
  INSERT INTO tenants (id, name, created_at) VALUES (1, 'alpha', 0);
  INSERT INTO jobs (id, seq, tenant, task, kind, revision, state, state_version, fence, generation, step, attempts,
    deferrals, step_since, available_at, deadline, failure_class, failure_message, priority, pool, place, claimable,
    key_first, updated_at, finished_at)
  VALUES (x'0a000000000000000000000000000000', 1, 1, 'invoice', 'extract', 1, 'REVIEW_REQUIRED', 3, 1, 1, 1, 1, 0, 0,
      0, 9, 'policy_failed', 'the sum', 'normal', 'main', 0, 0, 1, 5, NULL),
    (x'0b000000000000000000000000000000', 2, 1, 'invoice', 'extract', 1, 'CANCELLED', 4, 2, 1, 1, 1, 0, 0,
      0, 9, 'cancelled', 'the caller', 'normal', 'main', 0, 0, 1, 7, 7);
  INSERT INTO inputs (job_id, body, request_digest, created_at)
  SELECT id, x'7b7d', zeroblob(32), 0 FROM jobs;
  INSERT INTO events (tenant, job_id, type, state_version, at, body)
  VALUES (1, x'0a000000000000000000000000000000', 'accepted', 1, 0, x'7b7d'),
    (1, x'0b000000000000000000000000000000', 'accepted', 1, 0, x'7b7d'),
    (1, x'0b000000000000000000000000000000', 'review_required', 3, 4, x'7b7d'),
    (1, x'0a000000000000000000000000000000', 'review_required', 3, 5, x'7b7d'),
    (1, x'0b000000000000000000000000000000', 'cancelled', 4, 7, x'7b7d');
  INSERT INTO reviews (job_id, generation, tenant, opened_at, due_at, findings, output, provenance, decided_at,
    decision)
  VALUES (x'0a000000000000000000000000000000', 1, 1, 5, 50, CAST('[{\"code\":\"line_sum\"}]' AS BLOB),
      CAST('{\"total\":1}' AS BLOB), CAST('{}' AS BLOB), NULL, NULL),
    (x'0b000000000000000000000000000000', 1, 1, 4, 40, CAST('[]' AS BLOB), NULL, CAST('{}' AS BLOB), 7, 'cancelled');
";

#[tokio::test]
async fn reviews_from_before_they_could_be_decided_can_be_now() {
    let file = SqliteFile::new();
    migrated_before(&file, 6);
    file.connection().execute_batch(REVIEWS).unwrap();
    let store = file.open(Arc::new(ManualClock::at(START))).await.unwrap();
    let page = store.reviews(1, ReviewQuery { limit: 9, ..ReviewQuery::default() }).await.unwrap();
    let [open] = &page.reviews[..] else { panic!("{page:?}") };
    assert_eq!((open.seq, open.state_version, open.findings_count), (4, 3, 1));
    assert_eq!(open.finding_codes, ["line_sum"]);
    assert_eq!(open.failure.as_ref().map(|failure| failure.class), Some(FailureClass::PolicyFailed));
    assert_eq!((open.due_default, open.claim.clone()), (ReviewDefault::None, None));
    let review = store.review(1, open.job_id).await.unwrap().unwrap();
    assert_eq!(review.output, Some(Bytes::Inline(br#"{"total":1}"#.to_vec())));
    let mut cancelled = [0; 16];
    cancelled[0] = 0x0b;
    let closed = store.review(1, JobId::from_bytes(cancelled)).await.unwrap().unwrap();
    assert_eq!(
        closed.decided.map(|decided| (decided.decision, decided.seq)),
        Some((Decision::Cancelled, None))
    );
    assert_eq!(store.due_reviews(9).await.unwrap().len(), 1);
}
