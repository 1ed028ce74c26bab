//! What an answer says, streamed or whole.

use forebay_core::attempt::Usage;
use forebay_core::failure::FailureClass;
use serde_json::Value;

use crate::failed::Failed;
use crate::provider_error::ProviderError;
use crate::said::{Said, believable, broken, model_of, parse_document, parse_event, tokens};
use crate::sse::Event;
use crate::wire::{Flow, Reader, Reading};

/// An answer so far.
#[derive(Debug)]
pub(super) struct Draft {
    said: Said,
    /// So many tokens of output mean that the answer is cut, whatever else it says.
    limit: Option<u64>,
}

impl Reader for Draft {
    fn event(&mut self, event: &Event) -> Result<Flow, Failed> {
        if event.data.trim() == "[DONE]" {
            return Ok(Flow::Done);
        }
        let json = parse_event(event)?;
        let delta = json["delta"].as_str().unwrap_or_default();
        match json["type"].as_str().unwrap_or_default() {
            "response.output_text.delta" => self.said.text.push_str(delta),
            "response.refusal.delta" => self.said.refusal.push_str(delta),
            "response.output_item.done" => self.absorb_tool(&json["item"]),
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(&json["response"])?;
                return Ok(Flow::Done);
            }
            _ => {}
        }
        Ok(Flow::More)
    }

    fn document(&mut self, body: &[u8]) -> Result<(), Failed> {
        self.end(&parse_document(body)?)
    }

    fn finish(self: Box<Self>) -> Reading {
        self.said.finish()
    }
}

impl Draft {
    /// An answer that is cut when it has so many tokens.
    pub(super) fn new(limit: Option<u64>) -> Self {
        Self { said: Said::default(), limit }
    }

    /// Takes in the whole response. What it says counts, not what the pieces before it said.
    fn end(&mut self, response: &Value) -> Result<(), Failed> {
        self.said.model = model_of(response).or(self.said.model.take());
        self.said.usage = usage(&response["usage"]);
        let output = response["output"].as_array().map(Vec::as_slice).unwrap_or_default();
        if output.iter().any(|item| item["type"] == "message") {
            (self.said.text, self.said.refusal) = (String::new(), String::new());
        }
        output.iter().for_each(|item| self.absorb(item));
        let why = &response["incomplete_details"]["reason"];
        self.said.finish_reason = match response["status"].as_str().unwrap_or_default() {
            "completed" if self.is_at_limit() => Some("max_output_tokens".to_owned()),
            "completed" => Some("completed".to_owned()),
            "incomplete" => Some(why.as_str().unwrap_or("incomplete").to_owned()),
            "failed" => return Err(failed(&response["error"])),
            "cancelled" => Some("cancelled".to_owned()),
            _ => return Err(broken("the answer ended without saying that it is complete")),
        };
        Ok(())
    }

    fn is_at_limit(&self) -> bool {
        let used = self.said.usage.map(|usage| usage.output_tokens);
        self.limit.is_some_and(|limit| used.is_some_and(|used| used >= limit))
    }

    /// Takes in an item of the output.
    fn absorb(&mut self, item: &Value) {
        self.absorb_tool(item);
        if item["type"] != "message" || item["role"] == "user" {
            return;
        }
        for part in item["content"].as_array().into_iter().flatten() {
            self.said.text.push_str(part["text"].as_str().unwrap_or_default());
            self.said.refusal.push_str(part["refusal"].as_str().unwrap_or_default());
        }
    }

    fn absorb_tool(&mut self, item: &Value) {
        let kind = item["type"].as_str().unwrap_or_default();
        if kind.ends_with("_call") {
            self.said.tool.get_or_insert_with(|| item["name"].as_str().unwrap_or(kind).to_owned());
        }
    }
}

/// The provider's own word that it failed.
fn failed(error: &Value) -> Failed {
    let read = ProviderError::from_json(error);
    let class = match error["code"].as_str().unwrap_or_default() {
        "rate_limit_exceeded" => FailureClass::RateLimited,
        "insufficient_quota" => FailureClass::QuotaExhausted,
        "invalid_prompt" => FailureClass::InvalidRequest,
        code if code.ends_with("_policy") || code.ends_with("policy_violation") => {
            FailureClass::ContentFiltered
        }
        _ => FailureClass::ProviderError,
    };
    Failed::after_send(class, "the answer says that it failed").saying(&read.message).with_hint(read.hint())
}

fn usage(usage: &Value) -> Option<Usage> {
    let input = tokens(&usage["input_tokens"])?;
    let output = tokens(&usage["output_tokens"])?;
    let detail = |name: &str| tokens(&usage["input_tokens_details"][name]).unwrap_or(0).min(input);
    let reasoning = tokens(&usage["output_tokens_details"]["reasoning_tokens"]).unwrap_or(0);
    believable(Usage {
        input_tokens: input,
        cached_input_tokens: detail("cached_tokens"),
        cache_write_tokens: detail("cache_write_tokens"),
        output_tokens: output,
        reasoning_tokens: reasoning.min(output),
    })
}
