//! Server-sent events: bytes in, events out.
//!
//! Follows the stream format of the HTML standard (section 9.2.5, "Parsing an event stream") as far as a
//! client without reconnection needs it: `event` and `data` count, `id`, `retry`, comments and unknown fields
//! don't. Lines end with LF, CR or CRLF. An event that the stream ends within is not an event. Unlike a
//! browser, the parser refuses what is not UTF-8 and a line without end.

use std::mem;

use forebay_core::limits::PROVIDER_LINE_BYTES;

/// What an event without a name is called.
const DEFAULT_NAME: &str = "message";

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: String,
}

/// Why a stream can't be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("a line of the stream is longer than {PROVIDER_LINE_BYTES} bytes")]
    LongLine,
    #[error("the stream is not UTF-8")]
    NotUtf8,
}

/// Cuts a stream into events, however its bytes are cut into pieces.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    line: Vec<u8>,
    after_first_line: bool,
    after_cr: bool,
    name: String,
    data: Option<String>,
}

impl Parser {
    /// Reads on, and appends the events that are complete. After an error the stream is of no use; the events
    /// before it have been appended.
    pub(crate) fn push(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) -> Result<(), Unreadable> {
        if bytes.is_empty() {
            return Ok(());
        }
        if mem::take(&mut self.after_cr) {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&bytes[..end])?;
            events.extend(self.end_line()?);
            let rest = &bytes[end + 1..];
            let cr = bytes[end] == b'\r';
            self.after_cr = cr && rest.is_empty();
            bytes = if cr { rest.strip_prefix(b"\n").unwrap_or(rest) } else { rest };
        }
        self.extend_line(bytes)
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), Unreadable> {
        if self.line.len() + bytes.len() > PROVIDER_LINE_BYTES {
            return Err(Unreadable::LongLine);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// The line is complete; an empty one completes the event before it.
    fn end_line(&mut self) -> Result<Option<Event>, Unreadable> {
        let line = mem::take(&mut self.line);
        let mut line = str::from_utf8(&line).map_err(|_| Unreadable::NotUtf8)?;
        if !mem::replace(&mut self.after_first_line, true) {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        if line.is_empty() {
            return Ok(self.end_event());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        self.set(field, value.strip_prefix(' ').unwrap_or(value));
        Ok(None)
    }

    fn set(&mut self, field: &str, value: &str) {
        match (field, &mut self.data) {
            ("event", _) => value.clone_into(&mut self.name),
            ("data", Some(data)) => {
                data.push('\n');
                data.push_str(value);
            }
            ("data", none) => *none = Some(value.to_owned()),
            _ => {}
        }
    }

    /// An event without data is none.
    fn end_event(&mut self) -> Option<Event> {
        let name = mem::take(&mut self.name);
        let data = self.data.take()?;
        Some(Event { name: if name.is_empty() { DEFAULT_NAME.to_owned() } else { name }, data })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Parsed = (Vec<(String, String)>, Result<(), Unreadable>);

    /// What becomes of a stream that arrives in these pieces.
    fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Parsed {
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        let end = pieces.into_iter().try_for_each(|piece| parser.push(piece, &mut events));
        (events.into_iter().map(|event| (event.name, event.data)).collect(), end)
    }

    fn events(stream: &str) -> Vec<(String, String)> {
        let (events, end) = parse([stream.as_bytes()]);
        assert_eq!(end, Ok(()));
        events
    }

    fn message(data: &str) -> (String, String) {
        ("message".to_owned(), data.to_owned())
    }

    #[test]
    fn one_event_whatever_ends_its_lines() {
        for stream in ["data: a\n\n", "data: a\r\n\r\n", "data: a\r\r", "data:a\n\r", "\u{feff}data: a\n\n"] {
            assert_eq!(events(stream), [message("a")], "{stream:?}");
        }
    }

    #[test]
    fn several_lines_of_data_are_one_text() {
        assert_eq!(events("data: a\ndata\ndata:  b\n\n"), [message("a\n\n b")]);
        assert_eq!(events("data:\n\n"), [message("")]);
    }

    #[test]
    fn names_comments_and_other_fields() {
        let stream = ": ping\n\nevent: error\nid: 7\nretry: 5\ncolour: red\ndata: a\n\ndata: b\n\n";
        assert_eq!(events(stream), [("error".to_owned(), "a".to_owned()), message("b")]);
    }

    #[test]
    fn what_has_no_data_or_no_end_is_no_event() {
        for stream in ["", "\n\n\n", "event: a\n\n", "data: a", "data: a\n", "data: a\r\n", ":\n\n"] {
            assert_eq!(events(stream), [], "{stream:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_counts_only_at_the_beginning() {
        assert_eq!(events("data: a\n\n\u{feff}data: b\n\n"), [message("a")]);
    }

    #[test]
    fn bytes_that_are_not_utf8_end_the_stream_after_the_events_before_them() {
        let stream = b"data: a\n\ndata: \xff\n\ndata: b\n\n".as_slice();
        assert_eq!(parse([stream]), (vec![message("a")], Err(Unreadable::NotUtf8)));
    }

    #[test]
    fn a_line_may_have_the_published_length_and_no_byte_more() {
        let line = "data:".to_owned() + &"x".repeat(PROVIDER_LINE_BYTES - 5);
        assert_eq!(events(&format!("{line}\n\n")).len(), 1);
        let longer = format!("{line}x");
        assert_eq!(parse([longer.as_bytes()]).1, Err(Unreadable::LongLine));
        let (first, second) = longer.as_bytes().split_at(10);
        assert_eq!(parse([first, second]).1, Err(Unreadable::LongLine));
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just("data: ".as_bytes().to_vec()),
            Just("event: error".as_bytes().to_vec()),
            Just(": comment".as_bytes().to_vec()),
            Just("\u{feff}".as_bytes().to_vec()),
            Just("grüße 🦀".as_bytes().to_vec()),
            prop_oneof![Just("\n"), Just("\r"), Just("\r\n"), Just("\n\n"), Just("\r\n\r\n")]
                .prop_map(|end| end.as_bytes().to_vec()),
            proptest::collection::vec(any::<u8>(), 0..4),
        ];
        proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn the_same_events_however_the_stream_is_cut(
            stream in stream(),
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.sort_unstable();
            let ends = cuts.iter().copied().chain([stream.len()]);
            let starts = [0].into_iter().chain(cuts.iter().copied());
            let pieces: Vec<&[u8]> = starts.zip(ends).map(|(start, end)| &stream[start..end]).collect();
            prop_assert_eq!(parse(pieces), parse([stream.as_slice()]));
        }

        #[test]
        fn the_same_events_byte_by_byte(stream in stream()) {
            prop_assert_eq!(parse(stream.chunks(1)), parse([stream.as_slice()]));
        }
    }
}
