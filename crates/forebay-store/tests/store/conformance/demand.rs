//! What there is to do in a pool, as it is asked for to decide how many workers it is worth.

use forebay_core::capacity::sizing::Sample;
use forebay_core::failure::FailureClass;
use forebay_core::time::Millis;
use forebay_store::record::{AttemptClose, NewJob, NewStep, PoolDemand, TenantSettings, WaitingJobs};

use crate::bundle::{Bundle, failed, not_sent, succeed, succeeded, try_failed, used};

async fn demand(b: &Bundle, task: Option<&str>) -> PoolDemand {
    b.store().demand("main", task).await.unwrap()
}

fn of_task(b: &Bundle, task: &str) -> NewJob {
    NewJob { task: task.to_owned(), ..b.new_job() }
}

pub async fn a_pool_that_nobody_asked_for_has_no_demand(b: &Bundle) {
    let nothing =
        PoolDemand { in_flight: 0, task_in_flight: None, cooldown_until: None, waiting: Vec::new() };
    assert_eq!(demand(b, None).await, nothing);
    assert_eq!(demand(b, Some("chat")).await, PoolDemand { task_in_flight: Some(0), ..nothing });
}

pub async fn what_waits_is_told_apart_by_tenant_and_task(b: &Bundle) {
    let began = b.now();
    b.allow(b.alpha, TenantSettings { max_in_flight: Some(7), ..TenantSettings::default() }).await;
    for _ in 0..3 {
        b.accept(of_task(b, "invoice")).await;
        b.wait_secs(1);
    }
    b.accept_of(b.beta, 2).await;
    b.accept(of_task(b, "chat")).await;
    let waiting = |tenant, task: &str, jobs, since, max_in_flight| WaitingJobs {
        tenant,
        task: task.to_owned(),
        jobs,
        since,
        max_in_flight,
        in_flight: 0,
        calls: Sample::default(),
    };
    let three_later = began.after(Millis::from_secs(3));
    let invoices = waiting(b.alpha, "invoice", 3, began, Some(7));
    let all = demand(b, None).await.waiting;
    assert_eq!(
        all,
        [
            invoices.clone(),
            waiting(b.beta, "chat", 2, three_later, None),
            waiting(b.alpha, "chat", 1, three_later, Some(7)),
        ]
    );
    assert_eq!(demand(b, Some("invoice")).await.waiting, [invoices]);
    assert_eq!(demand(b, Some("none")).await.waiting, []);
    assert_eq!(b.store().demand("other", None).await.unwrap().waiting, []);
}

pub async fn what_is_not_due_or_runs_does_not_wait(b: &Bundle) {
    b.accept(NewJob { not_before: Some(b.now().after(Millis::from_secs(60))), ..b.new_job() }).await;
    for task in ["chat", "chat", "invoice"] {
        b.accept(of_task(b, task)).await;
    }
    b.accept(NewJob { first_step: NewStep { pool: "other".to_owned(), ..b.new_step() }, ..b.new_job() })
        .await;
    b.claim(2).await;
    let demand_of = async |task| {
        let demand = demand(b, task).await;
        let waiting: Vec<_> = demand.waiting.iter().map(|kind| (kind.jobs, kind.in_flight)).collect();
        (demand.in_flight, demand.task_in_flight, waiting)
    };
    assert_eq!(demand_of(None).await, (2, None, vec![(1, 2)]));
    assert_eq!(demand_of(Some("chat")).await, (2, Some(2), vec![]));
    assert_eq!(demand_of(Some("invoice")).await, (2, Some(0), vec![(1, 2)]));
}

pub async fn calls_are_measured_by_what_has_ended(b: &Bundle) {
    b.accept_of(b.alpha, 6).await;
    let claimed = b.claim(5).await;
    assert_eq!(demand(b, None).await.waiting[0].calls, Sample::default(), "none has ended");
    let (broken, unsent) = (FailureClass::ProviderError, FailureClass::NotSent);
    let ends = [
        (succeeded(used(90, 9)), succeed()),
        (failed(broken), try_failed(broken)),
        (not_sent(), try_failed(unsent)),
    ];
    for ((close, then), claimed) in ends.into_iter().zip(&claimed) {
        b.wait_secs(2);
        b.commit(claimed, close, then).await;
    }
    // A worker that is lost: its lease lapses much later than its call can have taken.
    b.wait_secs(600);
    b.rescue(claimed[3].job_id).await.unwrap();
    let waiting = demand(b, None).await.waiting;
    let calls = Sample { calls: 2, millis: 6_000, input_tokens: 200, output_tokens: 100 };
    assert_eq!(waiting[0].calls, calls);
}

pub async fn calls_of_others_and_of_other_pools_are_not_measured(b: &Bundle) {
    b.accept(of_task(b, "invoice")).await;
    b.accept_of(b.beta, 1).await;
    for claimed in b.claim(2).await {
        b.wait_secs(1);
        b.succeed(&claimed).await;
    }
    b.accept_one().await;
    assert_eq!(demand(b, None).await.waiting[0].calls, Sample::default());
}

pub async fn a_pool_that_rests_says_until_when(b: &Bundle) {
    b.accept_one().await;
    let claimed = b.claim_one().await;
    let until = b.now().after(Millis::from_secs(30));
    let class = FailureClass::RateLimited;
    let close = AttemptClose { cooldown: Some(Millis::from_secs(30)), ..failed(class) };
    b.commit(&claimed, close, try_failed(class)).await;
    assert_eq!(demand(b, None).await.cooldown_until, Some(until));
    b.wait_secs(30);
    assert_eq!(demand(b, None).await.cooldown_until, None);
}
