//! How many tokens a call has, by the provider's own count where it has one.

use forebay_core::definition::ProviderKind;
use forebay_core::limits::PROVIDER_REPLY_BYTES;
use forebay_core::plan::estimated_tokens;
use forebay_core::time::Millis;
use serde_json::{Map, Value, json};

use crate::call::{Call, ChatCall, Target};
use crate::failed::in_words;
use crate::gateway::{Gateway, base_url, headers};
use crate::said::tokens;
use crate::{anthropic, responses};

/// How many tokens a call's input has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The number of tokens.
    pub tokens: u64,
    /// Who says so.
    pub by: CountedBy,
}

/// Who says how many tokens a call has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CountedBy {
    /// The provider, by the interface that it has for this.
    Provider,
    /// Nobody: it is estimated from the bytes, for this reason.
    Estimate(String),
}

impl Gateway {
    /// Asks the provider how many tokens the input of a call has, before it is made. Anthropic, OpenAI, vLLM
    /// and llama.cpp count; none of them charges for it.
    ///
    /// After `deadline`, after any failure, and where the provider has no way to count, the answer is a third
    /// of the bytes instead, which is on the safe side for text.
    pub async fn count_tokens(&self, target: &Target, call: &Call, deadline: Millis) -> Counted {
        let asked = tokio::time::timeout(deadline.to_duration(), self.ask(target, call)).await;
        let late = || Err(format!("the provider did not count within {} ms", deadline.get()));
        match asked.unwrap_or_else(|_| late()) {
            Ok(tokens) => Counted { tokens, by: CountedBy::Provider },
            Err(why) => Counted { tokens: estimate(call), by: CountedBy::Estimate(why) },
        }
    }

    async fn ask(&self, target: &Target, call: &Call) -> Result<u64, String> {
        let base = target.base_url.trim_end_matches('/');
        // What is no part of anybody's interface stands beside the version, not below it.
        let root = base.strip_suffix("/v1").unwrap_or(base);
        match (target.kind, call) {
            (ProviderKind::Anthropic, Call::Chat(chat)) => {
                let body = anthropic::conversation(chat, false).map_err(|failed| failed.failure.message)?;
                self.counted(target, &format!("{base}/messages/count_tokens"), body, "input_tokens").await
            }
            (ProviderKind::Openai, Call::Chat(chat) | Call::Responses(chat)) => {
                let input = responses::input(&chat.messages).map_err(|failed| failed.failure.message)?;
                let body = members(json!({"model": chat.model, "input": input}));
                self.counted(target, &format!("{base}/responses/input_tokens"), body, "input_tokens").await
            }
            (ProviderKind::Vllm, Call::Chat(chat) | Call::Responses(chat)) => {
                let body =
                    json!({"model": chat.model, "messages": chat.messages, "add_generation_prompt": true});
                self.counted(target, &format!("{root}/tokenize"), members(body), "count").await
            }
            (ProviderKind::Vllm, Call::Embeddings(call)) => {
                let mut sum = 0;
                for input in &call.inputs {
                    let body = members(json!({"model": call.model, "prompt": input}));
                    sum += self.counted(target, &format!("{root}/tokenize"), body, "count").await?;
                }
                Ok(sum)
            }
            (ProviderKind::LlamaCpp, Call::Chat(chat)) => {
                let prompt = self.in_template(target, root, chat).await?;
                self.tokenized(target, root, &prompt).await
            }
            (ProviderKind::LlamaCpp, Call::Embeddings(call)) => {
                let mut sum = 0;
                for input in &call.inputs {
                    sum += self.tokenized(target, root, input).await?;
                }
                Ok(sum)
            }
            _ => Err("the provider has no way to count".to_owned()),
        }
    }

    /// The number in this member of the answer.
    async fn counted(
        &self,
        target: &Target,
        url: &str,
        body: Map<String, Value>,
        member: &str,
    ) -> Result<u64, String> {
        let answer = self.post(target, url, body).await?;
        tokens(&answer[member]).ok_or_else(|| format!("the provider's answer has no `{member}`"))
    }

    /// What the model reads of messages, with all that its template adds.
    async fn in_template(&self, target: &Target, root: &str, chat: &ChatCall) -> Result<String, String> {
        let body = members(json!({"messages": chat.messages}));
        let answer = self.post(target, &format!("{root}/apply-template"), body).await?;
        let prompt = answer["prompt"].as_str();
        prompt.map(str::to_owned).ok_or_else(|| "the provider's answer has no `prompt`".to_owned())
    }

    /// How many tokens llama.cpp makes of a text, as it does when it completes it.
    async fn tokenized(&self, target: &Target, root: &str, text: &str) -> Result<u64, String> {
        let body = members(json!({"content": text, "add_special": true, "parse_special": true}));
        let answer = self.post(target, &format!("{root}/tokenize"), body).await?;
        let tokens = answer["tokens"].as_array();
        tokens
            .map(|tokens| tokens.len() as u64)
            .ok_or_else(|| "the provider's answer has no `tokens`".to_owned())
    }

    async fn post(&self, target: &Target, url: &str, body: Map<String, Value>) -> Result<Value, String> {
        let said = |failed: crate::failed::Failed| failed.failure.message;
        base_url(&target.base_url).map_err(said)?;
        let headers = headers(target).map_err(said)?;
        let request = self.http().post(url).headers(headers).body(Value::Object(body).to_string());
        let mut response = request.send().await.map_err(in_words)?;
        if !response.status().is_success() {
            return Err(format!("the provider answered HTTP {}", response.status().as_u16()));
        }
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(in_words)? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > PROVIDER_REPLY_BYTES {
                return Err(format!("the answer is longer than {PROVIDER_REPLY_BYTES} bytes"));
            }
        }
        serde_json::from_slice(&bytes).map_err(|error| format!("the answer is not JSON: {error}"))
    }
}

/// The members of an object.
fn members(object: Value) -> Map<String, Value> {
    if let Value::Object(members) = object { members } else { Map::new() }
}

/// What the input is expected to have, by its bytes.
fn estimate(call: &Call) -> u64 {
    match call {
        Call::Chat(call) | Call::Responses(call) => estimated_tokens(call.messages.to_string().len()),
        Call::Embeddings(call) => call.inputs.iter().map(|input| estimated_tokens(input.len())).sum(),
    }
}
