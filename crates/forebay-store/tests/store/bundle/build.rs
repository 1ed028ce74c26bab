//! Values with everything that a case does not care about filled in. Prices are chosen to be counted by
//! hand: a token sent costs 1 micro-unit, a generated one 2, so that a call of the default size reserves 200.

use std::collections::BTreeMap;

use forebay_core::attempt::{Outcome, Usage};
use forebay_core::definition::{CountTokens, OnFailure, OnUnknown, PoolLimits};
use forebay_core::digest::Digest;
use forebay_core::failure::FailureClass;
use forebay_core::id::ClaimId;
use forebay_core::job::{Failure, Priority};
use forebay_core::lifecycle::Failed;
use forebay_core::money::{Micros, Price};
use forebay_core::retry::RetryPolicy;
use forebay_core::review::ReviewDefault;
use forebay_core::time::{Millis, Timestamp};
use forebay_store::record::{
    AttemptClose, Bytes, Claim, Claimed, NewJob, NewResult, NewReview, NewStep, StepCommit, Then,
};

use super::Bundle;

/// The pool of whatever a builder makes.
pub const MAIN: &str = "main";
/// The lease of the builder's claims.
pub const LEASE: Millis = Millis::from_secs(30);

const PRICE: Price = Price {
    input_per_mtok: Micros(1_000_000),
    cached_input_per_mtok: None,
    output_per_mtok: Micros(2_000_000),
};

impl Bundle {
    /// A job of alpha without a key, due at once, with an hour to go.
    pub fn new_job(&self) -> NewJob {
        self.new_job_of(self.alpha)
    }

    pub fn new_job_of(&self, tenant: i64) -> NewJob {
        let input = br#"{"messages":[]}"#.to_vec();
        NewJob {
            id: self.store().new_job_id(),
            tenant,
            key_id: None,
            idempotency_key: None,
            idempotency_ttl: Millis::from_secs(14 * 24 * 3_600),
            body_digest: Digest::of(&input),
            request_digest: Digest::of_parts(&[b"chat@1", &input]),
            task: "chat".to_owned(),
            kind: "llm",
            revision: 1,
            priority: Priority::Normal,
            not_before: None,
            deadline: self.now().after(Millis::from_secs(3_600)),
            input: Bytes::Inline(input),
            document: None,
            ordering_key: None,
            on_failure: OnFailure::Continue,
            correlation_id: None,
            metadata: None,
            series: None,
            replay_of: None,
            batch: None,
            first_step: self.new_step(),
            max_pending: 100_000,
            refuse_above_budget: None,
            rate_limits: Vec::new(),
        }
    }

    /// A job of alpha under an idempotency key.
    pub fn keyed_job(&self, key: &str) -> NewJob {
        NewJob { idempotency_key: Some(key.to_owned()), ..self.new_job() }
    }

    /// A job of alpha that waits for those before it under an ordering key.
    pub fn ordered_job(&self, key: &str) -> NewJob {
        NewJob { ordering_key: Some(key.to_owned()), ..self.new_job() }
    }

    /// A call of 100 tokens in and 50 out, in the main pool.
    pub fn new_step(&self) -> NewStep {
        NewStep {
            kind: "call",
            pool: MAIN.to_owned(),
            model: "small".to_owned(),
            target: 0,
            input_tokens: 100,
            output_tokens: 50,
        }
    }

    /// A claim of one job of the main pool, which has no limits.
    pub fn new_claim(&self) -> Claim {
        Claim {
            id: ClaimId::new(self.now(), rand::random()),
            pool: MAIN.to_owned(),
            limits: PoolLimits::default(),
            prices: BTreeMap::from([("small".to_owned(), PRICE)]),
            slots: 1,
            tasks: std::collections::BTreeSet::new(),
            task_limits: std::collections::BTreeMap::new(),
            lease: LEASE,
            worker: "worker-1".to_owned(),
            build: "test",
        }
    }

    pub fn new_commit(&self, claimed: &Claimed, close: AttemptClose, then: Then) -> StepCommit {
        StepCommit {
            job_id: claimed.job_id,
            attempt_id: claimed.attempt_id,
            fence: claimed.fence,
            incarnation: self.store().origin().incarnation,
            close,
            then,
        }
    }
}

pub fn used(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage { input_tokens, output_tokens, ..Usage::default() }
}

/// An attempt that ended like this.
pub fn closed(outcome: Outcome, failure: Option<FailureClass>, usage: Option<Usage>) -> AttemptClose {
    AttemptClose {
        outcome,
        failure: failure.map(|class| Failure::new(class, "it went wrong")),
        usage,
        provider_request_id: Some("req-1".to_owned()),
        provider_model: Some("small-2026".to_owned()),
        count_tokens: CountTokens::Reserved,
        cooldown: None,
    }
}

/// An attempt that brought an answer.
pub fn succeeded(usage: Usage) -> AttemptClose {
    closed(Outcome::Succeeded, None, Some(usage))
}

/// An attempt that the provider answered with an error.
pub fn failed(class: FailureClass) -> AttemptClose {
    closed(Outcome::FailedAfterSend, Some(class), None)
}

/// An attempt of which nothing left.
pub fn not_sent() -> AttemptClose {
    closed(Outcome::FailedBeforeSend, Some(FailureClass::NotSent), None)
}

fn entry() -> Bytes {
    Bytes::Inline(br#"{"answer":"yes"}"#.to_vec())
}

pub fn next(step: NewStep) -> Then {
    Then::Next { entry: entry(), step }
}

pub fn succeed() -> Then {
    succeed_about(None)
}

/// A success of a job that is about this.
pub fn succeed_about(fingerprint: Option<Digest>) -> Then {
    let output = Bytes::Inline(br#""yes""#.to_vec());
    let result = NewResult { output, provenance: b"{}".to_vec() };
    Then::Succeed { entry: entry(), result, fingerprint }
}

/// How long a person has for the builder's reviews.
pub const REVIEW_DUE: Millis = Millis::from_secs(3_600);

fn doubt() -> NewReview {
    NewReview {
        due_in: REVIEW_DUE,
        due_default: ReviewDefault::None,
        findings: br#"[{"code":"line_sum","pointer":"/total"}]"#.to_vec(),
        output: Some(Bytes::Inline(br#"{"total":"1.10"}"#.to_vec())),
        provenance: br#"{"policy":"invoice@1"}"#.to_vec(),
    }
}

pub fn review() -> Then {
    review_with(|review| review)
}

/// As above, with another review than the builder's.
pub fn review_with(change: impl FnOnce(NewReview) -> NewReview) -> Then {
    let failure = Failure::new(FailureClass::PolicyFailed, "the sum is wrong");
    Then::Review { entry: Some(entry()), failure, review: change(doubt()) }
}

/// A try that failed, and a task with the default word on retries.
pub fn try_failed(class: FailureClass) -> Then {
    Then::Fail(failure_of(class, OnUnknown::Retry), doubt())
}

/// What maintenance says of a worker that was not heard of.
pub fn lost(on_unknown: OnUnknown) -> Failed {
    failure_of(FailureClass::WorkerLost, on_unknown)
}

fn failure_of(class: FailureClass, on_unknown: OnUnknown) -> Failed {
    let charged = class.facts().charge == forebay_core::failure::Charge::Uncertain;
    Failed {
        // The store fills in fence and time.
        fence: 0,
        now: Timestamp::from_millis(0),
        outcome: if charged { Outcome::Unknown } else { Outcome::FailedAfterSend },
        failure: Failure::new(class, "it went wrong"),
        hint: None,
        on_unknown,
        retry: RetryPolicy::default(),
        attempt_total: Millis::from_secs(120),
        random: 0.5,
    }
}
