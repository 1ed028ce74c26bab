//! Heartbeats, and what maintenance does, each time on the row as it is now (I12, I13, I15, I29).

use forebay_core::attempt::Outcome;
use forebay_core::definition::OnUnknown;
use forebay_core::event::EventType;
use forebay_core::failure::FailureClass;
use forebay_core::job::State;
use forebay_core::money::Micros;
use forebay_core::time::Millis;
use forebay_store::record::{Actor, Claim, Claimed, Held, NewJob};

use crate::bundle::{Bundle, LEASE, REVIEW_DUE, review, succeeded, used};

async fn extend(b: &Bundle, claimed: &Claimed) -> bool {
    let held = Held { job_id: claimed.job_id, attempt_id: claimed.attempt_id, fence: claimed.fence };
    b.store().extend(vec![held], LEASE).await.unwrap()[0].kept
}

pub async fn an_extension_keeps_what_is_held(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    for _ in 0..4 {
        b.wait(Millis::new(LEASE.get() - 1));
        assert!(extend(b, &claimed).await);
        assert_eq!(b.job(job).await.job.lease_until, Some(b.now().after(LEASE)));
    }
    assert_eq!(b.lapsed().await, []);
}

pub async fn an_extension_moves_the_lease_of_the_grant_too(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    b.wait_secs(20);
    assert!(extend(b, &claimed).await);
    b.store().cancel(b.alpha, job, Actor::program()).await.unwrap();
    b.wait(Millis::new(LEASE.get() - 1));
    assert_eq!(b.store().sweep_grants(9).await.unwrap(), 0);
    b.wait(Millis::new(1));
    assert_eq!(b.store().sweep_grants(9).await.unwrap(), 1);
}

pub async fn a_stale_or_lapsed_owner_extends_nothing(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    let stale = Claimed { fence: claimed.fence + 1, ..claimed.clone() };
    assert!(!extend(b, &stale).await, "another fence");
    let unknown = Claimed { job_id: b.store().new_job_id(), ..claimed.clone() };
    assert!(!extend(b, &unknown).await, "no such job");
    let other = b.accept_one().await;
    let theirs = b.claim_one().await;
    b.store().cancel(b.alpha, other, Actor::program()).await.unwrap();
    b.wait_secs(20);
    let mixed = Claimed { attempt_id: theirs.attempt_id, ..claimed.clone() };
    assert!(extend(b, &mixed).await, "the job is held");
    b.wait(Millis::new(LEASE.get() - 1));
    assert_eq!(b.store().sweep_grants(9).await.unwrap(), 1, "the grant of another job is not extended");
    b.wait(Millis::new(1));
    assert!(!extend(b, &claimed).await, "too late, though nobody else has taken it yet");
    b.rescue(job).await.unwrap();
    assert!(!extend(b, &claimed).await, "not running any more");
}

pub async fn an_extension_is_no_event(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    let before = b.job(job).await;
    b.wait_secs(10);
    assert!(extend(b, &claimed).await);
    let after = b.job(job).await;
    assert_eq!(after.job.state_version, before.job.state_version);
    assert_eq!(b.story(job).await, [EventType::Accepted, EventType::Claimed]);
}

pub async fn only_a_lapsed_lease_is_rescued(b: &Bundle) {
    let job = b.accept_one().await;
    assert_eq!(b.rescue(job).await, None, "it does not run");
    let claimed = b.claim_one().await;
    b.wait(Millis::new(LEASE.get() - 1));
    assert_eq!((b.lapsed().await, b.rescue(job).await), (vec![], None), "its owner may be at work");
    b.wait(Millis::new(1));
    assert_eq!(b.lapsed().await, [job]);
    b.succeed(&claimed).await;
    assert_eq!(b.rescue(job).await, None, "it came to an end meanwhile (I13)");
    assert_eq!(b.rescue(b.store().new_job_id()).await, None);
}

pub async fn a_rescue_takes_the_job_and_keeps_the_books(b: &Bundle) {
    let job = b.accept_one().await;
    b.claim_one().await;
    b.wait(LEASE);
    let rescued = b.rescue(job).await.unwrap();
    assert_eq!((rescued.job.state, rescued.job.fence, rescued.job.attempts), (State::RetryScheduled, 2, 1));
    let attempt = b.attempts(job).await.remove(0);
    assert_eq!((attempt.outcome, attempt.uncertain), (Some(Outcome::Unknown), Some(Micros(200))));
    assert_eq!(attempt.failure_class, Some(FailureClass::WorkerLost));
    assert_eq!(b.in_flight().await, 0, "the grant's lease has lapsed with the job's");
    let account = b.tenant(b.alpha).await.account;
    assert_eq!((account.reserved, account.uncertain), (Micros::ZERO, Micros(200)));
    assert_eq!(b.story(job).await.last(), Some(&EventType::RetryScheduled));
    assert_eq!(b.rescue(job).await, None, "once");
}

/// What a verb returns is what is stored.
pub async fn whoever_takes_a_job_is_told_what_it_has_used(b: &Bundle) {
    let soon = b.now().after(Millis::from_secs(300));
    let jobs = [
        b.accept_one().await,
        b.accept(NewJob { deadline: soon, ..b.new_job() }).await,
        b.accept_one().await,
    ];
    b.claim(3).await;
    b.wait_secs(300);
    let rescued = b.rescue(jobs[0]).await.unwrap();
    assert_eq!(rescued, b.job(jobs[0]).await);
    assert_eq!(rescued.usage.uncertain, Micros(200));
    let expired = b.store().expire(jobs[1]).await.unwrap().unwrap();
    assert_eq!(expired, b.job(jobs[1]).await);
    let cancelled = b.store().cancel(b.alpha, jobs[2], Actor::program()).await.unwrap().unwrap();
    let forebay_store::record::Cancelled::Done(cancelled) = cancelled else { panic!("it was running") };
    assert_eq!(*cancelled, b.job(jobs[2]).await);
}

pub async fn a_job_that_kills_its_workers_runs_out_of_attempts(b: &Bundle) {
    let job = b.accept_one().await;
    for nth in 1..=5 {
        b.claim_one().await;
        b.wait_secs(60);
        let state = b.rescue(job).await.unwrap().job.state;
        assert_eq!(state, if nth < 5 { State::RetryScheduled } else { State::FailedTerminal });
        b.wait_secs(60);
    }
    assert_eq!(b.job(job).await.job.failure.unwrap().class, FailureClass::AttemptsExhausted);
}

pub async fn a_rescue_may_ask_a_person(b: &Bundle) {
    let job = b.accept_one().await;
    b.claim_one().await;
    b.wait(LEASE);
    let rescued = b.rescue_with(job, OnUnknown::Review).await.unwrap();
    assert_eq!(rescued.job.state, State::ReviewRequired);
    let review = b.store().review(b.alpha, job).await.unwrap().unwrap();
    assert_eq!((review.output, review.decided), (None, None));
    assert_eq!(review.entry.due_at, b.now().after(REVIEW_DUE), "the task's word");
    assert!(!review.entry.has_output);
}

/// I29.
pub async fn a_deadline_ends_what_waits_for_machines(b: &Bundle) {
    let soon = b.now().after(Millis::from_secs(200));
    let job = || NewJob { deadline: soon, ..b.new_job() };
    let running = b.accept(job()).await;
    b.claim_one().await;
    let retrying = b.accept(job()).await;
    let claimed = b.claim_one().await;
    assert_eq!(b.fail(&claimed, FailureClass::ProviderError).await, State::RetryScheduled);
    let ready = b.accept(job()).await;
    b.wait_secs(200);
    let mut overdue = b.store().overdue(9).await.unwrap();
    overdue.sort();
    let mut all = vec![running, retrying, ready];
    all.sort();
    assert_eq!(overdue, all);
    for job in all {
        let expired = b.store().expire(job).await.unwrap().unwrap();
        assert_eq!(expired.job.state, State::FailedTerminal);
        assert_eq!(expired.job.failure.unwrap().class, FailureClass::Deadline);
        assert_eq!(b.store().expire(job).await.unwrap(), None, "once");
    }
    assert_eq!(b.attempts(running).await[0].outcome, Some(Outcome::Unknown));
    assert_eq!(b.tenant(b.alpha).await.pending_jobs, 0);
}

pub async fn a_deadline_does_not_end_a_review(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    b.commit_own(&claimed, succeeded(used(1, 1)), review()).await;
    b.wait_secs(7_200);
    assert_eq!(b.store().overdue(9).await.unwrap(), []);
    assert_eq!(b.store().expire(job).await.unwrap(), None);
}

pub async fn a_deadline_that_has_not_passed_ends_nothing(b: &Bundle) {
    let job = b.accept_one().await;
    b.wait(Millis::new(3_599_999));
    assert_eq!(b.store().overdue(9).await.unwrap(), []);
    assert_eq!(b.store().expire(job).await.unwrap(), None);
    b.wait(Millis::new(1));
    assert_eq!(b.store().overdue(9).await.unwrap(), [job]);
}

/// A call whose worker was told to stop, or is dead, holds its permit as long as it may be running.
pub async fn permits_of_closed_attempts_come_back_with_their_lease(b: &Bundle) {
    let job = b.accept_one().await;
    b.claim_one().await;
    b.store().cancel(b.alpha, job, Actor::program()).await.unwrap();
    assert_eq!(b.store().sweep_grants(9).await.unwrap(), 0);
    assert_eq!((b.in_flight().await, b.tenant(b.alpha).await.in_flight), (1, 1));
    b.wait(LEASE);
    assert_eq!(b.store().sweep_grants(9).await.unwrap(), 1);
    assert_eq!((b.in_flight().await, b.tenant(b.alpha).await.in_flight), (0, 0));
    assert_eq!(b.store().sweep_grants(9).await.unwrap(), 0);
}

pub async fn permits_of_open_attempts_stay(b: &Bundle) {
    b.accept_one().await;
    b.claim_one().await;
    b.wait(LEASE);
    assert_eq!(b.store().sweep_grants(9).await.unwrap(), 0, "rescue closes the attempt first");
    assert_eq!(b.in_flight().await, 1);
}

pub async fn the_longest_lapsed_comes_first(b: &Bundle) {
    b.accept_of(b.alpha, 3).await;
    let leases = [30, 10, 20];
    let mut lapse = Vec::new();
    for secs in leases {
        let claim = Claim { lease: Millis::from_secs(secs), ..b.new_claim() };
        lapse.push((secs, b.take(claim).await.claimed[0].job_id));
    }
    lapse.sort();
    b.wait_secs(60);
    let order: Vec<_> = lapse.into_iter().map(|(_, job)| job).collect();
    assert_eq!(b.lapsed().await, order);
    let lapsed = b.store().lapsed(2).await.unwrap();
    assert_eq!((lapsed.len(), &lapsed[0].task[..], lapsed[0].revision), (2, "chat", 1));
}

/// Whoever has looked and then stood still: others have done it, or the job has gone on since.
pub async fn who_acts_late_on_what_was_seen_changes_nothing(b: &Bundle) {
    let soon = b.now().after(Millis::from_secs(100));
    let (lapsed, overdue) = (b.accept_one().await, b.accept(NewJob { deadline: soon, ..b.new_job() }).await);
    b.claim(2).await;
    b.wait_secs(100);
    let mut seen = (b.lapsed().await, b.store().overdue(9).await.unwrap());
    seen.0.sort();
    let mut both = vec![lapsed, overdue];
    both.sort();
    assert_eq!(seen, (both, vec![overdue]));
    // Somebody else is faster, and a worker has the one job again, and a person the other one's work.
    b.rescue(lapsed).await.unwrap();
    b.store().expire(overdue).await.unwrap().unwrap();
    b.wait_secs(60);
    let claimed = b.claim_one().await;
    let replay = b.store().replay(super::letters::replay_of(b, overdue)).await.unwrap().unwrap().job_id;
    let before = (b.job(lapsed).await, b.job(overdue).await, b.job(replay).await);
    for job in [lapsed, overdue] {
        assert_eq!(b.rescue(job).await, None);
        assert_eq!(b.store().expire(job).await.unwrap(), None);
    }
    assert_eq!((b.job(lapsed).await, b.job(overdue).await, b.job(replay).await), before);
    b.succeed(&claimed).await;
}
