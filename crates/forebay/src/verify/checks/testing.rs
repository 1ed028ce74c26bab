//! A small store in which everything holds, with the logs that go with it; tests break one thing at a time.

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::verify::logs::{Call, Submit, Told};
use crate::verify::records::{
    Attempt, Audit, Batch, Budget, Calls, Event, Grant, Id, IdempotencyKey, Input, Job, JobResult, Letter,
    Member, Records, Review, Revision, Step, Tenant, UsageDay,
};
use crate::verify::report::{Findings, Invariant};
use crate::verify::world::{Outside, World};

/// What each job is asked for.
pub(super) const PROMPT: &str = "a question of more than a few words";

/// The store, the logs, and its jobs by what became of them.
pub(in crate::verify) struct Case {
    pub(in crate::verify) store: Records,
    pub(in crate::verify) outside: Outside,
    /// Failed once, then succeeded.
    pub(super) done: Id,
    /// Its worker was lost; a retry is scheduled.
    pub(super) lost: Id,
    /// Its call is under way.
    pub(super) runs: Id,
    /// Not claimed yet.
    pub(in crate::verify) waits: Id,
    /// Cancelled before it was claimed.
    pub(super) cancelled: Id,
    /// Failed, and done again.
    pub(super) failed: Id,
    /// Does its work again.
    pub(super) again: Id,
    /// An extraction that passed.
    pub(super) extracted: Id,
    /// An extraction that a person approved.
    pub(super) approved: Id,
    now: i64,
}

/// The case.
pub(in crate::verify) fn case() -> Case {
    let id = |nth: u8| Id([nth; 16]);
    let mut case = Case {
        store: Records::default(),
        outside: Outside {
            calls: Some(Vec::new()),
            told: Some(Vec::new()),
            grace: 1_000,
            ..Outside::default()
        },
        done: id(1),
        lost: id(2),
        runs: id(3),
        waits: id(4),
        cancelled: id(5),
        failed: id(8),
        again: id(10),
        extracted: id(6),
        approved: id(7),
        now: 1_000_000,
    };
    case.store.incarnation = 7;
    case.store.revisions.push(Revision { number: 1, source: String::new() });
    case.audit("key.create", "key_1");
    case.play();
    case.count();
    case
}

impl Case {
    /// What a check finds after a change.
    pub(super) fn broken_by(
        mut self,
        change: impl FnOnce(&mut Case),
        check: fn(&World<'_>, &mut Findings),
    ) -> Vec<(Invariant, String)> {
        change(&mut self);
        let mut findings = Findings::default();
        check(&World::new(&self.store, &self.outside), &mut findings);
        findings.problems().into_iter().map(|(at, problem)| (at, problem.to_owned())).collect()
    }

    fn play(&mut self) {
        for (job, kind) in [
            (self.done, "llm"),
            (self.lost, "llm"),
            (self.runs, "llm"),
            (self.waits, "llm"),
            (self.cancelled, "llm"),
            (self.extracted, "extract"),
            (self.approved, "extract"),
            (self.failed, "llm"),
            (self.again, "llm"),
        ] {
            self.accept(job, kind);
        }
        self.claim(self.done);
        self.settle(self.done, "failed_after_send", Some("provider_error"), None);
        self.turn(self.done, "retry_scheduled", "RETRY_SCHEDULED", Some("provider_error"));
        self.claim(self.done);
        self.claim(self.runs);
        self.settle(self.done, "succeeded", None, Some((10, 5)));
        self.succeed(self.done, r#"{"kind":"chat","text":"x","finish_reason":"stop"}"#, r#"{"text":"x"}"#);
        self.claim(self.lost);
        self.settle(self.lost, "unknown", Some("worker_lost"), None);
        self.job_mut(self.lost).fence += 1;
        self.turn(self.lost, "retry_scheduled", "RETRY_SCHEDULED", Some("worker_lost"));
        self.turn(self.cancelled, "cancelled", "CANCELLED", Some("cancelled"));
        self.job_mut(self.cancelled).fence += 1;
        let subject = self.cancelled.named("job");
        self.audit("job.cancel", &subject);
        self.claim(self.extracted);
        self.settle(self.extracted, "succeeded", None, Some((20, 5)));
        let evaluation = r#"{"kind":"extraction","evaluation":{"output":{"total":"1.00"},"findings":[],
            "evidence":[{"field":"/total","quote":"a q","span":{"start":0,"end":3}}]}}"#;
        self.succeed(self.extracted, evaluation, r#"{"total":"1.00"}"#);
        self.review();
        self.fail();
        self.batch();
    }

    /// Two of the jobs were handed over in one call, and a third was refused.
    fn batch(&mut self) {
        let batch = Id([11; 16]);
        let at = self.now;
        self.store.batches.push(Batch {
            id: batch,
            tenant: 1,
            kind: "jobs".to_owned(),
            size: 3,
            open: 0,
            filled_at: Some(at),
            finished_at: Some(at),
        });
        for (position, job) in [(0, Some(self.done)), (1, Some(self.extracted)), (2, None)] {
            self.store.members.push(Member { batch, position, job, replay_of: None });
        }
        let seq = self.seq();
        let body = json!({
            "id": format!("evt_{:08x}{seq:016x}", self.store.incarnation),
            "type": "dev.forebay.batch.completed.v1",
            "subject": batch.named("batch"),
            "data": {"counts": {"SUCCEEDED": 2}, "refused": 1},
        });
        let kind = "batch.completed".to_owned();
        let body = body.to_string().into_bytes();
        self.store.events.push(Event { seq, tenant: 1, job: batch, kind, at, body, ..Event::default() });
    }

    fn fail(&mut self) {
        let job = self.failed;
        self.claim(job);
        self.settle(job, "failed_after_send", Some("auth"), None);
        self.turn(job, "failed", "FAILED_TERMINAL", Some("auth"));
        let (seq, at) = (self.seq() - 1, self.now);
        let (class, state) = ("auth".to_owned(), "replayed".to_owned());
        self.store.letters.push(Letter { job, tenant: 1, seq, class, failed_at: at, state });
        let body = self.input(job).body.clone();
        let again = self.input_mut(self.again);
        (again.replay_of, again.body) = (Some(job), body);
        let version = self.job_mut(job).state_version;
        self.append(Event {
            tenant: 1,
            job,
            kind: "replayed".to_owned(),
            state_version: version,
            at,
            ..Event::default()
        });
        let subject = job.named("job");
        self.audit("job.replay", &subject);
    }

    fn review(&mut self) {
        let job = self.approved;
        self.claim(job);
        self.settle(job, "succeeded", Some("policy_failed"), Some((20, 5)));
        self.turn(job, "review_required", "REVIEW_REQUIRED", Some("policy_failed"));
        let opened_at = self.now;
        let finding = r#"{"kind":"extraction","evaluation":{"output":{"total":"1.00"},"findings":[{}]}}"#;
        self.succeed(job, finding, r#"{"total":"1.00"}"#);
        let (version, seq) = (self.job_mut(job).state_version - 1, self.seq() - 1);
        self.store.reviews.push(Review {
            job,
            generation: 1,
            opened_at,
            due_at: opened_at + 1_000,
            due_default: "none".to_owned(),
            alerted_at: None,
            output: Some(br#"{"total":"1.00"}"#.to_vec()),
            has_output: true,
            decided_at: Some(self.now),
            decision: Some("approve".to_owned()),
            decided_by: Some(Id([9; 16])),
            decided_version: Some(version),
            decided_seq: Some(seq),
        });
        let subject = job.named("job");
        self.audit("review.approve", &subject);
    }

    fn accept(&mut self, id: Id, kind: &str) {
        self.now += 10;
        let key = format!("key-{}", id.0[0]);
        let member = if kind == "llm" { "prompt" } else { "text" };
        let body = format!("{{\"input\":{{\"{member}\":\"{PROMPT} {key}\"}},\"params\":{{}}}}");
        let hashed = format!("{},\"task\":\"chat\"}}", body.strip_suffix('}').unwrap());
        let digest = Sha256::digest(&hashed).to_vec();
        let (seq, at) = (self.seq(), self.now);
        self.store.jobs.push(Job {
            id,
            seq,
            tenant: 1,
            task: "chat".to_owned(),
            kind: kind.to_owned(),
            revision: 1,
            state: "READY".to_owned(),
            state_version: 0,
            generation: 1,
            step: 1,
            available_at: at,
            deadline: at + 100_000,
            pool: "main".to_owned(),
            claimable: true,
            key_first: true,
            ..Job::default()
        });
        self.store.inputs.push(Input {
            job: id,
            body: Some(body.into_bytes()),
            request_digest: digest.clone(),
            idempotency_key: Some(key.clone()),
            created_at: at,
            ..Input::default()
        });
        self.store.keys.push(IdempotencyKey {
            tenant: 1,
            key: key.clone(),
            job: id,
            body_digest: digest,
            expires_at: at + 50_000,
            ended: None,
        });
        self.store.steps.push(Step { job: id, generation: 1, number: 1, ..Step::default() });
        self.turn(id, "accepted", "READY", None);
        self.told().push(Told::Submit(Submit {
            tenant: "default".to_owned(),
            idempotency_key: Some(key),
            body_sha256: id.to_string(),
            sent_at: "1970-01-01T00:00:00Z".to_owned(),
            status: Some(202),
            job_id: Some(id.named("job")),
            ..Submit::default()
        }));
    }

    fn claim(&mut self, id: Id) {
        self.now += 10;
        let at = self.now;
        let job = self.job_mut(id);
        (job.fence, job.attempts, job.claimable) = (job.fence + 1, job.attempts + 1, false);
        job.lease_until = Some(at + 30_000);
        let fence = job.fence;
        let number = i64::try_from(self.attempts_of(id).len()).unwrap() + 1;
        let mut name = id.0;
        name[1] = u8::try_from(number).unwrap();
        self.store.attempts.push(Attempt {
            id: Id(name),
            job: id,
            tenant: 1,
            generation: 1,
            step: 1,
            number,
            fence,
            worker: "w".to_owned(),
            build: "b".to_owned(),
            task: "chat".to_owned(),
            pool: "main".to_owned(),
            model: "small".to_owned(),
            claimed_at: at,
            reserved_input: 20,
            reserved_output: 40,
            reserved_micros: 100,
            price_input: 1_000_000,
            price_output: 2_000_000,
            ..Attempt::default()
        });
        self.store.grants.push(Grant {
            attempt: Id(name),
            job: id,
            tenant: 1,
            pool: "main".to_owned(),
            task: "chat".to_owned(),
            lane: 0,
            tokens: 60,
            lease_until: at + 30_000,
        });
        self.turn(id, "claimed", "RUNNING", None);
        let seq = self.calls().len() as u64 + 1;
        self.calls().push(Call {
            seq,
            forebay_attempt: Some(Id(name).named("att")),
            ended: "running".to_owned(),
            #[allow(clippy::cast_precision_loss, reason = "a small number")]
            started_at_ms: at as f64,
            ..Call::default()
        });
    }

    /// Settles the open attempt in the transaction that comes next.
    fn settle(&mut self, id: Id, outcome: &str, class: Option<&str>, used: Option<(i64, i64)>) {
        self.now += 10;
        let at = self.now;
        let attempt = self.store.attempts.iter_mut().rev().find(|attempt| attempt.job == id).unwrap();
        attempt.settled_at = Some(at);
        attempt.outcome = Some(outcome.to_owned());
        attempt.failure_class = class.map(str::to_owned);
        attempt.message = class.map(|class| match class {
            "worker_lost" => "the worker was not heard of until its lease lapsed".to_owned(),
            other => other.to_owned(),
        });
        (attempt.input_tokens, attempt.output_tokens) = (used.map(|used| used.0), used.map(|used| used.1));
        let cost = used.map_or(0, |(input, output)| input + 2 * output);
        let uncertain = if outcome == "unknown" { 100 } else { 0 };
        (attempt.cost_micros, attempt.uncertain_micros, attempt.overage_micros) =
            (Some(cost), Some(uncertain), Some(0));
        let name = attempt.id;
        self.store.grants.retain(|grant| grant.attempt != name);
        let job = self.job_mut(id);
        job.lease_until = None;
        job.cost_micros += cost;
        job.uncertain_micros += uncertain;
        let (input, output) = used.unwrap_or_default();
        (job.input_tokens, job.output_tokens) = (job.input_tokens + input, job.output_tokens + output);
        let named = name.named("att");
        let call =
            self.calls().iter_mut().find(|call| call.forebay_attempt.as_ref() == Some(&named)).unwrap();
        call.ended = if outcome == "unknown" { "cut" } else { "complete" }.to_owned();
        call.status = Some(if outcome == "failed_after_send" { 500 } else { 200 });
        (call.input_tokens, call.output_tokens) = (input, output);
    }

    fn succeed(&mut self, id: Id, entry: &str, output: &str) {
        let decided = self.job_mut(id).state == "REVIEW_REQUIRED";
        self.now += if decided { 10 } else { 0 };
        let at = self.now;
        let step = self.step_mut(id);
        (step.finished_at, step.entry, step.has_entry) = (Some(at), Some(entry.as_bytes().to_vec()), true);
        let attempt = self.attempts_of(id).last().unwrap().id.named("att");
        let mut provenance =
            json!({"revision": 1, "attempt_id": attempt, "policy": "p", "schema_sha256": "s"});
        if decided {
            provenance["review"] = json!({"decision": "approve", "decided_by": Id([9; 16]).named("key")});
        }
        self.store.results.push(JobResult {
            job: id,
            generation: 1,
            output: Some(output.as_bytes().to_vec()),
            provenance: provenance.to_string().into_bytes(),
            created_at: at,
        });
        self.turn(id, "succeeded", "SUCCEEDED", None);
    }

    /// A change of a job and its event.
    fn turn(&mut self, id: Id, kind: &str, state: &str, class: Option<&str>) {
        let at = self.now;
        let job = self.job_mut(id);
        job.state = state.to_owned();
        job.state_version += 1;
        job.updated_at = at;
        (job.failure_class, job.failure_message) = (class.map(str::to_owned), class.map(str::to_owned));
        job.claimable = matches!(state, "READY" | "RETRY_SCHEDULED");
        if matches!(state, "SUCCEEDED" | "CANCELLED" | "FAILED_TERMINAL") {
            job.finished_at = Some(at);
        }
        let event = Event {
            tenant: 1,
            job: id,
            kind: kind.to_owned(),
            state_version: job.state_version,
            at,
            ..Event::default()
        };
        self.append(event);
    }

    /// Appends an event, with a number and a body of its own.
    pub(super) fn append(&mut self, mut event: Event) {
        event.seq = self.seq();
        let state = super::owner::state_after(&event.kind);
        event.body = json!({
            "id": format!("evt_{:08x}{:016x}", self.store.incarnation, event.seq),
            "type": format!("dev.forebay.job.{}.v1", event.kind),
            "subject": event.job.named("job"),
            "data": {"state": state, "state_version": event.state_version},
        })
        .to_string()
        .into_bytes();
        self.store.events.push(event);
    }

    fn audit(&mut self, action: &str, subject: &str) {
        let seq = i64::try_from(self.store.audit.len()).unwrap() + 1;
        let (action, subject) = (action.to_owned(), subject.to_owned());
        self.store.audit.push(Audit { seq, at: self.now, action, subject, ..Audit::default() });
    }

    fn seq(&self) -> i64 {
        self.store.events.last().map_or(1, |event| event.seq + 1)
    }

    /// The counters, as the rows are.
    fn count(&mut self) {
        let pending =
            i64::try_from(self.store.jobs.iter().filter(|job| job.finished_at.is_none()).count()).unwrap();
        let in_flight = i64::try_from(self.store.grants.len()).unwrap();
        let budget_period = "total".to_owned();
        let name = "default".to_owned();
        let tenant =
            Tenant { id: 1, name, pending_jobs: pending, in_flight, budget_period, ..Tenant::default() };
        self.store.tenants = vec![Tenant { pending_jobs: pending, ..Tenant::default() }, tenant];
        let tokens = self.store.grants.iter().map(|grant| grant.tokens).sum();
        let calls = |kind: &str, name: &str, in_flight: i64| Calls {
            kind: kind.to_owned(),
            name: name.to_owned(),
            in_flight,
        };
        self.store.calls = vec![
            calls("pool", "main", in_flight),
            calls("task", "chat", in_flight),
            calls("tokens", "main", tokens),
        ];
        let attempts = &self.store.attempts;
        let sum = |of: fn(&Attempt) -> Option<i64>| attempts.iter().filter_map(of).sum::<i64>();
        let (spent, uncertain) = (sum(|a| a.cost_micros), sum(|a| a.uncertain_micros));
        let reserved = attempts.iter().filter(|a| a.settled_at.is_none()).map(|a| a.reserved_micros).sum();
        self.store.budgets =
            vec![Budget { tenant: 1, period_start: 0, reserved, spent, uncertain, overage: 0 }];
        let settled = i64::try_from(attempts.iter().filter(|a| a.settled_at.is_some()).count()).unwrap();
        self.store.usage_days = vec![UsageDay {
            tenant: 1,
            day: 0,
            task: "chat".to_owned(),
            model: "small".to_owned(),
            pool: "main".to_owned(),
            attempts: settled,
            input_tokens: sum(|a| a.input_tokens),
            output_tokens: sum(|a| a.output_tokens),
            cost_micros: spent,
            uncertain_micros: uncertain,
        }];
    }
}

/// The parts of the case, for tests that change them.
impl Case {
    pub(super) fn job_mut(&mut self, id: Id) -> &mut Job {
        self.store.jobs.iter_mut().find(|job| job.id == id).unwrap()
    }

    pub(super) fn input(&self, id: Id) -> &Input {
        self.store.inputs.iter().find(|input| input.job == id).unwrap()
    }

    pub(super) fn input_mut(&mut self, id: Id) -> &mut Input {
        self.store.inputs.iter_mut().find(|input| input.job == id).unwrap()
    }

    pub(super) fn step_mut(&mut self, id: Id) -> &mut Step {
        self.store.steps.iter_mut().find(|step| step.job == id).unwrap()
    }

    pub(super) fn review_mut(&mut self, id: Id) -> &mut Review {
        self.store.reviews.iter_mut().find(|review| review.job == id).unwrap()
    }

    pub(super) fn attempts_of(&self, id: Id) -> Vec<&Attempt> {
        self.store.attempts.iter().filter(|attempt| attempt.job == id).collect()
    }

    pub(super) fn attempt_mut(&mut self, id: Id, nth: usize) -> &mut Attempt {
        self.store.attempts.iter_mut().filter(|attempt| attempt.job == id).nth(nth).unwrap()
    }

    pub(super) fn events_of(&self, id: Id) -> Vec<&Event> {
        self.store.events.iter().filter(|event| event.job == id).collect()
    }

    pub(super) fn tenant_mut(&mut self, id: i64) -> &mut Tenant {
        self.store.tenants.iter_mut().find(|tenant| tenant.id == id).unwrap()
    }

    pub(super) fn calls(&mut self) -> &mut Vec<Call> {
        self.outside.calls.as_mut().unwrap()
    }

    pub(super) fn told(&mut self) -> &mut Vec<Told> {
        self.outside.told.as_mut().unwrap()
    }

    pub(super) fn submit_mut(&mut self, nth: usize) -> &mut Submit {
        match &mut self.told()[nth] {
            Told::Submit(submit) => submit,
            Told::Event(_) => panic!("not a submit"),
        }
    }
}

/// That a check found it: a problem of this invariant with these words.
pub(super) fn is_found(found: &[(Invariant, String)], invariant: Invariant, words: &str) {
    assert!(
        found.iter().any(|(at, problem)| *at == invariant && problem.contains(words)),
        "{words}: {found:?}"
    );
}
