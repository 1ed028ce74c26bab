//! Usage as JSON or CSV. It is read and sent page by page, so that its length costs time and no memory.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use forebay_core::money::Micros;
use forebay_store::record::{UsageBy, UsageQuery, UsageRow};
use forebay_store::{Store, StoreError};
use futures_util::{Stream, stream};
use http::HeaderMap;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use super::headers;
use crate::http::csv;
use crate::http::dto::{CURRENCY, UsageLine, UsageSums, day};
use crate::http::problem::Problem;

/// How it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Csv,
}

impl Format {
    pub(super) fn from_name(name: &str) -> Option<Format> {
        match name {
            "json" => Some(Format::Json),
            "csv" => Some(Format::Csv),
            _ => None,
        }
    }

    /// What the caller accepts; JSON where it takes both.
    pub(super) fn preferred(headers: &HeaderMap) -> Format {
        if headers::accepts(headers, &["application/json"]).is_err() { Format::Csv } else { Format::Json }
    }
}

/// The answer, whose first page is read before its head is sent: what fails at once is answered as a problem.
pub(super) async fn answer(
    store: Arc<dyn Store>,
    query: UsageQuery,
    format: Format,
) -> Result<Response, Problem> {
    let first = store.usage(query.clone()).await?;
    let text = match format {
        Format::Json => json_head(&query),
        Format::Csv => csv_head(&query),
    };
    let writing = Writing { store, query, format, is_first: true, total: UsageSums::default() };
    let body = Body::from_stream(pieces(writing, text, first));
    Ok(match format {
        Format::Json => ([(CONTENT_TYPE, "application/json")], body).into_response(),
        Format::Csv => {
            let name = "attachment; filename=\"usage.csv\"";
            let headers =
                [(CONTENT_TYPE, "text/csv; charset=utf-8; header=present"), (CONTENT_DISPOSITION, name)];
            (headers, body).into_response()
        }
    })
}

/// What is being written, and how far it is.
struct Writing {
    store: Arc<dyn Store>,
    query: UsageQuery,
    format: Format,
    is_first: bool,
    total: UsageSums,
}

fn pieces(writing: Writing, head: String, first: Vec<UsageRow>) -> impl Stream<Item = Result<Bytes, Failed>> {
    stream::try_unfold(Some((writing, head, Some(first))), async |state| {
        let Some((mut writing, mut text, page)) = state else { return Ok(None) };
        let rows = match page {
            Some(rows) => rows,
            None => writing.store.usage(writing.query.clone()).await?,
        };
        let is_last = rows.len() < writing.query.limit;
        writing.query.after = rows.last().map(|row| row.key.clone());
        for row in rows {
            writing.write(&mut text, row)?;
        }
        if is_last {
            writing.end(&mut text)?;
            return Ok(Some((Bytes::from(text), None)));
        }
        Ok(Some((Bytes::from(text), Some((writing, String::new(), None)))))
    })
}

impl Writing {
    fn write(&mut self, text: &mut String, row: UsageRow) -> Result<(), Failed> {
        let line = UsageLine::from(row);
        self.total.add(&line.sums);
        match self.format {
            Format::Csv => text.push_str(&csv_line(&self.query, line)),
            Format::Json => {
                if !self.is_first {
                    text.push(',');
                }
                self.is_first = false;
                text.push_str(&serde_json::to_string(&line)?);
            }
        }
        Ok(())
    }

    fn end(&self, text: &mut String) -> Result<(), Failed> {
        if self.format == Format::Json {
            text.push_str("],\"total\":");
            text.push_str(&serde_json::to_string(&self.total)?);
            text.push('}');
        }
        Ok(())
    }
}

/// It ends early, and the connection with it: half of it must not look like the whole.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
enum Failed {
    Store(#[from] StoreError),
    Json(#[from] serde_json::Error),
}

fn json_head(query: &UsageQuery) -> String {
    let (from, to) = (day(query.from), day(query.to));
    format!("{{\"from\":\"{from}\",\"to\":\"{to}\",\"currency\":\"{CURRENCY}\",\"data\":[")
}

const SUMS: [&str; 6] =
    ["attempts", "input_tokens", "output_tokens", "cost_micros", "uncertain_micros", "currency"];

fn csv_head(query: &UsageQuery) -> String {
    let names: Vec<_> = query.by.iter().map(|by| by.name()).chain(SUMS).collect();
    csv::line(&names)
}

fn csv_line(query: &UsageQuery, line: UsageLine) -> String {
    let UsageLine { tenant, day, task, model, pool, sums } = line;
    let parts = [tenant, day, task, model, pool];
    let told_apart = UsageBy::ALL.into_iter().zip(parts).filter(|(by, _)| query.is_by(*by));
    let mut fields: Vec<_> = told_apart.map(|(_, part)| part.unwrap_or_default()).collect();
    let Micros(cost) = sums.cost_micros;
    let Micros(uncertain) = sums.uncertain_micros;
    fields.extend([sums.attempts, sums.input_tokens, sums.output_tokens].map(|count| count.to_string()));
    fields.extend([cost, uncertain].map(|micros| micros.to_string()));
    fields.push(CURRENCY.to_owned());
    csv::line(&fields)
}
