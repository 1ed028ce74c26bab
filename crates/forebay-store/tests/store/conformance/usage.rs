//! What was used, by day: a cache over attempts that adds up (I30).

use forebay_core::attempt::Outcome;
use forebay_core::failure::FailureClass;
use forebay_core::money::Micros;
use forebay_core::time::Millis;
use forebay_store::record::{NewJob, UsageBy, UsageKey, UsageQuery, UsageRow};

use crate::bundle::{Bundle, START, closed, not_sent, succeed, succeeded, try_failed, used};

async fn days(b: &Bundle) -> Vec<UsageRow> {
    b.store().usage(UsageQuery::of(b.alpha, START, b.now())).await.unwrap()
}

pub async fn days_add_up_to_attempts(b: &Bundle) {
    let other = || NewJob { task: "invoice".to_owned(), ..b.new_job() };
    for job in [b.new_job(), b.new_job(), other()] {
        b.accept(job).await;
    }
    let claimed = b.claim(3).await;
    b.commit_own(&claimed[0], succeeded(used(10, 5)), succeed()).await;
    let class = FailureClass::TimeoutIdle;
    b.commit_own(&claimed[1], closed(Outcome::Unknown, Some(class), None), try_failed(class)).await;
    b.commit_own(&claimed[2], succeeded(used(7, 1)), succeed()).await;
    let rows = days(b).await;
    assert_eq!(rows.len(), 2);
    let chat = UsageRow {
        key: UsageKey {
            tenant: None,
            day: Some(START.start_of_day()),
            task: Some("chat".to_owned()),
            model: Some("small".to_owned()),
            pool: Some("main".to_owned()),
        },
        attempts: 2,
        input_tokens: 10,
        output_tokens: 5,
        cost: Micros(20),
        uncertain: Micros(200),
    };
    assert_eq!(rows[0], chat);
    assert_eq!(
        (rows[1].key.task.as_deref(), rows[1].attempts, rows[1].cost),
        (Some("invoice"), 1, Micros(9))
    );
}

pub async fn only_the_days_that_were_asked_for(b: &Bundle) {
    for _ in 0..3 {
        b.accept_one().await;
        let claimed = b.claim_one().await;
        b.succeed(&claimed).await;
        b.wait(Millis::from_secs(24 * 3_600));
    }
    let day = |nth: i64| START.after(Millis::from_secs(nth * 24 * 3_600));
    let rows = b.store().usage(UsageQuery::of(b.alpha, day(1), day(1))).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.key.day).collect::<Vec<_>>(), [Some(day(1).start_of_day())]);
    assert_eq!(days(b).await.len(), 3);
}

pub async fn what_nobody_billed_is_no_use(b: &Bundle) {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    b.commit_own(&claimed, not_sent(), try_failed(FailureClass::NotSent)).await;
    assert_eq!(b.job(job).await.usage, Default::default());
    b.wait_secs(60);
    let claimed = b.claim_one().await;
    let class = FailureClass::StreamBroken;
    let close = closed(Outcome::Unknown, Some(class), Some(used(90, 9)));
    b.commit_own(&claimed, close, try_failed(class)).await;
    let row = days(b).await.remove(0);
    assert_eq!((row.attempts, row.input_tokens, row.output_tokens), (2, 0, 0));
    assert_eq!((row.cost, row.uncertain), (Micros::ZERO, Micros(200)), "perhaps billed is not billed");
    assert_eq!(b.attempts(job).await[1].usage, Some(used(90, 9)), "what was reported is on record");
}

/// Two tenants, two tasks and three days, one attempt each.
async fn spread(b: &Bundle) {
    for day in 0..3 {
        for tenant in [b.alpha, b.beta] {
            for task in ["chat", "invoice"] {
                b.accept(NewJob { tenant, task: task.to_owned(), ..b.new_job() }).await;
            }
        }
        for claimed in b.claim(4).await {
            b.commit_own(&claimed, succeeded(used(10 + day, 1)), succeed()).await;
        }
        b.wait(Millis::from_secs(24 * 3_600));
    }
}

pub async fn what_is_not_asked_for_is_added_up(b: &Bundle) {
    spread(b).await;
    let all = UsageQuery { tenant: None, ..UsageQuery::of(b.alpha, START, b.now()) };
    let sums = async |by: &[UsageBy], tenant| {
        let rows = b.store().usage(UsageQuery { by: by.to_vec(), tenant, ..all.clone() }).await.unwrap();
        rows.into_iter().map(|row| (row.key, row.attempts, row.input_tokens)).collect::<Vec<_>>()
    };
    let key = UsageKey { tenant: None, day: None, task: None, model: None, pool: None };
    assert_eq!(sums(&[], None).await, [(key.clone(), 12, 132)]);
    assert_eq!(sums(&[], Some(b.beta)).await, [(key.clone(), 6, 66)]);
    let task = |task: &str| UsageKey { task: Some(task.to_owned()), ..key.clone() };
    assert_eq!(sums(&[UsageBy::Task], None).await, [(task("chat"), 6, 66), (task("invoice"), 6, 66)]);
    let tenant = |tenant: &str| UsageKey { tenant: Some(tenant.to_owned()), ..key.clone() };
    let names = [b.tenant(b.alpha).await.name, b.tenant(b.beta).await.name];
    assert_eq!(sums(&[UsageBy::Tenant], None).await, names.map(|name| (tenant(&name), 6, 66)));
    let days: Vec<_> = sums(&[UsageBy::Day], None).await.iter().map(|(_, _, tokens)| *tokens).collect();
    assert_eq!(days, [40, 44, 48]);
}

pub async fn pages_of_use_are_the_whole(b: &Bundle) {
    spread(b).await;
    for by in [&UsageBy::ALL[..], &[UsageBy::Day, UsageBy::Task], &[UsageBy::Tenant], &[]] {
        let query = UsageQuery { tenant: None, by: by.to_vec(), ..UsageQuery::of(b.alpha, START, b.now()) };
        let whole = b.store().usage(query.clone()).await.unwrap();
        let mut paged = Vec::<UsageRow>::new();
        loop {
            let after = paged.last().map(|row| row.key.clone());
            let page = b.store().usage(UsageQuery { after, limit: 2, ..query.clone() }).await.unwrap();
            assert!(page.len() <= 2);
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(paged, whole, "{by:?}");
    }
}
