//! `forebay apply`: checks definitions here and makes them the active revision there.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use http::StatusCode;
use serde_json::json;

use super::client::Ask;
use super::connection::Connection;
use super::error::CliError;
use super::excerpt::Excerpt;
use super::exit::Exit;
use super::output::Output;
use super::revisions;
use crate::definitions::{self, DefinitionFault, MOST_FAULTS};

/// Breaks of the grammar that are shown.
const GRAMMAR_FAULTS: usize = 5;

/// Arguments of `forebay apply`.
#[derive(Debug, Clone, Args)]
pub struct ApplyArgs {
    /// The definitions; files that they name are looked for beside it
    pub file: PathBuf,
    /// Why; kept with the revision
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// Has the server check them and say what would change; changes nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Checks them here, without a server
    #[arg(long, conflicts_with_all = ["dry_run", "expect", "comment"])]
    pub check: bool,
    /// Only where this revision is the active one, so that nobody else's change is lost
    #[arg(long, value_name = "N")]
    pub expect: Option<u32>,
    #[command(flatten)]
    connection: Connection,
}

/// Checks, bundles, uploads.
pub async fn run(args: ApplyArgs, output: &Output) -> Result<Exit, CliError> {
    let source = bundled(&args.file)?;
    if args.check {
        if output.is_json() {
            output.record(&json!({ "valid": true }))?;
        } else {
            output.line(&format!("{}: the definitions are valid", args.file.display()))?;
        }
        return Ok(Exit::Done);
    }
    let client = args.connection.client()?;
    let ask = Ask::post(&["v1", "revisions"]);
    if args.dry_run {
        let ask = revisions::toml(ask.query("dry_run", Some(true)), source);
        return revisions::trial(&client.json(ask.repeatable()).await?, output);
    }
    let mut body = json!({ "source": source });
    if let Some(comment) = &args.comment {
        body["comment"] = json!(comment);
    }
    // The server keeps the text of the active revision once, however often it is sent.
    let ask = revisions::expecting(ask.json(&body), args.expect)?.repeatable();
    let answer = client.send(ask).await?;
    revisions::report(&client, &answer.json()?, answer.status == StatusCode::CREATED, output).await
}

/// The definitions as one text, checked as a whole.
pub(super) fn bundled(file: &Path) -> Result<String, CliError> {
    let shown = file.display().to_string();
    let source = std::fs::read_to_string(file)
        .map_err(|error| CliError::failed(&format!("{shown} can't be read"), &error))?;
    if source.trim().is_empty() {
        let fix = "name the file with the definitions; `forebay revisions N` prints those of a revision";
        return Err(CliError::usage(format!("{shown} is empty"), fix));
    }
    let files = |name: &str| read_beside(file, name);
    let refuse = |faults: Vec<DefinitionFault>| CliError::Definitions(report(file, &source, &faults));
    definitions::load(&source, &files).map_err(refuse)?;
    definitions::bundle(&source, &files).map_err(refuse)
}

fn read_beside(file: &Path, name: &str) -> io::Result<String> {
    std::fs::read_to_string(beside(file, name))
}

fn beside(file: &Path, name: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(name)
}

fn report(file: &Path, text: &str, faults: &[DefinitionFault]) -> String {
    // Where the grammar is broken, one break makes many.
    let most = if faults.iter().all(|fault| fault.key.is_empty()) { GRAMMAR_FAULTS } else { MOST_FAULTS };
    let mut shown: Vec<_> = faults.iter().take(most).map(|fault| excerpt(file, text, fault)).collect();
    if let Some(more @ 1..) = faults.len().checked_sub(most) {
        shown.push(format!("and {more} more"));
    }
    let places = if faults.len() == 1 { "place" } else { "places" };
    let more = if faults.len() == MOST_FAULTS { " or more" } else { "" };
    format!("the definitions are wrong in {} {places}{more}\n{}", faults.len(), shown.join("\n"))
}

/// A fault, shown in the text or in the file beside it where it stands.
fn excerpt(definitions: &Path, text: &str, fault: &DefinitionFault) -> String {
    let DefinitionFault { file, line, column, key, value: _, message } = fault;
    let beside = file.as_deref().map(|name| (beside(definitions, name), name));
    let (path, text) = match &beside {
        Some((path, name)) => (path.display(), &read_beside(definitions, name).unwrap_or_default()),
        None => (definitions.display(), &text.to_owned()),
    };
    let message = if key.is_empty() { message.clone() } else { format!("{key}: {message}") };
    Excerpt { path: &path.to_string(), text, line: *line, column: *column, message }.render()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_shown_where_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("definitions.toml");
        std::fs::write(&file, "[taskz.a]\nx = 1\n").unwrap();
        let error = bundled(&file).unwrap_err();
        assert_eq!(error.exit(), Exit::Usage);
        let text = error.to_string().replace(&format!("{}/", folder.path().display()), "");
        assert!(text.starts_with("the definitions are wrong in 1 place\ndefinitions.toml:1:2: "), "{text}");
        assert!(text.contains("\n1 | [taskz.a]\n  |  ^"), "{text}");
    }

    #[test]
    fn faults_of_files_are_shown_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(
            "definitions.toml",
            &definitions::BASE.replace("prompt = \"Be brief.\"", "prompt_file = \"p.txt\""),
        );
        write("p.txt", "Answer in\n  {{ language }}.\n");
        let error = bundled(&folder.path().join("definitions.toml")).unwrap_err().to_string();
        let text = error.replace(&format!("{}/", folder.path().display()), "");
        let expected = "p.txt:2:6: tasks.chat.prompt_file: the template uses `language`, which `variables` does not declare\n  |\n2 |   {{ language }}.\n  |      ^";
        assert!(text.ends_with(expected), "{text}");
    }

    #[test]
    fn the_default_definitions_stand_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("definitions.toml");
        std::fs::write(&file, definitions::DEFAULT).unwrap();
        let source = bundled(&file).unwrap();
        assert!(definitions::load(&source, &definitions::no_files).is_ok());
    }

    #[test]
    fn what_is_no_toml_is_no_flood() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("README.md");
        std::fs::write(&file, "no definitions\n".repeat(50)).unwrap();
        let text = bundled(&file).unwrap_err().to_string();
        assert!(text.ends_with("\nand 45 more") && text.matches("not TOML").count() == 5, "{text}");
        std::fs::write(&file, "\n").unwrap();
        assert!(bundled(&file).unwrap_err().to_string().contains("README.md is empty"));
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = bundled(Path::new("/nowhere/d.toml")).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/d.toml can't be read: "), "{error}");
    }
}
