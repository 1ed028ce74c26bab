//! How far estimates of tokens are off, by what providers report, and what to reserve because of it.
//!
//! An estimate is made before a call, from bytes or by another model's tokenizer. Reports afterwards say what it was:
//! their ratio to the estimate is followed per model, and the next estimate is multiplied by what it is usually at most.

/// How fast old reports fade: a report counts for one in so many. The first ones count more, so that few suffice.
const MEMORY: u32 = 32;
/// By how many mean deviations a reservation lies above the usual ratio. With 2, about 19 of 20 calls stay within it
/// where ratios are spread as a bell.
const MARGIN: f64 = 2.0;

/// What is known of a model's estimates: the usual ratio of reported to estimated tokens, and how much it varies.
///
/// Both are exponentially weighted means. Before any report the ratio is 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Calibration {
    ratio: f64,
    deviation: f64,
    reports: u32,
}

impl Default for Calibration {
    fn default() -> Self {
        Self { ratio: 1.0, deviation: 0.0, reports: 0 }
    }
}

impl Calibration {
    /// The least that an estimate is multiplied by.
    pub const LEAST: f64 = 0.25;
    /// The most that an estimate is multiplied by.
    pub const MOST: f64 = 4.0;

    /// The usual ratio of reported to estimated tokens, from [`Self::LEAST`] to [`Self::MOST`].
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// How far reports lie from the usual ratio on average.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// How many reports it rests on; not counted beyond 2^32.
    pub fn reports(&self) -> u32 {
        self.reports
    }

    /// What an estimate is multiplied by: the usual ratio and a margin, within the bounds; 1 before any report.
    pub fn factor(&self) -> f64 {
        (self.ratio + MARGIN * self.deviation).clamp(Self::LEAST, Self::MOST)
    }

    /// Tokens to reserve for an estimate, rounded up; at least 1 where the estimate is.
    pub fn corrected(&self, estimated: u64) -> u64 {
        (estimated as f64 * self.factor()).ceil() as u64
    }

    /// Learns from a call: what was estimated for it before any correction, and what was reported. Calls without an
    /// estimate, and reports of nothing, say nothing. One report counts at most as the bounds allow.
    #[must_use]
    pub fn learned(self, estimated: u64, reported: u64) -> Self {
        if estimated == 0 || reported == 0 {
            return self;
        }
        let seen = (reported as f64 / estimated as f64).clamp(Self::LEAST, Self::MOST);
        let reports = self.reports.saturating_add(1);
        let weight = 1.0 / f64::from(reports.min(MEMORY));
        let ratio = self.ratio + weight * (seen - self.ratio);
        // The first report says nothing about how much they vary: it lies on the usual ratio by definition.
        let off = if self.reports == 0 { 0.0 } else { (seen - self.ratio).abs() };
        let deviation = self.deviation + weight * (off - self.deviation);
        Self { ratio: ratio.clamp(Self::LEAST, Self::MOST), deviation, reports }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(reports: &[(u64, u64)]) -> Calibration {
        reports
            .iter()
            .fold(Calibration::default(), |known, (estimated, reported)| known.learned(*estimated, *reported))
    }

    #[test]
    fn nothing_known_corrects_nothing() {
        assert_eq!(Calibration::default().corrected(700), 700);
        assert_eq!(after(&[(0, 5), (5, 0)]), Calibration::default());
    }

    #[test]
    fn a_steady_error_is_corrected_at_once() {
        assert_eq!(after(&[(300, 450)]).corrected(300), 450);
        assert_eq!(after(&[(300, 150); 40]).corrected(300), 150);
    }

    #[test]
    fn a_model_that_changes_is_followed() {
        let mut known = after(&[(100, 100); 500]);
        for _ in 0..4 * MEMORY {
            known = known.learned(100, 200);
        }
        assert!((known.ratio() - 2.0).abs() < 0.05, "{known:?}");
    }

    proptest! {
        #[test]
        fn it_stays_within_its_bounds(reports in proptest::collection::vec((any::<u64>(), any::<u64>()), 0..200), estimate in 1_u64..1_000_000) {
            let known = after(&reports);
            prop_assert!((Calibration::LEAST..=Calibration::MOST).contains(&known.factor()));
            let corrected = known.corrected(estimate);
            prop_assert!(corrected >= 1 && corrected <= estimate * 4);
        }

        #[test]
        fn a_steady_error_is_found_whatever_was_before(
            before in proptest::collection::vec((1_u64..1_000, 1_u64..1_000), 0..50),
            percent in 30_u64..380,
        ) {
            let mut known = after(&before);
            for _ in 0..12 * MEMORY {
                known = known.learned(1_000, 10 * percent);
            }
            let wanted = percent as f64 / 100.0;
            prop_assert!((known.factor() / wanted - 1.0).abs() < 0.02, "{known:?}");
        }

        /// What is reserved is enough for nearly all calls, and not far more than they take.
        #[test]
        fn most_calls_stay_within_what_is_reserved(
            sizes in proptest::collection::vec((100_u64..10_000, 80_u64..120), 400),
            percent in 50_u64..300,
        ) {
            let mut known = Calibration::default();
            let (mut short, mut reserved, mut used) = (0, 0, 0);
            for (nth, (estimated, spread)) in sizes.iter().enumerate() {
                let reported = estimated * percent * spread / 10_000;
                if nth >= 50 {
                    short += u64::from(known.corrected(*estimated) < reported);
                    reserved += known.corrected(*estimated);
                    used += reported;
                }
                known = known.learned(*estimated, reported);
            }
            prop_assert!(short <= 350 / 10, "{short} of 350 took more than was reserved");
            prop_assert!(reserved as f64 <= used as f64 * 1.35, "{reserved} reserved, {used} used");
        }

        #[test]
        fn a_larger_report_never_lowers_the_ratio(reports in proptest::collection::vec((1_u64..1_000, 1_u64..1_000), 0..50), one in 1_u64..1_000, more in 0_u64..1_000) {
            let known = after(&reports);
            prop_assert!(known.learned(500, one + more).ratio() >= known.learned(500, one).ratio());
        }
    }
}
