//! What waits is written as one transaction, and each caller gets its own answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forebay_core::digest::Digest;
use forebay_store::record::{AcceptRefused, Actor, NewJob, NewKey};
use rusqlite::Connection;
use tokio::task::JoinSet;

use super::SqliteFile;
use crate::bundle::{Bundle, succeed, succeeded, used};

/// A bundle and a connection that can keep its writer waiting.
async fn held_up() -> (Bundle, Connection) {
    let file = SqliteFile::new();
    let path = file.path();
    let b = Bundle::new(file).await;
    let connection = Connection::open(path).unwrap();
    (b, connection)
}

/// Runs verbs that all wait before the first of them is written: what it has taken in by then is a
/// group, and the rest another.
async fn together<T: Send + 'static>(
    connection: &Connection,
    verbs: Vec<impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (count, sent) = (verbs.len(), Arc::new(AtomicUsize::new(0)));
    let mut calls = JoinSet::new();
    for (nth, verb) in verbs.into_iter().enumerate() {
        let sent = Arc::clone(&sent);
        calls.spawn(async move {
            // A verb is sent when it is first looked at, and this runtime looks at one task at a time.
            sent.fetch_add(1, Ordering::Relaxed);
            (nth, verb.await)
        });
    }
    while sent.load(Ordering::Relaxed) < count {
        tokio::task::yield_now().await;
    }
    connection.execute_batch("ROLLBACK").unwrap();
    let mut answers = calls.join_all().await;
    answers.sort_by_key(|(nth, _)| *nth);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

fn commits(
    changes: &mut tokio::sync::broadcast::Receiver<Arc<Vec<forebay_store::record::Changed>>>,
) -> Vec<usize> {
    std::iter::from_fn(|| changes.try_recv().ok()).map(|commit| commit.len()).collect()
}

#[tokio::test]
async fn what_waits_is_one_commit() {
    let (b, connection) = held_up().await;
    let mut changes = b.store().changes();
    let verbs = (0..100).map(|_| {
        let (store, job) = (b.store(), b.new_job());
        async move { store.accept(job).await }
    });
    let answers = together(&connection, verbs.collect()).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap().is_ok()));
    b.accept_one().await;
    let commits = commits(&mut changes);
    assert!(commits.len() <= 3, "what was under way, all the rest, and the last: {commits:?}");
    b.finish().await;
}

/// The group of a bad one is run again, one by one; nothing is written twice.
#[tokio::test]
async fn one_bad_verb_does_not_fail_its_group() {
    let (b, connection) = held_up().await;
    let twice = b.new_job();
    let jobs: Vec<NewJob> = (0..50)
        .map(|nth| match nth {
            20 => b.new_job_of(4_711),
            30 | 31 => twice.clone(),
            _ => b.new_job(),
        })
        .collect();
    let verbs = jobs.into_iter().map(|job| {
        let store = b.store();
        async move { store.accept(job).await }
    });
    let answers = together(&connection, verbs.collect()).await;
    let failed: Vec<usize> =
        answers.iter().enumerate().filter(|(_, answer)| answer.is_err()).map(|(nth, _)| nth).collect();
    assert_eq!(failed, [31], "an id that is taken");
    assert!(matches!(answers[20], Ok(Err(AcceptRefused::NoTenant))));
    assert_eq!(b.tenant(b.alpha).await.pending_jobs, 48);
    assert_eq!(b.events(b.alpha, None).await.len(), 48);
    b.finish().await;
}

/// Verbs of all kinds share a transaction: each sees what those before it wrote.
#[tokio::test]
async fn verbs_of_one_group_see_each_other_in_order() {
    let (b, connection) = held_up().await;
    b.accept_of(b.alpha, 4).await;
    let claims = (0..6).map(|_| {
        let (store, claim) = (b.store(), b.new_claim());
        async move { store.claim(claim).await.unwrap() }
    });
    let replies = together(&connection, claims.collect()).await;
    let claimed: Vec<usize> = replies.iter().map(|reply| reply.claimed.len()).collect();
    assert_eq!(claimed, [1, 1, 1, 1, 0, 0]);
    let key = |secret: &str| NewKey {
        tenant: b.alpha,
        name: "ci".to_owned(),
        digest: Digest::of(secret.as_bytes()),
        hint: String::new(),
        scopes: vec![],
        expires_at: None,
        max_in_flight: None,
    };
    let keys = [key("a"), key("b"), key("a")].map(|key| {
        let store = b.store();
        async move { store.add_key(key, Actor::program()).await.is_ok() }
    });
    assert_eq!(together(&connection, keys.into()).await, [true, true, false]);
    b.finish().await;
}

/// What the writer has taken in is written although the store is closed at once.
#[tokio::test]
async fn closing_waits_for_what_was_sent() {
    let b = Bundle::new(SqliteFile::new()).await;
    let (store, job) = (b.store(), b.new_job());
    let id = job.id;
    tokio::select! {
        biased;
        _ = store.accept(job) => {}
        () = std::future::ready(()) => {}
    }
    drop(store);
    b.restart().await;
    b.job(id).await;
    b.finish().await;
}

/// I1, I12, I24: a verb that fails at its end leaves nothing of what it wrote before.
#[tokio::test]
async fn a_verb_that_fails_at_its_end_leaves_nothing() {
    let (b, connection) = held_up().await;
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    let before = (b.job(job).await, b.attempts(job).await, b.events(b.alpha, None).await);
    // The result is the last that a commit writes; here is one already, which no verb would leave.
    let result = "INSERT INTO results VALUES (?1, 1, x'31', NULL, x'31', 0)";
    connection.execute(result, [before.0.seq]).unwrap();
    let commit = b.new_commit(&claimed, succeeded(used(10, 5)), succeed());
    assert!(b.store().commit_step(commit).await.is_err());
    assert_eq!((b.job(job).await, b.attempts(job).await, b.events(b.alpha, None).await), before);
    connection.execute("DELETE FROM results", ()).unwrap();
    b.succeed(&claimed).await;
    b.finish().await;
}
