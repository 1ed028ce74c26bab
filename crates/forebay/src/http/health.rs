//! What operators and their machines look at.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_core::time::Millis;
use forebay_store::StoreError;
use http::header::CONTENT_TYPE;

use super::api::Api;
use super::dto::Ready;
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get};
use crate::metrics::{self, Scrape};

/// How long the database may take to show that it is there: whoever asks does not wait for ever.
const PATIENCE: Duration = Duration::from_secs(2);
/// When to ask again whether the server is ready.
const READY_RETRY: Millis = Millis::from_secs(2);

/// The routes of health and metrics.
pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/livez", live).open(Doc::of("meta", "Whether the process runs").gives::<Ready>(200, "It does")),
        get("/readyz", ready).open(
            Doc::of("meta", "Whether the server takes requests")
                .more(
                    "503 while the database fails, takes no writes or does not answer within two seconds, with the reason as the \
                     problem's detail, and from the moment when the server is told to stop.",
                )
                .gives::<Ready>(200, "It does"),
        ),
        get("/metrics", scrape).open(Doc::of("meta", "Counters and gauges for Prometheus").gives_raw(
            200,
            "OpenMetrics text",
            Some("*/*"),
        )),
    ]
}

async fn live() -> Json<Ready> {
    Json(Ready { status: "ok" })
}

async fn ready(State(api): State<Api>) -> Result<Json<Ready>, Problem> {
    if api.app.tasks.stopping().is_cancelled() {
        return Err(Problem::new(Code::Overloaded, "the server is stopping").retry_after(READY_RETRY));
    }
    let reason = match tokio::time::timeout(PATIENCE, api.app.store.active_revision()).await {
        Ok(Ok(_)) if api.app.process.is_heard() => return Ok(Json(Ready { status: "ok" })),
        Ok(Ok(_)) => "the database takes no writes",
        Ok(Err(failure)) => {
            tracing::warn!(error = %failure, "not ready: the store fails");
            match failure {
                StoreError::Unavailable(_) => "the database can't be reached",
                _ => "the database fails",
            }
        }
        Err(_) => {
            tracing::warn!("not ready: the store does not answer");
            "the database does not answer"
        }
    };
    Err(Problem::new(Code::Overloaded, reason).retry_after(READY_RETRY))
}

async fn scrape(State(api): State<Api>) -> Result<Response, Problem> {
    let scrape = Scrape {
        now: api.app.store.now(),
        counts: api.app.store.counts(None).await?,
        pools: api.app.store.pools().await?,
        shares: api.app.store.shares().await?,
        limits: api.app.revisions.active(),
        dead_letters: api.app.store.open_letters().await?,
        open_streams: api.streams.open(),
        overdue_reviews: api.app.store.count_overdue_reviews().await?,
        retained: api.app.store.retained().await?,
    };
    let text = api.app.metrics.render(&scrape);
    Ok(([(CONTENT_TYPE, metrics::MEDIA_TYPE)], text).into_response())
}
