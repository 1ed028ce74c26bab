//! What is wrong with a table that somebody sent, and where.

use std::fmt;

use crate::limits::MESSAGE_CHARS;
use crate::text::storable;

/// How many faults of one table are told; the rest is as wrong as these.
pub const MAX_TABLE_FAULTS: usize = 20;

/// One thing that is wrong with a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFault {
    /// The line of the text, counted from 1.
    pub line: usize,
    /// The column in it, counted from 1: characters in CSV, bytes in JSON.
    pub column: usize,
    /// Where in the value, as a JSON pointer; absent for CSV, and where the text is no JSON.
    pub pointer: Option<String>,
    /// What is wrong and what is allowed; storable text.
    pub message: String,
}

impl TableFault {
    pub(super) fn new(line: usize, column: usize, message: impl AsRef<str>) -> Self {
        Self { line, column, pointer: None, message: storable(message.as_ref(), MESSAGE_CHARS) }
    }
}

impl fmt::Display for TableFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

/// What is wrong with a table: one fault at least, [`MAX_TABLE_FAULTS`] at most, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableFaults(Vec<TableFault>);

impl TableFaults {
    /// The faults.
    pub fn as_slice(&self) -> &[TableFault] {
        &self.0
    }
}

impl From<TableFault> for TableFaults {
    fn from(fault: TableFault) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for TableFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, fault) in self.0.iter().enumerate() {
            write!(f, "{}{fault}", if nth == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for TableFaults {}

/// Gathers faults while a text is read.
#[derive(Default)]
pub(super) struct Gathered(Vec<TableFault>);

impl Gathered {
    /// Notes a fault; the error says that there is no point in reading on.
    pub(super) fn note(&mut self, fault: TableFault) -> Result<(), TableFaults> {
        self.0.push(fault);
        if self.0.len() < MAX_TABLE_FAULTS { Ok(()) } else { Err(TableFaults(std::mem::take(&mut self.0))) }
    }

    /// The faults so far, with one after which nothing more can be read.
    pub(super) fn ended_by(mut self, fault: TableFault) -> TableFaults {
        self.0.push(fault);
        TableFaults(self.0)
    }

    /// An error where anything was noted.
    pub(super) fn end(self) -> Result<(), TableFaults> {
        if self.0.is_empty() { Ok(()) } else { Err(TableFaults(self.0)) }
    }
}
