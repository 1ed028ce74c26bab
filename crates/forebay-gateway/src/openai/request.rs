//! What a request looks like.

use reqwest::Url;
use serde_json::{Map, Value, json};

use crate::call::{Call, ChatCall, EmbeddingsCall, ResponseFormat};
use crate::wire::Request;

/// The request of a call at the provider that `base` is the address of.
pub(crate) fn encode(call: &Call, base: &Url) -> Request {
    let (path, body) = match call {
        Call::Chat(call) => ("/chat/completions", chat(call, limit_name(base))),
        Call::Embeddings(call) => ("/embeddings", embeddings(call)),
    };
    Request { path, body: Value::Object(body).to_string().into_bytes() }
}

fn chat(call: &ChatCall, limit_name: &str) -> Map<String, Value> {
    let mut body = call.params.clone();
    body.insert("model".to_owned(), json!(call.model));
    body.insert("messages".to_owned(), call.messages.clone());
    body.insert("stream".to_owned(), json!(true));
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    if let Some(limit) = call.max_output_tokens {
        // One limit under one name: a second one would be the caller's way around the first.
        body.remove("max_tokens");
        body.remove("max_completion_tokens");
        body.insert(limit_name.to_owned(), json!(limit));
    }
    if let Some(format) = &call.response_format {
        body.insert("response_format".to_owned(), response_format(format));
    }
    body
}

fn embeddings(call: &EmbeddingsCall) -> Map<String, Value> {
    let mut body = call.params.clone();
    body.insert("model".to_owned(), json!(call.model));
    body.insert("input".to_owned(), json!(call.inputs));
    body
}

fn response_format(format: &ResponseFormat) -> Value {
    match format {
        ResponseFormat::JsonSchema { name, schema, strict } => {
            json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": strict}})
        }
        ResponseFormat::JsonObject => json!({"type": "json_object"}),
    }
}

/// How the output limit is called. OpenAI's reasoning models refuse `max_tokens`, and its host and Azure's
/// take the new name for all models; other servers know the old name at least, and some ignore or refuse
/// the new one.
fn limit_name(base: &Url) -> &'static str {
    let host = base.host_str().unwrap_or_default();
    let new = host == "api.openai.com" || host.ends_with(".openai.azure.com");
    if new { "max_completion_tokens" } else { "max_tokens" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(call: &Call, base: &str) -> Value {
        let request = encode(call, &Url::parse(base).unwrap());
        serde_json::from_slice(&request.body).unwrap()
    }

    fn chat_call(params: Value, response_format: Option<ResponseFormat>) -> Call {
        let Value::Object(params) = params else { panic!("parameters are an object") };
        Call::Chat(ChatCall {
            model: "m-1".to_owned(),
            messages: json!([{"role": "user", "content": "hi"}]),
            params,
            max_output_tokens: Some(64),
            response_format,
        })
    }

    #[test]
    fn a_chat_is_streamed_with_usage_and_its_own_members_win() {
        let params = json!({
            "temperature": 0, "model": "other", "stream": false, "stream_options": null, "messages": [],
            "max_tokens": 9_999, "max_completion_tokens": 9_999,
        });
        let expected = json!({
            "temperature": 0, "model": "m-1", "stream": true, "stream_options": {"include_usage": true},
            "messages": [{"role": "user", "content": "hi"}], "max_tokens": 64,
        });
        assert_eq!(sent(&chat_call(params, None), "http://localhost:8000/v1"), expected);
    }

    #[test]
    fn the_output_limit_has_the_name_that_the_host_knows() {
        for (base, name) in [
            ("https://api.openai.com/v1", "max_completion_tokens"),
            ("https://acme.openai.azure.com/openai/v1", "max_completion_tokens"),
            ("https://api.openai.com.example/v1", "max_tokens"),
            ("http://[::1]:8000/v1", "max_tokens"),
        ] {
            assert_eq!(sent(&chat_call(json!({}), None), base)[name], 64, "{base}");
        }
    }

    #[test]
    fn response_formats() {
        let schema = json!({"type": "object"});
        let by_schema =
            ResponseFormat::JsonSchema { name: "invoice".to_owned(), schema: schema.clone(), strict: true };
        let body = sent(&chat_call(json!({}), Some(by_schema)), "http://localhost/v1");
        let expected = json!({"name": "invoice", "schema": schema, "strict": true});
        assert_eq!(body["response_format"], json!({"type": "json_schema", "json_schema": expected}));
        let body = sent(&chat_call(json!({}), Some(ResponseFormat::JsonObject)), "http://localhost/v1");
        assert_eq!(body["response_format"], json!({"type": "json_object"}));
    }

    #[test]
    fn embeddings_are_asked_for_in_one_request() {
        let params = Map::from_iter([("dimensions".to_owned(), json!(3))]);
        let inputs = vec!["a".to_owned(), "b".to_owned()];
        let call = Call::Embeddings(EmbeddingsCall { model: "e".to_owned(), inputs, params });
        let expected = json!({"model": "e", "input": ["a", "b"], "dimensions": 3});
        assert_eq!(sent(&call, "http://localhost/v1"), expected);
    }
}
