//! How long things are kept, and what was deleted.

use axum::Json;
use axum::extract::State;
use forebay_store::record::Scope;

use super::api::Api;
use super::dto::Retention;
use super::params::NoParams;
use super::problem::Problem;
use super::route::{Doc, Route, get};

/// The routes of retention.
pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/v1/retention", show).needs(
            Scope::Operate,
            Doc::of("retention", "How long what has ended is kept, and what was deleted")
                .more("The rules are a part of the definitions, and change with them: `[retention]`.")
                .gives::<Retention>(200, "The rules in force, and totals since the store was made"),
        ),
    ]
}

/// `GET /v1/retention`
async fn show(State(api): State<Api>, _: NoParams) -> Result<Json<Retention>, Problem> {
    let retained = api.app.store.retained().await?;
    let active = api.app.revisions.active();
    let keys = api.app.settings.idempotency_ttl;
    Ok(Json(Retention::new(active.number, active.definitions.retention, keys, &retained)))
}
