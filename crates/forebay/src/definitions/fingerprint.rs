//! The digest of a task: the same exactly while the same request must give the same kind of result.

use forebay_core::definition::{Model, TaskKind};
use forebay_core::digest::Digest;
use forebay_core::request::canonical;
use serde_json::{Map, Value, json};

/// Covers everything that can change a result: what the model is told, which model it is and how it is asked,
/// and what its answer must pass. Retries, times, prices and limits are no part of it, so a new revision
/// that changes only those does not turn a caller's second try into another request.
pub(super) fn task(
    kind: &TaskKind,
    model: &Model,
    params: &Map<String, Value>,
    max_output_tokens: u64,
) -> Result<Digest, serde_json::Error> {
    let by_kind = match kind {
        TaskKind::Llm { prompt } => json!({ "prompt": prompt.as_ref().map(|prompt| prompt.digest()) }),
        TaskKind::Extract(extraction) => json!({
            "prompt": extraction.prompt.digest(),
            "schema": extraction.schema.digest(),
            "policy": serde_json::to_value(&*extraction.policy)?,
            "policy_name": extraction.policy_name,
            "corrections": extraction.corrections,
        }),
    };
    let whole = json!({
        "kind": kind.name(),
        kind.name(): by_kind,
        "model": model.name,
        "provider_model": model.provider_model,
        "endpoint": serde_json::to_value(model.endpoint)?,
        "structured_output": serde_json::to_value(model.structured_output)?,
        "params": params,
        "max_output_tokens": max_output_tokens,
    });
    Ok(Digest::of(&canonical::to_bytes(&whole)))
}
