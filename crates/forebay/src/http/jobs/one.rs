use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_core::id::JobId;
use forebay_store::record::JobRecord;
use http::header::ETAG;
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};

use super::{answer, find, shown};
use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::headers::{PREFERENCE_APPLIED, none_match, prefer_wait};
use crate::http::params::{NoParams, PathId};
use crate::http::problem::Problem;
use forebay_store::record::Changed;
use std::sync::Arc;

/// How often a waiting caller's job is looked at without any notice.
const SAFETY_LOOK: Duration = Duration::from_secs(5);

/// `GET /v1/jobs/{job_id}`
pub(super) async fn one(
    State(api): State<Api>,
    principal: Principal,
    PathId(job): PathId<JobId>,
    _: NoParams,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let wait = prefer_wait(&headers);
    let record = match wait {
        Some(wait) => wait_for(&api, &principal, job, &headers, wait).await?,
        None => find(&api, &principal, job).await?,
    };
    let etag = etag(&record);
    let mut response =
        if none_match(&headers, &etag) { not_modified(&etag) } else { answer(&shown(&api, record).await?) };
    let applied = wait.and_then(|wait| HeaderValue::from_str(&format!("wait={}", wait.as_secs())).ok());
    if let Some(applied) = applied {
        response.headers_mut().insert(PREFERENCE_APPLIED, applied);
    }
    Ok(response)
}

fn etag(record: &JobRecord) -> String {
    format!("\"{}\"", record.job.state_version)
}

fn not_modified(etag: &str) -> Response {
    let mut response = StatusCode::NOT_MODIFIED.into_response();
    if let Ok(etag) = HeaderValue::from_str(etag) {
        response.headers_mut().insert(ETAG, etag);
    }
    response
}

/// Waits until the job is what its caller waits for: another version than the one it has, or else settled.
async fn wait_for(
    api: &Api,
    principal: &Principal,
    job: JobId,
    headers: &HeaderMap,
    wait: Duration,
) -> Result<JobRecord, Problem> {
    let deadline = Instant::now() + wait;
    // Before looking: a change between the look and the wait must not be missed.
    let mut changes = api.app.store.changes();
    loop {
        let record = find(api, principal, job).await?;
        let has_version = headers.contains_key(http::header::IF_NONE_MATCH);
        let arrived =
            if has_version { !none_match(headers, &etag(&record)) } else { record.job.state.is_settled() };
        // What has ended never changes again: there is nothing to wait for.
        if arrived || record.job.state.is_terminal() || Instant::now() >= deadline {
            return Ok(record);
        }
        let until = deadline.min(Instant::now() + SAFETY_LOOK);
        tokio::select! {
            () = api.app.tasks.stopping().cancelled() => return Ok(record),
            _ = timeout_at(until, changed(&mut changes, job)) => {}
        }
    }
}

/// Returns when the job may have changed.
async fn changed(changes: &mut Receiver<Arc<Vec<Changed>>>, job: JobId) {
    loop {
        match changes.recv().await {
            Ok(changed) if changed.iter().all(|changed| changed.job_id != job) => {}
            Ok(_) | Err(RecvError::Lagged(_)) => return,
            // Nobody tells any more; the safety look remains.
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}
