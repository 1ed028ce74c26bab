//! From arguments to the request that submits a job.

use forebay_core::digest::Digest;
use serde_json::{Map, Value, json};

use super::super::error::CliError;
use super::SubmitArgs;
use super::source::Content;

/// What a task does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Text is the prompt of a chat.
    Prompt,
    /// Text is embedded.
    Embed,
    /// The file is a document.
    Document,
}

impl Takes {
    /// Reads it from a task as the server describes it.
    ///
    /// # Errors
    ///
    /// When this build does not know the task's kind.
    pub fn of(task: &Value) -> Result<Self, CliError> {
        let inputs = task.pointer("/input/oneOf").and_then(Value::as_array);
        let embeds = inputs.into_iter().flatten().any(|input| input.pointer("/properties/embed").is_some());
        match task.get("kind").and_then(Value::as_str) {
            Some("extract") => Ok(Takes::Document),
            Some("llm") if embeds => Ok(Takes::Embed),
            Some("llm") => Ok(Takes::Prompt),
            kind => Err(CliError::usage(
                format!("a task of the kind `{}` takes no file", kind.unwrap_or("unknown")),
                "give the input with --input JSON",
            )),
        }
    }

    /// The input of a job that takes text.
    pub fn text_input(self, content: &Content, name: &str) -> Result<Value, CliError> {
        let text = content.text(name)?;
        Ok(match self {
            Takes::Prompt => json!({ "prompt": text }),
            Takes::Embed => json!({ "embed": text }),
            Takes::Document => json!({ "text": text }),
        })
    }
}

/// The whole request; `input` where a file or an argument gave one.
pub fn body(args: &SubmitArgs, input: Option<Value>) -> Result<Value, CliError> {
    let mut members = Map::new();
    members.insert("task".to_owned(), json!(args.task));
    members.insert("input".to_owned(), input.unwrap_or_else(|| json!({})));
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            members.insert(name.to_owned(), value);
        }
    };
    add("priority", args.priority.map(|priority| json!(priority.name())));
    add("ttl_ms", args.ttl.map(|span| json!(span)));
    add("deadline", args.deadline.map(|at| json!(at)));
    add("delay_ms", args.delay.map(|span| json!(span)));
    let metadata: Map<String, Value> =
        args.metadata.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    add("metadata", (!metadata.is_empty()).then_some(Value::Object(metadata)));
    let mut body = Value::Object(members);
    for assignment in &args.set {
        assignment.apply(&mut body).map_err(|problem| {
            CliError::usage(format!("--set {problem}"), "point at a member of the request, from its top")
        })?;
    }
    Ok(body)
}

/// The key that makes a repeated command find the first command's job. Of several files each gets its own,
/// so that the same command over the same files is the same submission.
pub fn idempotency_key(given: Option<&str>, name: &str, is_one_of_many: bool, random: [u8; 16]) -> String {
    match given {
        Some(key) if is_one_of_many => {
            let digest = Digest::of(name.as_bytes()).to_string();
            format!("{key}:{}", digest.get(..16).unwrap_or(&digest))
        }
        Some(key) => key.to_owned(),
        None => format!("cli-{:032x}", u128::from_be_bytes(random)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{Cli, Command};
    use super::*;
    use clap::Parser as _;

    fn args(arguments: &[&str]) -> SubmitArgs {
        let arguments = ["forebay", "submit", "invoice"].iter().chain(arguments);
        match Cli::try_parse_from(arguments).unwrap().command {
            Command::Submit(args) => args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn arguments_become_members() {
        let args = args(&[
            "--priority",
            "high",
            "--ttl",
            "10m",
            "--delay",
            "5s",
            "--metadata",
            "order=4711",
            "--metadata",
            "batch=7",
            "--set",
            "/params/temperature=0.2",
            "--set",
            "/ordering_key=supplier-9",
        ]);
        assert_eq!(
            body(&args, Some(json!({ "document": "doc_1" }))).unwrap(),
            json!({
                "task": "invoice",
                "input": { "document": "doc_1" },
                "params": { "temperature": 0.2 },
                "priority": "high", "ttl_ms": 600_000, "delay_ms": 5_000,
                "metadata": { "order": "4711", "batch": "7" },
                "ordering_key": "supplier-9",
            })
        );
    }

    #[test]
    fn a_deadline_is_written_in_utc() {
        let body = body(&args(&["--deadline", "2026-12-01T11:00:00+01:00"]), None).unwrap();
        assert_eq!(body["deadline"], json!("2026-12-01T10:00:00.000Z"));
    }

    #[test]
    fn a_pointer_that_leads_nowhere_is_refused_here() {
        let error = body(&args(&["--set", "/task/name=x"]), None).unwrap_err();
        assert_eq!(error.exit().code(), 2);
    }

    #[test]
    fn the_task_says_what_a_file_is_for() {
        assert_eq!(Takes::of(&json!({ "kind": "extract" })).unwrap(), Takes::Document);
        assert_eq!(Takes::of(&json!({ "kind": "llm" })).unwrap(), Takes::Prompt);
        let embed = json!({ "kind": "llm", "input": { "oneOf": [{ "properties": { "embed": {} } }] } });
        assert_eq!(Takes::of(&embed).unwrap(), Takes::Embed);
        assert_eq!(Takes::of(&json!({ "kind": "agent" })).unwrap_err().exit().code(), 2);
    }

    #[test]
    fn each_of_several_files_has_a_key_of_its_own() {
        let key = |given, name, many| idempotency_key(given, name, many, [7; 16]);
        assert_eq!(key(Some("k"), "a.txt", false), "k");
        assert_eq!(key(Some("k"), "a.txt", true), key(Some("k"), "a.txt", true));
        assert_ne!(key(Some("k"), "a.txt", true), key(Some("k"), "b.txt", true));
        assert_eq!(key(None, "a.txt", true), format!("cli-{}", "07".repeat(16)));
    }
}
