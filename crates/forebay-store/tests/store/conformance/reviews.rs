//! The queue of reviews, and holding one of them.

use forebay_core::failure::FailureClass;
use forebay_core::id::{JobId, KeyId};
use forebay_core::job::State;
use forebay_core::review::ReviewDefault;
use forebay_core::time::Millis;
use forebay_store::record::{
    Actor, AuditAction, AuditQuery, Bytes, Claimed, HeldBy, NewJob, ReviewEntry, ReviewQuery, ReviewRecord,
    ReviewRefused, Then,
};

use crate::bundle::{Bundle, REVIEW_DUE, review, review_with, succeeded, used};

/// A reviewer.
pub fn reviewer(name: &str) -> Actor {
    let mut id = [0; 16];
    id[..name.len()].copy_from_slice(name.as_bytes());
    Actor { key: Some(KeyId::from_bytes(id)), name: name.to_owned() }
}

/// A job of alpha in review.
pub async fn in_review(b: &Bundle) -> JobId {
    in_review_as(b, b.new_job(), review()).await
}

/// As above, of another job or for another reason.
pub async fn in_review_as(b: &Bundle, job: NewJob, then: Then) -> JobId {
    let job = b.accept(job).await;
    let claimed = b.claim_one().await;
    ask_a_person(b, &claimed, then).await;
    job
}

pub async fn ask_a_person(b: &Bundle, claimed: &Claimed, then: Then) {
    assert_eq!(b.commit_own(claimed, succeeded(used(1, 1)), then).await, State::ReviewRequired);
}

/// The open or latest review of a job of alpha.
pub async fn of(b: &Bundle, job: JobId) -> ReviewRecord {
    b.store().review(b.alpha, job).await.unwrap().expect("the job has a review")
}

async fn found(b: &Bundle, query: ReviewQuery) -> Vec<JobId> {
    let page = b.store().reviews(b.alpha, ReviewQuery { limit: 9, ..query }).await.unwrap();
    page.reviews.into_iter().map(|review| review.job_id).collect()
}

pub async fn hold(b: &Bundle, job: JobId, secs: i64, who: &str) -> Result<ReviewRecord, ReviewRefused> {
    b.store().claim_review(b.alpha, job, Millis::from_secs(secs), reviewer(who)).await.unwrap()
}

pub async fn open_ones_oldest_first(b: &Bundle) {
    let mut jobs = Vec::new();
    for _ in 0..3 {
        jobs.push(in_review(b).await);
        b.wait_secs(1);
    }
    assert_eq!(found(b, ReviewQuery::default()).await, jobs);
    b.store().cancel(b.alpha, jobs[0], Actor::program()).await.unwrap();
    assert_eq!(found(b, ReviewQuery::default()).await, jobs[1..]);
    let theirs = b.store().reviews(b.beta, ReviewQuery { limit: 9, ..ReviewQuery::default() }).await.unwrap();
    assert_eq!(theirs.reviews, [], "a tenant sees its own (I27)");
}

pub async fn a_review_says_what_is_in_doubt(b: &Bundle) {
    let job = in_review(b).await;
    let review = of(b, job).await;
    let expected = ReviewEntry {
        seq: b.events(b.alpha, Some(job)).await.last().unwrap().seq,
        job_id: job,
        generation: 1,
        task: "chat".to_owned(),
        revision: 1,
        state_version: 3,
        failure: b.job(job).await.job.failure,
        opened_at: b.now(),
        due_at: b.now().after(REVIEW_DUE),
        due_default: ReviewDefault::None,
        alerted_at: None,
        findings_count: 1,
        finding_codes: vec!["line_sum".to_owned()],
        has_output: true,
        claim: None,
    };
    assert_eq!(review.entry, expected);
    assert_eq!(review.provenance, br#"{"policy":"invoice@1"}"#);
    assert_eq!(review.output, Some(Bytes::Inline(br#"{"total":"1.10"}"#.to_vec())));
    assert_eq!((review.decided, review.document), (None, None));
}

pub async fn reviews_are_found_by_what_is_asked(b: &Bundle) {
    let first = in_review(b).await;
    b.wait_secs(60);
    let other_task = NewJob { task: "invoice".to_owned(), ..b.new_job() };
    let soon = review_with(|review| forebay_store::record::NewReview {
        due_in: Millis::from_secs(1),
        findings: br#"[{"code":"schema"},{"code":"schema"},{"code":"iban"}]"#.to_vec(),
        ..review
    });
    let second = in_review_as(b, other_task, soon).await;
    let entry = of(b, second).await.entry;
    assert_eq!(
        (entry.findings_count, &entry.finding_codes[..]),
        (3, &["schema".to_owned(), "iban".to_owned()][..])
    );

    let all = ReviewQuery::default;
    let of_task = |task: &str| ReviewQuery { task: Some(task.to_owned()), ..all() };
    assert_eq!(found(b, of_task("invoice")).await, [second]);
    assert_eq!(found(b, of_task("none")).await, []);
    let of_class = |class| ReviewQuery { class: Some(class), ..all() };
    assert_eq!(found(b, of_class(FailureClass::PolicyFailed)).await, [first, second]);
    assert_eq!(found(b, of_class(FailureClass::Truncated)).await, []);
    let with = |code: &str| ReviewQuery { finding: Some(code.to_owned()), ..all() };
    assert_eq!(found(b, with("iban")).await, [second]);
    assert_eq!(found(b, with("line_sum")).await, [first]);
    let due = ReviewQuery { due_before: Some(b.now().after(Millis::from_secs(2))), ..all() };
    assert_eq!(found(b, due).await, [second]);
    let old = ReviewQuery { opened_before: Some(b.now()), ..all() };
    assert_eq!(found(b, old).await, [first]);

    let held = |held| ReviewQuery { held: Some(held), ..all() };
    let (anna, bert) = (reviewer("anna").key.unwrap(), reviewer("bert").key.unwrap());
    hold(b, first, 60, "anna").await.unwrap();
    assert_eq!(found(b, held(HeldBy::Key(anna))).await, [first]);
    assert_eq!(found(b, held(HeldBy::Key(bert))).await, []);
    assert_eq!(found(b, held(HeldBy::Nobody)).await, [second]);
    assert_eq!(found(b, held(HeldBy::NobodyOr(anna))).await, [first, second]);
    assert_eq!(found(b, held(HeldBy::NobodyOr(bert))).await, [second]);
    b.wait_secs(60);
    assert_eq!(found(b, held(HeldBy::Key(anna))).await, [], "a claim that has lapsed is none");
    assert_eq!(found(b, held(HeldBy::Nobody)).await, [first, second]);
}

pub async fn pages_hold_each_review_once_while_others_are_decided(b: &Bundle) {
    let mut jobs = Vec::new();
    for _ in 0..5 {
        jobs.push(in_review(b).await);
    }
    let mut seen = Vec::new();
    let mut after = 0;
    loop {
        let query = ReviewQuery { after, limit: 2, ..ReviewQuery::default() };
        let page = b.store().reviews(b.alpha, query).await.unwrap();
        seen.extend(page.reviews.iter().map(|review| review.job_id));
        b.store().cancel(b.alpha, page.reviews[0].job_id, Actor::program()).await.unwrap();
        match page.next {
            Some(next) => after = next,
            None => break,
        }
    }
    assert_eq!(seen, jobs);
}

pub async fn one_reviewer_holds_a_review(b: &Bundle) {
    let job = in_review(b).await;
    let held = hold(b, job, 60, "anna").await.unwrap();
    let claim = held.entry.claim.clone().unwrap();
    assert_eq!((claim.name.as_str(), claim.until), ("anna", b.now().after(Millis::from_secs(60))));
    assert_eq!(hold(b, job, 60, "bert").await, Err(ReviewRefused::Held(claim.clone())));
    b.wait_secs(30);
    let longer = hold(b, job, 60, "anna").await.unwrap();
    assert_eq!(longer.entry.claim.unwrap().until, claim.until.after(Millis::from_secs(30)));
    let (job_now, events) = (b.job(job).await, b.story(job).await.len());
    assert_eq!((job_now.job.state_version, events), (3, 3), "a claim is no change of the job");
}

pub async fn a_claim_lapses_and_can_be_given_back(b: &Bundle) {
    let job = in_review(b).await;
    hold(b, job, 60, "anna").await.unwrap();
    let give_back = |who: &str| {
        let by = reviewer(who);
        async move { b.store().release_review(b.alpha, job, by).await.unwrap() }
    };
    assert!(matches!(give_back("bert").await, Err(ReviewRefused::Held(_))), "not another's");
    assert_eq!(give_back("anna").await.unwrap().entry.claim, None);
    assert_eq!(give_back("anna").await.unwrap().entry.claim, None, "twice is once");
    hold(b, job, 60, "bert").await.unwrap();
    b.wait_secs(60);
    assert_eq!(of(b, job).await.entry.claim, None);
    hold(b, job, 60, "anna").await.unwrap();
}

pub async fn claims_are_on_record_and_prolonging_is_not(b: &Bundle) {
    let job = in_review(b).await;
    hold(b, job, 60, "anna").await.unwrap();
    hold(b, job, 60, "anna").await.unwrap();
    b.store().release_review(b.alpha, job, reviewer("anna")).await.unwrap().unwrap();
    b.store().release_review(b.alpha, job, reviewer("anna")).await.unwrap().unwrap();
    assert_eq!(actions(b, job).await, [AuditAction::ReviewClaim, AuditAction::ReviewRelease]);
}

/// What was done to a job, oldest first.
pub async fn actions(b: &Bundle, job: JobId) -> Vec<AuditAction> {
    let query = AuditQuery { subject: Some(job.to_string()), limit: 100, ..AuditQuery::default() };
    let records = b.store().audit(query).await.unwrap().records;
    records.into_iter().rev().map(|record| *record.action.known().unwrap()).collect()
}

pub async fn what_is_not_in_review_is_not_held(b: &Bundle) {
    let job = b.accept_one().await;
    assert_eq!(hold(b, job, 60, "anna").await, Err(ReviewRefused::NotOpen(State::Ready)));
    let unknown = b.store().new_job_id();
    assert_eq!(hold(b, unknown, 60, "anna").await, Err(ReviewRefused::NoJob));
    let claimed = b.claim_one().await;
    ask_a_person(b, &claimed, review()).await;
    let theirs = b.store().claim_review(b.beta, job, Millis::from_secs(60), reviewer("anna")).await;
    assert_eq!(theirs.unwrap(), Err(ReviewRefused::NoJob), "another's is absent");
    b.store().cancel(b.alpha, job, Actor::program()).await.unwrap();
    assert_eq!(hold(b, job, 60, "anna").await, Err(ReviewRefused::NotOpen(State::Cancelled)));
}
