//! `POST /v1/embeddings`: the same input always has the same vector.

use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use forebay_core::digest::Digest;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::ask::Embed;
use super::compose::{billed, reported};
use super::provider::Task;
use super::scenario::{Fault, UsageCounts};
use super::script::Exchange;
use super::wire::deliver;

/// Composes the answer and sends it.
pub(super) async fn answer(task: Task<'_>, mut exchange: Exchange) -> Response {
    let rule = task.applied.map(|applied| &*applied.rule);
    let truth = UsageCounts { input_tokens: task.ask.input_tokens, output_tokens: 0 };
    let usage = reported(truth, rule);
    if let Some(usage) = billed(usage, rule) {
        exchange.call.says(usage);
    }
    let model = match task.fault {
        Some(Fault::WrongModel { model }) => model,
        _ => &task.ask.model,
    };
    let data = match (&task.ask.embed, task.fault) {
        (_, Some(Fault::EmptyChoices {})) | (None, _) => Vec::new(),
        (Some(embed), _) => data(embed, task.active.scenario.defaults.embedding_dimensions),
    };
    let mut body = json!({
        "object": "list", "data": data, "model": model, "system_fingerprint": "forebay-sim",
    });
    if let Some(UsageCounts { input_tokens, .. }) = usage {
        body["usage"] = json!({ "prompt_tokens": input_tokens, "total_tokens": input_tokens });
    }
    deliver(body, 0, task.fault, exchange).await
}

fn data(embed: &Embed, default_dimensions: u32) -> Vec<Value> {
    let dimensions = embed.dimensions.unwrap_or(default_dimensions);
    let items = embed.inputs.iter().enumerate().map(|(index, input)| {
        let vector = vector(input, dimensions);
        let embedding = if embed.base64 { json!(base64(&vector)) } else { json!(vector) };
        json!({ "object": "embedding", "index": index, "embedding": embedding })
    });
    items.collect()
}

/// A vector of length 1 that follows from the input alone. It says nothing about the meaning of the input.
fn vector(input: &[u8], dimensions: u32) -> Vec<f32> {
    let mut rng = SmallRng::from_seed(*Digest::of(input).as_bytes());
    let raw: Vec<f32> = (0..dimensions).map(|_| rng.random::<f32>() - 0.5).collect();
    let length = raw.iter().map(|number| number * number).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    raw.into_iter().map(|number| number / length).collect()
}

/// Little-endian 32-bit floats, as OpenAI sends them.
fn base64(vector: &[f32]) -> String {
    STANDARD.encode(vector.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_follow_from_the_input_and_have_length_one() {
        let first = vector(b"invoice", 64);
        assert_eq!(first, vector(b"invoice", 64));
        assert_ne!(first, vector(b"invoices", 64));
        assert!((first.iter().map(|number| number * number).sum::<f32>() - 1.0).abs() < 1e-5);
        assert_eq!(base64(&[1.0, -2.0]), "AACAPwAAAMA=");
    }
}
