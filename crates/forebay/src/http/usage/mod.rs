//! What was used.

mod export;

use axum::extract::State;
use axum::response::Response;
use forebay_core::time::{Millis, Timestamp};
use forebay_store::record::{Scope, UsageBy, UsageQuery};
use http::HeaderMap;

use self::export::Format;
use super::api::Api;
use super::auth::Principal;
use super::dto::Usage;
use super::headers;
use super::params::Params;
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get};
use super::tenants::visible;

const DAY: Millis = Millis::from_secs(24 * 3_600);
/// Days in an answer when the caller does not say where to begin.
const DEFAULT_DAYS: i64 = 30;
/// The most days in an answer.
const MOST_DAYS: i64 = 400;
/// Rows that are read at a time.
const PAGE: usize = 500;

/// The routes of usage.
pub(super) fn routes() -> Vec<Route> {
    let day =
        r#"{"type":"string","anyOf":[{"format":"date"},{"format":"date-time"}],"examples":["2026-12-01"]}"#;
    vec![
        get("/v1/usage", usage).needs(
            Scope::Read,
            Doc::of("usage", "Attempts, tokens and money by day, task, model and pool")
                .more(
                    "That of the caller's tenant. An admin of the tenant `default` may name another one, or have \
                     all of them told apart by `group_by=tenant`. What retention has deleted is still in it.",
                )
                .query("from", day, "The first day (UTC), or a time in it; 30 days ago where absent")
                .query("to", day, "The last day, included; today where absent")
                .query(
                    "group_by",
                    r#"{"type":"string","pattern":"^(tenant|day|task|model|pool)(,(tenant|day|task|model|pool))*$","default":"day,task,model,pool"}"#,
                    "What makes a row of its own, with commas; everything else is added up",
                )
                .query("tenant", r#"{"type":"string"}"#, "Only this tenant's")
                .query(
                    "format",
                    r#"{"type":"string","enum":["json","csv"]}"#,
                    "Where absent, what `Accept` asks for, else JSON",
                )
                .gives::<Usage>(200, "What was used; the connection breaks if the store fails midway")
                .or_as("text/csv")
                .refuses(&[Code::InvalidParameter, Code::NotFound]),
        ),
    ]
}

/// `GET /v1/usage`
async fn usage(
    State(api): State<Api>,
    principal: Principal,
    headers: HeaderMap,
    mut params: Params,
) -> Result<Response, Problem> {
    let format = params.parsed("format", "json or csv", Format::from_name)?;
    let format = format.unwrap_or_else(|| Format::preferred(&headers));
    let tenant = params.text("tenant")?;
    let query = query(params, api.app.store.now())?;
    let of = match tenant {
        Some(name) => Some(visible(&api, &principal, &name).await?.id),
        None if principal.is_installation_admin() && query.is_by(UsageBy::Tenant) => None,
        None => Some(principal.tenant),
    };
    export::answer(api.app.store.clone(), UsageQuery { tenant: of, ..query }, format).await
}

/// What the parameters say; whose use it is, is the caller's to set.
fn query(mut params: Params, now: Timestamp) -> Result<UsageQuery, Problem> {
    let expected = "a day like 2026-12-01, or a time as RFC 3339 writes it";
    let to = params.parsed("to", expected, day_or_time)?.unwrap_or(now);
    let default = to.before(Millis::new(DAY.get() * DEFAULT_DAYS));
    let from = params.parsed("from", expected, day_or_time)?.unwrap_or(default);
    let names = UsageBy::ALL.map(UsageBy::name).join(", ");
    let by = params.parsed("group_by", &format!("some of {names}, with commas"), dimensions)?;
    params.end()?;
    if from > to {
        return Err(Problem::parameter("from", "it is after `to`"));
    }
    if to.since(from).get() > DAY.get() * MOST_DAYS {
        return Err(Problem::parameter("from", format!("more than {MOST_DAYS} days before `to`")));
    }
    let mut query = UsageQuery { limit: PAGE, ..UsageQuery::of(0, from, to) };
    query.by = by.unwrap_or(query.by);
    Ok(query)
}

fn dimensions(text: &str) -> Option<Vec<UsageBy>> {
    let named: Vec<_> = text.split(',').map(UsageBy::from_name).collect::<Option<_>>()?;
    Some(UsageBy::ALL.into_iter().filter(|by| named.contains(by)).collect())
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
        let query = query(Params::default(), now).unwrap();
        assert_eq!((query.from, query.to), (day_or_time("2026-12-01").unwrap(), now));
        assert_eq!(query.by, dimensions("pool,model,task,day").unwrap());
    }

    #[test]
    fn dimensions_have_one_order_and_no_others_are_known() {
        assert_eq!(dimensions("task,tenant"), Some(vec![UsageBy::Tenant, UsageBy::Task]));
        assert_eq!(dimensions("task,task"), Some(vec![UsageBy::Task]));
        for wrong in ["", "task,", "project", "task pool", "Task"] {
            assert_eq!(dimensions(wrong), None, "{wrong}");
        }
    }
}
