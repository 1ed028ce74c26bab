//! OpenAI's Responses, as OpenAI, Azure and some servers of open models have them.

mod answer;
mod request;

use crate::wire::Reader;

pub(crate) use request::{input, request};

/// What reads an answer. Some servers call an answer complete that they cut: one that is as long as `limit`,
/// where that is given, counts as cut.
pub(crate) fn reader(limit: Option<u64>) -> Box<dyn Reader> {
    Box::new(answer::Draft::new(limit))
}
