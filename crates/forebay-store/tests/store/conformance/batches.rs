//! Jobs that are handed over in one call (F18, C11).

use std::collections::HashMap;

use forebay_core::digest::Digest;
use forebay_core::event::EventType;
use forebay_core::failure::FailureClass;
use forebay_core::id::{BatchId, JobId};
use forebay_core::job::State;
use forebay_core::time::Millis;
use forebay_store::record::{
    AcceptRefused, Actor, AuditAction, AuditQuery, BatchKind, BatchRecord, Begun, JobQuery, Member,
    MemberProblem, NewBatch, Placed, ReplayRefused, TenantSettings, Verdict,
};

use super::decisions::decided;
use super::letters::{dead, replay_of};
use crate::bundle::{Bundle, review, succeeded, used};

fn new_batch(b: &Bundle) -> NewBatch {
    NewBatch {
        tenant: b.alpha,
        kind: BatchKind::Jobs,
        size: 3,
        idempotency_key: None,
        idempotency_ttl: Millis::from_secs(60),
        body_digest: Digest::of(b"body"),
    }
}

async fn begin(b: &Bundle) -> BatchId {
    match b.store().begin_batch(new_batch(b)).await.unwrap() {
        Begun::New(batch) => batch,
        other => panic!("{other:?}"),
    }
}

async fn place(b: &Bundle, batch: BatchId, members: Vec<(u64, Member)>, last: bool) -> Placed {
    b.store().place(b.alpha, batch, members, last).await.unwrap()
}

fn job(b: &Bundle) -> Member {
    Member::Job(b.new_job())
}

fn refused() -> Member {
    let problem = r#"{"code":"invalid_member"}"#.to_owned();
    Member::Refused(MemberProblem { status: 400, problem, replay_of: None })
}

/// A batch of that many jobs.
async fn batch_of(b: &Bundle, count: u64) -> BatchId {
    let batch = begin(b).await;
    let members = (0..count).map(|position| (position, job(b))).collect();
    let placed = place(b, batch, members, true).await;
    assert!(matches!(placed, Placed::Each(each) if each.iter().all(Result::is_ok)));
    batch
}

async fn read(b: &Bundle, batch: BatchId) -> BatchRecord {
    b.store().batch(b.alpha, batch).await.unwrap().expect("the batch is the tenant's")
}

async fn members(b: &Bundle, batch: BatchId) -> Vec<Option<JobId>> {
    let members = b.store().members(b.alpha, batch).await.unwrap();
    assert!(members.windows(2).all(|pair| pair[0].position < pair[1].position));
    members.into_iter().map(|member| member.outcome.ok().map(|accepted| accepted.job_id)).collect()
}

/// What the log says of completed batches.
async fn completed(b: &Bundle) -> Vec<serde_json::Value> {
    let events = b.events(b.alpha, None).await;
    let completed = events.iter().filter(|event| event.kind == EventType::BatchCompleted);
    completed.map(|event| serde_json::from_slice(&event.body).unwrap()).collect()
}

pub async fn a_batch_is_complete_when_its_last_job_has_ended(b: &Bundle) {
    let batch = begin(b).await;
    place(b, batch, vec![(0, job(b)), (1, refused()), (2, job(b))], true).await;
    let record = read(b, batch).await;
    assert_eq!((record.open, record.placed, record.refused), (2, 3, 1));
    assert_eq!((record.counts, record.finished_at), (vec![(State::Ready, 2)], None));
    let jobs = members(b, batch).await;
    assert_eq!(b.job(jobs[0].unwrap()).await.batch, Some(batch));
    assert_eq!(jobs[1], None);
    let first = b.claim_one().await;
    b.succeed(&first).await;
    assert_eq!(completed(b).await.len(), 0);
    let second = b.claim_one().await;
    b.wait_secs(1);
    b.fail(&second, FailureClass::Auth).await;
    let record = read(b, batch).await;
    assert_eq!((record.open, record.finished_at), (0, Some(b.now())));
    let counts: HashMap<_, _> = record.counts.into_iter().collect();
    assert_eq!(counts, HashMap::from([(State::Succeeded, 1), (State::FailedTerminal, 1)]));
    let event = completed(b).await.remove(0);
    assert_eq!(
        (&event["subject"], &event["type"]),
        (&batch.to_string().into(), &"dev.forebay.batch.completed.v1".into())
    );
    assert_eq!(event["data"]["counts"], serde_json::json!({"SUCCEEDED": 1, "FAILED_TERMINAL": 1}));
    assert_eq!(event["data"]["refused"], 1);
    let query = JobQuery { batch: Some(batch), limit: 9, ..JobQuery::default() };
    let listed = b.store().jobs(b.alpha, query).await.unwrap().jobs;
    let mut listed: Vec<_> = listed.into_iter().map(|record| Some(record.id)).collect();
    listed.reverse();
    assert_eq!(listed, [jobs[0], jobs[2]]);
}

/// F18: whoever calls again finishes what was begun.
pub async fn members_are_taken_in_once(b: &Bundle) {
    let batch = begin(b).await;
    place(b, batch, vec![(0, job(b)), (1, job(b))], false).await;
    let before = members(b, batch).await;
    let again = place(b, batch, vec![(0, job(b)), (1, job(b)), (2, job(b))], true).await;
    assert!(matches!(again, Placed::Each(each) if each.len() == 3));
    let after = members(b, batch).await;
    assert_eq!((&after[..2], after.len()), (&before[..], 3));
    assert_eq!(b.all_jobs(b.alpha).await.len(), 3);
    assert_eq!(place(b, batch, vec![(3, job(b))], true).await, Placed::Closed);
    assert_eq!(read(b, batch).await.open, 3);
}

pub async fn a_batch_whose_members_are_all_refused_is_complete_at_once(b: &Bundle) {
    let mut changes = b.store().changes();
    let batch = begin(b).await;
    place(b, batch, vec![(0, refused()), (1, refused())], true).await;
    let record = read(b, batch).await;
    assert_eq!((record.finished_at, record.refused, record.open), (Some(b.now()), 2, 0));
    assert_eq!(completed(b).await.len(), 1);
    assert_eq!(changes.recv().await.unwrap()[0].tenant, b.alpha, "who follows the tenant's events is told");
    let found = b.store().members(b.alpha, batch).await.unwrap().remove(0).outcome.unwrap_err();
    assert_eq!((found.status, &found.problem[..]), (400, r#"{"code":"invalid_member"}"#));
}

/// F18: what was not placed is not there, and what was is exactly known.
pub async fn a_call_that_broke_off_says_how_far_it_came(b: &Bundle) {
    let batch = begin(b).await;
    place(b, batch, vec![(0, job(b)), (1, job(b))], false).await;
    b.restart().await;
    for _ in 0..2 {
        let claimed = b.claim_one().await;
        b.succeed(&claimed).await;
    }
    let record = read(b, batch).await;
    assert_eq!((record.placed, record.size, record.filled_at, record.open), (2, 3, None, 1));
    assert_eq!(completed(b).await.len(), 0, "the call has not taken in all members");
    place(b, batch, vec![(2, refused())], true).await;
    assert_eq!(completed(b).await.len(), 1);
}

pub async fn a_call_is_one_batch_for_its_key(b: &Bundle) {
    let keyed = |body: &[u8]| NewBatch {
        idempotency_key: Some("batch-1".to_owned()),
        body_digest: Digest::of(body),
        ..new_batch(b)
    };
    let Begun::New(first) = b.store().begin_batch(keyed(b"a")).await.unwrap() else { panic!("it is new") };
    assert_eq!(b.store().begin_batch(keyed(b"a")).await.unwrap(), Begun::Known(first));
    assert_eq!(b.store().begin_batch(keyed(b"b")).await.unwrap(), Begun::KeyReused(first));
    let theirs = NewBatch { tenant: b.beta, ..keyed(b"b") };
    assert!(matches!(b.store().begin_batch(theirs).await.unwrap(), Begun::New(_)));
    b.wait(Millis::from_secs(60));
    assert!(
        matches!(b.store().begin_batch(keyed(b"b")).await.unwrap(), Begun::New(_)),
        "the key has expired"
    );
}

/// Its own key made it an earlier job: that one's end counts here, too.
pub async fn a_job_that_was_there_before_is_waited_for(b: &Bundle) {
    let early = b.accept(b.keyed_job("order-1")).await;
    let ended = b.accept(b.keyed_job("order-2")).await;
    b.store().cancel(b.alpha, ended, Actor::program()).await.unwrap();
    let batch = begin(b).await;
    let again = |key: &str| Member::Job(b.keyed_job(key));
    place(b, batch, vec![(0, again("order-1")), (1, again("order-2"))], true).await;
    assert_eq!(members(b, batch).await, [Some(early), Some(ended)]);
    let record = read(b, batch).await;
    assert_eq!((record.open, b.job(ended).await.batch), (1, None));
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    assert_eq!(completed(b).await.len(), 1);
}

pub async fn a_job_may_be_two_members(b: &Bundle) {
    let (first, second) = (begin(b).await, begin(b).await);
    let keyed = || Member::Job(b.keyed_job("order-1"));
    place(b, first, vec![(0, keyed()), (1, keyed())], true).await;
    place(b, second, vec![(0, keyed()), (1, job(b))], true).await;
    assert_eq!((read(b, first).await.open, read(b, second).await.open), (2, 2));
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    assert_eq!((read(b, first).await.open, read(b, second).await.open), (0, 1));
    assert_eq!(completed(b).await.len(), 1);
}

pub async fn a_job_in_review_has_not_ended(b: &Bundle) {
    let batch = batch_of(b, 1).await;
    let claimed = b.claim_one().await;
    b.commit_own(&claimed, succeeded(used(1, 1)), review()).await;
    assert_eq!((read(b, batch).await.open, completed(b).await.len()), (1, 0));
    b.store().cancel(b.alpha, claimed.job_id, Actor::program()).await.unwrap();
    assert_eq!((read(b, batch).await.open, completed(b).await.len()), (0, 1));
}

pub async fn a_decision_completes_a_batch(b: &Bundle) {
    let batch = batch_of(b, 1).await;
    let claimed = b.claim_one().await;
    b.commit_own(&claimed, succeeded(used(1, 1)), review()).await;
    decided(b, claimed.job_id, Verdict::Approve).await;
    assert_eq!((read(b, batch).await.open, completed(b).await.len()), (0, 1));
}

/// C11: whatever ends them.
pub async fn many_ends_at_once_complete_a_batch_once(b: &Bundle) {
    let batch = batch_of(b, 60).await;
    let claimed = b.claim(30).await;
    let mut calls = tokio::task::JoinSet::new();
    for one in claimed {
        let (store, commit) =
            (b.store(), b.new_commit(&one, succeeded(used(1, 1)), crate::bundle::succeed()));
        calls.spawn(async move {
            store.commit_step(commit).await.unwrap();
        });
    }
    for member in members(b, batch).await {
        let (store, tenant) = (b.store(), b.alpha);
        calls.spawn(async move {
            store.cancel(tenant, member.unwrap(), Actor::program()).await.unwrap();
        });
    }
    calls.join_all().await;
    let record = read(b, batch).await;
    assert_eq!((record.open, record.counts.iter().map(|(_, count)| count).sum::<u64>()), (0, 60));
    assert_eq!(completed(b).await.len(), 1);
}

/// F142.
pub async fn a_batch_is_cancelled_piece_by_piece(b: &Bundle) {
    let batch = batch_of(b, 5).await;
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    let cancel = async || b.store().cancel_batch(b.alpha, batch, 3, Actor::program()).await.unwrap();
    assert_eq!(cancel().await, Some(3));
    let record = read(b, batch).await;
    assert_eq!((record.open, record.cancelled_at, record.finished_at), (1, Some(b.now()), None));
    assert_eq!((cancel().await, cancel().await), (Some(1), Some(0)));
    assert_eq!(b.count(b.alpha, State::Cancelled).await, 4);
    assert_eq!(completed(b).await.len(), 1);
    assert_eq!(b.store().cancel_batch(b.beta, batch, 3, Actor::program()).await.unwrap(), None);
    // By whom, once, however often it is asked for.
    let query = AuditQuery { action: Some(AuditAction::BatchCancel), limit: 9, ..AuditQuery::default() };
    let subjects = b.store().audit(query).await.unwrap().records.into_iter().map(|record| record.subject);
    assert_eq!(subjects.collect::<Vec<_>>(), [batch.to_string()]);
}

pub async fn a_batch_that_was_cancelled_takes_no_members(b: &Bundle) {
    let batch = begin(b).await;
    place(b, batch, vec![(0, job(b))], false).await;
    b.store().cancel_batch(b.alpha, batch, 9, Actor::program()).await.unwrap();
    assert_eq!(place(b, batch, vec![(1, job(b))], true).await, Placed::Closed);
    assert_eq!((b.all_jobs(b.alpha).await.len(), completed(b).await.len()), (1, 1));
}

/// F142: counted, once each, and they can be stopped.
pub async fn replays_are_members(b: &Bundle) {
    let mut letters = Vec::new();
    for _ in 0..3 {
        letters.push(dead(b, b.new_job(), FailureClass::InvalidRequest).await);
    }
    let replay = |original| Member::Replay(replay_of(b, original));
    b.allow(b.alpha, TenantSettings { max_pending_jobs: Some(2), ..TenantSettings::default() }).await;
    let batch = begin(b).await;
    let placed =
        place(b, batch, (0..).zip(letters.iter().map(|letter| replay(*letter))).collect(), true).await;
    let full = Err(ReplayRefused::NotAccepted(AcceptRefused::TenantFull { limit: 2 }));
    assert_eq!(placed, Placed::Each(vec![Ok(()), Ok(()), full]));
    let found = b.store().members(b.alpha, batch).await.unwrap();
    assert_eq!(
        found.iter().map(|member| member.replay_of).collect::<Vec<_>>(),
        [Some(letters[0]), Some(letters[1])]
    );
    assert_eq!(b.store().letters_left(b.alpha, Default::default()).await.unwrap(), 1);
    b.store().cancel_batch(b.alpha, batch, 9, Actor::program()).await.unwrap();
    assert_eq!(b.store().letters_left(b.alpha, Default::default()).await.unwrap(), 3, "all are open again");
}

/// I27.
pub async fn batches_belong_to_their_tenant(b: &Bundle) {
    let batches = [batch_of(b, 1).await, batch_of(b, 1).await, batch_of(b, 1).await];
    assert!(b.store().batch(b.beta, batches[0]).await.unwrap().is_none());
    assert_eq!(b.store().members(b.beta, batches[0]).await.unwrap(), []);
    let query = JobQuery { batch: Some(batches[0]), limit: 9, ..JobQuery::default() };
    assert_eq!(b.store().jobs(b.beta, query).await.unwrap().jobs, []);
    let first = b.store().batches(b.alpha, None, 2).await.unwrap();
    assert_eq!(first.batches.iter().map(|batch| batch.id).collect::<Vec<_>>(), [batches[2], batches[1]]);
    let second = b.store().batches(b.alpha, first.next, 2).await.unwrap();
    assert_eq!((second.batches[0].id, second.next), (batches[0], None));
    assert_eq!(b.store().batches(b.beta, None, 2).await.unwrap().batches, []);
}
