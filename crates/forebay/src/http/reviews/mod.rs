//! Decisions that persons owe: the queue, one of them with everything to decide it by, holding it, deciding it, and
//! what was decided as an evaluation set.

mod claim;
mod decide;
mod export;
mod list;
mod one;

use forebay_store::record::Scope;
use serde_json::json;

use super::dto::{
    ClaimBody, DecisionBody, ReviewDecided, ReviewDetail, ReviewLine, ReviewList, ReviewSummary,
};
use super::openapi::Schemas;
use super::problem::Code;
use super::route::{Doc, Route, delete, get, post};

/// The routes of reviews.
pub(super) fn routes() -> Vec<Route> {
    vec![
        get("/v1/reviews", list::list).needs(Scope::Review, list_doc()),
        get("/v1/reviews/corrections", export::export).needs(Scope::Review, export_doc()),
        get("/v1/reviews/{job_id}", one::one).needs(
            Scope::Review,
            of_job("The open or latest review of a job").gives::<ReviewDetail>(
                200,
                "Findings, output, the places of its values in the document, the document's text, and what was done",
            ),
        ),
        post("/v1/reviews/{job_id}", decide::decide).needs(Scope::Review, decide_doc()),
        post("/v1/reviews/{job_id}/claim", claim::claim).needs(
            Scope::Review,
            of_job("Take a review for a while")
                .more(
                    "Until then nobody else decides it. Whoever holds it may repeat this to hold it longer. The body may \
                     be left out.",
                )
                .takes::<ClaimBody>("For how long", json!({"for_ms": 900_000}))
                .or_nothing()
                .gives::<ReviewSummary>(200, "The review, which is the caller's now")
                .refuses(BODY)
                .refuses(&[Code::Conflict]),
        ),
        delete("/v1/reviews/{job_id}/claim", claim::release).needs(
            Scope::Review,
            of_job("Give a review back")
                .more("May be repeated. What another key holds is not given back.")
                .gives::<ReviewSummary>(200, "The review, which nobody holds now")
                .refuses(&[Code::Conflict]),
        ),
    ]
}

/// What a body can be refused for.
const BODY: &[Code] = &[
    Code::InvalidJson,
    Code::InvalidMember,
    Code::UnknownMember,
    Code::UnsupportedMediaType,
    Code::TooLarge,
    Code::RequestTimeout,
];

const TEXT: &str = r#"{"type":"string"}"#;
const TIME: &str = r#"{"type":"string","format":"date-time"}"#;

fn of_job(summary: &'static str) -> Doc {
    Doc::of("reviews", summary).path("job_id", "The id of a job: `job_...`").refuses(&[Code::NotFound])
}

fn list_doc() -> Doc {
    Doc::of("reviews", "Open reviews, oldest first")
        .query("task", TEXT, "Only of this task")
        .query("class", TEXT, "Only of jobs in review for this failure class")
        .query("finding", TEXT, "Only with a finding of this code")
        .query("due_before", TIME, "Only due before this time")
        .query("opened_before", TIME, "Only opened before this time")
        .query(
            "claimed",
            r#"{"type":"string","enum":["me","none","available"]}"#,
            "Only those that the caller's key holds, that nobody holds, or that it can decide: either of the two",
        )
        .query(
            "limit",
            r#"{"type":"integer","minimum":1,"maximum":200,"default":50}"#,
            "The most reviews on the page",
        )
        .query("cursor", TEXT, "The `next_cursor` of the page before, with the same filters")
        .gives::<ReviewList>(200, "A page of what is to be decided")
        .with_header("Link", "The next page, with `rel=\"next\"`; absent on the last one")
        .refuses(&[Code::InvalidParameter])
}

fn export_doc() -> Doc {
    Doc::of("reviews", "What persons have decided, as an evaluation set")
        .more(
            "One JSON document a line, in the order of the decisions: what the model said, what a person made of it, and \
             where the two differ. What a due time decided is no judgement and not there. A line's `cursor` says where \
             the lines after it begin, so that a stream that broke goes on.",
        )
        .query("task", TEXT, "Only of this task")
        .query(
            "decision",
            r#"{"type":"string","enum":["approve","correct","reject","rerun"]}"#,
            "Only decided in this way",
        )
        .query("since", TIME, "Only decided at this time or later")
        .query("until", TIME, "Only decided before this time")
        .query("text", r#"{"type":"boolean","default":false}"#, "Whether each line has the text that was read")
        .query("cursor", TEXT, "The `cursor` of the last line that the caller has")
        .gives_raw(200, "JSON lines", Some(export::MEDIA_TYPE))
        .shaped(Schemas::reference::<ReviewLine>)
        .refuses(&[Code::InvalidParameter])
}

fn decide_doc() -> Doc {
    let example = json!({
        "decision": "correct", "state_version": 7, "output": {"total": "49.99"}, "comment": "the total was swapped",
    });
    of_job("Decide a review")
        .more(
            "`approve` takes the output as it is, `correct` takes another one, which must satisfy the task's schema, \
             `reject` fails the job, and `rerun` has the machines do it again as a new generation with attempts and time \
             of its own. Refused when the job's version is not the one that is named any more, or while another key \
             holds the review. The same decision by the same key, sent again, is answered again.",
        )
        .takes::<DecisionBody>("What is decided", example)
        .gives::<ReviewDecided>(200, "The decision, and what the job is then")
        .with_header("Idempotent-Replayed", "`true` when the same key had made the same decision before")
        .refuses(BODY)
        .refuses(&[Code::MissingMember, Code::Conflict])
}
