//! Dead letters by the hundred thousand: finding them takes no longer than somebody waits.

use std::time::{Duration, Instant};

use forebay_core::failure::FailureClass;
use forebay_store::record::{LetterFilter, LetterQuery, LetterState};

use super::SqliteFile;
use crate::bundle::Bundle;

/// A million jobs; each tenth has failed, in one of twenty tasks, each hundredth of those for another reason than the
/// others. The statements are those of an import: nothing of the store's own would be that fast.
const FILL: &str = "
  PRAGMA synchronous = OFF;
  BEGIN;
  CREATE TEMP TABLE n AS
  WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000)
  SELECT n, randomblob(16) AS id, n % 10 = 0 AS dead, iif(n % 1000 = 0, 'auth', 'invalid_request') AS class FROM c;
  INSERT INTO jobs (id, seq, tenant, task, kind, revision, state, state_version, fence, generation, step, attempts,
    deferrals, step_since, available_at, deadline, failure_class, failure_message, priority, step_kind, pool, model,
    step_input, step_output, planned_at, place, claimable, key_first, updated_at, finished_at)
  SELECT id, n, 1, 'task' || (n / 10 % 20), 'llm', 1, iif(dead, 'FAILED_TERMINAL', 'SUCCEEDED'), 3, 1, 1, 1, 1, 0, n, n,
    n, iif(dead, class, NULL), iif(dead, 'refused', NULL), 'normal', 'call', 'main', 'small', 9, 9, n,
    0, 0, 1, n, n
  FROM n ORDER BY id;
  INSERT INTO inputs (job, body, request_digest, metadata, created_at)
  SELECT n, CAST('{}' AS BLOB), zeroblob(32), '{\"order\":\"' || n || '\"}', n FROM n ORDER BY n;
  INSERT INTO dead_letters (job_id, tenant, seq, task, revision, class, created_at, failed_at, state, owner, updated_at)
  SELECT id, 1, n, 'task' || (n / 10 % 20), 1, class, n, n, 'open', iif(n % 500 = 0, 'anna', NULL), n
  FROM n WHERE dead ORDER BY id;
  DROP TABLE n;
  COMMIT;
  PRAGMA synchronous = FULL;";

#[tokio::test]
#[ignore = "makes a million jobs first, which takes a minute"]
#[allow(clippy::disallowed_methods, reason = "what it takes by the clock is what is asked")]
async fn a_page_of_a_hundred_thousand_takes_less_than_50_ms() {
    let file = SqliteFile::new();
    let path = file.path();
    let b = Bundle::new(file).await;
    rusqlite::Connection::open(path).unwrap().execute_batch(FILL).unwrap();
    let all = LetterFilter::default;
    let filters = [
        ("all", all()),
        ("task", LetterFilter { task: Some("task7".to_owned()), ..all() }),
        ("class", LetterFilter { class: Some(FailureClass::Auth), ..all() }),
        ("owner", LetterFilter { owner: Some("anna".to_owned()), ..all() }),
        ("owner of none", LetterFilter { owner: Some("bert".to_owned()), ..all() }),
        ("unowned", LetterFilter { unowned: true, ..all() }),
    ];
    for (name, filter) in filters {
        let (mut pages, mut groups) = (Vec::new(), Vec::new());
        for _ in 0..40 {
            let query =
                LetterQuery { filter: filter.clone(), state: LetterState::Open, before: None, limit: 50 };
            let began = Instant::now();
            b.store().letters(b.alpha, query).await.unwrap();
            pages.push(began.elapsed());
            let began = Instant::now();
            b.store().letter_groups(b.alpha, LetterState::Open, filter.clone()).await.unwrap();
            groups.push(began.elapsed());
        }
        let p95 = |times: &mut Vec<Duration>| {
            times.sort();
            times[times.len() * 95 / 100]
        };
        let (page, group) = (p95(&mut pages), p95(&mut groups));
        eprintln!("{name}: page p95 {page:?}, groups p95 {group:?}");
        assert!(page < Duration::from_millis(50), "{name}: {page:?}");
    }
}
