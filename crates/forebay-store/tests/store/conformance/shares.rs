//! How much of a pool each tenant gets, each of its keys, and each of their tasks.

use forebay_core::digest::Digest;
use forebay_core::fairness::{DEVIATION, Weight};
use forebay_core::id::KeyId;
use forebay_store::record::{Actor, Claim, NewJob, NewKey, NewStep, TenantSettings};

use super::access::new_key;
use crate::bundle::Bundle;

/// A key of a tenant, with that limit on its calls in flight.
pub async fn key_of(b: &Bundle, tenant: i64, max_in_flight: Option<u64>) -> KeyId {
    let secret: [u8; 16] = rand::random();
    let key = NewKey { digest: Digest::of(&secret), max_in_flight, ..new_key(tenant, "") };
    b.store().add_key(key, Actor::program()).await.unwrap().id
}

async fn weigh(b: &Bundle, tenant: i64, weight: u64) {
    let weight = Weight::new(weight).unwrap();
    b.allow(tenant, TenantSettings { weight, ..TenantSettings::default() }).await;
}

/// A job that counts for so many tokens.
fn of_cost(b: &Bundle, tenant: i64, cost: u64) -> NewJob {
    let first_step = NewStep { input_tokens: cost - 50, output_tokens: 50, ..b.new_step() };
    NewJob { first_step, ..b.new_job_of(tenant) }
}

async fn accept_of_cost(b: &Bundle, tenant: i64, cost: u64, count: usize) {
    b.accept_together((0..count).map(|_| of_cost(b, tenant, cost)).collect()).await;
}

/// Whose jobs that many claims of so many slots bring, in order.
async fn served(b: &Bundle, claims: usize, slots: usize) -> Vec<i64> {
    let mut served = Vec::new();
    for _ in 0..claims {
        served.extend(b.claim(slots).await.into_iter().map(|claimed| claimed.tenant));
    }
    served
}

fn count(served: &[i64], tenant: i64) -> usize {
    served.iter().filter(|of| **of == tenant).count()
}

pub async fn a_weight_is_a_share(b: &Bundle) {
    weigh(b, b.alpha, 3).await;
    b.accept_of(b.alpha, 40).await;
    b.accept_of(b.beta, 40).await;
    let served = served(b, 1, 24).await;
    assert_eq!((count(&served, b.alpha), count(&served, b.beta)), (18, 6), "{served:?}");
}

/// The share is the store's, not a claim's: whatever pieces it comes in.
pub async fn shares_are_the_same_in_small_claims(b: &Bundle) {
    weigh(b, b.alpha, 3).await;
    b.accept_of(b.alpha, 40).await;
    b.accept_of(b.beta, 40).await;
    for (claims, slots) in [(12, 1), (4, 5), (1, 8)] {
        let served = served(b, claims, slots).await;
        let all = claims * slots;
        assert_eq!((count(&served, b.alpha), count(&served, b.beta)), (all * 3 / 4, all / 4), "{served:?}");
    }
}

pub async fn a_weight_counts_at_once(b: &Bundle) {
    b.accept_of(b.alpha, 60).await;
    b.accept_of(b.beta, 60).await;
    let before = served(b, 1, 12).await;
    assert_eq!((count(&before, b.alpha), count(&before, b.beta)), (6, 6));
    weigh(b, b.beta, 5).await;
    let after = served(b, 1, 12).await;
    assert_eq!((count(&after, b.alpha), count(&after, b.beta)), (2, 10), "{after:?}");
}

/// Tokens are shared, not jobs: small ones of the one tenant for large ones of the other.
pub async fn shares_are_counted_in_cost(b: &Bundle) {
    accept_of_cost(b, b.alpha, 1_000, 20).await;
    accept_of_cost(b, b.beta, 100, 200).await;
    let mut taken = [0_u64; 2];
    for slots in [1, 7, 30, 2, 40, 1, 1, 9] {
        for claimed in b.claim(slots).await {
            taken[usize::from(claimed.tenant == b.beta)] += claimed.reserved.tokens();
        }
        assert!(taken[0].abs_diff(taken[1]) <= DEVIATION * 1_000, "{taken:?}");
    }
    assert!(taken[0] > 5_000, "{taken:?}");
}

/// I19, whatever the job costs and whatever the others' weights.
pub async fn a_single_job_waits_for_one_turn_of_each_other_tenant(b: &Bundle) {
    weigh(b, b.alpha, 4).await;
    b.accept_of(b.alpha, 30).await;
    b.claim(5).await;
    let single = b.accept(of_cost(b, b.beta, 100_000)).await;
    assert!(b.claim_ids(4).await.contains(&single));
}

pub async fn a_tenant_that_spreads_over_keys_gains_nothing(b: &Bundle) {
    for _ in 0..10 {
        let key_id = Some(key_of(b, b.alpha, None).await);
        b.accept_together((0..5).map(|_| NewJob { key_id, ..b.new_job() }).collect()).await;
    }
    b.accept_of(b.beta, 30).await;
    for slots in [1, 12, 13] {
        let served = served(b, 2, slots).await;
        assert_eq!(count(&served, b.alpha), slots, "{served:?}");
    }
}

pub async fn a_tenant_that_spreads_over_tasks_gains_nothing(b: &Bundle) {
    let jobs = (0..60).map(|nth| NewJob { task: format!("task-{}", nth % 12), ..b.new_job() });
    b.accept_together(jobs.collect()).await;
    b.accept_of(b.beta, 30).await;
    for slots in [1, 12, 13] {
        let served = served(b, 2, slots).await;
        assert_eq!(count(&served, b.alpha), slots, "{served:?}");
    }
}

/// C14, F115.
pub async fn a_tenant_that_spreads_over_ordering_keys_gains_nothing(b: &Bundle) {
    b.accept_together((0..60).map(|nth| b.ordered_job(&(nth % 40).to_string())).collect()).await;
    b.accept_of(b.beta, 30).await;
    for slots in [1, 12, 5] {
        let served = served(b, 2, slots).await;
        assert_eq!(count(&served, b.alpha), slots, "{served:?}");
    }
}

/// Between keys it is jobs that are counted; one that spreads over tasks gains nothing either.
pub async fn keys_of_a_tenant_take_turns(b: &Bundle) {
    let (one, other) = (key_of(b, b.alpha, None).await, key_of(b, b.alpha, None).await);
    let mut ones = Vec::new();
    for nth in 0..30 {
        let task = format!("task-{}", nth % 5);
        ones.push(b.accept(NewJob { key_id: Some(one), task, ..b.new_job() }).await);
    }
    for _ in 0..15 {
        b.accept(NewJob { key_id: Some(other), ..b.new_job() }).await;
    }
    let mut taken = Vec::new();
    for slots in [1, 1, 1, 1, 6, 8] {
        taken.extend(b.claim_ids(slots).await);
        let of_one = taken.iter().filter(|job| ones.contains(job)).count();
        assert!(of_one.abs_diff(taken.len() - of_one) <= 1, "{of_one} of {}", taken.len());
    }
}

/// As many keys as a tenant has, each has its turn, however few slots there are.
pub async fn the_turn_of_the_keys_goes_on_where_it_stopped(b: &Bundle) {
    let mut first = Vec::new();
    for _ in 0..7 {
        let key_id = Some(key_of(b, b.alpha, None).await);
        first.push(b.accept(NewJob { key_id, ..b.new_job() }).await);
        b.accept(NewJob { key_id, ..b.new_job() }).await;
    }
    let mut taken = Vec::new();
    for slots in [1, 3, 2, 1] {
        taken.extend(b.claim_ids(slots).await);
    }
    taken.sort();
    first.sort();
    assert_eq!(taken, first, "the first job of each key before the second one of any");
}

/// Within a key it is the place in the lane that counts, whatever the task.
pub async fn the_tasks_of_a_key_are_one_queue(b: &Bundle) {
    let mut jobs = Vec::new();
    for nth in 0..12 {
        let task = format!("task-{}", nth % 3);
        jobs.push(b.accept(NewJob { task, ..b.new_job() }).await);
    }
    let mut taken = b.claim_ids(1).await;
    taken.extend(b.claim_ids(11).await);
    assert_eq!(taken, jobs);
}

pub async fn only_the_tasks_that_are_asked_for(b: &Bundle) {
    let of_task = |task: &str| NewJob { task: task.to_owned(), ..b.new_job() };
    b.accept_together((0..20).map(|_| of_task("chat")).collect()).await;
    let wanted = b.accept(of_task("invoice")).await;
    let tasks = ["invoice".to_owned(), "report".to_owned()].into();
    let reply = b.take(Claim { tasks, slots: 5, ..b.new_claim() }).await;
    assert_eq!(reply.claimed.iter().map(|claimed| claimed.job_id).collect::<Vec<_>>(), [wanted]);
    assert_eq!(b.claim(30).await.len(), 20);
}

/// Many tenants, few slots: in one round everybody has a turn, whatever the claims' sizes.
pub async fn in_a_round_everybody_has_a_turn(b: &Bundle) {
    let mut tenants = vec![b.alpha, b.beta];
    let store = b.store();
    for nth in 0..28 {
        let put = store.put_tenant(format!("t{nth}"), TenantSettings::default(), Actor::program());
        tenants.push(put.await.unwrap().id);
    }
    for tenant in &tenants {
        b.accept_of(*tenant, 3).await;
    }
    let mut all = Vec::new();
    for slots in [1, 2, 7, 20, 13, 17, 40] {
        all.extend(served(b, 1, slots).await);
    }
    all.truncate(90);
    for round in all.chunks(tenants.len()) {
        let mut round = round.to_vec();
        round.sort_unstable();
        assert_eq!(round, tenants);
    }
}

/// What `explain` says of turns: tenants, keys, and the jobs of the same key, whatever their tasks.
pub async fn the_queue_says_whose_turns_come_first(b: &Bundle) {
    let (one, other) = (key_of(b, b.alpha, Some(4)).await, key_of(b, b.alpha, None).await);
    for nth in 0..9 {
        let task = format!("task-{}", nth % 3);
        b.accept(NewJob { key_id: Some(one), task, ..b.new_job() }).await;
    }
    b.accept(NewJob { key_id: Some(other), ..b.new_job() }).await;
    b.accept_of(b.beta, 2).await;
    let last = b.accept(NewJob { key_id: Some(one), task: "task-0".to_owned(), ..b.new_job() }).await;
    let queue = b.store().queue(b.alpha, last).await.unwrap().unwrap();
    assert_eq!((queue.ahead, queue.lanes, queue.keys), (9, 2, 2));
    assert_eq!(b.claim(7).await.len(), 7);
    let queue = b.store().queue(b.alpha, last).await.unwrap().unwrap();
    assert_eq!((queue.ahead, queue.lanes, queue.keys), (5, 1, 1));
    assert_eq!((queue.key_in_flight, queue.task_in_flight), ((4, Some(4)), 2));
}

/// What lanes with due jobs were handed of the pool, and when they yielded, by the metric's view of it.
async fn handed(b: &Bundle) -> Vec<(i64, u64, i64)> {
    let shares = b.store().shares().await.unwrap();
    let main = shares.into_iter().find(|shares| shares.pool == "main").unwrap();
    main.lanes.iter().map(|lane| (lane.tenant, lane.served, lane.yielded_at.as_millis())).collect()
}

pub async fn what_a_lane_is_handed_is_counted(b: &Bundle) {
    weigh(b, b.beta, 2).await;
    accept_of_cost(b, b.alpha, 100, 9).await;
    accept_of_cost(b, b.beta, 70, 9).await;
    b.accept_together(vec![NewJob { task: "other".to_owned(), ..of_cost(b, b.beta, 400) }]).await;
    let served = [served(b, 3, 1).await, served(b, 1, 9).await].concat();
    let cost = |tenant, cost| cost * count(&served, tenant) as u64;
    let expected = [(b.alpha, cost(b.alpha, 100), 0), (b.beta, cost(b.beta, 70), 0)];
    assert_eq!(handed(b).await, expected, "{served:?}");
    let shares = b.store().shares().await.unwrap().remove(0);
    assert_eq!((shares.largest, shares.lanes[1].weight.get()), (100, 2));
}

/// Neither who has no jobs nor who is at a limit of its own has been kept from its share.
pub async fn a_lane_yields_when_it_can_take_nothing(b: &Bundle) {
    b.accept_of(b.alpha, 2).await;
    b.accept_of(b.beta, 30).await;
    assert_eq!(b.claim(8).await.len(), 8);
    let emptied = b.now().as_millis();
    b.wait_secs(5);
    b.accept_of(b.alpha, 3).await;
    assert_eq!(handed(b).await, [(b.alpha, 300, emptied), (b.beta, 900, 0)]);
    b.allow(b.alpha, TenantSettings { max_in_flight: Some(2), ..TenantSettings::default() }).await;
    b.wait_secs(15);
    assert_eq!(b.claim(4).await.len(), 4);
    assert_eq!(handed(b).await, [(b.alpha, 300, b.now().as_millis()), (b.beta, 1_500, 0)]);
}
