//! Each limit of a pool, and what gives it back (I17).

use forebay_core::attempt::Outcome;
use forebay_core::definition::{CountTokens, Pacing, PoolLimits};
use forebay_core::failure::FailureClass;
use forebay_core::grant::Reservation;
use forebay_core::time::Millis;
use forebay_core::window::{Bucket, DAY_BUCKET, Dimension, Span, Use};
use forebay_store::record::{AttemptClose, Claim, ClaimReply, NewJob, NewStep};

use crate::bundle::{Bundle, closed, not_sent, succeed, succeeded, try_failed, used};

/// What the calls of these tests reserve.
const CALL: Reservation =
    Reservation { input_tokens: 100, output_tokens: 50, micros: forebay_core::money::Micros(200) };

fn limits(dimension: Dimension, calls: u64) -> PoolLimits {
    let mut limits = PoolLimits::default();
    let limit = match dimension {
        Dimension::RequestsPerMinute => &mut limits.requests_per_minute,
        Dimension::InputTokensPerMinute => &mut limits.input_tokens_per_minute,
        Dimension::OutputTokensPerMinute => &mut limits.output_tokens_per_minute,
        Dimension::TokensPerMinute => &mut limits.tokens_per_minute,
        Dimension::RequestsPerDay => &mut limits.requests_per_day,
        Dimension::TokensPerDay => &mut limits.tokens_per_day,
        Dimension::InFlight => &mut limits.max_in_flight,
        Dimension::TokensInFlight => &mut limits.max_tokens_in_flight,
    };
    *limit = Some(calls * dimension.need(&CALL));
    limits
}

async fn claim_within(b: &Bundle, limits: PoolLimits) -> ClaimReply {
    b.take(Claim { limits, slots: 100, ..b.new_claim() }).await
}

async fn use_of_pool(b: &Bundle) -> Use {
    b.store().pools().await.unwrap().remove(0).used
}

pub async fn each_holds_at_n_and_can_be_raised(b: &Bundle) {
    for dimension in Dimension::ALL {
        let pool = dimension.name();
        for _ in 0..3 {
            let first_step = NewStep { pool: pool.to_owned(), ..b.new_step() };
            b.accept(NewJob { first_step, ..b.new_job() }).await;
        }
        let claim = |calls| Claim {
            pool: pool.to_owned(),
            limits: limits(dimension, calls),
            slots: 100,
            ..b.new_claim()
        };
        let first = b.take(claim(2)).await;
        let binds = first.full.map(|full| full.dimension);
        assert_eq!((first.claimed.len(), binds), (2, Some(dimension)), "{pool}");
        let next = b.take(claim(3)).await;
        assert_eq!((next.claimed.len(), next.full), (1, None), "{pool}");
    }
}

pub async fn tokens_in_flight_go_back_with_their_call(b: &Bundle) {
    let two = limits(Dimension::TokensInFlight, 2);
    b.accept_of(b.alpha, 4).await;
    let claimed = claim_within(b, two).await.claimed;
    assert_eq!((claimed.len(), use_of_pool(b).await.tokens_in_flight), (2, 300));
    b.commit_own(&claimed[0], succeeded(used(1, 1)), succeed()).await;
    b.commit(&claimed[0], succeeded(used(1, 1)), succeed()).await;
    assert_eq!(use_of_pool(b).await.tokens_in_flight, 150, "what it used is no matter, and once is enough");
    b.restart().await;
    let again = claim_within(b, two).await.claimed;
    assert_eq!((again.len(), use_of_pool(b).await.tokens_in_flight), (1, 300));
    b.commit_own(&claimed[1], not_sent(), try_failed(FailureClass::NotSent)).await;
    b.succeed(&again[0]).await;
    assert_eq!(use_of_pool(b).await.tokens_in_flight, 0);
}

/// Nobody has seen it: neither a minute nor a day was used.
pub async fn what_was_not_sent_counts_for_nothing(b: &Bundle) {
    for dimension in Dimension::ALL {
        b.accept_one().await;
        let [claimed] = &claim_within(b, limits(dimension, 1)).await.claimed[..] else {
            panic!("{dimension:?} has room for one")
        };
        b.commit_own(claimed, not_sent(), try_failed(FailureClass::NotSent)).await;
        assert_eq!(use_of_pool(b).await.of(dimension), 0, "{dimension:?}");
    }
}

pub async fn unused_tokens_go_back_where_the_pool_counts_so(b: &Bundle) {
    let tokens = PoolLimits { tokens_per_minute: Some(400), ..PoolLimits::default() };
    b.accept_of(b.alpha, 6).await;
    let claimed = claim_within(b, tokens).await.claimed;
    assert_eq!(claimed.len(), 2);
    b.commit_own(&claimed[0], succeeded(used(20, 10)), succeed()).await;
    assert_eq!(claim_within(b, tokens).await.claimed, [], "it counts as it was reserved");
    let counted = |usage| AttemptClose { count_tokens: CountTokens::Used, ..succeeded(usage) };
    b.commit_own(&claimed[1], counted(used(60, 20)), succeed()).await;
    let next = claim_within(b, tokens).await.claimed;
    assert_eq!((next.len(), use_of_pool(b).await.of(Dimension::TokensPerMinute)), (1, 150 + 80 + 150));
    b.commit_own(&next[0], counted(used(130, 50)), succeed()).await;
    let used = use_of_pool(b).await;
    let of = |dimension| used.of(dimension);
    assert_eq!((of(Dimension::InputTokensPerMinute), of(Dimension::OutputTokensPerMinute)), (290, 120));
    assert_eq!(
        (of(Dimension::TokensPerMinute), of(Dimension::TokensPerDay)),
        (410, 410),
        "more than reserved"
    );
    assert_eq!(of(Dimension::RequestsPerMinute), 3, "a call that was made stays one");
}

/// Nobody knows what it used.
pub async fn an_unknown_outcome_counts_with_all_that_it_had(b: &Bundle) {
    b.accept_one().await;
    let claimed = b.claim_one().await;
    let class = FailureClass::TimeoutIdle;
    let close =
        AttemptClose { count_tokens: CountTokens::Used, ..closed(Outcome::Unknown, Some(class), None) };
    b.commit_own(&claimed, close, try_failed(class)).await;
    assert_eq!(use_of_pool(b).await.of(Dimension::TokensPerMinute), 150);
}

pub async fn a_day_is_any_24_hours(b: &Bundle) {
    let two = limits(Dimension::RequestsPerDay, 2);
    let day = Span::Day.counts();
    let last_until = b.now().after(day).after(day);
    for _ in 0..3 {
        b.accept(NewJob { deadline: last_until, ..b.new_job() }).await;
    }
    let claimed = claim_within(b, two).await.claimed;
    for claimed in &claimed {
        b.succeed(claimed).await;
    }
    let free = Bucket::at(b.now(), Span::Day).free_at(Span::Day);
    let full = claim_within(b, two).await.full.unwrap();
    assert_eq!((claimed.len(), full.dimension, full.until), (2, Dimension::RequestsPerDay, Some(free)));
    assert!(free.since(b.now()) > Span::Day.length() && free.since(b.now()) <= day);
    b.wait(Millis::new(free.since(b.now()).get() - 1));
    assert_eq!(claim_within(b, two).await.claimed, []);
    b.wait(Millis::new(1));
    assert_eq!(claim_within(b, two).await.claimed.len(), 1);
    assert!(day > DAY_BUCKET);
}

/// A minute's calls are not all made in its first second.
pub async fn calls_are_spread_over_the_minute(b: &Bundle) {
    let paced = PoolLimits { pacing: Pacing::Even, ..limits(Dimension::RequestsPerMinute, 120) };
    b.accept_of(b.alpha, 30).await;
    let first = claim_within(b, paced).await;
    let full = first.full.unwrap();
    assert_eq!(
        (first.claimed.len(), full.dimension, full.is_paced),
        (11, Dimension::RequestsPerMinute, true)
    );
    assert_eq!(claim_within(b, paced).await.claimed, []);
    b.wait(Millis::new(5_250));
    assert_eq!(claim_within(b, paced).await.claimed.len(), 11, "and the next five seconds have theirs");
}
