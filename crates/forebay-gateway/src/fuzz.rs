//! Fuzz targets of what providers answer.

#[path = "../../forebay-core/src/fuzz/harness.rs"]
mod harness;

use forebay_core::limits::MESSAGE_CHARS;
use harness::Random;
use serde_json::json;

use crate::call::{Call, ChatCall};
use crate::provider_error::{ProviderError, with_status};
use crate::report::Answer;
use crate::sse::{Event, Parser, Unreadable};
use crate::wire::{Flow, Reading, reader};

const WORDS: [&str; 16] = [
    "data: ",
    "event: error\n",
    "\n\n",
    "\r\n\r\n",
    ": ping\n",
    "[DONE]",
    "{\"choices\":[",
    "\"finish_reason\":\"stop\"",
    "\"delta\":{\"content\":\"a\"}",
    "\"error\":{\"message\":\"a\"}",
    "\"usage\":{\"prompt_tokens\":-1}",
    "\u{feff}",
    "null",
    "1e999",
    "\"index\":0",
    "\"tool_calls\":[{}]",
];

type Parsed = (Vec<Event>, Result<(), Unreadable>);

/// The events of a stream that arrives in pieces of up to `most` bytes.
fn parsed(stream: &[u8], most: usize, random: &mut Random) -> Parsed {
    let (mut parser, mut events, mut rest) = (Parser::default(), Vec::new(), stream);
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(rest.len().min(1 + random.below(most)));
        if let Err(unreadable) = parser.push(piece, &mut events) {
            return (events, Err(unreadable));
        }
        rest = later;
    }
    (events, Ok(()))
}

#[test]
fn a_stream_has_the_same_events_however_it_is_cut() {
    harness::run("sse", &WORDS, |stream| {
        let mut random = Random::new(stream.len() as u64, 0);
        let whole = parsed(stream, usize::MAX, &mut random);
        assert_eq!(parsed(stream, 1, &mut random), whole);
        assert_eq!(parsed(stream, 7, &mut random), whole);
        let data: usize = whole.0.iter().map(|event| event.data.len()).sum();
        assert!(data <= stream.len(), "there is more in the events than in the stream");
    });
}

fn chat() -> Call {
    let messages = json!([{"role": "user", "content": "a"}]);
    Call::Chat(ChatCall {
        model: "m".to_owned(),
        messages,
        params: serde_json::Map::new(),
        max_output_tokens: None,
        response_format: None,
    })
}

/// An answer that is taken for whole says so itself, and has no text that did not come.
fn check(reading: Reading, came: &[u8]) {
    if let Ok(Answer::Chat { text, finish_reason }) = &reading.answer {
        assert!(!text.trim().is_empty() && text.len() <= came.len() * 3);
        let complete = ["stop", "stop_sequence", "end_turn", "eos", "eos_token"];
        assert!(complete.contains(&finish_reason.as_str()), "{finish_reason}");
        assert!(String::from_utf8_lossy(came).contains("finish_reason"));
    }
    if let Err(failed) = &reading.answer {
        let words = failed.failure.words.as_deref().unwrap_or_default();
        assert!(words.chars().count() <= MESSAGE_CHARS + 1 && !failed.failure.message.is_empty());
    }
}

#[test]
fn an_answer_is_whole_only_when_it_says_so() {
    harness::run("chat", &WORDS, |bytes| {
        let mut whole = reader(&chat(), forebay_core::definition::ProviderKind::Compatible);
        if whole.document(bytes).is_ok() {
            check(whole.finish(), bytes);
        }
        let (events, _) = parsed(bytes, usize::MAX, &mut Random::new(0, 0));
        let mut stream = reader(&chat(), forebay_core::definition::ProviderKind::Compatible);
        if events.iter().all(|event| matches!(stream.event(event), Ok(Flow::More))) {
            check(stream.finish(), bytes);
        }
    });
}

#[test]
fn an_error_says_something_within_bounds() {
    harness::run("provider_error", &WORDS, |body| {
        for status in [301, 400, 401, 402, 404, 408, 429, 498, 500, 501, 503, 529] {
            let failed = with_status(status, body, None);
            assert!(failed.failure.message.len() < 200);
            assert!(failed.failure.words.unwrap_or_default().chars().count() <= MESSAGE_CHARS + 1);
        }
        assert!(ProviderError::from_body(body).message.chars().count() <= MESSAGE_CHARS + 1);
    });
}
