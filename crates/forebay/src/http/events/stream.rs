//! One stream: pages of the log, turned into frames when the reader asks for them. Nothing is made ahead, so a
//! slow reader costs a position and no buffer.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use async_stream::stream;
use bytes::Bytes;
use forebay_core::id::{Incarnation, JobId};
use forebay_store::record::{Changed, EventPage, EventQuery, EventRecord, Place as LogPlace};
use futures_util::Stream;
use serde_json::json;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout};
use tracing::warn;

use super::counts::Place;
use super::frame;
use crate::http::api::Api;
use crate::http::auth::Credential;
use crate::http::jobs::shown;
use crate::http::problem::{Code, Problem};

/// Events that are read at once.
const PAGE: usize = 100;
/// The time between two signs of life on a quiet stream; also the safety net for lost notices.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How often the stream's key is checked.
const KEY_CHECK: Duration = Duration::from_secs(10);

/// Why events are missing: the cursor is from before a restore, or they were deleted.
const RESTORED: &str = "restored";
const EXPIRED: &str = "expired";

/// Where a stream begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start {
    /// With the first event there is.
    First,
    /// With what happens from now on.
    Now,
    /// After the event that a cursor stands for.
    After(Incarnation, LogPlace),
}

/// A stream and what it needs.
pub(super) struct Events {
    api: Api,
    tenant: i64,
    credential: Credential,
    job: Option<JobId>,
    changes: Receiver<Arc<Vec<Changed>>>,
    /// Where the last event stands that was sent.
    after: LogPlace,
    key_checked: Instant,
    _place: Place,
}

impl Events {
    /// A stream over a tenant's log, or over one job's part of it.
    pub(super) fn new(
        api: Api,
        tenant: i64,
        credential: Credential,
        job: Option<JobId>,
        place: Place,
    ) -> Self {
        // Before the first look, so that no change falls between.
        let changes = api.app.store.changes();
        Self {
            api,
            tenant,
            credential,
            job,
            changes,
            after: LogPlace::START,
            key_checked: Instant::now(),
            _place: place,
        }
    }

    /// The frames.
    pub(super) fn from(mut self, start: Start) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
        stream! {
            match self.begin(start).await {
                Ok(frames) => for frame in frames {
                    yield Ok(frame);
                },
                Err(problem) => {
                    yield Ok(closed(&problem));
                    return;
                }
            }
            loop {
                match self.next().await {
                    Ok(Next::Events(events)) => for event in events {
                        // Here too: a slow reader may take long over one page.
                        if let Err(problem) = self.check_key().await {
                            yield Ok(closed(&problem));
                            return;
                        }
                        self.after = event.place();
                        yield Ok(self.frame(&event));
                    },
                    Ok(Next::Snapshot(frame)) => yield Ok(frame),
                    Ok(Next::Quiet) => yield Ok(frame::KEEP_ALIVE),
                    Ok(Next::End) => return,
                    Err(problem) => {
                        yield Ok(closed(&problem));
                        return;
                    }
                }
            }
        }
    }

    /// Finds the position to begin at; gives the opening frame, and a snapshot where events are missing.
    async fn begin(&mut self, start: Start) -> Result<Vec<Bytes>, Problem> {
        // A page after the newest event there can be is empty, and still says how far the log goes.
        let from = if let Start::After(_, place) = start { place } else { LogPlace::END };
        let log = self.page(from, 1).await?;
        let missing = match start {
            Start::First => None,
            Start::Now => {
                self.after = log.last;
                None
            }
            Start::After(life, place) => self.go_on_after(life, place, &log),
        };
        let mut frames = vec![frame::opening(&self.cursor(self.after))];
        if let Some(reason) = missing {
            frames.push(self.snapshot(reason).await?);
        }
        Ok(frames)
    }

    /// Goes on after a cursor, or after what the log has now where it no longer has what follows the cursor.
    fn go_on_after(&mut self, life: Incarnation, place: LogPlace, log: &EventPage) -> Option<&'static str> {
        let missing = if life != self.api.cursors.incarnation() || place > log.last {
            Some(RESTORED)
        } else {
            log.expired.then_some(EXPIRED)
        };
        self.after = if missing.is_some() { log.last } else { place };
        missing
    }

    /// The state of things at the position where the stream goes on.
    async fn snapshot(&self, reason: &'static str) -> Result<Bytes, Problem> {
        let store = &self.api.app.store;
        let state = match self.job {
            Some(job) => {
                let record = store.job(self.tenant, job).await?.ok_or_else(Problem::not_found)?;
                json!({"reason": reason, "job": shown(&self.api, record).await?})
            }
            None => {
                let counts = store.counts(Some(self.tenant)).await?;
                let counts: serde_json::Map<_, _> = counts
                    .into_iter()
                    .map(|(state, count)| (state.name().to_owned(), count.into()))
                    .collect();
                json!({"reason": reason, "counts": counts, "jobs_url": "/v1/jobs"})
            }
        };
        Ok(frame::event(Some(&self.cursor(self.after)), "snapshot", state.to_string().as_bytes()))
    }

    /// Waits for what comes next.
    async fn next(&mut self) -> Result<Next, Problem> {
        let quiet_at = Instant::now() + KEEP_ALIVE;
        loop {
            self.check_key().await?;
            let page = self.page(self.after, PAGE).await?;
            if page.expired && self.after != LogPlace::START {
                // It was too slow for what is kept.
                self.after = page.last;
                return Ok(Next::Snapshot(self.snapshot(EXPIRED).await?));
            }
            if !page.events.is_empty() {
                return Ok(Next::Events(page.events));
            }
            if self.job_has_ended().await? {
                return self.rest().await;
            }
            let now = Instant::now();
            if now >= quiet_at {
                return Ok(Next::Quiet);
            }
            let until = quiet_at.min(self.key_checked + KEY_CHECK);
            let stopping = self.api.app.tasks.stopping().clone();
            tokio::select! {
                () = stopping.cancelled() => return Ok(Next::End),
                _ = timeout(until.saturating_duration_since(now), self.changed()) => {}
            }
        }
    }

    /// The events that came between the last page and the look at the job that has ended.
    async fn rest(&mut self) -> Result<Next, Problem> {
        let events = self.page(self.after, PAGE).await?.events;
        Ok(if events.is_empty() { Next::End } else { Next::Events(events) })
    }

    async fn check_key(&mut self) -> Result<(), Problem> {
        if self.key_checked.elapsed() >= KEY_CHECK {
            self.api.keys.principal(self.credential).await?;
            self.key_checked = Instant::now();
        }
        Ok(())
    }

    async fn page(&self, after: LogPlace, limit: usize) -> Result<EventPage, Problem> {
        Ok(self.api.app.store.events(self.tenant, EventQuery { job: self.job, after, limit }).await?)
    }

    async fn job_has_ended(&self) -> Result<bool, Problem> {
        let Some(job) = self.job else { return Ok(false) };
        let record = self.api.app.store.job(self.tenant, job).await?;
        Ok(record.is_none_or(|record| record.job.state.is_terminal()))
    }

    /// Returns when something may have happened that this stream shows.
    async fn changed(&mut self) {
        loop {
            match self.changes.recv().await {
                Ok(changed) if !changed.iter().any(|changed| self.shows(changed)) => {}
                Ok(_) | Err(RecvError::Lagged(_)) => return,
                // Nobody tells any more; the keep-alive looks.
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }

    fn shows(&self, changed: &Changed) -> bool {
        changed.tenant == self.tenant && self.job.is_none_or(|job| job == changed.job_id)
    }

    fn cursor(&self, place: LogPlace) -> String {
        self.api.cursors.write_place(self.tenant, place)
    }

    fn frame(&self, event: &EventRecord) -> Bytes {
        frame::event(Some(&self.cursor(event.place())), &event.full_name(), &event.body)
    }
}

enum Next {
    Events(Vec<EventRecord>),
    /// Events were deleted before they were sent: how things stand, instead.
    Snapshot(Bytes),
    /// Nothing came for a while.
    Quiet,
    /// Nothing more will come.
    End,
}

/// The last frame of a stream that the server ends.
fn closed(problem: &Problem) -> Bytes {
    if problem.code() != Code::Unauthorized {
        warn!(code = problem.code().name(), "a stream ends early");
    }
    let reason = json!({"code": problem.code().name(), "detail": problem.detail()});
    frame::event(None, "closed", reason.to_string().as_bytes())
}
