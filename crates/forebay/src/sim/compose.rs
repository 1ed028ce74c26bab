//! What the model is made to say.

use std::borrow::Cow;

use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::ask::{Ask, Format};
use super::sample::sample;
use super::scenario::{Defaults, Fault, Rule, UsageCounts, UsageOverride};
use super::text::{clip, count_tokens, filler};

/// An answer in words, before it takes the form of an endpoint.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Composition {
    pub(super) content: Content,
    pub(super) finish: Finish,
    pub(super) output_tokens: u64,
    /// The model that the answer names.
    pub(super) model: String,
    /// The usage that the answer reports; none when it reports none.
    pub(super) usage: Option<UsageCounts>,
}

/// What the model gives.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    Text(String),
    Refusal(String),
    ToolCall { name: String, arguments: String },
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finish {
    Stop,
    Length,
    ContentFilter,
    ToolCalls,
    /// It does not say.
    Unknown,
}

impl Content {
    /// The text, the refusal, or the arguments.
    pub(super) fn text(&self) -> &str {
        match self {
            Content::Text(text) | Content::Refusal(text) => text,
            Content::ToolCall { arguments, .. } => arguments,
        }
    }
}

/// Composes the answer to a request under a rule.
pub(super) fn compose(ask: &Ask, rule: Option<&Rule>, defaults: &Defaults, rng: &mut StdRng) -> Composition {
    let fault = rule.and_then(|rule| rule.fault.as_ref());
    let (content, mut finish) = content(ask, rule, defaults, fault, rng);
    let content = match content {
        Content::Text(text) => {
            let clipped = ask.max_tokens.map_or(text.as_str(), |most| clip(&text, most));
            if clipped.len() < text.len() {
                finish = Finish::Length;
            }
            Content::Text(clipped.to_owned())
        }
        other => other,
    };
    let output_tokens = count_tokens(content.text().len());
    let truth = UsageCounts { input_tokens: ask.input_tokens, output_tokens };
    let model = match fault {
        Some(Fault::WrongModel { model }) => model.clone(),
        _ => ask.model.clone(),
    };
    let usage = reported(truth, rule);
    Composition { content, finish, output_tokens, model, usage }
}

fn content(
    ask: &Ask,
    rule: Option<&Rule>,
    defaults: &Defaults,
    fault: Option<&Fault>,
    rng: &mut StdRng,
) -> (Content, Finish) {
    let text = text(ask, rule, defaults, rng);
    match fault {
        Some(Fault::Refusal { text }) => (Content::Refusal(text.clone()), Finish::Stop),
        Some(Fault::ToolCall { name, arguments }) => {
            let call = Content::ToolCall { name: name.clone(), arguments: arguments.clone() };
            (call, Finish::ToolCalls)
        }
        Some(Fault::ContentFilter {}) => (Content::Text(String::new()), Finish::ContentFilter),
        Some(Fault::FinishLength {}) => {
            let half = text.floor_char_boundary(text.len() / 2);
            (Content::Text(text[..half].to_owned()), Finish::Length)
        }
        Some(Fault::NoFinishReason {}) => (Content::Text(text.into_owned()), Finish::Unknown),
        _ => (Content::Text(text.into_owned()), Finish::Stop),
    }
}

fn text<'a>(ask: &Ask, rule: Option<&'a Rule>, defaults: &Defaults, rng: &mut StdRng) -> Cow<'a, str> {
    if let Some(reply) = rule.and_then(|rule| rule.reply.as_deref()) {
        return reply.into();
    }
    match &ask.format {
        Format::JsonObject => json!({ "simulated": true }).to_string().into(),
        Format::JsonSchema(schema) => sample(schema).to_string().into(),
        Format::Text => {
            let tokens = rule.and_then(|rule| rule.output_tokens).unwrap_or(defaults.output_tokens);
            filler(tokens.draw(rng), rng).into()
        }
    }
}

/// The usage that an answer reports.
pub(super) fn reported(truth: UsageCounts, rule: Option<&Rule>) -> Option<UsageCounts> {
    match rule.and_then(|rule| rule.usage) {
        None => Some(truth),
        Some(UsageOverride::Missing) => None,
        Some(UsageOverride::Zero) => Some(UsageCounts { input_tokens: 0, output_tokens: 0 }),
        Some(UsageOverride::Higher) => {
            Some(UsageCounts { input_tokens: truth.input_tokens * 2, output_tokens: truth.output_tokens * 2 })
        }
        Some(UsageOverride::Counts(counts)) => Some(counts),
    }
}

/// The usage that the log takes over from the answer: none when the truth stands.
pub(super) fn billed(reported: Option<UsageCounts>, rule: Option<&Rule>) -> Option<UsageCounts> {
    match rule.and_then(|rule| rule.usage) {
        None | Some(UsageOverride::Missing | UsageOverride::Zero) => None,
        Some(UsageOverride::Higher | UsageOverride::Counts(_)) => reported,
    }
}

/// Usage in the form of chat completions.
pub(super) fn chat_usage(usage: UsageCounts) -> Value {
    let UsageCounts { input_tokens, output_tokens } = usage;
    json!({
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": input_tokens.saturating_add(output_tokens),
        "prompt_tokens_details": { "cached_tokens": 0, "cache_write_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": 0 },
    })
}
