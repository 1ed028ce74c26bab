//! The OpenAPI document, made from the routes themselves.

mod links;
pub(super) mod page;
mod schemas;
mod submit;

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use forebay_store::record::Scope;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};

use super::api::Api;
use super::page::send;
use super::problem::{Code, MEDIA_TYPE, Problem, ProblemBody};
use super::route::{Answer, Body, Doc, Param, Route, get};

pub(super) use schemas::Schemas;

const TITLE: &str = "Forebay";
const ABOUT: &str = "Takes LLM work off the request path. Submit a job, get an id at once, and the result by polling, \
                     long poll or event stream. Times are RFC 3339 in UTC with milliseconds, money is in millionths of \
                     the currency's unit, an absent member is unknown or does not apply. Unknown members and \
                     parameters of requests are refused, and so are duplicate members, `null` for what is to be \
                     left out, and integers beyond 64 bits, which belong into strings.";

/// The routes of the document.
pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/openapi.json", json_document).open(Doc::of("meta", "This document").gives_raw(
            200,
            "OpenAPI 3.1",
            Some("application/json"),
        )),
        get("/docs", html_document)
            .open(Doc::of("meta", "This document, to read").page("One page, without scripts")),
    ]
}

async fn json_document(State(api): State<Api>) -> Response {
    ([(CONTENT_TYPE, "application/json")], api.manual.openapi.clone()).into_response()
}

async fn html_document(State(api): State<Api>) -> Response {
    send(Bytes::clone(&api.manual.page))
}

/// The document of these routes.
pub(super) fn document(routes: &[Route]) -> Value {
    let mut schemas = Schemas::default();
    let problem = Schemas::reference::<ProblemBody>(&mut schemas);
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in routes {
        let operation = operation(route, &problem, &mut schemas);
        paths.entry(route.path).or_default().insert(route.method.as_str().to_ascii_lowercase(), operation);
    }
    links::add(&mut paths, routes, &schemas);
    json!({
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": env!("CARGO_PKG_VERSION"), "description": ABOUT,
                 "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "servers": [{"url": "/"}],
        "tags": tags(),
        "paths": paths,
        "components": {
            "schemas": schemas.into_value(),
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "bearerFormat": "fbk_...",
                        "description": "An API key of a tenant: `Authorization: Bearer fbk_...`"},
            },
        },
    })
}

const TAGS: &[(&str, &str)] = &[
    ("jobs", "Work that was handed over"),
    ("events", "What happens to jobs"),
    ("batches", "Many jobs in one call"),
    ("dead letters", "Jobs that failed, and who deals with them"),
    ("documents", "Immutable bytes that jobs read"),
    ("datasets", "Master data that answers are compared with"),
    ("reviews", "Decisions that persons owe"),
    ("tasks", "What jobs can be submitted for"),
    ("usage", "What was used"),
    ("pools", "Capacity"),
    ("workers", "Processes"),
    ("autoscaling", "How many workers are worth running"),
    ("retention", "Retention"),
    ("revisions", "Definitions by number"),
    ("tenants", "Who pays and owns"),
    ("keys", "Who may do what"),
    ("audit", "Who changed what, and when"),
    ("meta", "About the server itself"),
];

/// Whether the document describes this tag.
#[cfg(test)]
pub(super) fn has_tag(tag: &str) -> bool {
    TAGS.iter().any(|(name, _)| *name == tag)
}

fn tags() -> Value {
    TAGS.iter().map(|(name, description)| json!({"name": name, "description": description})).collect()
}

fn operation(route: &Route, problem: &Value, schemas: &mut Schemas) -> Value {
    let doc = &route.doc;
    let mut operation = json!({
        "operationId": operation_id(route),
        "tags": [doc.tag],
        "summary": doc.summary,
        "security": security(route.scope),
        "responses": responses(route, problem, schemas),
    });
    let description = description(route);
    if !description.is_empty() {
        operation["description"] = description.into();
    }
    let parameters: Vec<_> = doc.params.iter().map(parameter).collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = &doc.body {
        operation["requestBody"] = request_body(body, schemas);
    }
    if let Some(scope) = route.scope {
        operation["x-scope"] = scope.name().into();
    }
    operation
}

/// The method and the words of the path: `get_v1_jobs_job_id_result`.
fn operation_id(route: &Route) -> String {
    let words = route.path.split(['/', '{', '}', '.']).filter(|word| !word.is_empty());
    let method = route.method.as_str().to_ascii_lowercase();
    std::iter::once(method.as_str()).chain(words).collect::<Vec<_>>().join("_")
}

fn description(route: &Route) -> String {
    let scope = route.scope.map(|scope| format!("Needs the scope `{}`.", scope.name()));
    let parts = [Some(route.doc.description.to_owned()).filter(|text| !text.is_empty()), scope];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn security(scope: Option<Scope>) -> Value {
    match scope {
        Some(_) => json!([{"key": []}]),
        None => json!([]),
    }
}

fn parameter(param: &Param) -> Value {
    let schema: Value = serde_json::from_str(param.schema).unwrap_or_default();
    let known = match param.place {
        "path" => schemas::of_path(param.name),
        "header" => schemas::of_header(param.name),
        _ => schemas::of_query(param.name),
    };
    let schema = schemas::within_bounds(known.unwrap_or(schema));
    json!({
        "in": param.place, "name": param.name, "description": param.description,
        "required": param.place == "path", "schema": schema,
    })
}

fn request_body(body: &Body, schemas: &mut Schemas) -> Value {
    let content: Map<String, Value> = body
        .content
        .iter()
        .map(|(media_type, schema)| {
            let mut content = json!({"schema": schema(schemas)});
            if let Some(example) = &body.example {
                content["example"] = example.clone();
            }
            ((*media_type).to_owned(), content)
        })
        .collect();
    json!({"description": body.description, "required": body.required, "content": content})
}

fn responses(route: &Route, problem: &Value, schemas: &mut Schemas) -> Map<String, Value> {
    let mut responses = Map::new();
    for answer in &route.doc.answers {
        responses.insert(answer.status.to_string(), response(answer, schemas));
    }
    for (status, codes) in problems(route) {
        let names: Vec<_> = codes.iter().map(|code| format!("`{}`", code.name())).collect();
        let example = codes.first().map(|code| Problem::new(*code, code.facts().title).body("req_..."));
        responses.insert(
            status.to_string(),
            json!({
                "description": names.join(", "),
                "headers": {"x-request-id": {"schema": {"type": "string"}}},
                "content": {MEDIA_TYPE: {"schema": problem, "example": example}},
            }),
        );
    }
    responses
}

fn response(answer: &Answer, schemas: &mut Schemas) -> Value {
    let mut response = json!({"description": answer.description});
    let mut headers = Map::new();
    headers.insert("x-request-id".to_owned(), json!({"schema": {"type": "string"}}));
    for (name, description) in &answer.headers {
        headers.insert((*name).to_owned(), json!({"description": description, "schema": {"type": "string"}}));
    }
    response["headers"] = headers.into();
    if let Some(media_type) = answer.media_type {
        let schema = answer.schema.map_or_else(|| json!({"type": "string"}), |schema| schema(schemas));
        let mut content = json!({"schema": schema});
        if let Some(example) = &answer.example {
            content["example"] = example.clone();
        }
        response["content"] = json!({media_type: content});
        if let Some(other) = answer.or_as {
            response["content"][other] = json!({"schema": {"type": "string"}});
        }
    }
    response
}

/// The status of a head that is too large; any route may answer with it.
const HEAD_TOO_LARGE: u16 = 431;

/// What a route refuses, by status: its own problems, and those of every route of its kind.
fn problems(route: &Route) -> BTreeMap<u16, Vec<Code>> {
    let mut codes = route.doc.problems.clone();
    codes.push(Code::InvalidParameter);
    if route.scope.is_some() {
        codes.extend([Code::Unauthorized, Code::Forbidden]);
    }
    if !route.doc.media_types().is_empty() {
        codes.push(Code::NotAcceptable);
    }
    if route.path.contains('{') {
        codes.push(Code::NotFound);
    }
    if route.doc.body.is_some() {
        codes.extend([Code::RequestTimeout, Code::TooLarge, Code::UnsupportedMediaType]);
    }
    codes.extend([Code::Overloaded, Code::Internal]);
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    by_status.insert(HEAD_TOO_LARGE, vec![Code::TooLarge]);
    for code in codes {
        let of_status = by_status.entry(code.facts().status.as_u16()).or_default();
        if !of_status.contains(&code) {
            of_status.push(code);
        }
    }
    by_status
}
