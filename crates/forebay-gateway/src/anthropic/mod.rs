//! Anthropic's Messages, as Anthropic and some servers of open models have them.

mod answer;
mod request;

use crate::wire::Reader;

pub(crate) use request::{conversation, request};

/// What reads an answer.
pub(crate) fn reader() -> Box<dyn Reader> {
    Box::new(answer::Draft::default())
}
