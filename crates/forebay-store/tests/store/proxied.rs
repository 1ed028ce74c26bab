//! The chaos proxy does to a connection what a test tells it to, so that other tests may rely on it.

use std::io::{ErrorKind, Read as _, Write as _};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::Instant;

use crate::chaos_proxy::{Action, Behaviour, ChaosProxy, Cut, Way};

const HOUR: Duration = Duration::from_secs(3600);

/// A proxy, and a server behind it that the test plays itself.
struct Link {
    proxy: ChaosProxy,
    server: TcpListener,
}

/// Both ends of a connection.
struct Ends {
    client: TcpStream,
    server: TcpStream,
}

impl Link {
    async fn new() -> Self {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { proxy: ChaosProxy::start(server.local_addr().unwrap()), server }
    }

    async fn connect(&self) -> Ends {
        let client = TcpStream::connect(self.proxy.address()).await.unwrap();
        let (server, _) = soon(self.server.accept()).await.unwrap();
        Ends { client, server }
    }

    /// Sends something to the server and returns when the proxy has seen it.
    async fn send_and_see(&self, ends: &mut Ends, text: &str) {
        let seen = self.proxy.on(text.as_bytes(), 1, Action::Delay(Duration::ZERO));
        ends.client_sends(text).await;
        soon(seen.fired(1)).await;
    }
}

impl Ends {
    async fn client_sends(&mut self, text: &str) {
        self.client.write_all(text.as_bytes()).await.unwrap();
    }

    async fn server_sends(&mut self, text: &str) {
        self.server.write_all(text.as_bytes()).await.unwrap();
    }
}

/// Waits, but never for ever.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it takes too long")
}

/// Reads until the text is there.
async fn expect(stream: &mut TcpStream, text: &str) {
    let mut read = vec![0; text.len()];
    soon(stream.read_exact(&mut read)).await.unwrap();
    assert_eq!(String::from_utf8(read).unwrap(), text);
}

/// Reads to the end: what came, and whether it ended in good order.
async fn rest(stream: &mut TcpStream) -> (String, Option<ErrorKind>) {
    let mut read = Vec::new();
    let error = soon(stream.read_to_end(&mut read)).await.err().map(|error| error.kind());
    (String::from_utf8(read).unwrap(), error)
}

const NOTHING: (String, Option<ErrorKind>) = (String::new(), None);

fn nothing_yet(stream: &TcpStream) -> bool {
    stream.try_read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[tokio::test]
async fn it_passes_both_ways_and_the_end_of_each() {
    let link = Link::new().await;
    let mut ends = link.connect().await;
    ends.client_sends("question").await;
    ends.client.shutdown().await.unwrap();
    assert_eq!(rest(&mut ends.server).await, ("question".into(), None));
    ends.server_sends("answer").await;
    drop(ends.server);
    assert_eq!(rest(&mut ends.client).await, ("answer".into(), None));
    soon(link.proxy.connections().wait_for(|count| *count == 0)).await.unwrap();
}

#[test]
fn it_serves_a_test_that_blocks() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = ChaosProxy::start(server.local_addr().unwrap());
    let mut client = std::net::TcpStream::connect(proxy.address()).unwrap();
    client.write_all(b"question").unwrap();
    let mut read = [0; 8];
    server.accept().unwrap().0.read_exact(&mut read).unwrap();
    assert_eq!(&read, b"question");
}

#[tokio::test]
async fn a_delay_is_kept_and_ends_when_it_is_taken_back() {
    let link = Link::new().await;
    let mut ends = link.connect().await;
    let (began, delay) = (Instant::now(), Duration::from_millis(60));
    link.proxy.set(Way::ToServer, Behaviour::Delay(delay));
    ends.client_sends("late").await;
    expect(&mut ends.server, "late").await;
    assert!(began.elapsed() >= delay);

    link.proxy.set(Way::ToServer, Behaviour::Delay(HOUR));
    link.send_and_see(&mut ends, "later").await;
    assert!(nothing_yet(&ends.server));
    link.proxy.set(Way::ToServer, Behaviour::Pass);
    expect(&mut ends.server, "later").await;
}

#[tokio::test]
async fn what_is_discarded_never_comes() {
    let link = Link::new().await;
    let mut ends = link.connect().await;
    link.proxy.set(Way::ToServer, Behaviour::Discard);
    ends.server_sends("the other way is open").await;
    expect(&mut ends.client, "the other way is open").await;
    link.send_and_see(&mut ends, "lost").await;
    // One after the other: when it sees this, it is done with that.
    link.send_and_see(&mut ends, "perhaps ").await;
    link.proxy.set(Way::ToServer, Behaviour::Pass);
    ends.client_sends("found").await;
    ends.client.shutdown().await.unwrap();
    let (came, _) = rest(&mut ends.server).await;
    assert!(came == "found" || came == "perhaps found", "{came}");
}

#[tokio::test]
async fn an_end_is_lost_like_bytes_until_the_way_is_open_again() {
    let link = Link::new().await;
    let mut ends = link.connect().await;
    link.proxy.set_both(Behaviour::Discard);
    ends.client.shutdown().await.unwrap();
    assert!(nothing_yet(&ends.server));
    link.proxy.set_both(Behaviour::Pass);
    assert_eq!(rest(&mut ends.server).await, NOTHING);
}

#[tokio::test]
async fn what_is_stalled_fills_the_senders_buffers_and_comes_later() {
    let link = Link::new().await;
    let mut ends = link.connect().await;
    link.proxy.set(Way::ToServer, Behaviour::Stall);
    let mut sent = 0;
    // The kernel takes some, and then no more: on this machine some megabytes.
    while let Ok(Ok(length)) =
        tokio::time::timeout(Duration::from_millis(200), ends.client.write(&[7; 64 * 1024])).await
    {
        sent += length;
        assert!(sent < 256 * 1024 * 1024, "somebody takes it");
    }
    assert!(nothing_yet(&ends.server));
    link.proxy.set(Way::ToServer, Behaviour::Pass);
    let mut read = vec![0; sent];
    soon(ends.server.read_exact(&mut read)).await.unwrap();
    assert!(read.iter().all(|byte| *byte == 7));
}

#[tokio::test]
async fn half_a_connection_can_be_closed() {
    let link = Link::new().await;
    let mut ends = link.connect().await;
    link.proxy.set(Way::ToClient, Behaviour::HalfClose);
    assert_eq!(rest(&mut ends.client).await, NOTHING);
    ends.server_sends("into the void").await;
    ends.client_sends("still heard").await;
    expect(&mut ends.server, "still heard").await;

    let mut another = link.connect().await;
    assert_eq!(rest(&mut another.client).await, NOTHING, "new connections, too");
    link.proxy.set(Way::ToClient, Behaviour::Pass);
    let mut open = link.connect().await;
    open.server_sends("open").await;
    expect(&mut open.client, "open").await;
}

#[tokio::test]
async fn a_connection_is_cut_after_so_many_bytes() {
    for (how, error) in [(Cut::Close, None), (Cut::Reset, Some(ErrorKind::ConnectionReset))] {
        let link = Link::new().await;
        let mut ends = link.connect().await;
        ends.client_sends("before").await;
        expect(&mut ends.server, "before").await;
        link.proxy.set(Way::ToServer, Behaviour::CutAfter(7, how));
        ends.client_sends("one ").await;
        expect(&mut ends.server, "one ").await;
        ends.client_sends("two three").await;
        assert_eq!(rest(&mut ends.server).await, ("two".into(), error));
        assert_eq!(rest(&mut ends.client).await, (String::new(), error));

        link.proxy.set(Way::ToServer, Behaviour::CutAfter(0, how));
        let mut ends = link.connect().await;
        ends.client_sends("x").await;
        assert_eq!(rest(&mut ends.server).await, (String::new(), error));
    }
}

#[tokio::test]
async fn all_connections_are_cut_and_new_ones_are_not() {
    let link = Link::new().await;
    for (how, error) in [(Cut::Close, None), (Cut::Reset, Some(ErrorKind::ConnectionReset))] {
        let (mut one, mut two) = (link.connect().await, link.connect().await);
        soon(link.proxy.connections().wait_for(|count| *count == 2)).await.unwrap();
        link.proxy.cut(how);
        for end in [&mut one.client, &mut one.server, &mut two.client, &mut two.server] {
            assert_eq!(rest(end).await, (String::new(), error));
        }
        soon(link.proxy.connections().wait_for(|count| *count == 0)).await.unwrap();
    }
    let mut ends = link.connect().await;
    ends.client_sends("new").await;
    expect(&mut ends.server, "new").await;
}

#[tokio::test]
async fn new_connections_are_refused_and_old_ones_remain() {
    let link = Link::new().await;
    let mut ends = link.connect().await;
    for _ in 0..3 {
        soon(link.proxy.refuse(true)).await;
        let refused = TcpStream::connect(link.proxy.address()).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        ends.client_sends("old").await;
        expect(&mut ends.server, "old").await;
        soon(link.proxy.refuse(false)).await;
        link.connect().await;
    }
}

#[tokio::test]
async fn a_dead_server_looks_like_one() {
    // Its address is taken, so that nobody else listens there, and neither does it.
    let server = TcpSocket::new_v4().unwrap();
    server.bind(([127, 0, 0, 1], 0).into()).unwrap();
    let proxy = ChaosProxy::start(server.local_addr().unwrap());
    let mut client = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(rest(&mut client).await, (String::new(), Some(ErrorKind::ConnectionReset)));
}

#[tokio::test]
async fn a_chunk_with_certain_bytes_is_cut_off_before_the_server_sees_it() {
    let link = Link::new().await;
    let mut ends = link.connect().await;
    let _commit = link.proxy.on(b"COMMIT", 1, Action::CutBefore);
    ends.client_sends("BEGIN").await;
    expect(&mut ends.server, "BEGIN").await;
    ends.client_sends("COMMIT").await;
    let reset = (String::new(), Some(ErrorKind::ConnectionReset));
    assert_eq!(rest(&mut ends.server).await, reset);
    assert_eq!(rest(&mut ends.client).await, reset);
}

#[tokio::test]
async fn the_answer_to_certain_bytes_cuts_the_connection() {
    let link = Link::new().await;
    let mut ends = link.connect().await;
    let commit = link.proxy.on(b"COMMIT", 1, Action::CutAtAnswer);
    ends.client_sends("COMMIT").await;
    soon(commit.fired(1)).await;
    expect(&mut ends.server, "COMMIT").await;
    assert!(nothing_yet(&ends.client));
    ends.server_sends("done").await;
    assert_eq!(rest(&mut ends.client).await, (String::new(), Some(ErrorKind::ConnectionReset)));
}

#[tokio::test]
async fn the_answer_to_certain_bytes_is_lost() {
    let link = Link::new().await;
    let (mut ends, mut other) = (link.connect().await, link.connect().await);
    let _commit = link.proxy.on(b"COMMIT", 1, Action::LoseAnswer);
    ends.client_sends("COMMIT").await;
    expect(&mut ends.server, "COMMIT").await;
    ends.server_sends("done").await;
    ends.client_sends("are you there?").await;
    expect(&mut ends.server, "are you there?").await;
    other.client_sends("COMMIT").await;
    expect(&mut other.server, "COMMIT").await;
    other.server_sends("done").await;
    expect(&mut other.client, "done").await;
    link.proxy.cut(Cut::Close);
    assert_eq!(rest(&mut ends.client).await, NOTHING);
}

#[tokio::test]
async fn a_chunk_is_held_until_it_is_let_go() {
    let link = Link::new().await;
    let (mut first, mut second) = (link.connect().await, link.connect().await);
    let commit = link.proxy.on(b"COMMIT", 1, Action::Hold);
    first.client_sends("COMMIT 1").await;
    soon(commit.fired(1)).await;
    second.client_sends("COMMIT 2").await;
    expect(&mut second.server, "COMMIT 2").await;
    assert!(nothing_yet(&first.server));
    commit.release();
    expect(&mut first.server, "COMMIT 1").await;

    let again = link.proxy.on(b"COMMIT", 1, Action::Hold);
    first.client_sends("COMMIT 3").await;
    soon(again.fired(1)).await;
    drop(again);
    expect(&mut first.server, "COMMIT 3").await;
    first.client_sends("COMMIT 4").await;
    expect(&mut first.server, "COMMIT 4").await;
}

#[tokio::test]
async fn certain_bytes_are_found_when_they_are_split_and_only_once() {
    let link = Link::new().await;
    let mut ends = link.connect().await;
    let delay = Duration::from_millis(60);
    let commit = link.proxy.on(b"COMMIT", 2, Action::Delay(delay));
    ends.client_sends("COM").await;
    expect(&mut ends.server, "COM").await;
    let began = Instant::now();
    ends.client_sends("MIT; BEGIN").await;
    expect(&mut ends.server, "MIT; BEGIN").await;
    assert!(began.elapsed() >= delay);
    ends.client_sends("; nothing").await;
    expect(&mut ends.server, "; nothing").await;
    link.proxy.set(Way::ToServer, Behaviour::Pass);
    ends.client_sends("; COMMIT").await;
    soon(commit.fired(2)).await;
    expect(&mut ends.server, "; COMMIT").await;
}

#[tokio::test]
async fn nothing_is_left_of_a_proxy_that_is_dropped() {
    let link = Link::new().await;
    let mut ends = [link.connect().await, link.connect().await, link.connect().await];
    let held = link.proxy.on(b"held", 1, Action::Hold);
    ends[0].client_sends("held").await;
    soon(held.fired(1)).await;
    link.proxy.set(Way::ToServer, Behaviour::Delay(HOUR));
    link.send_and_see(&mut ends[1], "delayed").await;
    link.proxy.set(Way::ToClient, Behaviour::Stall);
    ends[2].server_sends("stalled").await;

    let address = link.proxy.address();
    drop(link.proxy);
    for ends in &mut ends {
        assert_eq!(rest(&mut ends.client).await.0, "");
        assert_eq!(rest(&mut ends.server).await.0, "");
    }
    assert_eq!(TcpStream::connect(address).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
    TcpListener::bind(address).await.unwrap();
}
