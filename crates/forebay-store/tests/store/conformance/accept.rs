//! Taking jobs in: once, durably, and within limits.

use std::collections::HashSet;

use forebay_core::digest::Digest;
use forebay_core::event::EventType;
use forebay_core::job::{Priority, State};
use forebay_core::money::Micros;
use forebay_core::time::Millis;
use forebay_store::record::{AcceptRefused, Accepted, Bytes, NewDocument, NewJob, TenantSettings};

use crate::bundle::Bundle;

/// I1: no event for a missing job, no accepted job without a durable way to run.
pub async fn a_job_and_its_event_come_together(b: &Bundle) {
    let job = b.accept_one().await;
    assert_eq!(b.story(job).await, [EventType::Accepted]);
    let record = b.job(job).await;
    assert_eq!((record.job.state, record.job.state_version, record.job.fence), (State::Ready, 1, 0));
    assert_eq!(b.claim_ids(1).await, [job]);
}

/// I2, I9: a replay finds the first job as it is, whatever has become of it.
pub async fn same_key_same_request_is_the_same_job(b: &Bundle) {
    let job = b.accept(b.keyed_job("order-1")).await;
    let again = |state| Ok(Accepted { job_id: job, state, replayed: true, rates: Vec::new() });
    assert_eq!(b.submit(b.keyed_job("order-1")).await, again(State::Ready));
    let claimed = b.claim_one().await;
    assert_eq!(b.submit(b.keyed_job("order-1")).await, again(State::Running));
    b.succeed(&claimed).await;
    let ended = b.job(job).await;
    assert_eq!(b.submit(b.keyed_job("order-1")).await, again(State::Succeeded));
    assert_eq!(b.job(job).await, ended);
    assert_eq!(b.all_jobs(b.alpha).await.len(), 1);
}

/// I2: a repeated request that nothing would take any more is still the first one's job.
pub async fn a_key_tells_what_it_stands_for(b: &Bundle) {
    let keyed = b.keyed_job("order-1");
    let (key, digest) = (keyed.idempotency_key.clone().unwrap(), keyed.body_digest);
    let job = b.accept(keyed).await;
    let known = Accepted { job_id: job, state: State::Ready, replayed: true, rates: Vec::new() };
    let store = b.store();
    assert_eq!(store.accepted_before(b.alpha, key.clone(), digest).await.unwrap(), Some(Ok(known)));
    let other = Digest::of(b"other");
    let reused = Some(Err(AcceptRefused::KeyReused { job_id: job }));
    assert_eq!(store.accepted_before(b.alpha, key.clone(), other).await.unwrap(), reused);
    assert_eq!(store.accepted_before(b.beta, key.clone(), digest).await.unwrap(), None);
    assert_eq!(store.accepted_before(b.alpha, "order-2".to_owned(), digest).await.unwrap(), None);
}

/// I20: what was accepted is answered, also when nothing new is taken.
pub async fn a_replay_passes_no_admission(b: &Bundle) {
    let job = b.accept(b.keyed_job("order-1")).await;
    b.allow(b.alpha, TenantSettings { max_pending_jobs: Some(1), ..TenantSettings::default() }).await;
    assert_eq!(b.submit(b.new_job()).await, Err(AcceptRefused::TenantFull { limit: 1 }));
    let replay = NewJob { max_pending: 0, refuse_above_budget: Some(Micros(9)), ..b.keyed_job("order-1") };
    assert_eq!(
        b.submit(replay).await,
        Ok(Accepted { job_id: job, state: State::Ready, replayed: true, rates: Vec::new() })
    );
}

pub async fn a_key_that_has_expired_stands_for_nothing(b: &Bundle) {
    let ttl = Millis::from_secs(60);
    let keyed = || NewJob { idempotency_ttl: ttl, ..b.keyed_job("order-1") };
    let first = b.accept(keyed()).await;
    b.wait(Millis::new(59_999));
    assert!(b.submit(keyed()).await.unwrap().replayed, "the key holds to its last millisecond");
    b.wait(Millis::new(1));
    let other = NewJob { body_digest: Digest::of(b"other"), ..keyed() };
    let second = b.accept(other).await;
    assert_ne!(second, first);
    assert_eq!(b.submit(keyed()).await, Err(AcceptRefused::KeyReused { job_id: second }));
    assert_eq!(b.state(first).await, State::Ready, "the job that it stood for is untouched");
}

/// I2: the refusal has no side effect.
pub async fn same_key_other_request_is_refused_and_leaves_no_trace(b: &Bundle) {
    let first = b.accept(b.keyed_job("order-1")).await;
    let (jobs, events) = (b.all_jobs(b.alpha).await, b.events(b.alpha, None).await);
    let other = || NewJob { body_digest: Digest::of(b"other"), ..b.keyed_job("order-1") };
    assert_eq!(b.submit(other()).await, Err(AcceptRefused::KeyReused { job_id: first }));
    assert_eq!(b.all_jobs(b.alpha).await, jobs);
    assert_eq!(b.events(b.alpha, None).await, events);
    assert_eq!(b.tenant(b.alpha).await.pending_jobs, 1);
    assert!(b.submit(b.keyed_job("order-1")).await.unwrap().replayed, "the key stands for what it stood for");
    // In whatever state the first one's job is.
    let claimed = b.claim_one().await;
    assert_eq!(b.submit(other()).await, Err(AcceptRefused::KeyReused { job_id: first }));
    b.succeed(&claimed).await;
    assert_eq!(b.submit(other()).await, Err(AcceptRefused::KeyReused { job_id: first }));
}

/// I27.
pub async fn the_same_key_of_two_tenants_is_two_keys(b: &Bundle) {
    let ours = b.accept(b.keyed_job("order-1")).await;
    let theirs = NewJob { tenant: b.beta, body_digest: Digest::of(b"other"), ..b.keyed_job("order-1") };
    assert_ne!(b.accept(theirs).await, ours);
}

/// I2 under concurrency.
pub async fn many_at_once_with_one_key_are_one_job(b: &Bundle) {
    let answers = b.accept_together((0..64).map(|_| b.keyed_job("order-1")).collect()).await;
    let answers: Vec<Accepted> = answers.into_iter().map(Result::unwrap).collect();
    let ids: HashSet<_> = answers.iter().map(|accepted| accepted.job_id).collect();
    assert_eq!(ids.len(), 1, "all are told the same job");
    assert_eq!(answers.iter().filter(|accepted| !accepted.replayed).count(), 1, "one of them made it");
    assert_eq!(b.events(b.alpha, None).await.len(), 1);
}

/// I20, exactly at n and n + 1 under concurrency.
pub async fn a_tenant_is_full_at_its_limit_and_not_before(b: &Bundle) {
    b.allow(b.alpha, TenantSettings { max_pending_jobs: Some(150), ..TenantSettings::default() }).await;
    let answers = b.accept_together((0..200).map(|_| b.new_job()).collect()).await;
    let (accepted, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!((accepted.len(), refused.len()), (150, 50));
    assert!(refused.into_iter().all(|answer| answer == Err(AcceptRefused::TenantFull { limit: 150 })));
    assert_eq!(b.tenant(b.alpha).await.pending_jobs, 150);
    b.accept(b.new_job_of(b.beta)).await;
}

pub async fn a_tenant_that_is_full_is_free_again_when_a_job_ends(b: &Bundle) {
    b.allow(b.alpha, TenantSettings { max_pending_jobs: Some(1), ..TenantSettings::default() }).await;
    b.accept_one().await;
    let claimed = b.claim_one().await;
    assert!(b.submit(b.new_job()).await.is_err(), "a running job is pending");
    b.succeed(&claimed).await;
    b.accept_one().await;
}

pub async fn the_system_is_full_at_its_limit_and_not_before(b: &Bundle) {
    let job_of = |tenant| NewJob { max_pending: 3, ..b.new_job_of(tenant) };
    b.accept(job_of(b.alpha)).await;
    b.accept(job_of(b.beta)).await;
    b.accept(job_of(b.alpha)).await;
    assert_eq!(b.submit(job_of(b.beta)).await, Err(AcceptRefused::SystemFull { limit: 3 }));
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    b.accept(job_of(b.beta)).await;
}

/// Knowing a digest grants nothing (I27).
pub async fn a_document_must_be_the_tenants(b: &Bundle) {
    let digest = Digest::of(b"an invoice");
    let about = |tenant| NewJob { document: Some(digest), ..b.new_job_of(tenant) };
    assert_eq!(b.submit(about(b.alpha)).await, Err(AcceptRefused::NoDocument));
    let media_type = "text/plain".to_owned();
    let theirs = NewDocument { tenant: b.beta, digest, bytes: 10, media_type };
    b.store().add_document(theirs).await.unwrap();
    assert_eq!(b.submit(about(b.alpha)).await, Err(AcceptRefused::NoDocument));
    let job = b.accept(about(b.beta)).await;
    assert_eq!(b.job_of(b.beta, job).await.document, Some(digest));
}

pub async fn a_budget_that_can_not_pay_the_first_call_refuses_where_the_task_says_so(b: &Bundle) {
    b.allow(b.alpha, TenantSettings { budget: Some(Micros(300)), ..TenantSettings::default() }).await;
    let refusing = |ceiling| NewJob { refuse_above_budget: Some(Micros(ceiling)), ..b.new_job() };
    b.accept(refusing(300)).await;
    assert_eq!(b.submit(refusing(301)).await, Err(AcceptRefused::Budget { left: Micros(300) }));
    b.claim_one().await;
    assert_eq!(b.submit(refusing(101)).await, Err(AcceptRefused::Budget { left: Micros(100) }));
    b.accept(refusing(100)).await;
    b.accept_one().await;
}

pub async fn a_job_that_is_not_due_yet_waits(b: &Bundle) {
    let later = b.now().after(Millis::from_secs(60));
    let job = b.accept(NewJob { not_before: Some(later), ..b.new_job() }).await;
    b.wait(Millis::new(59_999));
    assert_eq!(b.claim(1).await, []);
    b.wait(Millis::new(1));
    assert_eq!(b.claim_ids(1).await, [job]);
}

/// A write that fails takes nothing else of its group with it.
pub async fn one_bad_job_does_not_fail_its_neighbours(b: &Bundle) {
    let taken = b.accept_one().await;
    let mut calls = tokio::task::JoinSet::new();
    for nth in 0..60 {
        let (store, mut job) = (b.store(), b.new_job());
        let bad = nth % 20 == 7;
        if bad {
            job.id = taken;
        }
        calls.spawn(async move { (bad, store.accept(job).await) });
    }
    for (bad, answer) in calls.join_all().await {
        assert_eq!(answer.is_err(), bad, "{answer:?}");
    }
    assert_eq!(b.tenant(b.alpha).await.pending_jobs, 58);
}

/// A caller whose tenant is not there is refused; nothing is wrong with the store.
pub async fn a_tenant_that_is_not_there_is_refused(b: &Bundle) {
    assert_eq!(b.submit(b.new_job_of(4_711)).await, Err(AcceptRefused::NoTenant));
}

/// A cancelled request never cancels a write.
pub async fn a_caller_that_stops_waiting_does_not_undo_the_write(b: &Bundle) {
    let (store, job) = (b.store(), b.keyed_job("order-1"));
    let id = job.id;
    tokio::select! {
        biased;
        _ = store.accept(job) => {}
        () = std::future::ready(()) => {}
    }
    let again = b.submit(b.keyed_job("order-1")).await;
    assert_eq!(again, Ok(Accepted { job_id: id, state: State::Ready, replayed: true, rates: Vec::new() }));
}

/// I32: what was asked for can be read back.
pub async fn what_was_given_is_what_is_found(b: &Bundle) {
    let failed = b.accept_one().await;
    let deadline = b.now().after(Millis::from_secs(90));
    let given = NewJob {
        priority: Priority::High,
        deadline,
        input: Bytes::Blob(Digest::of(b"large")),
        ordering_key: Some("supplier-7".to_owned()),
        correlation_id: Some("corr-1".to_owned()),
        metadata: Some(r#"{"order":"4711"}"#.to_owned()),
        series: Some(("inv-1".to_owned(), 2)),
        replay_of: Some(failed),
        ..b.keyed_job("order-1")
    };
    let found = b.job(b.accept(given.clone()).await).await;
    assert_eq!((found.id, found.tenant, &found.task[..]), (given.id, b.alpha, "chat"));
    assert_eq!((&found.kind[..], found.revision, found.priority), ("llm", 1, Priority::High));
    assert_eq!((found.job.deadline, found.created_at), (deadline, b.now()));
    assert_eq!(found.ordering_key, given.ordering_key);
    assert_eq!(found.correlation_id, given.correlation_id);
    assert_eq!((found.metadata, found.replay_of), (given.metadata, Some(failed)));
    assert_eq!(found.request_digest, given.request_digest);
    let work = b.store().work(vec![given.id]).await.unwrap().remove(0);
    assert_eq!(work.input, given.input);
    let keyed = b.job(b.accept(b.keyed_job("order-2")).await).await;
    assert_eq!(keyed.correlation_id.as_deref(), Some("order-2"), "the key, where nothing else is given");
}
