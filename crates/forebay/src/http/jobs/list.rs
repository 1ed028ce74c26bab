use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_core::digest::Digest;
use forebay_core::job::State as JobState;
use forebay_core::limits::LIST_PAGE;
use forebay_store::record::JobQuery;
use http::header::LINK;
use http::{HeaderValue, Uri};

use super::max_attempts;
use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::cursor::Series;
use crate::http::dto::{Job, JobList};
use crate::http::params::Params;
use crate::http::problem::Problem;

/// Jobs on a page when the caller does not say.
const DEFAULT_PAGE: usize = 50;

/// `GET /v1/jobs`
pub(super) async fn list(
    State(api): State<Api>,
    principal: Principal,
    uri: Uri,
    mut params: Params,
) -> Result<Response, Problem> {
    let cursor = params.text("cursor")?;
    let mut query = filters(params)?;
    let series = Series::Jobs(fingerprint(&query));
    query.before = cursor.map(|cursor| api.cursors.position(&principal, series, &cursor)).transpose()?;
    let page = api.app.store.jobs(principal.tenant, query).await?;
    let next_cursor = page.next.map(|next| api.cursors.write(principal.tenant, series, next));
    let mut data = Vec::with_capacity(page.jobs.len());
    for record in page.jobs {
        let max = max_attempts(&api, &record).await;
        data.push(Job::new(record, max));
    }
    let list = JobList { data, next_cursor: next_cursor.clone() };
    Ok(with_next(Json(list).into_response(), &uri, next_cursor.as_deref()))
}

/// A page with the address of the next one.
pub(in crate::http) fn with_next(mut page: Response, uri: &Uri, cursor: Option<&str>) -> Response {
    if let Some(link) = cursor.and_then(|cursor| next_link(uri, cursor)) {
        page.headers_mut().insert(LINK, link);
    }
    page
}

fn filters(mut params: Params) -> Result<JobQuery, Problem> {
    let states = JobState::ALL.map(JobState::name).join(", ");
    let mut metadata = params.with_prefix("metadata.");
    metadata.sort();
    let query = JobQuery {
        state: params.parsed("state", &format!("one of {states}"), JobState::from_name)?,
        task: params.text("task")?,
        batch: params.parsed("batch", "the id of a batch: `batch_...`", |text| text.parse().ok())?,
        created_after: params.time("created_after")?,
        limit: params.limit(DEFAULT_PAGE, LIST_PAGE)?,
        metadata,
        before: None,
    };
    params.end()?;
    Ok(query)
}

/// Tells lists with other filters apart, so that a cursor is not used for another list than its own.
fn fingerprint(query: &JobQuery) -> u64 {
    let filters =
        format!("{:?}", (query.state, &query.task, query.batch, query.created_after, &query.metadata));
    Digest::of(filters.as_bytes()).short()
}

/// The same address with another cursor.
fn next_link(uri: &Uri, cursor: &str) -> Option<HeaderValue> {
    let kept = uri.query().unwrap_or_default().split('&');
    let kept: Vec<_> = kept.filter(|pair| !pair.is_empty() && !pair.starts_with("cursor=")).collect();
    let cursor = format!("cursor={cursor}");
    let query: Vec<_> = kept.into_iter().chain([cursor.as_str()]).collect();
    HeaderValue::from_str(&format!("<{}?{}>; rel=\"next\"", uri.path(), query.join("&"))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_keeps_the_filters() {
        let uri = Uri::from_static("/v1/jobs?state=READY&cursor=old&limit=7");
        let link = next_link(&uri, "new").unwrap();
        assert_eq!(link, "</v1/jobs?state=READY&limit=7&cursor=new>; rel=\"next\"");
        let link = next_link(&Uri::from_static("/v1/jobs"), "new").unwrap();
        assert_eq!(link, "</v1/jobs?cursor=new>; rel=\"next\"");
    }

    #[test]
    fn a_cursor_belongs_to_its_filters_but_not_to_a_page_size() {
        let all = JobQuery { limit: 5, ..JobQuery::default() };
        let larger = JobQuery { limit: 50, before: Some(3), ..JobQuery::default() };
        let ready = JobQuery { state: Some(JobState::Ready), ..JobQuery::default() };
        assert_eq!(fingerprint(&all), fingerprint(&larger));
        assert_ne!(fingerprint(&all), fingerprint(&ready));
    }
}
