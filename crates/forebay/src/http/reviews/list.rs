use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_core::digest::Digest;
use forebay_core::extract::FindingCode;
use forebay_core::failure::FailureClass;
use forebay_core::id::KeyId;
use forebay_core::limits::LIST_PAGE;
use forebay_store::record::{HeldBy, ReviewQuery};
use http::Uri;

use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::cursor::Series;
use crate::http::dto::{ReviewList, ReviewSummary};
use crate::http::jobs::with_next;
use crate::http::params::Params;
use crate::http::problem::Problem;

/// Reviews on a page when the caller does not say.
const DEFAULT_PAGE: usize = 50;

/// `GET /v1/reviews`
pub(super) async fn list(
    State(api): State<Api>,
    principal: Principal,
    uri: Uri,
    mut params: Params,
) -> Result<Response, Problem> {
    let cursor = params.text("cursor")?;
    let mut query = filters(params, principal.key_id)?;
    let series = Series::Reviews(fingerprint(&query));
    query.after = cursor.map_or(Ok(0), |cursor| api.cursors.position(&principal, series, &cursor))?;
    let page = api.app.store.reviews(principal.tenant, query).await?;
    let now = api.app.store.now();
    let next_cursor = page.next.map(|next| api.cursors.write(principal.tenant, series, next));
    let data = page.reviews.into_iter().map(|review| ReviewSummary::open(review, now)).collect();
    let list = ReviewList { data, next_cursor: next_cursor.clone() };
    Ok(with_next(Json(list).into_response(), &uri, next_cursor.as_deref()))
}

fn filters(mut params: Params, key: KeyId) -> Result<ReviewQuery, Problem> {
    let held = |text: &str| match text {
        "me" => Some(HeldBy::Key(key)),
        "none" => Some(HeldBy::Nobody),
        "available" => Some(HeldBy::NobodyOr(key)),
        _ => None,
    };
    let finding = |text: &str| FindingCode::from_name(text).map(|code| code.name().to_owned());
    let query = ReviewQuery {
        task: params.text("task")?,
        class: params.parsed(
            "class",
            "a failure class, such as policy_failed or truncated",
            FailureClass::from_name,
        )?,
        finding: params.parsed("finding", "the code of a finding, such as net_tax_total", finding)?,
        due_before: params.time("due_before")?,
        opened_before: params.time("opened_before")?,
        held: params.parsed("claimed", "one of me, none, available", held)?,
        after: 0,
        limit: params.limit(DEFAULT_PAGE, LIST_PAGE)?,
    };
    params.end()?;
    Ok(query)
}

/// Tells lists with other filters apart, so that a cursor is not used for another list than its own.
fn fingerprint(query: &ReviewQuery) -> u64 {
    let filters = ReviewQuery { after: 0, limit: 0, ..query.clone() };
    Digest::of(format!("{filters:?}").as_bytes()).short()
}
