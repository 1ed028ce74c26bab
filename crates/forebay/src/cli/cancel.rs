//! `forebay cancel`: ends jobs.

use clap::Args;
use forebay_core::id::JobId;

use super::client::Ask;
use super::connection::Connection;
use super::error::CliError;
use super::exit::Exit;
use super::output::Output;
use super::progress;
use super::table::{Show, cell};

/// Arguments of `forebay cancel`.
#[derive(Debug, Clone, Args)]
pub struct CancelArgs {
    /// The jobs' ids
    #[arg(required = true, value_name = "JOB")]
    pub jobs: Vec<JobId>,
    #[command(flatten)]
    connection: Connection,
}

/// Cancels each job. One that has ended otherwise does not hold up the others.
pub async fn run(args: CancelArgs, output: &Output) -> Result<Exit, CliError> {
    let client = args.connection.client()?;
    let bar = match args.jobs.len() {
        ..5 => progress::hidden(),
        count => progress::bar(output, count, "cancelling"),
    };
    let mut exit = Exit::Done;
    for job in &args.jobs {
        let job_id = job.to_string();
        let ask = Ask::post(&["v1", "jobs", &job_id, "cancel"]).repeatable();
        match client.json(ask).await {
            Ok(job) if output.is_json() => output.record(&job)?,
            Ok(job) => {
                let state = cell(job.get("state"), Show::Plain);
                bar.suspend(|| output.line(&format!("{job_id}  {state}")))?;
            }
            Err(error @ CliError::Problem(_)) => {
                let error = error.about(&job_id);
                bar.suspend(|| output.error(&error));
                exit = exit.worst(error.exit());
            }
            Err(error) => return Err(error),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(exit)
}
