//! How fast jobs may be handed in.

use forebay_core::rate::{Counted, Rate};
use forebay_core::time::Millis;
use forebay_store::record::{AcceptRefused, Accepted, NewJob, RateLeft, RateLimit, RateLimited};

use crate::bundle::Bundle;

pub fn limit(counted: Counted, who: &str, per_minute: u64) -> RateLimit {
    RateLimit { counted, who: who.to_owned(), rate: Rate::per_minute(per_minute).unwrap() }
}

pub fn limited(b: &Bundle, rate_limits: &[RateLimit]) -> NewJob {
    NewJob { rate_limits: rate_limits.to_vec(), ..b.new_job() }
}

/// Jobs left of each limit, or who is counted that stands in the way and for how long.
async fn hand_in(b: &Bundle, limits: &[RateLimit]) -> Result<Vec<u64>, (Counted, Millis)> {
    match b.submit(limited(b, limits)).await {
        Ok(Accepted { rates, .. }) => Ok(rates.iter().map(|left| left.jobs).collect()),
        Err(AcceptRefused::TooFast(RateLimited { counted, retry_after, rates })) => {
            assert_eq!(rates.len(), limits.len(), "all limits are told");
            Err((counted, retry_after))
        }
        Err(other) => panic!("{other:?}"),
    }
}

pub async fn a_bucket_is_emptied_and_fills_again(b: &Bundle) {
    let limits = [limit(Counted::Tenant, "1", 3)];
    for left in [2, 1, 0] {
        assert_eq!(hand_in(b, &limits).await, Ok(vec![left]));
    }
    assert_eq!(hand_in(b, &limits).await, Err((Counted::Tenant, Millis::from_secs(20))));
    b.wait_secs(19);
    assert_eq!(hand_in(b, &limits).await, Err((Counted::Tenant, Millis::from_secs(1))));
    b.wait_secs(1);
    assert_eq!(hand_in(b, &limits).await, Ok(vec![0]));
    b.wait_secs(60);
    let accepted = b.submit(limited(b, &limits)).await.unwrap();
    let rate = Rate::per_minute(3).unwrap();
    let left = RateLeft { counted: Counted::Tenant, rate, jobs: 2, until: Millis::from_secs(20) };
    assert_eq!(accepted.rates, [left]);
}

/// A limit that stands in the way, or another reason, leaves the other buckets as they are.
pub async fn what_is_refused_takes_nothing(b: &Bundle) {
    let (wide, narrow) = (limit(Counted::Tenant, "1", 100), limit(Counted::Key, "k", 1));
    assert_eq!(hand_in(b, &[wide.clone(), narrow.clone()]).await, Ok(vec![99, 0]));
    for _ in 0..3 {
        let refused = hand_in(b, &[wide.clone(), narrow.clone()]).await;
        assert_eq!(refused, Err((Counted::Key, Millis::from_secs(60))));
    }
    let full = NewJob { max_pending: 0, ..limited(b, std::slice::from_ref(&wide)) };
    assert_eq!(b.submit(full).await, Err(AcceptRefused::SystemFull { limit: 0 }));
    assert_eq!(hand_in(b, &[wide]).await, Ok(vec![98]));
}

pub async fn what_was_accepted_before_is_not_counted(b: &Bundle) {
    let limits = [limit(Counted::Tenant, "1", 1)];
    let job = || NewJob { idempotency_key: Some("order-1".to_owned()), ..limited(b, &limits) };
    let first = b.submit(job()).await.unwrap();
    for _ in 0..3 {
        let again = b.submit(job()).await.unwrap();
        assert_eq!((again.job_id, again.replayed, again.rates), (first.job_id, true, Vec::new()));
    }
    assert!(hand_in(b, &limits).await.is_err());
}

pub async fn each_of_those_who_are_counted_has_a_bucket(b: &Bundle) {
    for (counted, who) in [
        (Counted::Tenant, "1"),
        (Counted::Tenant, "2"),
        (Counted::Key, "1"),
        (Counted::User, "1"),
        (Counted::User, "2"),
    ] {
        assert_eq!(hand_in(b, &[limit(counted, who, 1)]).await, Ok(vec![0]), "{counted:?} {who}");
        assert!(hand_in(b, &[limit(counted, who, 1)]).await.is_err(), "{counted:?} {who}");
    }
}

/// In however few transactions they come.
pub async fn many_at_once_are_no_more(b: &Bundle) {
    let limits = [limit(Counted::Tenant, "1", 10), limit(Counted::User, "ada", 7)];
    let answers = b.accept_together((0..40).map(|_| limited(b, &limits)).collect()).await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 7);
    assert_eq!(hand_in(b, &limits[..1]).await, Ok(vec![2]), "what was refused took nothing");
}

pub async fn without_limits_nothing_is_kept(b: &Bundle) {
    b.accept_of(b.alpha, 3).await;
    b.wait_secs(3_600);
    assert_eq!(b.store().forget_rates(10).await.unwrap(), 0);
}

pub async fn full_buckets_are_forgotten(b: &Bundle) {
    let used = [limit(Counted::Tenant, "1", 2)];
    for who in ["ada", "bob", "eve"] {
        hand_in(b, &[limit(Counted::User, who, 1)]).await.unwrap();
    }
    b.wait_secs(60);
    hand_in(b, &used).await.unwrap();
    assert_eq!(b.store().forget_rates(2).await.unwrap(), 2);
    assert_eq!(b.store().forget_rates(9).await.unwrap(), 1);
    assert_eq!(hand_in(b, &used).await, Ok(vec![0]), "what is in use stays");
}
