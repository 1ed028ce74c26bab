//! What the other parts' refusals and failures are to a caller.

use forebay_core::request::fault::{MemberCode, MemberFault};
use forebay_core::request::json::JsonFault;
use forebay_core::time::Millis;
use forebay_store::StoreError;
use forebay_store::record::{RateLimited, ReviewRefused};
use tracing::error;

use super::{Code, ErrorItem, Problem};
use crate::accept::Refused;
use crate::definitions::DefinitionFault;
use crate::review;
use crate::revisions::RevisionError;

/// When to come back after the store could not take a write.
const STORE_RETRY: Millis = Millis::from_secs(2);
/// When to come back after a quota or the system was full: jobs end all the time.
const FULL_RETRY: Millis = Millis::from_secs(5);
/// When to come back after the budget was used up; nobody knows when it is raised.
const BUDGET_RETRY: Millis = Millis::from_secs(60);
/// Faults of definitions that one answer tells.
const MOST_FAULTS: usize = 100;

impl From<StoreError> for Problem {
    /// The one place where a failed store is logged on behalf of a request.
    fn from(failure: StoreError) -> Self {
        error!(error = %failure, "the store failed a request");
        match failure {
            StoreError::Unknown(_) => {
                let detail = "whether the store has taken this is not known: the same request under the same \
                              Idempotency-Key does nothing twice";
                Problem::new(Code::Overloaded, detail).retry_after(STORE_RETRY)
            }
            StoreError::Unavailable(_) | StoreError::Unreachable(_) | StoreError::Raced(_) => {
                Problem::new(Code::Overloaded, "the store can't take this at the moment")
                    .retry_after(STORE_RETRY)
            }
            StoreError::InUse { .. }
            | StoreError::Incompatible { .. }
            | StoreError::Corrupt(_)
            | StoreError::Damaged { .. }
            | StoreError::Database(_)
            | StoreError::Blob { .. } => Problem::internal(),
        }
    }
}

impl From<JsonFault> for Problem {
    fn from(fault: JsonFault) -> Self {
        let item = ErrorItem {
            pointer: fault.pointer.clone(),
            message: fault.message.clone(),
            line: Some(fault.line),
            column: Some(fault.column),
            ..ErrorItem::default()
        };
        Problem::new(Code::InvalidJson, fault.to_string()).with_errors(vec![item])
    }
}

impl From<MemberCode> for Code {
    fn from(code: MemberCode) -> Self {
        match code {
            MemberCode::InvalidMember => Code::InvalidMember,
            MemberCode::MissingMember => Code::MissingMember,
            MemberCode::UnknownMember => Code::UnknownMember,
        }
    }
}

impl From<Vec<MemberFault>> for Problem {
    /// All faults of a body at once; the problem's code is that of the first.
    fn from(faults: Vec<MemberFault>) -> Self {
        let code = faults.first().map_or(Code::InvalidMember, |fault| fault.code.into());
        let detail = match faults.as_slice() {
            [] => "the body is not what is expected".to_owned(),
            [one] => one.to_string(),
            [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
        };
        let items = faults.into_iter().map(|fault| ErrorItem {
            code: Some(fault.code.name()),
            ..ErrorItem::at(fault.pointer, fault.message)
        });
        Problem::new(code, detail).with_errors(items.collect())
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        let detail = refused.to_string();
        match refused {
            Refused::Json(fault) => fault.into(),
            Refused::Members(faults) => faults.into(),
            Refused::UnknownTask { pointer, .. } => {
                let item = ErrorItem::at(pointer, detail.clone());
                Problem::new(Code::UnknownTask, detail).with_errors(vec![item])
            }
            Refused::BatchCut { batch, failure } => {
                let problem = Problem::from(failure);
                let detail = format!(
                    "{}; {batch} has what was taken in before: the same call under the same key goes on from there",
                    problem.detail()
                );
                Problem::new(problem.code(), detail).retry_after(STORE_RETRY)
            }
            Refused::KeyReused { .. } | Refused::BatchKeyReused { .. } => {
                Problem::new(Code::IdempotencyKeyReused, detail)
            }
            Refused::TenantFull { .. } => Problem::new(Code::QuotaExceeded, detail).retry_after(FULL_RETRY),
            Refused::SystemFull { .. } => Problem::new(Code::Overloaded, detail).retry_after(FULL_RETRY),
            Refused::TooFast(RateLimited { retry_after, rates, .. }) => {
                Problem::new(Code::RateLimited, detail).retry_after(retry_after).with_rates(rates)
            }
            Refused::Budget { .. } => Problem::new(Code::BudgetExhausted, detail).retry_after(BUDGET_RETRY),
            Refused::NoTenant => Problem::new(Code::Unauthorized, detail),
            Refused::NoJob => Problem::not_found(),
            Refused::NotFailed { .. } | Refused::Replayed { .. } => Problem::new(Code::Conflict, detail),
            Refused::Unreadable(reason) => {
                error!(reason, "a job can't be prepared");
                Problem::internal()
            }
            Refused::Store(failure) => failure.into(),
        }
    }
}

impl From<ReviewRefused> for Problem {
    fn from(refused: ReviewRefused) -> Self {
        let conflict = |detail: String| Problem::new(Code::Conflict, detail);
        match refused {
            ReviewRefused::NoJob => Problem::not_found(),
            ReviewRefused::NotOpen(state) => {
                conflict(format!("there is nothing to decide: the job is {}", state.name()))
            }
            ReviewRefused::Rules(refusal) => conflict(refusal.to_string()),
            ReviewRefused::Held(claim) => {
                conflict(format!("`{}` holds this review until {}", claim.name, claim.until))
            }
        }
    }
}

impl From<review::Refused> for Problem {
    fn from(refused: review::Refused) -> Self {
        match refused {
            review::Refused::Review(refused) => refused.into(),
            review::Refused::Schema(findings) => {
                let detail = "the output does not satisfy the task's schema";
                let items = findings.into_iter().map(|finding| ErrorItem {
                    code: Some(Code::InvalidMember.name()),
                    ..ErrorItem::at(format!("/output{}", finding.pointer), finding.message)
                });
                Problem::new(Code::InvalidMember, detail).with_errors(items.collect())
            }
            review::Refused::TooSoon(message) => {
                let items = vec![ErrorItem::at("/deadline".to_owned(), message.clone())];
                Problem::new(Code::InvalidMember, message).with_errors(items)
            }
            review::Refused::Unreadable(reason) => {
                error!(reason, "a review can't be decided so");
                let detail = format!(
                    "what this decision needs can't be read any more ({reason}): approve or reject, or submit the work anew"
                );
                Problem::new(Code::Conflict, detail)
            }
            review::Refused::Store(failure) => failure.into(),
        }
    }
}

impl From<RevisionError> for Problem {
    fn from(failure: RevisionError) -> Self {
        match failure {
            RevisionError::Faults(faults) => {
                let what = format!("the definitions have {} faults", faults.len());
                definitions(Code::InvalidMember, &what, &faults)
            }
            RevisionError::Unusable { number, faults } => {
                let what = format!("this build can't use the definitions of revision {number}");
                definitions(Code::Conflict, &what, &faults)
            }
            RevisionError::Moved { .. } => Problem::new(Code::Conflict, failure.to_string()),
            RevisionError::Unknown(number) => {
                Problem::new(Code::NotFound, format!("there is no revision {number}"))
            }
            RevisionError::Store(failure) => failure.into(),
        }
    }
}

/// Definitions that can't be used, fault by fault, with the place in their text.
fn definitions(code: Code, what: &str, faults: &[DefinitionFault]) -> Problem {
    let items = faults.iter().take(MOST_FAULTS).map(|fault| ErrorItem {
        pointer: Some(format!("/{}", fault.key.replace('.', "/"))).filter(|pointer| pointer.len() > 1),
        code: Some(Code::InvalidMember.name()),
        message: fault.to_string(),
        line: Some(fault.line),
        column: Some(fault.column),
        ..ErrorItem::default()
    });
    let first = faults.first().map(ToString::to_string).unwrap_or_default();
    Problem::new(code, format!("{what}; the first: {first}")).with_errors(items.collect())
}
