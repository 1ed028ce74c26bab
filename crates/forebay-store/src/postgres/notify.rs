//! What processes tell each other: NOTIFY and LISTEN, on a connection of their own.
//!
//! It is a hint, sent after commits and outside of the ledger's transactions, of which the server would let only one
//! commit at a time. Everything works without: whoever waits for something looks for it once a second. A notice of this
//! process comes back to it, too, by which it knows that it hears others.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::poll_fn;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client};
use tracing::{debug, info, warn};

use super::Target;
use super::connect::{self, Link};
use super::log::LogDoor;
use super::notice::{self, Heard, Sender};
use crate::StoreError;
use crate::ledger::outbox::{Notice, Outbox};
use crate::ledger::signals::Board;
use crate::ledger::transaction::News;

const LISTEN: &str = "LISTEN forebay";
const NOTIFY: &str = "SELECT pg_notify('forebay', $1)";
/// Others hear of a commit at once where nobody has just been told of another one, else as much later.
const GAP: Duration = Duration::from_millis(20);
/// How long anything may take until the connection is given up.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the end of the process waits for its last notice.
const LAST: Duration = Duration::from_millis(500);
/// How long until it is tried again, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// The thread that tells and hears; it ends when this is dropped.
pub(super) struct Notifier {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Notifier {
    pub(super) fn start(
        target: Arc<Target>,
        outbox: Arc<Outbox>,
        board: Arc<Board>,
        log: LogDoor,
    ) -> Result<Self, StoreError> {
        let failed = |error| StoreError::Unavailable(format!("no thread for notices: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (stop, stopped) = oneshot::channel();
        let post = Post { target, outbox, board, log, own: Sender::new() };
        let thread = std::thread::Builder::new()
            .name("forebay-notify".to_owned())
            .spawn(move || runtime.block_on(post.run(stopped)))
            .map_err(failed)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.stop.take();
        // Not waited for longer than it takes to tell what was still to be told.
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            warn!("the thread for notices panicked");
        }
    }
}

struct Post {
    target: Arc<Target>,
    outbox: Arc<Outbox>,
    board: Arc<Board>,
    log: LogDoor,
    own: Sender,
}

/// A connection that tells and listens.
struct Open {
    client: Client,
    heard: mpsc::UnboundedReceiver<String>,
    /// Whether notices come in. Not where a pooler in transaction mode stands in between.
    listens: bool,
    /// When a notice was sent that should come back and has not yet.
    unheard: Option<Instant>,
}

impl Post {
    async fn run(self, mut stopped: oneshot::Receiver<()>) {
        let mut pause = PAUSES.0;
        loop {
            let connected = tokio::select! {
                connected = self.connect() => connected,
                _ = &mut stopped => return,
            };
            let failure = match connected {
                Ok(mut open) => {
                    pause = PAUSES.0;
                    let failed = tokio::select! {
                        failed = self.exchange(&mut open) => failed,
                        _ = &mut stopped => return self.tell_the_last(&mut open).await,
                    };
                    info!(
                        failure = failed,
                        "nothing is heard of other processes until there is a connection"
                    );
                    failed
                }
                Err(failure) => failure,
            };
            debug!(failure, "no connection for notices");
            tokio::select! {
                () = sleep(pause) => {}
                _ = &mut stopped => return,
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    async fn connect(&self) -> Result<Open, String> {
        let mark = self.own.to_string();
        let (client, link) = connect::marked(&self.target, &mark).await.map_err(|error| error.to_string())?;
        let heard = hear(link);
        let listens = in_time(connect::has_mark(&client, &mark)).await?;
        if listens {
            in_time(client.batch_execute(LISTEN)).await?;
        } else {
            info!("a pooler is in between: what other processes do is looked for once a second");
        }
        let mut open = Open { client, heard, listens, unheard: None };
        self.send(&mut open, notice::ping(self.own)).await?;
        // What others have told before we listened.
        self.look_everywhere();
        Ok(open)
    }

    /// Tells and hears until the connection fails; says why.
    async fn exchange(&self, open: &mut Open) -> String {
        let mut next = Instant::now();
        loop {
            let overdue = open.unheard.map(|sent| sent + PATIENCE);
            tokio::select! {
                heard = open.heard.recv() => match heard {
                    Some(text) => self.take_in(open, &text),
                    None => return "the connection was lost".to_owned(),
                },
                () = async { sleep_until(next).await; self.outbox.filled().await } => {
                    let notice = self.outbox.take();
                    if notice.is_empty() {
                        continue;
                    }
                    if let Err(failure) = self.send(open, notice::write(self.own, &notice)).await {
                        return failure;
                    }
                    next = Instant::now() + GAP;
                }
                () = sleep_until(overdue.unwrap_or(next)), if overdue.is_some() => {
                    return "what was sent does not come back".to_owned();
                }
            }
        }
    }

    fn take_in(&self, open: &mut Open, text: &str) {
        match notice::read(self.own, text) {
            Heard::Echo => open.unheard = None,
            Heard::Notice(Notice { pools, taken, log, revision }) => {
                self.board.tell(News { pools, taken, revision, ..News::default() });
                if log {
                    self.log.look();
                }
            }
            Heard::Anything => self.look_everywhere(),
        }
    }

    fn look_everywhere(&self) {
        self.board.tell_all();
        self.log.look();
    }

    /// Sends a notice. Should the server die over it, nobody minds that it is lost: its commit waits for no disk.
    async fn send(&self, open: &mut Open, text: String) -> Result<(), String> {
        if open.listens {
            open.unheard.get_or_insert_with(Instant::now);
        }
        let payload: [(&(dyn ToSql + Sync), Type); 1] = [(&text, Type::TEXT)];
        in_time(async {
            let begun = open.client.batch_execute("BEGIN; SET LOCAL synchronous_commit = off");
            let sent = open.client.execute_typed(NOTIFY, &payload);
            let done = open.client.batch_execute("COMMIT");
            tokio::try_join!(begun, sent, done)
        })
        .await?;
        Ok(())
    }

    /// What this process has committed before it ended: jobs that it has handed back, say.
    async fn tell_the_last(&self, open: &mut Open) {
        let notice = self.outbox.take();
        if notice.is_empty() {
            return;
        }
        let sent = timeout(LAST, self.send(open, notice::write(self.own, &notice))).await;
        if !matches!(sent, Ok(Ok(()))) {
            debug!("other processes are not told of the last commits; they find out within a second");
        }
    }
}

async fn in_time<T>(doing: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, String> {
    match timeout(PATIENCE, doing).await {
        Ok(done) => done.map_err(|error| StoreError::from(error).to_string()),
        Err(_) => Err("the server does not answer".to_owned()),
    }
}

/// Runs the connection; gives what is heard on it, until it ends.
fn hear(link: Link) -> mpsc::UnboundedReceiver<String> {
    let (tell, heard) = mpsc::unbounded_channel();
    tokio::runtime::Handle::current().spawn(async move {
        let mut link = link;
        let mut messages = poll_fn(move |context| link.poll_message(context));
        while let Some(Ok(message)) = messages.next().await {
            if let AsyncMessage::Notification(notification) = message {
                tell.send(notification.payload().to_owned()).ok();
            }
        }
    });
    heard
}
