//! What one scenario measured in one round.

use serde_json::Value;

use super::latency::Latency;
use super::load::Load;

/// Figures by name, with the unit at the end of the name.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) values: Vec<(String, f64)>,
    /// What the scenario's curve is of.
    pub(super) latency: Option<Latency>,
    /// What a database server did for each job, where it tells.
    pub(super) statements: Vec<Value>,
}

impl Figures {
    /// Adds one.
    #[must_use]
    pub(super) fn with(mut self, name: impl Into<String>, value: f64) -> Self {
        self.values.push((name.into(), value));
        self
    }

    /// Adds those of another kind of measurement.
    #[must_use]
    pub(super) fn and(mut self, others: Figures) -> Self {
        self.values.extend(others.values);
        self.statements.extend(others.statements);
        self
    }

    /// Adds shares of a distribution, such as `p99_ms`, behind a prefix.
    #[must_use]
    pub(super) fn shares(self, prefix: &str, latency: &Latency, shares: &[f64]) -> Self {
        shares.iter().fold(self, |figures, share| {
            let name = match *share {
                most if most >= 1.0 => format!("{prefix}max_ms"),
                share => format!("{prefix}p{}_ms", (share * 1_000.0).round() / 10.0).replace('.', ""),
            };
            figures.with(name, latency.millis(*share))
        })
    }

    /// Draws the scenario's curve.
    #[must_use]
    pub(super) fn drawn(mut self, load: Load) -> Self {
        self.latency = Some(load.latency);
        self
    }
}

#[allow(clippy::cast_precision_loss, reason = "less memory than a float can count")]
pub(super) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// The value in the middle.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn shares_are_named_as_people_name_them() {
        let mut latency = Latency::new();
        latency.record(Duration::from_millis(2));
        let figures = Figures::default().shares("accept_", &latency, &[0.5, 0.99, 0.999, 1.0]);
        let names: Vec<_> = figures.values.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["accept_p50_ms", "accept_p99_ms", "accept_p999_ms", "accept_max_ms"]);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert!((median(vec![9.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
    }
}
