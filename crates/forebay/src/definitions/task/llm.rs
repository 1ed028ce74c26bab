//! What only an `llm` task has, and what it can't have.

use std::sync::Arc;

use forebay_core::definition::Endpoint;
use forebay_core::prompt::Prompt;

use super::{Reading, prompt};
use crate::definitions::fault::Faults;

/// The prompt that is put before the messages of a request, where the task has one.
pub(super) fn prompt(faults: &mut Faults<'_>, reading: &Reading<'_>) -> Option<Arc<Prompt>> {
    refuse_extraction(faults, reading);
    let variables = reading.written.variables.as_ref();
    let declared = variables.is_some_and(|names| !names.is_empty());
    let message = "the prompt of an llm task has no variables: nothing would fill them in";
    faults.when(declared, &reading.at("variables"), message);
    let text = prompt::prompt_text(faults, reading)?;
    if let Some(model) = reading.model.filter(|model| model.endpoint == Endpoint::Embeddings) {
        let message = format!("model `{}` makes embeddings and is told nothing; leave it out", model.name);
        faults.at(&text.path, message);
        return None;
    }
    if declared { None } else { prompt::compile(faults, &text, &[]) }
}

fn refuse_extraction(faults: &mut Faults<'_>, reading: &Reading<'_>) {
    let written = reading.written;
    let members = [
        ("schema", written.schema.is_some()),
        ("schema_file", written.schema_file.is_some()),
        ("policy", written.policy.is_some()),
        ("corrections", written.corrections.is_some()),
    ];
    for (name, given) in members {
        let message = "only a task of kind \"extract\" has this; an llm task's answer is taken as it is";
        faults.when(given, &reading.at(name), message);
    }
}
