//! Whatever is asked of a store in whatever order: random histories against a model that knows the rules in
//! its own words. It says in advance what each verb must answer and what the counters are then.

use std::collections::{BTreeMap, HashMap};

use forebay_core::attempt::Outcome;
use forebay_core::definition::PoolLimits;
use forebay_core::digest::Digest;
use forebay_core::failure::FailureClass;
use forebay_core::id::{AttemptId, JobId};
use forebay_core::job::State;
use forebay_core::money::Micros;
use forebay_core::time::{Millis, Timestamp};
use forebay_store::record::{
    AcceptRefused, Actor, AttemptClose, Bytes, Cancelled, Claim, Claimed, Committed, Held, JobRecord,
    NewDecision, NewJob, NewResult, TenantSettings, Then, Verdict,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::bundle::{
    Backend, Bundle, LEASE, closed, failed, next, not_sent, review, succeed, succeeded, try_failed, used,
};

const MAX_PENDING: u64 = 4;
const MAX_IN_FLIGHT: usize = 2;
const BUDGET: i64 = 1_700;
const PER_MINUTE: usize = 8;
const KEY_TTL: Millis = Millis::from_secs(100);
/// What each call sets aside.
const RESERVED: i64 = 200;

/// One thing that somebody asks. Numbers pick among what there is, whether it is right or wrong.
#[derive(Debug, Clone)]
enum Ask {
    Accept { ours: bool, key: Option<u8>, other_body: bool, ordering_key: Option<u8>, delay_secs: i64 },
    Claim { slots: usize },
    Commit { pick: usize, how: u8, input: u64, output: u64 },
    Extend { pick: usize },
    Rescue { pick: usize },
    Expire { pick: usize },
    Cancel { pick: usize },
    Decide { pick: usize, how: u8, stale: bool },
    Sweep,
    Wait { ms: i64 },
}

fn ask() -> impl Strategy<Value = Ask> {
    let accept = (
        any::<bool>(),
        proptest::option::weighted(0.4, 0_u8..3),
        proptest::bool::weighted(0.2),
        proptest::option::weighted(0.5, 0_u8..2),
        prop_oneof![3 => Just(0_i64), 1 => 1_i64..60],
    )
        .prop_map(|(ours, key, other_body, ordering_key, delay_secs)| Ask::Accept {
            ours,
            key,
            other_body,
            ordering_key,
            delay_secs,
        });
    let commit = (0_usize..4, 0_u8..8, 0_u64..150, 0_u64..60)
        .prop_map(|(pick, how, input, output)| Ask::Commit { pick, how, input, output });
    prop_oneof![
        5 => accept,
        5 => (1_usize..4).prop_map(|slots| Ask::Claim { slots }),
        5 => commit,
        1 => (0_usize..4).prop_map(|pick| Ask::Extend { pick }),
        2 => (0_usize..9).prop_map(|pick| Ask::Rescue { pick }),
        1 => (0_usize..9).prop_map(|pick| Ask::Expire { pick }),
        1 => (0_usize..9).prop_map(|pick| Ask::Cancel { pick }),
        2 => (0_usize..9, 0_u8..4, proptest::bool::weighted(0.2))
            .prop_map(|(pick, how, stale)| Ask::Decide { pick, how, stale }),
        1 => Just(Ask::Sweep),
        4 => prop_oneof![3 => 0_i64..4_000, 2 => 20_000_i64..90_000].prop_map(|ms| Ask::Wait { ms }),
    ]
}

pub fn random_histories_keep_the_promises<B: Backend + 'static>(backend: impl Fn() -> B) {
    let config = Config { cases: 40, failure_persistence: None, ..Config::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let histories = proptest::collection::vec(ask(), 1..60);
    let checked = TestRunner::new(config).run(&histories, |asks| {
        runtime.block_on(async {
            let mut history = History::new(backend()).await;
            for ask in asks {
                history.ask(&ask).await;
                history.check().await;
            }
            history.b.finish().await;
        });
        Ok(())
    });
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}

/// A store and what the model holds of it.
struct History {
    b: Bundle,
    /// Every job as it was after the last verb, in accept order.
    jobs: BTreeMap<i64, JobRecord>,
    /// Jobs that the verb under way may change.
    touched: Vec<JobId>,
    keys: HashMap<(i64, u8), Key>,
    /// Every claim that was ever handed out; the newest is picked first.
    held: Vec<Claimed>,
    /// Permits for calls in flight, with their lease and whether the attempt is open.
    permits: HashMap<AttemptId, (i64, Timestamp, bool)>,
    /// When each call was claimed that counts against the limit per minute.
    grants: HashMap<AttemptId, Timestamp>,
    cooldown_until: Timestamp,
    accounts: HashMap<i64, Books>,
}

struct Key {
    job: JobId,
    other_body: bool,
    expires_at: Timestamp,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Books {
    reserved: i64,
    spent: i64,
    uncertain: i64,
    overage: i64,
}

impl History {
    async fn new(backend: impl Backend + 'static) -> Self {
        let b = Bundle::new(backend).await;
        let settings = TenantSettings {
            max_pending_jobs: Some(MAX_PENDING),
            max_in_flight: Some(MAX_IN_FLIGHT as u64),
            budget: Some(Micros(BUDGET)),
            ..TenantSettings::default()
        };
        b.allow(b.alpha, settings).await;
        Self {
            accounts: HashMap::from([(b.alpha, Books::default()), (b.beta, Books::default())]),
            cooldown_until: b.now(),
            b,
            jobs: BTreeMap::new(),
            touched: Vec::new(),
            keys: HashMap::new(),
            held: Vec::new(),
            permits: HashMap::new(),
            grants: HashMap::new(),
        }
    }

    async fn ask(&mut self, ask: &Ask) {
        self.touched.clear();
        match *ask {
            Ask::Accept { ours, key, other_body, ordering_key, delay_secs } => {
                let tenant = if ours { self.b.alpha } else { self.b.beta };
                let job = NewJob {
                    idempotency_key: key.map(|key| key.to_string()),
                    idempotency_ttl: KEY_TTL,
                    body_digest: Digest::of(&[u8::from(other_body)]),
                    ordering_key: ordering_key.map(|key| key.to_string()),
                    not_before: Some(self.b.now().after(Millis::from_secs(delay_secs))),
                    deadline: self.b.now().after(Millis::from_secs(400)),
                    ..self.b.new_job_of(tenant)
                };
                self.accept(job, key, other_body).await;
            }
            Ask::Claim { slots } => self.claim(slots).await,
            Ask::Commit { pick, how, input, output } => {
                if let Some(claimed) = self.held.iter().rev().nth(pick).cloned() {
                    self.commit(&claimed, how, input, output).await;
                }
            }
            Ask::Extend { pick } => {
                if let Some(claimed) = self.held.iter().rev().nth(pick).cloned() {
                    self.extend(&claimed).await;
                }
            }
            Ask::Rescue { pick } => self.on_job(pick, Command::Rescue).await,
            Ask::Expire { pick } => self.on_job(pick, Command::Expire).await,
            Ask::Cancel { pick } => self.on_job(pick, Command::Cancel).await,
            Ask::Decide { pick, how, stale } => self.decide(pick, how, stale).await,
            Ask::Sweep => self.sweep().await,
            Ask::Wait { ms } => self.b.wait(Millis::new(ms)),
        }
    }

    async fn accept(&mut self, job: NewJob, key: Option<u8>, other_body: bool) {
        let (now, tenant, id) = (self.b.now(), job.tenant, job.id);
        let answer = self.b.submit(job).await;
        let known = key.and_then(|key| self.keys.get(&(tenant, key))).filter(|key| key.expires_at > now);
        if let Some(known) = known {
            match answer {
                Ok(accepted) => {
                    assert!(accepted.replayed && known.other_body == other_body);
                    assert_eq!(accepted.job_id, known.job);
                    assert_eq!(accepted.state, self.record(known.job).job.state);
                }
                Err(refused) => {
                    assert_eq!(refused, AcceptRefused::KeyReused { job_id: known.job });
                    assert_ne!(known.other_body, other_body);
                }
            }
        } else if tenant == self.b.alpha && self.pending(tenant) >= MAX_PENDING {
            assert_eq!(answer, Err(AcceptRefused::TenantFull { limit: MAX_PENDING }));
        } else {
            assert!(!answer.unwrap().replayed);
            self.touched.push(id);
            if let Some(key) = key {
                let known = Key { job: id, other_body, expires_at: now.after(KEY_TTL) };
                self.keys.insert((tenant, key), known);
            }
        }
    }

    async fn claim(&mut self, slots: usize) {
        let now = self.b.now();
        let limits = PoolLimits { requests_per_minute: Some(PER_MINUTE as u64), ..PoolLimits::default() };
        let reply = self.b.take(Claim { slots, limits, ..self.b.new_claim() }).await;
        for claimed in &reply.claimed {
            let before = self.record(claimed.job_id);
            assert!(now >= self.cooldown_until, "the pool rests");
            assert!(waits(before, now), "{before:?} is not due");
            assert_eq!(claimed.fence, before.job.fence + 1);
            self.touched.push(claimed.job_id);
            self.grants.insert(claimed.attempt_id, now);
            self.permits.insert(claimed.attempt_id, (claimed.tenant, now.after(LEASE), true));
            self.held.push(claimed.clone());
            self.books(claimed.tenant).reserved += RESERVED;
        }
        let minute = self.grants.values().filter(|at| at.after(Millis::from_secs(60)) > now).count();
        assert!(minute <= PER_MINUTE, "no sliding minute holds more than the limit (I17)");
        assert!(self.calls_of(self.b.alpha) <= MAX_IN_FLIGHT);
        let late = self
            .jobs
            .values()
            .filter(|record| queued(record) && record.job.available_at <= now && record.job.deadline <= now);
        self.touched.extend(late.map(|record| record.id).collect::<Vec<_>>());
        self.look().await;
        for claimed in &reply.claimed {
            assert!(self.is_first(claimed.job_id), "one at a time of an ordering key");
        }
        let idle = reply.claimed.len() < slots && reply.full.is_none() && now >= self.cooldown_until;
        let left_over = self
            .jobs
            .values()
            .find(|record| waits(record, now) && self.is_first(record.id) && self.has_room(record.tenant));
        assert!(!idle || left_over.is_none(), "{left_over:?} was left although a slot was free");
    }

    /// Commits an attempt for the first, second or tenth time.
    async fn commit(&mut self, claimed: &Claimed, how: u8, input: u64, output: u64) {
        let mine = self.is_owner(claimed);
        let answer = |then| (succeeded(used(input, output)), then);
        let try_with = |class| (failed(class), try_failed(class));
        let (close, then) = match how {
            0 => answer(succeed()),
            1 => answer(next(self.b.new_step())),
            2 => answer(review()),
            3 => try_with(FailureClass::ProviderError),
            4 => {
                let class = FailureClass::TimeoutIdle;
                (closed(Outcome::Unknown, Some(class), None), try_failed(class))
            }
            5 => try_with(FailureClass::RateLimited),
            6 => (not_sent(), Then::Release),
            _ => (not_sent(), try_failed(FailureClass::NotSent)),
        };
        let committed = self.b.commit(claimed, close.clone(), then).await;
        assert_eq!(matches!(committed, Committed::Done { .. }), mine, "only the owner commits (I12)");
        self.permits.remove(&claimed.attempt_id);
        if !mine {
            return;
        }
        self.touched.push(claimed.job_id);
        self.settle(claimed.tenant, &close);
        if close.outcome == Outcome::FailedBeforeSend {
            self.grants.remove(&claimed.attempt_id);
        }
        if how == 5 {
            self.cooldown_until = self.cooldown_until.max(self.b.now().after(Millis::from_secs(1)));
        }
    }

    fn settle(&mut self, tenant: i64, close: &AttemptClose) {
        let books = self.books(tenant);
        books.reserved -= RESERVED;
        match (close.outcome, close.usage) {
            (Outcome::Succeeded, Some(usage)) => {
                let cost = i64::try_from(usage.input_tokens + 2 * usage.output_tokens).unwrap();
                books.spent += cost;
                books.overage += (cost - RESERVED).max(0);
            }
            (Outcome::Unknown, _) => books.uncertain += RESERVED,
            _ => {}
        }
    }

    async fn extend(&mut self, claimed: &Claimed) {
        let now = self.b.now();
        let live = self.record(claimed.job_id).job.lease_until.is_some_and(|until| until > now);
        let held = Held { job_id: claimed.job_id, attempt_id: claimed.attempt_id, fence: claimed.fence };
        let kept = self.b.store().extend(vec![held], LEASE).await.unwrap()[0].kept;
        assert_eq!(kept, self.is_owner(claimed) && live, "an extension needs the fence and a live lease");
        if kept {
            self.touched.push(claimed.job_id);
            self.permits.get_mut(&claimed.attempt_id).unwrap().1 = now.after(LEASE);
        }
    }

    /// Takes a job from whoever has it, or does not.
    async fn on_job(&mut self, pick: usize, command: Command) {
        let Some(before) = self.jobs.values().rev().nth(pick).cloned() else { return };
        let (now, job) = (self.b.now(), &before.job);
        let machines = matches!(job.state, State::Ready | State::Running | State::RetryScheduled);
        let (does, must) = match command {
            Command::Rescue => {
                let lapsed = job.lease_until.is_some_and(|until| until <= now);
                (self.b.rescue(before.id).await, lapsed)
            }
            Command::Expire => {
                (self.b.store().expire(before.id).await.unwrap(), machines && job.deadline <= now)
            }
            Command::Cancel => {
                let answer =
                    self.b.store().cancel(before.tenant, before.id, Actor::program()).await.unwrap().unwrap();
                let Cancelled::Done(record) = answer else {
                    assert!(job.state.is_terminal() && job.state != State::Cancelled);
                    return;
                };
                (Some(*record).filter(|_| job.state != State::Cancelled), !job.state.is_terminal())
            }
        };
        assert_eq!(does.is_some(), must, "{command:?} of {before:?}");
        let Some(record) = does else { return };
        assert_eq!(record.job.fence, job.fence + 1, "whoever takes a job raises its fence (I15)");
        self.touched.push(record.id);
        if job.state == State::Running {
            self.lose(&before, matches!(command, Command::Rescue));
        }
    }

    /// The attempt of a running job is closed by somebody else.
    fn lose(&mut self, before: &JobRecord, permit_returns: bool) {
        let claimed = self.held.iter().rev().find(|claimed| claimed.job_id == before.id).unwrap().clone();
        let books = self.books(before.tenant);
        books.reserved -= RESERVED;
        books.uncertain += RESERVED;
        if permit_returns {
            self.permits.remove(&claimed.attempt_id);
        } else if let Some(permit) = self.permits.get_mut(&claimed.attempt_id) {
            permit.2 = false;
        }
    }

    /// A person decides about a job, in review or not.
    async fn decide(&mut self, pick: usize, how: u8, stale: bool) {
        let Some(before) = self.jobs.values().rev().nth(pick).cloned() else { return };
        let (verdict, state) = match how {
            0 => (Verdict::Approve, State::Succeeded),
            1 => {
                let result = NewResult { output: Bytes::Inline(b"1".to_vec()), provenance: b"{}".to_vec() };
                let (changes, findings) = (Vec::new(), b"[]".to_vec());
                (Verdict::Correct { result, changes, findings }, State::Succeeded)
            }
            2 => (Verdict::Reject, State::FailedTerminal),
            _ => {
                let deadline = self.b.now().after(Millis::from_secs(400));
                (Verdict::Rerun { step: self.b.new_step(), deadline }, State::Ready)
            }
        };
        let decision = NewDecision {
            tenant: before.tenant,
            job_id: before.id,
            seen: before.job.state_version - u64::from(stale),
            verdict,
            comment: None,
            fingerprint: None,
            // Never the same decision twice.
            digest: Digest::of(&rand::random::<[u8; 16]>()),
            by: Actor::program(),
        };
        let answer = self.b.store().decide_review(decision).await.unwrap();
        let must = before.job.state == State::ReviewRequired && !stale;
        assert_eq!(answer.is_ok(), must, "{before:?} {answer:?}");
        if let Ok(decided) = answer {
            assert_eq!(decided.job.job.state, state);
            assert_eq!(decided.job.job.generation, before.job.generation + u32::from(state == State::Ready));
            self.touched.push(before.id);
        }
    }

    async fn sweep(&mut self) {
        let now = self.b.now();
        let before = self.permits.len();
        self.permits.retain(|_, (_, lease_until, open)| *open || *lease_until > now);
        let swept = self.b.store().sweep_grants(100).await.unwrap();
        assert_eq!(swept, before - self.permits.len());
    }
}

#[derive(Debug, Clone, Copy)]
enum Command {
    Rescue,
    Expire,
    Cancel,
}

/// What the model knows.
impl History {
    fn record(&self, job: JobId) -> &JobRecord {
        self.jobs.values().find(|record| record.id == job).unwrap()
    }

    fn books(&mut self, tenant: i64) -> &mut Books {
        self.accounts.get_mut(&tenant).unwrap()
    }

    fn pending(&self, tenant: i64) -> u64 {
        let of_tenant = self.jobs.values().filter(|record| record.tenant == tenant);
        of_tenant.filter(|record| !record.job.state.is_terminal()).count() as u64
    }

    fn calls_of(&self, tenant: i64) -> usize {
        self.permits.values().filter(|permit| permit.0 == tenant).count()
    }

    fn is_owner(&self, claimed: &Claimed) -> bool {
        let job = &self.record(claimed.job_id).job;
        job.state == State::Running && job.fence == claimed.fence
    }

    /// Whether no earlier job of its ordering key is unfinished.
    fn is_first(&self, job: JobId) -> bool {
        let record = self.record(job);
        record.ordering_key.is_none()
            || !self.jobs.range(..record.seq).any(|(_, earlier)| {
                (earlier.tenant, &earlier.ordering_key) == (record.tenant, &record.ordering_key)
                    && !earlier.job.state.is_terminal()
            })
    }

    fn has_room(&self, tenant: i64) -> bool {
        let books = self.accounts[&tenant];
        let left = BUDGET - books.reserved - books.spent - books.uncertain;
        tenant != self.b.alpha || (self.calls_of(tenant) < MAX_IN_FLIGHT && left >= RESERVED)
    }
}

fn queued(record: &JobRecord) -> bool {
    matches!(record.job.state, State::Ready | State::RetryScheduled)
}

fn waits(record: &JobRecord, now: Timestamp) -> bool {
    queued(record) && record.job.available_at <= now && record.job.deadline > now
}

/// What holds after every verb.
impl History {
    async fn check(&mut self) {
        self.look().await;
        for tenant in [self.b.alpha, self.b.beta] {
            let (record, books) = (self.b.tenant(tenant).await, self.accounts[&tenant]);
            assert_eq!(record.pending_jobs, self.pending(tenant), "pending jobs");
            assert_eq!(record.in_flight, self.calls_of(tenant) as u64, "calls in flight");
            let account = record.account;
            let found = (account.reserved.0, account.spent.0, account.uncertain.0);
            assert_eq!(found, (books.reserved, books.spent, books.uncertain), "money");
            let used = books.reserved + books.spent + books.uncertain;
            assert!(tenant != self.b.alpha || used <= BUDGET + books.overage, "over budget (I18)");
        }
        assert_eq!(self.b.in_flight().await, self.permits.len() as u64);
    }

    /// Compares all jobs with what they were before the verb, and remembers them.
    async fn look(&mut self) {
        let mut jobs = self.b.all_jobs(self.b.alpha).await;
        jobs.extend(self.b.all_jobs(self.b.beta).await);
        for after in &jobs {
            if let Some(before) = self.jobs.get(&after.seq) {
                self.compare(before, after);
            } else {
                assert!(self.touched.contains(&after.id) && after.job.state_version == 1);
            }
            assert_eq!(after.job.state == State::Running, after.job.lease_until.is_some());
        }
        assert!(jobs.len() >= self.jobs.len(), "nothing disappears (I20)");
        self.jobs = jobs.into_iter().map(|record| (record.seq, record)).collect();
        for record in self.jobs.values().filter(|record| !record.job.state.is_terminal()) {
            assert_eq!(record.behind_key, !self.is_first(record.id), "{record:?}");
        }
    }

    fn compare(&self, before: &JobRecord, after: &JobRecord) {
        // That one before it has ended is no change of a job.
        let same = JobRecord { behind_key: before.behind_key, ..after.clone() } == *before;
        assert!(same || self.touched.contains(&after.id), "{before:?} became {after:?}");
        assert!(same || !before.job.state.is_terminal(), "a terminal job never changes (I13)");
        assert!(after.job.fence >= before.job.fence, "the fence never goes back (I11)");
        let step = after.job.state_version - before.job.state_version;
        let turned = after.job.state != before.job.state;
        assert!(step == u64::from(turned), "the version rises by one with every change of state (I28)");
    }
}
