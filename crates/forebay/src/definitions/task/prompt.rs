//! Texts of a task that stand in the definitions or in a file beside them.

use std::sync::Arc;

use forebay_core::prompt::Prompt;

use super::Reading;
use crate::definitions::fault::{Faults, Inside};

/// The text of a member that is written inline or in a file.
pub(super) fn text<'r>(
    faults: &mut Faults<'_>,
    reading: &Reading<'r>,
    [inline_name, file_name]: [&'static str; 2],
    inline: Option<&String>,
    file: Option<&'r String>,
) -> Option<Inside<'r>> {
    let path = reading.at(file_name);
    match (inline, file) {
        (inline, None) => {
            inline.map(|text| Inside { path: reading.at(inline_name), file: None, text: text.clone() })
        }
        (Some(_), Some(_)) => {
            faults.at(&path, format!("give {inline_name} or {file_name}, not both"));
            None
        }
        (None, Some(file)) => (reading.files)(file)
            .map_err(|error| faults.at(&path, format!("the file can't be read: {error}")))
            .map(|text| Inside { path, file: Some(file), text })
            .ok(),
    }
}

/// The task's prompt as written, where it has one.
pub(super) fn prompt_text<'r>(faults: &mut Faults<'_>, reading: &Reading<'r>) -> Option<Inside<'r>> {
    let written = reading.written;
    let names = ["prompt", "prompt_file"];
    let text = text(faults, reading, names, written.prompt.as_ref(), written.prompt_file.as_ref())?;
    if text.text.trim().is_empty() {
        faults.at(&text.path, "a prompt says something; leave it out for none");
        return None;
    }
    Some(text)
}

/// Compiles a prompt with the variables that it declares.
pub(super) fn compile(
    faults: &mut Faults<'_>,
    inside: &Inside<'_>,
    variables: &[String],
) -> Option<Arc<Prompt>> {
    let error = match Prompt::compile(&inside.text, variables) {
        Ok(prompt) => return Some(Arc::new(prompt)),
        Err(error) => error,
    };
    let found = forebay_core::prompt::faults(&inside.text, variables);
    if found.is_empty() {
        faults.at(&inside.path, error.to_string());
    }
    for fault in found {
        faults.inside(inside, (fault.line, fault.column), fault.error.to_string());
    }
    None
}

/// Whether a template that compiles uses a variable.
pub(super) fn uses(text: &str, variables: &[String], variable: &str) -> bool {
    let others: Vec<String> = variables.iter().filter(|name| *name != variable).cloned().collect();
    Prompt::compile(text, &others).is_err()
}
