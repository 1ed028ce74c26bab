//! Retention: what nobody wants any more is deleted as a whole, and what is left adds up.

use std::collections::BTreeSet;

use forebay_core::digest::Digest;
use forebay_core::event::EventType;
use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::time::Millis;
use forebay_store::record::{
    AcceptRefused, Actor, BatchKind, Begun, Bytes, Deleted, EventPage, EventQuery, Keep, LetterChange,
    LetterState, Member, NewBatch, NewDocument, NewJob, Place, UsageQuery, Walked,
};

use super::letters::{dead, replay_of};
use super::reviews::ask_a_person;
use crate::bundle::{Bundle, review};

const HOUR: Millis = Millis::from_secs(3_600);
const KEEP: Keep = Keep { results: HOUR, dead_letters: Millis::from_secs(3 * 3_600), documents: HOUR };

/// Walks over everything, a few rows at a time.
async fn walk(b: &Bundle) -> Deleted {
    b.deleting(walk_over_all(b)).await
}

async fn walk_over_all(b: &Bundle) -> Deleted {
    let mut all = Deleted::default();
    let mut after = 0;
    loop {
        let Walked { next, deleted } = b.store().delete_jobs(after, KEEP, 2).await.unwrap();
        all.jobs += deleted.jobs;
        all.events += deleted.events;
        all.attempts += deleted.attempts;
        all.keys += deleted.keys;
        let Some(next) = next else { return all };
        assert!(next > after, "a walk goes on");
        after = next;
    }
}

/// A job of alpha that has succeeded.
async fn succeeded(b: &Bundle, job: NewJob) -> JobId {
    let id = b.accept(job).await;
    let claimed = b.claim_one().await;
    assert_eq!(claimed.job_id, id);
    b.succeed(&claimed).await;
    id
}

/// Something that stays, so that the log has an end that stays.
async fn another(b: &Bundle) -> JobId {
    b.accept(b.new_job_of(b.beta)).await
}

async fn is_there(b: &Bundle, job: JobId) -> bool {
    b.store().job(b.alpha, job).await.unwrap().is_some()
}

pub async fn a_job_goes_as_a_whole_when_its_time_is_over(b: &Bundle) {
    let done = succeeded(b, b.keyed_job("done")).await;
    let cancelled = b.accept_one().await;
    b.store().cancel(b.alpha, cancelled, Actor::program()).await.unwrap();
    b.wait(Millis::new(HOUR.get() - 1));
    let younger = succeeded(b, b.new_job()).await;
    another(b).await;
    assert_eq!(walk(b).await, Deleted::default(), "a millisecond too early");
    b.wait(Millis::new(1));
    let deleted = walk(b).await;
    assert_eq!((deleted.jobs, deleted.attempts, deleted.events, deleted.keys), (2, 1, 5, 0));
    for gone in [done, cancelled] {
        assert!(!is_there(b, gone).await);
        assert_eq!(b.store().result(b.alpha, gone).await.unwrap(), None);
        assert_eq!(b.store().attempts(b.alpha, gone).await.unwrap(), []);
        assert_eq!(b.store().steps(b.alpha, gone).await.unwrap(), []);
        assert_eq!(b.events(b.alpha, Some(gone)).await, []);
    }
    assert_eq!(b.state(younger).await, State::Succeeded);
    assert_eq!(b.story(younger).await.len(), 3, "with its whole story");
    assert_eq!(walk(b).await, Deleted::default(), "once");
    let retained = b.store().retained().await.unwrap();
    assert_eq!((retained.deleted.jobs, retained.deleted.events), (2, 5));
    assert_eq!(retained.oldest_job, Some(b.job(younger).await.created_at));
}

pub async fn what_has_not_ended_stays(b: &Bundle) {
    let late = b.now().after(Millis::from_secs(10 * 24 * 3_600));
    let waiting = b.accept(NewJob { deadline: late, ..b.new_job() }).await;
    let claimed = b.claim_one().await;
    ask_a_person(b, &claimed, review()).await;
    b.wait(Millis::from_secs(5 * 24 * 3_600));
    another(b).await;
    assert_eq!(walk(b).await, Deleted::default());
    assert_eq!(b.state(waiting).await, State::ReviewRequired, "a person is asked, for however long");
    assert!(b.store().review(b.alpha, waiting).await.unwrap().is_some());
}

pub async fn a_call_that_may_still_run_keeps_its_job(b: &Bundle) {
    let job = b.accept_one().await;
    b.claim_one().await;
    b.store().cancel(b.alpha, job, Actor::program()).await.unwrap();
    another(b).await;
    b.wait(HOUR);
    assert_eq!(walk(b).await, Deleted::default(), "its permit is not back");
    assert_eq!(b.store().sweep_grants(9).await.unwrap(), 1);
    assert_eq!(walk(b).await.jobs, 1);
}

pub async fn a_dead_letter_has_its_own_time(b: &Bundle) {
    let failed = dead(b, b.new_job(), FailureClass::InvalidRequest).await;
    another(b).await;
    b.wait(Millis::from_secs(2 * 3_600));
    assert_eq!(walk(b).await.jobs, 0, "longer than a result");
    let change = LetterChange { state: Some(LetterState::Resolved), ..LetterChange::default() };
    b.store().change_letters(b.alpha, vec![failed], change, Actor::program()).await.unwrap();
    b.wait(Millis::from_secs(3 * 3_600 - 1));
    assert_eq!(walk(b).await.jobs, 0, "somebody has dealt with it since");
    b.wait_secs(1);
    assert_eq!(walk(b).await.jobs, 1);
    assert!(b.store().letter(b.alpha, failed).await.unwrap().is_none());
}

pub async fn a_key_outlives_its_job_and_says_how_it_ended(b: &Bundle) {
    let ttl = Millis::from_secs(4 * 3_600);
    let keyed = NewJob { idempotency_ttl: ttl, ..b.keyed_job("invoice-1") };
    let job = succeeded(b, keyed.clone()).await;
    let cancelled = NewJob { idempotency_ttl: ttl, ..b.keyed_job("invoice-2") };
    let other = b.accept(cancelled.clone()).await;
    b.store().cancel(b.alpha, other, Actor::program()).await.unwrap();
    another(b).await;
    b.wait(HOUR);
    assert_eq!(walk(b).await.jobs, 2);
    for (sent, id, state) in [(&keyed, job, State::Succeeded), (&cancelled, other, State::Cancelled)] {
        let again = NewJob { id: b.store().new_job_id(), ..sent.clone() };
        let answer = b.store().accept(again).await.unwrap().unwrap();
        assert_eq!((answer.job_id, answer.state, answer.replayed), (id, state, true), "I2");
    }
    let otherwise = NewJob { body_digest: Digest::of(b"otherwise"), ..keyed.clone() };
    let refused = b.store().accept(NewJob { id: b.store().new_job_id(), ..otherwise }).await.unwrap();
    assert!(matches!(refused, Err(AcceptRefused::KeyReused { job_id }) if job_id == job));
    assert_eq!(b.store().delete_keys(9).await.unwrap().keys, 0);
    b.wait(Millis::from_secs(3 * 3_600));
    assert_eq!(b.store().delete_keys(1).await.unwrap().keys, 1);
    assert_eq!(b.store().delete_keys(9).await.unwrap().keys, 1);
    let new = NewJob { id: b.store().new_job_id(), ..keyed };
    assert!(!b.store().accept(new).await.unwrap().unwrap().replayed, "it stands for nothing any more (F07)");
}

pub async fn a_key_that_was_taken_again_is_the_next_jobs(b: &Bundle) {
    let ttl = Millis::from_secs(60);
    let first = NewJob { idempotency_ttl: ttl, ..b.keyed_job("again") };
    succeeded(b, first.clone()).await;
    b.wait(ttl);
    let second = b
        .accept(NewJob {
            id: b.store().new_job_id(),
            idempotency_ttl: Millis::from_secs(9_999),
            ..first.clone()
        })
        .await;
    another(b).await;
    b.wait(HOUR);
    assert_eq!((walk(b).await.jobs, walk(b).await.keys), (1, 0));
    let again = NewJob { id: b.store().new_job_id(), ..first };
    assert_eq!(b.store().accept(again).await.unwrap().unwrap().job_id, second);
}

pub async fn money_and_use_outlive_their_jobs(b: &Bundle) {
    succeeded(b, b.new_job()).await;
    b.accept_one().await;
    let claimed = b.claim_one().await;
    b.fail(&claimed, FailureClass::TimeoutTotal).await;
    b.store().cancel(b.alpha, claimed.job_id, Actor::program()).await.unwrap();
    another(b).await;
    let day = UsageQuery::of(b.alpha, b.now(), b.now());
    let before = (b.tenant(b.alpha).await.account, b.store().usage(day.clone()).await.unwrap());
    assert!(before.0.uncertain.0 > 0 && before.0.spent.0 > 0, "{:?}", before.0);
    b.wait(HOUR);
    assert_eq!(walk(b).await.jobs, 2);
    assert_eq!((b.tenant(b.alpha).await.account, b.store().usage(day.clone()).await.unwrap()), before);
}

pub async fn who_missed_what_was_deleted_is_told(b: &Bundle) {
    let page = async |tenant, after| -> EventPage {
        b.store().events(tenant, EventQuery { job: None, after, limit: 99 }).await.unwrap()
    };
    let old = succeeded(b, b.new_job()).await;
    let seen = b.events(b.alpha, Some(old)).await;
    let theirs = another(b).await;
    let theirs_seen = b.events(b.beta, Some(theirs)).await[0].place();
    b.wait(HOUR);
    let young = b.accept_one().await;
    assert_eq!(walk(b).await.events, 3);
    for event in &seen[..2] {
        assert!(page(b.alpha, event.place()).await.expired, "the last one came after");
    }
    let rest = page(b.alpha, seen[2].place()).await;
    assert!(!rest.expired, "nothing was missed, though the event itself is gone");
    assert_eq!(rest.events.iter().map(|event| event.kind.clone()).collect::<Vec<_>>(), [EventType::Accepted]);
    assert!(
        !page(b.beta, theirs_seen).await.expired,
        "what is deleted of one tenant is no matter of another"
    );
    let own = EventQuery { job: Some(young), after: Place::START, limit: 9 };
    assert!(
        !b.store().events(b.alpha, own).await.unwrap().expired,
        "a job has its events as long as it is there"
    );
}

pub async fn the_last_event_stays(b: &Bundle) {
    let job = succeeded(b, b.new_job()).await;
    let last = b.events(b.alpha, Some(job)).await.pop().unwrap();
    b.wait(HOUR);
    assert_eq!(walk(b).await.jobs, 0);
    b.restart().await;
    let next = another(b).await;
    assert!(b.events(b.beta, Some(next)).await[0].place() > last.place(), "no number is used twice");
    assert_eq!(walk(b).await.jobs, 1);
}

pub async fn members_stay_until_their_batch_is_complete(b: &Bundle) {
    let new = NewBatch {
        tenant: b.alpha,
        kind: BatchKind::Jobs,
        size: 2,
        idempotency_key: None,
        idempotency_ttl: HOUR,
        body_digest: Digest::of(b"batch"),
    };
    let Begun::New(batch) = b.store().begin_batch(new).await.unwrap() else { panic!("it is new") };
    let members = [b.new_job(), b.new_job()];
    let placed = members.iter().zip(0..).map(|(job, at)| (at, Member::Job(job.clone()))).collect();
    b.store().place(b.alpha, batch, placed, true).await.unwrap();
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    another(b).await;
    b.wait(HOUR);
    assert_eq!(walk(b).await.jobs, 0);
    let other = members.iter().map(|job| job.id).find(|id| *id != claimed.job_id).unwrap();
    b.store().cancel(b.alpha, other, Actor::program()).await.unwrap();
    another(b).await;
    b.wait(HOUR);
    let batches = b.store().delete_batches(0, KEEP, 9).await.unwrap().deleted;
    assert_eq!(batches.batches, 0, "its jobs first");
    assert_eq!(walk(b).await.jobs, 2);
    let batches = b.store().delete_batches(0, KEEP, 9).await.unwrap().deleted;
    assert_eq!((batches.batches, batches.events), (1, 1));
    assert!(b.store().batch(b.alpha, batch).await.unwrap().is_none());
    assert_eq!(b.store().members(b.alpha, batch).await.unwrap().len(), 0);
}

pub async fn a_document_goes_when_no_job_refers_to_it(b: &Bundle) {
    let add = async |bytes: &[u8]| {
        let digest = Digest::of(bytes);
        let document = NewDocument { tenant: b.alpha, digest, bytes: 3, media_type: "text/plain".to_owned() };
        b.store().add_document(document).await.unwrap();
        digest
    };
    let (used, unused) = (add(b"used").await, add(b"unused").await);
    let again = add(b"again").await;
    let job = succeeded(b, NewJob { document: Some(used), ..b.new_job() }).await;
    b.wait(Millis::new(HOUR.get() - 1));
    assert_eq!(b.store().delete_documents(KEEP, 9).await.unwrap().0, 0);
    add(b"again").await;
    b.wait(Millis::new(1));
    another(b).await;
    let (seen, deleted) = b.store().delete_documents(KEEP, 9).await.unwrap();
    assert_eq!((seen, deleted.documents), (2, 1));
    assert!(b.store().document(b.alpha, unused).await.unwrap().is_none());
    assert!(b.store().document(b.alpha, again).await.unwrap().is_some(), "it was uploaded again");
    let blobs = vec![used, unused, again];
    assert_eq!(b.store().unreferenced(blobs.clone()).await.unwrap(), [unused]);
    assert_eq!(walk(b).await.jobs, 1);
    assert!(!is_there(b, job).await);
    b.wait(HOUR);
    assert_eq!(b.store().delete_documents(KEEP, 9).await.unwrap().1.documents, 2);
    let unreferenced = b.store().unreferenced(blobs.clone()).await.unwrap();
    assert_eq!(BTreeSet::from_iter(unreferenced), BTreeSet::from_iter(blobs), "in any order");
}

pub async fn what_a_row_refers_to_is_no_rubbish(b: &Bundle) {
    let (input, rubbish) = (Digest::of(b"a large input"), Digest::of(b"rubbish"));
    b.accept(NewJob { input: Bytes::Blob(input), ..b.new_job() }).await;
    assert_eq!(b.store().unreferenced(vec![input, rubbish]).await.unwrap(), [rubbish]);
    assert_eq!(b.store().unreferenced(vec![]).await.unwrap(), []);
}

pub async fn a_replay_and_its_original_name_each_other_as_long_as_they_are_there(b: &Bundle) {
    let failed = dead(b, b.new_job(), FailureClass::InvalidRequest).await;
    let replay = b.store().replay(replay_of(b, failed)).await.unwrap().unwrap().job_id;
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    another(b).await;
    b.wait(Millis::from_secs(2 * 3_600));
    assert_eq!(walk(b).await.jobs, 0, "the failed one is still there, and names it");
    assert_eq!(b.job(failed).await.replayed_by, Some(replay));
    b.wait(HOUR);
    assert_eq!((walk(b).await.jobs, walk(b).await.jobs), (1, 1), "first the one, then the other");
}
