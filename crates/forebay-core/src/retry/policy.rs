//! When the next try is due, or why there is none.
//!
//! Full jitter (a uniformly random share of the exponential backoff) spreads the tries of many jobs that
//! failed together; it is the best of the variants measured in "Exponential Backoff And Jitter" (AWS
//! Architecture Blog, 2015). A provider's hint is a lower bound, and the jitter comes on top of it, so that
//! the jobs that were told the same time do not come back as a herd.

use serde::{Deserialize, Serialize};

use crate::failure::{FailureClass, Retry};
use crate::retry::Hint;
use crate::time::{Millis, Timestamp};

/// How failed tries are repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Counted attempts of a step, the first one included. Default 5.
    pub max_attempts: u32,
    /// How the delays grow.
    pub backoff: Backoff,
    /// Time after the step was first due beyond which no further try starts. Default: the deadline alone.
    pub max_elapsed: Option<Millis>,
    /// How often a provider's limit may put the step off. Default 50.
    pub max_deferrals: u32,
    /// Time kept free before the deadline beside the attempt itself, for committing its result. Default 5 s.
    pub commit_margin: Millis,
}

/// How the delays between tries grow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Backoff {
    /// A random share of `base` x `factor`^(n - 1), at most `cap`.
    Exponential {
        /// The largest delay after the first failure. Default 2 s.
        base: Millis,
        /// How much larger it becomes with each failure. Default 2.
        factor: u32,
        /// The largest delay of all. Default 60 s.
        cap: Millis,
    },
    /// Exactly these delays, one after each failure; then no more tries.
    Fixed(Vec<Millis>),
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff::Exponential { base: Millis::from_secs(2), factor: 2, cap: Millis::from_secs(60) }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            backoff: Backoff::default(),
            max_elapsed: None,
            max_deferrals: 50,
            commit_margin: Millis::from_secs(5),
        }
    }
}

/// The facts of a failed try.
#[derive(Debug, Clone, Copy)]
pub struct Try {
    /// Why it failed.
    pub class: FailureClass,
    /// Counted attempts of the step so far, this one included if it counts.
    pub attempts: u32,
    /// Deferrals of the step so far, this one included if it is one.
    pub deferrals: u32,
    /// When the step was first due.
    pub step_since: Timestamp,
    /// Now, by the store's clock.
    pub now: Timestamp,
    /// The job's deadline.
    pub deadline: Timestamp,
    /// The longest that another attempt can take.
    pub attempt_total: Millis,
    /// What the provider said.
    pub hint: Option<Hint>,
    /// A random number from 0 to 1, 1 excluded.
    pub random: f64,
}

/// What the policy says of a failed try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextTry {
    /// Try again at this time.
    At(Timestamp),
    /// The class is never tried again: the job fails with it.
    GiveUp,
    /// The class is a person's matter.
    Review,
    /// No attempt, or no deferral, is left.
    Exhausted,
    /// Another attempt could not finish before the deadline, or would start after `max_elapsed`.
    TooLate,
}

impl RetryPolicy {
    /// Whether and when a step is tried again after `failed`.
    pub fn next(&self, failed: &Try) -> NextTry {
        let spent = match failed.class.facts().retry {
            Retry::Never => return NextTry::GiveUp,
            Retry::Review => return NextTry::Review,
            Retry::Backoff => failed.attempts >= self.max_attempts,
            Retry::Defer => failed.deferrals > self.max_deferrals,
        };
        if spent {
            return NextTry::Exhausted;
        }
        let Some(delay) = self.delay(failed) else {
            return NextTry::Exhausted;
        };
        let at = failed.now.after(delay);
        let reserve = failed.attempt_total.plus(self.commit_margin);
        let past_elapsed = self.max_elapsed.is_some_and(|most| at > failed.step_since.after(most));
        if at.after(reserve) > failed.deadline || past_elapsed { NextTry::TooLate } else { NextTry::At(at) }
    }

    /// The delay before the next try; `None` when a fixed list of delays is used up.
    fn delay(&self, failed: &Try) -> Option<Millis> {
        let hint = failed.hint.map_or(Millis::ZERO, |hint| hint.wait);
        match (&self.backoff, failed.class.facts().retry) {
            (Backoff::Fixed(delays), Retry::Backoff) => {
                let nth = usize::try_from(failed.attempts.saturating_sub(1)).ok()?;
                delays.get(nth).map(|delay| (*delay).max(hint))
            }
            // A deferral is not a failure of the task: it backs off by the default curve.
            (Backoff::Fixed(_), _) => {
                Some(hint.plus(jitter(Backoff::default().ceiling(failed.deferrals), failed.random)))
            }
            (backoff @ Backoff::Exponential { .. }, Retry::Defer) => {
                Some(hint.plus(jitter(backoff.ceiling(failed.deferrals), failed.random)))
            }
            (backoff @ Backoff::Exponential { .. }, _) => {
                Some(hint.plus(jitter(backoff.ceiling(failed.attempts), failed.random)))
            }
        }
    }
}

impl Backoff {
    /// The largest delay after the `nth` failure, counted from 1.
    fn ceiling(&self, nth: u32) -> Millis {
        match self {
            Backoff::Exponential { base, factor, cap } => {
                let growth = i64::from(*factor).saturating_pow(nth.saturating_sub(1).min(62));
                Millis::new(base.get().saturating_mul(growth)).min(*cap)
            }
            Backoff::Fixed(delays) => delays.last().copied().unwrap_or_default(),
        }
    }
}

/// A random share of `most`.
fn jitter(most: Millis, random: f64) -> Millis {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "delays are far below 2^53 ms"
    )]
    Millis::new((most.get() as f64 * random.clamp(0.0, 1.0)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_millis(1_000_000);

    fn failed(attempts: u32) -> Try {
        Try {
            class: FailureClass::ProviderError,
            attempts,
            deferrals: 0,
            step_since: START,
            now: START,
            deadline: START.after(Millis::from_secs(3_600)),
            attempt_total: Millis::from_secs(45),
            hint: None,
            random: 1.0,
        }
    }

    /// The delays after failures 1, 2, 3, ... with the largest jitter, in seconds, until the policy stops.
    fn delays(policy: &RetryPolicy) -> (Vec<i64>, NextTry) {
        let mut seconds = Vec::new();
        for attempts in 1.. {
            match policy.next(&failed(attempts)) {
                NextTry::At(at) => seconds.push(at.since(START).get() / 1_000),
                end => return (seconds, end),
            }
        }
        unreachable!("every policy stops")
    }

    fn exponential(max_attempts: u32, base: i64, cap: i64) -> RetryPolicy {
        let backoff =
            Backoff::Exponential { base: Millis::from_secs(base), factor: 2, cap: Millis::from_secs(cap) };
        RetryPolicy { max_attempts, backoff, ..RetryPolicy::default() }
    }

    #[test]
    fn five_attempts_doubling_from_two_seconds_to_sixty() {
        assert_eq!(delays(&RetryPolicy::default()), (vec![2, 4, 8, 16], NextTry::Exhausted));
        let longer = RetryPolicy { max_attempts: 9, ..RetryPolicy::default() };
        assert_eq!(delays(&longer).0, [2, 4, 8, 16, 32, 60, 60, 60]);
    }

    #[test]
    fn a_reserve_of_one_attempt_and_the_margin_stays_before_the_deadline() {
        let policy = RetryPolicy::default();
        let at_the_edge = Try { deadline: START.after(Millis::from_secs(2 + 45 + 5)), ..failed(1) };
        assert_eq!(policy.next(&at_the_edge), NextTry::At(START.after(Millis::from_secs(2))));
        let one_less = Try { deadline: START.after(Millis::new(51_999)), ..failed(1) };
        assert_eq!(policy.next(&one_less), NextTry::TooLate);
    }

    #[test]
    fn fixed_ten_and_thirty_seconds_then_dead() {
        let backoff = Backoff::Fixed(vec![Millis::from_secs(10), Millis::from_secs(30)]);
        let policy = RetryPolicy { max_attempts: 3, backoff, ..RetryPolicy::default() };
        assert_eq!(delays(&policy), (vec![10, 30], NextTry::Exhausted));
        let more_attempts_than_delays = RetryPolicy { max_attempts: 9, ..policy };
        assert_eq!(delays(&more_attempts_than_delays), (vec![10, 30], NextTry::Exhausted));
    }

    #[test]
    fn three_tries_exponential_capped_at_three_hundred_seconds() {
        assert_eq!(delays(&exponential(3, 200, 300)), (vec![200, 300], NextTry::Exhausted));
    }

    #[test]
    fn one_second_doubling_within_sixty_seconds_elapsed() {
        let policy = RetryPolicy { max_elapsed: Some(Millis::from_secs(60)), ..exponential(99, 1, 3_600) };
        let mut now = START;
        let mut waited = Vec::new();
        for attempts in 1.. {
            match policy.next(&Try { now, ..failed(attempts) }) {
                NextTry::At(at) => {
                    waited.push(at.since(now).get() / 1_000);
                    now = at;
                }
                end => {
                    assert_eq!(end, NextTry::TooLate);
                    break;
                }
            }
        }
        assert_eq!(waited, [1, 2, 4, 8, 16], "32 more would start at 63 s");
    }

    #[test]
    fn a_hint_is_a_lower_bound_and_the_jitter_comes_on_top() {
        let hint = Some(Hint { wait: Millis::from_secs(7) });
        let soonest = Try { hint, random: 0.0, ..failed(1) };
        assert_eq!(RetryPolicy::default().next(&soonest), NextTry::At(START.after(Millis::from_secs(7))));
        let latest = Try { hint, random: 1.0, ..failed(1) };
        assert_eq!(RetryPolicy::default().next(&latest), NextTry::At(START.after(Millis::from_secs(9))));
    }

    #[test]
    fn a_hint_beyond_the_deadline_ends_the_job_instead_of_calling_early() {
        let hint = Some(Hint { wait: Millis::new(1_000_000_000_000) });
        assert_eq!(RetryPolicy::default().next(&Try { hint, ..failed(1) }), NextTry::TooLate);
    }

    #[test]
    fn deferrals_have_a_count_of_their_own() {
        let policy = RetryPolicy::default();
        let limited = Try { class: FailureClass::RateLimited, attempts: 99, deferrals: 50, ..failed(0) };
        assert!(matches!(policy.next(&limited), NextTry::At(_)), "attempts do not matter to a deferral");
        assert_eq!(policy.next(&Try { deferrals: 51, ..limited }), NextTry::Exhausted);
    }

    #[test]
    fn what_a_class_says_is_done() {
        let policy = RetryPolicy::default();
        for class in FailureClass::ALL {
            let next = policy.next(&Try { class, deferrals: 1, ..failed(1) });
            match class.facts().retry {
                Retry::Never => assert_eq!(next, NextTry::GiveUp),
                Retry::Review => assert_eq!(next, NextTry::Review),
                Retry::Backoff | Retry::Defer => assert!(matches!(next, NextTry::At(_))),
            }
        }
    }
}
