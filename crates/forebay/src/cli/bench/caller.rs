//! One caller: a plain connection that sends a request and waits for its answer, with nothing of a client's cost
//! in between.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::runtime::random_bytes;

/// Characters of the text that each job works on.
const TEXT: usize = 440;

/// Whom to ask, and for what. The same for everybody but for the idempotency key.
#[derive(Clone)]
pub(super) struct Target {
    address: SocketAddr,
    before_key: String,
    after_key: String,
}

impl Target {
    /// Submits jobs of the task `chat`.
    pub(super) fn jobs(address: SocketAddr, key: &str) -> Self {
        let text = "x".repeat(TEXT);
        let body =
            format!(r#"{{"task":"chat","input":{{"messages":[{{"role":"user","content":"{text}"}}]}}}}"#);
        Self::post(address, "/v1/jobs", &format!("Authorization: Bearer {key}\r\n"), &body)
    }

    /// Sends the floor what it takes for a request to a model.
    pub(super) fn floor(address: SocketAddr) -> Self {
        Self::post(address, "/jobs", "", &floor_body())
    }

    /// The same, with other idempotency keys.
    pub(super) fn again(&self) -> Self {
        let run = u32::from_be_bytes(random_bytes());
        Self { before_key: format!("{}{run:x}-", self.before_key), ..self.clone() }
    }

    fn post(address: SocketAddr, path: &str, headers: &str, body: &str) -> Self {
        let length = body.len();
        Self {
            address,
            before_key: format!(
                "POST {path} HTTP/1.1\r\nHost: {address}\r\n{headers}Content-Type: application/json\r\n\
                 Content-Length: {length}\r\nIdempotency-Key: "
            ),
            after_key: format!("\r\n\r\n{body}"),
        }
    }
}

/// A request to a model as long as that of a job.
pub(super) fn floor_body() -> String {
    let text = "x".repeat(TEXT);
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}],"max_tokens":256}}"#)
}

/// A connection.
pub(super) struct Caller {
    stream: TcpStream,
    target: Target,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Caller {
    pub(super) async fn connect(target: Target) -> io::Result<Self> {
        let stream = TcpStream::connect(target.address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, target, request: Vec::new(), answer: Vec::new() })
    }

    /// Sends a request with this idempotency key and gives the body of the answer, which has to be 202.
    pub(super) async fn submit(&mut self, key: &str) -> io::Result<&[u8]> {
        self.request.clear();
        self.request.extend_from_slice(self.target.before_key.as_bytes());
        self.request.extend_from_slice(key.as_bytes());
        self.request.extend_from_slice(self.target.after_key.as_bytes());
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        loop {
            if self.stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(body) = complete(&self.answer)? {
                return Ok(&self.answer[body..]);
            }
        }
    }
}

/// Where the body begins, once all of it is there.
fn complete(answer: &[u8]) -> io::Result<Option<usize>> {
    const END: &[u8] = b"\r\n\r\n";
    let Some(head) = answer.windows(END.len()).position(|window| window == END) else { return Ok(None) };
    if !answer.starts_with(b"HTTP/1.1 202") {
        return Err(io::Error::other(format!("not accepted: {}", String::from_utf8_lossy(answer))));
    }
    let body = head + END.len();
    Ok((answer.len() >= body + content_length(&answer[..head])).then_some(body))
}

fn content_length(head: &[u8]) -> usize {
    let length = head.split(|byte| *byte == b'\n').find_map(|line| {
        let (name, value) = line.split_at_checked("content-length:".len())?;
        name.eq_ignore_ascii_case(b"content-length:").then_some(value.trim_ascii())
    });
    length.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_body_is() {
        let answer = b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\nx: y\r\n\r\n{}";
        assert_eq!(complete(answer).unwrap(), Some(answer.len() - 2));
        assert_eq!(complete(&answer[..answer.len() - 1]).unwrap(), None);
        assert_eq!(complete(b"HTTP/1.1 202 Acc").unwrap(), None);
        assert!(complete(b"HTTP/1.1 503 Service Unavailable\r\n\r\n").is_err());
    }
}
