//! The records, found by what they belong to.

use std::collections::HashMap;

use super::logs::{Call, Shown, Submit, Told};
use super::records::{
    Attempt, Batch, Event, Id, Input, Job, JobResult, Member, Records, Review, Step, Tenant,
};

/// What is judged, besides what the store says.
#[derive(Debug, Clone, Default)]
pub struct Outside {
    /// The provider's log.
    pub calls: Option<Vec<Call>>,
    /// A client's log.
    pub told: Option<Vec<Told>>,
    /// The service's own logs: texts in which no secret may stand.
    pub server_logs: Vec<(String, String)>,
    /// Whether the machines must have nothing left to do.
    pub drained: bool,
    /// How long maintenance may take, in milliseconds.
    pub grace: i64,
    /// Whether a clock was set, so that times of two transactions, or of store and logs, say nothing.
    pub clock_moved: bool,
}

/// The records and the logs, with indexes.
pub struct World<'r> {
    /// What the store says.
    pub store: &'r Records,
    /// What was seen from outside.
    pub outside: &'r Outside,
    /// When the store last changed, in milliseconds: nothing that is said of a later time counts.
    pub now: i64,
    jobs: HashMap<Id, &'r Job>,
    batches: HashMap<Id, &'r Batch>,
    members: HashMap<Id, Vec<&'r Member>>,
    inputs: HashMap<Id, &'r Input>,
    steps: HashMap<Id, Vec<&'r Step>>,
    attempts: HashMap<Id, Vec<&'r Attempt>>,
    events: HashMap<Id, Vec<&'r Event>>,
    results: HashMap<Id, Vec<&'r JobResult>>,
    reviews: HashMap<Id, Vec<&'r Review>>,
}

impl<'r> World<'r> {
    /// Finds what belongs together.
    pub fn new(store: &'r Records, outside: &'r Outside) -> Self {
        Self {
            store,
            outside,
            now: store.events.iter().map(|event| event.at).max().unwrap_or_default(),
            batches: store.batches.iter().map(|batch| (batch.id, batch)).collect(),
            members: of_job(&store.members, |member| member.batch),
            jobs: store.jobs.iter().map(|job| (job.id, job)).collect(),
            inputs: store.inputs.iter().map(|input| (input.job, input)).collect(),
            steps: of_job(&store.steps, |step| step.job),
            attempts: of_job(&store.attempts, |attempt| attempt.job),
            events: of_job(&store.events, |event| event.job),
            results: of_job(&store.results, |result| result.job),
            reviews: of_job(&store.reviews, |review| review.job),
        }
    }

    /// A job by its id.
    pub fn job(&self, id: Id) -> Option<&'r Job> {
        self.jobs.get(&id).copied()
    }

    /// A batch by its id.
    pub fn batch(&self, id: Id) -> Option<&'r Batch> {
        self.batches.get(&id).copied()
    }

    /// The members of a batch, in the order of its call.
    pub fn members(&self, batch: Id) -> &[&'r Member] {
        self.members.get(&batch).map_or(&[], Vec::as_slice)
    }

    /// What a job was asked for.
    pub fn input(&self, job: Id) -> Option<&'r Input> {
        self.inputs.get(&job).copied()
    }

    /// A job's steps, oldest first.
    pub fn steps(&self, job: Id) -> &[&'r Step] {
        self.steps.get(&job).map_or(&[], Vec::as_slice)
    }

    /// A job's attempts, in the order of their fences.
    pub fn attempts(&self, job: Id) -> &[&'r Attempt] {
        self.attempts.get(&job).map_or(&[], Vec::as_slice)
    }

    /// A job's events, in the order of the log.
    pub fn events(&self, job: Id) -> &[&'r Event] {
        self.events.get(&job).map_or(&[], Vec::as_slice)
    }

    /// A job's events without those that only say that another job does its work again.
    pub fn changes(&self, job: Id) -> Vec<&'r Event> {
        self.events(job).iter().copied().filter(|event| event.kind != "replayed").collect()
    }

    /// A job's results, one a generation.
    pub fn results(&self, job: Id) -> &[&'r JobResult] {
        self.results.get(&job).map_or(&[], Vec::as_slice)
    }

    /// A job's reviews, one a generation.
    pub fn reviews(&self, job: Id) -> &[&'r Review] {
        self.reviews.get(&job).map_or(&[], Vec::as_slice)
    }

    /// Tenants, without the counter of all together.
    pub fn tenants(&self) -> impl Iterator<Item = &'r Tenant> {
        self.store.tenants.iter().filter(|tenant| tenant.id != 0)
    }

    /// A tenant's number by its name.
    pub fn tenant_named(&self, name: &str) -> Option<i64> {
        self.tenants().find(|tenant| tenant.name == name).map(|tenant| tenant.id)
    }

    /// What clients submitted.
    pub fn submits(&self) -> impl Iterator<Item = &'r Submit> {
        let told = self.outside.told.iter().flatten();
        told.filter_map(|told| if let Told::Submit(submit) = told { Some(submit) } else { None })
    }

    /// What streams showed.
    pub fn shown(&self) -> impl Iterator<Item = &'r Shown> {
        let told = self.outside.told.iter().flatten();
        told.filter_map(|told| if let Told::Event(shown) = told { Some(shown) } else { None })
    }

    /// The claims of a job with the attempts that they made, in order, and the event that came next.
    pub fn claims(&self, job: Id) -> Vec<Claim<'r>> {
        let events = self.events(job);
        let claims = events.iter().enumerate().filter(|(_, event)| event.kind == "claimed");
        claims
            .zip(self.attempts(job))
            .map(|((nth, claimed), attempt)| Claim { claimed, attempt, next: events.get(nth + 1).copied() })
            .collect()
    }
}

/// A claim as the log and the attempts have it.
pub struct Claim<'r> {
    /// The event.
    pub claimed: &'r Event,
    /// The attempt.
    pub attempt: &'r Attempt,
    /// What happened to the job next.
    pub next: Option<&'r Event>,
}

fn of_job<T>(rows: &[T], job: impl Fn(&T) -> Id) -> HashMap<Id, Vec<&T>> {
    let mut found: HashMap<Id, Vec<&T>> = HashMap::new();
    for row in rows {
        found.entry(job(row)).or_default().push(row);
    }
    found
}

/// Whether a state is the last.
pub fn is_terminal(state: &str) -> bool {
    matches!(state, "SUCCEEDED" | "FAILED_TERMINAL" | "CANCELLED")
}

/// Whether a state waits for machines.
pub fn waits_for_machines(state: &str) -> bool {
    matches!(state, "READY" | "RUNNING" | "WAITING" | "RETRY_SCHEDULED")
}
