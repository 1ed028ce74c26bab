//! What has ended is passed by: a job costs as much to take in, to hand out and to end beside many that have ended as
//! beside none.

use std::sync::Arc;

use forebay_store::record::{Actor, JobQuery};

use super::database::Database;
use crate::bundle::{Bundle, LEASE};

/// Enough that to walk over them shows, be it once in all rounds.
const ENDED: usize = 30_000;
const ROUNDS: usize = 20;
/// Rows and entries of indexes that a round may read: three jobs, what maintenance looks for, and a page of a list.
const EACH: u64 = 1_500;

/// Copies of the one job that there is, which has ended, as if they had come before it.
fn multiply(database: &Database) {
    database.run(&format!(
        "DO $$ DECLARE job jobs; input inputs; attempt attempts; BEGIN
             SELECT * FROM jobs INTO job; SELECT * FROM inputs INTO input; SELECT * FROM attempts INTO attempt;
             FOR nth IN 1..{ENDED} LOOP
                 job.seq = -nth; job.id = gen_random_uuid();
                 input.job = job.seq; input.id = job.id;
                 attempt.job = job.seq; attempt.id = gen_random_uuid();
                 INSERT INTO jobs VALUES (job.*); INSERT INTO inputs VALUES (input.*); INSERT INTO attempts VALUES (attempt.*);
             END LOOP;
         END $$"
    ));
    database.run("ANALYZE");
}

/// How much was read so far, of tables and of indexes. The server is sure of it when the store's connections have ended.
async fn read(database: &Database, b: &Bundle) -> u64 {
    let now = database.now();
    b.restart().await;
    database.until_gone(&now).await;
    let asked = "SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)
                      + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)";
    database.ask(asked)[0].parse().unwrap()
}

/// F75: what runs often finds its rows by the indexes that hold nothing that has ended.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_ended_costs_nobody_anything() {
    let database = Arc::new(Database::new());
    let b = Bundle::new(Arc::clone(&database)).await;
    b.accept_one().await;
    b.succeed(&b.claim_one().await).await;
    multiply(&database);
    let before = read(&database, &b).await;
    for nth in 0..ROUNDS {
        let (key, job) = (format!("key-{nth}"), b.accept_one().await);
        b.accept(b.keyed_job(&key)).await;
        b.accept(b.ordered_job(&key)).await;
        b.succeed(&b.claim_one().await).await;
        b.store().cancel(b.alpha, b.claim_one().await.job_id, Actor::program()).await.unwrap();
        b.wait(LEASE);
        b.claim_one().await;
        b.lapsed().await;
        b.store().overdue(100).await.unwrap();
        b.store().sweep_grants(100).await.unwrap();
        b.job(job).await;
        b.store().jobs(b.alpha, JobQuery { limit: 20, ..JobQuery::default() }).await.unwrap();
    }
    let each = (read(&database, &b).await - before) / ROUNDS as u64;
    assert!(each <= EACH, "{each} rows and entries a round");
}
