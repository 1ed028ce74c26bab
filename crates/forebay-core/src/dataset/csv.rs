//! Tables as CSV (RFC 4180): read strictly, written in one way.

use std::borrow::Cow;

use super::fault::{Gathered, TableFault, TableFaults};
use super::table::{Builder, Table};
use crate::limits::{DATASET_BYTES, DATASET_COLUMNS};
use crate::request::json::utf8;
use crate::text::storable;

/// Characters that are kept of a column's name in a message.
const NAME_CHARS: usize = 64;

pub(super) fn read(bytes: &[u8]) -> Result<Table, TableFaults> {
    if bytes.len() > DATASET_BYTES {
        return Err(TableFault::new(1, 1, format!("more than {DATASET_BYTES} bytes")).into());
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = utf8(bytes).map_err(|fault| {
        let message = "the text is not UTF-8; save the table as \"CSV UTF-8\"";
        TableFault::new(fault.line, fault.column, message)
    })?;
    let mut records = Records::new(text)?;
    let mut table = Builder::default();
    let mut faults = Gathered::default();
    let Some(header) = records.next()? else {
        return Err(
            TableFault::new(1, 1, "the text is blank; a header with the columns' names comes first").into()
        );
    };
    for name in &header.values {
        if let Err(message) = table.column(&name.text, true) {
            faults.note(name.place.fault(message))?;
        }
    }
    // What the rows lack cannot be said before the header is right.
    faults.end()?;
    rows(records, table)
}

fn rows(mut records: Records<'_>, mut table: Builder) -> Result<Table, TableFaults> {
    let mut faults = Gathered::default();
    loop {
        let row = match records.next() {
            Ok(Some(row)) => row,
            Ok(None) => break,
            // Where a quotation mark is wrong, nobody can say where the next row begins.
            Err(fault) => return Err(faults.ended_by(fault)),
        };
        let columns = table.columns().len();
        if row.count != columns {
            let message = format!("the header has {columns} values, and this row has {}", row.count);
            faults.note(row.place.fault(message))?;
            continue;
        }
        if let Err(message) = table.begin_row() {
            return Err(faults.ended_by(row.place.fault(message)));
        }
        for (column, value) in (0u8..).zip(&row.values) {
            if let Err(message) = table.cell(column, &value.text) {
                let name = storable(&table.columns()[usize::from(column)], NAME_CHARS);
                faults.note(value.place.fault(format!("`{name}`: {message}")))?;
            }
        }
    }
    faults.end()?;
    table.finish().map_err(|message| TableFault::new(records.line, 1, message).into())
}

/// A place in the text.
#[derive(Clone, Copy)]
struct Place<'t> {
    line: usize,
    /// The line as far as here.
    before: &'t str,
}

impl Place<'_> {
    fn fault(self, message: impl AsRef<str>) -> TableFault {
        TableFault::new(self.line, 1 + self.before.chars().count(), message)
    }
}

/// The values between two ends of a line.
struct Record<'t> {
    place: Place<'t>,
    /// As many as there may be columns, and one more.
    values: Vec<Value<'t>>,
    /// How many there are in truth.
    count: usize,
}

struct Value<'t> {
    place: Place<'t>,
    text: Cow<'t, str>,
}

/// The records of a text, one after the other.
struct Records<'t> {
    text: &'t str,
    at: usize,
    line: usize,
    line_start: usize,
    separator: u8,
}

impl<'t> Records<'t> {
    /// The records of a text, separated as its header is.
    fn new(text: &'t str) -> Result<Self, TableFault> {
        let mut records = Self { text, at: 0, line: 1, line_start: 0, separator: b',' };
        while records.end_of_line() {}
        let mut quoted = false;
        let (mut commas, mut semicolons) = (false, false);
        for byte in text[records.at..].bytes() {
            match byte {
                b'"' => quoted = !quoted,
                b'\r' | b'\n' if !quoted => break,
                b',' if !quoted => commas = true,
                b';' if !quoted => semicolons = true,
                _ => {}
            }
        }
        if commas && semicolons {
            let message =
                "the header has both commas and semicolons; put names that contain one in quotation marks";
            return Err(records.place().fault(message));
        }
        records.separator = if semicolons { b';' } else { b',' };
        Ok(records)
    }

    /// The next record that is not a blank line.
    fn next(&mut self) -> Result<Option<Record<'t>>, TableFault> {
        while self.end_of_line() {}
        if self.peek().is_none() {
            return Ok(None);
        }
        let mut record = Record { place: self.place(), values: Vec::new(), count: 0 };
        loop {
            let place = self.place();
            let text = if self.peek() == Some(b'"') { self.quoted()? } else { self.plain()? };
            record.count += 1;
            if record.values.len() <= DATASET_COLUMNS {
                record.values.push(Value { place, text });
            }
            if self.peek() != Some(self.separator) {
                self.end_of_line();
                return Ok(Some(record));
            }
            self.at += 1;
        }
    }

    fn plain(&mut self) -> Result<Cow<'t, str>, TableFault> {
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'\r' | b'\n' => break,
                b'"' => {
                    let message = "a quotation mark inside a value: put the value in quotation marks, and double those in it";
                    return Err(self.place().fault(message));
                }
                byte if byte == self.separator => break,
                _ => self.at += 1,
            }
        }
        Ok(Cow::Borrowed(&self.text[start..self.at]))
    }

    fn quoted(&mut self) -> Result<Cow<'t, str>, TableFault> {
        let opened = self.place();
        let mut value = Cow::Borrowed("");
        loop {
            self.at += 1;
            let start = self.at;
            while self.peek().is_some_and(|byte| byte != b'"') {
                if !self.end_of_line() {
                    self.at += 1;
                }
            }
            if self.peek().is_none() {
                return Err(opened.fault("the quotation mark that opens here is never closed"));
            }
            value += &self.text[start..self.at];
            self.at += 1;
            match self.peek() {
                // A doubled one stands for itself.
                Some(b'"') => value += "\"",
                None | Some(b'\r' | b'\n') => return Ok(value),
                Some(byte) if byte == self.separator => return Ok(value),
                Some(_) => {
                    let message = "something follows a closing quotation mark; double those inside a value";
                    return Err(self.place().fault(message));
                }
            }
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn place(&self) -> Place<'t> {
        Place { line: self.line, before: &self.text[self.line_start..self.at] }
    }

    /// Passes over the end of a line, if there is one here.
    fn end_of_line(&mut self) -> bool {
        match self.peek() {
            Some(b'\n') => self.at += 1,
            Some(b'\r') if self.text.as_bytes().get(self.at + 1) == Some(&b'\n') => self.at += 2,
            Some(b'\r') => self.at += 1,
            _ => return false,
        }
        self.line += 1;
        self.line_start = self.at;
        true
    }
}

/// Writes the normal form: commas, line feeds, and quotation marks only where reading needs them.
pub(super) fn write(table: &Table) -> Vec<u8> {
    let mut out = String::new();
    write_record(table.columns().iter().map(String::as_str), &mut out);
    for row in table.rows() {
        write_record(row.values(), &mut out);
    }
    out.into_bytes()
}

fn write_record<'v>(values: impl Iterator<Item = &'v str>, out: &mut String) {
    let start = out.len();
    for (nth, value) in values.enumerate() {
        if nth > 0 {
            out.push(',');
        }
        // A byte order mark at the very start would not be read as part of a name.
        if value.contains([',', ';', '"', '\r', '\n']) || value.starts_with('\u{feff}') {
            out.push('"');
            out.push_str(&value.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(value);
        }
    }
    if out.len() == start {
        // The only value of its row, and blank: a blank line would be passed over.
        out.push_str("\"\"");
    }
    out.push('\n');
}

#[cfg(test)]
mod tests;
