//! How fast jobs may be handed in, to several processes at once.

use std::sync::Arc;
use std::time::Duration;

use forebay_core::rate::Counted;
use forebay_store::Accept as _;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::database::{Database, with};
use crate::bundle::Bundle;
use crate::conformance::rates::{limit, limited};

const CALLERS: usize = 48;
const ROUNDS: usize = 8;

/// Exactly as many as there is room for, whichever process they come to; and two buckets in whatever order are no deadlock.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_share_a_limit() {
    let database = Arc::new(Database::new());
    let b = Arc::new(Bundle::new(Arc::clone(&database)).await);
    let stores = [database.beside(&b).await, database.beside(&b).await];
    for round in 0..ROUNDS {
        let room = 5 + round;
        let mut limits = [
            limit(Counted::Tenant, &round.to_string(), room as u64),
            limit(Counted::Key, &round.to_string(), 1_000),
        ];
        let gate = Arc::new(Barrier::new(CALLERS));
        let mut calls = JoinSet::new();
        for nth in 0..CALLERS {
            limits.reverse();
            let (store, gate, job) = (stores[nth % 2].clone(), Arc::clone(&gate), limited(&b, &limits));
            calls.spawn(async move {
                gate.wait().await;
                store.accept(job).await.unwrap().is_ok()
            });
        }
        let accepted = calls.join_all().await.into_iter().filter(|accepted| *accepted).count();
        assert_eq!(accepted, room, "round {round}");
    }
    drop(stores);
    Arc::into_inner(b).expect("nobody else is at work").finish().await;
}

/// How often the table of buckets was looked at, by the database's own count; once that is known.
async fn looks(url: String) -> i64 {
    let asked = "SELECT coalesce(seq_scan, 0) + coalesce(idx_scan, 0) FROM pg_stat_user_tables
                 WHERE relname = 'submit_rates' AND n_tup_ins > 0";
    let counting = tokio::task::spawn_blocking(move || {
        with(url, async move |client| {
            loop {
                match client.query_opt(asked, &[]).await.unwrap() {
                    Some(row) => return row.get(0),
                    None => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        })
    });
    tokio::time::timeout(Duration::from_secs(30), counting).await.expect("it is counted").unwrap()
}

/// A job that counts against no limit costs the database nothing for them.
#[tokio::test]
async fn without_limits_no_statement_looks_at_buckets() {
    let database = Arc::new(Database::new());
    let b = Bundle::new(Arc::clone(&database)).await;
    // Another test may have had the database before.
    with(database.url(), async |client| client.batch_execute("SELECT pg_stat_reset()").await.unwrap());
    b.accept_of(b.alpha, 30).await;
    b.accept(limited(&b, &[limit(Counted::Tenant, "1", 9)])).await;
    // What connections did is counted when they end.
    b.restart().await;
    let looks = looks(database.url()).await;
    assert!((1..=3).contains(&looks), "{looks} looks for one job that had a limit");
    b.finish().await;
}
