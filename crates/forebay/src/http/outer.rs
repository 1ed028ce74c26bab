//! What surrounds every request: its id, the written form of problems, panics, the size of the head, and one
//! line in the log.

use std::any::Any;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRequestParts, MatchedPath, Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use forebay_core::limits::REQUEST_HEAD_BYTES;
use forebay_core::time::Millis;
use http::header::{CONTENT_LENGTH, HOST, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, StatusCode};
use tokio::time::Instant;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::decompression::RequestDecompressionLayer;
use tracing::{debug, error};

use super::api::Api;
use super::body::count_received;
use super::problem::{Code, Problem};
use crate::runtime::random_bytes;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Characters of a request id that is taken over from the caller.
const REQUEST_ID_CHARS: usize = 128;

/// Adds what every request goes through, outermost first. As one layer: each that is added apart is boxed and cloned
/// for every request.
pub(super) fn surround(router: Router<Api>, api: &Api) -> Router<Api> {
    router.fallback(unknown_path).method_not_allowed_fallback(wrong_method).layer((
        from_fn_with_state(api.clone(), finish),
        CatchPanicLayer::custom(panicked),
        from_fn(count_received),
        RequestDecompressionLayer::new().gzip(true).pass_through_unaccepted(true),
        DefaultBodyLimit::disable(),
    ))
}

/// Names the request in the log and in its problems.
#[derive(Debug, Clone)]
pub struct RequestId(pub String);

impl<S: Send + Sync> FromRequestParts<S> for RequestId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<RequestId>().cloned().ok_or_else(Problem::internal)
    }
}

async fn unknown_path() -> Problem {
    Problem::new(Code::NotFound, "this server has no such address")
}

async fn wrong_method(method: Method) -> Problem {
    Problem::new(Code::MethodNotAllowed, format!("this address does not take {method}"))
}

fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    // What was thrown may hold anything, so only the fact is logged; the panic hook says where.
    error!("a handler panicked");
    Problem::internal().into_response()
}

/// Gives the request its id, writes problems out, and counts.
async fn finish(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(&request);
    request.extensions_mut().insert(RequestId(id.clone()));
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = if head_bytes(&request) > REQUEST_HEAD_BYTES {
        head_too_large().into_response()
    } else if request.headers().get_all(HOST).iter().nth(1).is_some() {
        // Who stands between may have read the other one (RFC 9112, section 3.2).
        Problem::new(Code::InvalidParameter, "the request has more than one header `Host`").into_response()
    } else {
        next.run(request).await
    };
    let response = written(response, &id);
    let status = response.status().as_u16();
    let millis = Millis::new(i64::try_from(started.elapsed().as_millis()).unwrap_or(i64::MAX));
    let route = route.as_ref().map_or("unknown", MatchedPath::as_str);
    debug!(request_id = %id, %method, route, status, millis = millis.get(), "request");
    api.app.metrics.request(&method, route, status, millis);
    response
}

/// The caller's id for the request where it is safe to repeat, else a new one.
fn request_id(request: &Request) -> String {
    let given = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok());
    match given {
        Some(id) if is_safe_id(id) => id.to_owned(),
        _ => new_request_id(),
    }
}

/// An id for a request that came without one.
pub(super) fn new_request_id() -> String {
    format!("req_{:032x}", u128::from_be_bytes(random_bytes()))
}

fn is_safe_id(id: &str) -> bool {
    let safe =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':' | b'/' | b'=');
    !id.is_empty() && id.len() <= REQUEST_ID_CHARS && id.bytes().all(safe)
}

/// Bytes of the head as it was on the wire, to within its white space.
fn head_bytes(request: &Request) -> usize {
    let uri = request.uri();
    let origin = uri.authority().map_or(0, |authority| authority.as_str().len() + "http://".len());
    let target = origin + uri.path_and_query().map_or(0, |target| target.as_str().len());
    let line = request.method().as_str().len() + target + "  HTTP/1.1\r\n".len();
    let fields =
        request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    line + fields.sum::<usize>() + "\r\n".len()
}

fn head_too_large() -> Problem {
    Problem::new(Code::TooLarge, format!("the request's head has more than {REQUEST_HEAD_BYTES} bytes"))
        .with_status(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
}

/// The response with its id, and with its problem written out where it has one.
fn written(mut response: Response, id: &str) -> Response {
    let problem = response.extensions_mut().remove::<Problem>().or_else(|| unwritten(response.status()));
    if let Some(problem) = problem {
        // Every member is text or a number, so that writing it to memory can't fail.
        let body = serde_json::to_vec(&problem.body(id)).unwrap_or_default();
        let headers = response.headers_mut();
        headers.remove(CONTENT_LENGTH);
        headers.extend(problem.into_response().headers().clone());
        *response.body_mut() = Body::from(body);
    }
    if let Ok(value) = HeaderValue::from_str(id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// What the framework refuses by itself has no problem yet.
fn unwritten(status: StatusCode) -> Option<Problem> {
    let code = match status {
        status if !status.is_client_error() && !status.is_server_error() => return None,
        StatusCode::NOT_FOUND => Code::NotFound,
        StatusCode::METHOD_NOT_ALLOWED => Code::MethodNotAllowed,
        StatusCode::PAYLOAD_TOO_LARGE => Code::TooLarge,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Code::UnsupportedMediaType,
        status if status.is_client_error() => Code::InvalidParameter,
        _ => Code::Internal,
    };
    Some(Problem::new(code, code.facts().title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_ids_are_repeated() {
        assert!(is_safe_id("01J-abc_DEF.9:/="));
        assert!(is_safe_id(&"x".repeat(REQUEST_ID_CHARS)));
        for unsafe_id in ["", "a b", "a\"b", "<b>", "ä", &"x".repeat(REQUEST_ID_CHARS + 1)] {
            assert!(!is_safe_id(unsafe_id), "{unsafe_id}");
        }
    }

    #[test]
    fn what_the_framework_refuses_becomes_a_problem_with_the_same_status() {
        let response = written(StatusCode::UNSUPPORTED_MEDIA_TYPE.into_response(), "req_1");
        assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        assert_eq!(response.headers()["x-request-id"], "req_1");
    }

    #[test]
    fn the_head_is_measured_as_it_is_on_the_wire() {
        let request = Request::builder().uri("/x").header("a", "b").body(Body::empty()).unwrap();
        assert_eq!(head_bytes(&request), "GET /x HTTP/1.1\r\na: b\r\n\r\n".len());
    }
}
