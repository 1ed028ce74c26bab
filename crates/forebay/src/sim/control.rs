//! `/_sim`: the scenario, the request log and the use of the limits; and `/health`.

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get};
use axum::{Json, Router};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ApiError;
use super::ledger::Row;
use super::scenario::Scenario;
use super::{LimitsReport, Sim};

/// Rows that are copied out of the log at once.
const PAGE: usize = 1_000;
/// Bytes of a scenario.
const SCENARIO_BYTES: usize = 16 * 1024 * 1024;

pub(super) fn router() -> Router<Arc<Sim>> {
    Router::new()
        .route("/_sim/scenario", get(scenario).post(replace_scenario))
        .route("/_sim/requests", get(requests).delete(clear_requests))
        .route("/_sim/limits", get(limits).merge(delete(clear_limits)))
        .layer(DefaultBodyLimit::max(SCENARIO_BYTES))
}

pub(super) async fn health() -> Json<Value> {
    Json(json!({ "status": "ok", "simulated": true }))
}

async fn scenario(State(sim): State<Arc<Sim>>) -> Json<Scenario> {
    Json(sim.active.load().scenario.clone())
}

async fn replace_scenario(State(sim): State<Arc<Sim>>, body: Bytes) -> Response {
    match Scenario::from_json(&body) {
        Ok(scenario) => {
            sim.set_scenario(scenario.clone());
            Json(scenario).into_response()
        }
        Err(error) => ApiError::bad_request(&error.to_string(), None, "invalid_scenario").into_response(),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    #[serde(default)]
    after: u64,
}

async fn requests(State(sim): State<Arc<Sim>>, Query(page): Query<Page>) -> Response {
    let dropped = sim.ledger().dropped();
    let head =
        [(CONTENT_TYPE.as_str(), "application/jsonl".to_owned()), ("x-rows-dropped", dropped.to_string())];
    (head, Body::from_stream(lines(sim, page.after))).into_response()
}

/// The rows after one, a page at a time, so that the log is never locked for long. Ends at the row that is the
/// last at the start: a log that grows while it is read would have no end.
fn lines(sim: Arc<Sim>, after: u64) -> impl futures_util::Stream<Item = Result<Bytes, Infallible>> {
    let last = sim.ledger().rows().back().map_or(0, |row| row.seq);
    async_stream::stream! {
        let mut after = after;
        while after < last {
            let page = sim.ledger().page(after, PAGE);
            let Some(end) = page.last() else { break };
            after = end.seq;
            yield Ok(Bytes::from(page.iter().filter(|row| row.seq <= last).flat_map(line).collect::<Vec<u8>>()));
        }
    }
}

fn line(row: &Row) -> Vec<u8> {
    let mut line = serde_json::to_vec(row).unwrap_or_default();
    line.push(b'\n');
    line
}

async fn clear_requests(State(sim): State<Arc<Sim>>) -> StatusCode {
    sim.ledger().clear_rows();
    StatusCode::NO_CONTENT
}

async fn limits(State(sim): State<Arc<Sim>>) -> Result<Json<LimitsReport>, ApiError> {
    // Up to a million rows are counted.
    let counted = tokio::task::spawn_blocking(move || sim.report()).await;
    counted.map(Json).map_err(|error| {
        let message = format!("the limits could not be counted: {error}");
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, &message, "server_error", None)
    })
}

async fn clear_limits(State(sim): State<Arc<Sim>>) -> StatusCode {
    sim.ledger().clear_accounts();
    StatusCode::NO_CONTENT
}
