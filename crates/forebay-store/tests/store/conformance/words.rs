//! Rows that a process of a newer build has written beside this one: what it does not know it reads as unknown and leaves
//! as it is, and no job is lost for that.

use forebay_core::digest::Digest;
use forebay_core::failure::FailureClass;
use forebay_core::job::State;
use forebay_core::word::Word;
use forebay_store::record::{
    Actor, AuditQuery, JobQuery, LetterFilter, LetterQuery, LetterState, NewKey, Scope,
};

use super::letters::dead;
use crate::bundle::Bundle;

pub async fn an_event_of_a_newer_build_is_passed_on(b: &Bundle) {
    let job = b.accept_one().await;
    let before = b.events(b.alpha, Some(job)).await.remove(0);
    b.backend.run_beside("UPDATE events SET type = 'dreamt'").await;
    let after = b.events(b.alpha, Some(job)).await.remove(0);
    assert_eq!(
        (&after.kind, after.full_name().as_ref()),
        (&Word::Unknown("dreamt".to_owned()), "job.dreamt")
    );
    assert_eq!(
        (after.place(), after.body),
        (before.place(), before.body),
        "its bytes are those that were written"
    );
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    assert_eq!(b.events(b.alpha, None).await.len(), 3, "and the others with it");
}

pub async fn a_failure_of_a_newer_class_is_one_that_can_not_be_read(b: &Bundle) {
    let failed = dead(b, b.new_job(), FailureClass::InvalidRequest).await;
    let tried = b.accept_one().await;
    let claimed = b.claim_one().await;
    assert_eq!(b.fail(&claimed, FailureClass::ProviderError).await, State::RetryScheduled);
    for table in ["jobs", "attempts"] {
        b.backend.run_beside(&format!("UPDATE {table} SET failure_class = 'dreamt'")).await;
    }
    b.backend.run_beside("UPDATE dead_letters SET class = 'dreamt'").await;
    for job in [failed, tried] {
        assert_eq!(b.job(job).await.job.failure.unwrap().class, FailureClass::Undecodable);
        assert_eq!(b.attempts(job).await[0].failure_class, Some(FailureClass::Undecodable));
    }
    assert_eq!(b.all_jobs(b.alpha).await.len(), 2, "one does not keep the list from being read");
    let letters =
        LetterQuery { filter: LetterFilter::default(), state: LetterState::Open, before: None, limit: 9 };
    assert_eq!(b.store().letters(b.alpha, letters).await.unwrap().letters.len(), 1);
    b.wait_secs(60);
    let claimed = b.claim_one().await;
    assert_eq!(claimed.job_id, tried);
    b.succeed(&claimed).await;
}

pub async fn a_job_of_a_newer_priority_has_its_turn(b: &Bundle) {
    let job = b.accept_one().await;
    b.backend.run_beside("UPDATE jobs SET priority = 'dreamt', kind = 'dreamt'").await;
    let found = b.store().jobs(b.alpha, JobQuery { limit: 9, ..JobQuery::default() }).await.unwrap().jobs;
    assert_eq!((found.len(), found[0].kind.as_str()), (1, "dreamt"));
    let claimed = b.claim_one().await;
    assert_eq!(claimed.job_id, job);
    b.succeed(&claimed).await;
}

pub async fn an_action_and_a_scope_of_a_newer_build_are_no_hindrance(b: &Bundle) {
    let key = NewKey {
        tenant: b.alpha,
        name: "key".to_owned(),
        digest: Digest::of(b"secret"),
        hint: "fbk_".to_owned(),
        scopes: vec![Scope::Read],
        expires_at: None,
        max_in_flight: None,
    };
    let id = b.store().add_key(key, Actor::program()).await.unwrap().id;
    b.backend.run_beside("UPDATE keys SET scopes = scopes || ' dream'").await;
    b.backend
        .run_beside("INSERT INTO audit (at, actor_name, action, subject) VALUES (1, 'newer', 'dreamt', 'it')")
        .await;
    let keys = b.store().keys(b.alpha).await.unwrap();
    assert_eq!((keys[0].id, keys[0].scopes.as_slice()), (id, [Scope::Read].as_slice()));
    let records = b.store().audit(AuditQuery { limit: 99, ..AuditQuery::default() }).await.unwrap().records;
    assert_eq!(records[0].action_name(), "dreamt");
    assert!(records.len() > 1);
}
