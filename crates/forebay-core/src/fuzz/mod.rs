//! Fuzz targets of what callers send: requests and datasets.

pub(crate) mod harness;

use crate::dataset::{MAX_TABLE_FAULTS, Table, TableFaults};
use crate::request::{StoredRequest, Submission, canonical, json};

const JSON_WORDS: [&str; 14] = [
    "\\u0000",
    "\\ud800",
    "\\udc00",
    "1e999",
    "-0",
    "18446744073709551616",
    "0.1e-7",
    "null",
    "true",
    "{\"a\":",
    "[[",
    "\"task\":",
    "\"input\":",
    "\u{feff}",
];

#[test]
fn a_request_has_one_reading_and_is_written_as_it_is_read() {
    harness::run("request", &JSON_WORDS, |bytes| {
        let value = match json::parse(bytes) {
            Ok(value) => value,
            Err(fault) => {
                assert!(fault.line >= 1 && fault.message.len() < 10_000);
                return;
            }
        };
        let other: serde_json::Value = serde_json::from_slice(bytes).expect("what is read strictly is JSON");
        assert_eq!(
            canonical::to_bytes(&json::parse(&canonical::to_bytes(&value)).unwrap()),
            canonical::to_bytes(&value)
        );
        assert_eq!(other.is_object(), value.is_object());
        let again = Submission::parse(json::parse(&canonical::to_bytes(&value)).unwrap());
        match (Submission::parse(value), again) {
            (Ok(submission), Ok(again)) => {
                assert_eq!(submission.body_digest(), again.body_digest());
                let stored = submission.stored();
                assert_eq!(StoredRequest::read(&stored).unwrap().to_bytes(), stored);
            }
            (Err(faults), Err(_)) => assert!((1..=50).contains(&faults.len())),
            (one, other) => panic!("the normal form is read otherwise: {one:?} {other:?}"),
        }
    });
}

const ROWS: [&str; 10] = ["\"", "\"\"", ";", ",", "\r\n", "\r", "\u{feff}", "a,b\n", "[{\"a\":1}]", "\0"];

fn same_table(table: Result<Table, TableFaults>) {
    match table {
        Ok(table) => {
            let normal = table.to_csv();
            let again = Table::from_csv(&normal).expect("the normal form is a table");
            assert_eq!((again.to_csv(), again.digest()), (normal, table.digest()));
            assert_eq!((again.len(), again.columns()), (table.len(), table.columns()));
            let rows = |table: &Table| {
                table
                    .rows()
                    .map(|row| row.values().map(str::to_owned).collect::<Vec<_>>())
                    .collect::<Vec<_>>()
            };
            assert_eq!(rows(&again), rows(&table));
        }
        Err(faults) => assert!((1..=MAX_TABLE_FAULTS).contains(&faults.as_slice().len())),
    }
}

#[test]
fn a_dataset_is_written_as_it_is_read() {
    harness::run("dataset", &ROWS, |bytes| {
        same_table(Table::from_csv(bytes));
        same_table(Table::from_json(bytes));
    });
}
