//! The closed list of failure classes and what each one means for the job, the ledger and the reader.

use serde::{Deserialize, Serialize};

/// Why an attempt or a job failed. The list is closed: whatever goes wrong is one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(
    missing_docs,
    reason = "each class is explained in FailureClass::facts, which the docs are tested against"
)]
pub enum FailureClass {
    NotSent,
    RateLimited,
    Overloaded,
    QuotaExhausted,
    Auth,
    InvalidRequest,
    TimeoutConnect,
    TimeoutFirstByte,
    TimeoutIdle,
    TimeoutTotal,
    StreamBroken,
    ProviderError,
    TooLarge,
    Truncated,
    Refused,
    ContentFiltered,
    InvalidOutput,
    SchemaMismatch,
    PolicyFailed,
    Rejected,
    ToolFailed,
    DocumentUnavailable,
    WorkerLost,
    Deadline,
    Budget,
    Cancelled,
    AttemptsExhausted,
    Undecodable,
    Internal,
}

/// What happens to the step after a failure of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Tried again after a backoff while attempts and time are left.
    Backoff,
    /// Tried again when the provider's limit allows; bounded by deferrals and the deadline, not by attempts.
    Defer,
    /// Not tried again: the job fails.
    Never,
    /// Not tried again: a person decides.
    Review,
}

/// Who has to change something so that it does not happen again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Fault {
    Provider,
    Caller,
    Model,
    Operator,
    Forebay,
    Person,
}

/// Whether the provider may bill the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    /// Nothing was billed.
    No,
    /// What the provider reported was billed.
    Reported,
    /// It may have been billed; the reservation stays on the books.
    Uncertain,
}

/// One row of the table of failure classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// What happens next.
    pub retry: Retry,
    /// Whether the attempt counts against the step's maximum.
    pub counts: bool,
    /// Whether money is due.
    pub charge: Charge,
    /// Whose fault it is.
    pub fault: Fault,
    /// What it means, in one sentence.
    pub meaning: &'static str,
}

use FailureClass as F;

impl FailureClass {
    /// Every class, in the order of the documentation.
    pub const ALL: [FailureClass; 29] = [
        F::NotSent,
        F::RateLimited,
        F::Overloaded,
        F::QuotaExhausted,
        F::Auth,
        F::InvalidRequest,
        F::TimeoutConnect,
        F::TimeoutFirstByte,
        F::TimeoutIdle,
        F::TimeoutTotal,
        F::StreamBroken,
        F::ProviderError,
        F::TooLarge,
        F::Truncated,
        F::Refused,
        F::ContentFiltered,
        F::InvalidOutput,
        F::SchemaMismatch,
        F::PolicyFailed,
        F::Rejected,
        F::ToolFailed,
        F::DocumentUnavailable,
        F::WorkerLost,
        F::Deadline,
        F::Budget,
        F::Cancelled,
        F::AttemptsExhausted,
        F::Undecodable,
        F::Internal,
    ];

    /// The name in the API, the database and the metrics.
    pub const fn name(self) -> &'static str {
        match self {
            F::NotSent => "not_sent",
            F::RateLimited => "rate_limited",
            F::Overloaded => "overloaded",
            F::QuotaExhausted => "quota_exhausted",
            F::Auth => "auth",
            F::InvalidRequest => "invalid_request",
            F::TimeoutConnect => "timeout_connect",
            F::TimeoutFirstByte => "timeout_first_byte",
            F::TimeoutIdle => "timeout_idle",
            F::TimeoutTotal => "timeout_total",
            F::StreamBroken => "stream_broken",
            F::ProviderError => "provider_error",
            F::TooLarge => "too_large",
            F::Truncated => "truncated",
            F::Refused => "refused",
            F::ContentFiltered => "content_filtered",
            F::InvalidOutput => "invalid_output",
            F::SchemaMismatch => "schema_mismatch",
            F::PolicyFailed => "policy_failed",
            F::Rejected => "rejected",
            F::ToolFailed => "tool_failed",
            F::DocumentUnavailable => "document_unavailable",
            F::WorkerLost => "worker_lost",
            F::Deadline => "deadline",
            F::Budget => "budget",
            F::Cancelled => "cancelled",
            F::AttemptsExhausted => "attempts_exhausted",
            F::Undecodable => "undecodable",
            F::Internal => "internal",
        }
    }

    /// The class of that name.
    pub fn from_name(name: &str) -> Option<FailureClass> {
        Self::ALL.into_iter().find(|class| class.name() == name)
    }

    /// What the class means for retry, counting, money and blame. `docs/failure-classes.md` is tested equal.
    #[allow(clippy::too_many_lines, reason = "one table, one row a class")]
    pub const fn facts(self) -> Facts {
        use Charge as C;
        use Fault::{Caller, Forebay, Model, Operator, Person, Provider};
        use Retry as R;
        const fn row(retry: R, counts: bool, charge: C, fault: Fault, meaning: &'static str) -> Facts {
            Facts { retry, counts, charge, fault, meaning }
        }
        match self {
            F::NotSent => row(
                R::Backoff,
                true,
                C::No,
                Provider,
                "the request never left: name not found, connection refused, TLS failed",
            ),
            F::RateLimited => row(
                R::Defer,
                false,
                C::No,
                Provider,
                "the provider's limit for requests or tokens is used up for now",
            ),
            F::Overloaded => row(
                R::Backoff,
                true,
                C::No,
                Provider,
                "the provider says that it has no capacity (503, 529, 498)",
            ),
            F::QuotaExhausted => {
                row(R::Defer, false, C::No, Operator, "the account's quota or credit at the provider is gone")
            }
            F::Auth => row(
                R::Never,
                true,
                C::No,
                Operator,
                "the provider refuses our credentials or the use of this model",
            ),
            F::InvalidRequest => row(
                R::Never,
                true,
                C::No,
                Caller,
                "the provider refuses the request itself: a bad parameter, or more than the model's context",
            ),
            F::TimeoutConnect => {
                row(R::Backoff, true, C::No, Provider, "no connection within the connect deadline")
            }
            F::TimeoutFirstByte => row(
                R::Backoff,
                true,
                C::Uncertain,
                Provider,
                "the request was sent, and no byte of an answer came in time",
            ),
            F::TimeoutIdle => row(
                R::Backoff,
                true,
                C::Uncertain,
                Provider,
                "the answer began and then nothing came for too long",
            ),
            F::TimeoutTotal => row(
                R::Backoff,
                true,
                C::Uncertain,
                Provider,
                "the answer was not complete within the attempt's total time",
            ),
            F::StreamBroken => row(
                R::Backoff,
                true,
                C::Uncertain,
                Provider,
                "the connection ended, or an error came, before the answer said that it was complete",
            ),
            F::ProviderError => row(
                R::Backoff,
                true,
                C::No,
                Provider,
                "the provider answered with an error of its own (500, 502, 504, or not readable)",
            ),
            F::TooLarge => {
                row(R::Never, true, C::Uncertain, Model, "the answer is larger than Forebay reads")
            }
            F::Truncated => row(
                R::Never,
                true,
                C::Reported,
                Caller,
                "the model stopped at its output limit, so the answer is cut",
            ),
            F::Refused => row(R::Never, true, C::Reported, Model, "the model declined to answer"),
            F::ContentFiltered => row(
                R::Never,
                true,
                C::Reported,
                Provider,
                "the provider's content filter stopped the request or the answer",
            ),
            F::InvalidOutput => row(
                R::Review,
                true,
                C::Reported,
                Model,
                "the answer is not what was asked for: empty, not JSON, or a call of a tool that nobody offered",
            ),
            F::SchemaMismatch => {
                row(R::Review, true, C::Reported, Model, "the answer is JSON, but not of the task's schema")
            }
            F::PolicyFailed => {
                row(R::Review, true, C::Reported, Model, "the answer fails the task's validation policy")
            }
            F::Rejected => row(R::Never, true, C::No, Person, "a person rejected the result in review"),
            F::ToolFailed => row(R::Backoff, true, C::No, Operator, "a tool that the task uses failed"),
            F::DocumentUnavailable => row(
                R::Never,
                true,
                C::No,
                Caller,
                "the document is gone, differs from its digest, or holds no text",
            ),
            F::WorkerLost => row(
                R::Backoff,
                true,
                C::Uncertain,
                Forebay,
                "the process that ran the attempt died or lost its lease",
            ),
            F::Deadline => row(
                R::Never,
                true,
                C::No,
                Caller,
                "the job's deadline passed, or too little time was left for another attempt",
            ),
            F::Budget => row(
                R::Never,
                true,
                C::No,
                Operator,
                "the budget is used up and the task says to fail rather than wait",
            ),
            F::Cancelled => row(R::Never, true, C::No, Caller, "the caller cancelled the job"),
            F::AttemptsExhausted => row(
                R::Never,
                true,
                C::No,
                Provider,
                "the last allowed attempt or deferral was used; the attempts say what each one met",
            ),
            F::Undecodable => row(
                R::Backoff,
                true,
                C::No,
                Forebay,
                "the stored job can't be read by this build, or names what its revision does not have",
            ),
            F::Internal => row(R::Backoff, true, C::No, Forebay, "a fault of Forebay's own"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_read_back() {
        for class in FailureClass::ALL {
            assert_eq!(FailureClass::from_name(class.name()), Some(class));
        }
        let mut names: Vec<_> = FailureClass::ALL.map(FailureClass::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FailureClass::ALL.len());
    }

    #[test]
    fn serde_uses_the_same_names() {
        for class in FailureClass::ALL {
            assert_eq!(serde_json::to_value(class).unwrap(), class.name());
        }
    }

    #[test]
    fn only_deferrals_do_not_count_as_attempts() {
        for class in FailureClass::ALL {
            let facts = class.facts();
            assert_eq!(facts.counts, facts.retry != Retry::Defer, "{}", class.name());
        }
    }
}
