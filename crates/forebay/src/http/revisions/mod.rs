//! Definitions as immutable, numbered revisions.

mod apply;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_core::limits::LIST_PAGE;
use forebay_store::record::{RevisionRecord, Scope};
use http::Uri;
use http::header::{CONTENT_TYPE, ETAG, HeaderName};

use super::api::Api;
use super::auth::Principal;
use super::cursor::Series;
use super::dto::{
    Revision, RevisionBody, RevisionDiff, RevisionEntry, RevisionList, RevisionTrial, RollbackBody,
};
use super::jobs::with_next;
use super::openapi::Schemas;
use super::params::{NoParams, Params, PathId};
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get, post};
use crate::definitions::{self, Named};
use crate::revisions::RevisionError;

/// Revisions on a page when the caller does not say.
const DEFAULT_PAGE: usize = 50;
const FOR_WHOM: &str = "For admins of the tenant `default`.";
const NUMBER: &str = r#"{"type":"integer","minimum":1}"#;

/// The routes of revisions.
pub(super) fn routes() -> Vec<Route> {
    let doc = |summary| Doc::of("revisions", summary).more(FOR_WHOM);
    let numbered =
        |summary| doc(summary).path("number", "The number of a revision").refuses(&[Code::NotFound]);
    vec![
        get("/v1/revisions", list).needs(Scope::Admin, list_doc(doc("Revisions, newest first"))),
        get("/v1/revisions/active", active).needs(
            Scope::Admin,
            with_etag(
                doc("The definitions that new jobs run by").gives::<Revision>(200, "The active revision"),
            ),
        ),
        get("/v1/revisions/diff", diff).needs(Scope::Admin, diff_doc(doc("What two revisions differ in"))),
        get("/v1/revisions/{number}", one).needs(
            Scope::Admin,
            with_etag(numbered("A revision of the definitions").gives::<Revision>(200, "The revision")),
        ),
        get("/v1/revisions/{number}/source", source).needs(
            Scope::Admin,
            numbered("The definitions of a revision as they were written").gives_raw(
                200,
                "The text",
                Some("application/toml"),
            ),
        ),
        post("/v1/revisions", apply::apply).needs(Scope::Admin, apply_doc()),
        post("/v1/revisions/{number}/rollback", apply::rollback).needs(Scope::Admin, rollback_doc()),
    ]
}

fn with_etag(doc: Doc) -> Doc {
    doc.with_header("ETag", "The revision's number, for `If-Match`")
}

fn list_doc(doc: Doc) -> Doc {
    doc.query(
        "limit",
        r#"{"type":"integer","minimum":1,"maximum":200,"default":50}"#,
        "The most revisions on the page",
    )
    .query("cursor", r#"{"type":"string"}"#, "The `next_cursor` of the page before")
    .gives::<RevisionList>(200, "A page of revisions")
    .with_header("Link", "The next page, with `rel=\"next\"`; absent on the last one")
}

fn diff_doc(doc: Doc) -> Doc {
    doc.query("from", NUMBER, "The earlier revision; the one before `to` where absent")
        .query("to", NUMBER, "The later revision; the active one where absent")
        .gives::<RevisionDiff>(200, "What is different")
        .refuses(&[Code::NotFound])
}

fn if_match(doc: Doc) -> Doc {
    doc.header(
        "If-Match",
        "The `ETag` of the revision that must be active; 409 when another one is, naming who applied it",
    )
}

const DRY_RUN: &str = "Checks, answers what would change, and changes nothing";

fn apply_doc() -> Doc {
    let doc = Doc::of("revisions", "Check definitions and make them the active revision").more(
        "For admins of the tenant `default`. All faults are told at once, with line and column; then nothing has \
         changed. The same text as the active revision is not kept twice.",
    );
    let doc = if_match(doc)
        .query("dry_run", r#"{"type":"boolean","default":false}"#, DRY_RUN)
        .query("from", NUMBER, "With `dry_run`: what to compare with; the active revision where absent")
        .takes_raw(
            "The definitions, as TOML or as JSON with a comment",
            vec![
                ("application/toml", Schemas::text),
                ("text/toml", Schemas::text),
                ("application/json", Schemas::request::<RevisionBody>),
            ],
        );
    applied(doc, "The text is that of the active revision; with `dry_run` a `RevisionTrial`").refuses(&[
        Code::InvalidJson,
        Code::InvalidMember,
        Code::MissingMember,
        Code::UnknownMember,
        Code::UnsupportedMediaType,
        Code::TooLarge,
        Code::Conflict,
        Code::NotFound,
    ])
}

fn rollback_doc() -> Doc {
    let doc = Doc::of("revisions", "Make the definitions of an older revision the active ones again")
        .more(
            "For admins of the tenant `default`. They become a new revision with a number of its own. Refused when \
             this build can't use them; `errors` says why.",
        )
        .path("number", "The number of the revision whose text is to be active again");
    let doc = if_match(doc)
        .query("dry_run", r#"{"type":"boolean","default":false}"#, DRY_RUN)
        .takes_raw("Why; may be left out", vec![("application/json", Schemas::request::<RollbackBody>)]);
    applied(doc, "Its text is that of the active revision; with `dry_run` a `RevisionTrial`").refuses(&[
        Code::NotFound,
        Code::Conflict,
        Code::InvalidJson,
        Code::InvalidMember,
        Code::UnknownMember,
        Code::UnsupportedMediaType,
    ])
}

fn applied(doc: Doc, unchanged: &'static str) -> Doc {
    doc.gives::<Revision>(201, "The new active revision")
        .with_header("Location", "Where the revision is")
        .gives_one_of::<Revision, RevisionTrial>(200, unchanged)
}

/// A revision's number as a header.
fn etag(number: u32) -> [(HeaderName, String); 1] {
    [(ETAG, format!("\"{number}\""))]
}

/// `GET /v1/revisions`
async fn list(
    State(api): State<Api>,
    principal: Principal,
    uri: Uri,
    mut params: Params,
) -> Result<Response, Problem> {
    principal.must_be_installation_admin()?;
    let limit = params.limit(DEFAULT_PAGE, LIST_PAGE)?;
    let cursor = params.text("cursor")?;
    params.end()?;
    let position = |cursor: String| api.cursors.position(&principal, Series::Revisions, &cursor);
    let before = cursor.map(position).transpose()?;
    let before = before.map(|seq| u32::try_from(seq).unwrap_or(u32::MAX));
    let page = api.app.store.revisions(before, limit).await?;
    let write = |next| api.cursors.write(principal.tenant, Series::Revisions, i64::from(next));
    let next_cursor = page.next.map(write);
    let active = api.app.revisions.active().number;
    let data = page.revisions.into_iter().map(|info| RevisionEntry::new(info, active)).collect();
    let list = RevisionList { data, next_cursor: next_cursor.clone() };
    Ok(with_next(Json(list).into_response(), &uri, next_cursor.as_deref()))
}

/// `GET /v1/revisions/active`
async fn active(State(api): State<Api>, principal: Principal, _: NoParams) -> Result<Response, Problem> {
    principal.must_be_installation_admin()?;
    let number = api.app.revisions.active().number;
    let record = find(&api, number).await?;
    Ok((etag(number), Json(Revision::new(record, number))).into_response())
}

/// `GET /v1/revisions/{number}`
async fn one(
    State(api): State<Api>,
    principal: Principal,
    PathId(number): PathId<u32>,
    _: NoParams,
) -> Result<Response, Problem> {
    principal.must_be_installation_admin()?;
    let record = find(&api, number).await?;
    let active = api.app.revisions.active().number;
    Ok((etag(number), Json(Revision::new(record, active))).into_response())
}

/// `GET /v1/revisions/{number}/source`
async fn source(
    State(api): State<Api>,
    principal: Principal,
    PathId(number): PathId<u32>,
    _: NoParams,
) -> Result<Response, Problem> {
    principal.must_be_installation_admin()?;
    let record = find(&api, number).await?;
    let toml = [(CONTENT_TYPE, "application/toml")];
    Ok((etag(number), toml, record.source).into_response())
}

/// `GET /v1/revisions/diff`
async fn diff(
    State(api): State<Api>,
    principal: Principal,
    mut params: Params,
) -> Result<Json<RevisionDiff>, Problem> {
    principal.must_be_installation_admin()?;
    let mut number = |name| params.parsed(name, "the number of a revision", |text| text.parse::<u32>().ok());
    let (from, to) = (number("from")?, number("to")?);
    params.end()?;
    let to = to.unwrap_or_else(|| api.app.revisions.active().number);
    let first = || Problem::parameter("from", format!("there is no revision before {to}: say which one"));
    let from = from.or_else(|| to.checked_sub(1).filter(|from| *from > 0)).ok_or_else(first)?;
    let after = find(&api, to).await?;
    let name = format!("revision {to}");
    Ok(Json(compared(&api, from, Some(to), Named { name: &name, text: &after.source }).await?))
}

async fn find(api: &Api, number: u32) -> Result<RevisionRecord, Problem> {
    let absent = || Problem::new(Code::NotFound, format!("there is no revision {number}"));
    api.app.store.revision(number).await?.ok_or_else(absent)
}

/// What a text differs in from a revision.
async fn compared(api: &Api, from: u32, to: Option<u32>, after: Named<'_>) -> Result<RevisionDiff, Problem> {
    let before = find(api, from).await?;
    let name = format!("revision {from}");
    let found = definitions::diff(Named { name: &name, text: &before.source }, after);
    Ok(RevisionDiff::new(from, to, found.map_err(RevisionError::Faults)?))
}
