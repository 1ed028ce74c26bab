//! What an answer says, streamed or whole.

use forebay_core::attempt::Usage;
use forebay_core::failure::FailureClass;
use serde_json::{Map, Value};

use crate::failed::Failed;
use crate::said::{Said, believable, model_of, parse_document, parse_event, tokens, useless};
use crate::sse::Event;
use crate::wire::{Flow, Reader, Reading};

/// An answer so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    said: Said,
    /// The latest word on each count: those of `message_delta` are of the whole message.
    counts: Map<String, Value>,
}

impl Reader for Draft {
    fn event(&mut self, event: &Event) -> Result<Flow, Failed> {
        let json = parse_event(event)?;
        match json["type"].as_str().unwrap_or_default() {
            "message_start" => {
                self.said.model = model_of(&json["message"]);
                self.count(&json["message"]["usage"]);
            }
            "content_block_start" => self.absorb(&json["content_block"]),
            "content_block_delta" => {
                self.said.text.push_str(json["delta"]["text"].as_str().unwrap_or_default());
            }
            "message_delta" => {
                self.stop(&json["delta"]["stop_reason"]);
                self.count(&json["usage"]);
                // Only now the output is counted.
                self.said.usage = usage(&self.counts);
            }
            "message_stop" => return Ok(Flow::Done),
            // `ping`, the end of a block, and whatever comes to be.
            _ => {}
        }
        Ok(Flow::More)
    }

    fn document(&mut self, body: &[u8]) -> Result<(), Failed> {
        let message = parse_document(body)?;
        let Some(blocks) = message["content"].as_array() else {
            return Err(useless(FailureClass::InvalidOutput, "the answer has no content"));
        };
        blocks.iter().for_each(|block| self.absorb(block));
        self.said.model = model_of(&message);
        self.stop(&message["stop_reason"]);
        self.count(&message["usage"]);
        self.said.usage = usage(&self.counts);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Reading {
        self.said.finish()
    }
}

impl Draft {
    /// Takes in a block: text, or the wish to have a tool called. What the model thought is not its answer.
    fn absorb(&mut self, block: &Value) {
        match block["type"].as_str().unwrap_or_default() {
            "text" => self.said.text.push_str(block["text"].as_str().unwrap_or_default()),
            kind if kind.ends_with("tool_use") => {
                let name = block["name"].as_str().unwrap_or_default();
                self.said.tool.get_or_insert_with(|| name.to_owned());
            }
            _ => {}
        }
    }

    fn stop(&mut self, reason: &Value) {
        if let Some(reason) = reason.as_str().filter(|reason| !reason.is_empty()) {
            self.said.finish_reason = Some(reason.to_owned());
        }
    }

    fn count(&mut self, usage: &Value) {
        let said = usage.as_object().into_iter().flatten().filter(|(_, count)| !count.is_null());
        self.counts.extend(said.map(|(name, count)| (name.clone(), count.clone())));
    }
}

/// Anthropic counts what its cache gave and took beside the input.
fn usage(counts: &Map<String, Value>) -> Option<Usage> {
    let count = |name: &str| counts.get(name).map_or(Some(0), tokens);
    let read = count("cache_read_input_tokens")?;
    let written = count("cache_creation_input_tokens")?;
    let output = counts.get("output_tokens").and_then(tokens)?;
    let thinking =
        counts.get("output_tokens_details").and_then(|details| tokens(&details["thinking_tokens"]));
    believable(Usage {
        input_tokens: counts.get("input_tokens").and_then(tokens)? + read + written,
        cached_input_tokens: read,
        cache_write_tokens: written,
        output_tokens: output,
        reasoning_tokens: thinking.unwrap_or(0).min(output),
    })
}
