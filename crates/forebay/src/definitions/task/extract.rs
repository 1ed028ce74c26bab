//! What only an `extract` task has.

use std::sync::Arc;

use forebay_core::definition::{Endpoint, Extraction};
use forebay_core::extract::{Policy, Schema};
use forebay_core::prompt::Prompt;
use forebay_core::request::json::{self, place};

use super::{Reading, prompt};
use crate::definitions::fault::Faults;

/// Corrective calls when the task does not say.
const DEFAULT_CORRECTIONS: u32 = 1;

/// Makes prompt, schema and policy ready. All of them are looked at, whatever is wrong with the first.
pub(super) fn extraction(faults: &mut Faults<'_>, reading: &Reading<'_>) -> Option<Arc<Extraction>> {
    refuse_embeddings(faults, reading);
    let prompt = document_prompt(faults, reading);
    let schema = schema(faults, reading);
    let policy = policy(faults, reading);
    let corrections = reading.written.corrections.unwrap_or(DEFAULT_CORRECTIONS);
    let message = "at most 1: what one corrective call does not repair, a person decides";
    faults.when(corrections > 1, &reading.at("corrections"), message);
    let ((policy, policy_name), schema) = (policy?, schema?);
    refuse_strangers(faults, reading, &policy, &schema);
    Some(Arc::new(Extraction { prompt: prompt?, schema, policy, policy_name, corrections }))
}

/// A policy that names what the task's schema can't have would never be satisfied, or never check anything.
fn refuse_strangers(faults: &mut Faults<'_>, reading: &Reading<'_>, policy: &Policy, schema: &Schema) {
    let Some(name) = &reading.written.policy else { return };
    for stranger in policy.strangers_to(schema) {
        let member = ["policies", name].into_iter().chain(stranger.member.split('.'));
        let message = format!("{} of the task `{}`", stranger.message, reading.path[1]);
        faults.at(&member.collect::<Vec<_>>(), message);
    }
}

fn refuse_embeddings(faults: &mut Faults<'_>, reading: &Reading<'_>) {
    if let Some(model) = reading.model.filter(|model| model.endpoint == Endpoint::Embeddings) {
        let message = format!("model `{}` makes embeddings; an extract task needs a chat model", model.name);
        faults.at(&reading.at("model"), message);
    }
}

/// The prompt, which must show the document to the model.
fn document_prompt(faults: &mut Faults<'_>, reading: &Reading<'_>) -> Option<Arc<Prompt>> {
    let names = variables(faults, reading);
    let written = reading.written;
    if written.prompt.is_none() && written.prompt_file.is_none() {
        faults.at(&reading.at("prompt"), "an extract task needs a prompt, or a prompt_file");
    }
    let text = prompt::prompt_text(faults, reading)?;
    let compiled = prompt::compile(faults, &text, &names?)?;
    if !prompt::uses(&text.text, compiled.variables(), "document") {
        faults.at(&text.path, "the prompt does not use {{ document }}, so the model would not see it");
        return None;
    }
    Some(compiled)
}

fn variables(faults: &mut Faults<'_>, reading: &Reading<'_>) -> Option<Vec<String>> {
    let Some(names) = &reading.written.variables else {
        return Some(vec!["document".to_owned()]);
    };
    let known = names.iter().all(|name| name == "document" || name == "schema");
    if !known || !names.iter().any(|name| name == "document") {
        let message = "the variables of an extract prompt are \"document\" and, if it is used, \"schema\"";
        faults.at(&reading.at("variables"), message);
        return None;
    }
    Some(names.clone())
}

fn schema(faults: &mut Faults<'_>, reading: &Reading<'_>) -> Option<Arc<Schema>> {
    let written = reading.written;
    if written.schema.is_none() && written.schema_file.is_none() {
        faults.at(&reading.at("schema"), "an extract task needs a schema, or a schema_file");
    }
    let names = ["schema", "schema_file"];
    let text = prompt::text(faults, reading, names, written.schema.as_ref(), written.schema_file.as_ref())?;
    let value = json::parse(text.text.as_bytes())
        .map_err(|error| {
            let message = format!("the schema can't be read: {}", error.message);
            faults.inside(&text, (error.line, error.column.max(1)), message);
        })
        .ok()?;
    match Schema::compile(&value) {
        Ok(schema) => Some(Arc::new(schema)),
        Err(_) => {
            for (pointer, error) in Schema::faults(&value) {
                faults.inside(&text, place::position(&text.text, &pointer), error.to_string());
            }
            None
        }
    }
}

/// The policy, with its name and version.
fn policy(faults: &mut Faults<'_>, reading: &Reading<'_>) -> Option<(Arc<Policy>, String)> {
    let path = reading.at("policy");
    let Some(name) = &reading.written.policy else {
        faults.at(&path, "an extract task needs a policy; one with nothing but a version checks nothing");
        return None;
    };
    let policy = reading.policies.resolve(faults, &path, "policy", name)?;
    let named = format!("{name}@{}", policy.version);
    Some((policy, named))
}
