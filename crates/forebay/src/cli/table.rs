//! Tables of what a server lists.

use comfy_table::{Attribute, Cell, ContentArrangement, Table, presets};
use serde_json::Value;

use super::output::shown;
use super::values::shown_money;

/// How a value is written in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// As it is.
    Plain,
    /// Millionths as money.
    Money,
}

/// One column: its title, where in a row its value stands, and how it is written.
pub type Column = (&'static str, &'static str, Show);

/// A table of these rows.
pub fn of(rows: &[Value], columns: &[Column]) -> Table {
    let mut table = Table::new();
    // Cells are never broken to fit the terminal: an id in two pieces can't be copied.
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.iter().map(|(title, ..)| Cell::new(title).add_attribute(Attribute::Bold)));
    for row in rows {
        table.add_row(columns.iter().map(|(_, pointer, show)| cell(row.pointer(pointer), *show)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}

/// The rows of a list: the member `data`, or the answer itself.
pub fn rows(list: &Value) -> &[Value] {
    list.get("data").unwrap_or(list).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A value on one line: text without quotes, lists with commas, nothing for what is absent.
pub fn cell(value: Option<&Value>, show: Show) -> String {
    match (value, show) {
        (None | Some(Value::Null), _) => String::new(),
        (Some(value), Show::Money) => value.as_i64().map_or_else(|| value.to_string(), shown_money),
        (Some(Value::String(text)), Show::Plain) => shown(text).replace('\n', " "),
        (Some(Value::Array(elements)), Show::Plain) => {
            let parts: Vec<_> = elements.iter().map(|element| cell(Some(element), show)).collect();
            parts.join(",")
        }
        (Some(other), Show::Plain) => shown(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_table_has_a_row_for_each_thing_and_gaps_for_what_is_absent() {
        let list = json!({ "data": [
            { "job_id": "job_1", "usage": { "cost_micros": 1310 }, "tags": ["a", "b"] },
            { "job_id": "job_\u{1b}[2J\nx" },
        ] });
        let columns = [
            ("JOB", "/job_id", Show::Plain),
            ("COST", "/usage/cost_micros", Show::Money),
            ("TAGS", "/tags", Show::Plain),
        ];
        let table = of(rows(&list), &columns);
        insta::assert_snapshot!(table.trim_fmt(), @r"
        JOB         COST     TAGS
        job_1       0.00131  a,b
        job_␛[2J x
        ");
    }

    #[test]
    fn a_list_may_be_bare() {
        assert_eq!(rows(&json!([1, 2])).len(), 2);
        assert_eq!(rows(&json!({ "other": 1 })), &[] as &[Value]);
    }
}
