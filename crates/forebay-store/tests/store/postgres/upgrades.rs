//! Processes of two releases on one database.

use std::sync::Arc;

use forebay_core::id::ProcessId;
use forebay_store::StoreError;
use forebay_store::postgres::{Migration, migrate, migrate_by};
use forebay_store::record::ProcessReport;

use super::Database;
use crate::bundle::{Backend as _, Bundle};
use crate::conformance;

/// What a later release might add: columns, a table, an index.
pub const EXPANSION: &[Migration] = &[Migration {
    number: 1_000,
    name: "later",
    sql: "-- expand
ALTER TABLE jobs ADD COLUMN dreams BIGINT;
ALTER TABLE inputs ADD COLUMN dreamer TEXT NOT NULL DEFAULT 'nobody';
ALTER TABLE attempts ADD COLUMN slept BOOLEAN;
ALTER TABLE events ADD COLUMN seen BIGINT;
CREATE TABLE dreams (id BIGINT PRIMARY KEY, job BIGINT NOT NULL);
CREATE INDEX IF NOT EXISTS dreams_of_job ON dreams (job);",
}];

const CONTRACTION: &[Migration] =
    &[Migration { number: 1_000, name: "less", sql: "-- contract: needs 9.0.0\nDROP TABLE retention;" }];

/// Databases are used again by other cases.
pub const BACK: [&str; 5] = [
    "ALTER TABLE jobs DROP COLUMN dreams",
    "ALTER TABLE inputs DROP COLUMN dreamer",
    "ALTER TABLE attempts DROP COLUMN slept",
    "ALTER TABLE events DROP COLUMN seen",
    "DROP TABLE dreams",
];

/// A process that is at work while the schema grows goes on, one that starts then works with it, and a second release
/// beyond that is refused.
#[tokio::test]
async fn an_older_process_works_beside_a_newer_one() {
    let database = Arc::new(Database::new());
    let b = Bundle::new(Arc::clone(&database)).await;
    let job = b.accept_one().await;
    let report = migrate_by(database.target(), EXPANSION).await.unwrap();
    assert_eq!(report.applied, ["later"]);
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    b.restart().await;
    conformance::steps::the_next_step_is_planned_and_journaled(&b).await;
    database.run(&format!("UPDATE jobs SET dreams = 7 WHERE seq = {}", b.job(job).await.seq));
    conformance::letters::a_replay_is_a_new_job(&b).await;
    assert_eq!(migrate(database.target()).await.unwrap().applied, [""; 0]);

    database.run(
        "UPDATE migrations SET release = '8.0.0' WHERE number = 1000;
         INSERT INTO migrations SELECT 1001, 'much', checksum, 0, kind, '9.0.0' FROM migrations WHERE number = 1000",
    );
    let refused = database.open(Arc::clone(&b.clock)).await.map(drop).unwrap_err();
    assert!(
        matches!(&refused, StoreError::Incompatible { reason, .. } if reason.contains("8.0.0")),
        "{refused}"
    );
    database.run(
        "DELETE FROM migrations WHERE number = 1001;
         UPDATE migrations SET kind = 'contract' WHERE number = 1000",
    );
    let refused = database.open(Arc::clone(&b.clock)).await.map(drop).unwrap_err();
    assert!(refused.to_string().contains("taken away what this build uses"), "{refused}");
    b.finish().await;
    BACK.iter().for_each(|statement| database.run(statement));
}

/// A contraction waits for those that use what it takes away, and names them.
#[tokio::test]
async fn a_contraction_waits_for_older_processes() {
    let database = Arc::new(Database::new());
    let b = Bundle::new(Arc::clone(&database)).await;
    let old = ProcessReport {
        id: ProcessId::from_bytes([7; 16]),
        name: "host-7".to_owned(),
        build: "forebay/8.9.9".to_owned(),
        roles: Vec::new(),
        slots: 0,
        pools: None,
        tasks: None,
        in_hand: 0,
        started_at: b.now(),
    };
    b.store().report(old.clone()).await.unwrap();
    let report = migrate_by(database.target(), CONTRACTION).await.unwrap();
    let waiting = report.waiting.unwrap();
    assert!(waiting.contains("host-7 (forebay/8.9.9)") && waiting.contains("before 9.0.0"), "{waiting}");
    assert_eq!(report.applied, [""; 0]);
    b.store().retained().await.unwrap();
    b.store().sign_off(old.id).await.unwrap();
    b.store().report(ProcessReport { build: "forebay/9.0.0".to_owned(), ..old }).await.unwrap();
    // What is to be dropped is only looked at, since others use the database after this case.
    let now = "-- contract: needs 9.0.0\nSELECT 1;";
    let harmless: &'static [Migration] =
        Box::leak(Box::new([Migration { number: 1_000, name: "less", sql: now }]));
    assert_eq!(migrate_by(database.target(), harmless).await.unwrap().applied, ["less"]);
    b.finish().await;
}
