//! Pools and their use.

use axum::Json;
use axum::extract::State;
use forebay_core::definition;
use forebay_core::time::Timestamp;
use forebay_core::window::Window;
use forebay_store::record::{PoolStatus, Scope};

use super::api::Api;
use super::dto::{Pool, PoolList};
use super::params::NoParams;
use super::problem::Problem;
use super::route::{Doc, Route, get};
use crate::app::secret;

/// The routes of pools.
pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/v1/pools", list).needs(
            Scope::Operate,
            Doc::of("pools", "Capacity: limits and use")
                .gives::<PoolList>(200, "The pools of the active definitions"),
        ),
    ]
}

/// `GET /v1/pools`
async fn list(State(api): State<Api>, _: NoParams) -> Result<Json<PoolList>, Problem> {
    let now = api.app.store.now();
    let statuses = api.app.store.pools().await?;
    let revision = api.app.revisions.active();
    let status = |name: &str| statuses.iter().find(|status| status.name == name);
    let data = revision.definitions.pools.values().map(|pool| shown(pool, status(&pool.name), now)).collect();
    Ok(Json(PoolList { data }))
}

/// A pool; without a status it was never claimed from.
fn shown(pool: &definition::Pool, status: Option<&PoolStatus>, now: Timestamp) -> Pool {
    let used = status.map(|status| status.used.clone()).unwrap_or_default();
    let cooldown_until = status.and_then(|status| status.cooldown_until).filter(|until| *until > now);
    let cooldown_class = status.and_then(|status| status.cooldown_class).map(|class| class.name());
    let secret = pool.provider.credential.as_ref().map(secret);
    Pool {
        name: pool.name.clone(),
        provider: pool.provider.name.clone(),
        limits: pool.limits.into(),
        r#use: Window::new(used, now).used().into(),
        cooldown_class: cooldown_class.filter(|_| cooldown_until.is_some()),
        cooldown_until,
        waiting: status.map_or(0, |status| status.waiting),
        credential_found: secret.as_ref().map(Result::is_ok),
        credential_problem: secret.and_then(Result::err),
    }
}
