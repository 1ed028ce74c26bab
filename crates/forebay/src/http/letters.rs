//! Dead letters: which jobs failed, and who deals with them.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forebay_core::digest::Digest;
use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::limits::{LIST_PAGE, NOTE_CHARS, NOTES, REPLAY_JOBS};
use forebay_core::request::whole_number;
use forebay_store::record::{
    LetterChange, LetterChanged, LetterFilter, LetterQuery, LetterState, ReplayQuery, Scope,
};
use http::{HeaderMap, StatusCode, Uri};
use serde_json::{Value, json};

use super::api::Api;
use super::auth::Principal;
use super::batches::accepted;
use super::body::Payload;
use super::cursor::Series;
use super::dto::{
    DeadLetter, DeadLetterBody, DeadLetterGroups, DeadLetterList, MemberResult, ReplayManyBody, ReplayTaken,
};
use super::fields::Fields;
use super::headers::idempotency_key;
use super::jobs::{wish, with_next};
use super::outer::RequestId;
use super::params::{NoParams, Params, PathId};
use super::problem::{Code, Problem};
use super::route::{Doc, Route, get, post};

use crate::accept::Many;

mod many;

/// Letters on a page when the caller does not say.
const DEFAULT_PAGE: usize = 50;
/// Characters of an owner.
const OWNER_CHARS: usize = 64;

/// The routes of dead letters.
pub(super) fn routes() -> Vec<Route> {
    let one = |summary| {
        Doc::of("dead letters", summary)
            .path("job_id", "The id of a job that failed: `job_...`")
            .refuses(&[Code::NotFound])
    };
    vec![
        get("/v1/dead-letters", list).needs(Scope::Read, list_doc()),
        get("/v1/dead-letters/groups", groups).needs(
            Scope::Read,
            filters_doc(Doc::of("dead letters", "Count failed jobs by task and failure class"))
                .gives::<DeadLetterGroups>(200, "The groups, most frequent first"),
        ),
        many::route(),
        post("/v1/dead-letters/replay", replay).needs(Scope::Operate, replay_doc()),
        get("/v1/dead-letters/{job_id}", show).needs(
            Scope::Read,
            one("A failed job with its notes and its replays").gives::<DeadLetter>(200, "The dead letter"),
        ),
        post("/v1/dead-letters/{job_id}", change).needs(
            Scope::Operate,
            one("Say who deals with a failed job, that it is dealt with, or add a note")
                .more("What is absent stays as it is. The job itself does not change.")
                .takes::<DeadLetterBody>(
                    "What changes",
                    json!({"owner": "anna", "note": "the supplier has a new template"}),
                )
                .gives::<DeadLetter>(200, "The dead letter as it is then")
                .refuses(&[
                    Code::Conflict,
                    Code::InvalidJson,
                    Code::InvalidMember,
                    Code::UnknownMember,
                    Code::UnsupportedMediaType,
                    Code::TooLarge,
                    Code::RequestTimeout,
                ]),
        ),
    ]
}

fn list_doc() -> Doc {
    filters_doc(Doc::of("dead letters", "List failed jobs that nobody has dealt with, latest failure first"))
        .query(
            "limit",
            r#"{"type":"integer","minimum":1,"maximum":200,"default":50}"#,
            "The most letters on the page",
        )
        .query(
            "cursor",
            r#"{"type":"string"}"#,
            "The `next_cursor` of the page before, with the same filters",
        )
        .gives::<DeadLetterList>(200, "A page of dead letters")
        .with_header("Link", "The next page, with `rel=\"next\"`; absent on the last one")
}

fn replay_doc() -> Doc {
    Doc::of("dead letters", "Replay many failed jobs, oldest failure first, up to 1,000 a call")
        .more(
            "A new job each, admitted as any other, as members of one batch: its id shows how far they are, and cancels \
             them. Without filters, all that are open. Those that were replayed before are left out unless `again` is \
             true. A limit that speaks against more stops the call; `left` and `next_cursor` say what remains.",
        )
        .header("Idempotency-Key", "The same call under the same key replays nothing twice, `again` or not")
        .takes::<ReplayManyBody>(
            "Which ones, and how",
            json!({"task": "invoice@4", "class": "invalid_request", "reason": "the prompt is mended"}),
        )
        .or_nothing()
        .gives::<ReplayTaken>(202, "What became of each dead letter")
        .with_header("Location", "Where the batch of the new jobs is looked at")
        .with_header("Idempotent-Replayed", "`true` when the call had been made before under the same key")
        .refuses(&[
            Code::InvalidJson,
            Code::InvalidMember,
            Code::UnknownMember,
            Code::UnsupportedMediaType,
            Code::TooLarge,
            Code::RequestTimeout,
            Code::IdempotencyKeyReused,
        ])
}

fn filters_doc(doc: Doc) -> Doc {
    const TEXT: &str = r#"{"type":"string"}"#;
    const TIME: &str = r#"{"type":"string","format":"date-time"}"#;
    const STATE: &str =
        r#"{"type":"string","enum":["open","replayed","resolved","dismissed"],"default":"open"}"#;
    doc.query("state", STATE, "Only in this state")
        .query("task", TEXT, "Only of this task")
        .query("class", TEXT, "Only of this failure class")
        .query("revision", r#"{"type":"integer","minimum":1}"#, "Only of jobs that ran by this revision")
        .query("owner", TEXT, "Only of this owner")
        .query("unowned", r#"{"type":"boolean"}"#, "Only those that nobody deals with")
        .query("after", TIME, "Only of jobs that failed at this time or later")
        .query("before", TIME, "Only of jobs that failed before this time")
        .query("created_after", TIME, "Only of jobs that were accepted at this time or later")
        .query("created_before", TIME, "Only of jobs that were accepted before this time")
        .query("metadata.KEY", TEXT, "Only with this value of the member KEY of `metadata`")
}

/// `GET /v1/dead-letters`
async fn list(
    State(api): State<Api>,
    principal: Principal,
    uri: Uri,
    mut params: Params,
) -> Result<Response, Problem> {
    let cursor = params.text("cursor")?;
    let limit = params.limit(DEFAULT_PAGE, LIST_PAGE)?;
    let (state, filter) = filters(params)?;
    let series = Series::DeadLetters(fingerprint(state, &filter));
    let before = cursor.map(|cursor| api.cursors.position(&principal, series, &cursor)).transpose()?;
    let page = api.app.store.letters(principal.tenant, LetterQuery { filter, state, before, limit }).await?;
    let next_cursor = page.next.map(|next| api.cursors.write(principal.tenant, series, next));
    let data = page.letters.into_iter().map(DeadLetter::from).collect();
    let list = DeadLetterList { data, next_cursor: next_cursor.clone() };
    Ok(with_next(Json(list).into_response(), &uri, next_cursor.as_deref()))
}

/// `GET /v1/dead-letters/groups`
async fn groups(
    State(api): State<Api>,
    principal: Principal,
    params: Params,
) -> Result<Json<DeadLetterGroups>, Problem> {
    let (state, filter) = filters(params)?;
    let groups = api.app.store.letter_groups(principal.tenant, state, filter).await?;
    Ok(Json(DeadLetterGroups { data: groups.into_iter().map(Into::into).collect() }))
}

/// `POST /v1/dead-letters/replay`
async fn replay(
    State(api): State<Api>,
    principal: Principal,
    _: NoParams,
    request_id: RequestId,
    headers: HeaderMap,
    payload: Payload,
) -> Result<Response, Problem> {
    let key = idempotency_key(&headers)?;
    let mut fields = Fields::of(payload.json_or_nothing()?);
    let wish = wish(&mut fields, &principal);
    let filter = filter_of(&mut fields, wish.task.as_ref().map(|task| task.name.clone()));
    let limit = fields.optional("limit", "a number from 1 to 1000", |value| {
        let limit = usize::try_from(whole_number(value)?).ok()?;
        (1..=REPLAY_JOBS).contains(&limit).then_some(limit)
    });
    let cursor = fields.optional("cursor", "the `next_cursor` of the call before", |value| {
        value.as_str().map(str::to_owned)
    });
    fields.end()?;
    let again = wish.again;
    let series = Series::Replays(Digest::of(format!("{filter:?} {again}").as_bytes()).short());
    let after = cursor.map(|cursor| api.cursors.position(&principal, series, &cursor)).transpose()?;
    let many = Many {
        filter: filter.clone(),
        after: after.unwrap_or_default(),
        limit: limit.unwrap_or(REPLAY_JOBS),
        wish,
    };
    let taken = api.intake.replay_many(&principal, key, &request_id, many).await?;
    let store = &api.app.store;
    let members = match taken.batch {
        Some(batch) => store.members(principal.tenant, batch).await?,
        None => Vec::new(),
    };
    let left =
        store.letters_left(principal.tenant, ReplayQuery { filter, again, after: taken.after }).await?;
    let replayed = members.iter().filter(|member| member.outcome.is_ok()).count() as u64;
    let stopped = taken.stopped.map(|refused| Problem::from(refused).body(&request_id.0));
    let answer = ReplayTaken {
        batch_id: taken.batch,
        replayed,
        refused: members.len() as u64 - replayed,
        left,
        next_cursor: (left > 0).then(|| api.cursors.write(principal.tenant, series, taken.after)),
        stopped: stopped.and_then(|problem| serde_json::to_value(problem).ok()),
        results: members.into_iter().map(MemberResult::from).collect(),
    };
    let mut response = Json(answer).into_response();
    *response.status_mut() = StatusCode::ACCEPTED;
    Ok(match taken.batch {
        Some(batch) => accepted(response, batch, taken.replayed),
        None => response,
    })
}

/// The filters of a list, as members of a body.
fn filter_of(fields: &mut Fields, task: Option<String>) -> LetterFilter {
    LetterFilter {
        task,
        class: fields.optional("class", CLASS, |value| FailureClass::from_name(value.as_str()?)),
        revision: fields.optional("revision", "the number of a revision", |value| {
            u32::try_from(whole_number(value)?).ok().filter(|number| *number > 0)
        }),
        owner: fields.text("owner", OWNER_CHARS),
        unowned: fields.optional("unowned", "true or false", Value::as_bool).unwrap_or_default(),
        failed_after: fields.time("after"),
        failed_before: fields.time("before"),
        created_after: fields.time("created_after"),
        created_before: fields.time("created_before"),
        metadata: fields.optional("metadata", "an object of texts", metadata).unwrap_or_default(),
    }
}

fn metadata(value: &Value) -> Option<Vec<(String, String)>> {
    let members = value.as_object()?.iter();
    members.map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// `GET /v1/dead-letters/{job_id}`
async fn show(
    State(api): State<Api>,
    principal: Principal,
    PathId(job): PathId<JobId>,
    _: NoParams,
) -> Result<Json<DeadLetter>, Problem> {
    let letter = api.app.store.letter(principal.tenant, job).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(letter.into()))
}

/// `POST /v1/dead-letters/{job_id}`
async fn change(
    State(api): State<Api>,
    principal: Principal,
    PathId(job): PathId<JobId>,
    _: NoParams,
    payload: Payload,
) -> Result<Json<DeadLetter>, Problem> {
    let mut fields = Fields::of(payload.json()?);
    let change = change_of(&mut fields);
    fields.end()?;
    let changed =
        api.app.store.change_letters(principal.tenant, vec![job], change, principal.actor()).await?;
    match changed.into_iter().next().flatten().ok_or_else(Problem::not_found)? {
        LetterChanged::Done(_) => {
            let letter = api.app.store.letter(principal.tenant, job).await?.ok_or_else(Problem::not_found)?;
            Ok(Json(letter.into()))
        }
        LetterChanged::TooManyNotes => Err(too_many_notes()),
    }
}

fn too_many_notes() -> Problem {
    Problem::new(Code::Conflict, format!("the dead letter has {NOTES} notes, as many as it may"))
}

/// What a person does about a dead letter.
fn change_of(fields: &mut Fields) -> LetterChange {
    LetterChange {
        state: fields.optional("state", "open, resolved or dismissed", |value| {
            LetterState::from_name(value.as_str()?).filter(|state| *state != LetterState::Replayed)
        }),
        owner: fields.optional(
            "owner",
            "a name of up to 64 characters, or an empty text for nobody",
            |value| {
                let owner = value.as_str().filter(|owner| owner.chars().count() <= OWNER_CHARS)?;
                let visible = !owner.chars().any(char::is_control);
                visible.then(|| Some(owner.trim()).filter(|owner| !owner.is_empty()).map(str::to_owned))
            },
        ),
        note: fields.text("note", NOTE_CHARS),
    }
}

fn filters(mut params: Params) -> Result<(LetterState, LetterFilter), Problem> {
    let states = LetterState::ALL.map(LetterState::name).join(", ");
    let mut metadata = params.with_prefix("metadata.");
    metadata.sort();
    let state = params.parsed("state", &format!("one of {states}"), LetterState::from_name)?;
    let filter = LetterFilter {
        task: params.text("task")?,
        class: params.parsed("class", CLASS, FailureClass::from_name)?,
        revision: params.parsed("revision", "the number of a revision", |text| {
            text.parse().ok().filter(|number| *number > 0)
        })?,
        owner: params.text("owner")?,
        unowned: params.parsed("unowned", "true or false", |text| text.parse().ok())?.unwrap_or_default(),
        failed_after: params.time("after")?,
        failed_before: params.time("before")?,
        created_after: params.time("created_after")?,
        created_before: params.time("created_before")?,
        metadata,
    };
    params.end()?;
    Ok((state.unwrap_or_default(), filter))
}

const CLASS: &str = "a failure class, such as invalid_request or deadline";

/// Tells lists with other filters apart, so that a cursor is not used for another list than its own.
fn fingerprint(state: LetterState, filter: &LetterFilter) -> u64 {
    Digest::of(format!("{:?}", (state, filter)).as_bytes()).short()
}
