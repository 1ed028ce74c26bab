//! `submit`: a new job, READY at once or from a time on.

use super::Change;
use crate::event::EventType;
use crate::job::{Job, State};
use crate::time::Timestamp;

/// What the times of a new job are.
#[derive(Debug, Clone, Copy)]
pub struct Submitted {
    /// Now, by the store's clock.
    pub now: Timestamp,
    /// Not to be claimed earlier than this; now where absent.
    pub not_before: Option<Timestamp>,
    /// Until when machines may work on it.
    pub deadline: Timestamp,
}

/// Makes a job.
pub fn submit(submitted: &Submitted) -> Change {
    let available_at = submitted.not_before.unwrap_or(submitted.now).max(submitted.now);
    let job = Job {
        state: State::Ready,
        state_version: 1,
        fence: 0,
        generation: 1,
        step: 1,
        attempts: 0,
        deferrals: 0,
        step_since: available_at,
        available_at,
        lease_until: None,
        deadline: submitted.deadline,
        open_children: 0,
        failure: None,
    };
    Change { job, event: EventType::Accepted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::testing::NOW;
    use crate::time::Millis;

    #[test]
    fn a_new_job_is_due_at_once_or_later_but_never_earlier() {
        let at = |not_before| submit(&Submitted { now: NOW, not_before, deadline: NOW }).job.available_at;
        let later = NOW.after(Millis::new(1));
        assert_eq!(at(None), NOW);
        assert_eq!(at(Some(later)), later);
        assert_eq!(at(Some(Timestamp::from_millis(0))), NOW);
    }
}
