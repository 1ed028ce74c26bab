//! A document as rows of printed cells, to find what stands beside what.

use crate::extract::resolve::fold;

/// Rows that a label may stand above its value, blank ones not counted, where nothing is between them.
const HEADER_ROWS: usize = 3;

/// The rows of a document that are not blank, in order.
#[derive(Debug)]
pub(super) struct Layout(Vec<Vec<Cell>>);

/// What two spaces or a tab set apart in a row.
#[derive(Debug)]
pub(super) struct Cell {
    /// Its first byte in the document, and the byte after its last.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Its columns, in characters.
    columns: std::ops::Range<usize>,
    /// Its text as quotes are compared, in lower case.
    pub(super) text: String,
    /// Its words alone, each between spaces.
    pub(super) words: String,
}

/// A cell's place: its row, and its place in it.
pub(super) type At = (usize, usize);

impl Layout {
    pub(super) fn of(document: &str) -> Self {
        let mut rows = Vec::new();
        let mut at = 0;
        for line in document.split_inclusive('\n') {
            let (mut row, mut column, mut counted) = (Vec::new(), 0, 0);
            for (start, text) in cells(line) {
                column += line[counted..start].chars().count();
                let width = text.chars().count();
                let (from, to) = (at + start, at + start + text.len());
                let columns = column..column + width;
                let plain = fold(text).to_lowercase();
                row.push(Cell { start: from, end: to, columns, words: words(text), text: plain });
                (column, counted) = (column + width, start + text.len());
            }
            if !row.is_empty() {
                rows.push(row);
            }
            at += line.len();
        }
        Self(rows)
    }

    pub(super) fn cell(&self, (row, cell): At) -> &Cell {
        &self.0[row][cell]
    }

    pub(super) fn places(&self) -> impl Iterator<Item = At> + '_ {
        self.0.iter().enumerate().flat_map(|(row, cells)| (0..cells.len()).map(move |cell| (row, cell)))
    }

    /// The cell to the left.
    pub(super) fn left(&self, (row, cell): At) -> Option<At> {
        cell.checked_sub(1).map(|left| (row, left))
    }

    /// The cells to the right, nearest first.
    pub(super) fn right(&self, (row, cell): At) -> impl Iterator<Item = At> + '_ {
        (cell + 1..self.0[row].len()).map(move |cell| (row, cell))
    }

    /// The nearest cell above.
    pub(super) fn above(&self, at: At) -> Option<At> {
        let rows = (0..at.0).rev().take(HEADER_ROWS);
        rows.flat_map(|row| self.in_columns(at, row)).next()
    }

    /// The cells below in the same columns, in so many rows.
    pub(super) fn below(&self, at: At, rows: usize) -> impl Iterator<Item = At> + '_ {
        (at.0 + 1..self.0.len()).take(rows).flat_map(move |row| self.in_columns(at, row))
    }

    fn in_columns(&self, at: At, row: usize) -> impl Iterator<Item = At> + '_ {
        let columns = &self.cell(at).columns;
        let overlaps =
            move |cell: &Cell| cell.columns.start < columns.end && columns.start < cell.columns.end;
        self.0[row]
            .iter()
            .enumerate()
            .filter(move |(_, cell)| overlaps(cell))
            .map(move |(cell, _)| (row, cell))
    }
}

impl Cell {
    /// Whether one of these labels, as [`words`] makes them, stands in the cell.
    pub(super) fn has(&self, labels: &[String]) -> bool {
        labels.iter().any(|label| self.words.contains(label.as_str()))
    }

    /// A cell of words alone: what may be a label of its neighbours.
    pub(super) fn is_wordy(&self) -> bool {
        !self.text.contains(|char: char| char.is_ascii_digit())
    }
}

/// The words of a text in lower case, with a space before and after each: what labels are compared by. `V.A.T.` is one.
pub(super) fn words(text: &str) -> String {
    let mut words = String::from(" ");
    let (mut single, mut rest) = (false, text);
    while let Some(start) = rest.find(char::is_alphanumeric) {
        let between = &rest[..start];
        rest = &rest[start..];
        let word = &rest[..rest.find(|char: char| !char.is_alphanumeric()).unwrap_or(rest.len())];
        rest = &rest[word.len()..];
        let is_single = word.chars().nth(1).is_none() && word.starts_with(char::is_alphabetic);
        if single && is_single && between == "." {
            words.pop();
        }
        words.extend(word.chars().flat_map(char::to_lowercase));
        words.push(' ');
        single = is_single;
    }
    words
}

/// The cells of a printed row, with the byte that each begins at.
pub(super) fn cells(row: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = row.get(at..)?;
        let text = rest.trim_start();
        if text.is_empty() {
            return None;
        }
        let start = at + rest.len() - text.len();
        let gap = |pair: &[u8]| pair[0] == b'\t' || pair == b"  ";
        let end = text.as_bytes().windows(2).position(gap).unwrap_or(text.len());
        at = start + end;
        Some((start, text[..end].trim_end()))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cells_stand_beside_and_below_each_other() {
        let layout = Layout::of("Order Date   Due\u{e9} Date:\n\n01/02/2023   03/04/2023  €\n");
        let text = |at: At| layout.cell(at).text.clone();
        assert_eq!(
            layout.places().map(text).collect::<Vec<_>>(),
            ["order date", "dueé date:", "01/02/2023", "03/04/2023", "€"]
        );
        assert_eq!(layout.above((1, 1)).map(text), Some("dueé date:".to_owned()));
        assert_eq!(layout.left((1, 1)).map(text), Some("01/02/2023".to_owned()));
        assert_eq!(layout.below((0, 0), 1).map(text).collect::<Vec<_>>(), ["01/02/2023"]);
        assert_eq!(layout.right((1, 0)).map(text).collect::<Vec<_>>(), ["03/04/2023", "€"]);
        assert!(layout.cell((0, 1)).has(&[words("Date")]) && !layout.cell((0, 1)).has(&[words("Dat")]));
    }

    #[test]
    fn letters_with_points_are_one_word() {
        for (text, expected) in [
            ("V.A.T. @ 20 %", " vat 20 "),
            ("P.O. Box, A. Smith", " po box a smith "),
            ("I.V.A.", " iva "),
            ("P.IVA", " p iva "),
            ("plan B. A new", " plan b a new "),
            ("--", " "),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn cells_are_slices_of_any_text(text in any::<String>(), spaced in "[ab\t\n  \u{e9}\u{a0}]{0,40}") {
            for document in [text, spaced] {
                let layout = Layout::of(&document);
                for at in layout.places() {
                    let cell = layout.cell(at);
                    prop_assert!(document.get(cell.start..cell.end).is_some());
                }
            }
        }
    }
}
