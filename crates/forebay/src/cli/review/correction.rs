//! A corrected output: by values, by a file, or by an editor.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::DecideArgs;
use crate::cli::client::Client;
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::submit::source::Source;
use crate::cli::values::Assignment;
use crate::runtime::random_bytes;

/// A correction.
#[derive(Debug, Clone, Args)]
pub(super) struct CorrectArgs {
    #[command(flatten)]
    decide: DecideArgs,
    /// Sets a value of the output by its JSON Pointer: /total=49.99. Where a text stands, it stays a text
    #[arg(long, value_name = "/POINTER=VALUE", required_unless_present = "file")]
    set: Vec<Assignment>,
    /// The whole output, as JSON; `-` is standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

/// Corrects a review.
pub(super) async fn run(client: &Client, args: &CorrectArgs, output: &Output) -> Result<(), CliError> {
    let job = args.decide.job.to_string();
    let review = super::fetch(client, &job).await?;
    let mut corrected = match &args.file {
        Some(file) => {
            let source = Source::of(file);
            let text = source.read().await?.text(&source.name())?;
            read(&text).map_err(|why| CliError::usage(format!("{}: {why}", source.name()), "write JSON"))?
        }
        None => review.get("output").cloned().unwrap_or_default(),
    };
    for assignment in &args.set {
        let wrong = |why| CliError::usage(why, "`forebay review show JOB` lists the pointers");
        assignment.correct(&mut corrected).map_err(wrong)?;
    }
    let seen = args.decide.version.unwrap_or_else(|| super::version(&review));
    let body = super::decision("correct", seen, Some(&corrected), args.decide.comment.as_deref());
    super::decided(&super::send(client, &job, &body).await?, output)
}

fn read(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("this is no JSON: {error}"))
}

/// A file that a person edits; removed with it.
pub(super) struct Draft(PathBuf);

impl Draft {
    /// Writes an output where only its owner can read it.
    pub(super) fn of(output: &Value) -> Result<Self, CliError> {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt as _;
        let name = format!("forebay-review-{:016x}.json", u64::from_be_bytes(random_bytes()));
        let path = std::env::temp_dir().join(name);
        let failed =
            |error: std::io::Error| CliError::failed("the output can't be written to a file", &error);
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let draft = Self(path);
        file.write_all(format!("{output:#}\n").as_bytes()).map_err(failed)?;
        Ok(draft)
    }

    /// Opens the editor that the environment names and waits for its end.
    pub(super) async fn edit(&self) -> Result<(), CliError> {
        let named = |name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty());
        let editor = named("VISUAL").or_else(|| named("EDITOR")).unwrap_or_else(|| "vi".to_owned());
        // As the shell reads it, since an editor is often named with arguments.
        let script = format!("{editor} \"$1\"");
        let mut command = tokio::process::Command::new("sh");
        let status = command.args(["-c", &script, "sh"]).arg(&self.0).status().await;
        let status = status.map_err(|error| CliError::failed("the editor can't be started", &error))?;
        if status.success() {
            return Ok(());
        }
        Err(CliError::Failed(format!("the editor `{editor}` ended with {status}\n  fix: set EDITOR")))
    }

    /// What the file holds now.
    pub(super) fn read(&self) -> Result<Value, String> {
        let text = std::fs::read_to_string(&self.0).map_err(|error| error.to_string())?;
        read(&text)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // An editor may have moved it away; then there is nothing to remove.
        drop(std::fs::remove_file(&self.0));
    }
}
