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
use crate::definitions::{self, DefinitionFault};

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
    let beside = |name: &str| read_beside(file, name);
    let refuse = |faults: Vec<DefinitionFault>| CliError::Definitions(report(&shown, &source, &faults));
    definitions::load(&source, &beside).map_err(refuse)?;
    definitions::bundle(&source, &beside).map_err(refuse)
}

fn read_beside(file: &Path, name: &str) -> io::Result<String> {
    std::fs::read_to_string(file.parent().unwrap_or(Path::new("")).join(name))
}

fn report(path: &str, text: &str, faults: &[DefinitionFault]) -> String {
    let shown: Vec<_> = faults.iter().map(|fault| excerpt(path, text, fault).render()).collect();
    let places = if faults.len() == 1 { "place" } else { "places" };
    format!("the definitions are wrong in {} {places}\n{}", faults.len(), shown.join("\n"))
}

fn excerpt<'a>(path: &'a str, text: &'a str, fault: &DefinitionFault) -> Excerpt<'a> {
    let DefinitionFault { line, column, key, value: _, message } = fault;
    let message = if key.is_empty() { message.clone() } else { format!("{key}: {message}") };
    Excerpt { path, text, line: *line, column: *column, message }
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
    fn the_default_definitions_stand_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("definitions.toml");
        std::fs::write(&file, definitions::DEFAULT).unwrap();
        let source = bundled(&file).unwrap();
        assert!(definitions::load(&source, &definitions::no_files).is_ok());
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = bundled(Path::new("/nowhere/d.toml")).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/d.toml can't be read: "), "{error}");
    }
}
