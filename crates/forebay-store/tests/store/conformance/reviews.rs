//! Decisions that persons owe.

use forebay_core::time::Millis;
use forebay_store::record::{Actor, ReviewRecord};

use crate::bundle::{Bundle, review, succeeded, used};

async fn in_doubt(b: &Bundle) -> ReviewRecord {
    let job = b.accept_one().await;
    let claimed = b.claim_one().await;
    b.commit_own(&claimed, succeeded(used(1, 1)), review()).await;
    b.store().review(b.alpha, job).await.unwrap().unwrap()
}

pub async fn open_ones_oldest_first(b: &Bundle) {
    let mut reviews = Vec::new();
    for _ in 0..3 {
        reviews.push(in_doubt(b).await);
        b.wait_secs(1);
    }
    assert_eq!(b.store().open_reviews(b.alpha, 9).await.unwrap(), reviews);
    assert_eq!(b.store().open_reviews(b.alpha, 2).await.unwrap(), reviews[..2]);
    b.store().cancel(b.alpha, reviews[0].job_id, Actor::program()).await.unwrap();
    assert_eq!(b.store().open_reviews(b.alpha, 9).await.unwrap(), reviews[1..]);
}

pub async fn a_review_says_what_is_in_doubt(b: &Bundle) {
    let review = in_doubt(b).await;
    assert_eq!((review.generation, review.opened_at), (1, b.now()));
    assert_eq!(review.due_at, b.now().after(Millis::from_secs(3_600)));
    assert_eq!((&review.findings[..], &review.provenance[..]), (&br#"["sum"]"#[..], &b"{}"[..]));
    assert_eq!(review.output.as_deref(), Some(&br#""perhaps""#[..]));
    assert_eq!((review.decision, review.decided_at, review.decided_by), (None, None, None));
}
