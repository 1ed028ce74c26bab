//! The audit as a file. It is read and sent page by page, so that its length costs time and no memory.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_store::StoreError;
use forebay_store::record::{AuditPage, AuditQuery};
use futures_util::{Stream, stream};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use serde_json::Value;

use super::query;
use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::csv;
use crate::http::dto::AuditEntry;
use crate::http::params::Params;
use crate::http::problem::Problem;

const COLUMNS: &str = "number,at,tenant,actor_key,actor_name,action,subject,before,after\r\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    JsonLines,
    Csv,
}

impl Format {
    fn from_name(name: &str) -> Option<Format> {
        match name {
            "jsonl" => Some(Format::JsonLines),
            "csv" => Some(Format::Csv),
            _ => None,
        }
    }

    const fn headers(self) -> (&'static str, &'static str) {
        match self {
            Format::JsonLines => ("application/jsonl", "attachment; filename=\"audit.jsonl\""),
            Format::Csv => ("text/csv; charset=utf-8; header=present", "attachment; filename=\"audit.csv\""),
        }
    }

    const fn head(self) -> &'static str {
        match self {
            Format::JsonLines => "",
            Format::Csv => COLUMNS,
        }
    }

    fn line(self, entry: &AuditEntry) -> Result<String, serde_json::Error> {
        match self {
            Format::JsonLines => Ok(serde_json::to_string(entry)? + "\n"),
            Format::Csv => Ok(csv_line(entry)),
        }
    }
}

/// `GET /v1/audit/export`
pub(super) async fn export(
    State(api): State<Api>,
    principal: Principal,
    mut params: Params,
) -> Result<Response, Problem> {
    let query = query(&api, &principal, &mut params).await?;
    let format = params.parsed("format", "jsonl or csv", Format::from_name)?.unwrap_or(Format::JsonLines);
    params.end()?;
    // The first page before the head is sent: what fails at once is answered as a problem.
    let first = api.app.store.audit(query.clone()).await?;
    let (media_type, name) = format.headers();
    let body = Body::from_stream(lines(api, query, format, first));
    Ok(([(CONTENT_TYPE, media_type), (CONTENT_DISPOSITION, name)], body).into_response())
}

/// What is to be sent next.
enum Next {
    Page(AuditPage),
    From(i64),
}

fn lines(
    api: Api,
    query: AuditQuery,
    format: Format,
    first: AuditPage,
) -> impl Stream<Item = Result<Bytes, Failed>> {
    let state = Some((format.head().to_owned(), Next::Page(first)));
    stream::try_unfold(state, move |state| {
        let (api, query) = (api.clone(), query.clone());
        async move {
            let Some((mut text, next)) = state else { return Ok(None) };
            let page = match next {
                Next::Page(page) => page,
                Next::From(before) => {
                    api.app.store.audit(AuditQuery { before: Some(before), ..query }).await?
                }
            };
            for record in page.records {
                text.push_str(&format.line(&record.into())?);
            }
            let next = page.next.map(|before| (String::new(), Next::From(before)));
            Ok::<_, Failed>(Some((Bytes::from(text), next)))
        }
    })
}

/// The file ends early, and the connection with it: half a file must not look like a whole one.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum Failed {
    Store(#[from] StoreError),
    Json(#[from] serde_json::Error),
}

fn csv_line(entry: &AuditEntry) -> String {
    let json = |value: &Option<Value>| value.as_ref().map(Value::to_string).unwrap_or_default();
    let fields = [
        entry.number.to_string(),
        entry.at.to_string(),
        entry.tenant.clone().unwrap_or_default(),
        entry.actor.key_id.map(|key| key.to_string()).unwrap_or_default(),
        entry.actor.name.clone(),
        entry.action.clone(),
        entry.subject.clone(),
        json(&entry.before),
        json(&entry.after),
    ];
    csv::line(&fields)
}
