//! `forebay dead-letters show`: one, for whoever has to find out why.

use forebay_core::failure::{FailureClass, Fault};
use serde_json::Value;

use crate::cli::error::CliError;
use crate::cli::get::next_steps;
use crate::cli::output::Output;
use crate::cli::table::{Show, cell, rows};

/// Shows a letter, what its failure class means, what was noted and what was done, and what to do next.
pub(super) fn letter(letter: &Value, output: &Output) -> Result<(), CliError> {
    for line in lines(letter) {
        output.line(&line)?;
    }
    let job = letter.get("job").cloned().unwrap_or_default();
    let job_id = cell(letter.get("job_id"), Show::Plain);
    next_steps(&job, &job_id).iter().for_each(|step| output.note(step));
    Ok(())
}

/// Lines of a name and a value; what is absent has no line.
fn lines(letter: &Value) -> Vec<String> {
    let text = |pointer: &str| cell(letter.pointer(pointer), Show::Plain);
    let class = text("/job/failure/class");
    let mut lines = vec![
        ("job", text("/job_id")),
        ("task", format!("{}@{}", text("/job/task"), text("/job/revision"))),
        ("state", text("/state")),
        ("owner", text("/owner")),
        ("failed", text("/failed_at")),
        ("class", class.clone()),
        ("means", FailureClass::from_name(&class).map(meaning).unwrap_or_default()),
        ("message", text("/job/failure/message")),
        ("attempts", text("/job/attempts/made")),
    ];
    for replay in rows(letter.get("replays").unwrap_or(&Value::Null)) {
        let of = |name: &str| cell(replay.get(name), Show::Plain);
        lines.push(("replay", format!("{}  {}", of("job_id"), of("state"))));
    }
    for note in rows(letter.get("notes").unwrap_or(&Value::Null)) {
        let of = |name: &str| cell(note.get(name), Show::Plain);
        lines.push(("note", format!("{} {}: {}", of("at"), of("author"), of("text"))));
    }
    let given = lines.into_iter().filter(|(_, value)| !value.is_empty());
    given.map(|(name, value)| format!("{name:<10} {value}")).collect()
}

/// What a class means, and whose matter it is.
fn meaning(class: FailureClass) -> String {
    let facts = class.facts();
    let whose = match facts.fault {
        Fault::Provider => "the provider",
        Fault::Caller => "whoever submitted it",
        Fault::Model => "the model",
        Fault::Operator => "whoever runs this",
        Fault::Forebay => "Forebay",
        Fault::Person => "a person who decided",
    };
    format!("{} (at fault: {whose})", facts.meaning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_letter_says_what_its_class_means_and_what_was_done() {
        let letter = json!({
            "job_id": "job_1", "state": "replayed", "owner": "anna", "failed_at": "2026-12-01T10:00:00.000Z",
            "job": {"task": "invoice", "revision": 3, "failure": {"class": "auth", "message": "HTTP 401"}, "attempts": {"made": 1}},
            "replays": [{"job_id": "job_2", "state": "SUCCEEDED"}],
            "notes": [{"at": "2026-12-01T11:00:00.000Z", "author": "ops", "text": "new key"}],
        });
        let lines = lines(&letter);
        assert_eq!(lines[1], "task       invoice@3");
        assert!(
            lines[6].starts_with("means      ") && lines[6].ends_with("(at fault: whoever runs this)"),
            "{lines:?}"
        );
        assert_eq!(
            lines[9..],
            ["replay     job_2  SUCCEEDED", "note       2026-12-01T11:00:00.000Z ops: new key"]
        );
    }
}
