//! Definitions as immutable, numbered revisions.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_core::request::json::parse;
use forebay_store::record::Scope;
use http::StatusCode;
use http::header::{HeaderValue, LOCATION};

use super::api::Api;
use super::auth::Principal;
use super::body::Payload;
use super::dto::{Revision, RevisionBody};
use super::fields::Fields;
use super::openapi::Schemas;
use super::params::{NoParams, PathId};
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get, post};

/// Characters of a comment on a revision.
const COMMENT_CHARS: usize = 1_000;

/// The routes of revisions.
pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/v1/revisions/active", active).needs(
            Scope::Admin,
            Doc::of("revisions", "The definitions that new jobs run by")
                .more("For admins of the tenant `default`.")
                .gives::<Revision>(200, "The active revision"),
        ),
        get("/v1/revisions/{number}", one).needs(
            Scope::Admin,
            Doc::of("revisions", "A revision of the definitions")
                .more("For admins of the tenant `default`.")
                .path("number", "The number of a revision")
                .gives::<Revision>(200, "The revision")
                .refuses(&[Code::NotFound]),
        ),
        post("/v1/revisions", apply).needs(
            Scope::Admin,
            Doc::of("revisions", "Check definitions and make them the active revision")
                .more(
                    "For admins of the tenant `default`. All faults are told at once, with line and column; then \
                     nothing has changed. The same text as the active revision is not kept twice.",
                )
                .takes_raw(
                    "The definitions, as TOML or as JSON with a comment",
                    vec![
                        ("application/toml", Schemas::text),
                        ("text/toml", Schemas::text),
                        ("application/json", Schemas::request::<RevisionBody>),
                    ],
                )
                .gives::<Revision>(201, "The new active revision")
                .with_header("Location", "Where the revision is")
                .gives::<Revision>(200, "The text is that of the active revision")
                .refuses(&[
                    Code::InvalidJson,
                    Code::InvalidMember,
                    Code::MissingMember,
                    Code::UnknownMember,
                    Code::UnsupportedMediaType,
                    Code::TooLarge,
                ]),
        ),
    ]
}

/// `GET /v1/revisions/active`
async fn active(
    State(api): State<Api>,
    principal: Principal,
    _: NoParams,
) -> Result<Json<Revision>, Problem> {
    principal.must_be_installation_admin()?;
    let number = api.app.revisions.active().number;
    let record = api.app.store.revision(number).await?.ok_or_else(Problem::internal)?;
    Ok(Json(Revision::new(record, number)))
}

/// `GET /v1/revisions/{number}`
async fn one(
    State(api): State<Api>,
    principal: Principal,
    PathId(number): PathId<u32>,
    _: NoParams,
) -> Result<Json<Revision>, Problem> {
    principal.must_be_installation_admin()?;
    let record = api.app.store.revision(number).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(Revision::new(record, api.app.revisions.active().number)))
}

/// `POST /v1/revisions`
async fn apply(
    State(api): State<Api>,
    principal: Principal,
    _: NoParams,
    payload: Payload,
) -> Result<Response, Problem> {
    principal.must_be_installation_admin()?;
    let (source, comment) = read(&payload)?;
    let before = api.app.revisions.active().number;
    let record = api.app.revisions.apply(&source, comment.as_deref(), principal.actor()).await?;
    let number = record.number;
    let status = if number == before { StatusCode::OK } else { StatusCode::CREATED };
    let mut response =
        (status, Json(Revision::new(record, api.app.revisions.active().number))).into_response();
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/revisions/{number}")) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
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
