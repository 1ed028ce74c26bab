//! Tables as JSON: an array of flat objects, read row by row, never as a whole value in memory.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use super::fault::{TableFault, TableFaults};
use super::table::{Builder, Table};
use crate::limits::{DATASET_BYTES, MESSAGE_CHARS};
use crate::request::fault::child;
use crate::request::json::numbers::Numbers;
use crate::request::json::{JsonLimits, foreign_fault, utf8};
use crate::text::storable;

/// Characters that are kept of a member's name in a message.
const NAME_CHARS: usize = 64;

pub(super) fn read(bytes: &[u8]) -> Result<Table, TableFaults> {
    if bytes.len() > DATASET_BYTES {
        return Err(TableFault::new(1, 1, format!("more than {DATASET_BYTES} bytes")).into());
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = utf8(bytes).map_err(|fault| TableFault::new(fault.line, fault.column, fault.message))?;
    let mut walk =
        Walk { table: Builder::default(), numbers: Numbers::new(text), row: 0, member: None, fault: None };
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Rows(&mut walk).deserialize(&mut reader).and_then(|()| reader.end());
    read.map_err(|error| walk.explain(&error))?;
    walk.table.finish().map_err(|message| TableFault::new(1, 1, message).into())
}

/// What reading keeps in mind.
struct Walk<'t> {
    table: Builder,
    numbers: Numbers<'t>,
    /// The row that is being read, from 0, and the member in it.
    row: usize,
    member: Option<String>,
    /// The fault that this module found; `serde_json` found it where this is absent.
    fault: Option<String>,
}

impl Walk<'_> {
    /// Remembers the fault; the error only carries it out through `serde_json`, which adds the position.
    fn refuse<E: Error>(&mut self, message: String) -> E {
        self.fault = Some(message);
        E::custom("refused")
    }

    fn cell<E: Error>(&mut self, column: u8, value: &str) -> Result<(), E> {
        self.table.cell(column, value).map_err(|message| self.refuse(message))
    }

    fn explain(&mut self, error: &serde_json::Error) -> TableFault {
        let ours = self.fault.take();
        let pointed = ours.is_some() || error.classify() == Category::Data;
        let message = ours.unwrap_or_else(|| match error.classify() {
            Category::Data => error.to_string().split(" at line ").next().unwrap_or_default().to_owned(),
            Category::Io | Category::Syntax | Category::Eof => {
                foreign_fault(error, JsonLimits { depth: 2, members: usize::MAX }).1
            }
        });
        let row = format!("/{}", self.row);
        let pointer = self.member.as_ref().map_or(row.clone(), |member| child(&row, member));
        let mut fault = TableFault::new(error.line(), error.column(), storable(&message, MESSAGE_CHARS));
        fault.pointer = pointed.then_some(pointer);
        fault
    }
}

/// The array.
struct Rows<'w, 't>(&'w mut Walk<'t>);

impl<'de> DeserializeSeed<'de> for Rows<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Rows<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects, one for each row")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        while access.next_element_seed(Row(self.0))?.is_some() {
            self.0.row += 1;
        }
        Ok(())
    }
}

/// One object of it.
struct Row<'w, 't>(&'w mut Walk<'t>);

impl<'de> DeserializeSeed<'de> for Row<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Row<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let walk = self.0;
        walk.table.begin_row().map_err(|message| walk.refuse(message))?;
        while let Some(name) = access.next_key::<String>()? {
            walk.member = Some(name.clone());
            let column = walk.table.column(&name, false).map_err(|message| walk.refuse(message))?;
            if walk.table.has(column) {
                let message = format!("the member `{}` is given twice", storable(&name, NAME_CHARS));
                return Err(walk.refuse(message));
            }
            access.next_value_seed(Cell { walk, column })?;
            walk.member = None;
        }
        Ok(())
    }
}

/// One value.
struct Cell<'w, 't> {
    walk: &'w mut Walk<'t>,
    column: u8,
}

impl<'de> DeserializeSeed<'de> for Cell<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Cell<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number or null")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.walk.cell(self.column, "")
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.walk.cell(self.column, value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.walk.cell(self.column, &value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.walk.cell(self.column, &value.to_string())
    }

    fn visit_f64<E: Error>(self, _rounded: f64) -> Result<(), E> {
        let written = self.walk.numbers.next_float().unwrap_or_default();
        self.walk.cell(self.column, written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::DATASET_ROWS;

    /// The fault's place, pointer and message.
    fn refused(json: &str) -> (usize, usize, Option<String>, String) {
        let faults = read(json.as_bytes()).expect_err("refused");
        let fault = &faults.as_slice()[0];
        (fault.line, fault.column, fault.pointer.clone(), fault.message.clone())
    }

    #[track_caller]
    fn points(json: &str, pointer: &str, words: &str) {
        let (.., at, message) = refused(json);
        assert!(at.as_deref() == Some(pointer) && message.contains(words), "{at:?} {message}");
    }

    #[test]
    fn it_is_the_table_that_the_same_csv_is() {
        let json = r#"[{"name": "Acme \"A\"", "iban": null, "rate": 1.50}, {"rate": 184467440737095516160, "iban": "x"},
            {"rate": -0, " name": "é,"}]"#;
        let csv = "iban;rate;name\n;1.50;\"Acme \"\"A\"\"\"\nx;184467440737095516160;\n;-0;é,\n";
        let (json, csv) = (read(json.as_bytes()).unwrap(), Table::from_csv(csv.as_bytes()).unwrap());
        assert_eq!(json, csv);
        assert_eq!(json.digest(), csv.digest());
    }

    #[test]
    fn rows_are_flat_and_members_given_once() {
        points(r#"[{"a": 1}, {"a": true}]"#, "/1/a", "boolean");
        points(r#"[{"a/b": [1]}]"#, "/0/a~1b", "expected a string, a number or null");
        points(r#"[{"a": 1}, 7]"#, "/1", "expected an object");
        points(r#"[{"a": 1, "a": 1}]"#, "/0/a", "given twice");
        points(r#"[{"": 1}]"#, "/0/", "blank");
        points(r#"{"a": 1}"#, "/0", "expected an array");
        assert!(refused("[]").3.contains("no row"));
        assert!(refused("[{}]").3.contains("no row"));
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        let (line, column, pointer, message) = refused("[{\"a\": 1},\n {\"a\": }]");
        assert_eq!((line, column, pointer), (2, 8, None), "{message}");
        assert!(refused("[{\"a\": 1}] x").3.contains("follows"));
        assert!(refused("[{\"a\": \"\\ud800\"}]").3.contains("surrogate"));
        assert!(refused("[{\"a\": 1e999}]").3.contains("larger than"));
        points("[{\"a\": \"\\u0000\"}]", "/0/a", "control characters");
    }

    #[test]
    fn rows_are_limited() {
        let rows = |count: usize| format!("[{}]", vec!["{\"a\":1}"; count].join(","));
        assert_eq!(read(rows(DATASET_ROWS).as_bytes()).unwrap().len(), DATASET_ROWS);
        points(&rows(DATASET_ROWS + 1), "/100000", "more than 100000 rows");
    }
}
