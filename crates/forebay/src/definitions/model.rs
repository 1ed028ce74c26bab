//! Models.

use forebay_core::definition::{Endpoint, Model, Pool, ProviderKind, StructuredOutput};
use forebay_core::money::{Micros, Price};

use super::fault::Faults;
use super::parts::{section, within};
use super::{Section, written};

/// Reads `[models.*]`.
pub(super) fn models(faults: &mut Faults<'_>, pools: &Section<Pool>) -> Section<Model> {
    section(faults, "models", |faults, path, written: written::Model| {
        let pool = pools.resolve(faults, &within(path, "pool"), "pool", &written.pool);
        let empty = written.provider_model.trim().is_empty();
        faults.when(empty, &within(path, "provider_model"), "the provider's name of the model is missing");
        check_tokens(faults, path, &written);
        check_endpoint(faults, path, &written);
        match pool.as_ref().map(|pool| pool.provider.kind) {
            Some(ProviderKind::Anthropic) => check_anthropic(faults, path, &written),
            Some(ProviderKind::LlamaCpp) => check_llama_cpp(faults, path, &written),
            _ => {}
        }
        let price = price(&written);
        Some(Model {
            name: path[1].to_owned(),
            pool: pool?,
            provider_model: written.provider_model,
            endpoint: written.endpoint,
            context_tokens: written.context_tokens.into(),
            max_output_tokens: written.max_output_tokens.unwrap_or_default().into(),
            price,
            structured_output: written.structured_output.unwrap_or_default(),
        })
    })
}

fn price(written: &written::Model) -> Price {
    let micros = |price: u32| Micros(price.into());
    Price {
        input_per_mtok: micros(written.input_micros_per_mtok),
        cached_input_per_mtok: written.cached_input_micros_per_mtok.map(micros),
        output_per_mtok: micros(written.output_micros_per_mtok.unwrap_or_default()),
    }
}

fn check_tokens(faults: &mut Faults<'_>, path: &[&str], written: &written::Model) {
    let context = within(path, "context_tokens");
    faults.when(written.context_tokens == 0, &context, "a model reads at least one token");
    let Some(output) = written.max_output_tokens else { return };
    let output_path = within(path, "max_output_tokens");
    let larger = output > written.context_tokens;
    faults.when(larger, &output_path, format!("more than the context_tokens = {}", written.context_tokens));
}

/// What one endpoint needs and the other can't have.
fn check_endpoint(faults: &mut Faults<'_>, path: &[&str], written: &written::Model) {
    let output = within(path, "max_output_tokens");
    let price = within(path, "output_micros_per_mtok");
    let structured = within(path, "structured_output");
    match written.endpoint {
        Endpoint::Chat | Endpoint::Responses => {
            let missing = written.max_output_tokens.unwrap_or_default() == 0;
            faults.when(missing, &output, "a chat model needs the most tokens that an answer may have");
            let missing = written.output_micros_per_mtok.is_none();
            faults.when(
                missing,
                &price,
                "a chat model needs a price of generated tokens; 0 where they are free",
            );
        }
        Endpoint::Embeddings => {
            let given = written.max_output_tokens.unwrap_or_default() > 0;
            faults.when(given, &output, "an embeddings model generates no tokens; leave it out");
            let given = written.output_micros_per_mtok.unwrap_or_default() > 0;
            faults.when(given, &price, "an embeddings model generates no tokens; leave it out");
            let given = written.structured_output.is_some();
            faults.when(given, &structured, "an embeddings model answers without JSON; leave it out");
        }
    }
}

/// What Anthropic has no way to do.
fn check_anthropic(faults: &mut Faults<'_>, path: &[&str], written: &written::Model) {
    let endpoint = within(path, "endpoint");
    let message = "Anthropic makes no embeddings; take another provider's model";
    faults.when(written.endpoint == Endpoint::Embeddings, &endpoint, message);
    let message = "Anthropic has no Responses; its Messages are \"chat\"";
    faults.when(written.endpoint == Endpoint::Responses, &endpoint, message);
    let plain = written.structured_output == Some(StructuredOutput::JsonObject);
    let message = "Anthropic has no plain JSON mode; write \"json_schema\" or \"none\"";
    faults.when(plain, &within(path, "structured_output"), message);
}

/// What llama.cpp has, but in a way that would not be noticed.
fn check_llama_cpp(faults: &mut Faults<'_>, path: &[&str], written: &written::Model) {
    let responses = written.endpoint == Endpoint::Responses;
    let message = "llama.cpp's Responses ignore the schema and call a cut answer complete; write \"chat\"";
    faults.when(responses, &within(path, "endpoint"), message);
}
