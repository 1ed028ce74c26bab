//! Many dead letters are dealt with in one call.

use axum::Json;
use axum::extract::State;
use forebay_core::digest::Digest;
use forebay_core::id::JobId;
use forebay_core::limits::LETTERS;
use forebay_core::request::whole_number;
use forebay_store::record::{LetterChange, LetterChanged, LetterFilter, LetterQuery, LetterState, Scope};
use serde_json::{Value, json};

use super::{change_of, filter_of, too_many_notes};
use crate::http::api::Api;
use crate::http::auth::Principal;
use crate::http::body::Payload;
use crate::http::cursor::Series;
use crate::http::dto::{LetterResult, LettersBody, LettersChanged};
use crate::http::fields::Fields;
use crate::http::outer::RequestId;
use crate::http::params::NoParams;
use crate::http::problem::{Code, Problem};
use crate::http::route::{Doc, Route, post};

/// Letters that are changed in one transaction: other writes wait for that many at most.
const CHANGED_AT_ONCE: usize = 100;

/// The route.
pub(super) fn route() -> Route {
    post("/v1/dead-letters/change", change).needs(
        Scope::Operate,
        Doc::of("dead letters", "Say of many failed jobs who deals with them, that they are dealt with, or add a note")
            .more(
                "Of those that `jobs` names, or those that `filter` leaves, latest failure first, up to 1,000 a call; \
                 `next_cursor` says where the next call goes on. Each by itself: one that is refused has its problem in \
                 `results`. What is set already stays as it is, so that the call may be repeated; only a note is added \
                 each time.",
            )
            .takes::<LettersBody>(
                "Which ones, and what changes",
                json!({"filter": {"class": "auth", "unowned": true}, "set": {"owner": "anna"}}),
            )
            .gives::<LettersChanged>(200, "What became of each dead letter")
            .refuses(&[
                Code::InvalidJson,
                Code::InvalidMember,
                Code::MissingMember,
                Code::UnknownMember,
                Code::UnsupportedMediaType,
                Code::TooLarge,
                Code::RequestTimeout,
            ]),
    )
}

/// Which letters are meant.
enum Which {
    Jobs(Vec<JobId>),
    Filter(LetterState, LetterFilter),
}

/// `POST /v1/dead-letters/change`
async fn change(
    State(api): State<Api>,
    principal: Principal,
    _: NoParams,
    request_id: RequestId,
    payload: Payload,
) -> Result<Json<LettersChanged>, Problem> {
    let mut fields = Fields::of(payload.json()?);
    let jobs = fields.optional("jobs", "1 to 1000 ids of jobs, as `job_...`", jobs);
    let filter = fields.object("filter", |inner| {
        let state = inner.optional("state", "open, replayed, resolved or dismissed", |value| {
            LetterState::from_name(value.as_str()?)
        });
        let task = inner.text("task", 64);
        (state.unwrap_or_default(), filter_of(inner, task))
    });
    let wanted = fields.object("set", change_of);
    if jobs.is_some() {
        for name in ["limit", "cursor"] {
            fields.optional(name, "nothing: it goes with `filter`", |_| None::<()>);
        }
    }
    let limit = fields.optional("limit", "a number from 1 to 1000", |value| {
        usize::try_from(whole_number(value)?).ok().filter(|limit| (1..=LETTERS).contains(limit))
    });
    let cursor = fields.optional("cursor", "the `next_cursor` of the call before", |value| {
        value.as_str().map(str::to_owned)
    });
    let which = match (jobs, filter) {
        (Some(jobs), None) => Some(Which::Jobs(jobs)),
        (None, Some((state, filter))) => Some(Which::Filter(state, filter)),
        (Some(_), Some(_)) => {
            fields.invalid("filter", "give `jobs` or `filter`, not both");
            None
        }
        (None, None) => {
            fields.missing("filter", "give `jobs`, or a `filter`; an empty one means all that are open");
            None
        }
    };
    let wanted = wanted.filter(|wanted| *wanted != LetterChange::default());
    if wanted.is_none() {
        fields.missing("set", "say what changes: `state`, `owner` or `note`");
    }
    fields.end()?;
    let (Some(which), Some(wanted)) = (which, wanted) else { return Err(Problem::internal()) };
    let (jobs, next_cursor) = match which {
        Which::Jobs(jobs) => (jobs, None),
        Which::Filter(state, filter) => {
            found(&api, &principal, state, filter, cursor.as_deref(), limit.unwrap_or(LETTERS)).await?
        }
    };
    let results = apply(&api, &principal, jobs, &wanted, &request_id).await?;
    Ok(Json(LettersChanged::new(results, next_cursor)))
}

fn jobs(value: &Value) -> Option<Vec<JobId>> {
    let ids = value.as_array().filter(|ids| (1..=LETTERS).contains(&ids.len()))?;
    ids.iter().map(|id| id.as_str()?.parse().ok()).collect()
}

/// The letters that a filter leaves, and where the next call goes on.
async fn found(
    api: &Api,
    principal: &Principal,
    state: LetterState,
    filter: LetterFilter,
    cursor: Option<&str>,
    limit: usize,
) -> Result<(Vec<JobId>, Option<String>), Problem> {
    let series = Series::DeadLetters(Digest::of(format!("change {state:?} {filter:?}").as_bytes()).short());
    let before = cursor.map(|cursor| api.cursors.position(principal, series, cursor)).transpose()?;
    let page = api.app.store.letters(principal.tenant, LetterQuery { filter, state, before, limit }).await?;
    let next_cursor = page.next.map(|next| api.cursors.write(principal.tenant, series, next));
    Ok((page.letters.into_iter().map(|letter| letter.job.id).collect(), next_cursor))
}

async fn apply(
    api: &Api,
    principal: &Principal,
    jobs: Vec<JobId>,
    wanted: &LetterChange,
    request_id: &RequestId,
) -> Result<Vec<LetterResult>, Problem> {
    let mut results = Vec::with_capacity(jobs.len());
    for group in jobs.chunks(CHANGED_AT_ONCE) {
        let changed =
            api.app.store.change_letters(principal.tenant, group.to_vec(), wanted.clone(), principal.actor());
        for (job, changed) in group.iter().zip(changed.await?) {
            results.push(match changed {
                Some(LetterChanged::Done(letter)) => LetterResult::changed(*job, letter.state),
                Some(LetterChanged::TooManyNotes) => {
                    LetterResult::refused(*job, too_many_notes().body(&request_id.0))
                }
                None => LetterResult::refused(*job, Problem::not_found().body(&request_id.0)),
            });
        }
    }
    Ok(results)
}
