//! Who owns what, as it is now (I11, I12).

use forebay_core::id::JobId;
use forebay_store::record::{Actor, Claimed, Held};

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
