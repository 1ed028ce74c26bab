use axum::extract::State;
use axum::response::Response;
use forebay_core::id::JobId;
use forebay_store::record::Cancelled;

use super::{answer, shown};
use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::params::{NoParams, PathId};
use crate::http::problem::{Code, Problem};

/// `POST /v1/jobs/{job_id}/cancel`
pub(super) async fn cancel(
    State(api): State<Api>,
    principal: Principal,
    PathId(job): PathId<JobId>,
    _: NoParams,
) -> Result<Response, Problem> {
    match api.app.store.cancel(principal.tenant, job, principal.actor()).await? {
        Some(Cancelled::Done(record)) => Ok(answer(&shown(&api, *record).await?)),
        Some(Cancelled::EndedOtherwise(record)) => Err(Problem::new(
            Code::Conflict,
            format!("the job has already ended as {}", record.job.state.name()),
        )),
        None => Err(Problem::not_found()),
    }
}
