//! What a request looks like.

use forebay_core::definition::ProviderKind;
use serde_json::{Map, Value, json};

use crate::call::{ChatCall, ResponseFormat};
use crate::failed::Failed;
use crate::schema;
use crate::wire::unsayable;

/// Members that only chat completions have.
const OF_CHAT: [&str; 5] = ["messages", "stream_options", "max_tokens", "max_completion_tokens", "n"];

/// The body of a request. The answer is not kept by the provider unless the parameters say so.
pub(crate) fn request(call: &ChatCall, kind: ProviderKind) -> Result<Map<String, Value>, Failed> {
    let (format, mut body) = call.format_and_params();
    OF_CHAT.iter().for_each(|name| drop(body.remove(*name)));
    body.insert("model".to_owned(), json!(call.model));
    body.insert("input".to_owned(), input(&call.messages)?);
    body.insert("stream".to_owned(), json!(true));
    body.entry("store").or_insert(json!(false));
    if let Some(limit) = call.max_output_tokens {
        body.insert("max_output_tokens".to_owned(), json!(limit));
    }
    if let Some(effort) = body.remove("reasoning_effort") {
        set_within(&mut body, "reasoning", "effort", effort);
    }
    if let Some(verbosity) = body.remove("verbosity") {
        set_within(&mut body, "text", "verbosity", verbosity);
    }
    if let Some(format) = &format {
        set_within(&mut body, "text", "format", text_format(format, kind));
    }
    Ok(body)
}

/// Sets a member of the object in this member, which is made where it is missing.
fn set_within(body: &mut Map<String, Value>, name: &str, member: &str, value: Value) {
    let outer = body.entry(name).or_insert(Value::Null);
    match outer {
        Value::Object(outer) => drop(outer.insert(member.to_owned(), value)),
        other => *other = json!({ member: value }),
    }
}

fn text_format(format: &ResponseFormat, kind: ProviderKind) -> Value {
    match format {
        ResponseFormat::JsonSchema { name, schema, strict } => {
            let (schema, strict) = schema::for_openai(schema, *strict, kind);
            json!({"type": "json_schema", "name": name, "schema": schema, "strict": strict})
        }
        ResponseFormat::JsonObject => json!({"type": "json_object"}),
    }
}

/// Messages of a chat as items of an input.
pub(crate) fn input(messages: &Value) -> Result<Value, Failed> {
    let messages = messages.as_array().map(Vec::as_slice).unwrap_or_default();
    let items = messages.iter().map(|message| {
        let role = message["role"].as_str().unwrap_or_default();
        if !matches!(role, "system" | "developer" | "user" | "assistant") {
            return Err(unsayable("a message by Responses is of a system, developer, user or assistant"));
        }
        let content = match &message["content"] {
            Value::Array(parts) => {
                Value::Array(parts.iter().map(|part| content(part, role)).collect::<Result<_, _>>()?)
            }
            text => text.clone(),
        };
        Ok(json!({"role": role, "content": content}))
    });
    Ok(Value::Array(items.collect::<Result<_, _>>()?))
}

fn content(part: &Value, role: &str) -> Result<Value, Failed> {
    match part["type"].as_str() {
        Some("text") if role == "assistant" => Ok(json!({"type": "output_text", "text": part["text"]})),
        Some("text") => Ok(json!({"type": "input_text", "text": part["text"]})),
        Some("image_url") => {
            let detail = part["image_url"].get("detail").cloned().unwrap_or(json!("auto"));
            Ok(json!({"type": "input_image", "image_url": part["image_url"]["url"], "detail": detail}))
        }
        _ => Err(unsayable("a message by Responses consists of texts and images")),
    }
}
