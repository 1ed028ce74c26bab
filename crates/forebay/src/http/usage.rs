//! What a tenant used.

use axum::Json;
use axum::extract::State;
use forebay_core::time::{Millis, Timestamp};
use forebay_store::record::{Scope, UsageQuery};

use super::api::Api;
use super::auth::Principal;
use super::dto::Usage;
use super::params::Params;
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get};

const DAY: Millis = Millis::from_secs(24 * 3_600);
/// Days in an answer when the caller does not say where to begin.
const DEFAULT_DAYS: i64 = 30;
/// The most days in an answer.
const MOST_DAYS: i64 = 400;

/// The routes of usage.
pub(super) fn routes() -> Vec<Route> {
    let day =
        r#"{"type":"string","anyOf":[{"format":"date"},{"format":"date-time"}],"examples":["2026-12-01"]}"#;
    vec![
        get("/v1/usage", usage).needs(
            Scope::Read,
            Doc::of("usage", "Tokens and money by day, task, model and pool")
                .query("from", day, "The first day (UTC), or a time in it; 30 days ago where absent")
                .query("to", day, "The last day, included; today where absent")
                .gives::<Usage>(200, "The use of the caller's tenant")
                .refuses(&[Code::InvalidParameter]),
        ),
    ]
}

/// `GET /v1/usage`
async fn usage(State(api): State<Api>, principal: Principal, params: Params) -> Result<Json<Usage>, Problem> {
    let query = span(params, api.app.store.now())?;
    let rows = api.app.store.usage(principal.tenant, query).await?;
    Ok(Json(Usage::new(query.from, query.to, rows)))
}

fn span(mut params: Params, now: Timestamp) -> Result<UsageQuery, Problem> {
    let expected = "a day like 2026-12-01, or a time as RFC 3339 writes it";
    let to = params.parsed("to", expected, day_or_time)?.unwrap_or(now);
    let default = to.before(Millis::new(DAY.get() * DEFAULT_DAYS));
    let from = params.parsed("from", expected, day_or_time)?.unwrap_or(default);
    params.end()?;
    if from > to {
        return Err(Problem::parameter("from", "it is after `to`"));
    }
    if to.since(from).get() > DAY.get() * MOST_DAYS {
        return Err(Problem::parameter("from", format!("more than {MOST_DAYS} days before `to`")));
    }
    Ok(UsageQuery { from, to })
}

fn day_or_time(text: &str) -> Option<Timestamp> {
    text.parse().or_else(|_| format!("{text}T00:00:00Z").parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_are_read() {
        let day = day_or_time("2026-12-01").unwrap();
        assert_eq!(day.to_string(), "2026-12-01T00:00:00.000Z");
        assert_eq!(day_or_time("2026-12-01T10:00:00+01:00").unwrap().to_string(), "2026-12-01T09:00:00.000Z");
        assert_eq!(day_or_time("yesterday"), None);
    }

    #[test]
    fn without_parameters_the_last_days_are_meant() {
        let now = day_or_time("2026-12-31").unwrap();
        let query = span(Params::default(), now).unwrap();
        assert_eq!((query.from, query.to), (day_or_time("2026-12-01").unwrap(), now));
    }
}
