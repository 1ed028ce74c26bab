//! Making definitions the active revision, or seeing what that would do.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_core::request::json::parse;
use forebay_store::record::{Applied, NewRevision};
use http::header::{HeaderValue, LOCATION};
use http::{HeaderMap, StatusCode};

use super::{compared, etag};
use crate::definitions::Named;
use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::body::Payload;
use crate::http::dto::{Revision, RevisionTrial};
use crate::http::fields::Fields;
use crate::http::headers::if_match;
use crate::http::params::{Params, PathId};
use crate::http::problem::{Code, Problem};
use crate::revisions::{self, RevisionError};

/// Characters of a comment on a revision.
const COMMENT_CHARS: usize = 1_000;

/// `POST /v1/revisions`
pub(super) async fn apply(
    State(api): State<Api>,
    principal: Principal,
    params: Params,
    headers: HeaderMap,
    payload: Payload,
) -> Result<Response, Problem> {
    principal.must_be_installation_admin()?;
    let trial = trial(params, true)?;
    let expect = if_match(&headers)?;
    let (source, comment) = read(&payload)?;
    if let Some(from) = trial {
        return tried(&api, from, &source).await;
    }
    let revision = NewRevision { comment, expect, ..NewRevision::of(source, principal.actor()) };
    Ok(answer(api.app.revisions.apply(revision).await?))
}

/// `POST /v1/revisions/{number}/rollback`
pub(super) async fn rollback(
    State(api): State<Api>,
    principal: Principal,
    PathId(number): PathId<u32>,
    params: Params,
    headers: HeaderMap,
    payload: Payload,
) -> Result<Response, Problem> {
    principal.must_be_installation_admin()?;
    let trial = trial(params, false)?;
    let expect = if_match(&headers)?;
    let reason = reason(&payload)?.map(|reason| format!(": {reason}")).unwrap_or_default();
    let older = api.app.revisions.usable(number).await?;
    if let Some(from) = trial {
        return tried(&api, from, &older.source).await;
    }
    let revision = NewRevision {
        comment: Some(format!("rollback to revision {number}{reason}")),
        expect,
        rolled_back_to: Some(number),
        ..NewRevision::of(older.source, principal.actor())
    };
    Ok(answer(api.app.revisions.apply(revision).await?))
}

/// Whether nothing is to be changed; then, what the differences are counted from where that is said.
fn trial(mut params: Params, with_from: bool) -> Result<Option<Option<u32>>, Problem> {
    let dry_run = params.parsed("dry_run", "true or false", |text| text.parse().ok())?.unwrap_or(false);
    let from = match with_from {
        true => params.parsed("from", "the number of a revision", |text| text.parse().ok())?,
        false => None,
    };
    params.end()?;
    if from.is_some() && !dry_run {
        return Err(Problem::parameter("from", "only together with dry_run=true"));
    }
    Ok(dry_run.then_some(from))
}

/// What would change if these definitions, which are checked as a whole, were applied.
async fn tried(api: &Api, from: Option<u32>, source: &str) -> Result<Response, Problem> {
    revisions::check(source).map_err(RevisionError::Faults)?;
    let active = api.app.revisions.active().number;
    let after = Named { name: "the definitions that were sent", text: source };
    let diff = compared(api, from.unwrap_or(active), None, after).await?;
    Ok(Json(RevisionTrial { valid: true, active, diff }).into_response())
}

fn answer(applied: Applied) -> Response {
    let status = if matches!(applied, Applied::New(_)) { StatusCode::CREATED } else { StatusCode::OK };
    let record = applied.active().clone();
    let number = record.info.number;
    let mut response = (status, etag(number), Json(Revision::new(record, number))).into_response();
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/revisions/{number}")) {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// Why somebody goes back, where they say so.
fn reason(payload: &Payload) -> Result<Option<String>, Problem> {
    if payload.bytes.is_empty() {
        return Ok(None);
    }
    let mut fields = Fields::of(payload.json()?);
    let comment = fields.text("comment", COMMENT_CHARS);
    fields.end()?;
    Ok(comment)
}

/// The definitions, and why they are applied.
fn read(payload: &Payload) -> Result<(String, Option<String>), Problem> {
    match payload.media_type.as_deref() {
        Some("application/json") => {}
        Some("text/toml" | "application/toml" | "text/plain") => {
            let text = String::from_utf8(payload.bytes.to_vec());
            return match text {
                Ok(text) if text.trim().is_empty() => {
                    Err(Problem::new(Code::InvalidMember, "the definitions are empty"))
                }
                Ok(text) => Ok((text, None)),
                Err(_) => Err(Problem::new(Code::InvalidMember, "the definitions are not UTF-8")),
            };
        }
        _ => {
            let detail = "send the definitions as application/toml, or as application/json with `source`";
            return Err(Problem::new(Code::UnsupportedMediaType, detail));
        }
    }
    let mut fields = Fields::of(parse(&payload.bytes)?);
    let source = fields.required("source", "the definitions as text, not empty", |value| {
        value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
    });
    let comment = fields.text("comment", COMMENT_CHARS);
    fields.end()?;
    Ok((source.unwrap_or_default(), comment))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn sent(media_type: &str, body: &'static str) -> Result<(String, Option<String>), &'static str> {
        let payload = Payload { bytes: Bytes::from(body), media_type: Some(media_type.to_owned()) };
        read(&payload).map_err(|problem| problem.code().name())
    }

    #[test]
    fn definitions_come_as_toml_or_in_json() {
        assert_eq!(sent("text/toml", "a = 1"), Ok(("a = 1".to_owned(), None)));
        let json = r#"{"source": "a = 1", "comment": "why"}"#;
        assert_eq!(sent("application/json", json), Ok(("a = 1".to_owned(), Some("why".to_owned()))));
        assert_eq!(sent("application/json", r#"{"comment": "why"}"#), Err("missing_member"));
        assert_eq!(sent("application/json", r#"{"source": " "}"#), Err("invalid_member"));
        assert_eq!(sent("text/toml", "\n"), Err("invalid_member"));
        assert_eq!(sent("application/json", r#"{"source": "a = 1", "commment": ""}"#), Err("unknown_member"));
        assert_eq!(sent("application/x-www-form-urlencoded", "a=1"), Err("unsupported_media_type"));
    }
}
