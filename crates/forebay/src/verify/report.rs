//! What came of a verification: for each invariant how much was looked at, and what contradicts it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::records::Id;

/// An invariant that is judged. The numbers are those that the whole project uses; [`Invariant::sentence`] says what
/// each means here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[allow(missing_docs, reason = "each has its sentence")]
pub enum Invariant {
    I1,
    I2,
    I3,
    I5,
    I9,
    I10,
    I11,
    I12,
    I13,
    I14,
    I15,
    I16,
    I18,
    I20,
    I21,
    I24,
    I28,
    I29,
    I30,
    I31,
    I32,
}

use Invariant as I;

impl Invariant {
    /// Every invariant that is judged, in order.
    pub const ALL: [Invariant; 21] = [
        I::I1,
        I::I2,
        I::I3,
        I::I5,
        I::I9,
        I::I10,
        I::I11,
        I::I12,
        I::I13,
        I::I14,
        I::I15,
        I::I16,
        I::I18,
        I::I20,
        I::I21,
        I::I24,
        I::I28,
        I::I29,
        I::I30,
        I::I31,
        I::I32,
    ];

    /// What must hold, in one sentence. `docs/verify.md` has the same.
    pub const fn sentence(self) -> &'static str {
        match self {
            I::I1 => "a job, its accepted event and what it takes to run it are there together",
            I::I2 => "one idempotency key stands for one job, and what was accepted is there",
            I::I3 => "the request's hash tells requests apart, and what is stored is what was hashed",
            I::I5 => "a call lies between the transactions of its claim and its settlement",
            I::I9 => "no event leads a job back, or anywhere that the lifecycle does not",
            I::I10 => "what is due can be found without being told of",
            I::I11 => "each claim raises attempt and fence, and one fence at most completes a step",
            I::I12 => {
                "an attempt is settled once, with its job's change, by its owner or whoever took the job"
            }
            I::I13 => "what has ended never changes",
            I::I14 => {
                "each call has its attempt, written before it; attempts are counted and stay within their maximum"
            }
            I::I15 => "a lost job is taken with a higher fence, in time",
            I::I16 => "no try starts before the provider's hint is over, or is planned beyond the deadline",
            I::I18 => {
                "the books are the sum of the attempts, within the budget, and equal to the provider's bill"
            }
            I::I20 => {
                "limits hold at acceptance, refusals say when to come back, and nothing disappears after it"
            }
            I::I21 => "success is by a passed evaluation or a person's decision",
            I::I24 => "result, provenance and the event of success are there together",
            I::I28 => "versions have no gaps, nor has a log with one writer, and no stream skips an event",
            I::I29 => "nothing waits for machines beyond its deadline",
            I::I30 => "counters are what the rows say",
            I::I31 => "no prompt, document or key stands where others read",
            I::I32 => "every job can be explained from what is stored",
        }
    }
}

/// Something that contradicts an invariant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which one.
    pub invariant: Invariant,
    /// What is not as it should be.
    pub problem: String,
    /// The job that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// The attempt that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt_id: Option<String>,
    /// The rows and lines that contradict each other.
    pub rows: Vec<String>,
}

/// How an invariant came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing contradicts it.
    Holds,
    /// Something does.
    Violated,
    /// There was nothing to look at.
    NothingSeen,
}

/// One line of the report.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    /// The invariant.
    pub invariant: Invariant,
    /// How it came out.
    pub verdict: Verdict,
    /// Rows, lines or pairs that were looked at.
    pub looked_at: u64,
    /// How often it is contradicted.
    pub violations: u64,
    /// What must hold.
    pub sentence: &'static str,
}

/// Figures of the whole.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Figures {
    /// Jobs in the store.
    pub jobs: u64,
    /// Attempts in the store.
    pub attempts: u64,
    /// Events in the store.
    pub events: u64,
    /// Jobs that were taken from a lost worker.
    pub rescues: u64,
    /// Attempts of which nobody knows whether they were billed.
    pub unknown: u64,
    /// Calls in the provider's log; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    /// Calls that no attempt explains, or that were made twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unexplained_calls: Option<u64>,
    /// What the ledger has as spent, less what the provider's log bills for the same calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub money_difference_micros: Option<i64>,
    /// Submits that a client was promised; absent without its log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promised: Option<u64>,
    /// Of those, jobs that are not in the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
}

/// What came of it all.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Whether nothing contradicts any invariant.
    pub holds: bool,
    /// Figures of the whole.
    pub figures: Figures,
    /// The invariants in order.
    pub invariants: Vec<Line>,
    /// Everything that contradicts one.
    pub violations: Vec<Violation>,
}

/// What the checks find.
#[derive(Debug, Default)]
pub struct Findings {
    looked: BTreeMap<Invariant, u64>,
    violations: Vec<Violation>,
    /// Figures that checks come by.
    pub figures: Figures,
}

/// Whom a finding is about.
#[derive(Debug, Clone, Copy, Default)]
pub struct About {
    job: Option<Id>,
    attempt: Option<Id>,
}

impl About {
    /// Nobody in particular.
    pub const STORE: About = About { job: None, attempt: None };

    /// A job.
    pub fn job(job: Id) -> Self {
        Self { job: Some(job), attempt: None }
    }

    /// An attempt of a job.
    pub fn attempt(job: Id, attempt: Id) -> Self {
        Self { job: Some(job), attempt: Some(attempt) }
    }
}

impl Findings {
    /// So much was looked at.
    pub fn looked(&mut self, at: Invariant, count: usize) {
        *self.looked.entry(at).or_default() += count as u64;
    }

    /// Looks at one thing: `rows` say what contradicts the invariant where `holds` is false.
    pub fn check(
        &mut self,
        at: Invariant,
        about: About,
        holds: bool,
        problem: &str,
        rows: impl FnOnce() -> Vec<String>,
    ) {
        self.looked(at, 1);
        if !holds {
            self.violated(at, about, problem, rows());
        }
    }

    /// Something contradicts an invariant.
    pub fn violated(&mut self, invariant: Invariant, about: About, problem: &str, rows: Vec<String>) {
        self.violations.push(Violation {
            invariant,
            problem: problem.to_owned(),
            job_id: about.job.map(|id| id.named("job")),
            attempt_id: about.attempt.map(|id| id.named("att")),
            rows,
        });
    }

    /// The report.
    pub fn report(mut self) -> Report {
        self.violations.sort_by_key(|violation| violation.invariant);
        let count =
            |invariant| self.violations.iter().filter(|found| found.invariant == invariant).count() as u64;
        let invariants: Vec<_> = Invariant::ALL
            .into_iter()
            .map(|invariant| {
                let (looked_at, violations) =
                    (self.looked.get(&invariant).copied().unwrap_or_default(), count(invariant));
                let verdict = match (looked_at, violations) {
                    (_, 1..) => Verdict::Violated,
                    (0, 0) => Verdict::NothingSeen,
                    _ => Verdict::Holds,
                };
                Line { invariant, verdict, looked_at, violations, sentence: invariant.sentence() }
            })
            .collect();
        Report {
            holds: self.violations.is_empty(),
            figures: self.figures,
            invariants,
            violations: self.violations,
        }
    }
}

#[cfg(test)]
impl Findings {
    /// The invariants that are contradicted, each with its first problem.
    pub fn problems(&self) -> Vec<(Invariant, &str)> {
        self.violations.iter().map(|found| (found.invariant, found.problem.as_str())).collect()
    }
}
