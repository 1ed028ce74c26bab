//! What must hold whatever a case did: the counters are what the rows say (I30), every job has one event a
//! version (I1, I28), and once the last lease has lapsed nothing is held any more.

use std::collections::BTreeMap;

use forebay_core::definition::OnUnknown;
use forebay_core::event::EventType;
use forebay_core::job::State;
use forebay_core::money::Micros;
use forebay_core::time::{Millis, Timestamp};
use forebay_store::record::{
    AttemptRecord, BudgetPeriod, JobQuery, JobRecord, JobUsage, TenantRecord, UsageQuery,
};

use super::{Bundle, LEASE, START};

impl Bundle {
    /// Ends a case: checks the books as they are, lets every lease lapse, has maintenance run, and checks
    /// that nobody holds anything any more.
    pub async fn finish(self) {
        self.check_books().await;
        self.wait(LEASE.plus(Millis::from_secs(600)));
        self.maintain().await;
        self.check_books().await;
        self.check_nothing_is_held().await;
    }

    /// Compares every counter with the rows that it stands for.
    pub async fn check_books(&self) {
        for tenant in self.store().tenants().await.unwrap() {
            let jobs = self.all_jobs(tenant.id).await;
            self.check_states(&tenant, &jobs).await;
            let mut sums = Sums::default();
            for job in &jobs {
                self.check_events(job).await;
                let attempts = self.store().attempts(tenant.id, job.id).await.unwrap();
                check_attempts(job, &attempts);
                sums.add(&attempts);
            }
            sums.add(&self.gone(tenant.id));
            self.check_money(&tenant, &sums).await;
        }
        let faults = self.backend.audit().await;
        assert!(faults.is_empty(), "rows contradict each other: {faults:#?}");
    }

    /// Does something that deletes jobs, and remembers what their attempts had cost.
    pub async fn deleting<T>(&self, doing: impl Future<Output = T>) -> T {
        let mut before = Vec::new();
        for tenant in [self.alpha, self.beta] {
            for job in self.all_jobs(tenant).await {
                before.push((tenant, job.id, self.store().attempts(tenant, job.id).await.unwrap()));
            }
        }
        let done = doing.await;
        for (tenant, job, attempts) in before {
            if self.store().job(tenant, job).await.unwrap().is_none() {
                self.gone.lock().unwrap().extend(attempts.into_iter().map(|attempt| (tenant, attempt)));
            }
        }
        done
    }

    fn gone(&self, tenant: i64) -> Vec<AttemptRecord> {
        let gone = self.gone.lock().unwrap();
        gone.iter().filter(|(of, _)| *of == tenant).map(|(_, attempt)| attempt.clone()).collect()
    }

    /// Rescues what has lapsed and gives permits back until there is nothing to do.
    async fn maintain(&self) {
        let store = self.store();
        while let Some(job) = self.lapsed().await.first() {
            self.rescue_with(*job, OnUnknown::Once).await.expect("a lapsed job can be rescued");
        }
        while store.sweep_grants(100).await.unwrap() > 0 {}
    }

    async fn check_nothing_is_held(&self) {
        for pool in self.store().pools().await.unwrap() {
            assert_eq!(
                (pool.used.in_flight, pool.used.tokens_in_flight),
                (0, 0),
                "permits of pool {} are left over",
                pool.name
            );
        }
        for tenant in self.store().tenants().await.unwrap() {
            assert_eq!(tenant.in_flight, 0, "calls of {} are left over", tenant.name);
            assert_eq!(tenant.account.reserved, Micros::ZERO, "money of {} is left over", tenant.name);
            let running = self.count(tenant.id, State::Running).await;
            assert_eq!(running, 0, "leases of {} are left over", tenant.name);
        }
    }

    /// Every job of a tenant, newest first.
    pub async fn all_jobs(&self, tenant: i64) -> Vec<JobRecord> {
        let query = JobQuery { limit: 1_000_000, ..JobQuery::default() };
        self.store().jobs(tenant, query).await.unwrap().jobs
    }

    /// How many jobs of a tenant are in a state.
    pub async fn count(&self, tenant: i64, state: State) -> u64 {
        let counts = self.store().counts(Some(tenant)).await.unwrap();
        counts.into_iter().find(|(of, _)| *of == state).map_or(0, |(_, count)| count)
    }

    async fn check_states(&self, tenant: &TenantRecord, jobs: &[JobRecord]) {
        let unfinished = jobs.iter().filter(|record| !record.job.state.is_terminal()).count() as u64;
        assert_eq!(tenant.pending_jobs, unfinished, "pending jobs of {}", tenant.name);
        for state in State::ALL {
            let rows = jobs.iter().filter(|record| record.job.state == state).count() as u64;
            assert_eq!(self.count(tenant.id, state).await, rows, "{} of {}", state.name(), tenant.name);
        }
    }

    async fn check_events(&self, record: &JobRecord) {
        let events = self.events(record.tenant, Some(record.id)).await;
        assert!(events.windows(2).all(|pair| pair[0].seq < pair[1].seq), "the log's numbers rise");
        // That a job is done again is said at the version that it has.
        let turns = events.iter().filter(|event| event.kind != EventType::Replayed);
        let versions: Vec<u64> = turns.map(|event| version_in(&event.body)).collect();
        let expected: Vec<u64> = (1..=record.job.state_version).collect();
        assert_eq!(versions, expected, "{} has one event a version", record.id);
        assert_eq!(events[0].seq, record.seq, "the accepted event numbers its job");
    }

    async fn check_money(&self, tenant: &TenantRecord, sums: &Sums) {
        let rows = self.store().usage(UsageQuery::of(tenant.id, START, self.now())).await.unwrap();
        let mut by_pool = BTreeMap::<_, (u64, JobUsage)>::new();
        for row in rows {
            let sum = by_pool.entry((row.key.pool.unwrap(), row.key.model.unwrap())).or_default();
            sum.0 += row.attempts;
            sum.1.input_tokens += row.input_tokens;
            sum.1.output_tokens += row.output_tokens;
            sum.1.cost = sum.1.cost.plus(row.cost);
            sum.1.uncertain = sum.1.uncertain.plus(row.uncertain);
        }
        assert_eq!(by_pool, sums.settled, "the days of {} add up to its attempts", tenant.name);
        if tenant.settings.budget_period != BudgetPeriod::Total {
            return;
        }
        let account = &tenant.account;
        assert_eq!(account.reserved, sums.reserved, "{} has set aside what is open", tenant.name);
        let booked =
            sums.settled.values().fold((Micros::ZERO, Micros::ZERO), |(spent, uncertain), (_, sum)| {
                (spent.plus(sum.cost), uncertain.plus(sum.uncertain))
            });
        assert_eq!((account.spent, account.uncertain), booked, "{} has booked what is settled", tenant.name);
        if let Some(limit) = account.limit {
            let used = account.reserved.plus(account.spent).plus(account.uncertain);
            assert!(used <= limit.plus(sums.overage), "{} is over its budget (I18)", tenant.name);
        }
    }
}

/// What a tenant's attempts come to.
#[derive(Default)]
struct Sums {
    reserved: Micros,
    overage: Micros,
    settled: BTreeMap<(String, String), (u64, JobUsage)>,
}

impl Sums {
    fn add(&mut self, attempts: &[AttemptRecord]) {
        for attempt in attempts {
            if attempt.outcome.is_none() {
                self.reserved = self.reserved.plus(attempt.reserved);
                continue;
            }
            self.overage = self.overage.plus(attempt.overage.unwrap_or_default());
            let key = (attempt.pool.clone(), attempt.model.clone());
            let (count, sum) = self.settled.entry(key).or_default();
            *count += 1;
            *sum = plus(*sum, &billed(attempt));
        }
    }
}

/// What an attempt adds to its job's and its tenant's use: nothing that nobody billed.
fn billed(attempt: &AttemptRecord) -> JobUsage {
    use forebay_core::attempt::Outcome::{FailedAfterSend, FailedBeforeSend, Succeeded, Unknown};
    let tokens = match attempt.outcome {
        Some(Succeeded | FailedAfterSend) => attempt.usage.unwrap_or_default(),
        Some(FailedBeforeSend | Unknown) | None => Default::default(),
    };
    JobUsage {
        input_tokens: tokens.input_tokens,
        output_tokens: tokens.output_tokens,
        cost: attempt.cost.unwrap_or_default(),
        uncertain: attempt.uncertain.unwrap_or_default(),
    }
}

fn plus(one: JobUsage, other: &JobUsage) -> JobUsage {
    JobUsage {
        input_tokens: one.input_tokens + other.input_tokens,
        output_tokens: one.output_tokens + other.output_tokens,
        cost: one.cost.plus(other.cost),
        uncertain: one.uncertain.plus(other.uncertain),
    }
}

fn check_attempts(record: &JobRecord, attempts: &[AttemptRecord]) {
    let open = attempts.iter().filter(|attempt| attempt.outcome.is_none()).count();
    let running = record.job.state == State::Running;
    assert_eq!(open, usize::from(running), "{} has an open attempt as long as it runs", record.id);
    let total = attempts.iter().map(billed).fold(JobUsage::default(), |sum, used| plus(sum, &used));
    assert_eq!(record.usage, total, "{} has used what its attempts used", record.id);
    let rising = attempts.windows(2).all(|pair| pair[0].fence < pair[1].fence);
    assert!(rising, "no two attempts of {} share a fence (I11)", record.id);
    assert_eq!(running, record.job.lease_until.is_some(), "only a running job has a lease");
    assert!(record.finished_at.unwrap_or(Timestamp::from_millis(0)) <= record.updated_at);
}

/// The version that an event speaks of.
pub fn version_in(body: &[u8]) -> u64 {
    let envelope: serde_json::Value = serde_json::from_slice(body).expect("an event is JSON");
    envelope["data"]["state_version"].as_u64().expect("an event has a version")
}
