//! A worker, another worker and those who maintain the store, all after the same jobs at the same moment: whoever is
//! first has the job, and the others find that out.

use std::sync::Arc;
use std::time::Duration;

use forebay_core::attempt::Outcome;
use forebay_core::definition::OnUnknown;
use forebay_core::event::EventType;
use forebay_core::failure::FailureClass;
use forebay_core::job::State;
use forebay_core::review::ReviewDefault;
use forebay_store::postgres::PostgresStore;
use forebay_store::record::{Claim, Claimed, Committed, Held, NewReview, StepCommit, Then};
use forebay_store::{Accept as _, Claims as _, Steps as _, Upkeep as _};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use tokio::task::JoinSet;

use super::database::{Database, address};
use crate::bundle::{
    Bundle, LEASE, REVIEW_DUE, failed, lost, next, not_sent, review, succeed, succeeded, try_failed, used,
};
use crate::chaos_proxy::{Action, ChaosProxy};

/// Jobs that everybody is after at the same moment.
const AT_ONCE: usize = 5;
const ROUNDS: usize = 24;

struct Stage {
    database: Arc<Database>,
    b: Arc<Bundle>,
}

impl Stage {
    async fn new() -> Self {
        let database = Arc::new(Database::new());
        let b = Arc::new(Bundle::new(Arc::clone(&database)).await);
        Self { database, b }
    }

    /// Jobs that a worker has claimed, whose leases have lapsed since.
    async fn lapsed(&self, worker: &PostgresStore) -> Vec<Claimed> {
        let claimed = self.claimed(worker).await;
        self.b.wait(LEASE);
        claimed
    }

    async fn claimed(&self, worker: &PostgresStore) -> Vec<Claimed> {
        while self.b.count(self.b.alpha, State::Ready).await < AT_ONCE as u64 {
            worker.accept(self.b.new_job()).await.unwrap().unwrap();
        }
        self.claimed_again(worker).await
    }

    async fn claimed_again(&self, worker: &PostgresStore) -> Vec<Claimed> {
        let claim = Claim { slots: AT_ONCE, ..self.b.new_claim() };
        let claimed = worker.claim(claim).await.unwrap().claimed;
        assert_eq!(claimed.len(), AT_ONCE);
        claimed
    }

    fn success(&self, claimed: &Claimed) -> StepCommit {
        self.b.new_commit(claimed, succeeded(used(10, 5)), succeed())
    }

    /// Whether the worker still is a job's owner.
    async fn extends(&self, worker: &PostgresStore, claimed: &Claimed) -> bool {
        worker.extend(vec![held(claimed)], LEASE).await.unwrap()[0].kept
    }

    async fn finish(self) {
        Arc::into_inner(self.b).expect("nobody else is at work").finish().await;
    }
}

fn held(claimed: &Claimed) -> Held {
    Held { job_id: claimed.job_id, attempt_id: claimed.attempt_id, fence: claimed.fence }
}

/// Takes a job from whoever has it; says whether it was there to be taken.
async fn rescues(store: &PostgresStore, claimed: &Claimed) -> bool {
    let review = NewReview::without_output(REVIEW_DUE, ReviewDefault::None);
    store.rescue(claimed.job_id, lost(OnUnknown::Retry), review).await.unwrap().is_some()
}

/// C01, C08, F57, F58: workers report as their leases have lapsed, on a way that is slow now and then, while two processes
/// maintain the store. Either the report counts or the rescue does, whichever was first, and only that.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_report_and_a_rescue_at_the_same_moment_have_one_outcome() {
    let stage = Stage::new().await;
    let way = ChaosProxy::start(address());
    let worker =
        Database::beside_at(Database::target_of(stage.database.name(), way.address()), &stage.b).await;
    let maintainers = [stage.database.beside(&stage.b).await, stage.database.beside(&stage.b).await];
    let mut random = SmallRng::seed_from_u64(57);
    let (mut reported, mut rescued) = (0, 0);
    for round in 0..ROUNDS {
        let mut claimed = stage.lapsed(&worker).await;
        let slow = (round % 3 == 0).then(|| {
            let delay = Duration::from_micros(random.random_range(0..8_000));
            way.on(b"COMMIT", 1, Action::Delay(delay))
        });
        let (mut reports, mut rescuing) = (JoinSet::new(), JoinSet::new());
        for claimed in claimed.clone() {
            let (worker, commit) = (worker.clone(), stage.success(&claimed));
            let late = Duration::from_micros(random.random_range(0..3_000));
            reports.spawn(async move {
                tokio::time::sleep(late).await;
                (commit.job_id, matches!(worker.commit_step(commit).await.unwrap(), Committed::Done { .. }))
            });
        }
        for maintainer in &maintainers {
            claimed.shuffle(&mut random);
            let (maintainer, claimed) = (maintainer.clone(), claimed.clone());
            rescuing.spawn(async move {
                let mut taken = Vec::new();
                for claimed in &claimed {
                    if rescues(&maintainer, claimed).await {
                        taken.push(claimed.job_id);
                    }
                }
                taken
            });
        }
        let taken: Vec<_> = rescuing.join_all().await.concat();
        for (job, done) in reports.join_all().await {
            let times = taken.iter().filter(|taken| **taken == job).count();
            assert_eq!(times, usize::from(!done), "{job}: its report counts: {done}");
            let record = stage.b.job(job).await;
            let attempt = stage.b.attempts(job).await.remove(0);
            let (state, outcome, last) = match done {
                true => (State::Succeeded, Outcome::Succeeded, EventType::Succeeded),
                false => (State::RetryScheduled, Outcome::Unknown, EventType::RetryScheduled),
            };
            assert_eq!((record.job.state, attempt.outcome), (state, Some(outcome)));
            assert_eq!(attempt.evidence.is_some(), !done, "what came too late is on record");
            assert_eq!(stage.b.story(job).await, [EventType::Accepted, EventType::Claimed, last]);
            if done { reported += 1 } else { rescued += 1 }
        }
        drop(slow);
        // Those that were taken go on, and are out of the next round's way.
        stage.b.wait_secs(60);
        for claimed in stage.b.claim(AT_ONCE).await {
            stage.b.succeed(&claimed).await;
        }
    }
    // Else nobody raced.
    assert!(reported > ROUNDS / 4 && rescued > ROUNDS / 4, "{reported} reported, {rescued} rescued");
    drop((worker, maintainers));
    stage.finish().await;
}

/// F51, F52, C05: a worker stands still, and its jobs are taken and given to another. When it wakes up, whatever it says
/// changes nothing, be it that the other still is at work or that it reports at that moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_stood_still_changes_nothing_of_what_another_has() {
    let stage = Stage::new().await;
    let (paused, other) = (stage.database.beside(&stage.b).await, stage.database.beside(&stage.b).await);
    for round in 0..ROUNDS {
        let before = stage.lapsed(&paused).await;
        for claimed in &before {
            assert!(rescues(&other, claimed).await);
        }
        stage.b.wait_secs(60);
        let mut now = stage.claimed_again(&other).await;
        now.sort_by_key(|claimed| before.iter().position(|before| before.job_id == claimed.job_id));
        let mut working = JoinSet::new();
        for (nth, (before, now)) in before.into_iter().zip(now).enumerate() {
            assert_eq!((before.job_id, before.fence, now.fence), (now.job_id, 1, 3));
            let (paused, other, late) = (paused.clone(), other.clone(), late_report(&stage.b, &before, nth));
            let (report, b) = (stage.success(&now), Arc::clone(&stage.b));
            let database = Arc::clone(&stage.database);
            working.spawn(async move {
                let stage = Stage { database, b };
                let still_at_work = round % 2 == 0;
                let theirs = async {
                    if still_at_work {
                        assert!(stage.extends(&other, &now).await, "a lease that is alive");
                        return Committed::Lost;
                    }
                    other.commit_step(report.clone()).await.unwrap()
                };
                let (said, kept, theirs) = tokio::join!(
                    async { paused.commit_step(late.clone()).await.unwrap() },
                    stage.extends(&paused, &before),
                    theirs
                );
                assert_eq!((said, kept), (Committed::Lost, false), "{late:?}");
                let done = if still_at_work {
                    let mine = stage.b.attempts(now.job_id).await.remove(1);
                    assert_eq!((mine.outcome, mine.failure_class, mine.evidence), (None, None, None));
                    other.commit_step(report).await.unwrap()
                } else {
                    theirs
                };
                assert!(matches!(done, Committed::Done { state: State::Succeeded, .. }), "{done:?}");
                assert_eq!(paused.commit_step(late).await.unwrap(), Committed::Lost);
                stage.judge(&now).await;
            });
        }
        working.join_all().await;
    }
    assert_eq!(stage.b.count(stage.b.alpha, State::Succeeded).await, (ROUNDS * AT_ONCE) as u64);
    drop((paused, other));
    stage.finish().await;
}

/// What somebody might say that has lost a job.
fn late_report(b: &Bundle, claimed: &Claimed, nth: usize) -> StepCommit {
    let (close, then) = match nth {
        0 => (succeeded(used(10, 5)), succeed()),
        1 => (failed(FailureClass::ProviderError), try_failed(FailureClass::ProviderError)),
        2 => (succeeded(used(10, 5)), next(b.new_step())),
        3 => (succeeded(used(10, 5)), review()),
        _ => (not_sent(), Then::Release),
    };
    b.new_commit(claimed, close, then)
}

impl Stage {
    /// Lost once, and done by the other.
    async fn judge(&self, claimed: &Claimed) {
        let attempts = self.b.attempts(claimed.job_id).await;
        let outcomes: Vec<_> =
            attempts.iter().map(|attempt| (attempt.outcome, attempt.failure_class)).collect();
        let wanted =
            [(Some(Outcome::Unknown), Some(FailureClass::WorkerLost)), (Some(Outcome::Succeeded), None)];
        assert_eq!(outcomes, wanted);
        assert!(attempts[0].evidence.is_some() && attempts[1].evidence.is_none());
        use EventType::{Accepted, Claimed as Begun, RetryScheduled, Succeeded};
        let story = [Accepted, Begun, RetryScheduled, Begun, Succeeded];
        assert_eq!(self.b.story(claimed.job_id).await, story);
        assert_eq!(self.b.job(claimed.job_id).await.job.failure, None);
    }
}
