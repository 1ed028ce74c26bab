//! What an answer about a document is worth: held against the document, the tenant's master data, the day, and what
//! was successful before.

use std::sync::Arc;

use forebay_core::dataset::Dataset;
use forebay_core::definition::{Task, TaskKind};
use forebay_core::extract::{self, Evaluation, References};
use forebay_core::id::JobId;
use forebay_core::plan::{Against, Entry};
use forebay_core::time::Timestamp;
use tracing::error;

use super::Worker;
use super::execute::Prepared;
use crate::datasets::off_the_workers;

/// An answer, and everything that it is held against.
#[derive(Clone)]
struct Case {
    task: Arc<Task>,
    document: Arc<str>,
    answer: Arc<str>,
    cut: bool,
    now: Timestamp,
    datasets: Arc<[Dataset]>,
    unreadable: Arc<[String]>,
}

/// Evaluates an answer for the journal. `cut` says that it was stopped at its limit; `of` is the job that is known to
/// have succeeded with the same fingerprint.
pub(super) async fn entry(
    worker: &Worker,
    prepared: &Prepared,
    answer: &str,
    cut: bool,
    of: Option<JobId>,
) -> Result<Entry, String> {
    // One that can't be read is a doubt, whereas a second try would have to pay for a second answer.
    let (datasets, unreadable) = match &prepared.task.kind {
        TaskKind::Extract(extraction) => {
            let (tables, store) = (&worker.app.tables, worker.app.store.as_ref());
            tables.of_policy(store, prepared.work.tenant, &extraction.policy).await
        }
        TaskKind::Llm { .. } => Default::default(),
    };
    let case = Case {
        task: Arc::clone(&prepared.task),
        document: Arc::clone(&prepared.document),
        answer: answer.into(),
        cut,
        now: worker.app.store.now(),
        datasets: datasets.into(),
        unreadable: unreadable.into(),
    };
    let mut seen = of;
    let mut evaluation = case.clone().evaluate(seen).await?;
    if seen.is_none() {
        seen = holder(worker, prepared, &evaluation).await;
        if seen.is_some() {
            evaluation = case.clone().evaluate(seen).await?;
        }
    }
    let against = Against {
        day: case.now.date().to_string(),
        datasets: case.datasets.iter().map(Dataset::stamp).collect(),
        seen,
    };
    Ok(Entry::Extraction { answer: answer.to_owned(), evaluation, against })
}

/// The other job that has succeeded with the same fingerprint. The commit looks again, in its own transaction; here it
/// is for a person to know who decides about this one for another reason.
async fn holder(worker: &Worker, prepared: &Prepared, evaluation: &Evaluation) -> Option<JobId> {
    let work = &prepared.work;
    let fingerprint = evaluation.fingerprint?;
    let found = worker.app.store.fingerprint_holder(work.tenant, &work.task, fingerprint).await;
    let found = found.unwrap_or_else(|failure| {
        error!(%failure, job = %work.job_id, "nobody can say whether the job is a duplicate");
        None
    });
    found.filter(|holder| *holder != work.job_id)
}

impl Case {
    /// Looking things up in a large table for the first time takes a while: not on a thread that serves everybody.
    async fn evaluate(self, seen: Option<JobId>) -> Result<Evaluation, String> {
        if self.datasets.is_empty() {
            return Ok(self.evaluated(seen));
        }
        off_the_workers(move || self.evaluated(seen)).await.map_err(|error| error.to_string())
    }

    fn evaluated(&self, seen: Option<JobId>) -> Evaluation {
        let TaskKind::Extract(extraction) = &self.task.kind else { return Evaluation::default() };
        let seen = seen.map(|job| job.to_string());
        let references = References {
            today: self.now.date(),
            datasets: &self.datasets,
            unreadable: &self.unreadable,
            seen: seen.as_deref(),
        };
        extract::evaluate(
            &self.answer,
            self.cut,
            &self.document,
            &extraction.schema,
            &extraction.policy,
            &references,
        )
    }
}
