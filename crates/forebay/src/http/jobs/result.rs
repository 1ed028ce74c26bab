use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_core::id::JobId;
use forebay_core::job::State as JobState;
use http::header::CONTENT_TYPE;

use super::{find, stored};
use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::params::{NoParams, PathId};
use crate::http::problem::{Code, Problem};

/// `GET /v1/jobs/{job_id}/result`
pub(super) async fn result(
    State(api): State<Api>,
    principal: Principal,
    PathId(job): PathId<JobId>,
    _: NoParams,
) -> Result<Response, Problem> {
    let record = find(&api, &principal, job).await?;
    must_have_one(record.job.state)?;
    let Some(result) = api.app.store.result(principal.tenant, job).await? else {
        tracing::error!(%job, "a job that has succeeded has no result");
        return Err(Problem::internal());
    };
    let output = stored(&api, result.output).await?;
    Ok(([(CONTENT_TYPE, "application/json")], body(job, &output, &result.provenance)).into_response())
}

fn must_have_one(state: JobState) -> Result<(), Problem> {
    let (code, detail) = match state {
        JobState::Succeeded => return Ok(()),
        JobState::FailedTerminal | JobState::Cancelled => {
            (Code::NoResult, format!("the job ended as {} and has no result", state.name()))
        }
        JobState::ReviewRequired => {
            (Code::NotFinished, "a person owes a decision; the output stands under /v1/reviews".to_owned())
        }
        JobState::Ready | JobState::Running | JobState::Waiting | JobState::RetryScheduled => {
            (Code::NotFinished, format!("the job is {}", state.name()))
        }
    };
    Err(Problem::new(code, detail))
}

/// The stored JSON as it is: reading and writing it again could change a number.
fn body(job: JobId, output: &[u8], provenance: &[u8]) -> Vec<u8> {
    let head = format!("{{\"job_id\":\"{job}\",\"output\":");
    [head.as_bytes(), output, b",\"provenance\":", provenance, b"}"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_as_they_were_stored() {
        let job = JobId::from_bytes([1; 16]);
        let text = String::from_utf8(body(job, b"{\"total\":1.10}", b"{}")).unwrap();
        assert_eq!(
            text,
            format!("{{\"job_id\":\"{job}\",\"output\":{{\"total\":1.10}},\"provenance\":{{}}}}")
        );
    }

    #[test]
    fn only_success_has_a_result() {
        let codes =
            JobState::ALL.map(|state| must_have_one(state).err().map(|problem| problem.code().name()));
        let not_yet = Some("not_finished");
        let never = Some("no_result");
        assert_eq!(codes, [not_yet, not_yet, not_yet, not_yet, not_yet, None, never, never]);
    }
}
