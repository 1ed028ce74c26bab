//! Tenants: what they may do, and what they do.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_core::fairness::Weight;
use forebay_core::money::Micros;
use forebay_core::request::submission::is_name;
use forebay_core::request::whole_number;
use forebay_store::record::{BudgetPeriod, Scope, TenantRecord, TenantSettings};
use http::StatusCode;
use serde_json::{Value, json};

use super::api::Api;
use super::auth::Principal;
use super::body::Payload;
use super::dto::{Tenant, TenantBody, TenantList};
use super::fields::Fields;
use super::params::{NoParams, PathId};
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get, put};

/// The routes of tenants.
pub(super) fn routes() -> Vec<Route> {
    let tenant = |summary| Doc::of("tenants", summary).path("tenant", "The name of a tenant");
    vec![
        get("/v1/tenants", list).needs(
            Scope::Admin,
            Doc::of("tenants", "Tenants and what they use")
                .more("An admin of the tenant `default` sees all of them, another admin its own.")
                .gives::<TenantList>(200, "The tenants, by name"),
        ),
        get("/v1/tenants/{tenant}", one).needs(
            Scope::Admin,
            tenant("A tenant and what it uses").gives::<Tenant>(200, "The tenant").refuses(&[Code::NotFound]),
        ),
        put("/v1/tenants/{tenant}", replace).needs(
            Scope::Admin,
            tenant("Make a tenant, or replace its settings")
                .more(
                    "For admins of the tenant `default`. What the body leaves out is unlimited, and a weight that it leaves \
                     out is 1. A change counts at once, also for jobs that wait.",
                )
                .takes::<TenantBody>(
                    "What the tenant may do",
                    json!({"max_pending_jobs": 10_000, "weight": 2, "budget": {"limit_micros": 50_000_000, "period": "month"}}),
                )
                .gives::<Tenant>(200, "The tenant with its new settings")
                .gives::<Tenant>(201, "The new tenant")
                .refuses(&[Code::InvalidJson, Code::InvalidMember, Code::UnknownMember, Code::InvalidParameter]),
        ),
    ]
}

/// `GET /v1/tenants`
async fn list(
    State(api): State<Api>,
    principal: Principal,
    _: NoParams,
) -> Result<Json<TenantList>, Problem> {
    let seen = |tenant: &TenantRecord| principal.is_installation_admin() || tenant.id == principal.tenant;
    let tenants = api.app.store.tenants().await?.into_iter().filter(seen);
    Ok(Json(TenantList { data: tenants.map(Tenant::from).collect() }))
}

/// `GET /v1/tenants/{tenant}`
async fn one(
    State(api): State<Api>,
    principal: Principal,
    PathId(name): PathId<String>,
    _: NoParams,
) -> Result<Json<Tenant>, Problem> {
    Ok(Json(visible(&api, &principal, &name).await?.into()))
}

/// The tenant of that name, where the caller may know of it.
pub(super) async fn visible(api: &Api, principal: &Principal, name: &str) -> Result<TenantRecord, Problem> {
    if !principal.is_installation_admin() && name != principal.tenant_name {
        return Err(Problem::not_found());
    }
    api.app.store.tenant(name).await?.ok_or_else(Problem::not_found)
}

/// `PUT /v1/tenants/{tenant}`
async fn replace(
    State(api): State<Api>,
    principal: Principal,
    PathId(name): PathId<String>,
    _: NoParams,
    payload: Payload,
) -> Result<Response, Problem> {
    principal.must_be_installation_admin()?;
    if !is_name(&name) {
        let expected = "expected up to 64 lower-case letters, digits, `.`, `_` and `-`";
        return Err(Problem::parameter("tenant", expected));
    }
    let settings = settings(payload.json()?)?;
    let is_new = api.app.store.tenant(&name).await?.is_none();
    let tenant = api.app.store.put_tenant(name, settings, principal.actor()).await?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(Tenant::from(tenant))).into_response())
}

fn settings(body: Value) -> Result<TenantSettings, Problem> {
    let mut fields = Fields::of(body);
    let max_pending_jobs = fields.whole("max_pending_jobs");
    let max_in_flight = fields.whole("max_in_flight");
    let weight = fields.optional("weight", &format!("a whole number from 1 to {}", Weight::MOST), |value| {
        Weight::new(u64::try_from(whole_number(value)?).ok()?)
    });
    let budget = fields.object("budget", |budget| {
        let amount = |value: &Value| whole_number(value).filter(|micros| *micros >= 0).map(Micros);
        let limit = budget.required("limit_micros", "an amount of 0 or more, in millionths", amount);
        let periods = BudgetPeriod::ALL.map(BudgetPeriod::name).join(", ");
        let period = |value: &Value| BudgetPeriod::from_name(value.as_str()?);
        (limit, budget.optional("period", &format!("one of {periods}"), period).unwrap_or_default())
    });
    fields.end()?;
    let (budget, budget_period) = budget.unwrap_or_default();
    let weight = weight.unwrap_or_default();
    Ok(TenantSettings { max_pending_jobs, max_in_flight, budget, budget_period, weight })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_strictly() {
        let read = settings(
            json!({"max_in_flight": 5, "weight": 9, "budget": {"limit_micros": 7, "period": "day"}}),
        )
        .unwrap();
        assert_eq!(
            read,
            TenantSettings {
                max_pending_jobs: None,
                max_in_flight: Some(5),
                budget: Some(Micros(7)),
                budget_period: BudgetPeriod::Day,
                weight: Weight::new(9).unwrap(),
            }
        );
        assert_eq!(settings(json!({})).unwrap(), TenantSettings::default());
        let refused = [
            (json!({"max_inflight": 5}), "unknown_member"),
            (json!({"budget": {"period": "day"}}), "missing_member"),
            (json!({"budget": {"limit_micros": -1}}), "invalid_member"),
            (json!({"budget": {"limit_micros": 1, "period": "year"}}), "invalid_member"),
            (json!({"budget": 5}), "invalid_member"),
            (json!({"weight": 0}), "invalid_member"),
            (json!({"weight": 1_001}), "invalid_member"),
        ];
        for (body, code) in refused {
            assert_eq!(settings(body.clone()).unwrap_err().code().name(), code, "{body}");
        }
    }
}
