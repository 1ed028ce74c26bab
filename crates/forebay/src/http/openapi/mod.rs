//! The OpenAPI document, made from the routes themselves.

pub(super) mod page;

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use forebay_store::record::Scope;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::api::Api;
use super::page::send;
use super::problem::{Code, MEDIA_TYPE, Problem, ProblemBody};
use super::route::{Answer, Body, Doc, Param, Route, get};

const TITLE: &str = "Forebay";
const ABOUT: &str = "Takes LLM work off the request path. Submit a job, get an id at once, and the result by polling, \
                     long poll or event stream. Times are RFC 3339 in UTC with milliseconds, money is in millionths of \
                     the currency's unit, an absent member is unknown or does not apply. Unknown members and \
                     parameters of requests are refused.";

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
    ([(CONTENT_TYPE, "application/json")], api.openapi.clone()).into_response()
}

async fn html_document(State(api): State<Api>) -> Response {
    send(Bytes::clone(&api.docs_page))
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
    json!({
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": env!("CARGO_PKG_VERSION"), "description": ABOUT,
                 "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}},
        "servers": [{"url": "/"}],
        "tags": tags(),
        "paths": paths,
        "components": {
            "schemas": schemas.0,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "bearerFormat": "fbk_...",
                        "description": "An API key of a tenant: `Authorization: Bearer fbk_...`"},
            },
        },
    })
}

const TAGS: [(&str, &str); 11] = [
    ("jobs", "Work that was handed over"),
    ("events", "What happens to jobs"),
    ("documents", "Immutable bytes that jobs read"),
    ("reviews", "Decisions that persons owe"),
    ("tasks", "What jobs can be submitted for"),
    ("usage", "What was used"),
    ("pools", "Capacity"),
    ("revisions", "Definitions by number"),
    ("tenants", "Who pays and owns"),
    ("keys", "Who may do what"),
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
    json!({"description": body.description, "required": true, "content": content})
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
    }
    response
}

/// What a route refuses, by status: its own problems, and those of every route of its kind.
fn problems(route: &Route) -> BTreeMap<u16, Vec<Code>> {
    let mut codes = route.doc.problems.clone();
    if route.scope.is_some() {
        codes.extend([Code::InvalidParameter, Code::Unauthorized, Code::Forbidden, Code::NotAcceptable]);
    }
    codes.extend([Code::Overloaded, Code::Internal]);
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    for code in codes {
        let of_status = by_status.entry(code.facts().status.as_u16()).or_default();
        if !of_status.contains(&code) {
            of_status.push(code);
        }
    }
    by_status
}

/// The schemas that the document refers to, by name.
#[derive(Default)]
pub(super) struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    /// A reference to a type's schema, which is kept with all that it refers to.
    pub(super) fn reference<T: ToSchema>(&mut self) -> Value {
        let mut found = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut found);
        for (name, schema) in found {
            let mut schema = serde_json::to_value(schema).unwrap_or_default();
            without_null(&mut schema);
            self.0.entry(name).or_insert(schema);
        }
        json!({"$ref": format!("#/components/schemas/{}", T::name())})
    }

    /// Any bytes.
    pub(super) fn binary(&mut self) -> Value {
        json!({"type": "string", "format": "binary"})
    }

    /// Plain text.
    pub(super) fn text(&mut self) -> Value {
        json!({"type": "string"})
    }

    /// A form with one file.
    pub(super) fn file_part(&mut self) -> Value {
        json!({"type": "object", "required": ["file"], "properties": {"file": {"type": "string", "format": "binary"}}})
    }
}

/// An optional member is absent where it has no value, never `null`.
fn without_null(schema: &mut Value) {
    let required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    if let Some(members) = schema["properties"].as_object_mut() {
        for (name, member) in members {
            if !required.iter().any(|required| required == name) {
                drop_null(member);
            }
        }
    }
    // Indexing made the members that it did not find.
    if let Some(object) = schema.as_object_mut() {
        object.retain(|_, value| !value.is_null());
    }
}

fn drop_null(member: &mut Value) {
    let is_null = |kind: &Value| kind == "null" || *kind == json!({"type": "null"});
    for (key, single) in [("type", true), ("oneOf", false), ("anyOf", false)] {
        let Some(kinds) = member.get_mut(key).and_then(Value::as_array_mut) else { continue };
        kinds.retain(|kind| !is_null(kind));
        let Some(only) = kinds.first().cloned().filter(|_| kinds.len() == 1) else { continue };
        if single {
            member["type"] = only;
        } else if let (Some(member), Value::Object(only)) = (member.as_object_mut(), only) {
            member.remove(key);
            member.extend(only);
        }
    }
}
