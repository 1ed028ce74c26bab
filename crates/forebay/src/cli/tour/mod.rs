//! The tour of `forebay demo`: real invoices through the whole service, in one process, with nothing set up.
//!
//! With the simulator the model's answers are canned, one for each document, and the tour says so. Everything
//! after them is the real code: schema, arithmetic, evidence, money, reviews.

mod invoices;
mod show;
mod stage;

use std::time::Duration;

use serde_json::{Value, json};

use super::client::{Ask, Client, IDEMPOTENCY_KEY};
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::signals::Signals;
use super::{follow, progress};
use invoices::{INVOICES, Invoice};
use stage::Stage;

/// Runs the tour, then serves on until a signal, unless it is told to end.
///
/// # Errors
///
/// When something can't start, or the service refuses what the tour asks for.
pub(super) async fn run(end_at_once: bool, output: &Output) -> Result<Exit, CliError> {
    let mut signals = Signals::listen()?;
    let stage = Stage::open().await?;
    output.note(&stage.introduction());
    let toured = tokio::select! {
        toured = tour(&stage, output) => toured,
        () = signals.next() => Err(CliError::Interrupted),
    };
    if let Err(error) = toured {
        stage.close().await;
        return Err(error);
    }
    if !end_at_once {
        output.note(&stage.what_next());
        signals.next().await;
    }
    stage.close().await;
    Ok(Exit::Done)
}

async fn tour(stage: &Stage, output: &Output) -> Result<(), CliError> {
    let jobs = submit_all(stage.client(), output).await?;
    let bar = progress::bar(output, jobs.len(), "invoices");
    let mut visits = Vec::with_capacity(jobs.len());
    for (invoice, job_id) in INVOICES.iter().zip(&jobs) {
        bar.set_message(format!("reading {}", invoice.name));
        visits.push(visit(stage.client(), invoice, job_id).await?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    show::all(&visits, stage.is_simulated(), output)
}

async fn submit_all(client: &Client, output: &Output) -> Result<Vec<String>, CliError> {
    let bar = progress::bar(output, INVOICES.len(), "submitting");
    let mut jobs = Vec::with_capacity(INVOICES.len());
    for invoice in INVOICES {
        jobs.push(submit(client, invoice).await?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    output.note(&format!("{} invoices are accepted and durable; the workers have them now", jobs.len()));
    Ok(jobs)
}

async fn submit(client: &Client, invoice: &Invoice) -> Result<String, CliError> {
    let text = http::HeaderValue::from_static("text/plain; charset=utf-8");
    let upload = Ask::post(&["v1", "documents"]).bytes(text, invoice.text.as_bytes().into()).repeatable();
    let document = client.json(upload).await?;
    let body = json!({
        "task": "invoice",
        "input": { "document": document["document_id"] },
        "metadata": { "file": format!("{}.txt", invoice.name) },
    });
    let key = format!("demo-{}", invoice.name);
    let ask = Ask::post(&["v1", "jobs"]).header(IDEMPOTENCY_KEY, &key)?.json(&body);
    let accepted = client.json(ask).await?;
    accepted["job_id"]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| CliError::Failed("the server named no job".to_owned()))
}

/// What became of one invoice.
pub(super) struct Visit {
    name: &'static str,
    job: Value,
    output: Value,
    findings: Vec<Value>,
    steps: usize,
    repairs: usize,
}

async fn visit(client: &Client, invoice: &Invoice, job_id: &str) -> Result<Visit, CliError> {
    let job = tokio::time::timeout(Duration::from_secs(300), follow::settled(client, job_id))
        .await
        .map_err(|_| CliError::Failed(format!("{job_id} did not end within five minutes")))??;
    let steps = client.json(Ask::get(&["v1", "jobs", job_id, "steps"])).await?;
    let (output, findings, repairs) = match job["state"].as_str() {
        Some("SUCCEEDED") => {
            let result = follow::result(client, job_id).await?;
            let repairs = result["provenance"]["repairs"].as_array().map_or(0, Vec::len);
            (result["output"].clone(), Vec::new(), repairs)
        }
        Some("REVIEW_REQUIRED") => {
            let review = client.json(Ask::get(&["v1", "reviews", job_id])).await?;
            let findings = review["findings"].as_array().cloned().unwrap_or_default();
            (review["output"].clone(), findings, 0)
        }
        _ => (Value::Null, Vec::new(), 0),
    };
    let steps = super::table::rows(&steps).len();
    Ok(Visit { name: invoice.name, job, output, findings, steps, repairs })
}
