//! What limits allow, and what a load needs: capacity by dimension, the one that binds, workers, and how long a backlog
//! takes.
//!
//! Capacities, comparisons and numbers of workers are exact; times are estimates of the mean. It takes plain numbers,
//! whoever knows them: a person who plans, or what was measured.

use super::course::{Course, DAY, Outlook};
use super::ratio::Ratio;
use crate::time::Millis;
use crate::window::{Dimension, Span};

/// The most that numerator and denominator of a [`Ratio`] in a load may be.
pub const MOST_PARTS: u128 = 1_000_000_000;
/// The most tokens that an attempt may reserve, and milliseconds that it may take.
pub const MOST_OF_AN_ATTEMPT: u64 = 1_000_000_000;
/// The largest limit and the largest backlog.
pub const MOST: u64 = 1_000_000_000_000;

/// What one attempt takes: a call of a provider, whatever comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attempt {
    /// How long it takes on average.
    pub mean: Option<Millis>,
    /// How long it takes at most in 95 of 100 cases.
    pub p95: Option<Millis>,
    /// Tokens that it reserves for what is sent.
    pub input_tokens: Option<u64>,
    /// Tokens that it reserves for the answer.
    pub output_tokens: Option<u64>,
    /// Tokens that it reserves in all; where absent, those of input and output.
    pub total_tokens: Option<u64>,
}

impl Attempt {
    /// Tokens in all.
    pub fn tokens(&self) -> Option<u64> {
        self.total_tokens.or_else(|| Some(self.input_tokens?.saturating_add(self.output_tokens?)))
    }
}

/// What there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Jobs that arrive in a second. Default 0.
    pub arrivals: Ratio,
    /// Jobs that wait at the start. Default 0.
    pub backlog: u64,
    /// Attempts that a job takes on average, 1 or more. Default 1.
    pub attempts_per_job: Ratio,
    /// What one of them takes.
    pub attempt: Attempt,
    /// Until when a job of the backlog must be done, from the start.
    pub deadline: Option<Millis>,
    /// The share of jobs that miss their deadline, 0 to 1, where it is known.
    pub late_share: Option<Ratio>,
}

impl Default for Load {
    fn default() -> Self {
        Self {
            arrivals: Ratio::ZERO,
            backlog: 0,
            attempts_per_job: Ratio::ONE,
            attempt: Attempt::default(),
            deadline: None,
            late_share: None,
        }
    }
}

/// How much room workers are to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The share of their time that workers are to be busy, above 0 and at most 1. Default 0.7.
    pub utilization: Ratio,
    /// The other rule: how many times the workers that are busy on average, 1 or more. Default 1.5.
    pub headroom: Ratio,
}

impl Default for Room {
    fn default() -> Self {
        let decimal = |tenths| Ratio::new(tenths, 10).unwrap_or(Ratio::ONE);
        Self { utilization: decimal(7), headroom: decimal(15) }
    }
}

/// What it takes of a limit.
impl Dimension {
    /// How much of the limit an attempt takes in a second of pace, in the limit's unit: `attempts/s` are the limit
    /// divided by this.
    ///
    /// | limit | by | why |
    /// |---|---|---|
    /// | in a minute or a day | what an attempt takes of it, times the seconds | a rate |
    /// | at the same time | what an attempt takes of it, times its mean seconds | Little's law, `L = rate * time` |
    fn of_an_attempt(self, attempt: &Attempt) -> Result<Ratio, Missing> {
        let tokens = |tokens: Option<u64>, what| tokens.map(Ratio::whole).ok_or(Missing::Tokens(what));
        let taken = match self {
            Dimension::RequestsPerMinute | Dimension::RequestsPerDay | Dimension::InFlight => Ratio::ONE,
            Dimension::InputTokensPerMinute => tokens(attempt.input_tokens, Tokens::Input)?,
            Dimension::OutputTokensPerMinute => tokens(attempt.output_tokens, Tokens::Output)?,
            Dimension::TokensPerMinute | Dimension::TokensPerDay | Dimension::TokensInFlight => {
                tokens(attempt.tokens(), Tokens::Total)?
            }
        };
        let seconds = match self.span() {
            Some(span) => seconds(span.length()),
            None => attempt.mean.map(seconds).ok_or(Missing::Mean)?,
        };
        Ok(taken.times(seconds))
    }
}

/// Which tokens of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokens {
    /// What is sent.
    Input,
    /// What comes back.
    Output,
    /// Both.
    Total,
}

/// What a limit can't be understood without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Tokens(Tokens),
    Mean,
}

/// What makes a plan impossible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A limit of tokens, and no word about how many of them an attempt takes.
    #[error("{} says nothing without the tokens that an attempt reserves", .0.name())]
    NoTokens(Dimension, Tokens),
    /// A limit of what happens at the same time, and no word about how long an attempt takes.
    #[error("{} says nothing without the mean time that an attempt takes", .0.name())]
    NoMean(Dimension),
    /// A limit that a single attempt is larger than: nothing would ever start.
    #[error("an attempt never fits below {} = {limit}", .dimension.name())]
    NeverFits {
        /// Which limit.
        dimension: Dimension,
        /// How much it is.
        limit: u64,
    },
    /// A number that can't be meant, or that is larger than this calculates with.
    #[error("{what} must be {range}")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// What it may be.
        range: &'static str,
    },
}

/// What one limit allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Which limit.
    pub dimension: Dimension,
    /// How much it is, in its own unit.
    pub limit: u64,
    /// Attempts in a second.
    pub attempts_per_second: Ratio,
    /// Jobs in a second: attempts by attempts per job.
    pub jobs_per_second: Ratio,
}

/// Calls at the same time while as much leaves as arrives: Little's law, `attempts/s * seconds`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight {
    /// On average.
    pub mean: Ratio,
    /// If all attempts took as long as the slowest in 20, where that is known.
    pub at_p95: Option<Ratio>,
}

/// Workers, each of which holds one call at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workers {
    /// For what arrives, busy for the share of their time that was asked for: `ceil(in flight / utilization)`.
    pub by_utilization: u64,
    /// For what arrives, by the other rule: `ceil(in flight * headroom)`.
    pub by_headroom: u64,
    /// More than these the limits never keep busy: `ceil(capacity * mean time)`, of a day that has not used its own up.
    pub of_use: Option<u64>,
}

/// Jobs that miss their deadline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Late {
    /// Of the backlog, by the share that is known: `backlog * share`.
    pub of_backlog: Option<Ratio>,
    /// Of the jobs that arrive in an hour, by that share.
    pub an_hour: Option<Ratio>,
    /// Of the backlog, by the time at which the deadline passes while it is worked off in order.
    pub by_deadline: Option<f64>,
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What each limit allows, the least first.
    pub capacities: Vec<Capacity>,
    /// Calls at the same time by what arrives; `None` without a mean time.
    pub in_flight: Option<InFlight>,
    /// Workers; `None` without a mean time.
    pub workers: Option<Workers>,
    /// The backlog over time, while jobs arrive.
    pub course: Course,
    /// Jobs that are late.
    pub late: Late,
}

impl Plan {
    /// The limit that binds: the one that allows the least over many days; `None` without any limit.
    pub fn binding(&self) -> Option<&Capacity> {
        self.capacities.first()
    }

    /// What becomes of the backlog while nothing arrives.
    pub fn alone(&self) -> Option<Outlook> {
        self.course.without_arrivals().outlook()
    }

    /// What becomes of it while jobs arrive.
    pub fn with_arrivals(&self) -> Option<Outlook> {
        self.course.outlook()
    }
}

/// Plans.
///
/// # Errors
///
/// Everything that makes it impossible.
pub fn plan(load: &Load, limits: &[(Dimension, u64)], room: &Room) -> Result<Plan, Vec<Fault>> {
    let mut faults = out_of_range(load, limits, room);
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut capacities = Vec::new();
    for (dimension, limit) in limits {
        match capacity(*dimension, *limit, load) {
            Ok(capacity) => capacities.push(capacity),
            Err(fault) => faults.push(fault),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    capacities.sort_by_key(|capacity| (capacity.attempts_per_second, capacity.dimension));
    let least = |is_daily| {
        capacities.iter().find(|capacity| (capacity.dimension.span() == Some(Span::Day)) == is_daily)
    };
    let course = Course {
        backlog: load.backlog,
        arrivals: load.arrivals,
        pace: least(false).map(|capacity| capacity.jobs_per_second),
        per_day: least(true).map(|capacity| capacity.jobs_per_second.times(Ratio::whole(DAY))),
    };
    let fastest = least(false).or(capacities.first());
    Ok(Plan {
        in_flight: in_flight(load),
        workers: in_flight(load).map(|in_flight| workers(&in_flight, load, fastest, room)),
        late: late(load, &course),
        course,
        capacities,
    })
}

/// What a limit allows: `attempts/s = limit / what an attempt takes`, `jobs/s = attempts/s / attempts per job`.
fn capacity(dimension: Dimension, limit: u64, load: &Load) -> Result<Capacity, Fault> {
    let taken = dimension.of_an_attempt(&load.attempt).map_err(|missing| match missing {
        Missing::Tokens(tokens) => Fault::NoTokens(dimension, tokens),
        Missing::Mean => Fault::NoMean(dimension),
    })?;
    let alone = match dimension {
        Dimension::InputTokensPerMinute => load.attempt.input_tokens,
        Dimension::OutputTokensPerMinute => load.attempt.output_tokens,
        Dimension::TokensPerMinute | Dimension::TokensPerDay | Dimension::TokensInFlight => {
            load.attempt.tokens()
        }
        Dimension::RequestsPerMinute | Dimension::RequestsPerDay | Dimension::InFlight => Some(1),
    };
    if alone.is_some_and(|alone| alone > limit) {
        return Err(Fault::NeverFits { dimension, limit });
    }
    let attempts_per_second = Ratio::whole(limit).over(taken).unwrap_or(Ratio::whole(MOST));
    let jobs_per_second = attempts_per_second.over(load.attempts_per_job).unwrap_or(attempts_per_second);
    Ok(Capacity { dimension, limit, attempts_per_second, jobs_per_second })
}

fn in_flight(load: &Load) -> Option<InFlight> {
    let attempts_per_second = load.arrivals.times(load.attempts_per_job);
    let during = |span: Millis| attempts_per_second.times(seconds(span));
    Some(InFlight { mean: during(load.attempt.mean?), at_p95: load.attempt.p95.map(during) })
}

fn workers(in_flight: &InFlight, load: &Load, fastest: Option<&Capacity>, room: &Room) -> Workers {
    let mean = load.attempt.mean.map_or(Ratio::ZERO, seconds);
    Workers {
        by_utilization: in_flight.mean.over(room.utilization).unwrap_or(in_flight.mean).ceil(),
        by_headroom: in_flight.mean.times(room.headroom).ceil(),
        of_use: fastest.map(|capacity| capacity.attempts_per_second.times(mean).ceil()),
    }
}

fn late(load: &Load, course: &Course) -> Late {
    let an_hour = load.arrivals.times(Ratio::whole(3_600));
    let by_deadline = load.deadline.filter(|_| course.sustained().is_some());
    Late {
        of_backlog: load.late_share.map(|share| Ratio::whole(load.backlog).times(share)),
        an_hour: load.late_share.map(|share| an_hour.times(share)),
        by_deadline: by_deadline.map(|deadline| course.left_after(seconds(deadline).to_f64())),
    }
}

fn seconds(span: Millis) -> Ratio {
    Ratio::new(u64::try_from(span.get()).unwrap_or_default(), 1_000).unwrap_or(Ratio::ZERO)
}

/// What is beyond its bounds. Within them no calculation reaches the largest number.
fn out_of_range(load: &Load, limits: &[(Dimension, u64)], room: &Room) -> Vec<Fault> {
    let fine = |ratio: Ratio, least: Ratio, most: Ratio| {
        ratio.parts() <= MOST_PARTS && (least..=most).contains(&ratio)
    };
    let any = Ratio::whole(MOST);
    let span = |span: Option<Millis>| {
        span.is_none_or(|span| (1..=MOST_OF_AN_ATTEMPT).contains(&u64::try_from(span.get()).unwrap_or(0)))
    };
    let attempt = &load.attempt;
    let tokens = [attempt.input_tokens, attempt.output_tokens, attempt.total_tokens];
    let checks = [
        (
            fine(load.arrivals, Ratio::ZERO, any),
            "the jobs that arrive in a second",
            "0 to a billion, with 9 digits at most",
        ),
        (load.backlog <= MOST, "the backlog", "0 to a trillion"),
        (
            fine(load.attempts_per_job, Ratio::ONE, any),
            "the attempts per job",
            "1 or more, with 9 digits at most",
        ),
        (
            fine(room.utilization, Ratio::new(1, 1_000).unwrap_or(Ratio::ZERO), Ratio::ONE),
            "the utilization",
            "0.1 % to 100 %",
        ),
        (fine(room.headroom, Ratio::ONE, any), "the headroom", "1 or more, with 9 digits at most"),
        (
            load.late_share.is_none_or(|share| fine(share, Ratio::ZERO, Ratio::ONE)),
            "the share that is late",
            "0 to 100 %",
        ),
        (span(attempt.mean), "the mean time of an attempt", "1 ms to 11 days"),
        (span(attempt.p95), "the time of the slowest in twenty", "1 ms to 11 days"),
        (
            tokens.iter().flatten().all(|tokens| (1..=MOST_OF_AN_ATTEMPT).contains(tokens)),
            "the tokens of an attempt",
            "1 to a billion",
        ),
        (limits.iter().all(|(_, limit)| (1..=MOST).contains(limit)), "a limit", "1 to a trillion"),
    ];
    let wrong = checks.into_iter().filter(|(is_fine, ..)| !is_fine);
    wrong.map(|(_, what, range)| Fault::OutOfRange { what, range }).collect()
}

#[cfg(test)]
mod tests;
