//! Reviews that nobody decided in time: what their task declares for that is decided, or an alert is given.

use forebay_core::review::ReviewDefault;
use forebay_store::StoreError;
use forebay_store::record::{Actor, DueReview};
use tracing::warn;

use super::PAGE;
use crate::app::App;
use crate::review::{self, Asked, Refused, What};

/// What is said of a decision that nobody made.
const BY_DEFAULT: &str = "nobody decided until the due time, and the task declares this decision for that";

pub(super) async fn decide_or_alert(app: &App) -> Result<(), StoreError> {
    for due in app.store.due_reviews(PAGE).await? {
        match what(&due) {
            Some(what) => by_default(app, due, what).await,
            None => alert(app, &due).await,
        }
    }
    Ok(())
}

/// What is decided by itself. Where nothing is there to be approved, a person has to look all the same.
fn what(due: &DueReview) -> Option<What> {
    match due.due_default {
        ReviewDefault::Approve => due.has_output.then_some(What::Approve),
        ReviewDefault::Reject => Some(What::Reject),
        ReviewDefault::None => None,
    }
}

/// Decides under the conditions that a person decides under: about the version that was read, and not while
/// somebody holds the review.
async fn by_default(app: &App, due: DueReview, what: What) {
    let asked = Asked {
        tenant: due.tenant,
        job_id: due.job_id,
        seen: due.state_version,
        what,
        comment: Some(BY_DEFAULT.to_owned()),
        by: Actor::program(),
    };
    match review::decide(app, asked).await {
        // Decided, cancelled or taken by somebody since it was read.
        Ok(_) | Err(Refused::Review(_) | Refused::Schema(_)) => {}
        Err(Refused::Unreadable(reason) | Refused::TooSoon(reason)) => {
            warn!(reason, job = %due.job_id, "could not be decided")
        }
        Err(Refused::Store(error)) => warn!(%error, job = %due.job_id, "could not be decided"),
    }
}

async fn alert(app: &App, due: &DueReview) {
    match app.store.alert_review(due.job_id, due.generation).await {
        Ok(true) => warn!(job = %due.job_id, "a review is overdue: nobody has decided it in time"),
        Ok(false) => {}
        Err(error) => warn!(%error, job = %due.job_id, "could not be noted as overdue"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_core::id::JobId;

    fn decided(due_default: ReviewDefault, has_output: bool) -> Option<&'static str> {
        let due = DueReview {
            tenant: 1,
            job_id: JobId::from_bytes([0; 16]),
            generation: 1,
            state_version: 3,
            due_default,
            has_output,
        };
        what(&due).map(|what| match what {
            What::Approve => "approve",
            What::Reject => "reject",
            What::Correct(_) | What::Rerun(_) => "something else",
        })
    }

    #[test]
    fn only_what_is_declared_and_possible_is_decided_by_itself() {
        assert_eq!(decided(ReviewDefault::None, true), None);
        assert_eq!(decided(ReviewDefault::Approve, true), Some("approve"));
        assert_eq!(decided(ReviewDefault::Approve, false), None, "there is nothing to approve");
        assert_eq!(decided(ReviewDefault::Reject, false), Some("reject"));
    }
}
