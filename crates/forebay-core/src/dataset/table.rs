//! A table in memory: compact, in its normal form, and quick to look things up in.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::csv;
use super::fault::TableFaults;
use crate::digest::Digest;
use crate::extract::fold;
use crate::limits::{DATASET_CELL_BYTES, DATASET_COLUMN_CHARS, DATASET_COLUMNS, DATASET_ROWS};

/// Rows under named columns. Values are text; an absent one is the same as a blank one.
///
/// The normal form has its columns in the order of their names and its rows in the order given. Two tables are
/// equal when their normal forms are, however each was written.
#[derive(Debug)]
pub struct Table {
    /// In the order of their names.
    columns: Vec<String>,
    /// All values, row by row.
    text: String,
    /// Where each value ends in `text`; it begins where the one before ends.
    ends: Vec<u32>,
    digest: Digest,
    /// For each column and each [`Likeness`], made when it is first asked for.
    indexes: Vec<[OnceLock<Index>; 2]>,
}

/// The rows that have a value in a column, in the order of how the values compare, equal ones in the order given.
type Index = Vec<u32>;

/// When two values count as the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Likeness {
    /// As words: case, white space and typographic signs do not matter. `ACME  B.V.` is `Acme B.V.`
    #[default]
    Words,
    /// As codes, such as account and tax numbers: only letters and digits matter, and not their case.
    /// `nl91 abna 0417 1643 00` is `NL91ABNA0417164300`.
    Code,
}

impl Likeness {
    /// What of a value matters; nothing of a blank one.
    pub fn key(self, value: &str) -> String {
        match self {
            Likeness::Words => fold(value).to_lowercase(),
            Likeness::Code => {
                value.chars().filter(|char| char.is_alphanumeric()).collect::<String>().to_lowercase()
            }
        }
    }
}

impl Table {
    /// Reads CSV as RFC 4180 has it, in UTF-8 with or without a byte order mark: a header with the columns' names,
    /// then one row a line, with commas or, where the header has those, with semicolons. Blank lines are passed
    /// over.
    ///
    /// # Errors
    ///
    /// Whatever could be read in two ways: names that are blank or given twice, rows with more or fewer values than
    /// the header, quotation marks that are not closed. And what is beyond a limit, or holds no row at all.
    pub fn from_csv(bytes: &[u8]) -> Result<Self, TableFaults> {
        csv::read(bytes)
    }

    /// Reads a JSON array of objects whose members are strings, numbers and nulls. A column is what at least one
    /// object has; numbers are kept as they are written.
    ///
    /// # Errors
    ///
    /// The first fault: members of other kinds or given twice, or what is beyond a limit or holds no row at all.
    pub fn from_json(bytes: &[u8]) -> Result<Self, TableFaults> {
        super::json::read(bytes)
    }

    /// The normal form, as CSV: what the digest is of, and what reads back as the same table.
    pub fn to_csv(&self) -> Vec<u8> {
        csv::write(self)
    }

    /// The SHA-256 digest of the normal form.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The columns' names, in their order.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Whether there is a column of that name.
    pub fn has_column(&self, name: &str) -> bool {
        self.column(name).is_some()
    }

    /// How many rows there are; at least one.
    pub fn len(&self) -> usize {
        self.ends.len() / self.columns.len()
    }

    /// Whether there are no rows, which is never so.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The rows, in the order given.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).map(|row| Row { table: self, row })
    }

    /// Bytes of memory that the table takes when every column has been looked up in, more or less.
    pub fn memory(&self) -> usize {
        self.text.len() + 3 * size_of::<u32>() * self.ends.len() + 256 * self.columns.len()
    }

    /// The rows whose value in a column is like this one, in the order given. None where there is no such column,
    /// or where nothing of the value matters.
    pub fn find<'t>(
        &'t self,
        column: &str,
        value: &str,
        likeness: Likeness,
    ) -> impl Iterator<Item = Row<'t>> + use<'t> {
        let key = likeness.key(value);
        let column = self.column(column).filter(|_| !key.is_empty());
        let found = column.map_or(&[][..], |column| {
            let index = self.index(column, likeness);
            let key_of = |row: &u32| likeness.key(self.value(*row as usize, column));
            let start = index.partition_point(|row| key_of(row) < key);
            let length = index[start..].iter().take_while(|row| key_of(row) == key).count();
            &index[start..start + length]
        });
        found.iter().map(|row| Row { table: self, row: *row as usize })
    }

    fn index(&self, column: usize, likeness: Likeness) -> &Index {
        self.indexes[column][likeness as usize].get_or_init(|| {
            let keyed =
                (0u32..).take(self.len()).map(|row| (likeness.key(self.value(row as usize, column)), row));
            let mut keyed: Vec<_> = keyed.filter(|(key, _)| !key.is_empty()).collect();
            keyed.sort_unstable();
            keyed.into_iter().map(|(_, row)| row).collect()
        })
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.columns.binary_search_by(|column| column.as_str().cmp(name)).ok()
    }

    fn value(&self, row: usize, column: usize) -> &str {
        let nth = row * self.columns.len() + column;
        let start = nth.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..self.ends[nth] as usize]
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        (&self.columns, &self.text, &self.ends) == (&other.columns, &other.text, &other.ends)
    }
}

impl Eq for Table {}

/// One row of a table.
#[derive(Debug, Clone, Copy)]
pub struct Row<'t> {
    table: &'t Table,
    row: usize,
}

impl<'t> Row<'t> {
    /// Its number, counted from 1, without the header.
    pub fn number(&self) -> usize {
        self.row + 1
    }

    /// Its value in a column, as it was sent; nothing where the value is blank or there is no such column.
    pub fn get(&self, column: &str) -> Option<&'t str> {
        let value = self.table.value(self.row, self.table.column(column)?);
        (!fold(value).is_empty()).then_some(value)
    }

    /// Its values in the order of the columns.
    pub fn values(&self) -> impl Iterator<Item = &'t str> + use<'t> {
        let Self { table, row } = *self;
        (0..table.columns.len()).map(move |column| table.value(row, column))
    }
}

/// A table that is being read: rows as they come, columns as they turn up.
#[derive(Default)]
pub(super) struct Builder {
    columns: Vec<String>,
    text: String,
    /// Of each value so far: its column, and where it ends in `text`.
    cells: Vec<(u8, u32)>,
    /// Where each row begins in `cells`.
    rows: Vec<usize>,
}

impl Builder {
    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The place of the column of that name, which is new if it must be; `new` says that none may have it yet.
    pub(super) fn column(&mut self, name: &str, new: bool) -> Result<u8, String> {
        let name = name.trim();
        if let Some(place) = self.columns.iter().position(|column| column == name) {
            return if new { Err(format!("the column `{name}` is given twice")) } else { Ok(place as u8) };
        }
        let chars = name.chars().count();
        if chars == 0 {
            return Err("a column's name is blank".to_owned());
        }
        if chars > DATASET_COLUMN_CHARS || name.chars().any(char::is_control) {
            return Err(format!(
                "a column's name has 1 to {DATASET_COLUMN_CHARS} characters, none of which are control characters"
            ));
        }
        if self.columns.len() == DATASET_COLUMNS {
            return Err(format!("more than {DATASET_COLUMNS} columns"));
        }
        self.columns.push(name.to_owned());
        Ok((self.columns.len() - 1) as u8)
    }

    pub(super) fn begin_row(&mut self) -> Result<(), String> {
        if self.rows.len() == DATASET_ROWS {
            return Err(format!("more than {DATASET_ROWS} rows"));
        }
        self.rows.push(self.cells.len());
        Ok(())
    }

    /// Whether the row that was begun last has a value in this column.
    pub(super) fn has(&self, column: u8) -> bool {
        let row = self.rows.last().map_or(&[][..], |start| &self.cells[*start..]);
        row.iter().any(|cell| cell.0 == column)
    }

    pub(super) fn cell(&mut self, column: u8, value: &str) -> Result<(), String> {
        if value.len() > DATASET_CELL_BYTES {
            return Err(format!(
                "a value of {} bytes; at most {DATASET_CELL_BYTES} are allowed",
                value.len()
            ));
        }
        if value.chars().any(|char| char.is_control() && !matches!(char, '\n' | '\r' | '\t')) {
            return Err("a value holds control characters".to_owned());
        }
        self.text.push_str(value);
        self.cells.push((column, self.text.len() as u32));
        Ok(())
    }

    /// The table, if it has a row.
    pub(super) fn finish(self) -> Result<Table, String> {
        if self.rows.is_empty() || self.columns.is_empty() {
            return Err("there is no row; a dataset has at least one".to_owned());
        }
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        order.sort_unstable_by_key(|place| &self.columns[*place]);
        let mut table = Table {
            columns: order.iter().map(|place| self.columns[*place].clone()).collect(),
            text: String::with_capacity(self.text.len()),
            ends: Vec::with_capacity(self.rows.len() * order.len()),
            digest: Digest::of(b""),
            indexes: order.iter().map(|_| Default::default()).collect(),
        };
        for (nth, start) in self.rows.iter().enumerate() {
            let end = self.rows.get(nth + 1).copied().unwrap_or(self.cells.len());
            let mut values = [""; DATASET_COLUMNS];
            for cell in *start..end {
                let from = cell.checked_sub(1).map_or(0, |before| self.cells[before].1);
                let (column, to) = self.cells[cell];
                values[usize::from(column)] = &self.text[from as usize..to as usize];
            }
            for place in &order {
                table.text.push_str(values[*place]);
                table.ends.push(table.text.len() as u32);
            }
        }
        table.digest = Digest::of(&table.to_csv());
        Ok(table)
    }
}

#[cfg(test)]
mod tests;
