//! What was used, by day: a cache over attempts that adds up (I30).

use forebay_core::attempt::Outcome;
use forebay_core::failure::FailureClass;
use forebay_core::money::Micros;
use forebay_core::time::Millis;
use forebay_store::record::{NewJob, UsageQuery, UsageRow};

use crate::bundle::{Bundle, START, closed, not_sent, succeed, succeeded, try_failed, used};

async fn days(b: &Bundle) -> Vec<UsageRow> {
    let query = UsageQuery { from: START, to: b.now() };
    b.store().usage(b.alpha, query).await.unwrap()
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
        day: START.start_of_day(),
        task: "chat".to_owned(),
        model: "small".to_owned(),
        pool: "main".to_owned(),
        attempts: 2,
        input_tokens: 10,
        output_tokens: 5,
        cost: Micros(20),
        uncertain: Micros(200),
    };
    assert_eq!(rows[0], chat);
    assert_eq!((&rows[1].task[..], rows[1].attempts, rows[1].cost), ("invoice", 1, Micros(9)));
}

pub async fn only_the_days_that_were_asked_for(b: &Bundle) {
    for _ in 0..3 {
        b.accept_one().await;
        let claimed = b.claim_one().await;
        b.succeed(&claimed).await;
        b.wait(Millis::from_secs(24 * 3_600));
    }
    let day = |nth: i64| START.after(Millis::from_secs(nth * 24 * 3_600));
    let rows = b.store().usage(b.alpha, UsageQuery { from: day(1), to: day(1) }).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.day).collect::<Vec<_>>(), [day(1).start_of_day()]);
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
