//! How many calls at a time a pool's provider takes well, found out while it runs: additive increase, multiplicative
//! decrease (AIMD, Chiu and Jain 1989), below a ceiling that is configured.
//!
//! Time is cut into periods, each longer than most calls. A period in which the provider was hurt (a limit, overload,
//! preemptions, latencies far above those without a crowd) lowers the limit by a factor, then nothing changes while the
//! cooldown lasts, so that what is under way does not count twice. A period that had all of the limit in use and no
//! complaint raises it by one. Where work did not fill the limit nothing is learned, and nothing changes.
//!
//! What latency is without a crowd has to be measured: whoever starts too high knows only the crowd, and takes it for
//! normal. So it begins with a probe, two periods at half of the limit, and repeats it now and then: the calls of the
//! crowd end in the first, the second measures.

use crate::time::{Millis, Timestamp};

/// How a limit is adapted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Never below. 1 or more; default 1.
    pub floor: u64,
    /// Never above: the configured limit of calls in flight.
    pub ceiling: u64,
    /// What the limit is multiplied by when the provider was hurt, above 0 and below 1. Default 0.85.
    pub decrease: f64,
    /// How long nothing changes after a decrease. Default 10 s.
    pub cooldown: Millis,
    /// How many times the latency without a crowd may become before it counts as hurt. Default 2.
    pub tolerance: f64,
    /// In how many periods there is one probe of two, which takes half of the limit: with 100, one hundredth of what
    /// could be done. 3 or more; default 100.
    pub probe_every: u32,
}

impl Rules {
    /// The defaults below a ceiling.
    pub fn below(ceiling: u64) -> Self {
        Self {
            floor: 1,
            ceiling: ceiling.max(1),
            decrease: 0.85,
            cooldown: Millis::from_secs(10),
            tolerance: 2.0,
            probe_every: 100,
        }
    }
}

/// What one period showed. What is not known is absent, which is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// Mean milliseconds of the calls that ended, each divided by what it is expected to take where calls differ.
    pub latency: Option<f64>,
    /// The most calls that were under way at a time.
    pub in_flight: u64,
    /// Answers 429, 503, 529 and the like.
    pub refusals: u64,
    /// Calls that wait inside a vLLM server (`vllm:num_requests_waiting`).
    pub waiting: Option<u64>,
    /// The share of its memory for context that is in use, 0 to 1 (`vllm:kv_cache_usage_perc`).
    pub kv_cache: Option<f64>,
    /// Calls that it set back for want of memory, since the sample before (`vllm:num_preemptions_total`).
    pub preemptions: Option<u64>,
}

/// Above this share of a server's memory for context nothing is added.
const KV_CACHE_FULL: f64 = 0.9;
/// Periods of a probe: one in which the crowd leaves, and one that measures.
const PROBE: u32 = 2;

/// A limit that adapts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adaptive {
    limit: f64,
    floor: u64,
    /// The latency without a crowd.
    alone: Option<f64>,
    /// Periods since the last probe began.
    period: u32,
    /// Periods in a row in which calls waited inside the server.
    waited: u32,
    quiet_until: Option<Timestamp>,
}

/// What a period says about the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The provider was hurt.
    Lower,
    /// No more, but also no less.
    Hold,
    /// All of it was in use, and well.
    Raise,
}

impl Adaptive {
    /// Begins at a limit, within the rules, with a probe.
    pub fn starting_at(limit: u64, rules: &Rules) -> Self {
        let limit = within(limit as f64, rules);
        Self { limit, floor: rules.floor.max(1), alone: None, period: 0, waited: 0, quiet_until: None }
    }

    /// Calls that may be under way now.
    pub fn limit(&self) -> u64 {
        let limit = self.limit.floor() as u64;
        if self.is_probing() { (limit / 2).max(self.floor.min(limit)) } else { limit }
    }

    /// Whether it takes half of what it could, to see what latency is then.
    pub fn is_probing(&self) -> bool {
        self.period < PROBE
    }

    /// The limit after a period, with what it said. Rules may have changed since.
    #[must_use]
    pub fn after(self, sample: &Sample, rules: &Rules, now: Timestamp) -> (Self, Verdict) {
        let waits = sample.waiting.is_some_and(|waiting| waiting > 0);
        let waited = if waits { self.waited.saturating_add(1) } else { 0 };
        let is_quiet = self.quiet_until.is_some_and(|until| now < until);
        let verdict = if is_quiet { Verdict::Hold } else { self.verdict(sample, rules, waited) };
        let (limit, quiet_until) = match verdict {
            Verdict::Lower => (self.limit * rules.decrease, Some(now.after(rules.cooldown))),
            Verdict::Hold => (self.limit, self.quiet_until),
            Verdict::Raise => (self.limit.floor() + 1.0, self.quiet_until),
        };
        let next = Self {
            // A lower ceiling of the rules counts at once, also while it is quiet.
            limit: within(limit, rules),
            floor: rules.floor.max(1),
            alone: self.alone_with(sample.latency),
            period: (self.period + 1) % rules.probe_every.max(PROBE + 1),
            waited,
            quiet_until,
        };
        (next, verdict)
    }

    fn verdict(&self, sample: &Sample, rules: &Rules, waited: u32) -> Verdict {
        let above = |(latency, alone)| latency > alone * rules.tolerance;
        let is_slow = !self.is_probing() && sample.latency.zip(self.alone).is_some_and(above);
        let is_set_back = sample.preemptions.is_some_and(|preemptions| preemptions > 0);
        let is_near = waited >= 2 || sample.kv_cache.is_some_and(|share| share > KV_CACHE_FULL);
        let is_filled = sample.in_flight >= self.limit() && sample.latency.is_some();
        if sample.refusals > 0 || is_set_back || is_slow {
            Verdict::Lower
        } else if is_near || self.is_probing() || !is_filled {
            Verdict::Hold
        } else {
            Verdict::Raise
        }
    }

    /// A probe says what it is now, whatever it was; in between it can only turn out to be less.
    fn alone_with(&self, latency: Option<f64>) -> Option<f64> {
        let latency = latency.filter(|latency| latency.is_finite() && *latency > 0.0);
        match (self.alone, latency) {
            _ if self.period == 0 => self.alone,
            (Some(alone), Some(latency)) if !self.is_probing() => Some(alone.min(latency)),
            (alone, latency) => latency.or(alone),
        }
    }
}

fn within(limit: f64, rules: &Rules) -> f64 {
    let ceiling = rules.ceiling.max(1) as f64;
    limit.clamp((rules.floor.max(1) as f64).min(ceiling), ceiling)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A provider that works well on `best` calls at a time; more share what it does, and it refuses beyond `refuses`.
    struct Provider {
        best: u64,
        refuses: u64,
    }

    impl Provider {
        fn sample(&self, in_flight: u64) -> Sample {
            let crowd = (in_flight as f64 / self.best as f64).max(1.0);
            // Beyond its best it also loses by switching between calls.
            let latency = 1_000.0 * crowd * crowd * crowd * crowd * crowd * crowd * crowd;
            let refusals = in_flight.saturating_sub(self.refuses);
            Sample { latency: Some(latency), in_flight, refusals, ..Sample::default() }
        }

        /// Calls that end in a second.
        fn goodput(&self, in_flight: u64) -> f64 {
            let sample = self.sample(in_flight);
            (in_flight - sample.refusals.min(in_flight)) as f64 * 1_000.0 / sample.latency.unwrap()
        }
    }

    /// At a limit, with a probe behind it that took a millisecond a call.
    fn probed(limit: u64, rules: &Rules) -> Adaptive {
        let calm = Sample { latency: Some(1.0), ..Sample::default() };
        let start = Adaptive::starting_at(limit, rules);
        (0..PROBE).fold(start, |state, _| state.after(&calm, rules, Timestamp::from_millis(0)).0)
    }

    /// The limits of so many periods of two seconds, all of the limit in use, with whether it is a probe.
    fn run(provider: &Provider, rules: &Rules, start: u64, periods: i64) -> Vec<(u64, bool)> {
        let mut adaptive = Adaptive::starting_at(start, rules);
        (0..periods)
            .map(|nth| {
                let now = Timestamp::from_millis(nth * 2_000);
                adaptive = adaptive.after(&provider.sample(adaptive.limit()), rules, now).0;
                (adaptive.limit(), adaptive.is_probing())
            })
            .collect()
    }

    #[test]
    fn a_decrease_is_followed_by_quiet() {
        let rules = Rules::below(100);
        let hurt = Sample { in_flight: 100, refusals: 1, latency: Some(1.0), ..Sample::default() };
        let (lower, verdict) = probed(100, &rules).after(&hurt, &rules, Timestamp::from_millis(0));
        assert_eq!((lower.limit(), verdict), (85, Verdict::Lower));
        let (same, verdict) = lower.after(&hurt, &rules, Timestamp::from_millis(9_999));
        assert_eq!((same.limit(), verdict), (85, Verdict::Hold));
        assert_eq!(same.after(&hurt, &rules, Timestamp::from_millis(10_000)).0.limit(), 72);
    }

    #[test]
    fn a_server_that_is_nearly_full_gets_no_more() {
        let rules = Rules::below(100);
        let well = Sample {
            in_flight: 10,
            latency: Some(1.0),
            waiting: Some(0),
            kv_cache: Some(0.5),
            ..Sample::default()
        };
        let after = |samples: &[Sample]| {
            samples.iter().fold((probed(10, &rules), Verdict::Hold), |(state, _), sample| {
                state.after(
                    &Sample { in_flight: state.limit(), ..*sample },
                    &rules,
                    Timestamp::from_millis(0),
                )
            })
        };
        assert_eq!(after(&[well]).0.limit(), 11);
        let waits = Sample { waiting: Some(3), ..well };
        assert_eq!(after(&[waits]).0.limit(), 11, "one scrape is no queue");
        assert_eq!(after(&[waits, waits]).0.limit(), 11);
        assert_eq!(after(&[Sample { kv_cache: Some(0.95), ..well }]).1, Verdict::Hold);
        assert_eq!(after(&[Sample { preemptions: Some(1), ..well }]).1, Verdict::Lower);
        assert_eq!(after(&[Sample { kv_cache: None, waiting: None, ..well }]).1, Verdict::Raise);
    }

    #[test]
    fn what_does_not_fill_the_limit_teaches_nothing() {
        let rules = Rules::below(100);
        let idle = Sample { in_flight: 9, latency: Some(1.0), ..Sample::default() };
        assert_eq!(probed(10, &rules).after(&idle, &rules, Timestamp::from_millis(0)).0.limit(), 10);
    }

    #[test]
    fn a_lower_ceiling_counts_at_once_also_while_quiet() {
        let hurt = Sample { in_flight: 100, refusals: 1, ..Sample::default() };
        let rules = Rules::below(100);
        let (lower, _) = probed(100, &rules).after(&hurt, &rules, Timestamp::from_millis(0));
        assert_eq!(lower.after(&hurt, &Rules::below(20), Timestamp::from_millis(1)).0.limit(), 20);
    }

    /// From below and from above it comes to within a tenth of the best on average, and stays there without swings.
    #[test]
    fn it_finds_what_a_provider_takes_best() {
        for best in [10, 20, 50, 120] {
            for start in [best / 2, best * 2, best * 3] {
                let provider = Provider { best, refuses: u64::MAX };
                let mut rules = Rules::below(best * 3);
                rules.floor = 2;
                let limits = run(&provider, &rules, start, 1_000);
                let settled: Vec<_> =
                    limits[500..].iter().filter(|(_, probe)| !probe).map(|(limit, _)| *limit).collect();
                let mean = settled.iter().sum::<u64>() as f64 / settled.len() as f64;
                assert!((mean / best as f64 - 1.0).abs() <= 0.1, "{best} from {start}: {mean}");
                let (least, most) = (settled.iter().min().unwrap(), settled.iter().max().unwrap());
                assert!(*least as f64 >= *most as f64 * 0.8, "{best}: from {least} to {most}");
            }
        }
    }

    /// A crowd at the start is not taken for what latency is without one.
    #[test]
    fn a_probe_measures_what_latency_is_without_a_crowd() {
        let rules = Rules::below(100);
        let sample = |latency| Sample { latency: Some(latency), in_flight: 100, ..Sample::default() };
        let mut state = Adaptive::starting_at(100, &rules);
        assert_eq!((state.limit(), state.is_probing()), (50, true));
        for (latency, limit) in [(900.0, 50), (100.0, 100), (900.0, 85)] {
            state = state.after(&sample(latency), &rules, Timestamp::from_millis(0)).0;
            assert_eq!(state.limit(), limit, "{latency}");
        }
    }

    /// Answers that have become longer for good are what is normal after the next probe.
    #[test]
    fn a_provider_that_becomes_slower_for_good_is_not_starved() {
        let mut rules = Rules::below(100);
        rules.probe_every = 20;
        let mut state = probed(50, &rules);
        for nth in 0..200 {
            let sample = Sample { latency: Some(5.0), in_flight: state.limit(), ..Sample::default() };
            state = state.after(&sample, &rules, Timestamp::from_millis(nth * 2_000)).0;
        }
        assert!(state.limit() >= 90 || state.is_probing(), "{state:?}");
    }

    /// Compared with fixed settings: far better than twice too much or half, and near the best.
    #[test]
    fn it_does_better_than_a_wrong_setting() {
        let provider = Provider { best: 50, refuses: 55 };
        let limits = run(&provider, &Rules::below(150), 10, 1_000);
        let mean = limits[300..].iter().map(|(limit, _)| provider.goodput(*limit)).sum::<f64>() / 700.0;
        let fixed = |limit| provider.goodput(limit);
        assert!(mean >= 0.8 * fixed(50), "{mean} of {}", fixed(50));
        assert!(mean > 1.5 * fixed(25) && mean > 1.5 * fixed(100), "{mean}");
    }

    proptest! {
        #[test]
        fn it_stays_within_its_rules(
            samples in proptest::collection::vec((0_u64..200, 0_u64..3, 1.0_f64..1e5, proptest::option::of(0_u64..3)), 1..200),
            floor in 1_u64..10,
            ceiling in 10_u64..200,
            start in 0_u64..500,
        ) {
            let rules = Rules { floor, ..Rules::below(ceiling) };
            let mut state = Adaptive::starting_at(start, &rules);
            for (nth, (in_flight, refusals, latency, waiting)) in samples.into_iter().enumerate() {
                let (before, was_probing) = (state.limit(), state.is_probing());
                let sample = Sample { latency: Some(latency), in_flight, refusals, waiting, ..Sample::default() };
                let (after, verdict) = state.after(&sample, &rules, Timestamp::from_millis(2_000 * nth as i64));
                prop_assert!((floor..=ceiling).contains(&after.limit()));
                if was_probing || after.is_probing() {
                    prop_assert!(verdict != Verdict::Raise || !was_probing);
                } else {
                    match verdict {
                        Verdict::Raise => prop_assert!(after.limit() <= before + 1 && after.limit() >= before),
                        Verdict::Hold => prop_assert_eq!(after.limit(), before),
                        Verdict::Lower => prop_assert!(after.limit() <= before),
                    }
                }
                prop_assert!(refusals == 0 || verdict != Verdict::Raise);
                state = after;
            }
        }
    }
}
