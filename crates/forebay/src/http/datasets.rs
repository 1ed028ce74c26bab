//! Datasets: a tenant's master data, by name and version.

use axum::Json;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use forebay_core::dataset::{Table, TableFaults, is_name};
use forebay_core::limits::{DATASET_BYTES, DATASETS_PER_TENANT, LIST_PAGE};
use forebay_store::record::{DatasetPut, DatasetRecord, NewDataset, Scope};
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, ETAG, LOCATION, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderValue, StatusCode};

use super::api::Api;
use super::auth::Principal;
use super::body::Incoming;
use super::documents::{memory, pieces};
use super::dto::{Dataset, DatasetHistory, DatasetList};
use super::headers::{content_type, if_match};
use super::openapi::Schemas;
use super::params::{NoParams, Params, PathId};
use super::problem::{Code, ErrorItem, Problem};
use super::route::{Doc, Route, get, put};
use crate::datasets::off_the_workers;

const CSV: &str = "text/csv";
const JSON: &str = "application/json";

/// The routes of datasets.
pub(super) fn routes() -> Vec<Route> {
    let dataset = |summary| Doc::of("datasets", summary).path("name", "The name of a dataset");
    vec![
        get("/v1/datasets", list).needs(
            Scope::Read,
            Doc::of("datasets", "The tenant's datasets")
                .gives::<DatasetList>(200, "The latest version of each, by name"),
        ),
        put("/v1/datasets/{name}", replace).needs(
            Scope::Operate,
            dataset("Send a dataset")
                .more(
                    "CSV in UTF-8 with a header, separated by commas or semicolons; or a JSON array of objects whose \
                     members are strings, numbers and nulls. At most 16 MB, 100,000 rows, 64 columns, and 4 KB a value. \
                     Another content than that of the latest version is a new version; answers are judged by the \
                     latest version there is at that moment. Faults are told with line and column; then nothing has \
                     changed.",
                )
                .takes_raw("The rows", vec![(CSV, Schemas::text), (JSON, Schemas::rows)])
                .header("If-Match", "The ETag of the version that must be the latest")
                .gives::<Dataset>(201, "The new version")
                .with_header("ETag", "The version")
                .with_header("Location", "Where the dataset is")
                .gives::<Dataset>(200, "The latest version has the same content")
                .with_header("ETag", "The version")
                .refuses(&[
                    Code::InvalidMember,
                    Code::InvalidParameter,
                    Code::UnsupportedMediaType,
                    Code::TooLarge,
                    Code::RequestTimeout,
                    Code::Conflict,
                    Code::QuotaExceeded,
                    Code::Overloaded,
                ]),
        ),
        get("/v1/datasets/{name}", one).needs(
            Scope::Read,
            dataset("A dataset and its versions")
                .gives::<DatasetHistory>(200, "The latest version, and those before")
                .with_header("ETag", "The latest version")
                .refuses(&[Code::NotFound]),
        ),
        get("/v1/datasets/{name}/content", content).needs(
            Scope::Inspect,
            dataset("The rows of a dataset")
                .more("In their normal form: CSV whose SHA-256 digest is the version's.")
                .query("version", r#"{"type":"integer","minimum":1,"maximum":4294967295}"#, "A version; the latest where it is left out")
                .gives_raw(200, "The rows, with their columns by name", Some("text/csv"))
                .refuses(&[Code::NotFound, Code::InvalidParameter, Code::Overloaded]),
        ),
    ]
}

/// `GET /v1/datasets`
async fn list(
    State(api): State<Api>,
    principal: Principal,
    _: NoParams,
) -> Result<Json<DatasetList>, Problem> {
    let datasets = api.app.store.datasets(principal.tenant).await?;
    Ok(Json(DatasetList { data: datasets.into_iter().map(Dataset::from).collect() }))
}

/// `PUT /v1/datasets/{name}`
async fn replace(
    State(api): State<Api>,
    principal: Principal,
    PathId(name): PathId<String>,
    _: NoParams,
    request: Request,
) -> Result<Response, Problem> {
    if !is_name(&name) {
        let expected = "expected up to 64 lower-case letters, digits, `.`, `_` and `-`";
        return Err(Problem::parameter("name", expected));
    }
    let expected = if_match(request.headers())?;
    let _memory = memory(&api).await?;
    refuse_early(&api, &principal, &name, expected).await?;
    let table = read(request).await?;
    let normal = table.to_csv();
    let bytes = normal.len() as u64;
    // The content before the row that names it.
    let digest = api.app.blobs.put(normal).await?;
    let dataset = NewDataset {
        tenant: principal.tenant,
        name: name.clone(),
        digest,
        columns: table.columns().to_vec(),
        rows: table.len() as u64,
        bytes,
        expected,
        most: DATASETS_PER_TENANT as u64,
        by: principal.actor(),
    };
    match api.app.store.put_dataset(dataset).await? {
        DatasetPut::New(record) => Ok(sent(record, StatusCode::CREATED)),
        DatasetPut::Same(record) => Ok(sent(record, StatusCode::OK)),
        DatasetPut::Moved(latest) => Err(moved(&name, latest)),
        DatasetPut::TooMany => Err(too_many()),
    }
}

/// Refuses what the ledger is going to refuse, before the content is kept: nothing would name it.
async fn refuse_early(
    api: &Api,
    principal: &Principal,
    name: &str,
    expected: Option<u32>,
) -> Result<(), Problem> {
    let latest = api.app.store.dataset(principal.tenant, name, None).await?;
    if let Some(expected) = expected
        && latest.as_ref().is_none_or(|latest| latest.version != expected)
    {
        return Err(moved(name, latest));
    }
    if latest.is_none() && api.app.store.datasets(principal.tenant).await?.len() >= DATASETS_PER_TENANT {
        return Err(too_many());
    }
    Ok(())
}

fn too_many() -> Problem {
    let detail = format!("the tenant has {DATASETS_PER_TENANT} datasets, as many as it may");
    Problem::new(Code::QuotaExceeded, detail)
}

/// The table that a request carries.
async fn read(request: Request) -> Result<Table, Problem> {
    let media_type = content_type(request.headers());
    let from: fn(&[u8]) -> Result<Table, TableFaults> = match media_type.as_deref() {
        Some(CSV) => Table::from_csv,
        Some(JSON) => Table::from_json,
        _ => {
            let detail = "send the rows as text/csv or as application/json";
            return Err(Problem::new(Code::UnsupportedMediaType, detail));
        }
    };
    let bytes = Incoming::new(request)?.read(DATASET_BYTES).await?;
    off_the_workers(move || from(&bytes)).await?.map_err(faulty)
}

fn faulty(faults: TableFaults) -> Problem {
    let items = faults.as_slice().iter().map(|fault| ErrorItem {
        pointer: fault.pointer.clone(),
        message: fault.message.clone(),
        line: Some(fault.line),
        column: Some(fault.column),
        ..ErrorItem::default()
    });
    let detail = match faults.as_slice() {
        [first, rest @ ..] if !rest.is_empty() => format!("{first} (and {} more)", rest.len()),
        _ => faults.to_string(),
    };
    Problem::new(Code::InvalidMember, detail).with_errors(items.collect())
}

fn moved(name: &str, latest: Option<DatasetRecord>) -> Problem {
    let detail = latest.map_or_else(
        || format!("there is no dataset `{name}` yet"),
        |latest| format!("version {} of `{name}` is the latest", latest.version),
    );
    Problem::new(Code::Conflict, detail)
}

fn sent(record: DatasetRecord, status: StatusCode) -> Response {
    let location = format!("/v1/datasets/{}", record.name);
    let mut response = tagged(record.version, (status, Json(Dataset::from(record))).into_response());
    if let Ok(location) = HeaderValue::from_str(&location)
        && status == StatusCode::CREATED
    {
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

/// An answer about a version.
fn tagged(version: u32, mut response: Response) -> Response {
    if let Ok(etag) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(ETAG, etag);
    }
    response
}

/// `GET /v1/datasets/{name}`
async fn one(
    State(api): State<Api>,
    principal: Principal,
    PathId(name): PathId<String>,
    _: NoParams,
) -> Result<Response, Problem> {
    let versions = api.app.store.dataset_versions(principal.tenant, &name, LIST_PAGE).await?;
    let latest = versions.first().cloned().ok_or_else(Problem::not_found)?;
    let version = latest.version;
    let versions = versions.into_iter().map(Dataset::from).collect();
    let history = DatasetHistory { latest: latest.into(), versions };
    Ok(tagged(version, Json(history).into_response()))
}

/// `GET /v1/datasets/{name}/content`
async fn content(
    State(api): State<Api>,
    principal: Principal,
    PathId(name): PathId<String>,
    mut params: Params,
) -> Result<Response, Problem> {
    let version = params.parsed("version", "a number from 1", |text| text.parse().ok().filter(|v| *v > 0))?;
    params.end()?;
    let record = api.app.store.dataset(principal.tenant, &name, version).await?;
    let record = record.ok_or_else(Problem::not_found)?;
    let memory = memory(&api).await?;
    let Some(bytes) = api.app.blobs.get(record.digest).await? else {
        tracing::error!(dataset = %record.digest, "a dataset's content is not there");
        return Err(Problem::internal());
    };
    let disposition = format!("attachment; filename=\"{name}-{}.csv\"", record.version);
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_DISPOSITION, disposition.as_str()),
        (CACHE_CONTROL, "private, no-store"),
    ];
    Ok(tagged(record.version, (headers, pieces(Bytes::from(bytes), memory)).into_response()))
}
