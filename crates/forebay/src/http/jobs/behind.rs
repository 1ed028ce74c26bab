//! What is behind a job: how often which provider was tried.

use axum::Json;
use axum::extract::State;
use forebay_core::id::JobId;
use forebay_core::job::State as JobState;
use forebay_store::record::{JobRecord, StepRecord};

use super::find;
use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::dto::{Attempt, AttemptList, Step, StepList};
use crate::http::params::{NoParams, PathId};
use crate::http::problem::Problem;

/// `GET /v1/jobs/{job_id}/attempts`
pub(super) async fn attempts(
    State(api): State<Api>,
    principal: Principal,
    PathId(job): PathId<JobId>,
    _: NoParams,
) -> Result<Json<AttemptList>, Problem> {
    find(&api, &principal, job).await?;
    let attempts = api.app.store.attempts(principal.tenant, job).await?;
    Ok(Json(AttemptList { data: attempts.into_iter().map(Attempt::from).collect() }))
}

/// `GET /v1/jobs/{job_id}/steps`
pub(super) async fn steps(
    State(api): State<Api>,
    principal: Principal,
    PathId(job): PathId<JobId>,
    _: NoParams,
) -> Result<Json<StepList>, Problem> {
    let record = find(&api, &principal, job).await?;
    let steps = api.app.store.steps(principal.tenant, job).await?;
    Ok(Json(StepList { data: steps.into_iter().map(|step| shown(step, &record)).collect() }))
}

fn shown(step: StepRecord, job: &JobRecord) -> Step {
    let summary = format!(
        "{} with {} in pool {}: about {} tokens in, up to {} out",
        step.kind, step.model, step.pool, step.input_tokens, step.output_tokens
    );
    Step {
        state: step_state(&step, job),
        generation: step.generation,
        step: step.number,
        kind: step.kind,
        attempts: step.attempts,
        summary,
        pool: step.pool,
        model: step.model,
        planned_at: step.planned_at,
        finished_at: step.finished_at,
    }
}

fn step_state(step: &StepRecord, job: &JobRecord) -> &'static str {
    if step.finished_at.is_some() {
        return "done";
    }
    if step.generation != job.job.generation {
        return "ended";
    }
    match job.job.state {
        JobState::Ready | JobState::RetryScheduled => "pending",
        JobState::Running => "running",
        JobState::Waiting | JobState::ReviewRequired => "waiting",
        JobState::Succeeded | JobState::FailedTerminal | JobState::Cancelled => "ended",
    }
}
