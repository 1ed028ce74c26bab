//! What was measured, round by round, and how it is shown.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Map, Value, json};

use super::Scenario;

/// What one scenario measured in one round.
pub(super) struct Measured {
    pub(super) scenario: Scenario,
    /// Names, with their unit at the end, and values.
    pub(super) figures: Vec<(&'static str, f64)>,
}

/// Everything that was measured.
#[derive(Default)]
pub(super) struct Report {
    rows: Vec<Row>,
}

/// One figure over all rounds.
struct Row {
    scenario: Scenario,
    figure: &'static str,
    values: Vec<f64>,
}

impl Row {
    /// Least, middle and greatest value.
    fn spread(&self) -> [f64; 3] {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
        [at(0), at(sorted.len() / 2), at(sorted.len().saturating_sub(1))]
    }
}

/// Figures that stand beside the floor's of the same round.
const RATIOS: [(Scenario, &str, &str); 2] = [
    (Scenario::Accept, "per_second", "accepts_per_second"),
    (Scenario::Ledger, "per_second", "cycles_per_second"),
];

impl Report {
    /// Adds a round.
    pub(super) fn add(&mut self, round: Vec<Measured>) {
        let find = |scenario: Scenario, name: &str| {
            let measured = round.iter().find(|measured| measured.scenario == scenario)?;
            measured.figures.iter().find(|(figure, _)| *figure == name).map(|(_, value)| *value)
        };
        let ratios: Vec<_> = RATIOS
            .iter()
            .filter_map(|(scenario, ours, floor)| {
                Some((*scenario, find(*scenario, ours)? / find(Scenario::Floor, floor)?))
            })
            .collect();
        for measured in round {
            for (figure, value) in measured.figures {
                self.push(measured.scenario, figure, value);
            }
        }
        for (scenario, ratio) in ratios {
            self.push(scenario, "of_floor", ratio);
        }
    }

    fn push(&mut self, scenario: Scenario, figure: &'static str, value: f64) {
        match self.rows.iter_mut().find(|row| row.scenario == scenario && row.figure == figure) {
            Some(row) => row.values.push(value),
            None => self.rows.push(Row { scenario, figure, values: vec![value] }),
        }
    }

    /// A table for people, or for a document.
    pub(super) fn table(&mut self, is_markdown: bool) -> Table {
        // A ratio is added after the first round; it belongs to its scenario.
        self.rows.sort_by_key(|row| row.scenario);
        let mut table = Table::new();
        table.load_style(if is_markdown { presets::ASCII_MARKDOWN } else { presets::NOTHING });
        table.set_header(["scenario", "figure", "median", "least", "most"]);
        for row in &self.rows {
            let [least, median, most] = row.spread().map(shown);
            table.add_row([row.scenario.name(), row.figure, &median, &least, &most]);
        }
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }

    /// One document for scripts.
    pub(super) fn record(&self, about: Value) -> Value {
        let mut scenarios = Map::new();
        for row in &self.rows {
            let [least, median, most] = row.spread();
            let figures = scenarios.entry(row.scenario.name()).or_insert_with(|| json!({}));
            figures[row.figure] =
                json!({ "median": median, "least": least, "most": most, "rounds": row.values });
        }
        json!({ "about": about, "scenarios": scenarios })
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
    use super::*;

    fn round(floor: f64, accept: f64) -> Vec<Measured> {
        vec![
            Measured { scenario: Scenario::Floor, figures: vec![("accepts_per_second", floor)] },
            Measured { scenario: Scenario::Accept, figures: vec![("per_second", accept)] },
        ]
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        let mut report = Report::default();
        report.add(round(100.0, 50.0));
        report.add(round(10.0, 6.0));
        report.add(round(1_000.0, 550.0));
        let record = report.record(json!({}));
        let ratio = &record["scenarios"]["accept"]["of_floor"];
        assert_eq!(
            (&ratio["median"], &ratio["least"], &ratio["most"]),
            (&json!(0.55), &json!(0.5), &json!(0.6))
        );
        assert!(report.table(true).to_string().contains("of_floor"));
    }

    #[test]
    fn without_the_floor_there_is_no_ratio() {
        let mut report = Report::default();
        report.add(round(1.0, 1.0).split_off(1));
        assert_eq!(report.record(json!({}))["scenarios"]["accept"].get("of_floor"), None);
    }
}
