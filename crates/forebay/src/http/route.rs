//! One declaration per route: where it is, who may use it, what it takes and gives, and who handles it.

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter, on};
use forebay_store::record::Scope;
use http::Method;
use serde_json::Value;
use utoipa::ToSchema;

use super::api::Api;
use super::openapi::Schemas;
use super::problem::Code;
use super::{auth, headers};

/// A route.
pub(super) struct Route {
    pub(super) method: Method,
    pub(super) path: &'static str,
    /// What a key needs; `None` where no key is asked for.
    pub(super) scope: Option<Scope>,
    pub(super) doc: Doc,
    handler: MethodRouter<Api>,
}

/// A route that still lacks its scope and its documentation.
pub(super) struct Undocumented {
    method: Method,
    path: &'static str,
    handler: MethodRouter<Api>,
}

macro_rules! method {
    ($name:ident, $method:ident) => {
        /// Begins a route with this method.
        pub(super) fn $name<H, T>(path: &'static str, handler: H) -> Undocumented
        where
            H: Handler<T, Api>,
            T: 'static,
        {
            Undocumented { method: Method::$method, path, handler: on(MethodFilter::$method, handler) }
        }
    };
}
method!(get, GET);
method!(post, POST);
method!(put, PUT);
method!(delete, DELETE);

impl Undocumented {
    /// For keys with this scope.
    pub(super) fn needs(self, scope: Scope, doc: Doc) -> Route {
        Route { method: self.method, path: self.path, scope: Some(scope), doc, handler: self.handler }
    }

    /// For everybody.
    pub(super) fn open(self, doc: Doc) -> Route {
        Route { method: self.method, path: self.path, scope: None, doc, handler: self.handler }
    }
}

impl Route {
    /// Adds the route, with the check that goes before its handler.
    pub(super) fn add_to(self, router: Router<Api>, api: &Api) -> Router<Api> {
        let gate = Gate { api: api.clone(), scope: self.scope, produces: self.doc.media_types() };
        router.route(self.path, self.handler.route_layer(from_fn_with_state(gate, pass)))
    }
}

/// What a request must have to reach a handler.
#[derive(Clone)]
struct Gate {
    api: Api,
    scope: Option<Scope>,
    produces: Vec<&'static str>,
}

async fn pass(State(gate): State<Gate>, mut request: Request, next: Next) -> Response {
    if let Some(scope) = gate.scope {
        match auth::admit(&gate.api, request.headers(), scope).await {
            Ok(identity) => {
                request.extensions_mut().insert(identity.principal);
                request.extensions_mut().insert(identity.credential);
            }
            Err(problem) => return problem.into_response(),
        }
    }
    if !gate.produces.is_empty()
        && let Err(problem) = headers::accepts(request.headers(), &gate.produces)
    {
        return problem.into_response();
    }
    next.run(request).await
}

/// What the document says about a route.
#[derive(Clone)]
pub(super) struct Doc {
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    pub(super) params: Vec<Param>,
    pub(super) body: Option<Body>,
    pub(super) answers: Vec<Answer>,
    pub(super) problems: Vec<Code>,
}

/// Writes a shape's JSON Schema, and keeps what it refers to.
pub(super) type SchemaOf = fn(&mut Schemas) -> Value;

/// A parameter.
#[derive(Clone, Copy)]
pub(super) struct Param {
    pub(super) place: &'static str,
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) schema: &'static str,
}

/// What a request's body is.
#[derive(Clone)]
pub(super) struct Body {
    pub(super) description: &'static str,
    /// Media type and JSON Schema.
    pub(super) content: Vec<(&'static str, SchemaOf)>,
    pub(super) example: Option<Value>,
    /// Whether there has to be one.
    pub(super) required: bool,
}

/// What is answered when all goes well.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) description: &'static str,
    pub(super) media_type: Option<&'static str>,
    /// Another one, where the caller may choose.
    pub(super) or_as: Option<&'static str>,
    pub(super) schema: Option<SchemaOf>,
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) example: Option<Value>,
}

const JSON: &str = "application/json";

fn one_of<A: ToSchema, B: ToSchema>(schemas: &mut Schemas) -> Value {
    serde_json::json!({"anyOf": [schemas.reference::<A>(), schemas.reference::<B>()]})
}

impl Doc {
    /// Begins the documentation of a route.
    pub(super) fn of(tag: &'static str, summary: &'static str) -> Self {
        Self {
            tag,
            summary,
            description: "",
            params: Vec::new(),
            body: None,
            answers: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// What the summary does not say.
    pub(super) fn more(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    fn param(
        mut self,
        place: &'static str,
        name: &'static str,
        schema: &'static str,
        text: &'static str,
    ) -> Self {
        self.params.push(Param { place, name, description: text, schema });
        self
    }

    /// A part of the path.
    pub(super) fn path(self, name: &'static str, description: &'static str) -> Self {
        self.param("path", name, r#"{"type":"string"}"#, description)
    }

    /// A query parameter; `schema` is its JSON Schema. No text of a query may hold a NUL.
    pub(super) fn query(self, name: &'static str, schema: &'static str, description: &'static str) -> Self {
        let schema = match schema {
            r#"{"type":"string"}"# => r#"{"type":"string","pattern":"^[^\\u0000]*$"}"#,
            told => told,
        };
        self.param("query", name, schema, description)
    }

    /// A header of the request.
    pub(super) fn header(self, name: &'static str, description: &'static str) -> Self {
        self.param("header", name, r#"{"type":"string"}"#, description)
    }

    /// A JSON body of this shape.
    pub(super) fn takes<T: ToSchema>(self, description: &'static str, example: Value) -> Self {
        let mut this = self.takes_raw(description, vec![(JSON, Schemas::request::<T>)]);
        if let Some(body) = &mut this.body {
            body.example = Some(example);
        }
        this
    }

    /// No body is as good as an empty object.
    pub(super) fn or_nothing(mut self) -> Self {
        if let Some(body) = &mut self.body {
            body.required = false;
        }
        self
    }

    /// A body of one of these media types.
    pub(super) fn takes_raw(
        mut self,
        description: &'static str,
        content: Vec<(&'static str, SchemaOf)>,
    ) -> Self {
        self.body = Some(Body { description, content, example: None, required: true });
        self
    }

    /// An answer with JSON of this shape.
    pub(super) fn gives<T: ToSchema>(mut self, status: u16, description: &'static str) -> Self {
        self.answers.push(Answer {
            status,
            description,
            media_type: Some(JSON),
            or_as: None,
            schema: Some(Schemas::reference::<T>),
            headers: Vec::new(),
            example: None,
        });
        self
    }

    /// An answer with JSON of one of two shapes.
    pub(super) fn gives_one_of<A: ToSchema, B: ToSchema>(
        self,
        status: u16,
        description: &'static str,
    ) -> Self {
        let mut this = self.gives::<A>(status, description);
        if let Some(answer) = this.answers.last_mut() {
            answer.schema = Some(one_of::<A, B>);
        }
        this
    }

    /// An answer with something else than JSON, or with nothing.
    pub(super) fn gives_raw(
        mut self,
        status: u16,
        description: &'static str,
        media_type: Option<&'static str>,
    ) -> Self {
        self.answers.push(Answer {
            status,
            description,
            media_type,
            or_as: None,
            schema: None,
            headers: Vec::new(),
            example: None,
        });
        self
    }

    /// The last answer also as another media type, for callers who ask for that.
    pub(super) fn or_as(mut self, media_type: &'static str) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.or_as = Some(media_type);
        }
        self
    }

    /// The shape of the last answer, or of each of its lines.
    pub(super) fn shaped(mut self, schema: SchemaOf) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.schema = Some(schema);
        }
        self
    }

    /// An HTML page.
    pub(super) fn page(self, description: &'static str) -> Self {
        self.gives_raw(200, description, Some("text/html; charset=utf-8"))
    }

    /// An example of the last answer.
    pub(super) fn example(mut self, example: Value) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.example = Some(example);
        }
        self
    }

    /// A header of the last answer.
    pub(super) fn with_header(mut self, name: &'static str, description: &'static str) -> Self {
        if let Some(answer) = self.answers.last_mut() {
            answer.headers.push((name, description));
        }
        self
    }

    /// Problems of this route beside those that every route has.
    pub(super) fn refuses(mut self, codes: &[Code]) -> Self {
        self.problems.extend_from_slice(codes);
        self
    }

    /// What a caller has to accept one of; nothing where any media type may come.
    pub(super) fn media_types(&self) -> Vec<&'static str> {
        let answer = self.answers.iter().find(|answer| answer.media_type.is_some());
        let types = answer.into_iter().flat_map(|answer| [answer.media_type, answer.or_as]).flatten();
        types.filter(|media_type| *media_type != "*/*").collect()
    }
}
