//! Texts of a task that stand in the definitions or in a file beside them.

use std::sync::Arc;

use forebay_core::prompt::Prompt;

use super::Reading;
use crate::definitions::fault::Faults;

/// The text of a member that is written inline or in a file.
pub(super) fn text(
    faults: &mut Faults<'_>,
    reading: &Reading<'_>,
    [inline_name, file_name]: [&'static str; 2],
    inline: Option<&String>,
    file: Option<&String>,
) -> Option<String> {
    match (inline, file) {
        (inline, None) => inline.cloned(),
        (Some(_), Some(_)) => {
            faults.at(&reading.at(file_name), format!("give {inline_name} or {file_name}, not both"));
            None
        }
        (None, Some(file)) => (reading.files)(file)
            .map_err(|error| faults.at(&reading.at(file_name), format!("the file can't be read: {error}")))
            .ok(),
    }
}

/// The task's prompt as written, where it has one.
pub(super) fn prompt_text(faults: &mut Faults<'_>, reading: &Reading<'_>) -> Option<String> {
    let written = reading.written;
    let names = ["prompt", "prompt_file"];
    let text = text(faults, reading, names, written.prompt.as_ref(), written.prompt_file.as_ref())?;
    if text.trim().is_empty() {
        faults.at(&reading.at("prompt"), "a prompt says something; leave it out for none");
        return None;
    }
    Some(text)
}

/// Compiles a prompt with the variables that it declares.
pub(super) fn compile(
    faults: &mut Faults<'_>,
    reading: &Reading<'_>,
    text: &str,
    variables: &[String],
) -> Option<Arc<Prompt>> {
    let name = if reading.written.prompt.is_some() { "prompt" } else { "prompt_file" };
    Prompt::compile(text, variables)
        .map_err(|error| faults.at(&reading.at(name), error.to_string()))
        .map(Arc::new)
        .ok()
}

/// Whether a template that compiles uses a variable.
pub(super) fn uses(text: &str, variables: &[String], variable: &str) -> bool {
    let others: Vec<String> = variables.iter().filter(|name| *name != variable).cloned().collect();
    Prompt::compile(text, &others).is_err()
}
