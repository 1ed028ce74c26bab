//! What persons have decided, line by line. Nothing is made ahead of the reader: of the store a page is in memory, of
//! documents one.

use std::io;

use async_stream::stream;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use forebay_core::digest::{Digest, DocumentId};
use forebay_core::id::JobId;
use forebay_core::review::{Decision, changes};
use forebay_store::record::{DecidedQuery, DecidedReview};
use http::header::CONTENT_TYPE;
use serde_json::Value;

use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::cursor::Series;
use crate::http::documents::memory;
use crate::http::dto::{ReviewLine, read};
use crate::http::jobs::stored;
use crate::http::params::Params;
use crate::http::problem::Problem;
use crate::review;

/// One JSON document a line.
pub(super) const MEDIA_TYPE: &str = "application/x-ndjson";
/// Reviews that are read at once.
const PAGE: usize = 20;

/// `GET /v1/reviews/corrections`
pub(super) async fn export(
    State(api): State<Api>,
    principal: Principal,
    mut params: Params,
) -> Result<Response, Problem> {
    let cursor = params.text("cursor")?;
    let with_text = params.parsed("text", "true or false", |text| text.parse().ok())?.unwrap_or(false);
    let mut query = filters(params)?;
    let position = |cursor: String| api.cursors.position(&principal, Series::Decisions, &cursor);
    query.after = cursor.map_or(Ok(0), position)?;
    let export = Export { api: api.clone(), tenant: principal.tenant, query, with_text };
    let body = Body::from_stream(stream! {
        let mut export = export;
        loop {
            let page = match export.page().await {
                Ok(page) => page,
                // The problem was logged where it arose. The answer has begun: it can only be cut.
                Err(_) => {
                    yield Err(io::Error::other("the export can't go on"));
                    return;
                }
            };
            if page.is_empty() {
                return;
            }
            for review in page {
                match export.line(review).await {
                    Ok(line) => yield Ok(line),
                    Err(_) => {
                        yield Err(io::Error::other("the export can't go on"));
                        return;
                    }
                }
            }
        }
    });
    Ok(([(CONTENT_TYPE, MEDIA_TYPE)], body).into_response())
}

fn filters(mut params: Params) -> Result<DecidedQuery, Problem> {
    let decision = |text: &str| Decision::from_name(text).filter(|one| *one != Decision::Cancelled);
    let query = DecidedQuery {
        task: params.text("task")?,
        decision: params.parsed("decision", "one of approve, correct, reject, rerun", decision)?,
        since: params.time("since")?,
        until: params.time("until")?,
        after: 0,
        limit: PAGE,
    };
    params.end()?;
    Ok(query)
}

struct Export {
    api: Api,
    tenant: i64,
    query: DecidedQuery,
    with_text: bool,
}

impl Export {
    /// The next reviews; the query goes on behind them.
    async fn page(&mut self) -> Result<Vec<DecidedReview>, Problem> {
        let page = self.api.app.store.decided_reviews(self.tenant, self.query.clone()).await?;
        let last = page.last().and_then(|review| review.review.decided.as_ref()?.seq);
        self.query.after = last.unwrap_or(i64::MAX);
        Ok(page)
    }

    async fn line(&self, review: DecidedReview) -> Result<Bytes, Problem> {
        let DecidedReview { review, result } = review;
        let Some(decided) = review.decided else { return Err(Problem::internal()) };
        let model_output = self.json(review.output).await?;
        let expected_output = self.json(result).await?;
        let changes = match &expected_output {
            Some(expected) => changes(model_output.as_ref(), expected),
            None => Vec::new(),
        };
        let text = match review.document {
            Some(_) if !self.with_text => None,
            _ => self.text(review.entry.job_id).await?,
        };
        let line = ReviewLine {
            cursor: self.api.cursors.write(self.tenant, Series::Decisions, decided.seq.unwrap_or_default()),
            job_id: review.entry.job_id,
            generation: review.entry.generation,
            task: review.entry.task,
            revision: review.entry.revision,
            decided: decided.into(),
            document_id: review.document.map(DocumentId),
            text_sha256: review.document.or_else(|| text.as_ref().map(|text| Digest::of(text.as_bytes()))),
            document_text: text.filter(|_| self.with_text),
            findings: read(&review.findings),
            model_output,
            expected_output,
            changes,
            provenance: read(&review.provenance),
        };
        let mut line = serde_json::to_vec(&line).map_err(|_| Problem::internal())?;
        line.push(b'\n');
        Ok(line.into())
    }

    async fn json(&self, bytes: Option<forebay_store::record::Bytes>) -> Result<Option<Value>, Problem> {
        match bytes {
            Some(bytes) => Ok(Some(read(&stored(&self.api, bytes).await?))),
            None => Ok(None),
        }
    }

    /// The text that a job read.
    async fn text(&self, job: JobId) -> Result<Option<String>, Problem> {
        let _memory = memory(&self.api).await?;
        let Some(job) = self.api.app.store.job(self.tenant, job).await? else { return Ok(None) };
        Ok(review::text(&self.api.app, &job).await?)
    }
}
