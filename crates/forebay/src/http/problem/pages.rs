//! The pages that a problem's `type` leads to.

use std::fmt::Write as _;

use axum::extract::Path;
use axum::response::{IntoResponse, Response};

use super::{Code, Problem};
use crate::http::page::{escape, html};
use crate::http::route::{Doc, Route, get};

/// The routes of the pages.
pub(in crate::http) fn routes() -> Vec<Route> {
    vec![
        get("/problems", list).open(Doc::of("meta", "All problem codes with their status").page("The list")),
        get("/problems/{code}", one).open(
            Doc::of("meta", "Cause and fix of a problem code")
                .path("code", "The code of a problem, as in its member `code`")
                .page("The page of the code")
                .refuses(&[Code::NotFound]),
        ),
    ]
}

async fn list() -> Response {
    let mut body = String::from("<h1>Problem codes</h1><dl>");
    for code in Code::ALL {
        let facts = code.facts();
        // Writing to a string can't fail.
        let _ = write!(
            body,
            "<dt><a href=\"/problems/{0}\"><code>{0}</code></a> {1}</dt><dd>{2}</dd>",
            facts.name,
            facts.status.as_u16(),
            escape(facts.title)
        );
    }
    body.push_str("</dl>");
    html("Problem codes", &body)
}

async fn one(Path(name): Path<String>) -> Response {
    let Some(code) = Code::from_name(&name) else {
        return Problem::not_found().into_response();
    };
    let facts = code.facts();
    let body = format!(
        "<h1><code>{}</code></h1><p>{}. Status {}.</p><h2>Cause</h2><p>{}</p><h2>Fix</h2><p>{}</p>\
         <p><a href=\"/problems\">All problem codes</a></p>",
        facts.name,
        escape(facts.title),
        facts.status.as_u16(),
        escape(facts.cause),
        escape(facts.fix),
    );
    html(facts.name, &body)
}
