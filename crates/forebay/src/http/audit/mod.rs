//! Who changed what, and when: page by page, or all of it as a file.

mod export;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use forebay_core::digest::Digest;
use forebay_core::id::KeyId;
use forebay_core::limits::LIST_PAGE;
use forebay_store::record::{AuditAction, AuditQuery, Scope};
use http::Uri;

use super::api::Api;
use super::auth::Principal;
use super::cursor::Series;
use super::dto::{AuditEntry, AuditList};
use super::jobs::with_next;
use super::params::Params;
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get};
use super::tenants::visible;

/// Records on a page when the caller does not say.
const DEFAULT_PAGE: usize = 50;

/// The routes of the audit.
pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/v1/audit", list).needs(
            Scope::Admin,
            filtered("Who changed what, newest first")
                .query(
                    "limit",
                    r#"{"type":"integer","minimum":1,"maximum":200,"default":50}"#,
                    "The most records on the page",
                )
                .query(
                    "cursor",
                    r#"{"type":"string"}"#,
                    "The `next_cursor` of the page before, with the same filters",
                )
                .gives::<AuditList>(200, "A page of records")
                .with_header("Link", "The next page, with `rel=\"next\"`; absent on the last one"),
        ),
        get("/v1/audit/export", export::export).needs(
            Scope::Admin,
            filtered("All records that match, as a file")
                .query(
                    "format",
                    r#"{"type":"string","enum":["jsonl","csv"],"default":"jsonl"}"#,
                    "JSON lines, or CSV as RFC 4180 writes it, with a first line of names",
                )
                .gives_raw(
                    200,
                    "The records, newest first; the connection breaks if the store fails midway",
                    Some("*/*"),
                ),
        ),
    ]
}

fn filtered(summary: &'static str) -> Doc {
    Doc::of("audit", summary)
        .more(
            "An admin of the tenant `default` sees all records, another admin those of its own tenant. What was \
             refused, failed, or changed nothing leaves no record.",
        )
        .query("action", r#"{"type":"string"}"#, "Only of this action: `key.revoke`, `revision.apply`, ...")
        .query("subject", r#"{"type":"string"}"#, "Only about this id, name or number")
        .query("key", r#"{"type":"string"}"#, "Only by this key: `key_...`")
        .query("tenant", r#"{"type":"string"}"#, "Only of this tenant's affairs")
        .query("since", r#"{"type":"string","format":"date-time"}"#, "Only at this time or later")
        .query("until", r#"{"type":"string","format":"date-time"}"#, "Only before this time")
        .refuses(&[Code::NotFound])
}

/// Which records are asked for, within what the caller may see. The page is the caller's to set.
async fn query(api: &Api, principal: &Principal, params: &mut Params) -> Result<AuditQuery, Problem> {
    let actions = AuditAction::ALL.map(AuditAction::name).join(", ");
    let tenant = match params.text("tenant")? {
        Some(name) => Some(visible(api, principal, &name).await?.id),
        None if principal.is_installation_admin() => None,
        None => Some(principal.tenant),
    };
    Ok(AuditQuery {
        tenant,
        action: params.parsed("action", &format!("one of {actions}"), AuditAction::from_name)?,
        subject: params.text("subject")?,
        actor: params.parsed("key", "the id of a key: `key_...`", |text| text.parse::<KeyId>().ok())?,
        since: params.time("since")?,
        until: params.time("until")?,
        before: None,
        limit: LIST_PAGE,
    })
}

/// `GET /v1/audit`
async fn list(
    State(api): State<Api>,
    principal: Principal,
    uri: Uri,
    mut params: Params,
) -> Result<Response, Problem> {
    let mut query = query(&api, &principal, &mut params).await?;
    query.limit = params.limit(DEFAULT_PAGE, LIST_PAGE)?;
    let cursor = params.text("cursor")?;
    params.end()?;
    let series = Series::Audit(fingerprint(&query));
    query.before = cursor.map(|cursor| api.cursors.position(&principal, series, &cursor)).transpose()?;
    let page = api.app.store.audit(query).await?;
    let next_cursor = page.next.map(|next| api.cursors.write(principal.tenant, series, next));
    let data = page.records.into_iter().map(AuditEntry::from).collect();
    let list = AuditList { data, next_cursor: next_cursor.clone() };
    Ok(with_next(Json(list).into_response(), &uri, next_cursor.as_deref()))
}

/// What a cursor of such a list belongs to.
fn fingerprint(query: &AuditQuery) -> u64 {
    let AuditQuery { tenant, action, subject, actor, since, until, before: _, limit: _ } = query;
    Digest::of(format!("{:?}", (tenant, action, subject, actor, since, until)).as_bytes()).short()
}
