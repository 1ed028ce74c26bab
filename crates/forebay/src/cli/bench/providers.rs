//! Providers that are processes of their own.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};

use super::service::definitions;
use super::stage::Process;
use crate::cli::client::{Ask, Client};
use crate::cli::error::CliError;

/// A provider that answers each call at once, and knows nothing but that.
pub(super) struct Stub(pub(super) Process);

impl Stub {
    pub(super) async fn start() -> Result<Self, CliError> {
        Process::start(Path::new("."), &["bench-floor"], &[]).await.map(Self)
    }

    /// A task that it works on, as [`Simulator::definitions`].
    pub(super) fn definitions(&self, in_flight: u32) -> String {
        definitions(self.0.url("base_url"), in_flight)
    }
}

/// A running simulator.
pub(super) struct Simulator {
    process: Process,
    client: Client,
}

impl Simulator {
    /// A simulator whose answers begin after so many milliseconds.
    pub(super) async fn start(first_token_ms: u32) -> Result<Self, CliError> {
        let process = Process::start(Path::new("."), &["sim", "--listen", "127.0.0.1:0"], &[]).await?;
        let url = format!("http://{}", process.address("base_url")?);
        let url = Url::parse(&url).map_err(|error| CliError::failed("no address", &error))?;
        let client = Client::new(url, None)?;
        let scenario = json!({ "defaults": { "first_token_ms": first_token_ms } });
        client.send(Ask::post(&["_sim", "scenario"]).json(&scenario).repeatable()).await?;
        Ok(Self { process, client })
    }

    /// When each attempt arrived, since 1970.
    pub(super) async fn arrivals(&self) -> Result<HashMap<String, Duration>, CliError> {
        let answer = self.client.send(Ask::get(&["_sim", "requests"])).await?;
        let lines = answer.body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let rows: Result<Vec<Value>, _> = lines.map(serde_json::from_slice).collect();
        let rows = rows.map_err(|error| CliError::failed("the simulator's log can't be read", &error))?;
        let arrival = |row: &Value| {
            let at = Duration::try_from_secs_f64(row["started_at_ms"].as_f64()? / 1_000.0).ok()?;
            Some((row["forebay_attempt"].as_str()?.to_owned(), at))
        };
        Ok(rows.iter().filter_map(arrival).collect())
    }

    /// The most calls that it had at the same time.
    pub(super) async fn most_in_flight(&self) -> Result<u64, CliError> {
        let limits = self.client.json(Ask::get(&["_sim", "limits"])).await?;
        Ok(limits.pointer("/accounts/0/in_flight/worst").and_then(Value::as_u64).unwrap_or_default())
    }

    pub(super) async fn end(self) -> Result<(), CliError> {
        self.process.end().await
    }

    /// A task that it works on: `chat`, with so many calls at a time, without other limits.
    pub(super) fn definitions(&self, in_flight: u32) -> String {
        definitions(self.process.url("base_url"), in_flight)
    }
}
