//! Tasks: what belongs to every kind. What belongs to one kind stands in `llm` and `extract`.

use forebay_core::definition::{Deadlines, Endpoint, Model, Task, TaskKind};
use forebay_core::extract::Policy;
use forebay_core::grant::Reservation;
use forebay_core::retry::RetryPolicy;
use forebay_core::time::Millis;

use super::fault::Faults;
use super::parts::{long_millis, section, within};
use super::written::Kind;
use super::{Files, Section, fingerprint, retry, written};

mod extract;
mod llm;
mod params;
mod prompt;

/// How long a job may take when nobody says: an hour.
pub(super) const DEFAULT_TTL: Millis = Millis::from_secs(60 * 60);

/// How long a person has for a review when nobody says: three days.
pub(super) const DEFAULT_REVIEW_DUE: Millis = Millis::from_secs(3 * 24 * 60 * 60);

/// What a task is read with.
struct Reading<'r> {
    path: &'r [&'r str],
    written: &'r written::Task,
    /// Absent where the reference leads nowhere; that is a fault already.
    model: Option<&'r Model>,
    policies: &'r Section<Policy>,
    files: Files<'r>,
}

impl<'r> Reading<'r> {
    fn at(&self, member: &'r str) -> Vec<&'r str> {
        within(self.path, member)
    }
}

/// Reads `[tasks.*]`.
pub(super) fn tasks(
    faults: &mut Faults<'_>,
    models: &Section<Model>,
    policies: &Section<Policy>,
    files: Files<'_>,
) -> Section<Task> {
    section(faults, "tasks", |faults, path, written: written::Task| {
        let model = models.resolve(faults, &within(path, "model"), "model", &written.model);
        let reading = Reading { path, written: &written, model: model.as_deref(), policies, files };
        let kind = match written.kind {
            Kind::Llm => Some(TaskKind::Llm { prompt: llm::prompt(faults, &reading) }),
            Kind::Extract => extract::extraction(faults, &reading).map(TaskKind::Extract),
        };
        let retry = retry::retry(faults, &within(path, "retry"), &written.retry);
        let max_output_tokens = max_output_tokens(faults, &reading);
        params::check(faults, &reading);
        let message = "none of its jobs would ever run; give at least 1, or leave it out for no limit";
        faults.when(written.max_in_flight == Some(0), &reading.at("max_in_flight"), message);
        let times = times(faults, &reading, &retry);
        let (kind, model) = (kind?, model?);
        let digest = fingerprint::task(&kind, &model, &written.params, max_output_tokens)
            .map_err(|error| faults.at(path, format!("this can't be written as JSON: {error}")))
            .ok()?;
        Some(Task {
            name: path[1].to_owned(),
            description: written.description,
            kind,
            model,
            max_output_tokens,
            params: written.params,
            allowed_params: written.allowed_params,
            retry,
            on_unknown: written.on_unknown,
            default_ttl: times.ttl,
            attempt_total: times.attempt_total,
            at_budget: written.at_budget,
            max_in_flight: written.max_in_flight.map(u64::from),
            on_failure: written.on_failure,
            review_due: times.review_due,
            review_default: written.review_default,
            digest,
        })
    })
}

/// The most tokens that an answer may have: the task's limit, or else the model's.
fn max_output_tokens(faults: &mut Faults<'_>, reading: &Reading<'_>) -> u64 {
    let path = reading.at("max_output_tokens");
    let given = reading.written.max_output_tokens.map(u64::from);
    faults.when(
        given == Some(0),
        &path,
        "an answer has at least one token; leave it out for the model's limit",
    );
    let Some(model) = reading.model else { return given.unwrap_or_default() };
    if model.endpoint == Endpoint::Embeddings {
        let message =
            format!("model `{}` makes embeddings and generates no tokens; leave it out", model.name);
        faults.when(given.is_some(), &path, message);
        return 0;
    }
    let most = model.max_output_tokens;
    let message = format!("more than model `{}` gives: {most}", model.name);
    faults.when(given.is_some_and(|given| given > most), &path, message);
    let tokens = given.unwrap_or(most);
    let call = Reservation { input_tokens: 1, output_tokens: tokens, ..Reservation::default() };
    if let Some((dimension, limit)) = model.pool.limits.rules_out(&call) {
        let (pool, name) = (&model.pool.name, dimension.name());
        let message = format!(
            "an answer of up to {tokens} tokens would never start: pool `{pool}` takes at most {limit} by {name}"
        );
        faults.at(&path, message);
    }
    tokens
}

struct Times {
    ttl: Millis,
    attempt_total: Millis,
    review_due: Millis,
}

fn times(faults: &mut Faults<'_>, reading: &Reading<'_>, retry: &RetryPolicy) -> Times {
    let written = reading.written;
    let total = reading.model.map_or(Deadlines::default(), |model| model.pool.provider.deadlines).total;
    let attempt_total = written.attempt_total_ms.map_or(total, |ms| Millis::new(ms.into()));
    let path = reading.at("attempt_total_ms");
    faults.when(attempt_total == Millis::ZERO, &path, "no attempt is that fast; give at least 1");
    let message = format!("longer than the provider gives a call, total_ms = {}", total.get());
    faults.when(attempt_total > total, &path, message);

    let ttl = written.default_ttl_ms.map_or(DEFAULT_TTL, long_millis);
    let least = attempt_total.plus(retry.commit_margin);
    let path = reading.at("default_ttl_ms");
    let message = format!(
        "{}{} ms is shorter than one attempt and the margin for its commit: {} + {} ms",
        faults.whose(&path),
        ttl.get(),
        attempt_total.get(),
        retry.commit_margin.get()
    );
    faults.when(ttl < least, &path, message);

    let review_due = written.review_due_ms.map_or(DEFAULT_REVIEW_DUE, long_millis);
    let path = reading.at("review_due_ms");
    faults.when(review_due == Millis::ZERO, &path, "a person needs time for a decision; give at least 1");
    Times { ttl, attempt_total, review_due }
}
