//! How long things took.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Up to a minute, to three digits; what took longer counts as a minute.
const LONGEST: u64 = 60_000_000;

/// Shares of a curve: of how many it is said how long they took at most.
const CURVE: [f64; 13] = [0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 1.0];

/// A distribution of spans of time, in microseconds.
#[derive(Debug, Clone)]
pub(super) struct Latency(Histogram<u64>);

impl Latency {
    #[allow(clippy::expect_used, reason = "these bounds are good ones, as the test below says")]
    pub(super) fn new() -> Self {
        Self(Histogram::new_with_max(LONGEST, 3).expect("good bounds"))
    }

    /// Takes note of one.
    pub(super) fn record(&mut self, span: Duration) {
        self.0.saturating_record(u64::try_from(span.as_micros()).unwrap_or(u64::MAX));
    }

    /// Takes note of all of another.
    pub(super) fn add(&mut self, other: &Self) {
        for value in other.0.iter_recorded() {
            self.0.saturating_record_n(value.value_iterated_to(), value.count_at_value());
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.0.len()
    }

    /// How many took longer than that.
    pub(super) fn longer_than(&self, span: Duration) -> u64 {
        let most = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        self.0.len() - self.0.count_between(0, most)
    }

    /// The time within which this share of them was over, in milliseconds.
    pub(super) fn millis(&self, share: f64) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "less than a minute")]
        let micros = self.0.value_at_quantile(share) as f64;
        micros / 1_000.0
    }

    /// Shares and the time in milliseconds within which they were over.
    pub(super) fn curve(&self) -> Vec<[f64; 2]> {
        CURVE.iter().map(|share| [*share, self.millis(*share)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(millis: impl IntoIterator<Item = u64>) -> Latency {
        let mut latency = Latency::new();
        millis.into_iter().for_each(|millis| latency.record(Duration::from_millis(millis)));
        latency
    }

    fn is_near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= expected * 0.001
    }

    #[test]
    fn shares_are_of_all_that_was_recorded() {
        let mut latency = of(1..=50);
        latency.add(&of(51..=100));
        assert_eq!(latency.count(), 100);
        assert!(is_near(latency.millis(0.5), 50.0) && is_near(latency.millis(0.99), 99.0));
        assert_eq!(latency.longer_than(Duration::from_millis(90)), 10);
        let curve = latency.curve();
        assert!(is_near(curve[0][1], 1.0) && is_near(curve[12][1], 100.0));
        assert!(curve.is_sorted_by(|a, b| a[1] <= b[1]));
    }

    #[test]
    fn what_took_too_long_to_tell_counts_as_the_longest() {
        let latency = of([90_000]);
        assert!(is_near(latency.millis(1.0), 60_000.0), "{}", latency.millis(1.0));
    }
}
