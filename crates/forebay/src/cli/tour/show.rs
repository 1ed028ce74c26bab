//! What the tour found, as a table and in words, or as one JSON document.

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, Table, presets};
use serde_json::{Value, json};

use super::Visit;
use crate::cli::error::CliError;
use crate::cli::output::{Mark, Output};
use crate::cli::table::{Show, cell};
use crate::cli::values::shown_money;

/// Shows all visits and their sums.
pub(super) fn all(visits: &[Visit], is_simulated: bool, output: &Output) -> Result<(), CliError> {
    if output.is_json() {
        return output.record(&document(visits, is_simulated));
    }
    output.table(table(visits))?;
    output.line("")?;
    for visit in visits {
        explain(visit, output)?;
    }
    output.line(&sums(visits))
}

fn table(visits: &[Visit]) -> Table {
    let titles =
        ["document", "state", "supplier", "number", "date", "total", "", "calls", "tokens", "cost USD"];
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(titles.map(|title| Cell::new(title).add_attribute(Attribute::Bold)));
    for visit in visits {
        let field = |pointer: &str| cell(visit.output.pointer(pointer), Show::Plain);
        let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
        table.add_row([
            Cell::new(visit.name),
            Cell::new(cell(visit.job.get("state"), Show::Plain)),
            Cell::new(field("/supplier")),
            Cell::new(field("/invoice_number")),
            Cell::new(field("/invoice_date")),
            right(field("/total")),
            Cell::new(field("/currency")),
            right(visit.steps.to_string()),
            right(tokens(visit).to_string()),
            right(shown_money(cost(visit))),
        ]);
    }
    table
}

/// One line about what was special, where something was.
fn explain(visit: &Visit, output: &Output) -> Result<(), CliError> {
    if visit.repairs > 0 {
        output.marked(
            Mark::Ok,
            &format!("{}: the answer was no clean JSON and was repaired, without another call", visit.name),
        )?;
    }
    match visit.job["state"].as_str() {
        Some("SUCCEEDED") if visit.steps > 1 => output.marked(
            Mark::Ok,
            &format!(
                "{}: the first answer failed its checks; the model was told why and corrected it",
                visit.name
            ),
        ),
        Some("SUCCEEDED") => Ok(()),
        Some("REVIEW_REQUIRED") => {
            output.marked(Mark::Warn, &format!("{}: a person must decide:", visit.name))?;
            visit.findings.iter().try_for_each(|finding| output.line(&format!("        {}", said(finding))))
        }
        _ => {
            let failure = cell(visit.job.pointer("/failure/message"), Show::Plain);
            output.marked(Mark::Fail, &format!("{}: {failure}", visit.name))
        }
    }
}

fn said(finding: &Value) -> String {
    let part = |name: &str| cell(finding.get(name), Show::Plain);
    format!("{} {}: {}", part("code"), part("pointer"), part("message"))
}

fn sums(visits: &[Visit]) -> String {
    let of_state = |state: &str| visits.iter().filter(|visit| visit.job["state"] == state).count();
    format!(
        "\n{} succeeded, {} in review, {} failed; {} calls, {} tokens, {} USD",
        of_state("SUCCEEDED"),
        of_state("REVIEW_REQUIRED"),
        of_state("FAILED_TERMINAL"),
        visits.iter().map(|visit| visit.steps).sum::<usize>(),
        visits.iter().map(tokens).sum::<u64>(),
        shown_money(visits.iter().map(cost).sum()),
    )
}

fn tokens(visit: &Visit) -> u64 {
    let count = |name: &str| visit.job["usage"][name].as_u64().unwrap_or_default();
    count("input_tokens") + count("output_tokens")
}

fn cost(visit: &Visit) -> i64 {
    visit.job["usage"]["cost_micros"].as_i64().unwrap_or_default()
}

fn document(visits: &[Visit], is_simulated: bool) -> Value {
    let invoices: Vec<_> = visits
        .iter()
        .map(|visit| {
            json!({
                "document": visit.name, "job": visit.job, "output": visit.output,
                "findings": visit.findings, "calls": visit.steps, "repairs": visit.repairs,
            })
        })
        .collect();
    json!({ "simulated": is_simulated, "invoices": invoices })
}
