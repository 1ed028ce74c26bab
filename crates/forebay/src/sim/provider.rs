//! The way of every call: read it, put it against its account's limits, choose its rule, answer it.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Extension, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use forebay_core::digest::Digest;
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::ask::{Ask, Endpoint};
use super::call::Call;
use super::error::{ApiError, go_duration};
use super::ledger::{Arrival, Entry};
use super::limiter::{Room, Standing};
use super::rules::{Active, Applied, Traits};
use super::scenario::Fault;
use super::script::{Exchange, Pace};
use super::server::Switch;
use super::{Sim, chat, control, embeddings, models, responses};

/// Bytes of a request's body.
const BODY_BYTES: usize = 64 * 1024 * 1024;

/// All paths of the simulator.
pub(super) fn router(sim: Arc<Sim>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(call))
        .route("/v1/embeddings", post(call))
        .route("/v1/responses", post(call))
        .route("/v1/models", get(models::list))
        .route("/v1/models/{*id}", get(models::one))
        .route("/health", get(control::health))
        .merge(control::router())
        .fallback(call)
        .with_state(sim)
}

/// What the headers of a request say about the caller.
struct Identity {
    path: Box<str>,
    key_sha8: Option<Arc<str>>,
    idempotency_key: Option<Box<str>>,
    attempt: Option<Box<str>>,
}

impl Identity {
    fn of(parts: &Parts) -> Self {
        let header =
            |name: &str| parts.headers.get(name).map(|it| String::from_utf8_lossy(it.as_bytes()).into());
        Self {
            path: parts.uri.path().into(),
            key_sha8: parts.headers.get(AUTHORIZATION).map(key_sha8),
            idempotency_key: header("idempotency-key"),
            attempt: header("x-forebay-attempt"),
        }
    }

    fn traits<'a>(&'a self, ask: &'a Ask) -> Traits<'a> {
        Traits {
            path: &self.path,
            model: Some(&ask.model),
            key_sha8: self.key_sha8.as_deref(),
            attempt: self.attempt.as_deref(),
            idempotency_key: self.idempotency_key.as_deref(),
            stream: ask.stream,
            texts: &ask.texts,
        }
    }
}

/// The first eight hex digits of the SHA-256 of an API key: enough to tell keys apart, too little to use one.
fn key_sha8(authorization: &HeaderValue) -> Arc<str> {
    let value = authorization.as_bytes();
    let key = match value.split_at_checked(7) {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case(b"bearer ") => key.trim_ascii(),
        _ => value,
    };
    Digest::of(key).to_string()[..8].into()
}

async fn call(
    State(sim): State<Arc<Sim>>,
    Extension(switch): Extension<Switch>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let active = sim.active.load_full();
    let ask = read(&parts, body).await.and_then(|(endpoint, body)| {
        let ask = Ask::read(endpoint, &body)?;
        models::check(&active, &ask.model)?;
        Ok((endpoint, ask))
    });
    let identity = Identity::of(&parts);
    let (call, entry) = arrive(&sim, &active, &identity, ask.as_ref().ok().map(|(_, ask)| ask));
    let started = sim.clock.now();
    let mut response = match (ask, &entry.verdict) {
        (Err(error), _) => refuse(call, error),
        (Ok(_), Err(refusal)) => refuse(call, ApiError::limited(refusal)),
        (Ok((endpoint, ask)), Ok(())) => answer(&active, &identity, endpoint, ask, call, switch).await,
    };
    let took = sim.clock.now().saturating_sub(started);
    set_headers(response.headers_mut(), &entry, took);
    response
}

/// The endpoint and the body, unless the path or the size is wrong.
async fn read(parts: &Parts, body: Body) -> Result<(Endpoint, Bytes), ApiError> {
    let endpoint = match parts.uri.path() {
        "/v1/chat/completions" => Endpoint::Chat,
        "/v1/embeddings" => Endpoint::Embeddings,
        "/v1/responses" => Endpoint::Responses,
        path => {
            let message = format!("the simulator has no {} {path}", parts.method);
            return Err(ApiError::not_found(&message, "unknown_url"));
        }
    };
    let body = to_bytes(body, BODY_BYTES).await.map_err(|_| {
        let message = format!("the body has more than {BODY_BYTES} bytes, or did not arrive whole");
        ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            &message,
            "invalid_request_error",
            Some("request_too_large"),
        )
    })?;
    Ok((endpoint, body))
}

fn arrive(sim: &Arc<Sim>, active: &Active, identity: &Identity, ask: Option<&Ask>) -> (Call, Entry) {
    let limits = &active.scenario.limits;
    let demand = ask.map(|ask| ask.demand(limits.default_max_tokens));
    let input_tokens = ask.map_or(0, |ask| ask.input_tokens);
    let arrival = Arrival {
        path: identity.path.clone(),
        key_sha8: identity.key_sha8.clone(),
        model: ask.map(|ask| ask.model.as_str().into()),
        idempotency_key: identity.idempotency_key.clone(),
        forebay_attempt: identity.attempt.clone(),
        stream: ask.is_some_and(|ask| ask.stream),
        input_tokens,
        demand,
    };
    let entry = sim.arrive(arrival, limits, active.minute);
    let holds_place = demand.is_some() && entry.verdict.is_ok();
    let key = identity.key_sha8.clone();
    let call = Call::new(Arc::clone(sim), entry.seq, key, limits.count, input_tokens, holds_place);
    (call, entry)
}

/// Answers with an error in one piece.
fn refuse(mut call: Call, error: ApiError) -> Response {
    call.asks_to_wait(&error.headers);
    call.complete(error.status.as_u16(), 0);
    error.into_response()
}

async fn answer(
    active: &Active,
    identity: &Identity,
    endpoint: Endpoint,
    ask: Ask,
    call: Call,
    switch: Switch,
) -> Response {
    // Spreads the seed over the calls, so that neighbours have nothing in common.
    let seed = active.scenario.seed ^ call.seq().wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut rng = StdRng::seed_from_u64(seed);
    let applied = active.choose(&identity.traits(&ask), &mut rng);
    if let Some(applied) = &applied {
        call.applies(applied);
    }
    let pace = pace(active, applied.as_ref(), &mut rng);
    let exchange = Exchange { call, pace, switch };
    let fault = applied.as_ref().and_then(|applied| applied.rule.fault.clone());
    match before_answer(exchange, applied.as_ref(), fault.as_ref(), active.scenario.time_scale).await {
        Err(response) => response,
        Ok(exchange) => {
            let task = Task { active, applied: applied.as_ref(), fault: fault.as_ref(), ask, rng };
            match endpoint {
                Endpoint::Chat => chat::answer(task, exchange).await,
                Endpoint::Embeddings => embeddings::answer(task, exchange).await,
                Endpoint::Responses => responses::answer(task, exchange).await,
            }
        }
    }
}

/// What an endpoint composes its answer from.
pub(super) struct Task<'a> {
    pub(super) active: &'a Active,
    pub(super) applied: Option<&'a Applied>,
    pub(super) fault: Option<&'a Fault>,
    pub(super) ask: Ask,
    pub(super) rng: StdRng,
}

fn pace(active: &Active, applied: Option<&Applied>, rng: &mut StdRng) -> Pace {
    let (rule, defaults) = (applied.map(|applied| &applied.rule), &active.scenario.defaults);
    let first = rule.and_then(|rule| rule.first_token_ms).unwrap_or(defaults.first_token_ms);
    let each = rule.and_then(|rule| rule.per_token_ms).unwrap_or(defaults.per_token_ms);
    Pace::new(first, each, active.scenario.time_scale, StdRng::from_rng(rng))
}

/// The faults that leave no answer to compose. They come at once, unless their rule sets `first_token_ms`.
async fn before_answer(
    mut exchange: Exchange,
    applied: Option<&Applied>,
    fault: Option<&Fault>,
    time_scale: f64,
) -> Result<Exchange, Response> {
    let waits = applied.is_some_and(|applied| applied.rule.first_token_ms.is_some());
    match fault {
        Some(Fault::Status(fault)) => {
            if waits {
                exchange.pace.first_token().await;
            }
            let error = ApiError::of_fault(fault, time_scale);
            exchange.call.asks_to_wait(&error.headers);
            Err(exchange.whole(error.status, error.head(), error.body, 0))
        }
        Some(Fault::Redirect { status, location }) => {
            if waits {
                exchange.pace.first_token().await;
            }
            let status = StatusCode::from_u16(*status).unwrap_or(StatusCode::TEMPORARY_REDIRECT);
            let mut headers = HeaderMap::new();
            if let Ok(location) = HeaderValue::try_from(location) {
                headers.insert(LOCATION, location);
            }
            Err(exchange.whole(status, headers, Vec::new(), 0))
        }
        Some(Fault::CloseBeforeResponse { reset }) => {
            if waits {
                exchange.pace.first_token().await;
            }
            match exchange.cut(*reset).await {}
        }
        Some(Fault::Hang { for_ms }) => match exchange.stall(*for_ms).await {},
        _ => Ok(exchange),
    }
}

/// The headers that OpenAI's answers have; one that a rule wrote stays.
fn set_headers(headers: &mut HeaderMap, entry: &Entry, took: u64) {
    let mut set = |name: &'static str, value: String| {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.entry(name).or_insert(value);
        }
    };
    set("x-request-id", format!("req_sim_{}", entry.seq));
    set("openai-version", "2020-10-01".to_owned());
    set("openai-processing-ms", (took / 1_000).to_string());
    let Standing { requests, tokens } = entry.standing;
    if let Some(Room { limit, remaining, reset }) = requests {
        set("x-ratelimit-limit-requests", limit.to_string());
        set("x-ratelimit-remaining-requests", remaining.to_string());
        set("x-ratelimit-reset-requests", go_duration(reset));
    }
    if let Some(Room { limit, remaining, reset }) = tokens {
        set("x-ratelimit-limit-tokens", limit.to_string());
        set("x-ratelimit-remaining-tokens", remaining.to_string());
        set("x-ratelimit-reset-tokens", go_duration(reset));
    }
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
}
