//! The HTTP API: `/v1`, its documentation, and what operators look at.
//!
//! * [`route`] declares a route once: path, scope, documentation, handler. The router, the check of scopes and
//!   the OpenAPI document are made from the same list ([`routes`]), so that they can't differ.
//! * [`outer`] surrounds every request: its id, the written form of problems, panics, the size of the head.
//! * [`auth`] says who asks, and whether the key may.
//! * One file or folder per resource: [`jobs`], [`events`], [`documents`], [`datasets`], [`reviews`], [`tasks`], ...
//! * [`dto`] has the shapes that are sent; [`problem`] everything that is answered when a request can't be done.
//! * [`server`] has connections, their deadlines, and shutdown.

mod answers;
mod api;
mod audit;
pub mod auth;
mod autoscaling;
mod batches;
mod body;
mod csv;
pub mod cursor;
mod datasets;
mod documents;
mod dto;
mod events;
mod fields;
mod headers;
mod health;
mod intake;
mod io;
mod jobs;
mod keys;
mod letters;
mod openapi;
mod outer;
mod page;
mod params;
mod pools;
mod problem;
mod retention;
mod reviews;
mod revisions;
mod route;
mod server;
mod tasks;
mod tenants;
mod usage;
mod workers;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;

use crate::app::App;

pub use auth::{MintedKey, Principal, mint_key};
pub use intake::Intake;
pub use outer::RequestId;
pub use problem::{Code, ErrorItem, Facts, Problem};
pub use server::serve;

use api::Api;
use route::Route;

/// The name of the tenant whose admins look after the whole installation.
pub const DEFAULT_TENANT: &str = "default";

/// Every route there is.
fn routes() -> Vec<Route> {
    [
        jobs::routes(),
        events::routes(),
        letters::routes(),
        batches::routes(),
        documents::routes(),
        datasets::routes(),
        reviews::routes(),
        tasks::routes(),
        usage::routes(),
        pools::routes(),
        workers::routes(),
        autoscaling::routes(),
        retention::routes(),
        revisions::routes(),
        tenants::routes(),
        keys::routes(),
        audit::routes(),
        problem::pages::routes(),
        openapi::routes(),
        health::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The whole API. Jobs that are submitted go through `intake`.
pub fn router(app: App, intake: Arc<dyn Intake>) -> Router {
    serving(routes(), app, intake)
}

/// Health and metrics alone, for a process without the role `api`.
pub fn health_router(app: App, intake: Arc<dyn Intake>) -> Router {
    serving(health::routes(), app, intake)
}

fn serving(routes: Vec<Route>, app: App, intake: Arc<dyn Intake>) -> Router {
    let api = Api::new(app, intake);
    let router = routes.into_iter().fold(Router::new(), |router, route| route.add_to(router, &api));
    outer::surround(router, &api).with_state(api)
}
