//! Documents: immutable bytes, known by their digest, per tenant.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequest as _, Multipart, Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use forebay_core::digest::DocumentId;
use forebay_core::limits::DOCUMENT_BYTES;
use forebay_core::time::Millis;
use forebay_store::record::{DocumentRecord, NewDocument, Scope};
use futures_util::{TryStreamExt as _, stream};
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, StatusCode};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::api::Api;
use super::auth::Principal;
use super::body::{Incoming, gather};
use super::dto::Document;
use super::headers::content_type;
use super::openapi::Schemas;
use super::params::{NoParams, PathId};
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get, post};

/// How long a request waits for memory to hold its document in.
const MEMORY_WAIT: Duration = Duration::from_secs(10);
/// When to come back after there was none.
const MEMORY_RETRY: Millis = Millis::from_secs(5);
/// Bytes of a document that are handed to the connection at once.
const PIECE: usize = 64 * 1024;
/// Characters of a media type.
const MEDIA_TYPE_CHARS: usize = 127;
const ANY: &str = "application/octet-stream";

/// The routes of documents.
pub(super) fn routes() -> Vec<Route> {
    let document = |summary| {
        Doc::of("documents", summary)
            .path("document_id", "The id of a document: `doc_` and a SHA-256 digest")
            .refuses(&[Code::NotFound])
    };
    vec![
        post("/v1/documents", upload).needs(
            Scope::Submit,
            Doc::of("documents", "Upload a document")
                .more(
                    "The body is the document, with its media type as `Content-Type`; or `multipart/form-data` with \
                     one part `file`. At most 64 MB. The same bytes give the same id.",
                )
                .takes_raw(
                    "The document",
                    vec![(ANY, Schemas::binary), ("multipart/form-data", Schemas::file_part)],
                )
                .gives::<Document>(201, "The tenant has the document now")
                .with_header("Location", "Where its metadata is")
                .gives::<Document>(200, "The tenant had it")
                .refuses(&[
                    Code::TooLarge,
                    Code::InvalidMember,
                    Code::MissingMember,
                    Code::UnknownMember,
                    Code::UnsupportedMediaType,
                    Code::RequestTimeout,
                ]),
        ),
        get("/v1/documents/{document_id}", metadata).needs(
            Scope::Read,
            document("What is known about a document").gives::<Document>(200, "Size, media type, date"),
        ),
        get("/v1/documents/{document_id}/content", content).needs(
            Scope::Read,
            document("The bytes of a document")
                .more("Always as an attachment, never to be shown or run by a browser.")
                .gives_raw(200, "The bytes as they were uploaded", Some("*/*")),
        ),
    ]
}

/// `POST /v1/documents`
async fn upload(
    State(api): State<Api>,
    principal: Principal,
    _: NoParams,
    request: Request,
) -> Result<Response, Problem> {
    let _memory = memory(&api).await?;
    let (bytes, media_type) = match content_type(request.headers()).as_deref() {
        Some("multipart/form-data") => from_form(request).await?,
        _ => from_body(request).await?,
    };
    if bytes.is_empty() {
        return Err(Problem::new(Code::InvalidMember, "the document has no bytes"));
    }
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let digest = api.app.blobs.put(bytes.into()).await?;
    let document = NewDocument { tenant: principal.tenant, digest, bytes: size, media_type };
    let (record, is_new) = api.app.store.add_document(document).await?;
    Ok(uploaded(record, is_new))
}

fn uploaded(record: DocumentRecord, is_new: bool) -> Response {
    let document = Document::from(record);
    let location = HeaderValue::from_str(&format!("/v1/documents/{}", document.document_id));
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    let mut response = (status, Json(document)).into_response();
    if let Ok(location) = location {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// A body that is the document itself.
async fn from_body(request: Request) -> Result<(Bytes, String), Problem> {
    let given =
        request.headers().get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default().to_owned());
    let media_type = media_type(given.as_deref())?;
    Ok((Incoming::new(request)?.read(DOCUMENT_BYTES).await?, media_type))
}

/// A form with one part `file`.
async fn from_form(request: Request) -> Result<(Bytes, String), Problem> {
    let mut form = Multipart::from_request(request, &()).await.map_err(|_| not_a_form())?;
    let mut found = None;
    while let Some(field) = form.next_field().await.map_err(|_| not_a_form())? {
        if field.name() != Some("file") || found.is_some() {
            return Err(Problem::new(Code::UnknownMember, "the form has other parts than one `file`"));
        }
        let media_type = media_type(field.content_type())?;
        let bytes = gather(DOCUMENT_BYTES, field.map_err(|_| not_a_form())).await?;
        found = Some((bytes, media_type));
    }
    found.ok_or_else(|| Problem::new(Code::MissingMember, "the form has no part `file`"))
}

fn not_a_form() -> Problem {
    Problem::new(Code::InvalidMember, "the body is no multipart/form-data, or ends early")
}

/// The media type that is kept: what the caller says, where it can be one.
fn media_type(given: Option<&str>) -> Result<String, Problem> {
    let Some(given) = given.map(str::trim) else { return Ok(ANY.to_owned()) };
    let token = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b))
    };
    let essence = given.split(';').next().unwrap_or_default().trim();
    let is_one = essence.split_once('/').is_some_and(|(kind, subtype)| token(kind) && token(subtype));
    let is_short =
        given.len() <= MEDIA_TYPE_CHARS && given.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    if is_one && is_short {
        return Ok(given.to_owned());
    }
    Err(Problem::new(Code::UnsupportedMediaType, "the document's Content-Type is not a media type"))
}

/// `GET /v1/documents/{document_id}`
async fn metadata(
    State(api): State<Api>,
    principal: Principal,
    PathId(id): PathId<DocumentId>,
    _: NoParams,
) -> Result<Json<Document>, Problem> {
    Ok(Json(find(&api, &principal, id).await?.into()))
}

/// `GET /v1/documents/{document_id}/content`
async fn content(
    State(api): State<Api>,
    principal: Principal,
    PathId(id): PathId<DocumentId>,
    _: NoParams,
) -> Result<Response, Problem> {
    let record = find(&api, &principal, id).await?;
    let memory = memory(&api).await?;
    let Some(bytes) = api.app.blobs.get(id.0).await? else {
        tracing::error!(document = %id, "a document's bytes are not there");
        return Err(Problem::internal());
    };
    let disposition = format!("attachment; filename=\"{id}\"");
    let headers = [
        (CONTENT_TYPE, record.media_type.as_str()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
        (CONTENT_DISPOSITION, disposition.as_str()),
        (CACHE_CONTROL, "private, no-store"),
    ];
    Ok((headers, pieces(Bytes::from(bytes), memory)).into_response())
}

/// A body that keeps its memory accounted for until the last piece is taken.
pub(super) fn pieces(bytes: Bytes, memory: OwnedSemaphorePermit) -> Body {
    Body::from_stream(stream::unfold((bytes, memory), |(mut rest, memory)| async {
        if rest.is_empty() {
            return None;
        }
        let piece = rest.split_to(PIECE.min(rest.len()));
        Some((Ok::<_, std::convert::Infallible>(piece), (rest, memory)))
    }))
}

async fn find(api: &Api, principal: &Principal, id: DocumentId) -> Result<DocumentRecord, Problem> {
    api.app.store.document(principal.tenant, id.0).await?.ok_or_else(Problem::not_found)
}

/// A place for one document or dataset in memory.
pub(super) async fn memory(api: &Api) -> Result<OwnedSemaphorePermit, Problem> {
    let place = std::sync::Arc::clone(&api.documents).acquire_owned();
    match timeout(MEMORY_WAIT, place).await {
        Ok(Ok(permit)) => Ok(permit),
        Ok(Err(_)) | Err(_) => {
            let detail = "too many documents are on their way at the moment";
            Err(Problem::new(Code::Overloaded, detail).retry_after(MEMORY_RETRY))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_is_kept_as_it_was_said() {
        assert_eq!(media_type(Some("text/plain; charset=utf-8")).unwrap(), "text/plain; charset=utf-8");
        assert_eq!(media_type(Some("application/vnd.a+json")).unwrap(), "application/vnd.a+json");
        assert_eq!(media_type(None).unwrap(), "application/octet-stream");
        for refused in ["text", "/", "text/", "te xt/plain", "text/plain;\u{1}", &"a/".repeat(100)] {
            assert!(media_type(Some(refused)).is_err(), "{refused}");
        }
    }
}
