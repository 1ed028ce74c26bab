//! What a request asks for.

use serde_json::{Map, Value};

use super::error::ApiError;
use super::text::count_tokens;

/// Messages at the end whose text a rule's `contains` looks at.
const LAST_MESSAGES: usize = 4;
/// Inputs of one request for embeddings.
const INPUTS: usize = 2_048;

/// The interfaces that answer by a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    Chat,
    Embeddings,
    Responses,
}

/// A request that makes sense.
pub(super) struct Ask {
    pub(super) model: String,
    /// The texts that a rule's `contains` looks at.
    pub(super) texts: Vec<String>,
    pub(super) input_tokens: u64,
    pub(super) max_tokens: Option<u64>,
    pub(super) stream: bool,
    /// Whether a stream shall end with its usage.
    pub(super) include_usage: bool,
    pub(super) format: Format,
    /// Present exactly when embeddings are asked for.
    pub(super) embed: Option<Embed>,
}

/// The form of the text that is asked for.
#[derive(Debug, PartialEq)]
pub(super) enum Format {
    Text,
    JsonObject,
    JsonSchema(Value),
}

/// What embeddings are asked for.
pub(super) struct Embed {
    /// Each input in a form that stands for its content.
    pub(super) inputs: Vec<Vec<u8>>,
    pub(super) dimensions: Option<u32>,
    pub(super) base64: bool,
}

impl Ask {
    /// Reads the body of a request.
    pub(super) fn read(endpoint: Endpoint, body: &[u8]) -> Result<Self, ApiError> {
        let body: Map<String, Value> = serde_json::from_slice(body).map_err(|error| {
            ApiError::bad_request(&format!("invalid JSON: {error}"), None, "invalid_json")
        })?;
        match endpoint {
            Endpoint::Chat => Self::chat(&body),
            Endpoint::Embeddings => Self::embeddings(&body),
            Endpoint::Responses => Self::responses(&body),
        }
    }

    fn chat(body: &Map<String, Value>) -> Result<Self, ApiError> {
        let messages = body
            .get("messages")
            .and_then(Value::as_array)
            .filter(|messages| !messages.is_empty())
            .ok_or_else(|| missing("messages", "a list of at least one message"))?;
        if body.get("n").and_then(Value::as_u64).is_some_and(|n| n > 1) {
            return Err(unsupported("n", "the simulator gives one choice"));
        }
        let contents = messages.iter().filter_map(|message| message.get("content"));
        let ask = Self::common(body)?;
        Ok(Self {
            texts: last_texts(messages),
            input_tokens: count_tokens(contents.map(text_bytes).sum()),
            max_tokens: first_count(body, &["max_completion_tokens", "max_tokens"])?,
            stream: flag(body.get("stream")),
            include_usage: flag(body.get("stream_options").and_then(|options| options.get("include_usage"))),
            format: chat_format(body.get("response_format"))?,
            ..ask
        })
    }

    fn responses(body: &Map<String, Value>) -> Result<Self, ApiError> {
        if flag(body.get("stream")) || flag(body.get("background")) {
            let reason = "the simulator answers responses in one piece only";
            return Err(unsupported(if flag(body.get("stream")) { "stream" } else { "background" }, reason));
        }
        let input = body.get("input").ok_or_else(|| missing("input", "a text or a list of items"))?;
        let items = input.as_array().map_or(&[][..], Vec::as_slice);
        let instructions = body.get("instructions").map_or(0, text_bytes);
        let format = body.get("text").and_then(|text| text.get("format"));
        let ask = Self::common(body)?;
        Ok(Self {
            texts: if let Some(text) = input.as_str() { vec![text.to_owned()] } else { last_texts(items) },
            input_tokens: count_tokens(instructions + text_bytes(input)),
            max_tokens: first_count(body, &["max_output_tokens"])?,
            format: format_of(format, format)?,
            ..ask
        })
    }

    fn embeddings(body: &Map<String, Value>) -> Result<Self, ApiError> {
        let input = body.get("input").ok_or_else(|| missing("input", "a text, tokens, or a list of them"))?;
        let inputs = embedding_inputs(input)?;
        let dimensions = first_count(body, &["dimensions"])?.map(|count| u32::try_from(count).unwrap_or(0));
        if dimensions.is_some_and(|count| !(1..=65_536).contains(&count)) {
            return Err(ApiError::bad_request("expected 1 to 65536", Some("dimensions"), "invalid_value"));
        }
        let ask = Self::common(body)?;
        let base64 = body.get("encoding_format").and_then(Value::as_str) == Some("base64");
        Ok(Self {
            texts: inputs.iter().filter_map(|input| input.text.map(str::to_owned)).collect(),
            input_tokens: inputs.iter().map(|input| input.tokens).sum(),
            embed: Some(Embed {
                inputs: inputs.into_iter().map(|input| input.content).collect(),
                dimensions,
                base64,
            }),
            ..ask
        })
    }

    fn common(body: &Map<String, Value>) -> Result<Self, ApiError> {
        let model = body.get("model").and_then(Value::as_str).filter(|model| !model.is_empty());
        Ok(Self {
            model: model.ok_or_else(|| missing("model", "the name of a model"))?.to_owned(),
            texts: Vec::new(),
            input_tokens: 1,
            max_tokens: None,
            stream: false,
            include_usage: false,
            format: Format::Text,
            embed: None,
        })
    }

    /// What the call counts with at its arrival.
    pub(super) fn demand(&self, default_max_tokens: u64) -> u64 {
        let output = if self.embed.is_some() { 0 } else { self.max_tokens.unwrap_or(default_max_tokens) };
        self.input_tokens.saturating_add(output)
    }
}

fn missing(param: &str, expected: &str) -> ApiError {
    let message = format!("`{param}` is missing: expected {expected}");
    ApiError::bad_request(&message, Some(param), "missing_required_parameter")
}

fn unsupported(param: &str, reason: &str) -> ApiError {
    ApiError::bad_request(&format!("`{param}`: {reason}"), Some(param), "unsupported_parameter")
}

fn flag(value: Option<&Value>) -> bool {
    value.and_then(Value::as_bool).unwrap_or(false)
}

/// The first of these members that is present and not null, as a number of at least 1.
fn first_count(body: &Map<String, Value>, names: &[&str]) -> Result<Option<u64>, ApiError> {
    let found = names.iter().find_map(|name| Some((*name, body.get(*name).filter(|it| !it.is_null())?)));
    let Some((name, value)) = found else { return Ok(None) };
    match value.as_u64() {
        // Above this many tokens sums could overflow.
        Some(count @ 1..=1_000_000_000) => Ok(Some(count)),
        _ => Err(ApiError::bad_request(
            &format!("`{name}` is {value}: expected 1 to 1000000000"),
            Some(name),
            "invalid_value",
        )),
    }
}

fn chat_format(format: Option<&Value>) -> Result<Format, ApiError> {
    format_of(format, format.and_then(|format| format.get("json_schema")))
}

/// The format named by `type`; its schema stands in `holder`.
fn format_of(format: Option<&Value>, holder: Option<&Value>) -> Result<Format, ApiError> {
    match format.and_then(|format| format.get("type")).and_then(Value::as_str) {
        Some("json_object") => Ok(Format::JsonObject),
        Some("json_schema") => match holder.and_then(|holder| holder.get("schema")) {
            Some(schema) => Ok(Format::JsonSchema(schema.clone())),
            None => Err(missing("schema", "the JSON Schema of the answer")),
        },
        _ => Ok(Format::Text),
    }
}

/// The bytes of the text in a content: a text, or a list of parts or items.
fn text_bytes(content: &Value) -> usize {
    texts_in(content).iter().map(|text| text.len()).sum()
}

fn texts_in(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().flat_map(texts_in).collect(),
        Value::Object(part) => ["text", "content", "output"]
            .iter()
            .filter_map(|name| part.get(*name))
            .flat_map(texts_in)
            .collect(),
        _ => Vec::new(),
    }
}

fn last_texts(messages: &[Value]) -> Vec<String> {
    let last = &messages[messages.len().saturating_sub(LAST_MESSAGES)..];
    last.iter().flat_map(texts_in).map(str::to_owned).collect()
}

struct Input<'a> {
    text: Option<&'a str>,
    content: Vec<u8>,
    tokens: u64,
}

fn embedding_inputs(input: &Value) -> Result<Vec<Input<'_>>, ApiError> {
    let refused = |message: &str| ApiError::bad_request(message, Some("input"), "invalid_value");
    let inputs = match input {
        Value::Array(tokens) if tokens.iter().all(Value::is_u64) && !tokens.is_empty() => {
            vec![embedding_input(input)]
        }
        Value::Array(inputs) => inputs.iter().map(embedding_input).collect(),
        _ => vec![embedding_input(input)],
    };
    if inputs.is_empty() || inputs.len() > INPUTS {
        return Err(refused(&format!("{} inputs: expected 1 to {INPUTS}", inputs.len())));
    }
    let inputs: Option<Vec<_>> = inputs.into_iter().collect();
    inputs.ok_or_else(|| refused("an input is empty, or neither a text nor tokens"))
}

fn embedding_input(input: &Value) -> Option<Input<'_>> {
    match input {
        Value::String(text) if !text.is_empty() => Some(Input {
            text: Some(text),
            content: text.clone().into_bytes(),
            tokens: count_tokens(text.len()),
        }),
        Value::Array(tokens) if !tokens.is_empty() && tokens.iter().all(Value::is_u64) => {
            Some(Input { text: None, content: input.to_string().into_bytes(), tokens: tokens.len() as u64 })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(endpoint: Endpoint, body: Value) -> Result<Ask, String> {
        Ask::read(endpoint, body.to_string().as_bytes())
            .map_err(|error| String::from_utf8(error.body).unwrap_or_default())
    }

    #[test]
    fn the_prompt_is_the_text_of_all_messages() {
        let ask = read(
            Endpoint::Chat,
            json!({ "model": "m", "max_tokens": 7, "messages": [
                { "role": "system", "content": "12345678" },
                { "role": "user", "content": [{ "type": "text", "text": "1234" }, { "type": "image_url" }] },
                { "role": "assistant", "content": null },
            ] }),
        );
        let ask = ask.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((ask.input_tokens, ask.demand(256)), (3, 10));
        assert_eq!(ask.texts, ["12345678", "1234"]);
    }

    #[test]
    fn embeddings_take_texts_and_tokens() {
        for (input, tokens, count) in [
            (json!("12345"), 2, 1),
            (json!(["1234", "1"]), 2, 2),
            (json!([1, 2, 3]), 3, 1),
            (json!([[1, 2], [3]]), 3, 2),
        ] {
            let ask = read(Endpoint::Embeddings, json!({ "model": "m", "input": input }));
            let ask = ask.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!((ask.input_tokens, ask.embed.map_or(0, |embed| embed.inputs.len())), (tokens, count));
        }
        for input in [json!([]), json!(""), json!([""]), json!(5), json!(["a", {}])] {
            assert!(read(Endpoint::Embeddings, json!({ "model": "m", "input": input })).is_err());
        }
        let inputs = |count| json!({ "model": "m", "input": vec!["a"; count] });
        assert!(read(Endpoint::Embeddings, inputs(INPUTS)).is_ok());
        assert!(read(Endpoint::Embeddings, inputs(INPUTS + 1)).is_err());
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_member() {
        let messages = json!([{ "role": "user", "content": "hi" }]);
        for (endpoint, body, member) in [
            (Endpoint::Chat, json!({ "messages": messages }), "model"),
            (Endpoint::Chat, json!({ "model": "m", "messages": [] }), "messages"),
            (Endpoint::Chat, json!({ "model": "m", "messages": messages, "n": 2 }), "n"),
            (Endpoint::Chat, json!({ "model": "m", "messages": messages, "max_tokens": 0 }), "max_tokens"),
            (
                Endpoint::Chat,
                json!({ "model": "m", "messages": messages, "response_format": { "type": "json_schema" } }),
                "schema",
            ),
            (Endpoint::Responses, json!({ "model": "m" }), "input"),
            (Endpoint::Responses, json!({ "model": "m", "input": "a", "stream": true }), "stream"),
            (Endpoint::Responses, json!({ "model": "m", "input": "a", "background": true }), "background"),
        ] {
            let refusal = read(endpoint, body).map(|_| ()).unwrap_err();
            assert!(refusal.contains(&format!(r#""param":"{member}""#)), "{refusal}");
        }
    }
}
