//! A clock that jumps, as when a server with another clock takes over: nothing is done twice for that, and nothing waits for
//! the old time to come back (F56).

use forebay_core::attempt::Outcome;
use forebay_core::failure::FailureClass;
use forebay_core::job::State;
use forebay_core::time::Millis;
use forebay_store::record::{Actor, Committed, Held, LetterChange, LetterState, NewJob, Verdict};

use super::decisions::decided;
use super::letters::replay_of;
use super::reviews::ask_a_person;
use crate::bundle::{Bundle, LEASE, review, succeed, succeeded, used};

const HOUR: Millis = Millis::from_secs(3_600);

fn patient(b: &Bundle) -> NewJob {
    NewJob { deadline: b.now().after(Millis::from_secs(24 * 3_600)), ..b.new_job() }
}

fn go_back(b: &Bundle, span: Millis) {
    b.clock.set(b.now().before(span));
}

/// Every lease has lapsed at once: the worst of it is a call that is made again, with both on record.
pub async fn an_hour_ahead_and_back_ends_a_job_once(b: &Bundle) {
    let job = b.accept(patient(b)).await;
    let lost = b.claim_one().await;
    b.wait(HOUR);
    assert_eq!(b.rescue(job).await.unwrap().job.state, State::RetryScheduled);
    go_back(b, HOUR);
    let late = b.commit(&lost, succeeded(used(10, 5)), succeed()).await;
    assert_eq!(late, Committed::Lost, "it is nobody's any more");
    assert_eq!(b.claim(9).await, [], "a time that was told is kept");
    b.wait(HOUR.plus(Millis::from_secs(60)));
    let claimed = b.claim_one().await;
    assert_eq!(claimed.job_id, job);
    b.succeed(&claimed).await;
    assert_eq!(b.commit(&lost, succeeded(used(10, 5)), succeed()).await, Committed::Lost);
    let outcomes: Vec<_> = b.attempts(job).await.iter().map(|attempt| attempt.outcome).collect();
    assert_eq!(outcomes, [Some(Outcome::Unknown), Some(Outcome::Succeeded)]);
}

/// Whatever was begun before is ended at a time that lies before its beginning.
pub async fn an_hour_back_stops_nothing(b: &Bundle) {
    let jobs: Vec<_> = b.accept_together((0..6).map(|_| patient(b)).collect()).await;
    let mut claimed = b.claim(5).await;
    assert_eq!((jobs.len(), claimed.len()), (6, 5));
    let (doubtful, hopeless) = (claimed.pop().unwrap(), claimed.pop().unwrap());
    ask_a_person(b, &doubtful, review()).await;
    assert_eq!(b.fail(&hopeless, FailureClass::InvalidRequest).await, State::FailedTerminal);
    go_back(b, HOUR);
    let [kept, failed, cancelled] = [0, 1, 2].map(|nth: usize| claimed[nth].clone());
    let held = Held { job_id: kept.job_id, attempt_id: kept.attempt_id, fence: kept.fence };
    assert!(b.store().extend(vec![held], LEASE).await.unwrap()[0].kept);
    b.succeed(&kept).await;
    assert_eq!(b.fail(&failed, FailureClass::ProviderError).await, State::RetryScheduled);
    b.store().cancel(b.alpha, cancelled.job_id, Actor::program()).await.unwrap().unwrap();
    let waiting = b.claim_one().await;
    b.succeed(&waiting).await;
    decided(b, doubtful.job_id, Verdict::Approve).await;
    b.store().replay(replay_of(b, hopeless.job_id)).await.unwrap().unwrap();
    let change = LetterChange { state: Some(LetterState::Resolved), ..LetterChange::default() };
    b.store().change_letters(b.alpha, vec![hopeless.job_id], change, Actor::program()).await.unwrap();
    b.wait_secs(60);
    let retried = b.claim(9).await;
    assert_eq!(retried.len(), 2, "the one that failed and the replay");
    for claimed in &retried {
        b.succeed(claimed).await;
    }
    let late = b.accept(NewJob { deadline: b.now().after(Millis::new(1)), ..b.new_job() }).await;
    b.wait(Millis::new(1));
    assert!(b.store().expire(late).await.unwrap().is_some());
    let begun = b.accept(patient(b)).await;
    b.claim_one().await;
    b.wait(LEASE);
    assert_eq!(b.lapsed().await, [begun]);
    assert!(b.rescue(begun).await.is_some());
    b.wait(HOUR);
}
