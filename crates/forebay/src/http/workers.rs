//! The processes of an installation.

use axum::Json;
use axum::extract::State;
use forebay_store::record::Scope;

use super::api::Api;
use super::dto::{Worker, WorkerList};
use super::params::NoParams;
use super::problem::Problem;
use super::route::{Doc, Route, get};
use crate::presence::is_silent;

/// The routes of processes.
pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/v1/workers", list).needs(
            Scope::Operate,
            Doc::of("workers", "The processes of this installation")
                .more(
                    "Each says every five seconds that it is there. One that was not heard of for fifteen is `silent`, and is \
                     forgotten after an hour; one that ends in good order is gone at once.",
                )
                .gives::<WorkerList>(200, "The processes, oldest first"),
        ),
    ]
}

/// `GET /v1/workers`
async fn list(State(api): State<Api>, _: NoParams) -> Result<Json<WorkerList>, Problem> {
    let now = api.app.store.now();
    let processes = api.app.store.processes().await?.into_iter();
    let data = processes.map(|process| {
        let silent = is_silent(process.heard_at, now);
        Worker::new(process, silent)
    });
    Ok(Json(WorkerList { data: data.collect() }))
}
