//! Tenants, keys, and what a tenant sees of its own and of others' (I27).

use std::collections::HashSet;

use forebay_core::definition::PoolLimits;
use forebay_core::digest::Digest;
use forebay_core::failure::FailureClass;
use forebay_core::fairness::Weight;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::money::Micros;
use forebay_core::time::Millis;
use forebay_store::record::{
    Actor, BudgetPeriod, Claim, EventQuery, JobQuery, KeyRecord, NewDocument, NewJob, NewKey, Place,
    ReviewQuery, Scope, TenantSettings, UsageQuery,
};

use futures_util::future::join_all;

use super::letters::dead;
use crate::bundle::{Bundle, START, review, succeeded, used};

pub async fn a_tenant_is_made_and_changed(b: &Bundle) {
    let settings = TenantSettings {
        max_pending_jobs: Some(7),
        max_in_flight: Some(3),
        budget: Some(Micros(1_000)),
        budget_period: BudgetPeriod::Month,
        weight: Weight::new(7).unwrap(),
    };
    let made = b.store().put_tenant("gamma".to_owned(), settings.clone(), Actor::program()).await.unwrap();
    assert_eq!((&made.name[..], &made.settings, made.created_at), ("gamma", &settings, b.now()));
    assert_eq!((made.account.limit, made.account.left()), (Some(Micros(1_000)), Some(Micros(1_000))));
    b.accept(b.new_job_of(made.id)).await;
    b.wait_secs(1);
    let changed =
        b.store().put_tenant("gamma".to_owned(), TenantSettings::default(), Actor::program()).await.unwrap();
    assert_eq!((changed.id, changed.created_at, changed.pending_jobs), (made.id, made.created_at, 1));
    assert_eq!(changed.settings, TenantSettings::default());
    assert_eq!(b.store().tenant("gamma").await.unwrap(), Some(changed));
    assert_eq!(b.store().tenant("nobody").await.unwrap(), None);
    let names: Vec<_> = b.store().tenants().await.unwrap().into_iter().map(|tenant| tenant.name).collect();
    assert_eq!(names, ["alpha", "beta", "gamma"]);
}

pub fn new_key(tenant: i64, secret: &str) -> NewKey {
    NewKey {
        tenant,
        name: "ci".to_owned(),
        digest: Digest::of(secret.as_bytes()),
        hint: "fb_abc".to_owned(),
        scopes: vec![Scope::Submit, Scope::Read],
        expires_at: Some(START.after(Millis::from_secs(60))),
        max_in_flight: None,
    }
}

pub async fn keys_are_kept_by_digest(b: &Bundle) {
    let key = b.store().add_key(new_key(b.alpha, "s1"), Actor::program()).await.unwrap();
    assert_eq!((key.tenant, &key.tenant_name[..], &key.name[..]), (b.alpha, "alpha", "ci"));
    assert_eq!((&key.hint[..], &key.scopes[..]), ("fb_abc", &[Scope::Submit, Scope::Read][..]));
    assert_eq!(b.store().key_by_digest(Digest::of(b"s1")).await.unwrap().as_ref(), Some(&key));
    assert_eq!(b.store().key_by_digest(Digest::of(b"s2")).await.unwrap(), None);
    assert!(
        b.store().add_key(new_key(b.beta, "s1"), Actor::program()).await.is_err(),
        "a secret is one key's"
    );
    b.wait_secs(1);
    let newer = b
        .store()
        .add_key(NewKey { scopes: vec![], ..new_key(b.alpha, "s2") }, Actor::program())
        .await
        .unwrap();
    assert_eq!(newer.scopes, []);
    assert_eq!(b.store().keys(b.alpha).await.unwrap(), [newer, key], "newest first");
}

pub async fn one_of_those_who_start_at_once_makes_the_first_key(b: &Bundle) {
    let store = b.store();
    store.add_key(new_key(b.alpha, "no admin"), Actor::program()).await.unwrap();
    let first = |nth: usize| {
        let key = NewKey { scopes: vec![Scope::Admin], ..new_key(b.alpha, &format!("first {nth}")) };
        store.add_first_key(key, Actor::program())
    };
    let made: Vec<_> = join_all((0..16).map(first)).await.into_iter().filter_map(Result::unwrap).collect();
    assert_eq!(made.len(), 1);
    assert_eq!(store.keys(b.alpha).await.unwrap().len(), 2);
    store.revoke_key(b.alpha, made[0].id, Actor::program()).await.unwrap();
    assert_eq!(first(16).await.unwrap(), None, "it has had one");
}

pub async fn a_key_is_revoked_once(b: &Bundle) {
    let key = b.store().add_key(new_key(b.alpha, "s1"), Actor::program()).await.unwrap();
    let revoked_at = Some(b.now());
    let revoked = KeyRecord { revoked_at, ..key.clone() };
    assert_eq!(b.store().revoke_key(b.alpha, key.id, Actor::program()).await.unwrap(), Some(revoked.clone()));
    b.wait_secs(1);
    assert_eq!(b.store().revoke_key(b.alpha, key.id, Actor::program()).await.unwrap(), Some(revoked.clone()));
    assert_eq!(b.store().key_by_digest(Digest::of(b"s1")).await.unwrap(), Some(revoked));
}

pub async fn a_key_of_nobody_is_refused(b: &Bundle) {
    assert!(b.store().add_key(new_key(4_711, "s1"), Actor::program()).await.is_err());
    assert_eq!(b.store().key_by_digest(Digest::of(b"s1")).await.unwrap(), None);
}

/// I27 on every verb that names a tenant: another's is as absent as what never was.
pub async fn whatever_is_anothers_is_absent(b: &Bundle) {
    let (store, stranger) = (b.store(), b.beta);
    let digest = Digest::of(b"an invoice");
    let document = NewDocument { tenant: b.alpha, digest, bytes: 10, media_type: "text/plain".to_owned() };
    store.add_document(document).await.unwrap();
    let key = store.add_key(new_key(b.alpha, "s1"), Actor::program()).await.unwrap();
    let job = b.accept(NewJob { document: Some(digest), ..b.new_job() }).await;
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    let doubtful = b.accept_one().await;
    let claimed = b.claim_one().await;
    b.commit_own(&claimed, succeeded(used(1, 1)), review()).await;
    let failed = dead(b, b.new_job(), FailureClass::InvalidRequest).await;
    let cancelled = b.accept_one().await;
    store.cancel(b.alpha, cancelled, Actor::program()).await.unwrap();
    let running = b.accept_one().await;
    b.claim_one().await;
    let waiting = b.accept_one().await;

    for job in [job, doubtful, failed, cancelled, running, waiting] {
        assert_eq!(store.job(stranger, job).await.unwrap(), None);
        assert!(store.cancel(stranger, job, Actor::program()).await.unwrap().is_none());
        assert_eq!(store.result(stranger, job).await.unwrap(), None);
        assert_eq!(store.attempts(stranger, job).await.unwrap(), []);
        assert_eq!(store.steps(stranger, job).await.unwrap(), []);
        assert!(store.queue(stranger, job).await.unwrap().is_none());
        assert_eq!(store.review(stranger, job).await.unwrap(), None);
        let query = EventQuery { job: Some(job), after: Place::START, limit: 9 };
        assert_eq!(store.events(stranger, query).await.unwrap().events, []);
    }
    assert_eq!(b.state(waiting).await, State::Ready, "nor was it cancelled");
    assert_eq!(b.all_jobs(stranger).await, []);
    assert_eq!(b.events(stranger, None).await, []);
    assert_eq!(store.counts(Some(stranger)).await.unwrap(), []);
    let everything = ReviewQuery { limit: 9, ..ReviewQuery::default() };
    assert_eq!(store.reviews(stranger, everything).await.unwrap().reviews, []);
    assert_eq!(store.usage(UsageQuery::of(stranger, START, START)).await.unwrap(), []);
    assert_eq!(store.keys(stranger).await.unwrap(), []);
    assert_eq!(store.revoke_key(stranger, key.id, Actor::program()).await.unwrap(), None);
    assert_eq!(store.keys(b.alpha).await.unwrap()[0].revoked_at, None);
    assert_eq!(store.document(stranger, digest).await.unwrap(), None);
}

/// Whoever pages through a list sees each job that was there once, whatever comes meanwhile.
pub async fn pages_hold_each_job_once_while_others_come(b: &Bundle) {
    let accepted = b.accept_together((0..1_000).map(|_| b.new_job()).collect()).await;
    let expected: HashSet<JobId> = accepted.into_iter().map(|answer| answer.unwrap().job_id).collect();
    let (mut before, mut seen) = (None, Vec::new());
    loop {
        let query = JobQuery { before, limit: 7, ..JobQuery::default() };
        let page = b.store().jobs(b.alpha, query).await.unwrap();
        assert!(page.jobs.len() <= 7);
        seen.extend(page.jobs.into_iter().map(|record| record.id));
        if seen.len() % 10 < 7 {
            b.accept_one().await;
        }
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 1_000);
    assert_eq!(seen.into_iter().collect::<HashSet<_>>(), expected);
}

/// C39, F131: the same of those that are asked for, all of which were accepted in one moment.
pub async fn pages_of_some_jobs_hold_each_once(b: &Bundle) {
    let made = |nth: u64| NewJob {
        task: if nth.is_multiple_of(2) { "even" } else { "odd" }.to_owned(),
        metadata: nth.is_multiple_of(3).then(|| r#"{"order":"4711"}"#.to_owned()),
        ..b.new_job()
    };
    b.accept_together((0..100).map(made).collect()).await;
    b.wait(Millis::new(1));
    b.accept_together((0..100).map(made).collect()).await;
    let (now, any) = (b.now(), JobQuery::default);
    for (query, jobs) in [
        (JobQuery { state: Some(State::Ready), ..any() }, 200),
        (JobQuery { task: Some("odd".to_owned()), ..any() }, 100),
        (JobQuery { created_after: Some(now), ..any() }, 100),
        (JobQuery { metadata: vec![("order".to_owned(), "4711".to_owned())], ..any() }, 68),
    ] {
        let expected = found(b, query.clone()).await;
        let (mut before, mut seen) = (None, Vec::new());
        loop {
            let page = b.store().jobs(b.alpha, JobQuery { before, limit: 7, ..query.clone() }).await.unwrap();
            seen.extend(page.jobs.into_iter().map(|record| record.id));
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        assert_eq!((seen.len(), &seen), (jobs, &expected), "{query:?}");
        assert_eq!(seen.into_iter().collect::<HashSet<_>>().len(), jobs);
    }
}

async fn found(b: &Bundle, query: JobQuery) -> Vec<JobId> {
    let query = JobQuery { limit: usize::MAX, ..query };
    b.store().jobs(b.alpha, query).await.unwrap().jobs.into_iter().map(|record| record.id).collect()
}

pub async fn jobs_are_found_by_state_task_and_time(b: &Bundle) {
    let old = b.accept_one().await;
    b.wait_secs(10);
    let invoice = b.accept(NewJob { task: "invoice".to_owned(), ..b.new_job() }).await;
    let new = b.accept_one().await;
    assert_eq!(b.claim_one().await.job_id, old);
    let any = JobQuery::default;
    assert_eq!(found(b, any()).await, [new, invoice, old]);
    assert_eq!(found(b, JobQuery { state: Some(State::Running), ..any() }).await, [old]);
    assert_eq!(found(b, JobQuery { task: Some("invoice".to_owned()), ..any() }).await, [invoice]);
    assert_eq!(found(b, JobQuery { created_after: Some(b.now()), ..any() }).await, [new, invoice]);
    let none = JobQuery { task: Some("invoice".to_owned()), state: Some(State::Running), ..any() };
    assert_eq!(found(b, none).await, []);
}

pub async fn jobs_are_found_by_metadata(b: &Bundle) {
    let odd_key = r#"a"b'c.d$e 💶"#;
    let with = |members: serde_json::Value| NewJob { metadata: Some(members.to_string()), ..b.new_job() };
    let one = b.accept(with(serde_json::json!({"order": "4711", "site": "ulm"}))).await;
    let two = b.accept(with(serde_json::json!({"order": "4712", "site": "ulm"}))).await;
    let odd = b.accept(with(serde_json::json!({odd_key: "x\u{0}y"}))).await;
    let bare = b.accept_one().await;
    let wanted = |members: &[(&str, &str)]| JobQuery {
        metadata: members.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        ..JobQuery::default()
    };
    assert_eq!(found(b, wanted(&[])).await, [bare, odd, two, one]);
    assert_eq!(found(b, wanted(&[("site", "ulm")])).await, [two, one]);
    assert_eq!(found(b, wanted(&[("site", "ulm"), ("order", "4711")])).await, [one]);
    assert_eq!(found(b, wanted(&[("site", "ul")])).await, []);
    assert_eq!(found(b, wanted(&[(odd_key, "x\u{0}y")])).await, [odd]);
}

/// I32: what a job waits for is in the ledger.
pub async fn the_queue_says_what_stands_in_the_way(b: &Bundle) {
    let settings =
        TenantSettings { max_in_flight: Some(9), budget: Some(Micros(1_000)), ..TenantSettings::default() };
    b.allow(b.alpha, settings).await;
    let jobs = b.accept_of(b.alpha, 5).await;
    b.accept_of(b.beta, 1).await;
    let limits = PoolLimits { requests_per_minute: Some(2), ..PoolLimits::default() };
    let claimed = b.take(Claim { limits, slots: 9, ..b.new_claim() }).await.claimed;
    assert_eq!(claimed.len(), 2);
    let ours = claimed.iter().find(|claimed| claimed.tenant == b.alpha).unwrap();
    b.wait_secs(4);
    b.succeed(ours).await;
    let queue = b.store().queue(b.alpha, jobs[4]).await.unwrap().unwrap();
    assert_eq!((queue.job.id, queue.ahead, queue.lanes, queue.keys), (jobs[4], 3, 1, 1));
    assert_eq!((queue.pool.used.in_flight, queue.pool.waiting), (1, 4));
    assert_eq!(queue.pool.used.minute.iter().map(|bucket| bucket.requests).sum::<u64>(), 2);
    assert_eq!(queue.tenant_in_flight, (0, Some(9)));
    assert_eq!((queue.key_in_flight, queue.task_in_flight), ((0, None), 1));
    assert_eq!((queue.account.spent, queue.account.left()), (Micros(200), Some(Micros(800))));
    assert_eq!((queue.step.number, &queue.step.model[..]), (1, "small"));
    assert_eq!(queue.recent_durations, [4_000]);
    let blocked = b.accept_one().await;
    let claimed = b.claim(9).await;
    b.fail(&claimed[0], FailureClass::RateLimited).await;
    let queue = b.store().queue(b.alpha, blocked).await.unwrap().unwrap();
    assert_eq!(queue.pool.cooldown_class, Some(FailureClass::RateLimited));
}
