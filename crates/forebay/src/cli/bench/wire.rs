//! A way to a PostgreSQL server that counts what passes: how many statements are run, and how often a client waits for
//! the server's answer before it goes on.
//!
//! It lies between client and server as a connection of its own, which costs time: what is counted is counted apart from
//! what is timed. It reads the protocol in plain text only.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::figures::Figures;
use crate::cli::error::CliError;
use crate::runtime::Tasks;

/// What has passed, over all connections.
#[derive(Debug, Default)]
struct Passed {
    statements: AtomicU64,
    round_trips: AtomicU64,
}

/// A running way. It ends when it is dropped; connections end with whoever made them.
pub(super) struct Wire {
    url: String,
    passed: Arc<Passed>,
    tasks: Tasks,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.tasks.stopping().cancel();
    }
}

impl Wire {
    /// Opens a way to the database of this URL. `None` where what passes could not be read: on other ways than plain
    /// TCP to one host.
    pub(super) async fn open(url: &str) -> Result<Option<Self>, CliError> {
        let failed = |error: io::Error| CliError::failed("no way to the server can be opened", &error);
        let Some((before, server, after)) = parts(url) else { return Ok(None) };
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let here = listener.local_addr().map_err(failed)?;
        let (passed, tasks) = (Arc::new(Passed::default()), Tasks::default());
        let accepting = accept(listener, server, Arc::clone(&passed), tasks.clone());
        tasks.spawn("bench-wire", accepting);
        Ok(Some(Self { url: format!("{before}{here}{after}"), passed, tasks }))
    }

    /// The database's URL by this way.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Statements run and round trips waited for, so far.
    pub(super) fn counted(&self) -> [u64; 2] {
        [&self.passed.statements, &self.passed.round_trips].map(|count| count.load(Relaxed))
    }

    /// What each job took since then.
    #[allow(clippy::cast_precision_loss, reason = "fewer statements than a float can count")]
    pub(super) fn per_job(&self, before: [u64; 2], jobs: f64, prefix: &str) -> Figures {
        let [statements, round_trips] = self.counted();
        Figures::default()
            .with(format!("{prefix}statements_per_job"), (statements - before[0]) as f64 / jobs)
            .with(format!("{prefix}round_trips_per_job"), (round_trips - before[1]) as f64 / jobs)
    }
}

/// What stands before the server's address, the address, and what stands behind it.
fn parts(url: &str) -> Option<(&str, String, &str)> {
    let from = url.find("://")? + 3;
    let from = url[from..].rfind('@').map_or(from, |at| from + at + 1);
    let to = url[from..].find('/').map_or(url.len(), |at| from + at);
    let (place, after) = (&url[from..to], &url[to..]);
    let is_loopback = ["localhost", "127.", "[::1]"].iter().any(|here| place.starts_with(here));
    let is_plain = after.contains("sslmode=disable") || (is_loopback && !after.contains("ssl"));
    if place.is_empty() || place.contains([',', '%']) || after.contains("host=") || !is_plain {
        return None;
    }
    let has_port = place.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let server = if has_port { place.to_owned() } else { format!("{place}:5432") };
    Some((&url[..from], server, after))
}

async fn accept(listener: TcpListener, server: String, passed: Arc<Passed>, tasks: Tasks) {
    loop {
        let accepted = tokio::select! {
            () = tasks.stopping().cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((client, _)) = accepted else { return };
        let (server, passed) = (server.clone(), Arc::clone(&passed));
        tasks.spawn("bench-wire", async move {
            // That either end leaves is the end of it, however it leaves.
            drop(carry(client, &server, &passed).await);
        });
    }
}

async fn carry(client: TcpStream, server: &str, passed: &Passed) -> io::Result<()> {
    let server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let is_answered = AtomicBool::new(true);
    let mut messages = Messages::default();
    let asking = copy(&mut from_client, &mut to_server, |bytes| {
        passed.statements.fetch_add(messages.statements(bytes), Relaxed);
        passed.round_trips.fetch_add(u64::from(is_answered.swap(false, Relaxed)), Relaxed);
    });
    let answering = copy(&mut from_server, &mut to_client, |_| is_answered.store(true, Relaxed));
    tokio::select! { asked = asking => asked, answered = answering => answered }
}

async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    mut look: impl FnMut(&[u8]),
) -> io::Result<()> {
    let mut bytes = vec![0; 64 * 1_024];
    loop {
        let read = from.read(&mut bytes).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        look(&bytes[..read]);
        to.write_all(&bytes[..read]).await?;
    }
}

/// A client's messages: a type and a length each, but for the first, which has no type.
#[derive(Default)]
struct Messages {
    head: Vec<u8>,
    has_begun: bool,
    /// Bytes of the message under way that are still to come.
    rest: usize,
}

impl Messages {
    /// How many statements these bytes have run, prepared ones or plain text.
    fn statements(&mut self, mut bytes: &[u8]) -> u64 {
        let mut count = 0;
        while !bytes.is_empty() {
            let body = self.rest.min(bytes.len());
            self.rest -= body;
            bytes = &bytes[body..];
            let Some((first, others)) = bytes.split_first() else { break };
            self.head.push(*first);
            bytes = others;
            let length_at = usize::from(self.has_begun);
            if let Some(length) = self.head.get(length_at..length_at + 4) {
                count += u64::from(self.has_begun && matches!(self.head[0], b'E' | b'Q'));
                let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
                self.rest = length.saturating_sub(4);
                self.head.clear();
                self.has_begun = true;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &[u8], body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [kind, &length.to_be_bytes(), body].concat()
    }

    #[test]
    fn statements_are_counted_however_the_bytes_are_cut() {
        let said = [
            message(b"", b"\0\x03\0\0user\0EQEQ\0\0"),
            message(b"P", b"s\0SELECT 1\0\0\0"),
            message(b"B", b"EEQQ"),
            message(b"E", b"\0\0\0\0\0"),
            message(b"S", b""),
            message(b"Q", b"BEGIN\0"),
        ]
        .concat();
        for size in 1..said.len() {
            let mut messages = Messages::default();
            let count: u64 = said.chunks(size).map(|bytes| messages.statements(bytes)).sum();
            assert_eq!(count, 2, "in pieces of {size}");
        }
    }

    #[test]
    fn a_way_leads_to_one_server_in_plain_text() {
        let of = |url| parts(url).map(|(before, server, after)| format!("{before}<{server}>{after}"));
        for (url, expected) in [
            ("postgres://u:p@127.0.0.1:6000/d", Some("postgres://u:p@<127.0.0.1:6000>/d")),
            ("postgres://localhost/d?x=y", Some("postgres://<localhost:5432>/d?x=y")),
            ("postgres://u@db/d?sslmode=disable", Some("postgres://u@<db:5432>/d?sslmode=disable")),
            ("postgres://u@db/d", None),
            ("postgres://u@127.0.0.1/d?sslmode=require", None),
            ("postgres://u@127.0.0.1,127.0.0.2/d", None),
            ("postgres://u@/d?host=/var/run/postgresql", None),
        ] {
            assert_eq!(of(url).as_deref(), expected, "{url}");
        }
    }

    #[tokio::test]
    async fn questions_that_wait_for_no_answer_are_one_round_trip() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("postgres://u@{}/d", listener.local_addr().unwrap());
        let wire = Wire::open(&url).await.unwrap().unwrap();
        let here = parts(wire.url()).unwrap().1;
        let mut client = TcpStream::connect(here).await.unwrap();
        client.write_all(&message(b"", b"\0\x03\0\0")).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        server.read_exact(&mut [0; 8]).await.unwrap();
        for questions in [1, 3] {
            server.write_all(b"answer").await.unwrap();
            client.read_exact(&mut [0; 6]).await.unwrap();
            for _ in 0..questions {
                client.write_all(&message(b"Q", b"x\0")).await.unwrap();
            }
            server.read_exact(&mut vec![0; 7 * questions]).await.unwrap();
        }
        assert_eq!(wire.counted(), [4, 3], "the greeting, one question, three together");
    }
}
