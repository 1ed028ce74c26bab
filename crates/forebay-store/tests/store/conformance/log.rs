//! The log: every change once, in commit order (I1, I28).

use std::collections::HashSet;

use forebay_core::failure::FailureClass;
use forebay_core::job::State;
use forebay_store::record::{Actor, Changed, EventQuery, EventRecord, NewJob, Place, Taken};
use serde_json::Value;

use crate::bundle::{Bundle, LEASE};

fn envelope(event: &EventRecord) -> Value {
    serde_json::from_slice(&event.body).expect("an event is JSON")
}

/// Two jobs, one of which takes the long way.
async fn something_happens(b: &Bundle) {
    let metadata = Some(r#"{"order":"4711"}"#.to_owned());
    b.accept(NewJob { metadata, ..b.keyed_job("order-1") }).await;
    let claimed = b.claim_one().await;
    b.fail(&claimed, FailureClass::ProviderError).await;
    let other = b.accept(b.new_job_of(b.beta)).await;
    b.wait_secs(60);
    b.store().cancel(b.beta, other, Actor::program()).await.unwrap();
    let claimed = b.claim_one().await;
    b.step_on(&claimed, b.new_step()).await;
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
}

pub async fn numbers_rise_in_commit_order(b: &Bundle) {
    b.accept_together((0..100).map(|_| b.new_job()).collect()).await;
    b.claim(50).await;
    let numbers: Vec<i64> = b.events(b.alpha, None).await.iter().map(|event| event.seq).collect();
    assert_eq!(numbers.len(), 150);
    assert!(numbers.is_sorted_by(|one, other| one < other));
}

pub async fn every_version_has_one_event(b: &Bundle) {
    something_happens(b).await;
    let told: HashSet<_> = b
        .events(b.alpha, None)
        .await
        .iter()
        .map(envelope)
        .map(|event| (event["subject"].to_string(), event["data"]["state_version"].as_u64().unwrap()))
        .collect();
    let expected: HashSet<_> = b
        .all_jobs(b.alpha)
        .await
        .into_iter()
        .flat_map(|job| (1..=job.job.state_version).map(move |at| (format!("\"{}\"", job.id), at)))
        .collect();
    assert_eq!(told, expected);
}

/// As CloudEvents 1.0 wants them: the required attributes, each a text that is not empty, and data by
/// reference.
pub async fn every_event_is_a_cloud_event(b: &Bundle) {
    something_happens(b).await;
    let origin = b.store().origin();
    let mut ids = HashSet::new();
    for event in b.events(b.alpha, None).await {
        let envelope = envelope(&event);
        assert_eq!(envelope["specversion"], "1.0");
        assert_eq!(envelope["source"], origin.source());
        assert_eq!(envelope["id"], origin.event_id(event.seq));
        assert_eq!(envelope["type"], format!("dev.forebay.{}.v1", event.full_name()));
        assert_eq!(envelope["datacontenttype"], "application/json");
        assert_eq!(envelope["correlationid"], "order-1");
        assert_eq!(envelope["data"]["metadata"]["order"], "4711");
        assert_eq!(envelope["data"]["job_id"], envelope["subject"]);
        let time = envelope["time"].as_str().unwrap().parse::<forebay_core::time::Timestamp>().unwrap();
        assert!(time <= b.now());
        assert!(State::from_name(envelope["data"]["state"].as_str().unwrap()).is_some());
        assert!(ids.insert(envelope["id"].to_string()), "ids are unique");
    }
}

pub async fn pages_hold_each_event_once(b: &Bundle) {
    b.accept_of(b.alpha, 10).await;
    b.accept_of(b.beta, 3).await;
    b.claim(8).await;
    let all = b.events(b.alpha, None).await;
    let (mut after, mut paged) = (Place::START, Vec::new());
    loop {
        let query = EventQuery { job: None, after, limit: 4 };
        let events = b.store().events(b.alpha, query).await.unwrap().events;
        let Some(last) = events.last() else { break };
        assert!(events.len() <= 4);
        after = last.place();
        paged.extend(events);
    }
    assert_eq!(paged, all);
}

pub async fn a_page_says_where_the_log_ends(b: &Bundle) {
    let query = EventQuery { job: None, after: Place::START, limit: 1 };
    let empty = b.store().events(b.alpha, query).await.unwrap();
    assert_eq!((empty.events.len(), empty.last, empty.expired), (0, Place::START, false));
    b.accept_of(b.alpha, 3).await;
    let page = b.store().events(b.alpha, query).await.unwrap();
    assert_eq!((page.events.len(), page.expired), (1, false));
    let last = b.events(b.alpha, None).await.pop().unwrap();
    assert_eq!(page.last, last.place());
}

/// I28: what a reader has seen stays behind it, and event ids stay unique.
pub async fn numbers_go_on_after_a_restart(b: &Bundle) {
    b.accept_of(b.alpha, 3).await;
    let before = (b.store().origin(), b.store().cursor_secret(), b.events(b.alpha, None).await);
    b.restart().await;
    let after = (b.store().origin(), b.store().cursor_secret(), b.events(b.alpha, None).await);
    assert_eq!(before, after);
    b.accept_one().await;
    let events = b.events(b.alpha, None).await;
    assert_eq!((events.len(), &events[..3]), (4, &after.2[..]));
    assert!(events[3].seq > events[2].seq);
}

/// At least once each; another store of the same database may tell of them a second time.
pub async fn commits_are_announced(b: &Bundle) {
    let mut changes = b.store().changes();
    let job = b.accept_one().await;
    let other = b.accept(b.new_job_of(b.beta)).await;
    for told in [Changed { job_id: job, tenant: b.alpha }, Changed { job_id: other, tenant: b.beta }] {
        while !changes.recv().await.unwrap().contains(&told) {}
    }
}

/// Whoever holds a job by a smaller fence than the one that is told has lost it.
pub async fn who_loses_a_job_is_told(b: &Bundle) {
    let mut taken = b.store().taken();
    let (cancelled, lapsed) = (b.accept_one().await, b.accept_one().await);
    b.claim(2).await;
    b.store().cancel(b.alpha, cancelled, Actor::program()).await.unwrap();
    assert_eq!(*taken.recv().await.unwrap(), [Taken { job_id: cancelled, fence: 2 }]);
    b.wait(LEASE);
    b.rescue(lapsed).await.unwrap();
    assert_eq!(*taken.recv().await.unwrap(), [Taken { job_id: lapsed, fence: 2 }]);
    // What nobody ran is taken from nobody, and neither is what its owner ends.
    let waiting = b.accept_one().await;
    b.store().cancel(b.alpha, waiting, Actor::program()).await.unwrap();
    b.wait_secs(60);
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    assert!(taken.try_recv().is_err());
}
