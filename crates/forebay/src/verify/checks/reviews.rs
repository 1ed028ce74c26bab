//! Decisions that persons owe: I21, I29, I32.

use std::collections::HashMap;

use crate::verify::records::{Event, Job, Review};
use crate::verify::report::{About, Findings, Invariant as I};
use crate::verify::world::World;

pub(super) fn check(world: &World<'_>, findings: &mut Findings) {
    let events: HashMap<i64, &Event> = world.store.events.iter().map(|event| (event.seq, event)).collect();
    let mut audited: HashMap<(&str, &str), usize> = HashMap::new();
    for row in &world.store.audit {
        *audited.entry((&row.action, &row.subject)).or_default() += 1;
    }
    for job in &world.store.jobs {
        open(world, job, findings);
        for review in world.reviews(job.id) {
            due(world, job, review, findings);
            if review.decided_at.is_some() && review.decision.as_deref() != Some("cancelled") {
                decided(job, review, &events, findings);
            }
        }
        recorded(world, job, &audited, findings);
    }
}

/// A review is open while its job is in review, and only then (I32).
fn open(world: &World<'_>, job: &Job, findings: &mut Findings) {
    let reviews = world.reviews(job.id);
    let open = reviews.iter().filter(|review| review.decided_at.is_none()).count();
    let expected = usize::from(job.state == "REVIEW_REQUIRED");
    findings.check(
        I::I32,
        About::job(job.id),
        open == expected,
        "a review is open while its job is in review",
        || vec![format!("jobs: {}", job.state), format!("reviews: {open} open")],
    );
    for review in reviews {
        let whole = review.decided_at.is_some() == review.decision.is_some();
        findings.check(I::I32, About::job(job.id), whole, "a decision has its time", || {
            vec![format!("{review:?}")]
        });
    }
}

/// A review that nobody decides is visible from its due time on (I29).
fn due(world: &World<'_>, job: &Job, review: &Review, findings: &mut Findings) {
    if review.decided_at.is_some() || world.outside.clock_moved {
        return;
    }
    let seen = review.alerted_at.is_some() || review.due_at + world.outside.grace >= world.now;
    findings.check(
        I::I29,
        About::job(job.id),
        seen,
        "a review is past its due time and nobody was told",
        || {
            vec![
                format!("reviews: due_at {}", review.due_at),
                format!("events: the store lived until {}", world.now),
            ]
        },
    );
}

/// A decision is one transaction with the event that it brought about, and is somebody's: a key's, or the default that
/// was declared, after the due time (I21).
fn decided(job: &Job, review: &Review, events: &HashMap<i64, &Event>, findings: &mut Findings) {
    let about = About::job(job.id);
    let led_to = match review.decision.as_deref() {
        Some("approve" | "correct") => "succeeded",
        Some("reject") => "failed",
        Some("rerun") => "ready",
        _ => "",
    };
    let event = review.decided_seq.and_then(|seq| events.get(&seq)).filter(|event| event.job == job.id);
    let with_event = event.is_some_and(|event| {
        event.kind == led_to
            && Some(event.at) == review.decided_at
            && review.decided_version == Some(event.state_version - 1)
    });
    findings.check(I::I21, about, with_event, "a decision is written with what it brings about", || {
        vec![format!("{review:?}"), format!("events: {:?}", event.map(|event| (&event.kind, event.at)))]
    });
    let declared = review.decision.as_deref() == Some(&*review.due_default);
    let by_default = declared && review.decided_at >= Some(review.due_at);
    let somebody = review.decided_by.is_some() || by_default;
    findings.check(I::I21, about, somebody, "a decision is somebody's", || vec![format!("{review:?}")]);
}

/// Each decision is audited once (I32).
fn recorded(world: &World<'_>, job: &Job, audited: &HashMap<(&str, &str), usize>, findings: &mut Findings) {
    let subject = job.id.named("job");
    for decision in ["approve", "correct", "reject", "rerun"] {
        let made = world
            .reviews(job.id)
            .iter()
            .filter(|review| review.decision.as_deref() == Some(decision))
            .count();
        let action = format!("review.{decision}");
        let rows = audited.get(&(action.as_str(), subject.as_str())).copied().unwrap_or_default();
        if made + rows > 0 {
            findings.check(I::I32, About::job(job.id), made == rows, "each decision is audited once", || {
                vec![format!("reviews: {made} {decision}"), format!("audit: {rows} {action}")]
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::checks::testing::{Case, case, is_found};

    fn broken(change: impl FnOnce(&mut Case)) -> Vec<(I, String)> {
        case().broken_by(change, check)
    }

    #[test]
    fn a_sound_store_passes() {
        assert_eq!(broken(|_| {}), []);
    }

    #[test]
    fn decisions_that_do_not_fit_are_noticed() {
        let change = |change: fn(&mut Review)| broken(move |case| change(case.review_mut(case.approved)));
        is_found(&change(|review| review.decided_at = None), I::I32, "is open while");
        is_found(&change(|review| review.decision = None), I::I32, "has its time");
        is_found(&change(|review| review.decided_by = None), I::I21, "somebody's");
        is_found(&change(|review| review.decided_version = Some(1)), I::I21, "brings about");
        is_found(&change(|review| review.decision = Some("reject".to_owned())), I::I21, "brings about");
        is_found(&change(|review| review.decision = Some("correct".to_owned())), I::I32, "audited once");
        let twice = broken(|case| {
            let again = case.store.audit.iter().find(|row| row.action == "review.approve").unwrap().clone();
            case.store.audit.push(again);
        });
        is_found(&twice, I::I32, "audited once");
    }

    #[test]
    fn a_review_that_nobody_hears_of_is_noticed() {
        let found = broken(|case| {
            let job = case.approved;
            case.job_mut(job).state = "REVIEW_REQUIRED".to_owned();
            let review = case.review_mut(job);
            (review.decided_at, review.due_at) = (None, 1);
        });
        is_found(&found, I::I29, "nobody was told");
    }
}
