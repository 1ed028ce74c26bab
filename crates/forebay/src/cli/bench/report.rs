//! What was measured, round by round, and how it is shown.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};

use super::Scenario;
use super::figures::{Figures, median};
use super::latency::Latency;

/// The form of the record. It rises when a member gets another meaning or goes; more may come without that.
const FORMAT: u32 = 1;

/// What one scenario measured in one round.
pub(super) struct Measured {
    pub(super) scenario: Scenario,
    pub(super) figures: Figures,
}

/// Everything that was measured.
#[derive(Default)]
pub(super) struct Report {
    rows: Vec<Row>,
    /// Distributions over all rounds.
    curves: Vec<(Scenario, Latency)>,
    /// What a database server did for each job, in the last round.
    statements: Vec<(Scenario, Vec<Value>)>,
}

/// One figure over all rounds.
struct Row {
    scenario: Scenario,
    figure: String,
    values: Vec<f64>,
}

impl Row {
    /// Least, middle and greatest value.
    fn spread(&self) -> [f64; 3] {
        let bound =
            |choose: fn(f64, f64) -> f64| self.values.iter().copied().reduce(choose).unwrap_or_default();
        [bound(f64::min), median(self.values.clone()), bound(f64::max)]
    }
}

/// Figures that stand beside the floor's of the same round: whose, which, what the ratio is called, the floor's.
const RATIOS: [(Scenario, &str, &str, &str); 4] = [
    (Scenario::Accept, "per_second", "of_floor", "accepts_per_second"),
    (Scenario::Accept, "per_second", "of_single_inserts", "single_inserts_per_second"),
    (Scenario::Accept, "per_second", "of_grouped_inserts", "grouped_inserts_per_second"),
    (Scenario::Drain, "per_second", "of_floor", "cycles_per_second"),
];

impl Report {
    /// Adds a round.
    pub(super) fn add(&mut self, round: Vec<Measured>) {
        let find = |scenario: Scenario, name: &str| {
            let measured = round.iter().find(|measured| measured.scenario == scenario)?;
            measured.figures.values.iter().find(|(figure, _)| figure == name).map(|(_, value)| *value)
        };
        let ratios = RATIOS.map(|(scenario, ours, ratio, floor)| {
            Some((scenario, ratio, find(scenario, ours)? / find(Scenario::Floor, floor)?))
        });
        for Measured { scenario, figures } in round {
            for (figure, value) in figures.values {
                self.push(scenario, &figure, value);
            }
            if !figures.statements.is_empty() {
                self.statements.retain(|(told, _)| *told != scenario);
                self.statements.push((scenario, figures.statements));
            }
            if let Some(latency) = figures.latency {
                self.draw(scenario, latency);
            }
        }
        for (scenario, ratio, value) in ratios.into_iter().flatten() {
            self.push(scenario, ratio, value);
        }
        // A ratio is added after the first round; it belongs to its scenario.
        self.rows.sort_by_key(|row| row.scenario);
    }

    fn push(&mut self, scenario: Scenario, figure: &str, value: f64) {
        match self.rows.iter_mut().find(|row| row.scenario == scenario && row.figure == figure) {
            Some(row) => row.values.push(value),
            None => self.rows.push(Row { scenario, figure: figure.to_owned(), values: vec![value] }),
        }
    }

    fn draw(&mut self, scenario: Scenario, latency: Latency) {
        match self.curves.iter_mut().find(|(drawn, _)| *drawn == scenario) {
            Some((_, curve)) => curve.add(&latency),
            None => self.curves.push((scenario, latency)),
        }
    }

    /// A table for people, or for a document.
    pub(super) fn table(&self, is_markdown: bool) -> Table {
        let mut table = Table::new();
        table.load_style(if is_markdown { presets::ASCII_MARKDOWN } else { presets::NOTHING });
        table.set_header(["scenario", "figure", "median", "least", "most"]);
        for row in &self.rows {
            let [least, median, most] = row.spread().map(shown);
            table.add_row([row.scenario.name(), &row.figure, &median, &least, &most]);
        }
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }

    /// One document for scripts.
    pub(super) fn record(&self, about: Value) -> Value {
        let mut scenarios = json!({});
        for row in &self.rows {
            let [least, median, most] = row.spread();
            scenarios[row.scenario.name()]["figures"][&row.figure] =
                json!({ "median": median, "least": least, "most": most, "rounds": row.values });
        }
        for (scenario, curve) in &self.curves {
            scenarios[scenario.name()]["curve_ms"] = json!(curve.curve());
        }
        for (scenario, statements) in &self.statements {
            scenarios[scenario.name()]["statements"] = json!(statements);
        }
        json!({ "format": FORMAT, "about": about, "scenarios": scenarios })
    }
}

/// A number with as many digits as mean something.
fn shown(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn round(floor: f64, accept: f64) -> Vec<Measured> {
        let of =
            |scenario, figure, value| Measured { scenario, figures: Figures::default().with(figure, value) };
        vec![of(Scenario::Floor, "accepts_per_second", floor), of(Scenario::Accept, "per_second", accept)]
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let mut report = Report::default();
        report.add(round(100.0, 50.0));
        report.add(round(10.0, 6.0));
        report.add(round(1_000.0, 550.0));
        let record = report.record(json!({}));
        assert_eq!(
            record["scenarios"]["accept"]["figures"]["of_floor"],
            json!({ "median": 0.55, "least": 0.5, "most": 0.6, "rounds": [0.5, 0.6, 0.55] })
        );
        assert!(report.table(true).to_string().contains("of_floor"));
    }

    #[test]
    fn without_the_floor_there_is_no_ratio() {
        let mut report = Report::default();
        report.add(round(1.0, 1.0).split_off(1));
        assert_eq!(report.record(json!({}))["scenarios"]["accept"]["figures"].get("of_floor"), None);
    }

    #[test]
    fn a_curve_is_of_all_rounds() {
        let mut report = Report::default();
        for millis in [1, 3] {
            let mut latency = Latency::new();
            latency.record(Duration::from_millis(millis));
            let figures = Figures { latency: Some(latency), ..Figures::default() };
            report.add(vec![Measured { scenario: Scenario::Latency, figures }]);
        }
        let record = report.record(json!({}));
        let curve = record["scenarios"]["latency"]["curve_ms"].as_array().unwrap();
        let at = |nth: usize| curve[nth][1].as_f64().unwrap().round();
        assert_eq!((at(0), at(curve.len() - 1)), (1.0, 3.0));
    }
}
