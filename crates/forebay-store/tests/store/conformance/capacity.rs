//! Limits of pools and budgets, each at n and n + 1 (I17, I18).

use forebay_core::attempt::Outcome;
use forebay_core::definition::PoolLimits;
use forebay_core::failure::FailureClass;
use forebay_core::job::State;
use forebay_core::money::Micros;
use forebay_core::time::{Millis, Timestamp};
use forebay_core::window::Dimension;
use forebay_store::record::{
    AttemptClose, BudgetPeriod, Claim, ClaimReply, NewJob, NewStep, TenantSettings, Then,
};

use crate::bundle::{Bundle, closed, failed, not_sent, succeed, succeeded, try_failed, used};

fn requests(limit: u64) -> PoolLimits {
    PoolLimits { requests_per_minute: Some(limit), ..PoolLimits::default() }
}

async fn claim_within(b: &Bundle, limits: PoolLimits) -> ClaimReply {
    b.take(Claim { limits, slots: 100, ..b.new_claim() }).await
}

fn binds(reply: &ClaimReply) -> Option<Dimension> {
    reply.full.map(|full| full.dimension)
}

pub async fn requests_per_minute_hold_at_n(b: &Bundle) {
    b.accept_of(b.alpha, 4).await;
    let reply = claim_within(b, requests(3)).await;
    assert_eq!((reply.claimed.len(), binds(&reply)), (3, Some(Dimension::RequestsPerMinute)));
    for claimed in &reply.claimed {
        b.succeed(claimed).await;
    }
    let reply = claim_within(b, requests(3)).await;
    assert_eq!(reply.claimed, [], "that the calls are over gives nothing back");
    assert_eq!(claim_within(b, requests(4)).await.claimed.len(), 1, "a higher limit does");
}

/// A limit that was lowered since: not even alone does the job exceed it, and it holds up nobody.
pub async fn a_job_larger_than_the_limit_waits_aside(b: &Bundle) {
    let step = NewStep { input_tokens: 1_000, ..b.new_step() };
    let large = b.accept(NewJob { first_step: step, ..b.new_job() }).await;
    let small = b.accept_one().await;
    let tokens = |limit| PoolLimits { tokens_per_minute: Some(limit), ..PoolLimits::default() };
    let reply = claim_within(b, tokens(300)).await;
    assert_eq!(reply.claimed.iter().map(|claimed| claimed.job_id).collect::<Vec<_>>(), [small]);
    assert_eq!(b.state(large).await, State::Ready);
    let events = b.story(large).await;
    b.wait_secs(29);
    assert_eq!(claim_within(b, tokens(3_000)).await.claimed, [], "looked at again after a while");
    b.wait_secs(1);
    assert_eq!(claim_within(b, tokens(300)).await.claimed, []);
    b.wait_secs(30);
    assert_eq!(b.story(large).await, events, "waiting is no event");
    assert_eq!(claim_within(b, tokens(3_000)).await.claimed[0].job_id, large);
}

pub async fn calls_in_flight_hold_at_n(b: &Bundle) {
    b.accept_of(b.alpha, 3).await;
    let at_once = PoolLimits { max_in_flight: Some(2), ..PoolLimits::default() };
    let first = claim_within(b, at_once).await;
    assert_eq!((first.claimed.len(), binds(&first)), (2, Some(Dimension::InFlight)));
    assert_eq!(claim_within(b, at_once).await.claimed, []);
    b.succeed(&first.claimed[0]).await;
    assert_eq!(claim_within(b, at_once).await.claimed.len(), 1);
}

/// No sliding minute holds more than the limit, also when a call arrives half a second late.
pub async fn the_window_frees_after_a_minute_and_the_slack(b: &Bundle) {
    b.accept_of(b.alpha, 2).await;
    claim_within(b, requests(1)).await;
    let free = b.now().after(Millis::new(60_750));
    let reply = claim_within(b, requests(1)).await;
    assert_eq!((reply.full.unwrap().until, reply.next), (Some(free), Some(free)));
    b.wait(Millis::new(60_749));
    assert_eq!(claim_within(b, requests(1)).await.claimed, []);
    b.wait(Millis::new(1));
    assert_eq!(claim_within(b, requests(1)).await.claimed.len(), 1);
}

pub async fn the_window_outlives_a_restart(b: &Bundle) {
    b.accept_of(b.alpha, 2).await;
    claim_within(b, requests(1)).await;
    b.restart().await;
    b.wait(Millis::new(60_749));
    assert_eq!(claim_within(b, requests(1)).await.claimed, []);
}

/// I17: together or not at all.
pub async fn a_refusal_on_one_dimension_takes_nothing_of_the_others(b: &Bundle) {
    b.allow(b.alpha, TenantSettings { budget: Some(Micros(1_000)), ..TenantSettings::default() }).await;
    b.accept_of(b.alpha, 3).await;
    let limits = PoolLimits {
        requests_per_minute: Some(10),
        tokens_per_minute: Some(299),
        max_in_flight: Some(10),
        ..PoolLimits::default()
    };
    claim_within(b, limits).await;
    let before = (b.store().pools().await.unwrap(), b.tenant(b.alpha).await, b.events(b.alpha, None).await);
    assert_eq!(claim_within(b, limits).await.claimed, []);
    let after = (b.store().pools().await.unwrap(), b.tenant(b.alpha).await, b.events(b.alpha, None).await);
    assert_eq!(before, after);
    assert_eq!((after.0[0].used.in_flight, after.1.account.reserved), (1, Micros(200)));
}

/// I18.
pub async fn a_budget_holds_to_the_micro_unit(b: &Bundle) {
    b.allow(b.alpha, TenantSettings { budget: Some(Micros(599)), ..TenantSettings::default() }).await;
    b.accept_of(b.alpha, 4).await;
    let claimed = b.claim(9).await;
    assert_eq!(claimed.len(), 2);
    b.allow(b.alpha, TenantSettings { budget: Some(Micros(600)), ..TenantSettings::default() }).await;
    assert_eq!(b.claim(9).await.len(), 1);
    b.commit_own(&claimed[0], succeeded(used(0, 0)), succeed()).await;
    assert_eq!(b.claim(9).await.len(), 1, "what was not used can be used again");
}

/// I17, I18 under concurrency.
pub async fn many_claimers_never_exceed_a_limit(b: &Bundle) {
    b.allow(b.alpha, TenantSettings { budget: Some(Micros(200 * 31)), ..TenantSettings::default() }).await;
    b.accept_together((0..80).map(|_| b.new_job()).collect()).await;
    b.accept_together((0..80).map(|_| b.new_job_of(b.beta)).collect()).await;
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (store, claim) = (b.store(), Claim { limits: requests(90), slots: 10, ..b.new_claim() });
        workers.spawn(async move { store.claim(claim).await.unwrap().claimed });
    }
    let claimed: Vec<_> = workers.join_all().await.into_iter().flatten().collect();
    assert_eq!(claimed.len(), 90);
    assert_eq!(claimed.iter().filter(|claimed| claimed.tenant == b.alpha).count(), 31);
}

async fn limit_reached(b: &Bundle, class: FailureClass, cooldown: Option<Millis>) -> Timestamp {
    b.accept_one().await;
    let claimed = b.claim_one().await;
    let close = AttemptClose { cooldown, ..failed(class) };
    b.commit_own(&claimed, close, try_failed(class)).await;
    b.now()
}

/// I16: nobody calls a provider that has said when to come back.
pub async fn a_cooldown_stops_the_whole_pool_and_ends(b: &Bundle) {
    let at = limit_reached(b, FailureClass::RateLimited, Some(Millis::from_secs(20))).await;
    b.accept(b.new_job_of(b.beta)).await;
    let until = at.after(Millis::from_secs(20));
    let reply = b.take(b.new_claim()).await;
    // The job that was put off is due before the pool may be called again.
    assert!(reply.claimed.is_empty() && reply.next.unwrap() <= until);
    let pool = b.store().pools().await.unwrap().remove(0);
    let rests = (pool.cooldown_until, pool.cooldown_class);
    assert_eq!(rests, (Some(until), Some(FailureClass::RateLimited)));
    b.wait(Millis::new(19_999));
    assert_eq!(b.claim(9).await, []);
    b.wait(Millis::new(1));
    assert_eq!(b.claim(9).await.len(), 2);
    assert_eq!(b.store().pools().await.unwrap()[0].cooldown_until, None);
}

pub async fn a_shorter_cooldown_does_not_end_a_longer_one(b: &Bundle) {
    b.accept_of(b.alpha, 2).await;
    let claimed = b.claim(2).await;
    for (claimed, secs) in claimed.iter().zip([30, 5]) {
        let class = FailureClass::RateLimited;
        let close = AttemptClose { cooldown: Some(Millis::from_secs(secs)), ..failed(class) };
        b.commit_own(claimed, close, try_failed(class)).await;
    }
    let until = b.store().pools().await.unwrap()[0].cooldown_until;
    assert_eq!(until, Some(b.now().after(Millis::from_secs(30))));
}

pub async fn a_limit_without_a_word_on_when_rests_a_second(b: &Bundle) {
    let at = limit_reached(b, FailureClass::RateLimited, None).await;
    let until = b.store().pools().await.unwrap()[0].cooldown_until;
    assert_eq!(until, Some(at.after(Millis::from_secs(1))));
}

pub async fn an_overload_rests_the_pool_only_where_the_provider_says_how_long(b: &Bundle) {
    limit_reached(b, FailureClass::Overloaded, None).await;
    assert_eq!(b.store().pools().await.unwrap()[0].cooldown_until, None);
    b.accept_one().await;
    let at = limit_reached(b, FailureClass::Overloaded, Some(Millis::from_secs(3))).await;
    let until = b.store().pools().await.unwrap()[0].cooldown_until;
    assert_eq!(until, Some(at.after(Millis::from_secs(3))));
}

/// Takes the budget of one call over the end of a period: what is settled then is booked where it was
/// reserved, and the new period has its whole budget.
async fn over_the_end(b: &Bundle, budget_period: BudgetPeriod, span: Millis) {
    b.allow(
        b.alpha,
        TenantSettings { budget: Some(Micros(200)), budget_period, ..TenantSettings::default() },
    )
    .await;
    let late = |job| forebay_store::record::NewJob { deadline: b.now().after(span).after(span), ..job };
    for _ in 0..3 {
        b.accept(late(b.new_job())).await;
    }
    let claimed = b.claim(9).await;
    assert_eq!(claimed.len(), 1);
    b.wait(Millis::new(span.get() - 1));
    assert_eq!(b.claim(9).await, [], "the period has a millisecond to go");
    b.wait(Millis::new(1));
    assert_eq!(b.tenant(b.alpha).await.account.reserved, Micros::ZERO);
    assert_eq!(b.claim(9).await.len(), 1);
    b.succeed(&claimed[0]).await;
    let account = b.tenant(b.alpha).await.account;
    assert_eq!((account.reserved, account.spent), (Micros(200), Micros::ZERO));
    b.clock.set(crate::bundle::START);
    let account = b.tenant(b.alpha).await.account;
    assert_eq!((account.reserved, account.spent), (Micros::ZERO, Micros(200)));
    b.clock.set(crate::bundle::START.after(span));
}

pub async fn a_day_is_an_account_of_its_own(b: &Bundle) {
    over_the_end(b, BudgetPeriod::Day, Millis::from_secs(14 * 3_600)).await;
}

pub async fn a_month_is_an_account_of_its_own(b: &Bundle) {
    over_the_end(b, BudgetPeriod::Month, Millis::from_secs((30 * 24 + 14) * 3_600)).await;
}

async fn account_after(b: &Bundle, close: AttemptClose, then: Then) -> (i64, i64, i64) {
    b.accept_one().await;
    let claimed = b.claim_one().await;
    b.commit_own(&claimed, close, then).await;
    let account = b.tenant(b.alpha).await.account;
    (account.reserved.0, account.spent.0, account.uncertain.0)
}

pub async fn what_was_not_sent_gives_its_money_back(b: &Bundle) {
    assert_eq!(account_after(b, not_sent(), try_failed(FailureClass::NotSent)).await, (0, 0, 0));
}

/// I18: on the books until somebody who knows settles it.
pub async fn what_may_have_been_billed_stays_on_the_books(b: &Bundle) {
    let class = FailureClass::TimeoutIdle;
    let close = closed(Outcome::Unknown, Some(class), None);
    assert_eq!(account_after(b, close, try_failed(class)).await, (0, 0, 200));
}

pub async fn more_than_was_reserved_is_a_recorded_overage(b: &Bundle) {
    b.allow(b.alpha, TenantSettings { budget: Some(Micros(200)), ..TenantSettings::default() }).await;
    assert_eq!(account_after(b, succeeded(used(150, 50)), succeed()).await, (0, 250, 0));
    let job = b.all_jobs(b.alpha).await.remove(0).id;
    assert_eq!(b.attempts(job).await[0].overage, Some(Micros(50)));
    b.accept_one().await;
    assert_eq!(b.claim(1).await, [], "nothing is left");
}
