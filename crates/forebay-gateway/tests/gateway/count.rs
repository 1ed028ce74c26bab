//! How many tokens a call has, by the provider's own count or by its bytes.

use forebay_core::definition::ProviderKind;
use forebay_core::time::Millis;
use forebay_gateway::{Call, Counted, CountedBy, Gateway, Target};
use serde_json::{Value, json};

use crate::provider::{Provider, Step, json_response, response};
use crate::{chat, embeddings, target};

/// What a provider of this kind is asked, one request after another, and what the count comes to.
async fn count(kind: ProviderKind, provider: &Provider, call: &Call, deadline: Millis) -> Counted {
    let target = Target { kind, ..target(&provider.base_url) };
    Gateway::new().unwrap().count_tokens(&target, call, deadline).await
}

const PATIENT: Millis = Millis::from_secs(30);

#[tokio::test]
async fn each_kind_is_asked_in_its_own_way() {
    use ProviderKind as K;
    let messages = json!([{"role": "user", "content": "hi"}]);
    let blocks = json!([{"role": "user", "content": [{"type": "text", "text": "hi"}]}]);
    let tokenize = |text: &str| json!({"content": text, "add_special": true, "parse_special": true});
    for (kind, call, asked, answers) in [
        (
            K::Anthropic,
            chat(),
            vec![("/v1/messages/count_tokens", json!({"model": "m-1", "messages": blocks}))],
            vec![json!({"input_tokens": 14})],
        ),
        (
            K::Openai,
            chat(),
            vec![("/v1/responses/input_tokens", json!({"model": "m-1", "input": messages}))],
            vec![json!({"object": "response.input_tokens", "input_tokens": 14})],
        ),
        (
            K::Vllm,
            chat(),
            vec![("/tokenize", json!({"model": "m-1", "messages": messages, "add_generation_prompt": true}))],
            vec![json!({"count": 14, "max_model_len": 4096, "tokens": [1, 2]})],
        ),
        (
            K::Vllm,
            embeddings(&["a", "b"]),
            vec![
                ("/tokenize", json!({"model": "e-1", "prompt": "a"})),
                ("/tokenize", json!({"model": "e-1", "prompt": "b"})),
            ],
            vec![json!({"count": 10}), json!({"count": 4})],
        ),
        (
            K::LlamaCpp,
            chat(),
            vec![("/apply-template", json!({"messages": messages})), ("/tokenize", tokenize("<user>hi"))],
            vec![json!({"prompt": "<user>hi"}), json!({"tokens": vec![1; 14]})],
        ),
        (
            K::LlamaCpp,
            embeddings(&["a"]),
            vec![("/tokenize", tokenize("a"))],
            vec![json!({"tokens": vec![1; 14]})],
        ),
    ] {
        let provider =
            Provider::start(move |nth| vec![Step::Write(json_response("200 OK", &answers[nth]))]).await;
        let counted = count(kind, &provider, &call, PATIENT).await;
        assert_eq!(counted, Counted { tokens: 14, by: CountedBy::Provider }, "{kind:?}");
        let requests = provider.requests();
        assert_eq!(requests.len(), asked.len());
        for (request, (path, body)) in requests.iter().zip(&asked) {
            assert!(request.head.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{}", request.head);
            assert_eq!(&request.body, body, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn without_a_count_it_is_a_third_of_the_bytes() {
    let (json, text) = (json_response, "content-type: text/plain\r\n");
    let steps = |bytes: Vec<u8>| vec![Step::Write(bytes)];
    for (steps, why) in [
        (steps(json("404 Not Found", &json!({"error": "no"}))), "the provider answered HTTP 404"),
        (steps(json("200 OK", &json!({"input_tokens": -1}))), "the provider's answer has no `input_tokens`"),
        (
            steps(json("200 OK", &json!({"input_tokens": u64::MAX}))),
            "the provider's answer has no `input_tokens`",
        ),
        (steps(json("200 OK", &Value::Null)), "the provider's answer has no `input_tokens`"),
        (steps(response("200 OK", text, "busy")), "the answer is not JSON"),
        (vec![Step::Hang], "the provider did not count within 50 ms"),
        (vec![Step::Close], ""),
    ] {
        let deadline = if matches!(steps[0], Step::Hang) { Millis::new(50) } else { PATIENT };
        let provider = Provider::start(move |_| steps.clone()).await;
        let counted = count(ProviderKind::Anthropic, &provider, &chat(), deadline).await;
        let bytes = r#"[{"role":"user","content":"hi"}]"#.len() as u64;
        assert_eq!(counted.tokens, bytes.div_ceil(3));
        assert!(matches!(&counted.by, CountedBy::Estimate(said) if said.contains(why)), "{:?}", counted.by);
    }
    let provider = Provider::answering(json("200 OK", &json!({}))).await;
    for (kind, call, tokens) in [
        (ProviderKind::Compatible, embeddings(&["abcd", "e"]), 3),
        (ProviderKind::Openai, embeddings(&["abc"]), 1),
        (ProviderKind::Anthropic, embeddings(&["abc"]), 1),
    ] {
        let counted = count(kind, &provider, &call, PATIENT).await;
        let by = CountedBy::Estimate("the provider has no way to count".to_owned());
        assert_eq!(counted, Counted { tokens, by });
    }
    assert_eq!(provider.connections(), 0);
}
