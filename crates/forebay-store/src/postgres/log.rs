//! The log of a shared database: epochs are closed for whoever reads it, and whoever follows jobs is told of what other
//! processes have changed.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use forebay_core::id::JobId;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::{info, warn};

use super::session::Session;
use super::types::{Fixed, Owned};
use super::{Target, epoch, postgres_sql};
use crate::StoreError;
use crate::ledger::signals::Board;
use crate::ledger::transaction::News;
use crate::record::Changed;

/// How often it is looked at what others did, when nobody tells: so that it is known within a second.
const POLL: Duration = Duration::from_millis(800);
/// The time between two looks that somebody has asked for.
const GAP: Duration = Duration::from_millis(20);
/// Events that are read at once.
const PAGE: i64 = 1_000;

/// What the thread is asked to do.
enum Cue {
    /// Return when everything that was committed before can be read.
    Close(oneshot::Sender<Result<(), StoreError>>),
    /// See what others did.
    Look,
}

/// Where the thread is asked. It ends with the last door.
#[derive(Clone)]
pub(super) struct LogDoor(mpsc::Sender<Cue>);

impl LogDoor {
    /// Returns when everything that was committed before can be read.
    pub(super) async fn close(&self) -> Result<(), StoreError> {
        let closed = || StoreError::Unavailable("the store is closed".to_owned());
        let (asked, answer) = oneshot::channel();
        self.0.send(Cue::Close(asked)).map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Has it seen soon what others did.
    pub(super) fn look(&self) {
        self.0.send(Cue::Look).ok();
    }
}

/// Starts the thread. What is changed from now on is told.
pub(super) fn start(target: Arc<Target>, session: Session, board: Arc<Board>) -> Result<LogDoor, StoreError> {
    let (door, cues) = mpsc::channel();
    let now = session.block_on(look(&session))?;
    let seen = Seen { event: now.end(), revision: now.revision };
    let mut reader =
        Reader { target, board, session: Some(session), looked: Instant::now(), seen, fails: false };
    std::thread::Builder::new()
        .name("forebay-log".to_owned())
        .spawn(move || reader.run(&cues))
        .map_err(|error| StoreError::Unavailable(format!("no thread for the log: {error}")))?;
    Ok(LogDoor(door))
}

struct Reader {
    target: Arc<Target>,
    board: Arc<Board>,
    session: Option<Session>,
    /// When it was looked last at what others did.
    looked: Instant,
    /// What was seen then.
    seen: Seen,
    /// Whether the last look failed.
    fails: bool,
}

/// Epoch and number of an event.
type Position = (i64, i64);

/// How far others have come.
struct Seen {
    event: Position,
    revision: Option<i64>,
}

impl Reader {
    fn run(&mut self, cues: &mpsc::Receiver<Cue>) {
        let mut pause = POLL;
        loop {
            let first = match cues.recv_timeout(pause.saturating_sub(self.looked.elapsed())) {
                Ok(cue) => Some(cue),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut asking = Vec::new();
            for cue in first.into_iter().chain(cues.try_iter()) {
                match cue {
                    Cue::Close(asked) => asking.push(asked),
                    // Who follows nothing has time until the next look.
                    Cue::Look if self.board.is_followed() => pause = GAP,
                    Cue::Look => {}
                }
            }
            if !asking.is_empty() {
                let closed = self.on_session(close);
                asking.into_iter().for_each(|asked| drop(asked.send(closed.clone())));
            }
            if self.looked.elapsed() >= pause {
                self.look_and_say();
                pause = POLL;
            }
        }
    }

    /// Does something on the connection, or on another one where that was lost without our knowing.
    fn on_session<T>(
        &mut self,
        doing: impl AsyncFn(&Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if let Some(idle) = self.session.take().filter(|session| !session.is_closed())
            && let Ok(done) = idle.block_on(doing(&idle))
        {
            self.session = Some(idle);
            return Ok(done);
        }
        let fresh = Session::again(&self.target)?;
        let done = fresh.block_on(doing(&fresh))?;
        self.session = Some(fresh);
        Ok(done)
    }

    fn look_and_say(&mut self) {
        let failed = self.look().err();
        self.looked = Instant::now();
        match &failed {
            Some(error) if !self.fails => warn!(%error, "it can't be seen what other processes do"),
            None if self.fails => info!("what other processes do is seen again"),
            _ => {}
        }
        self.fails = failed.is_some();
    }

    /// Sees what others did, and tells those who asked.
    fn look(&mut self) -> Result<(), StoreError> {
        let now = self.on_session(look)?;
        if self.seen.revision != now.revision {
            self.board.tell(News { revision: true, ..News::default() });
            self.seen.revision = now.revision;
        }
        // After the look: who begins to follow now has not seen anything yet that is left out here.
        if !self.board.is_followed() {
            self.seen.event = now.end();
            return Ok(());
        }
        if now.has_open {
            self.on_session(close)?;
        }
        loop {
            let after = self.seen.event;
            let page = self.on_session(async |session: &Session| read(session, after).await)?;
            let Some(last) = page.last else { return Ok(()) };
            self.seen.event = last;
            self.board.tell(News { changed: page.changed, ..News::default() });
        }
    }
}

/// Closes what is open. Where somebody keeps an epoch open, what was closed before can be read all the same.
async fn close(session: &Session) -> Result<(), StoreError> {
    match epoch::close(session).await {
        Err(StoreError::Raced(reason)) => {
            warn!(reason, "an epoch of the log is kept open");
            Ok(())
        }
        closed => closed,
    }
}

/// How things stand.
struct Now {
    closed: i64,
    /// Whether there are events that can't be read yet.
    has_open: bool,
    revision: Option<i64>,
}

impl Now {
    /// Behind the last event that can be read.
    fn end(&self) -> Position {
        (self.closed, i64::MAX)
    }
}

async fn look(session: &Session) -> Result<Now, StoreError> {
    let rows = session.query(postgres_sql!("log/look"), Vec::<Owned>::new()).await?;
    let row = rows.first().ok_or_else(|| StoreError::Corrupt("the log has no epoch".to_owned()))?;
    let revision: Option<i32> = row.try_get(2)?;
    Ok(Now { closed: row.try_get(0)?, has_open: row.try_get(1)?, revision: revision.map(i64::from) })
}

/// Some of what happened.
struct Page {
    changed: Vec<Changed>,
    last: Option<Position>,
}

async fn read(session: &Session, (epoch, seq): Position) -> Result<Page, StoreError> {
    let after = [epoch, seq, PAGE].map(Owned::Int).to_vec();
    let rows = session.query(postgres_sql!("log/changed"), after).await?;
    let (mut changed, mut seen) = (Vec::new(), HashSet::new());
    for row in &rows {
        // A batch has no job; whoever follows its tenant looks.
        let job: Option<Fixed<16>> = row.try_get(3)?;
        let job_id = JobId::from_bytes(job.map_or([0; 16], Into::into));
        let tenant = row.try_get(2)?;
        if seen.insert((job_id, tenant)) {
            changed.push(Changed { job_id, tenant });
        }
    }
    let last = rows.last().map(|row| Ok::<_, StoreError>((row.try_get(0)?, row.try_get(1)?))).transpose()?;
    Ok(Page { changed, last })
}
