//! The simulator seen from outside, byte by byte: no HTTP client stands between the test and the wire.

mod endpoints;
mod faults;
mod limits;
mod log;

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::scenario::Scenario;
use super::{Row, SimHandle, SimOptions, serve};

/// Nothing in these tests takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

async fn start(scenario: &str) -> SimHandle {
    start_with(SimOptions { scenario: Scenario::from_toml(scenario).unwrap(), ..SimOptions::default() }).await
}

async fn start_with(options: SimOptions) -> SimHandle {
    serve(SimOptions { listen: ([127, 0, 0, 1], 0).into(), ..options }).await.unwrap()
}

/// Everything that came back over one connection.
struct Answer {
    status: u16,
    headers: HashMap<String, String>,
    body: Vec<u8>,
    /// Whether the body ended where its length or its last chunk says.
    whole: bool,
    /// Whether the connection ended by a reset.
    reset: bool,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }

    /// The data of the events of a stream, without the `[DONE]`.
    fn events(&self) -> Vec<Value> {
        let data = self.text().split("\n\n").filter_map(|event| event.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    fn is_done(&self) -> bool {
        self.text().ends_with("data: [DONE]\n\n")
    }

    /// The text of a stream's content.
    fn streamed_text(&self) -> String {
        let events = self.events();
        events.iter().filter_map(|event| event.pointer("/choices/0/delta/content")?.as_str()).collect()
    }
}

async fn connect(sim: &SimHandle) -> TcpStream {
    TcpStream::connect(sim.address()).await.unwrap()
}

fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("{method} {path} HTTP/1.1\r\nhost: sim\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
}

/// Sends a request, reads until the connection ends, and takes apart what came.
async fn send(sim: &SimHandle, method: &str, path: &str, headers: &str, body: &str) -> Answer {
    let mut stream = connect(sim).await;
    let request = request(method, path, &format!("connection: close\r\n{headers}"), body);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    let end = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.unwrap();
    take_apart(&bytes, end.is_err())
}

fn take_apart(bytes: &[u8], reset: bool) -> Answer {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Answer { status: 0, headers: HashMap::new(), body: bytes.to_vec(), whole: false, reset };
    };
    let (head, rest) = (str::from_utf8(&bytes[..end]).unwrap(), &bytes[end + 4..]);
    let status = head[9..12].parse().unwrap();
    let headers: HashMap<String, String> = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let (body, whole) = match headers.get("content-length") {
        Some(length) => (rest.to_vec(), length.parse() == Ok(rest.len())),
        None => unchunk(rest),
    };
    Answer { status, headers, body, whole, reset }
}

fn unchunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return (body, true);
        }
        body.extend(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
    (body, false)
}

fn chat_body(more: Value) -> String {
    let mut body = json!({ "model": "m", "messages": [{ "role": "user", "content": "hello you" }] });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body.to_string()
}

async fn chat_as(sim: &SimHandle, key: &str, more: Value) -> Answer {
    let headers = format!("authorization: Bearer {key}\r\n");
    send(sim, "POST", "/v1/chat/completions", &headers, &chat_body(more)).await
}

async fn chat(sim: &SimHandle, more: Value) -> Answer {
    chat_as(sim, "sk-test", more).await
}

async fn stream(sim: &SimHandle) -> Answer {
    chat(sim, json!({ "stream": true, "stream_options": { "include_usage": true } })).await
}

async fn get(sim: &SimHandle, path: &str) -> Answer {
    send(sim, "GET", path, "", "").await
}

/// The log, once it fulfils the condition: what the server does after a client has gone takes a moment.
async fn log_when(sim: &SimHandle, condition: impl Fn(&[Row]) -> bool) -> Vec<Row> {
    let waited = timeout(PATIENCE, async {
        loop {
            let rows = sim.requests(0);
            if condition(&rows) {
                return rows;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("the log stays {:?}", sim.requests(0)))
}

/// The first row of the log, once its call has ended.
async fn first_row(sim: &SimHandle) -> Row {
    let ended = |rows: &[Row]| rows.first().is_some_and(|row| row.ended != super::Ended::Running);
    log_when(sim, ended).await.remove(0)
}
