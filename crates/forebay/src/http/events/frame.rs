//! The wire form of server-sent events (WHATWG HTML, section 9.2).

use bytes::Bytes;

/// Keeps the connection open; readers ignore it.
pub(super) const KEEP_ALIVE: Bytes = Bytes::from_static(b": keep-alive\n\n");

/// Begins a stream: how long to wait before connecting again, and the cursor from which it would go on. A block
/// without data sets both and is no event.
pub(super) fn opening(cursor: &str) -> Bytes {
    Bytes::from(format!("retry: 3000\nid: {cursor}\n\n"))
}

/// One event. Its data may have several lines.
pub(super) fn event(cursor: Option<&str>, name: &str, data: &[u8]) -> Bytes {
    let mut frame = Vec::with_capacity(data.len() + name.len() + 128);
    if let Some(cursor) = cursor {
        frame.extend_from_slice(format!("id: {cursor}\n").as_bytes());
    }
    frame.extend_from_slice(format!("event: {name}\n").as_bytes());
    for line in data.split(|byte| *byte == b'\n') {
        frame.extend_from_slice(b"data: ");
        frame.extend_from_slice(line);
        frame.push(b'\n');
    }
    frame.push(b'\n');
    Bytes::from(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_readers_expect() {
        assert_eq!(event(Some("c1"), "job.ready", b"{}"), "id: c1\nevent: job.ready\ndata: {}\n\n");
        assert_eq!(event(None, "closed", b"a\nb"), "event: closed\ndata: a\ndata: b\n\n");
        assert_eq!(opening("c0"), "retry: 3000\nid: c0\n\n");
    }
}
