//! What a request looks like.

use forebay_core::definition::ProviderKind;
use serde_json::{Map, Value, json};

use crate::call::{ChatCall, EmbeddingsCall, ResponseFormat};
use crate::schema;

/// The body of a chat completion.
pub(crate) fn chat(call: &ChatCall, kind: ProviderKind) -> Map<String, Value> {
    let mut body = call.params.clone();
    body.insert("model".to_owned(), json!(call.model));
    body.insert("messages".to_owned(), call.messages.clone());
    body.insert("stream".to_owned(), json!(true));
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    if let Some(limit) = call.max_output_tokens {
        // One limit under one name: a second one would be the caller's way around the first.
        body.remove("max_tokens");
        body.remove("max_completion_tokens");
        body.insert(limit_name(kind).to_owned(), json!(limit));
    }
    if let Some(format) = &call.response_format {
        body.insert("response_format".to_owned(), response_format(format, kind));
    }
    body
}

/// The body of a call of embeddings.
pub(crate) fn embeddings(call: &EmbeddingsCall) -> Map<String, Value> {
    let mut body = call.params.clone();
    body.insert("model".to_owned(), json!(call.model));
    body.insert("input".to_owned(), json!(call.inputs));
    body
}

fn response_format(format: &ResponseFormat, kind: ProviderKind) -> Value {
    match format {
        ResponseFormat::JsonSchema { name, schema, strict } => {
            let (schema, strict) = schema::for_openai(schema, *strict, kind);
            json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": strict}})
        }
        ResponseFormat::JsonObject => json!({"type": "json_object"}),
    }
}

/// How the output limit is called. OpenAI's reasoning models refuse `max_tokens`, and OpenAI and Azure take
/// the new name for all models; other servers know the old name at least, and some ignore or refuse the new
/// one.
fn limit_name(kind: ProviderKind) -> &'static str {
    match kind {
        ProviderKind::Openai | ProviderKind::Azure => "max_completion_tokens",
        _ => "max_tokens",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Call;
    use crate::wire::encode;

    fn sent(call: &Call, kind: ProviderKind) -> Value {
        serde_json::from_slice(&encode(call, kind).unwrap().body).unwrap()
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
        assert_eq!(sent(&chat_call(params, None), ProviderKind::Compatible), expected);
    }

    #[test]
    fn the_output_limit_has_the_name_that_the_provider_knows() {
        for (host, name) in [
            ("api.openai.com", "max_completion_tokens"),
            ("acme.openai.azure.com", "max_completion_tokens"),
            ("api.openai.com.example", "max_tokens"),
            ("[::1]", "max_tokens"),
        ] {
            let kind = ProviderKind::of_host(host);
            assert_eq!(sent(&chat_call(json!({}), None), kind)[name], 64, "{host}");
        }
    }

    #[test]
    fn response_formats() {
        let schema = json!({"type": "object"});
        let by_schema =
            ResponseFormat::JsonSchema { name: "invoice".to_owned(), schema: schema.clone(), strict: true };
        let body = sent(&chat_call(json!({}), Some(by_schema)), ProviderKind::Compatible);
        let expected = json!({"name": "invoice", "schema": schema, "strict": true});
        assert_eq!(body["response_format"], json!({"type": "json_schema", "json_schema": expected}));
        let body = sent(&chat_call(json!({}), Some(ResponseFormat::JsonObject)), ProviderKind::Compatible);
        assert_eq!(body["response_format"], json!({"type": "json_object"}));
    }

    #[test]
    fn embeddings_are_asked_for_in_one_request() {
        let params = Map::from_iter([("dimensions".to_owned(), json!(3))]);
        let inputs = vec!["a".to_owned(), "b".to_owned()];
        let call = Call::Embeddings(EmbeddingsCall { model: "e".to_owned(), inputs, params });
        let expected = json!({"model": "e", "input": ["a", "b"], "dimensions": 3});
        assert_eq!(sent(&call, ProviderKind::Compatible), expected);
    }
}
