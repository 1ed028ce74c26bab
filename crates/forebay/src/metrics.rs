//! Counters and gauges for Prometheus. Names and labels outlive releases; no id and no tenant is ever a label
//! (I31), so that the number of series stays bounded.

mod shares;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use forebay_core::attempt::Outcome;
use forebay_core::job::State;
use forebay_core::review::Decision;
use forebay_core::time::{Millis, Timestamp};
use forebay_core::window::{Dimension, Window};
use forebay_store::record::{OpenLetters, PoolStatus, Retained, Shares};
use http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use tracing::warn;

use self::shares::Looks;
use crate::revisions::Revision;
use crate::runtime::BUILD;

/// The media type of what [`Metrics::render`] writes.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Ratio = Gauge<f64, AtomicU64>;

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct DecisionLabel {
    decision: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WhatLabel {
    what: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PoolLabel {
    pool: String,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct LimitLabels {
    pool: String,
    dimension: &'static str,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
struct BuildLabel {
    build: &'static str,
}

/// What the process counts. One value, shared by all parts.
pub struct Metrics {
    registry: Registry,
    admitted: Counter,
    replayed: Counter,
    finished: Family<OutcomeLabel, Counter>,
    attempts: Family<OutcomeLabel, Counter>,
    stale_completions: Counter,
    leases_lost: Counter,
    leases_expired: Counter,
    decisions: Family<DecisionLabel, Counter>,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Histogram,
    jobs: Family<StateLabel, Gauge>,
    runnable: Gauge,
    running: Gauge,
    pool_waiting: Family<PoolLabel, Gauge>,
    pool_in_flight: Family<PoolLabel, Gauge>,
    headroom: Family<LimitLabels, Ratio>,
    share_deviation: Family<PoolLabel, Ratio>,
    /// What the lanes of the pools had been served at the scrapes of the last minute.
    looks: Mutex<Looks>,
    streams: Gauge,
    dead_letters: Gauge,
    oldest_dead_letter: Gauge,
    reviews_overdue: Gauge,
    deleted: Family<WhatLabel, Counter>,
    blobs_removed: Counter,
    oldest_job: Gauge,
}

/// What the gauges are set to at a scrape.
pub struct Scrape {
    /// Now, by the store's clock.
    pub now: Timestamp,
    /// Jobs of all tenants by state.
    pub counts: Vec<(State, u64)>,
    /// The use of each pool.
    pub pools: Vec<PoolStatus>,
    /// What tenants with due jobs were handed of each pool.
    pub shares: Vec<Shares>,
    /// The active definitions, for the pools' limits.
    pub limits: Arc<Revision>,
    /// Failed jobs of all tenants that nobody has dealt with.
    pub dead_letters: OpenLetters,
    /// Open event streams of this process.
    pub open_streams: usize,
    /// Open reviews past their due time.
    pub overdue_reviews: u64,
    /// What is kept, and what was deleted since the store was made.
    pub retained: Retained,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Everything at zero.
    pub fn new() -> Self {
        let metrics = Self {
            registry: Registry::with_prefix("forebay"),
            admitted: Counter::default(),
            replayed: Counter::default(),
            finished: Family::default(),
            attempts: Family::default(),
            stale_completions: Counter::default(),
            leases_lost: Counter::default(),
            leases_expired: Counter::default(),
            decisions: Family::default(),
            requests: Family::default(),
            request_seconds: Histogram::new(exponential_buckets(0.001, 2.0, 16)),
            jobs: Family::default(),
            runnable: Gauge::default(),
            running: Gauge::default(),
            pool_waiting: Family::default(),
            pool_in_flight: Family::default(),
            headroom: Family::default(),
            share_deviation: Family::default(),
            looks: Mutex::default(),
            streams: Gauge::default(),
            dead_letters: Gauge::default(),
            oldest_dead_letter: Gauge::default(),
            reviews_overdue: Gauge::default(),
            deleted: Family::default(),
            blobs_removed: Counter::default(),
            oldest_job: Gauge::default(),
        };
        metrics.with_counters().with_gauges()
    }

    fn with_counters(mut self) -> Self {
        let registry = &mut self.registry;
        registry.register("jobs_admitted", "Jobs accepted, replays not counted", self.admitted.clone());
        registry.register(
            "jobs_replayed",
            "Jobs accepted to do a failed one's work again",
            self.replayed.clone(),
        );
        registry.register(
            "jobs_finished",
            "Jobs that ended, or came to a person, by state",
            self.finished.clone(),
        );
        registry.register("attempts", "Attempts that were closed, by outcome", self.attempts.clone());
        registry.register(
            "stale_completions",
            "Commits of workers that no longer owned their job",
            self.stale_completions.clone(),
        );
        registry.register("lease_lost", "Leases that workers found lost", self.leases_lost.clone());
        registry.register(
            "lease_expired",
            "Jobs taken from owners that were not heard of",
            self.leases_expired.clone(),
        );
        registry.register(
            "review_decisions",
            "Reviews decided, by persons or by default at their due time",
            self.decisions.clone(),
        );
        registry.register(
            "retention_deleted",
            "Rows that retention has deleted since the store was made, by what they were",
            self.deleted.clone(),
        );
        registry.register(
            "retention_blobs_removed",
            "Blobs that this process has removed because no row refers to them",
            self.blobs_removed.clone(),
        );
        registry.register("http_requests", "Requests answered, by route and status", self.requests.clone());
        registry.register(
            "http_request_duration_seconds",
            "Time from a request's head to the head of its answer",
            self.request_seconds.clone(),
        );
        self
    }

    fn with_gauges(mut self) -> Self {
        let registry = &mut self.registry;
        registry.register("jobs", "Jobs by state", self.jobs.clone());
        registry.register("jobs_runnable", "Jobs in READY or RETRY_SCHEDULED", self.runnable.clone());
        registry.register("jobs_running", "Jobs in RUNNING", self.running.clone());
        registry.register("pool_waiting", "Due jobs that wait for a pool", self.pool_waiting.clone());
        registry.register("pool_in_flight", "Calls under way in a pool", self.pool_in_flight.clone());
        registry.register(
            "limiter_headroom_ratio",
            "The free part of a pool's limit, from 0 to 1",
            self.headroom.clone(),
        );
        registry.register(
            "pool_share_deviation",
            "How far the weighted shares of tenants lie apart that had jobs for a minute, in jobs of the largest size",
            self.share_deviation.clone(),
        );
        registry.register("event_streams", "Open event streams of this process", self.streams.clone());
        registry.register(
            "dead_letters_open",
            "Failed jobs that nobody has dealt with",
            self.dead_letters.clone(),
        );
        registry.register(
            "dead_letters_oldest_age_seconds",
            "How long ago the first of them failed; 0 where there is none",
            self.oldest_dead_letter.clone(),
        );
        registry.register(
            "reviews_overdue",
            "Open reviews past their due time",
            self.reviews_overdue.clone(),
        );
        registry.register(
            "oldest_job_age_seconds",
            "How long ago the oldest job was accepted that is there; 0 where there is none",
            self.oldest_job.clone(),
        );
        let build = Family::<BuildLabel, Gauge>::default();
        build.get_or_create(&BuildLabel { build: BUILD }).set(1);
        registry.register("build_info", "The build that runs, always 1", build);
        self
    }

    /// A job was accepted for the first time.
    pub fn accepted(&self) {
        self.admitted.inc();
    }

    /// Jobs were accepted for the first time.
    pub fn accepted_many(&self, count: u64) {
        self.admitted.inc_by(count);
    }

    /// Jobs were accepted that do the work of failed ones again.
    pub fn replayed(&self, count: u64) {
        self.replayed.inc_by(count);
    }

    /// A job ended, or came to a person.
    pub fn finished(&self, state: State) {
        self.finished.get_or_create(&OutcomeLabel { outcome: state.name() }).inc();
    }

    /// An attempt was closed.
    pub fn attempt(&self, outcome: Outcome) {
        self.attempts.get_or_create(&OutcomeLabel { outcome: outcome.name() }).inc();
    }

    /// A worker's commit came after its job belonged to somebody else.
    pub fn stale_commit(&self) {
        self.stale_completions.inc();
    }

    /// A worker found one of its leases lost.
    pub fn lease_lost(&self) {
        self.leases_lost.inc();
    }

    /// A job was taken from an owner that was not heard of.
    pub fn lease_expired(&self) {
        self.leases_expired.inc();
    }

    /// A blob was removed because no row refers to it.
    pub fn blob_removed(&self) {
        self.blobs_removed.inc();
    }

    /// A review was decided.
    pub fn decided(&self, decision: Decision) {
        self.decisions.get_or_create(&DecisionLabel { decision: decision.name() }).inc();
    }

    /// A request was answered.
    pub fn request(&self, method: &Method, route: &str, status: u16, span: Millis) {
        let labels = RequestLabels { method: known(method), route: route.to_owned(), status };
        self.requests.get_or_create(&labels).inc();
        #[allow(clippy::cast_precision_loss, reason = "a span that a float can't hold is no request")]
        self.request_seconds.observe(span.get() as f64 / 1_000.0);
    }

    /// The text that Prometheus reads.
    pub fn render(&self, scrape: &Scrape) -> String {
        self.set_jobs(&scrape.counts);
        self.set_pools(scrape);
        self.set_shares(scrape);
        self.dead_letters.set(i64::try_from(scrape.dead_letters.count).unwrap_or(i64::MAX));
        let age = scrape.dead_letters.oldest.map_or(0, |at| scrape.now.as_millis() - at.as_millis());
        self.oldest_dead_letter.set(age.max(0) / 1_000);
        let age = scrape.retained.oldest_job.map_or(0, |at| scrape.now.as_millis() - at.as_millis());
        self.oldest_job.set(age.max(0) / 1_000);
        for (what, rows) in scrape.retained.deleted.each() {
            // Counted by the store, whichever process has deleted them.
            self.deleted.get_or_create(&WhatLabel { what }).inner().store(rows, Ordering::Relaxed);
        }
        self.streams.set(i64::try_from(scrape.open_streams).unwrap_or(i64::MAX));
        self.reviews_overdue.set(i64::try_from(scrape.overdue_reviews).unwrap_or(i64::MAX));
        let mut text = String::new();
        if let Err(failure) = encode(&mut text, &self.registry) {
            warn!(error = %failure, "the metrics can't be written");
        }
        text
    }

    fn set_jobs(&self, counts: &[(State, u64)]) {
        let count = |state: State| {
            let found = counts.iter().find(|(counted, _)| *counted == state);
            found.map_or(0, |(_, count)| i64::try_from(*count).unwrap_or(i64::MAX))
        };
        for state in State::ALL {
            self.jobs.get_or_create(&StateLabel { state: state.name() }).set(count(state));
        }
        self.runnable.set(count(State::Ready) + count(State::RetryScheduled));
        self.running.set(count(State::Running));
    }

    fn set_pools(&self, scrape: &Scrape) {
        self.pool_waiting.clear();
        self.pool_in_flight.clear();
        self.headroom.clear();
        for pool in &scrape.pools {
            let label = PoolLabel { pool: pool.name.clone() };
            self.pool_waiting.get_or_create(&label).set(i64::try_from(pool.waiting).unwrap_or(i64::MAX));
            self.pool_in_flight
                .get_or_create(&label)
                .set(i64::try_from(pool.used.in_flight).unwrap_or(i64::MAX));
            self.set_headroom(pool, scrape);
        }
    }

    fn set_shares(&self, scrape: &Scrape) {
        self.share_deviation.clear();
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        for (pool, deviation) in looks.add(scrape.now, &scrape.shares) {
            self.share_deviation.get_or_create(&PoolLabel { pool }).set(deviation);
        }
    }

    fn set_headroom(&self, pool: &PoolStatus, scrape: &Scrape) {
        let Some(definition) = scrape.limits.definitions.pools.get(&pool.name) else { return };
        let limits = definition.limits;
        let window = Window::new(pool.used.clone(), scrape.now);
        for dimension in Dimension::ALL {
            let Some(limit) = limits.of(dimension) else { continue };
            let labels = LimitLabels { pool: pool.name.clone(), dimension: dimension.name() };
            self.headroom.get_or_create(&labels).set(free_part(limit, window.used().of(dimension)));
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a ratio for a chart")]
fn free_part(limit: u64, used: u64) -> f64 {
    if limit == 0 { 0.0 } else { limit.saturating_sub(used) as f64 / limit as f64 }
}

/// Callers can invent methods; labels can't.
fn known(method: &Method) -> &'static str {
    let all = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"];
    all.into_iter().find(|name| *name == method.as_str()).unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::definition::Definitions;
    use forebay_core::window::Use;
    use forebay_store::record::Deleted;

    fn scrape(counts: Vec<(State, u64)>) -> Scrape {
        Scrape {
            now: Timestamp::from_millis(0),
            counts,
            pools: vec![PoolStatus {
                name: "main".to_owned(),
                used: Use { in_flight: 2, ..Use::default() },
                cooldown_until: None,
                cooldown_class: None,
                waiting: 7,
            }],
            shares: vec![Shares { pool: "main".to_owned(), largest: 9, lanes: vec![] }],
            limits: Arc::new(Revision { number: 1, definitions: Definitions::default() }),
            dead_letters: OpenLetters { count: 2, oldest: Some(Timestamp::from_millis(-90_500)) },
            open_streams: 3,
            overdue_reviews: 2,
            retained: Retained {
                deleted: Deleted { jobs: 5, ..Deleted::default() },
                oldest_job: Some(Timestamp::from_millis(-7_000)),
                oldest_event: None,
            },
        }
    }

    #[test]
    fn names_outlive_releases() {
        let metrics = Metrics::new();
        metrics.accepted();
        metrics.replayed(1);
        metrics.finished(State::Succeeded);
        metrics.attempt(Outcome::Unknown);
        metrics.decided(Decision::Correct);
        metrics.request(&Method::GET, "/v1/jobs", 200, Millis::new(3));
        let text = metrics.render(&scrape(vec![(State::Ready, 4), (State::RetryScheduled, 1)]));
        for line in [
            "forebay_jobs_admitted_total 1",
            "forebay_jobs_finished_total{outcome=\"SUCCEEDED\"} 1",
            "forebay_attempts_total{outcome=\"unknown\"} 1",
            "forebay_stale_completions_total 0",
            "forebay_lease_expired_total 0",
            "forebay_lease_lost_total 0",
            "forebay_jobs{state=\"READY\"} 4",
            "forebay_jobs{state=\"CANCELLED\"} 0",
            "forebay_jobs_runnable 5",
            "forebay_jobs_running 0",
            "forebay_pool_waiting{pool=\"main\"} 7",
            "forebay_pool_share_deviation{pool=\"main\"} 0.0",
            "forebay_event_streams 3",
            "forebay_jobs_replayed_total 1",
            "forebay_dead_letters_open 2",
            "forebay_dead_letters_oldest_age_seconds 90",
            "forebay_reviews_overdue 2",
            "forebay_retention_deleted_total{what=\"jobs\"} 5",
            "forebay_retention_blobs_removed_total 0",
            "forebay_oldest_job_age_seconds 7",
            "forebay_review_decisions_total{decision=\"correct\"} 1",
            "forebay_http_requests_total{method=\"GET\",route=\"/v1/jobs\",status=\"200\"} 1",
        ] {
            assert!(text.lines().any(|written| written == line), "{line} is missing in\n{text}");
        }
    }

    #[test]
    fn invented_methods_make_no_new_series() {
        assert_eq!(known(&Method::from_bytes(b"BREW").unwrap()), "other");
        assert_eq!(known(&Method::GET), "GET");
    }

    #[test]
    fn what_is_free_is_a_part_of_the_limit() {
        assert!((free_part(10, 4) - 0.6).abs() < f64::EPSILON);
        assert!(free_part(10, 12).abs() < f64::EPSILON && free_part(0, 0).abs() < f64::EPSILON);
    }
}
