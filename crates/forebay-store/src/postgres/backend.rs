//! A store on PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use forebay_core::event::Origin;
use forebay_core::id::Incarnation;
use forebay_core::time::{Millis, Timestamp};

use super::in_hand::Hand;
use super::log::{self, LogDoor};
use super::notify::Notifier;
use super::readers::Readers;
use super::session::Session;
use super::transactions::Connection;
use super::types::Owned;
use super::{Target, migrate};
use crate::ledger::desk::{Desk, Writer};
use crate::ledger::outbox::Outbox;
use crate::ledger::signals::Board;
use crate::ledger::sql;
use crate::ledger::transaction::Tx;
use crate::ledger::{Backend, Identity, Ledger, Needs};
use crate::{Clock, StoreError, SystemClock};

/// A store in a PostgreSQL database. Cheap to clone; its connections are closed with the last clone.
pub type PostgresStore = Ledger<Postgres>;

/// The desks that write, each with a connection of its own.
const DESKS: [&str; 5] = ["accept", "claim", "commit", "heartbeat", "rest"];

/// How a process uses its database.
pub struct Settings {
    /// Which database.
    pub target: Target,
    /// Reads at the same time; each has a connection. 8 unless said otherwise.
    pub readers: usize,
    /// Whether to tell other processes of commits, and to hear of theirs, by NOTIFY. Without it what they do is known
    /// within a second.
    pub notify: bool,
    /// Tells the time instead of the database; for tests.
    pub clock: Option<Arc<dyn Clock>>,
}

impl Settings {
    /// What most processes want.
    pub fn of(target: Target) -> Self {
        Self { target, readers: 8, notify: true, clock: None }
    }

    /// Connections that a process takes, at most: of each desk, of the log, of those that read, and for NOTIFY. One that
    /// looks what became of a lost one's transaction is there for a moment only.
    pub fn connections(&self) -> usize {
        DESKS.len() + 1 + self.readers + usize::from(self.notify)
    }
}

/// A PostgreSQL database.
pub struct Postgres {
    accept: Writer,
    claim: Writer,
    commit: Writer,
    heartbeat: Writer,
    rest: Writer,
    readers: Readers,
    log: LogDoor,
    /// After the desks, whose last commits it tells of.
    _notifier: Option<Notifier>,
    board: Arc<Board>,
    clock: Arc<Clockwork>,
    identity: Identity,
}

impl PostgresStore {
    /// Opens a store; makes its tables when they are not there.
    ///
    /// # Errors
    ///
    /// When the server can't be reached or does not let us in, or when a newer build has migrated the database.
    pub async fn open(settings: Settings) -> Result<Self, StoreError> {
        let opened = tokio::task::spawn_blocking(move || Postgres::open(settings)).await;
        let backend =
            opened.map_err(|error| StoreError::Unavailable(format!("opening was cut off: {error}")))??;
        Ok(Self { backend: Arc::new(backend) })
    }
}

impl Postgres {
    fn open(settings: Settings) -> Result<Self, StoreError> {
        let target = Arc::new(settings.target);
        let session = Session::open(&target)?;
        let clock = Arc::new(Clockwork::new(settings.clock));
        session.block_on(clock.look(&session))?;
        let migrated = migrate::apply(&session, &target, clock.now())?;
        if let Some(waiting) = migrated.waiting {
            tracing::info!(waiting, "the schema keeps what older processes use");
        }
        let identity = identity(&session, clock.now())?;
        forget_desks(&session, clock.now())?;
        let outbox = settings.notify.then(|| Arc::new(Outbox::default()));
        let board = Arc::new(outbox.clone().map_or_else(Board::alone, Board::among_others));
        let hand = Arc::new(Hand::default());
        let desk = |name| {
            let (target, clock, hand) = (Arc::clone(&target), Arc::clone(&clock), Arc::clone(&hand));
            let connection = Connection::new(target, clock, identity.origin, hand);
            Writer::start(name, connection, Arc::clone(&board))
        };
        let log = log::start(Arc::clone(&target), session, Arc::clone(&board))?;
        let notifier = outbox
            .map(|outbox| Notifier::start(Arc::clone(&target), outbox, Arc::clone(&board), log.clone()));
        let [accept, claim, commit, heartbeat, rest] = DESKS.map(desk);
        Ok(Self {
            accept: accept?,
            claim: claim?,
            commit: commit?,
            heartbeat: heartbeat?,
            rest: rest?,
            readers: Readers::new(Arc::clone(&target), settings.readers),
            log,
            _notifier: notifier.transpose()?,
            board,
            clock,
            identity,
        })
    }
}

impl Backend for Postgres {
    async fn write<T: Send + 'static>(
        &self,
        desk: Desk,
        needs: Needs,
        verb: impl FnMut(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let desk = match desk {
            Desk::Accept => &self.accept,
            Desk::Claim => &self.claim,
            Desk::Commit => &self.commit,
            Desk::Heartbeat => &self.heartbeat,
            Desk::Rest => &self.rest,
        };
        desk.run(needs, verb).await
    }

    async fn read<T: Send + 'static>(
        &self,
        verb: impl FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.readers.run(self.identity.origin, self.clock.now(), verb).await
    }

    async fn close_log(&self) -> Result<(), StoreError> {
        self.log.close().await
    }

    fn board(&self) -> &Board {
        &self.board
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }
}

/// What desks of processes that have ended leave behind. A commit whose answer was lost is looked up within moments.
fn forget_desks(session: &Session, now: Timestamp) -> Result<(), StoreError> {
    let unused = vec![Owned::Int(now.before(Millis::from_secs(3_600)).as_millis())];
    session.block_on(session.query(super::postgres_sql!("link/forget_desks"), unused)).map(drop)
}

fn identity(session: &Session, now: Timestamp) -> Result<Identity, StoreError> {
    let mut secret = [0_u8; 32];
    rand::fill(&mut secret);
    let (store_id, incarnation) = (rand::random::<i64>() & i64::MAX, i64::from(rand::random::<u32>()));
    session.block_on(async {
        let made = [store_id, incarnation]
            .map(Owned::Int)
            .into_iter()
            .chain([Owned::Bytes(secret.to_vec()), Owned::Int(now.as_millis())]);
        session.query(sql!("meta/create"), made.collect()).await
    })?;
    let found = session.row(sql!("meta/read"), &(), |c| {
        let store_id = c.get::<i64>()?.unsigned_abs();
        let incarnation = Incarnation(c.count()?);
        Ok(Identity { origin: Origin { store_id, incarnation }, cursor_secret: c.get()? })
    })?;
    found.ok_or_else(|| StoreError::Corrupt("the store has no identity".to_owned()))
}

/// The database's clock, told between looks at it by how far it is from this machine's.
pub(super) struct Clockwork {
    given: Option<Arc<dyn Clock>>,
    ahead: AtomicI64,
}

impl Clockwork {
    fn new(given: Option<Arc<dyn Clock>>) -> Self {
        Self { given, ahead: AtomicI64::new(0) }
    }

    pub(super) fn now(&self) -> Timestamp {
        match &self.given {
            Some(clock) => clock.now(),
            None => {
                let here = SystemClock.now().as_millis();
                Timestamp::from_millis(here + self.ahead.load(Ordering::Relaxed))
            }
        }
    }

    /// The time that the database has just told.
    pub(super) fn seen(&self, there: Timestamp) -> Timestamp {
        if let Some(clock) = &self.given {
            return clock.now();
        }
        self.ahead.store(there.as_millis() - SystemClock.now().as_millis(), Ordering::Relaxed);
        there
    }

    async fn look(&self, session: &Session) -> Result<(), StoreError> {
        let rows = session.query(super::postgres_sql!("link/now"), Vec::<Owned>::new()).await?;
        if let Some(row) = rows.first() {
            self.seen(Timestamp::from_millis(row.try_get(0)?));
        }
        Ok(())
    }
}
