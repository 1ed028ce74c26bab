//! Puts the files that definitions name into them, so that a revision is one text.

use std::ops::Range;

use super::fault::Faults;
use super::source::Source;
use super::{DefinitionFault, Files};

/// Members that may stand in a file, and what they are called when they do.
const FILES: [(&str, &str); 2] = [("prompt", "prompt_file"), ("schema", "schema_file")];

/// One replacement in the text.
struct Edit {
    span: Range<usize>,
    text: String,
}

/// Replaces every `prompt_file` and `schema_file` by `prompt` and `schema` with the file's text. Everything
/// else, comments too, stays as it is written.
///
/// # Errors
///
/// Where the text is no TOML, a file can't be read, or a member is given both ways.
pub fn bundle(source: &str, files: Files<'_>) -> Result<String, Vec<DefinitionFault>> {
    let source = Source::parse(source)?;
    let mut faults = Faults::new(&source);
    let mut edits = Vec::new();
    for task in source.names("tasks") {
        for (inline, file) in FILES {
            edits.extend(edit(&mut faults, &["tasks", &task, inline], &["tasks", &task, file], files));
        }
    }
    faults.into_result()?;
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
    let mut text = source.text().to_owned();
    for edit in edits {
        text.replace_range(edit.span, &edit.text);
    }
    Ok(text)
}

fn edit(faults: &mut Faults<'_>, inline: &[&str; 3], file: &[&str; 3], files: Files<'_>) -> Option<Edit> {
    let (key, value) = faults.source.spans(file)?;
    if faults.source.has(inline) {
        faults.at(file, format!("give {} or {}, not both", inline[2], file[2]));
        return None;
    }
    let (read, wrong) = faults.source.read::<String>(file);
    wrong.into_iter().for_each(|fault| faults.push(fault));
    let read = read?;
    let text =
        files(&read).map_err(|error| faults.at(file, format!("the file can't be read: {error}"))).ok()?;
    Some(Edit { span: key.start..value.end, text: format!("{} = {}", inline[2], toml_string(&text)) })
}

/// A text as a TOML string that reads back as exactly that text; over several lines where it can be.
fn toml_string(text: &str) -> String {
    let plain = text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    if plain && !text.contains("'''") && !text.ends_with('\'') {
        return format!("'''\n{text}'''");
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
