//! A server that answers as a test wants, byte by byte.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a server does with a request.
pub enum Reply {
    /// Sends this and closes the connection.
    Bytes(Vec<u8>),
    /// Sends this, and then nothing more.
    Hang(Vec<u8>),
}

/// An answer with a status line, more header lines and a body of that length.
pub fn answer(status: &str, headers: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::Bytes(
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
            .into(),
    )
}

/// An error of S3.
pub fn error(status: &str, code: &str) -> Reply {
    answer(status, "", &format!("<Error><Code>{code}</Code><Message>because of {code}</Message></Error>"))
}

/// A request: its head as it came, and its body.
#[derive(Debug, Clone)]
pub struct Asked {
    pub head: String,
    pub body: Vec<u8>,
}

impl Asked {
    /// `PUT`, `GET`, ...
    pub fn method(&self) -> &str {
        self.head.split(' ').next().unwrap()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// A server that runs until it is dropped.
pub struct Fake {
    pub address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    serving: JoinHandle<()>,
}

impl Fake {
    /// Serves by what `reply` says to each request and its number, from 0.
    pub async fn start(reply: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, reply) = (Arc::<Mutex<Vec<Asked>>>::default(), Arc::new(reply));
        let log = Arc::clone(&asked);
        let serving = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (log, reply) = (Arc::clone(&log), Arc::clone(&reply));
                tokio::spawn(async move { converse(stream, &log, reply.as_ref()).await });
            }
        });
        Self { address, asked, serving }
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn converse(
    mut stream: TcpStream,
    log: &Mutex<Vec<Asked>>,
    reply: &(dyn Fn(&Asked, usize) -> Reply + Send + Sync),
) {
    let Some(asked) = read(&mut stream).await else { return };
    let number = {
        let mut log = log.lock().unwrap();
        log.push(asked.clone());
        log.len() - 1
    };
    match reply(&asked, number) {
        Reply::Bytes(bytes) => stream.write_all(&bytes).await.unwrap_or_default(),
        Reply::Hang(bytes) => {
            stream.write_all(&bytes).await.unwrap_or_default();
            // Until the client has had enough of it.
            while stream.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {}
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let mut asked =
        Asked { head: String::from_utf8(bytes[..head].to_vec()).unwrap(), body: bytes.split_off(head) };
    let length = asked.header("content-length").map_or(0, |length| length.parse().unwrap());
    while asked.body.len() < length {
        if stream.read_buf(&mut asked.body).await.ok()? == 0 {
            return None;
        }
    }
    Some(asked)
}
