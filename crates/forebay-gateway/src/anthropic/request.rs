//! What a request looks like.

use serde_json::{Map, Value, json};

use crate::call::{ChatCall, ResponseFormat};
use crate::failed::Failed;
use crate::schema;
use crate::wire::unsayable;

/// The output limit of a call that has none: Anthropic wants one.
const MAX_TOKENS: u64 = 4_096;

/// Members that only OpenAI's formats have.
const OF_OPENAI: [&str; 5] =
    ["stream_options", "max_completion_tokens", "max_output_tokens", "n", "prompt_cache_key"];

/// The body of a request.
///
/// Instructions (messages of the system or developer) go into `system`. With a `prompt_cache_key` they are
/// marked to be cached: they are what the calls of a task have in common.
pub(crate) fn request(call: &ChatCall) -> Result<Map<String, Value>, Failed> {
    let (format, mut body) = call.format_and_params();
    let caches = body.contains_key("prompt_cache_key");
    OF_OPENAI.iter().for_each(|name| drop(body.remove(*name)));
    translate(&mut body);
    body.append(&mut conversation(call, caches)?);
    body.insert("max_tokens".to_owned(), json!(call.max_output_tokens.unwrap_or(MAX_TOKENS)));
    body.insert("stream".to_owned(), json!(true));
    match &format {
        Some(ResponseFormat::JsonSchema { schema, .. }) => {
            let format = json!({"type": "json_schema", "schema": schema::for_anthropic(schema)});
            set_output(&mut body, "format", format);
        }
        Some(ResponseFormat::JsonObject) => {
            return Err(unsayable(
                "Anthropic has no plain JSON mode: give a schema, or say it in the prompt",
            ));
        }
        None => {}
    }
    Ok(body)
}

/// The members of a request that say what the model reads: `model`, `system` and `messages`.
pub(crate) fn conversation(call: &ChatCall, caches: bool) -> Result<Map<String, Value>, Failed> {
    let (mut system, mut messages) = (Vec::new(), Vec::new());
    for message in call.messages.as_array().into_iter().flatten() {
        let content = content(&message["content"])?;
        match message["role"].as_str().unwrap_or_default() {
            "system" | "developer" => system.extend(content),
            role @ ("user" | "assistant") => messages.push(json!({"role": role, "content": content})),
            _ => {
                return Err(unsayable("a message to Anthropic is of a system, developer, user or assistant"));
            }
        }
    }
    let mut members = Map::new();
    members.insert("model".to_owned(), json!(call.model));
    if let Some(last) = system.last_mut().filter(|_| caches) {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
    if !system.is_empty() {
        members.insert("system".to_owned(), Value::Array(system));
    }
    members.insert("messages".to_owned(), Value::Array(messages));
    Ok(members)
}

/// Says OpenAI's parameters in Anthropic's words.
fn translate(body: &mut Map<String, Value>) {
    match body.remove("stop") {
        Some(Value::String(stop)) => drop(body.insert("stop_sequences".to_owned(), json!([stop]))),
        Some(stop @ Value::Array(_)) => drop(body.insert("stop_sequences".to_owned(), stop)),
        _ => {}
    }
    if let Some(user) = body.remove("user") {
        body.entry("metadata").or_insert_with(|| json!({"user_id": user}));
    }
    if let Some(effort) = body.remove("reasoning_effort") {
        set_output(body, "effort", effort);
    }
}

/// Sets a member of `output_config`.
fn set_output(body: &mut Map<String, Value>, member: &str, value: Value) {
    match body.entry("output_config").or_insert(Value::Null) {
        Value::Object(config) => drop(config.insert(member.to_owned(), value)),
        other => *other = json!({ member: value }),
    }
}

/// A message's content as blocks. Anthropic refuses an empty text.
fn content(content: &Value) -> Result<Vec<Value>, Failed> {
    let blocks = match content {
        Value::Array(parts) => parts.iter().map(block).collect::<Result<Vec<_>, _>>()?,
        text => vec![json!({"type": "text", "text": text.as_str().unwrap_or_default()})],
    };
    Ok(blocks.into_iter().filter(|block| block["text"] != "").collect())
}

fn block(part: &Value) -> Result<Value, Failed> {
    match part["type"].as_str() {
        Some("text") => Ok(json!({"type": "text", "text": part["text"]})),
        Some("image_url") => {
            let url = part["image_url"]["url"].as_str().unwrap_or_default();
            Ok(json!({"type": "image", "source": image(url)}))
        }
        _ => Err(unsayable("a message to Anthropic consists of texts and images")),
    }
}

fn image(url: &str) -> Value {
    let inline = url.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
    match inline {
        Some((media_type, data)) => json!({"type": "base64", "media_type": media_type, "data": data}),
        None => json!({"type": "url", "url": url}),
    }
}
