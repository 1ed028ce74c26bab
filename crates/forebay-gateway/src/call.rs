//! What is asked of whom.

use forebay_core::definition::ProviderKind;
use secrecy::SecretString;
use serde_json::{Map, Value};

/// The provider that a call goes to.
#[derive(Debug, Clone)]
pub struct Target {
    /// Its name in the definitions; only for messages.
    pub provider: String,
    /// Whose interface it has: what requests and answers look like, and how the key is carried.
    pub kind: ProviderKind,
    /// Its address up to and including the version: `https://api.openai.com/v1`. The call, and the key with
    /// it, goes to no other host.
    pub base_url: String,
    /// The key, in the header that the provider's kind wants; absent for servers that want none.
    pub api_key: Option<SecretString>,
}

/// One call of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum Call {
    /// Chat completions, or Anthropic's Messages; always streamed.
    Chat(ChatCall),
    /// The same by OpenAI's Responses; always streamed, and not kept by the provider unless the parameters
    /// say so.
    Responses(ChatCall),
    /// Embeddings, never streamed.
    Embeddings(EmbeddingsCall),
}

/// A call of a model that writes. Messages and parameters are in the form of OpenAI's chat completions; where
/// a provider calls the same thing otherwise (`stop`, `reasoning_effort`, `verbosity`, `response_format`,
/// `prompt_cache_key`, `user`), it is said in the provider's way. Parameters that nobody knows here are passed
/// on as they are.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatCall {
    /// The model's name at the provider.
    pub model: String,
    /// The messages, an array in OpenAI's form.
    pub messages: Value,
    /// Further parameters, such as `temperature`. The members that this struct or the gateway sets win over
    /// parameters of the same name.
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

impl ResponseFormat {
    /// The form that a parameter `response_format` asks for; `None` for plain text and for what is not known.
    pub(crate) fn from_param(param: &Value) -> Option<ResponseFormat> {
        match param["type"].as_str()? {
            "json_schema" => {
                let given = &param["json_schema"];
                Some(ResponseFormat::JsonSchema {
                    name: given["name"].as_str().unwrap_or("answer").to_owned(),
                    schema: given["schema"].clone(),
                    strict: given["strict"].as_bool().unwrap_or(false),
                })
            }
            "json_object" => Some(ResponseFormat::JsonObject),
            _ => None,
        }
    }
}

impl ChatCall {
    /// The form that the answer must have, and the parameters that are left without it.
    pub(crate) fn format_and_params(&self) -> (Option<ResponseFormat>, Map<String, Value>) {
        let mut params = self.params.clone();
        let asked = params.remove("response_format");
        let asked = asked.as_ref().and_then(ResponseFormat::from_param);
        (self.response_format.clone().or(asked), params)
    }
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
