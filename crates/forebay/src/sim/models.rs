//! `GET /v1/models`: the models of the scenario.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Sim;
use super::error::ApiError;
use super::rules::Active;

/// What the list shows when every name is answered.
const ANY: &str = "forebay-sim";

pub(super) async fn list(State(sim): State<Arc<Sim>>) -> Json<Value> {
    let active = sim.active.load_full();
    let names = &active.scenario.models;
    let data: Vec<Value> =
        if names.is_empty() { vec![model(ANY)] } else { names.iter().map(|name| model(name)).collect() };
    Json(json!({ "object": "list", "data": data }))
}

pub(super) async fn one(State(sim): State<Arc<Sim>>, Path(id): Path<String>) -> Response {
    match check(&sim.active.load_full(), &id) {
        Ok(()) => Json(model(&id)).into_response(),
        Err(error) => error.into_response(),
    }
}

/// Refuses a model that the scenario does not have.
pub(super) fn check(active: &Active, model: &str) -> Result<(), ApiError> {
    let models = &active.scenario.models;
    if models.is_empty() || models.iter().any(|known| known == model) {
        return Ok(());
    }
    Err(ApiError::not_found(
        &format!("The model `{model}` does not exist in the scenario"),
        "model_not_found",
    ))
}

fn model(id: &str) -> Value {
    json!({ "id": id, "object": "model", "created": 0, "owned_by": "forebay-sim" })
}
