//! `forebay dataset`: master data that answers are compared with.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use http::header::{ETAG, HeaderValue, IF_MATCH};
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::client::{Answer, Ask, Client};
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::submit::source::Source;
use super::table::{self, Column, Show, cell};

/// Arguments of `forebay dataset`.
#[derive(Debug, Clone, Args)]
pub struct DatasetArgs {
    #[command(subcommand)]
    command: DatasetCommand,
    #[command(flatten)]
    connection: Connection,
}

/// What to do with datasets.
#[derive(Debug, Clone, Subcommand)]
enum DatasetCommand {
    /// The latest version of each dataset
    List,
    /// A dataset's versions, or its rows
    Get(GetArgs),
    /// Sends a dataset; another content than the latest version's is a new version
    Put(PutArgs),
}

/// What to show of a dataset.
#[derive(Debug, Clone, Args)]
struct GetArgs {
    /// Its name
    name: String,
    /// Prints the rows, as CSV whose SHA-256 digest is the version's
    #[arg(long)]
    content: bool,
    /// Of this version instead of the latest
    #[arg(long, value_name = "N", requires = "content", value_parser = clap::value_parser!(u32).range(1..))]
    version: Option<u32>,
}

/// A dataset that is to be sent.
#[derive(Debug, Clone, Args)]
struct PutArgs {
    /// Its name: lower-case letters, digits, `.`, `_` and `-`
    name: String,
    /// The rows: CSV with a header, or a JSON array of objects; `-` for standard input
    file: PathBuf,
    /// What the file is, where its extension does not say; else CSV
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Only if this version is the latest
    #[arg(long, value_name = "N")]
    if_version: Option<u32>,
}

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Csv,
    Json,
}

const COLUMNS: [Column; 6] = [
    ("DATASET", "/name", Show::Plain),
    ("VERSION", "/version", Show::Plain),
    ("ROWS", "/rows", Show::Plain),
    ("COLUMNS", "/columns", Show::Plain),
    ("CREATED", "/created_at", Show::Plain),
    ("DIGEST", "/digest", Show::Plain),
];

/// Does it.
pub async fn run(args: DatasetArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    match &args.command {
        DatasetCommand::List => {
            let datasets = client.json(Ask::get(&["v1", "datasets"])).await?;
            show_all(table::rows(&datasets), output)?;
        }
        DatasetCommand::Get(get) if get.content => get.rows(&client, output).await?,
        DatasetCommand::Get(get) => {
            let dataset = client.json(Ask::get(&["v1", "datasets", &get.name])).await?;
            let versions = dataset.get("versions").and_then(Value::as_array);
            show_all(versions.map(Vec::as_slice).unwrap_or_default(), output)?;
        }
        DatasetCommand::Put(put) => {
            let answer = put.send(&client).await?;
            show_sent(&answer.json()?, answer.status == StatusCode::CREATED, output)?;
        }
    }
    Ok(Exit::Done)
}

fn show_all(datasets: &[Value], output: &Output) -> Result<(), CliError> {
    if output.is_json() {
        return datasets.iter().try_for_each(|dataset| output.record(dataset));
    }
    output.table(table::of(datasets, &COLUMNS))
}

fn show_sent(dataset: &Value, is_new: bool, output: &Output) -> Result<(), CliError> {
    if output.is_json() {
        return output.record(dataset);
    }
    let [name, version, rows] = ["name", "version", "rows"].map(|name| cell(dataset.get(name), Show::Plain));
    let already = if is_new { "" } else { " already: these are its rows" };
    output.line(&format!("{name}  version {version}  rows {rows}{already}"))
}

impl GetArgs {
    async fn rows(&self, client: &Client, output: &Output) -> Result<(), CliError> {
        let ask = Ask::get(&["v1", "datasets", &self.name, "content"]).query("version", self.version);
        let answer = client.send(ask).await?;
        let rows = String::from_utf8_lossy(&answer.body);
        if !output.is_json() {
            return output.line(rows.trim_end_matches('\n'));
        }
        let version = answer.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
        let version = version.and_then(|tag| tag.trim_matches('"').parse::<u32>().ok());
        output.record(&json!({ "name": self.name, "version": version, "content": rows }))
    }
}

impl PutArgs {
    async fn send(&self, client: &Client) -> Result<Answer, CliError> {
        let source = Source::of(&self.file);
        let content = source.read().await?;
        let format = self.format.unwrap_or(match content.media_type {
            "application/json" => Format::Json,
            _ => Format::Csv,
        });
        let media_type = match format {
            Format::Csv => "text/csv",
            Format::Json => "application/json",
        };
        let mut ask = Ask::new(Method::PUT, &["v1", "datasets", &self.name])
            .bytes(HeaderValue::from_static(media_type), content.bytes);
        if let Some(version) = self.if_version {
            ask = ask.header(IF_MATCH, &format!("\"{version}\""))?;
        }
        client.send(ask).await
    }
}
