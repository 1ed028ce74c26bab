//! What is asked of whom.

use secrecy::SecretString;
use serde_json::{Map, Value};

/// The provider that a call goes to.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name in the definitions; only for messages.
    pub provider: String,
    /// Its address up to and including the version: `https://api.openai.com/v1`. The call, and the key with
    /// it, goes to no other host.
    pub base_url: String,
    /// What `Authorization: Bearer` carries; absent for servers that want none.
    pub api_key: Option<SecretString>,
}

/// One call of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// Chat completions, always streamed.
    Chat(ChatCall),
    /// Embeddings, never streamed.
    Embeddings(EmbeddingsCall),
}

/// A call of chat completions.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatCall {
    /// The model's name at the provider.
    pub model: String,
    /// The messages, an array in OpenAI's form.
    pub messages: Value,
    /// Further members of the request, such as `temperature`. The members that this struct or the gateway
    /// sets win over members of the same name.
    pub params: Map<String, Value>,
    /// The most tokens that the answer may have; the provider's own limit when absent.
    pub max_output_tokens: Option<u64>,
    /// The form that the answer must have.
    pub response_format: Option<ResponseFormat>,
}

/// How a provider is told what form the answer must have.
#[derive(Debug, Clone, PartialEq)]
pub enum ResponseFormat {
    /// JSON by a schema.
    JsonSchema {
        /// The schema's name; providers allow letters, digits, `_` and `-`.
        name: String,
        /// The schema itself.
        schema: Value,
        /// Whether the provider must guarantee it.
        strict: bool,
    },
    /// Any JSON object.
    JsonObject,
}

/// A call of embeddings.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddingsCall {
    /// The model's name at the provider.
    pub model: String,
    /// The texts; the answer has one vector for each, in this order.
    pub inputs: Vec<String>,
    /// Further members of the request, such as `dimensions`. With `encoding_format: base64` an answer is a
    /// quarter as long, where the provider knows it.
    pub params: Map<String, Value>,
}
