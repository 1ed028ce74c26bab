//! How a backlog changes over time, while jobs arrive and limits let others go.
//!
//! Everything is an estimate of the mean: jobs flow like water. Limits per day are taken from a full allowance at the
//! start, and anew every 24 hours from there.

use super::ratio::Ratio;

/// Seconds of a day.
pub const DAY: u64 = 86_400;

/// What flows in and out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Course {
    /// Jobs that wait at the start.
    pub backlog: u64,
    /// Jobs that arrive in a second.
    pub arrivals: Ratio,
    /// Jobs that may leave in a second by everything but limits per day; no limit where absent.
    pub pace: Option<Ratio>,
    /// Jobs that may leave in a day by limits per day; no limit where absent.
    pub per_day: Option<Ratio>,
}

/// Where it leads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outlook {
    /// The backlog is gone for the first time after so many seconds.
    Drains {
        /// From the start.
        seconds: f64,
    },
    /// There is no steady state: at least as much arrives as can leave, so that waiting times have no bound.
    Grows {
        /// By how many jobs a second the backlog grows; 0 where as many arrive as leave.
        jobs_per_second: Ratio,
    },
}

impl Course {
    /// The same backlog while nothing arrives.
    #[must_use]
    pub fn without_arrivals(self) -> Self {
        Self { arrivals: Ratio::ZERO, ..self }
    }

    /// Jobs that can leave in a second over many days: the smaller of both limits; `None` without any.
    pub fn sustained(&self) -> Option<Ratio> {
        let by_day = self.per_day.and_then(|jobs| jobs.over(Ratio::whole(DAY)));
        match (self.pace, by_day) {
            (Some(pace), Some(by_day)) => Some(pace.min(by_day)),
            (pace, by_day) => pace.or(by_day),
        }
    }

    /// When the backlog is gone, by `backlog / (leaving - arriving)`, or how fast it grows; `None` without any limit.
    pub fn outlook(&self) -> Option<Outlook> {
        let sustained = self.sustained()?;
        if self.backlog == 0 && self.arrivals.is_zero() {
            return Some(Outlook::Drains { seconds: 0.0 });
        }
        Some(match sustained.minus(self.arrivals) {
            Some(surplus) if !surplus.is_zero() => Outlook::Drains { seconds: self.drained_after() },
            _ => Outlook::Grows { jobs_per_second: self.arrivals.minus(sustained).unwrap_or(Ratio::ZERO) },
        })
    }

    /// Jobs that wait at a time, in seconds from the start; 0 from when the backlog is gone for the first time.
    pub fn backlog_at(&self, seconds: f64) -> f64 {
        if let Some(Outlook::Drains { seconds: end }) = self.outlook()
            && seconds >= end
        {
            return 0.0;
        }
        (self.backlog as f64 + self.arrivals.to_f64() * seconds - self.leave_within(seconds)).max(0.0)
    }

    /// How many jobs of the backlog are not done a time after the start; those that arrive wait behind them.
    pub fn left_after(&self, seconds: f64) -> f64 {
        (self.backlog as f64 - self.leave_within(seconds)).max(0.0)
    }

    /// Whether limits per day hold it up within a day, so that it does not run in a straight line.
    pub fn is_held_by_day(&self) -> bool {
        match (self.pace, self.per_day) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(pace), Some(per_day)) => per_day < pace.times(Ratio::whole(DAY)),
        }
    }

    /// The most that can leave from the start until a time, in seconds.
    fn leave_within(&self, seconds: f64) -> f64 {
        let run = |seconds: f64| self.pace.map_or(f64::INFINITY, |pace| pace.to_f64() * seconds);
        match self.per_day.filter(|_| self.is_held_by_day()) {
            None => run(seconds),
            Some(per_day) => {
                let (day, per_day) = (DAY as f64, per_day.to_f64());
                (seconds / day).floor() * per_day + run(seconds % day).min(per_day)
            }
        }
    }

    /// Seconds until the backlog is gone, where more can leave than arrives.
    fn drained_after(&self) -> f64 {
        let (backlog, arrivals) = (self.backlog as f64, self.arrivals.to_f64());
        let pace = self.pace.map_or(f64::INFINITY, Ratio::to_f64);
        let Some(per_day) = self.per_day.filter(|_| self.is_held_by_day()) else {
            return backlog / (pace - arrivals);
        };
        // Of each day it is lowest when the day's allowance is used up. The first day on which that is nothing:
        let (day, per_day) = (DAY as f64, per_day.to_f64());
        let gain = per_day - arrivals * day;
        let lowest = backlog + arrivals * per_day / pace - per_day;
        let days = (lowest / gain).ceil().max(0.0);
        days * day + (backlog - days * gain) / (pace - arrivals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn whole(number: u64) -> Option<Ratio> {
        Some(Ratio::whole(number))
    }

    fn drains(course: &Course) -> f64 {
        match course.outlook() {
            Some(Outlook::Drains { seconds }) => seconds,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_limit_per_day_holds_up_what_is_larger_than_a_day() {
        let course = Course { backlog: 2_500, arrivals: Ratio::ZERO, pace: whole(10), per_day: whole(1_000) };
        assert!((drains(&course) - (2.0 * 86_400.0 + 50.0)).abs() < 1e-6);
        assert!((course.backlog_at(86_000.0) - 1_500.0).abs() < 1e-6);
        let smaller = Course { backlog: 900, ..course };
        assert!((drains(&smaller) - 90.0).abs() < 1e-6);
        let days_alone = Course { pace: None, ..course };
        assert!((drains(&days_alone) - 2.0 * 86_400.0).abs() < 1e-6);
    }

    #[test]
    fn what_arrives_as_fast_as_it_leaves_has_no_steady_state() {
        let course = Course { backlog: 10, arrivals: Ratio::whole(2), pace: whole(2), per_day: None };
        assert_eq!(course.outlook(), Some(Outlook::Grows { jobs_per_second: Ratio::ZERO }));
        let more = Course { arrivals: Ratio::whole(5), ..course };
        assert_eq!(more.outlook(), Some(Outlook::Grows { jobs_per_second: Ratio::whole(3) }));
        assert!((more.backlog_at(100.0) - 310.0).abs() < 1e-6);
        assert_eq!(Course { pace: None, ..course }.outlook(), None);
    }

    proptest! {
        /// The time is right: just before it something is left, and then nothing.
        #[test]
        fn it_is_gone_when_it_is_said_to_be(
            backlog in 1_u64..100_000,
            arrivals in 0_u64..50,
            pace in 51_u64..200,
            days in proptest::option::of(51_u64..200),
        ) {
            let course = Course {
                backlog,
                arrivals: Ratio::whole(arrivals),
                pace: whole(pace),
                per_day: days.map(|rate| Ratio::whole(rate * DAY)),
            };
            let end = drains(&course);
            prop_assert!(course.backlog_at(end * 0.999) > 0.0);
            let left = backlog as f64 + arrivals as f64 * end - course.leave_within(end);
            prop_assert!(left.abs() < 1e-6 * (backlog as f64 + end), "{left} left");
            prop_assert!(end >= drains(&course.without_arrivals()));
            let without_days = drains(&Course { per_day: None, ..course });
            prop_assert!(end >= without_days - 1e-6);
        }

        /// Days that bind: it never lasts longer than by their mean rate.
        #[test]
        fn days_take_no_longer_than_their_mean(backlog in 1_u64..10_000_000, pace in 2_u64..50, per_day in 1_000_u64..86_400) {
            let course = Course { backlog, arrivals: Ratio::ZERO, pace: whole(pace), per_day: whole(per_day) };
            let mean = backlog as f64 / (per_day as f64 / DAY as f64);
            let end = drains(&course);
            prop_assert!(end <= mean + 1e-6 && end >= backlog as f64 / pace as f64 - 1e-6);
            prop_assert!((course.left_after(end)).abs() < 1e-3);
        }
    }
}
