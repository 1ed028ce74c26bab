//! The order of the log across processes: epochs, so that a reader never skips what commits late.
//!
//! A writer that holds all its row locks stamps its events with the current epoch, under a shared lock on that epoch which
//! it keeps until its commit. Whoever wants to read the newest events moves the epoch on, waits for the exclusive lock
//! on the old one, and notes it as closed: nothing can appear in it any more. Readers follow (epoch, number) up to the
//! last closed epoch.

use super::postgres_sql;
use super::session::Session;
use super::types::Owned;
use crate::StoreError;
use crate::ledger::statement::Statement;

/// Waiting for a writer ends before a writer's own limit does: a paused process of ours is over by the second try. One that
/// is paused while it closes an epoch is over by the first.
const WAITING: &str = "BEGIN; SET LOCAL lock_timeout = '3s'; SET LOCAL statement_timeout = '10s'; \
    SET LOCAL idle_in_transaction_session_timeout = '2s'";

fn statements() -> [&'static Statement; 2] {
    [postgres_sql!("log/join_epoch"), postgres_sql!("log/check_epoch")]
}

/// Has the server know what [`stamp`] asks, so that it comes in its order after what was sent before.
pub(super) async fn prepare(session: &Session) -> Result<(), StoreError> {
    session.prepare(statements().into_iter()).await
}

/// Stamps the events that this transaction is about to write, or fails it. It never waits for the lock of an epoch that is
/// being closed, since whoever closes it may wait for locks of ours: the transaction is run again, in the next epoch.
pub(super) async fn stamp(session: &Session) -> Result<(), StoreError> {
    // Two statements: the second sees what was committed after the first has its lock.
    let [join, check] = statements();
    tokio::try_join!(session.query(join, Vec::<Owned>::new()), session.query(check, Vec::<Owned>::new()))?;
    Ok(())
}

/// Moves on where somebody else has the current epoch for himself, which nobody can join then.
pub(super) async fn pass(session: &Session) -> Result<(), StoreError> {
    session.query(postgres_sql!("log/pass_epoch"), Vec::<Owned>::new()).await.map(drop)
}

/// Closes what is open and has events: what was committed before this call can be read after it. Two short transactions,
/// none of which writers wait for.
pub(super) async fn close(session: &Session) -> Result<(), StoreError> {
    let moved = session.query(postgres_sql!("log/advance_epoch"), Vec::<Owned>::new()).await?;
    let Some(row) = moved.first() else {
        return Ok(());
    };
    let (last, closed): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    let range = [closed + 1, last].map(Owned::Int).to_vec();
    match wait_and_close(session, range.clone()).await {
        Err(StoreError::Raced(reason)) => {
            // What stands in the way need not be a writer.
            if let Some(writer) = session.query(postgres_sql!("log/writers_of_epoch"), range).await?.first() {
                let pid: i32 = writer.try_get(0)?;
                return Err(StoreError::Raced(format!(
                    "the server's process {pid} is still writing: {reason}"
                )));
            }
            session.query(postgres_sql!("log/close_epoch"), vec![Owned::Int(last)]).await.map(drop)
        }
        done => done,
    }
}

async fn wait_and_close(session: &Session, range: Vec<Owned>) -> Result<(), StoreError> {
    let last = range.last().cloned().into_iter().collect();
    session.command(WAITING).await?;
    let done = async {
        session.query(postgres_sql!("log/wait_for_epoch"), range).await?;
        session.query(postgres_sql!("log/close_epoch"), last).await?;
        session.command("COMMIT").await
    };
    if let Err(error) = done.await {
        session.command("ROLLBACK").await?;
        return Err(error);
    }
    Ok(())
}
