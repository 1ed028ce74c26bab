//! Transactions of a desk: what the verbs are about is read and locked at once, and the outcome of a commit is known or
//! asked for, never guessed.

use std::sync::Arc;
use std::time::Duration;

use forebay_core::event::Origin;
use forebay_core::time::Timestamp;
use tokio::time::Instant;
use tracing::{error, info, warn};

use super::backend::Clockwork;
use super::epoch;
use super::in_hand::Hand;
use super::needed::Needed;
use super::session::Session;
use super::writes::Rows;
use super::{Target, postgres_sql};
use crate::StoreError;
use crate::ledger::desk::{Committed, Transactions, Verb, work};
use crate::ledger::signals::Board;
use crate::ledger::transaction::{Database, Known, Tx};

/// A transaction of ours is short; what holds it up is ended by the server, so that nothing of ours is locked for long.
/// Joins go by the keys that are given, whatever the server thinks of the tables' sizes; for the same reason a statement
/// is planned once and not for each of its values, and none is taken for one that is worth compiling.
const LIMITS: [&str; 9] = [
    "statement_timeout = '10s'",
    "idle_in_transaction_session_timeout = '5s'",
    "lock_timeout = '5s'",
    "enable_seqscan = off",
    "enable_hashjoin = off",
    "enable_mergejoin = off",
    "enable_memoize = off",
    "plan_cache_mode = force_generic_plan",
    "jit = off",
];
/// How long the outcome of a commit is asked for.
const ASKED: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(100);

/// The connection of a desk.
pub(super) struct Connection {
    target: Arc<Target>,
    session: Option<Session>,
    clock: Arc<Clockwork>,
    origin: Origin,
    /// What this desk signs its transactions as.
    desk: [u8; 16],
    hand: Arc<Hand>,
    /// Whether its row is there, so that whoever asks for it waits for a transaction that has changed it.
    has_row: bool,
}

impl Connection {
    pub(super) fn new(target: Arc<Target>, clock: Arc<Clockwork>, origin: Origin, hand: Arc<Hand>) -> Self {
        Self { target, session: None, clock, origin, desk: rand::random(), hand, has_row: false }
    }

    /// The session, connected anew where the last one has gone.
    fn session(&mut self) -> Result<Session, StoreError> {
        match self.session.take().filter(|session| !session.is_closed()) {
            Some(session) => Ok(session),
            None => {
                let session = Session::again(&self.target)?;
                if session.is_our_own() {
                    session
                        .block_on(session.command(&LIMITS.map(|limit| format!("SET {limit};")).concat()))?;
                }
                Ok(session)
            }
        }
    }

    /// Signs what is about to be committed, where there is something; gives the signature.
    fn sign(&self, session: &Session, now: Timestamp) -> Result<Option<[u8; 16]>, StoreError> {
        if !session.writes() {
            return Ok(None);
        }
        let signature: [u8; 16] = rand::random();
        let row = (self.desk, signature, now.as_millis());
        session.defer(postgres_sql!("link/sign"), &row, Rows::Each)?;
        Ok(Some(signature))
    }

    /// Asks what became of a commit, on a connection of its own, until it is known or too long has passed.
    fn outcome(&self, signature: [u8; 16]) -> Result<bool, StoreError> {
        warn!("the connection was lost while a transaction committed; its outcome is asked for");
        let mut session = None;
        let until = Instant::now() + ASKED;
        while Instant::now() < until {
            match self.last(&mut session) {
                Ok(last) => return Ok(last == Some(signature)),
                Err(_) => session = None,
            }
            std::thread::sleep(PAUSE);
        }
        error!("the outcome of a transaction is not known");
        Err(StoreError::Unknown("the database could not be asked in time".to_owned()))
    }

    /// The signature of this desk's last transaction that was committed.
    fn last(&self, session: &mut Option<Session>) -> Result<Option<[u8; 16]>, StoreError> {
        let session = match session {
            Some(session) => session,
            None => session.insert(Session::again(&self.target)?),
        };
        session.row(postgres_sql!("link/outcome"), &[self.desk], |c| c.get())
    }
}

impl Transactions for Connection {
    fn reach(&mut self) -> Result<(), StoreError> {
        let session = self.session()?;
        if !self.has_row {
            session.begin(false);
            session.defer(
                postgres_sql!("link/sign"),
                &(self.desk, [0; 16], self.clock.now().as_millis()),
                Rows::Each,
            )?;
            session.flush()?;
            self.has_row = true;
        }
        self.session = Some(session);
        Ok(())
    }

    fn run(
        &mut self,
        group: &mut [Box<dyn Verb>],
        standing: Option<&Board>,
    ) -> Result<Committed, StoreError> {
        let session = self.session()?;
        let (now, known) = match session.block_on(begin(&session, Needed::by(group, &self.hand, standing))) {
            Ok(begun) => begun,
            Err(error) => {
                self.session = rolled_back(session, &error);
                return Err(error);
            }
        };
        let now = self.clock.seen(now);
        let tx = Tx::knowing(Database::Postgres(&session), now, self.origin, known);
        let done = work(&tx, group, standing).and_then(|told| {
            let signature = self.sign(&session, now)?;
            Ok((told, signature))
        });
        let claimed = tx.take_claimed();
        let news = tx.into_news();
        let (told, signature) = match done {
            Ok(done) => done,
            Err(error) => {
                self.session = rolled_back(session, &error);
                return Err(error);
            }
        };
        match session.block_on(session.commit()) {
            Ok(()) => self.session = Some(session),
            Err(error @ StoreError::Unavailable(_)) => {
                drop(session);
                // What has written nothing has nothing to lose.
                if let Some(signature) = signature {
                    if !self.outcome(signature)? {
                        return Err(StoreError::Raced(format!("the commit did not happen: {error}")));
                    }
                    info!("it was committed");
                }
            }
            Err(error) => {
                self.session = rolled_back(session, &error).filter(passes_epoch);
                return Err(error);
            }
        }
        self.hand.keep(claimed);
        Ok(Committed { news, told })
    }
}

/// Gives the session back where it can be used again. What was unavailable may be so on this connection alone: a server
/// that only reads now is no longer the one to write to.
fn rolled_back(session: Session, error: &StoreError) -> Option<Session> {
    if session.is_closed() || matches!(error, StoreError::Unavailable(_)) {
        return None;
    }
    match session.block_on(session.command("ROLLBACK")) {
        Ok(()) => Some(session),
        Err(failure) => {
            info!(%failure, "a connection is given up");
            None
        }
    }
}

/// Where somebody else has the current epoch of the log for himself, the next try finds another one. Says whether the
/// connection still is of use.
fn passes_epoch(session: &Session) -> bool {
    let passed = session.block_on(epoch::pass(session));
    passed.inspect_err(|failure| info!(%failure, "a connection is given up")).is_ok()
}

/// Begins a transaction, and reads and locks what the verbs are about: one message to the server, one answer.
async fn begin(session: &Session, needs: Needed) -> Result<(Timestamp, Known), StoreError> {
    session.begin(false);
    // What has to be prepared first would be overtaken by what is known already.
    session.prepare(needs.statements()).await?;
    let begin = if session.is_our_own() {
        "BEGIN".to_owned()
    } else {
        format!("BEGIN;{}", LIMITS.map(|limit| format!("SET LOCAL {limit};")).concat())
    };
    let ((), begun) = tokio::try_join!(session.command(&begin), needs.read(session))?;
    Ok(begun)
}
