//! A TCP proxy that misbehaves as a test tells it: on a database link, say, it delays, loses, holds back or cuts.
//!
//! It has a thread and a runtime of its own, so that a test that blocks does not stop it; when it is dropped, its
//! connections are closed and its port is free. A switch holds from the moment that the call returns: for what is sent
//! afterwards, and for a chunk that was being delayed.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    ToServer,
    ToClient,
}

/// What happens to the bytes of one way, in every connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    Pass,
    /// Each chunk waits as long before it is passed on, one after the other.
    Delay(Duration),
    /// They are taken and thrown away: the sender notices nothing.
    Discard,
    /// They are not taken: the sender fills its buffers and then waits.
    Stall,
    /// The receiver sees the end of the stream, and nothing more ever comes in that connection. The sender notices
    /// nothing.
    HalfClose,
    /// As many bytes more are passed on in each connection, then it is cut. None: the next bytes cut it.
    CutAfter(usize, Cut),
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Orderly, as when a process ends: both sides read the end of the stream.
    Close,
    /// Hard: both sides get "connection reset by peer".
    Reset,
}

/// What happens to a chunk for the server in which a trigger finds its bytes, and to its connection from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It waits before it is passed on.
    Delay(Duration),
    /// It waits until [`Trigger::release`].
    Hold,
    /// The connection is reset; the server never sees the chunk.
    CutBefore,
    /// It is passed on; when the server answers, the connection is reset instead of passing that on. The server has
    /// then done what it was asked.
    CutAtAnswer,
    /// It is passed on, and whatever the server sends from then on is thrown away.
    LoseAnswer,
}

pub struct ChaosProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A rule about content. It ends when this is dropped, and what it held goes on.
pub struct Trigger(Arc<Rule>);

struct Shared {
    upstream: SocketAddr,
    to_server: watch::Sender<Behaviour>,
    to_client: watch::Sender<Behaviour>,
    refuses: watch::Sender<bool>,
    listens: watch::Sender<bool>,
    /// Each change cuts what is connected then.
    cut: watch::Sender<Cut>,
    connections: watch::Sender<usize>,
    rules: Mutex<Vec<Arc<Rule>>>,
}

struct Rule {
    needle: Vec<u8>,
    action: Action,
    left: Mutex<usize>,
    fired: watch::Sender<usize>,
    released: watch::Sender<bool>,
}

impl ChaosProxy {
    /// Begins to pass on to that server what comes in at a free port of this machine.
    pub fn start(upstream: SocketAddr) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket that does not block");
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared {
            upstream,
            to_server: watch::Sender::new(Behaviour::Pass),
            to_client: watch::Sender::new(Behaviour::Pass),
            refuses: watch::Sender::new(false),
            listens: watch::Sender::new(true),
            cut: watch::Sender::new(Cut::Reset),
            connections: watch::Sender::new(0),
            rules: Mutex::default(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (stop, stopped) = oneshot::channel::<()>();
        let run = {
            let shared = shared.clone();
            move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = listen(&shared, listener) => {}
                        _ = stopped => {}
                    }
                });
            }
        };
        let thread = std::thread::Builder::new().name("chaos-proxy".into()).spawn(run).expect("a thread");
        Self { address, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// Where clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on the bytes of one way are treated so.
    pub fn set(&self, way: Way, behaviour: Behaviour) {
        self.shared.behaviour(way).send_replace(behaviour);
    }

    /// Sets both ways.
    pub fn set_both(&self, behaviour: Behaviour) {
        self.set(Way::ToServer, behaviour);
        self.set(Way::ToClient, behaviour);
    }

    /// Whether new connections are refused, as by a machine on which nothing listens. Those that are there remain.
    pub async fn refuse(&self, refuses: bool) {
        self.shared.refuses.send_replace(refuses);
        let mut listens = self.shared.listens.subscribe();
        until(&mut listens, !refuses).await;
    }

    /// Ends all connections that there are.
    pub fn cut(&self, how: Cut) {
        self.shared.cut.send_replace(how);
    }

    /// How many connections there are, to wait for a number of them.
    pub fn connections(&self) -> watch::Receiver<usize> {
        self.shared.connections.subscribe()
    }

    /// The first `times` chunks for the server in which these bytes are found get this action. A chunk is what was read
    /// at once; bytes that are split over two are found in the second. Of several rules the oldest gets it.
    pub fn on(&self, needle: &[u8], times: usize, action: Action) -> Trigger {
        assert!(!needle.is_empty(), "a rule needs bytes to look for");
        let rule = Arc::new(Rule {
            needle: needle.to_vec(),
            action,
            left: Mutex::new(times),
            fired: watch::Sender::new(0),
            released: watch::Sender::new(false),
        });
        lock(&self.shared.rules).push(rule.clone());
        Trigger(rule)
    }
}

impl Drop for ChaosProxy {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Trigger {
    /// Returns when that many chunks have been found since the beginning; the last may not have been passed on yet.
    pub async fn fired(&self, times: usize) {
        self.0.fired.subscribe().wait_for(|fired| *fired >= times).await.expect("the sender is ours");
    }

    /// Lets go what is held, and holds nothing more.
    pub fn release(&self) {
        self.0.released.send_replace(true);
    }
}

impl Drop for Trigger {
    fn drop(&mut self) {
        *lock(&self.0.left) = 0;
        self.release();
    }
}

impl Shared {
    fn behaviour(&self, way: Way) -> &watch::Sender<Behaviour> {
        match way {
            Way::ToServer => &self.to_server,
            Way::ToClient => &self.to_client,
        }
    }

    /// The first rule that finds its bytes and is not used up.
    fn rule(&self, text: &[u8], fresh: usize) -> Option<Arc<Rule>> {
        lock(&self.rules).iter().find(|rule| rule.finds(text, fresh) && rule.take()).cloned()
    }

    /// How much of a chunk must be remembered for what is split over two.
    fn overlap(&self) -> usize {
        lock(&self.rules).iter().map(|rule| rule.needle.len().saturating_sub(1)).max().unwrap_or(0)
    }
}

impl Rule {
    /// Whether the bytes are in the text and end in its last `fresh` bytes: what was seen before does not count again.
    fn finds(&self, text: &[u8], fresh: usize) -> bool {
        let begin = (text.len() - fresh + 1).saturating_sub(self.needle.len());
        text[begin..].windows(self.needle.len()).any(|window| window == self.needle)
    }

    fn take(&self) -> bool {
        let mut left = lock(&self.left);
        let some = *left > 0;
        *left = left.saturating_sub(1);
        some
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn until(switch: &mut watch::Receiver<bool>, wanted: bool) {
    let _ = switch.wait_for(|now| *now == wanted).await;
}

async fn listen(shared: &Arc<Shared>, listener: std::net::TcpListener) {
    let address = listener.local_addr().expect("its address");
    let mut listener = TcpListener::from_std(listener).expect("a listener");
    let mut refuses = shared.refuses.subscribe();
    let mut relays = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            () = until(&mut refuses, true) => {
                drop(listener);
                // Bound, but not listening: connections are refused and nobody else takes the port.
                let socket = TcpSocket::new_v4().expect("a socket");
                socket.set_reuseaddr(true).expect("a socket's option");
                // A process that is just being started has the listener until it becomes a program of its own.
                while let Err(error) = socket.bind(address) {
                    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse, "our port: {error}");
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                shared.listens.send_replace(false);
                until(&mut refuses, false).await;
                listener = socket.listen(1024).expect("a listener");
                shared.listens.send_replace(true);
            }
            Some(_) = relays.join_next() => {}
            accepted = listener.accept() => {
                if let Ok((client, _)) = accepted {
                    relays.spawn(relay(shared.clone(), client));
                }
            }
        }
    }
}

/// One connection, until either side or the test ends it.
async fn relay(shared: Arc<Shared>, mut client: TcpStream) {
    let mut cuts = shared.cut.subscribe();
    let Ok(mut server) = TcpStream::connect(shared.upstream).await else {
        let _ = client.set_zero_linger();
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    shared.connections.send_modify(|count| *count += 1);
    let answer = Mutex::new(None);
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let there = Pump::new(&shared, Way::ToServer, &answer).run(from_client, to_server);
    let back = Pump::new(&shared, Way::ToClient, &answer).run(from_server, to_client);
    let how = tokio::select! {
        ended = async { tokio::try_join!(there, back) } => ended.err().unwrap_or(Cut::Close),
        _ = cuts.changed() => *cuts.borrow(),
    };
    if how == Cut::Reset {
        let _ = (client.set_zero_linger(), server.set_zero_linger());
    }
    drop((client, server));
    shared.connections.send_modify(|count| *count -= 1);
}

/// One way of one connection.
struct Pump<'a> {
    shared: &'a Shared,
    way: Way,
    behaviour: watch::Receiver<Behaviour>,
    /// What a rule has decided about everything that the server says in this connection from now on.
    answer: &'a Mutex<Option<Action>>,
    /// The end of what came before, where a rule's bytes may begin.
    tail: Vec<u8>,
    /// How many bytes have passed under this behaviour.
    passed: usize,
    /// Whether the receiver has been told that nothing more comes.
    ended: bool,
}

impl<'a> Pump<'a> {
    fn new(shared: &'a Shared, way: Way, answer: &'a Mutex<Option<Action>>) -> Self {
        let behaviour = shared.behaviour(way).subscribe();
        Self { shared, way, behaviour, answer, tail: Vec::new(), passed: 0, ended: false }
    }

    async fn run(mut self, mut from: ReadHalf<'_>, mut to: WriteHalf<'_>) -> Result<(), Cut> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let behaviour = self.behaviour_now();
            if behaviour == Behaviour::HalfClose && !self.ended {
                self.ended = true;
                let _ = to.shutdown().await;
            }
            let read = tokio::select! {
                biased;
                () = self.changed() => continue,
                read = from.read(&mut buffer), if behaviour != Behaviour::Stall => read,
            };
            match read.map_err(|_| Cut::Reset)? {
                0 => break,
                length => self.treat(&buffer[..length], &mut to).await?,
            }
        }
        // The receiver learns of the end as it would of bytes.
        let _ = self
            .behaviour
            .wait_for(|behaviour| !matches!(behaviour, Behaviour::Discard | Behaviour::Stall))
            .await;
        if self.answer() != Some(Action::LoseAnswer) {
            let _ = to.shutdown().await;
        }
        Ok(())
    }

    fn behaviour_now(&mut self) -> Behaviour {
        if self.behaviour.has_changed().is_ok_and(|changed| changed) {
            self.passed = 0;
        }
        *self.behaviour.borrow_and_update()
    }

    async fn changed(&mut self) {
        let _ = self.behaviour.changed().await;
        self.passed = 0;
    }

    fn answer(&self) -> Option<Action> {
        lock(self.answer).filter(|_| self.way == Way::ToClient)
    }

    async fn treat(&mut self, chunk: &[u8], to: &mut WriteHalf<'_>) -> Result<(), Cut> {
        match self.answer() {
            Some(Action::CutAtAnswer) => return Err(Cut::Reset),
            Some(_) => return Ok(()),
            None => {}
        }
        if self.way == Way::ToServer {
            self.follow_rules(chunk).await?;
        }
        let (length, cut) = loop {
            match self.behaviour_now() {
                _ if self.ended => return Ok(()),
                Behaviour::Discard | Behaviour::HalfClose => return Ok(()),
                Behaviour::Stall => self.changed().await,
                Behaviour::Delay(time) => {
                    if tokio::time::timeout(time, self.changed()).await.is_err() {
                        break (chunk.len(), Ok(()));
                    }
                }
                Behaviour::CutAfter(bytes, how) if chunk.len() >= bytes - self.passed => {
                    break (bytes - self.passed, Err(how));
                }
                Behaviour::CutAfter(..) | Behaviour::Pass => break (chunk.len(), Ok(())),
            }
        };
        self.passed += length;
        to.write_all(&chunk[..length]).await.map_err(|_| Cut::Reset)?;
        cut
    }

    async fn follow_rules(&mut self, chunk: &[u8]) -> Result<(), Cut> {
        self.tail.extend_from_slice(chunk);
        let rule = self.shared.rule(&self.tail, chunk.len());
        let known = self.tail.len().saturating_sub(self.shared.overlap());
        self.tail.drain(..known);
        let Some(rule) = rule else { return Ok(()) };
        rule.fired.send_modify(|fired| *fired += 1);
        match rule.action {
            Action::Delay(time) => tokio::time::sleep(time).await,
            Action::Hold => until(&mut rule.released.subscribe(), true).await,
            Action::CutBefore => return Err(Cut::Reset),
            Action::CutAtAnswer | Action::LoseAnswer => *lock(self.answer) = Some(rule.action),
        }
        Ok(())
    }
}
