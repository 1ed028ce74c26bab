//! The queue: which reviews, page by page.

use clap::{Args, ValueEnum};
use forebay_core::limits::LIST_PAGE;
use forebay_store::{Clock as _, SystemClock};
use serde_json::Value;

use crate::cli::client::{Ask, Client};
use crate::cli::error::CliError;
use crate::cli::output::Output;
use crate::cli::table::{self, Column, Show};
use crate::cli::values::{When, duration};

/// Which open reviews.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Filter {
    /// Only of this task
    #[arg(long)]
    task: Option<String>,
    /// Only of jobs in review for this failure class: policy_failed, truncated, ...
    #[arg(long)]
    class: Option<String>,
    /// Only with a finding of this code: net_tax_total, evidence_not_found, ...
    #[arg(long, value_name = "CODE")]
    finding: Option<String>,
    /// Only due before this time, or within this span
    #[arg(long, value_name = "TIME")]
    due_before: Option<When>,
    /// Only what is past its due time
    #[arg(long, conflicts_with = "due_before")]
    overdue: bool,
    /// Only what was opened longer ago than this: 2h, 3d
    #[arg(long, value_parser = duration, value_name = "SPAN")]
    older_than: Option<forebay_core::time::Millis>,
    /// Only what this key holds, nobody holds, or this key can decide
    #[arg(long, value_enum, value_name = "WHOSE")]
    claimed: Option<Claimed>,
}

/// Who holds a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Claimed {
    /// This key
    Me,
    /// Nobody
    None,
    /// Nobody, or this key
    Available,
}

impl Claimed {
    const fn name(self) -> &'static str {
        match self {
            Claimed::Me => "me",
            Claimed::None => "none",
            Claimed::Available => "available",
        }
    }
}

impl Filter {
    /// The same, without what others hold.
    pub(super) fn available(self) -> Self {
        Self { claimed: self.claimed.or(Some(Claimed::Available)), ..self }
    }

    /// Whether it chooses anything.
    pub(super) fn is_given(&self) -> bool {
        let text = self.task.is_some() || self.class.is_some() || self.finding.is_some();
        let time = self.due_before.is_some() || self.overdue || self.older_than.is_some();
        text || time || self.claimed.is_some()
    }
}

/// Open reviews, oldest first, read as they are needed.
pub(super) struct Pages<'c> {
    client: &'c Client,
    first: Ask,
    cursor: Option<String>,
    ended: bool,
}

impl<'c> Pages<'c> {
    pub(super) fn new(client: &'c Client, filter: &Filter, limit: usize) -> Self {
        // Times from now are those of one now: a cursor belongs to its filters.
        let now = SystemClock.now();
        let due_before = filter.due_before.map(|when| when.from(now)).or(filter.overdue.then_some(now));
        let first = Ask::get(&["v1", "reviews"])
            .query("task", filter.task.as_deref())
            .query("class", filter.class.as_deref())
            .query("finding", filter.finding.as_deref())
            .query("due_before", due_before)
            .query("opened_before", filter.older_than.map(|span| now.before(span)))
            .query("claimed", filter.claimed.map(Claimed::name))
            .query("limit", Some(limit.min(LIST_PAGE)));
        Self { client, first, cursor: None, ended: false }
    }

    /// The next page, while there is one.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Value>>, CliError> {
        if self.ended {
            return Ok(None);
        }
        let page = self.client.json(self.first.clone().query("cursor", self.cursor.as_deref())).await?;
        self.cursor = page.get("next_cursor").and_then(Value::as_str).map(str::to_owned);
        self.ended = self.cursor.is_none();
        Ok(Some(table::rows(&page).to_vec()))
    }

    /// Whether there are more.
    pub(super) fn has_more(&self) -> bool {
        !self.ended
    }
}

const COLUMNS: [Column; 7] = [
    ("JOB", "/job_id", Show::Plain),
    ("TASK", "/task", Show::Plain),
    ("WHY", "/failure/class", Show::Plain),
    ("FINDINGS", "/finding_codes", Show::Plain),
    ("DUE", "/due_at", Show::Plain),
    ("OVERDUE", "/overdue", Show::Plain),
    ("HELD BY", "/claim/claimed_by_name", Show::Plain),
];

/// Prints up to so many reviews; all where there is no limit.
pub(super) async fn list(
    client: &Client,
    filter: &Filter,
    most: Option<usize>,
    output: &Output,
) -> Result<(), CliError> {
    let mut pages = Pages::new(client, filter, most.unwrap_or(LIST_PAGE));
    let (mut rows, mut left) = (Vec::new(), most.unwrap_or(usize::MAX));
    while left > 0 {
        let Some(mut page) = pages.next().await? else { break };
        page.truncate(left);
        left -= page.len();
        if output.is_json() {
            page.iter().try_for_each(|review| output.record(review))?;
        } else {
            rows.extend(page);
        }
    }
    if output.is_json() {
        return Ok(());
    }
    output.table(table::of(&rows, &COLUMNS))?;
    if pages.has_more() {
        output.note("there are more: --limit N or --all");
    }
    Ok(())
}
