//! Reads a stream of server-sent events.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SseEvent {
    /// The cursor after it; empty where the stream did not say.
    pub id: String,
    /// Its type.
    pub name: String,
    /// What it says.
    pub data: String,
}

/// Cuts bytes into events. Pieces may end anywhere, also inside a character.
#[derive(Debug, Default)]
pub struct SseReader {
    line: Vec<u8>,
    last_was_return: bool,
    event: SseEvent,
    has_data: bool,
}

impl SseReader {
    /// Takes the next piece and gives back the events that it completes. Events without data are dropped, as
    /// the format wants it.
    pub fn feed(&mut self, piece: &[u8]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        for byte in piece {
            let follows_return = std::mem::take(&mut self.last_was_return);
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => {
                    self.last_was_return = *byte == b'\r';
                    events.extend(self.end_line());
                }
                _ => self.line.push(*byte),
            }
        }
        events
    }

    /// The cursor at which the stream stands; also a block without data may move it.
    pub fn last_id(&self) -> Option<&str> {
        Some(self.event.id.as_str()).filter(|id| !id.is_empty())
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let id = self.event.id.clone();
            let event = std::mem::replace(&mut self.event, SseEvent { id, ..SseEvent::default() });
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" if !value.contains('\0') => value.clone_into(&mut self.event.id),
            "event" => value.clone_into(&mut self.event.name),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            // Comments have an empty field name; what else there is, is for later versions of the format.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: &str, name: &str, data: &str) -> SseEvent {
        SseEvent { id: id.to_owned(), name: name.to_owned(), data: data.to_owned() }
    }

    const STREAM: &str = ": hello\n\nid: 7\nevent: job.ready\ndata: {\"a\":\ndata: \"ä\"}\n\nevent: x\n\n\
                          data:second\r\n\r\n";

    #[test]
    fn events_are_cut_wherever_pieces_end() {
        let expected = [event("7", "job.ready", "{\"a\":\n\"ä\"}"), event("7", "", "second")];
        for size in 1..STREAM.len() {
            let mut reader = SseReader::default();
            let events: Vec<_> =
                STREAM.as_bytes().chunks(size).flat_map(|piece| reader.feed(piece)).collect();
            assert_eq!(events, expected, "pieces of {size}");
        }
    }

    #[test]
    fn a_block_without_data_moves_the_cursor() {
        let mut reader = SseReader::default();
        assert_eq!(reader.last_id(), None);
        assert_eq!(reader.feed(b"retry: 3000\nid: c0\n\n"), []);
        assert_eq!(reader.last_id(), Some("c0"));
    }

    #[test]
    fn what_is_not_complete_is_no_event() {
        assert_eq!(SseReader::default().feed(b"id: 1\ndata: x\n"), []);
    }
}
