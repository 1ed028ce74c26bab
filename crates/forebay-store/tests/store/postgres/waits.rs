//! Something of the database is in somebody else's hands, or the server refuses for a while: what does not need it goes on,
//! and what does is tried again, for so long and no longer.
#![allow(clippy::disallowed_methods, reason = "a test has no tasks whose end somebody waits for")]

use std::sync::Arc;
use std::time::Duration;

use forebay_core::event::EventType;
use forebay_core::failure::FailureClass;
use forebay_core::id::JobId;
use forebay_core::job::State;
use forebay_core::time::Millis;
use forebay_store::postgres::{PostgresStore, Settings};
use forebay_store::record::{Actor, Claim, Claimed, Committed, EventQuery, EventRecord, Held, NewJob, Place};
use forebay_store::{Accept as _, Claims as _, Jobs as _, Log as _, Revisions as _, Steps as _, StoreError};
use tokio::time::{Instant, timeout};

use super::database::{Database, LeftOpen, address, with};
use crate::bundle::{Bundle, LEASE, succeed, succeeded, used};
use crate::chaos_proxy::{Action, ChaosProxy};

/// Long enough on a busy machine, and far less than what others are held up by.
const SOON: Duration = Duration::from_secs(3);

struct Stage {
    database: Arc<Database>,
    b: Bundle,
}

impl Stage {
    async fn new() -> Self {
        let database = Arc::new(Database::new());
        let b = Bundle::new(Arc::clone(&database)).await;
        Self { database, b }
    }
}

fn held(claimed: &Claimed) -> Held {
    Held { job_id: claimed.job_id, attempt_id: claimed.attempt_id, fence: claimed.fence }
}

/// What a server says that has let another one go first.
const RACES: [&str; 3] = ["40001", "40P01", "55P03"];

impl Stage {
    /// From now on the first so many writes of jobs after each [`Stage::again`] are refused.
    fn refuse(&self, times: u32, code: &str) {
        self.database.run(&format!(
            "CREATE SCHEMA chaos; CREATE SEQUENCE chaos.asked;
             CREATE FUNCTION chaos.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF nextval('chaos.asked') <= {times} THEN
                     RAISE EXCEPTION 'as a test wants it' USING ERRCODE = '{code}';
                 END IF;
                 RETURN NULL;
             END $$;
             CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON jobs
             FOR EACH STATEMENT EXECUTE FUNCTION chaos.refuse()"
        ));
    }

    fn again(&self) {
        self.database.run("SELECT setval('chaos.asked', 1, false)");
    }

    fn asked(&self) -> u32 {
        self.database.ask("SELECT last_value FROM chaos.asked")[0].parse().unwrap()
    }

    fn refuse_no_more(&self) {
        self.database.run("DROP SCHEMA chaos CASCADE");
    }

    /// Does something whose first tries are refused.
    async fn although<T>(&self, doing: impl Future<Output = T>) -> T {
        self.again();
        let done = doing.await;
        assert!(self.asked() > 3, "it was refused: {}", self.asked());
        done
    }
}

/// F72: whoever is told that another goes first tries again as a whole, and the caller learns nothing of it.
#[tokio::test]
async fn what_loses_a_race_is_run_again() {
    let stage = Stage::new().await;
    let b = &stage.b;
    for code in RACES {
        stage.refuse(3, code);
        let job = stage.although(b.accept_one()).await;
        let claimed = stage.although(b.claim_one()).await;
        let extended = stage.although(b.store().extend(vec![held(&claimed)], LEASE)).await.unwrap();
        assert!(extended[0].kept);
        let state = stage.although(b.fail(&claimed, FailureClass::ProviderError)).await;
        assert_eq!(state, State::RetryScheduled);
        b.wait_secs(60);
        stage.although(b.claim_one()).await;
        b.wait(LEASE);
        assert!(stage.although(b.rescue(job)).await.is_some());
        let cancelled = stage.although(b.store().cancel(b.alpha, job, Actor::program())).await;
        assert!(cancelled.unwrap().is_some());
        let soon = b.now().after(Millis::new(1));
        let late = b.accept(NewJob { deadline: soon, ..b.new_job() }).await;
        b.wait(Millis::new(1));
        assert!(stage.although(b.store().expire(late)).await.unwrap().is_some());
        stage.refuse_no_more();
    }
    stage.b.finish().await;
}

/// F72: a server that lets others go first for ever is not asked for ever, and whoever asks is told to come back.
#[tokio::test]
async fn whoever_loses_every_race_is_told_so() {
    let stage = Stage::new().await;
    let b = &stage.b;
    b.accept_of(b.alpha, 2).await;
    let claimed = b.claim_one().await;
    stage.refuse(1_000_000, RACES[0]);
    let commit = || b.new_commit(&claimed, succeeded(used(10, 5)), succeed());
    let store = b.store();
    let mut told: Vec<Result<(), StoreError>> = Vec::new();
    told.push(store.accept(b.new_job()).await.map(drop));
    told.push(store.claim(b.new_claim()).await.map(drop));
    told.push(store.extend(vec![held(&claimed)], LEASE).await.map(drop));
    told.push(store.commit_step(commit()).await.map(drop));
    told.push(store.cancel(b.alpha, claimed.job_id, Actor::program()).await.map(drop));
    for told in &told {
        assert!(matches!(told, Err(StoreError::Unavailable(_))), "{told:?}");
    }
    let asked = stage.asked() as usize;
    assert!((told.len()..=20 * told.len()).contains(&asked), "{asked} tries");
    stage.refuse_no_more();
    assert!(matches!(store.commit_step(commit()).await.unwrap(), Committed::Done { .. }));
    drop(store);
    let claimed = b.claim_one().await;
    b.succeed(&claimed).await;
    stage.b.finish().await;
}

/// F72: somebody's own script locks jobs in another order than we do. The server ends one of the two, and here it is us.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_deadlock_with_somebody_elses_script_is_survived() {
    let stage = Stage::new().await;
    stage.b.accept_of(stage.b.alpha, 2).await;
    let claimed = stage.b.claim(2).await;
    let (url, database) = (stage.database.url(), Arc::clone(&stage.database));
    let (locked, is_locked) = tokio::sync::oneshot::channel();
    let script = tokio::task::spawn_blocking(move || {
        with(url, async move |client| {
            // It never looks whether others wait for it.
            client.batch_execute("SET deadlock_timeout = '1h'; BEGIN").await.unwrap();
            client.batch_execute("SELECT FROM jobs ORDER BY seq DESC LIMIT 1 FOR UPDATE").await.unwrap();
            locked.send(()).unwrap();
            database.until_somebody_waits().await;
            client.batch_execute("SELECT FROM jobs ORDER BY seq LIMIT 1 FOR UPDATE").await.unwrap();
            client.batch_execute("COMMIT").await.unwrap();
        });
    });
    is_locked.await.unwrap();
    let extended = stage.b.store().extend(claimed.iter().map(held).collect(), LEASE).await.unwrap();
    assert!(extended.iter().all(|extended| extended.kept), "{extended:?}");
    script.await.unwrap();
    stage.b.finish().await;
}

/// F54, F73: whatever takes the connections that read, and whoever has a job that is reported, leases are extended, and jobs
/// come in and start; and whoever reads is told before long.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_waits_for_a_lock_holds_up_no_heartbeat() {
    let stage = Stage::new().await;
    let settings =
        Settings { readers: 1, clock: Some(stage.b.clock.clone()), ..Settings::of(stage.database.target()) };
    let store = PostgresStore::open(settings).await.unwrap();
    for _ in 0..2 {
        store.accept(stage.b.new_job()).await.unwrap().unwrap();
    }
    let claimed = store.claim(Claim { slots: 2, ..stage.b.new_claim() }).await.unwrap().claimed;
    let theirs = LeftOpen::having_done(
        stage.database.url(),
        "LOCK TABLE revisions IN ACCESS EXCLUSIVE MODE; SELECT FROM jobs ORDER BY seq LIMIT 1 FOR UPDATE",
    );
    let (reading, reporting) = (store.clone(), store.clone());
    let report = stage.b.new_commit(&claimed[0], succeeded(used(10, 5)), succeed());
    let reading = tokio::spawn(async move { reading.active_revision().await });
    let reporting = tokio::spawn(async move { reporting.commit_step(report).await });
    while stage.database.ask("SELECT count(*) FROM pg_locks WHERE NOT granted") < vec!["2".to_owned()] {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let began = Instant::now();
    let extended =
        timeout(SOON, store.extend(vec![held(&claimed[1])], LEASE)).await.expect("at once").unwrap();
    assert!(extended[0].kept);
    let new = timeout(SOON, store.accept(stage.b.new_job())).await.expect("at once").unwrap().unwrap();
    let started = timeout(SOON, store.claim(stage.b.new_claim())).await.expect("at once").unwrap();
    assert_eq!(started.claimed[0].job_id, new.job_id);
    let refused = timeout(2 * SOON, store.job(stage.b.alpha, new.job_id)).await.expect("before long");
    let Err(StoreError::Unavailable(reason)) = refused else { panic!("{refused:?}") };
    assert!(reason.starts_with("all 1 connections that read"), "{reason}");
    assert!(reason.contains("forebay doctor") && reason.contains("`readers`"), "{reason}");
    assert!(
        !reading.is_finished() && !reporting.is_finished(),
        "all of it beside them: {:?}",
        began.elapsed()
    );
    drop(theirs);
    reading.await.unwrap().unwrap();
    assert!(matches!(reporting.await.unwrap().unwrap(), Committed::Done { .. }));
    assert!(store.job(stage.b.alpha, new.job_id).await.unwrap().is_some());
    drop(store);
    stage.b.finish().await;
}

/// F74: somebody has a job and does not let it go. Whoever is after it is told so, and others wait no longer than that takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_keeps_a_job_holds_up_others_for_so_long_and_no_longer() {
    let stage = Stage::new().await;
    let (alpha, jobs) = (stage.b.alpha, stage.b.accept_of(stage.b.alpha, 2).await);
    let theirs =
        LeftOpen::having_done(stage.database.url(), "SELECT FROM jobs ORDER BY seq LIMIT 1 FOR UPDATE");
    let (store, first) = (stage.b.store(), jobs[0]);
    let waiting = tokio::spawn(async move { store.cancel(alpha, first, Actor::program()).await });
    stage.database.until_somebody_waits().await;
    let other = stage.b.store();
    let other = timeout(6 * SOON, other.cancel(alpha, jobs[1], Actor::program())).await.expect("in time");
    assert!(other.unwrap().is_some());
    let told = waiting.await.unwrap();
    assert!(matches!(told, Err(StoreError::Unavailable(_))), "{told:?}");
    drop(theirs);
    assert!(stage.b.store().cancel(alpha, first, Actor::program()).await.unwrap().is_some());
    stage.b.finish().await;
}

/// C16, F27: a commit is on its way while a later one arrives: who reads on from that has not passed by the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_commits_late_is_not_passed_by() {
    let stage = Stage::new().await;
    let (b, way) = (&stage.b, ChaosProxy::start(address()));
    let far = Database::beside_at(Database::target_of(stage.database.name(), way.address()), b).await;
    // A claim: one that accepts would have others wait who accept.
    far.claim(b.new_claim()).await.unwrap();
    let (mut after, mut seen) = (Place::START, Vec::new());
    for _ in 0..5 {
        let late = b.accept_one().await;
        let slow = way.on(b"COMMIT", 1, Action::Hold);
        let claiming = tokio::spawn({
            let (far, claim) = (far.clone(), b.new_claim());
            async move { far.claim(claim).await }
        });
        slow.fired(1).await;
        let early = timeout(SOON, b.accept_one()).await.expect("at once");
        let release = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            slow.release();
        });
        let began = Instant::now();
        let told = [(late, EventType::Claimed), (early, EventType::Accepted)];
        while !told.iter().all(|told| seen.contains(told)) {
            assert!(began.elapsed() < Duration::from_secs(8), "{told:?} is not among {seen:?}");
            let query = EventQuery { job: None, after, limit: 9 };
            for event in b.store().events(b.alpha, query).await.unwrap().events {
                after = event.place();
                let body: serde_json::Value = serde_json::from_slice(&event.body).unwrap();
                let job: JobId = body["subject"].as_str().unwrap().parse().unwrap();
                seen.push((job, *event.kind.known().unwrap()));
            }
        }
        release.await.unwrap();
        let claimed = claiming.await.unwrap().unwrap().claimed.pop().unwrap();
        assert_eq!(claimed.job_id, late);
        b.succeed(&claimed).await;
        b.store().cancel(b.alpha, early, Actor::program()).await.unwrap();
    }
    drop(far);
    stage.b.finish().await;
}

/// C22: a process stands still in the middle of closing an epoch. Jobs come in as ever, and what happens is read again
/// within seconds.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_stands_still_while_closing_an_epoch_is_not_waited_for() {
    let stage = Stage::new().await;
    let way = ChaosProxy::start(address());
    let far = Database::beside_at(Database::target_of(stage.database.name(), way.address()), &stage.b).await;
    stage.b.accept_one().await;
    let closing = way.on(b"SET closed", 1, Action::Hold);
    let query = EventQuery { job: None, after: Place::START, limit: 9 };
    let reading = tokio::spawn({
        let (far, alpha) = (far.clone(), stage.b.alpha);
        async move { far.events(alpha, query).await }
    });
    closing.fired(1).await;
    let began = Instant::now();
    let job = timeout(SOON, stage.b.accept_one()).await.expect("at once");
    while stage.b.events(stage.b.alpha, Some(job)).await.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(9), "what happened is never read");
    }
    closing.release();
    assert!(!reading.await.unwrap().unwrap().events.is_empty(), "whoever wakes up reads as well");
    drop(far);
    stage.b.finish().await;
}

/// C22: somebody else has the lock of the current epoch for himself. Jobs come in and go on as ever, and what happens is read
/// within seconds: nobody who writes can be in that epoch.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_has_an_epoch_for_himself_stops_neither_jobs_nor_the_log() {
    let stage = Stage::new().await;
    let b = &stage.b;
    let (mut after, mut seen, mut jobs) = (Place::START, Vec::new(), Vec::new());
    // With nothing in it that is not read yet, and with something.
    for is_read in [true, false] {
        jobs.push(b.accept_one().await);
        if is_read {
            b.events(b.alpha, None).await;
        }
        let theirs = LeftOpen::having_done(
            stage.database.url(),
            "SELECT pg_advisory_lock(7046000000000000000 + current) FROM log_epochs",
        );
        let began = Instant::now();
        jobs.push(timeout(SOON, b.accept_one()).await.expect("at once"));
        for claimed in timeout(SOON, b.claim(2)).await.expect("at once") {
            timeout(SOON, b.succeed(&claimed)).await.expect("at once");
        }
        while seen.len() < 3 * jobs.len() {
            assert!(began.elapsed() < Duration::from_secs(9), "{seen:?}");
            seen.extend(read_on(&stage, &mut after).await);
        }
        drop(theirs);
    }
    let all: Vec<Place> = b.events(b.alpha, None).await.iter().map(EventRecord::place).collect();
    assert_eq!(seen, all, "each once, and in the log's order");
    stage.b.finish().await;
}

/// C22: somebody else has joined the current epoch, as if to write. Jobs come in and go on, and whoever reads is answered
/// with what can be read; the rest comes when that one has gone, and nothing was passed by.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_joins_an_epoch_for_long_keeps_it_from_readers_and_nothing_else() {
    let stage = Stage::new().await;
    let b = &stage.b;
    let early = b.accept_one().await;
    let mut after = Place::START;
    assert_eq!(read_on(&stage, &mut after).await.len(), 1);
    let theirs = LeftOpen::having_done(
        stage.database.url(),
        "SELECT pg_advisory_lock_shared(7046000000000000000 + current) FROM log_epochs",
    );
    let late = timeout(SOON, b.accept_one()).await.expect("at once");
    for claimed in timeout(SOON, b.claim(2)).await.expect("at once") {
        timeout(SOON, b.succeed(&claimed)).await.expect("at once");
    }
    let held_up = timeout(3 * SOON, read_on(&stage, &mut after)).await.expect("an answer");
    assert_eq!(held_up, []);
    drop(theirs);
    assert_eq!(read_on(&stage, &mut after).await.len(), 5, "all of it");
    use EventType::{Accepted, Claimed, Succeeded};
    for job in [early, late] {
        assert_eq!(b.story(job).await, [Accepted, Claimed, Succeeded]);
    }
    stage.b.finish().await;
}

/// What is to be read behind a place, which moves on.
async fn read_on(stage: &Stage, after: &mut Place) -> Vec<Place> {
    let query = EventQuery { job: None, after: *after, limit: 99 };
    let events = stage.b.store().events(stage.b.alpha, query).await.unwrap().events;
    let places: Vec<_> = events.iter().map(EventRecord::place).collect();
    *after = places.last().copied().unwrap_or(*after);
    places
}
