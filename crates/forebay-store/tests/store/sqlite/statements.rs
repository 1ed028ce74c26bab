//! Every statement is one that the database takes, and those that run often find their rows by an index.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forebay_store::ManualClock;
use forebay_store::record::Actor;
use rusqlite::Connection;

use super::SqliteFile;
use crate::bundle::{Backend, Bundle, START};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/sqlite")
}

fn statements(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { statements(&path) } else { vec![path] }).collect()
}

async fn migrated() -> (SqliteFile, Connection) {
    let file = SqliteFile::new();
    file.open(Arc::new(ManualClock::at(START))).await.unwrap();
    let connection = file.connection();
    (file, connection)
}

#[tokio::test]
async fn every_file_is_one_statement_that_the_database_takes() {
    let (_file, connection) = migrated().await;
    let files = statements(&folder());
    assert!(files.len() > 80, "only {} files were found", files.len());
    for path in files {
        assert_eq!(path.extension().unwrap(), "sql", "{}", path.display());
        let sql = fs::read_to_string(&path).unwrap();
        if let Err(error) = connection.prepare(&sql) {
            panic!("{}: {error}", path.display());
        }
        let ends =
            sql.lines().filter(|line| !line.trim_start().starts_with("--")).any(|line| line.contains(';'));
        assert!(!ends, "{} has more than one statement", path.display());
    }
}

/// Statements that no source names are left-overs.
#[test]
fn every_file_is_used() {
    let sources = statements(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let sources: String = sources.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    for path in statements(&folder()) {
        let name = path.strip_prefix(folder()).unwrap().with_extension("");
        let name = format!("sql!(\"{}\")", name.display());
        assert!(sources.contains(&name), "nothing uses {name}");
    }
}

fn plan(connection: &Connection, name: &str) -> Vec<String> {
    let sql = fs::read_to_string(folder().join(name).with_extension("sql")).unwrap();
    let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let unbound = statement.parameter_count();
    for nth in 1..=unbound {
        statement.raw_bind_parameter(nth, 1).unwrap();
    }
    let mut rows = statement.raw_query();
    let mut plan = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        plan.push(row.get(3).unwrap());
    }
    plan
}

/// The cost of a claim and of maintenance must not grow with the backlog or with what has ended.
#[tokio::test]
async fn what_runs_often_uses_its_partial_index() {
    let (_file, connection) = migrated().await;
    let table = [
        ("claim/front", "jobs_claimable"),
        ("claim/promote_due", "jobs_scheduled"),
        ("claim/next_due", "jobs_scheduled"),
        ("upkeep/lapsed", "jobs_leases"),
        ("upkeep/overdue", "jobs_deadlines"),
        ("upkeep/end_job_leases", "jobs_leases"),
        ("ordering/first", "jobs_first_of_key"),
        ("ordering/release", "jobs_of_key"),
        ("ordering/release", "jobs_first_of_key"),
        ("ordering/release_again", "inputs_replay_of"),
        ("ordering/free", "kept_keys_by_latest"),
        ("ordering/kept", "kept_keys_by_key"),
        ("jobs/list", "inputs_of_tenant"),
        ("inspect/ahead", "jobs_claimable"),
        ("inspect/lanes", "jobs_claimable"),
        ("inspect/pool_waiting", "jobs_claimable"),
        ("inspect/recent_durations", "inputs_of_tenant"),
        ("attempts/open", "attempts_of_job"),
        ("attempts/owned", "attempts_of_job"),
        ("claim/journal", "steps_of_job"),
        ("claim/extend_grant", "attempts_of_job"),
        ("upkeep/lapsed_grants", "attempts_permits"),
        ("upkeep/end_grant_leases", "attempts_permits"),
        ("inspect/steps", "steps_of_job"),
        ("jobs/result", "results_of_job"),
        ("inspect/attempts", "attempts_of_job"),
        ("log/of_job", "events_of_job"),
        ("log/of_tenant", "events_of_tenant"),
        ("batches/close_member", "batch_members_of_job"),
        ("batches/page", "batches_of_tenant"),
        ("batches/find_key", "batches_of_key"),
        ("jobs/list_of_batch", "PRIMARY KEY (batch=?)"),
        ("letters/page", "COVERING INDEX dead_letters_by_state"),
        ("letters/oldest", "COVERING INDEX dead_letters_by_state"),
        ("letters/left", "COVERING INDEX dead_letters_by_state"),
        ("letters/groups", "COVERING INDEX dead_letters_by_group"),
        ("letters/open", "dead_letters_open"),
        ("letters/notes", "dead_letter_notes_of_job"),
        ("letters/replays", "inputs_replay_of"),
        ("letters/reopen", "inputs_replay_of"),
        ("reviews/list", "reviews_open"),
        ("reviews/due", "reviews_due"),
        ("reviews/count_overdue", "reviews_"),
        ("reviews/decided", "reviews_decided"),
    ];
    for (name, index) in table {
        let plan = plan(&connection, name);
        assert!(plan.iter().any(|step| step.contains(index)), "{name} does not use {index}: {plan:#?}");
        let scan = plan.iter().any(|step| {
            (step.starts_with("SCAN j")
                || step.starts_with("SCAN events")
                || step.starts_with("SCAN attempts")
                || step.starts_with("SCAN d")
                || step.starts_with("SCAN i"))
                && !step.contains("INDEX")
        });
        assert!(!scan, "{name} reads a whole table: {plan:#?}");
    }
}

/// I12: no verb comes to an attempt that is settled, and no statement would settle it again.
#[tokio::test]
async fn an_attempt_that_is_settled_is_closed_to_every_statement() {
    let file = SqliteFile::new();
    let connection = file.connection();
    let b = Bundle::new(file).await;
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    let statement = |name: &str| fs::read_to_string(folder().join(name).with_extension("sql")).unwrap();
    let (fence, attempt) = (i64::try_from(claimed.fence).unwrap(), claimed.attempt_id.as_bytes());
    let number: i64 = connection
        .query_row(&statement("attempts/owned"), (job.as_bytes(), fence, attempt), |row| row.get(0))
        .expect("it is the holder's");
    let open = connection.prepare(&statement("attempts/open")).unwrap().exists((number, fence)).unwrap();
    assert!(!open, "and is not open");
    let mut settle = connection.prepare(&statement("attempts/settle")).unwrap();
    let changed = settle
        .execute(rusqlite::named_params! {
            ":job": number, ":fence": fence, ":keep_permit": false, ":now": 1, ":outcome": "unknown", ":failure_class": "internal",
            ":message": "again", ":provider_request_id": "r", ":provider_model": "m", ":input_tokens": 1,
            ":cached_tokens": 1, ":output_tokens": 1, ":reasoning_tokens": 1, ":cost_micros": 1,
            ":uncertain_micros": 1, ":overage_micros": 1,
        })
        .unwrap();
    assert_eq!(changed, 0);
    b.finish().await;
}

/// A permit whose lease was extended since it was found is not swept.
#[tokio::test]
async fn a_permit_that_is_live_again_stays() {
    let file = SqliteFile::new();
    let connection = file.connection();
    let b = Bundle::new(file).await;
    let job = b.accept_one().await;
    b.claim_one().await;
    b.store().cancel(b.alpha, job, Actor::program()).await.unwrap();
    let sql = fs::read_to_string(folder().join("attempts/permit.sql")).unwrap();
    let find = "SELECT job, fence, permit_until FROM attempts";
    let (job, fence, until): (i64, i64, i64) =
        connection.query_row(find, (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let lapsed = |at: i64| connection.prepare(&sql).unwrap().exists((job, fence, at)).unwrap();
    assert!(!lapsed(until - 1) && lapsed(until));
    b.finish().await;
}

/// What is written for each job makes no table of its own meanwhile: that costs as much as the row.
#[tokio::test]
async fn what_runs_for_each_job_makes_no_table_on_the_way() {
    let (_file, connection) = migrated().await;
    let folders = ["accept", "attempts", "log", "steps"];
    let files = folders.iter().flat_map(|name| statements(&folder().join(name)));
    let more = [
        "claim/insert_attempt",
        "claim/update_pool",
        "claim/charge_bucket",
        "claim/put_lane",
        "calls/count",
        "jobs/claim",
        "jobs/update",
        "jobs/plan",
    ];
    for path in files.chain(more.map(|name| folder().join(name).with_extension("sql"))) {
        let sql = fs::read_to_string(&path).unwrap();
        let mut statement = connection.prepare(&format!("EXPLAIN {sql}")).unwrap();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next().unwrap() {
            let operation: String = row.get(1).unwrap();
            let makes = ["OpenEphemeral", "OpenAutoindex", "SorterOpen"].contains(&operation.as_str());
            assert!(!makes, "{} does {operation}", path.display());
        }
    }
}
