//! A provider whose every byte the test decides.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// What the provider does after it has read a request, one step after another. After the last step the
/// connection takes the next request.
#[derive(Debug, Clone)]
pub enum Step {
    /// Sends these bytes at once.
    Write(Vec<u8>),
    /// Sends these bytes one by one, with this pause after each.
    Drip(Vec<u8>, Duration),
    /// Sends these bytes again and again until the client closes.
    Flood(Vec<u8>),
    /// Sends nothing until the client closes.
    Hang,
    /// Closes the connection.
    Close,
    /// Closes the connection with an RST.
    Reset,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    /// Request line and headers.
    pub head: String,
    /// The body.
    pub body: Value,
}

impl Received {
    /// The value of a header, looked up by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// A provider on a local port; it lives as long as the test's runtime.
#[derive(Debug, Clone)]
pub struct Provider {
    /// Its address, with the version.
    pub base_url: String,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    connections: AtomicUsize,
    flooded: AtomicUsize,
    requests: Mutex<Vec<Received>>,
    arrived: Notify,
    closed: Notify,
}

impl Provider {
    /// A provider that answers the n-th request, counted from 0, by the steps that `script` gives.
    #[allow(clippy::disallowed_methods, reason = "the service's way to spawn is not of this crate")]
    pub async fn start(script: impl Fn(usize) -> Vec<Step> + Send + Sync + 'static) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let shared = Arc::new(Shared::default());
        let provider = Provider { base_url, shared: shared.clone() };
        let script = Arc::new(script);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(socket, shared.clone(), script.clone()));
            }
        });
        provider
    }

    /// A provider that answers every request with these bytes and keeps the connection open.
    pub async fn answering(bytes: impl Into<Vec<u8>>) -> Provider {
        let steps = vec![Step::Write(bytes.into())];
        Provider::start(move |_| steps.clone()).await
    }

    /// The requests that have arrived.
    pub fn requests(&self) -> Vec<Received> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// How many connections were opened.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Bytes that were sent by [`Step::Flood`].
    pub fn flooded(&self) -> usize {
        self.shared.flooded.load(Ordering::SeqCst)
    }

    /// Waits for a request.
    pub async fn arrived(&self) {
        self.shared.arrived.notified().await;
    }

    /// Waits until the client closes during [`Step::Hang`] or [`Step::Flood`].
    pub async fn closed(&self) {
        self.shared.closed.notified().await;
    }
}

async fn serve(mut socket: TcpStream, shared: Arc<Shared>, script: Arc<impl Fn(usize) -> Vec<Step>>) {
    socket.set_nodelay(true).unwrap();
    while let Some(received) = receive(&mut socket).await {
        let nth = {
            let mut requests = shared.requests.lock().unwrap();
            requests.push(received);
            requests.len() - 1
        };
        shared.arrived.notify_one();
        for step in script(nth) {
            if run(step, &mut socket, &shared).await.is_none() {
                return;
            }
        }
    }
}

/// Runs one step; `None` when the connection is over.
async fn run(step: Step, socket: &mut TcpStream, shared: &Shared) -> Option<()> {
    match step {
        Step::Write(bytes) => socket.write_all(&bytes).await.ok()?,
        Step::Drip(bytes, pause) => {
            for byte in bytes {
                socket.write_all(&[byte]).await.ok()?;
                tokio::time::sleep(pause).await;
            }
        }
        Step::Flood(bytes) => {
            while socket.write_all(&bytes).await.is_ok() {
                shared.flooded.fetch_add(bytes.len(), Ordering::SeqCst);
            }
            shared.closed.notify_one();
            return None;
        }
        Step::Hang => {
            while !matches!(socket.read(&mut [0; 64]).await, Ok(0) | Err(_)) {}
            shared.closed.notify_one();
            return None;
        }
        Step::Close => return None,
        Step::Reset => {
            socket.set_zero_linger().unwrap();
            return None;
        }
    }
    Some(())
}

/// Reads a request; `None` when there is none any more.
async fn receive(socket: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        more(socket, &mut bytes).await?;
    };
    let head = String::from_utf8(bytes.drain(..head_end).collect()).unwrap();
    let mut received = Received { head, body: Value::Null };
    let length: usize = received.header("content-length").expect("a request has a length").parse().unwrap();
    while bytes.len() < length {
        more(socket, &mut bytes).await?;
    }
    received.body = serde_json::from_slice(&bytes).unwrap();
    Some(received)
}

async fn more(socket: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<()> {
    let count = socket.read_buf(bytes).await.ok()?;
    (count > 0).then_some(())
}

/// A whole response with a `Content-Length`.
pub fn response(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// A whole JSON response.
pub fn json_response(status: &str, body: &Value) -> Vec<u8> {
    response(status, "content-type: application/json\r\n", body.to_string())
}

/// The head of a stream of events in chunks.
pub const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// One chunk of a body.
pub fn chunk(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// A stream of events that arrives in these pieces.
pub fn stream_in<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let chunks = pieces.into_iter().filter(|piece| !piece.is_empty()).flat_map(chunk);
    STREAM_HEAD.bytes().chain(chunks).chain("0\r\n\r\n".bytes()).collect()
}
