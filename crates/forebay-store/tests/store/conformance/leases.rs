//! Who owns what, as it is now (I11, I12), and who does what only one process does.

use forebay_core::id::{JobId, ProcessId};
use forebay_core::time::Millis;
use forebay_store::record::{Actor, Claimed, Held, Lead};

use crate::bundle::{Bundle, LEASE};

fn held(claimed: &Claimed) -> Held {
    Held { job_id: claimed.job_id, attempt_id: claimed.attempt_id, fence: claimed.fence }
}

pub async fn a_job_is_its_holders_until_somebody_takes_it(b: &Bundle) {
    b.accept_of(b.alpha, 4).await;
    let mut claims = b.claim(4).await;
    let [kept, done, cancelled, rescued] = [0, 1, 2, 3].map(|nth: usize| held(&claims[nth]));
    assert_eq!(b.store().lost(vec![kept, done, cancelled, rescued]).await.unwrap(), []);
    b.succeed(&claims[1]).await;
    b.store().cancel(b.alpha, cancelled.job_id, Actor::program()).await.unwrap();
    b.wait(LEASE);
    b.rescue(rescued.job_id).await.unwrap();
    let unknown = Held { job_id: JobId::from_bytes([9; 16]), ..kept };
    let lost = b.store().lost(vec![kept, done, cancelled, rescued, unknown]).await.unwrap();
    assert_eq!(lost, [cancelled, rescued, unknown], "a lease that has lapsed is still nobody else's");
    assert_eq!(b.store().lost(vec![]).await.unwrap(), []);
    claims.truncate(1);
    b.succeed(&claims[0]).await;
}

const SPAN: Millis = Millis::from_secs(10);

async fn lead(b: &Bundle, who: u8) -> Option<Lead> {
    b.store().lead("maintain", process(who), SPAN).await.unwrap()
}

fn process(number: u8) -> ProcessId {
    ProcessId::from_bytes([number; 16])
}

pub async fn one_leads_until_its_lease_lapses(b: &Bundle) {
    let first = lead(b, 1).await.expect("nobody else leads");
    assert_eq!(first.until, b.now().after(SPAN));
    b.wait_secs(9);
    assert_eq!(lead(b, 2).await, None);
    let prolonged = lead(b, 1).await.expect("it is its own");
    assert_eq!((prolonged.fence, prolonged.until), (first.fence, b.now().after(SPAN)));
    b.wait(Millis::new(SPAN.get() - 1));
    assert_eq!(lead(b, 2).await, None);
    b.wait(Millis::new(1));
    let second = lead(b, 2).await.expect("it has lapsed");
    assert!(second.fence > first.fence);
    assert_eq!(lead(b, 1).await, None, "who was paused finds out");
    assert!(b.store().lead("something else", process(1), SPAN).await.unwrap().is_some());
}

pub async fn who_stops_leading_is_followed_at_once(b: &Bundle) {
    let first = lead(b, 1).await.unwrap();
    b.store().stop_leading("maintain", process(2)).await.unwrap();
    assert_eq!(lead(b, 2).await, None, "only who leads can stop");
    b.store().stop_leading("maintain", process(1)).await.unwrap();
    let second = lead(b, 2).await.expect("nobody leads");
    assert!(second.fence > first.fence);
}

pub async fn of_many_at_once_one_leads(b: &Bundle) {
    for _ in 0..5 {
        let mut asking = tokio::task::JoinSet::new();
        for who in 0..16 {
            let store = b.store();
            asking.spawn(async move { store.lead("maintain", process(who), SPAN).await.unwrap() });
        }
        assert_eq!(asking.join_all().await.into_iter().flatten().count(), 1);
        b.wait(SPAN);
    }
}
