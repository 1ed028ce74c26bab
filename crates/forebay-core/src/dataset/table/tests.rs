use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;

const SUPPLIERS: &str = "name,iban\nCoolblue B.V.,NL91 ABNA 0417 1643 00\nAcme,DE89370400440532013000\n\
    \u{a0}COOLBLUE\u{2007} b.v. ,\n,DE89370400440532013000\n";

fn numbers<'t>(rows: impl Iterator<Item = Row<'t>>) -> Vec<usize> {
    rows.map(|row| row.number()).collect()
}

#[test]
fn rows_are_found_as_people_compare() {
    let table = Table::from_csv(SUPPLIERS.as_bytes()).unwrap();
    assert_eq!(numbers(table.find("name", "coolblue   B.V.", Likeness::Words)), [1, 3]);
    assert_eq!(numbers(table.find("name", "Coolblue", Likeness::Words)), [0; 0]);
    assert_eq!(numbers(table.find("iban", "nl91abna0417164300", Likeness::Code)), [1]);
    assert_eq!(numbers(table.find("iban", "DE89 3704 0044 0532 0130 00", Likeness::Code)), [2, 4]);
    assert_eq!(numbers(table.find("iban", "DE89 3704 0044 0532 0130 00", Likeness::Words)), [0; 0]);
    assert_eq!(
        numbers(table.find("bank", "DE89370400440532013000", Likeness::Code)),
        [0; 0],
        "no such column"
    );
    assert_eq!(
        numbers(table.find("iban", " - ", Likeness::Code)),
        [0; 0],
        "nothing matters: nothing is found"
    );
    assert_eq!(numbers(table.find("name", "", Likeness::Words)), [0; 0]);
}

#[test]
fn blank_values_are_none() {
    let table = Table::from_csv(SUPPLIERS.as_bytes()).unwrap();
    let row = table.rows().nth(2).unwrap();
    assert_eq!((row.get("iban"), row.get("bank")), (None, None));
    assert_eq!(row.get("name"), Some("\u{a0}COOLBLUE\u{2007} b.v. "), "as it was sent");
}

#[test]
fn the_example_has_the_suppliers_of_the_invoices_once() {
    let table = Table::from_csv(include_bytes!("../../../../../examples/invoices/suppliers.csv")).unwrap();
    for expected in [
        include_str!("../../../../../examples/invoices/amazonwebservices.expected.json"),
        include_str!("../../../../../examples/invoices/azureinterior.expected.json"),
        include_str!("../../../../../examples/invoices/coolblue1.expected.json"),
        include_str!("../../../../../examples/invoices/flipkart.expected.json"),
        include_str!("../../../../../examples/invoices/free_fiber.expected.json"),
        include_str!("../../../../../examples/invoices/orlen.expected.json"),
        include_str!("../../../../../examples/invoices/qualityhosting.expected.json"),
        include_str!("../../../../../examples/invoices/sammymaystone.expected.json"),
    ] {
        let expected: Value = serde_json::from_str(expected).unwrap();
        let supplier = expected["supplier"].as_str().unwrap();
        assert_eq!(table.find("name", supplier, Likeness::Words).count(), 1, "{supplier}");
    }
    assert_eq!(table.len(), 8);
}

/// Names and rows of a table that may be sent.
fn sent() -> impl Strategy<Value = (Vec<String>, Vec<Vec<String>>)> {
    let name = "[a-z;,\" \u{feff}é]{0,3}[a-z]".prop_map(|name| name.trim().to_owned());
    let value = prop_oneof![
        3 => "[a-zA-Z0-9 ,;\"\r\n\u{feff}é-]{0,6}",
        1 => Just(String::new()),
    ];
    proptest::collection::btree_set(name, 1..5).prop_flat_map(move |names| {
        let names: Vec<_> = names.into_iter().collect();
        let row = proptest::collection::vec(value.clone(), names.len());
        (Just(names).prop_shuffle(), proptest::collection::vec(row, 1..6))
    })
}

fn quoted(values: &[String], separator: &str) -> String {
    let values: Vec<_> = values.iter().map(|value| format!("\"{}\"", value.replace('"', "\"\""))).collect();
    values.join(separator)
}

proptest! {
    #[test]
    fn how_it_is_written_makes_no_difference((names, rows) in sent(), semicolons: bool) {
        let separator = if semicolons { ";" } else { "," };
        let lines = std::iter::once(&names).chain(&rows).map(|row| quoted(row, separator));
        let csv = Table::from_csv(lines.collect::<Vec<_>>().join("\n").as_bytes()).unwrap();
        let object = |row: &Vec<String>| {
            let members = names.iter().cloned().zip(row.iter().cloned().map(Value::String));
            Value::Object(members.rev().collect::<Map<_, _>>())
        };
        let json = Value::Array(rows.iter().map(object).collect()).to_string();
        let json = Table::from_json(json.as_bytes()).unwrap();
        prop_assert_eq!(&json, &csv);
        prop_assert_eq!(json.digest(), csv.digest());
        let again = Table::from_csv(&csv.to_csv()).unwrap();
        prop_assert_eq!(again.digest(), csv.digest());
        prop_assert_eq!(again, csv);
    }

    #[test]
    fn an_index_finds_what_looking_at_each_row_finds((names, rows) in sent(), words: bool) {
        let likeness = if words { Likeness::Words } else { Likeness::Code };
        let lines = std::iter::once(&names).chain(&rows).map(|row| quoted(row, ","));
        let table = Table::from_csv(lines.collect::<Vec<_>>().join("\n").as_bytes()).unwrap();
        for (column, value) in names.iter().zip(&rows[0]) {
            let key = likeness.key(value);
            let alike = |row: &Row<'_>| !key.is_empty() && likeness.key(row.get(column).unwrap_or_default()) == key;
            let expected = numbers(table.rows().filter(alike));
            prop_assert_eq!(numbers(table.find(column, value, likeness)), expected);
        }
    }

    #[test]
    fn any_bytes_are_a_table_or_faults(bytes in proptest::collection::vec(any::<u8>(), 0..64), text in "[a\",;\n\r{}\\[\\]:1-]{0,40}") {
        for sent in [&bytes[..], text.as_bytes()] {
            for table in [Table::from_csv(sent), Table::from_json(sent)].into_iter().flatten() {
                prop_assert_eq!(Table::from_csv(&table.to_csv()).unwrap(), table);
            }
        }
    }
}
