//! Finds quotes in the document. What a layout or a typesetter does to a text is ignored (runs of white
//! space, soft hyphens, typographic marks); what changes its meaning is not (letters, case, digits).

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::extract::layout::Layout;

/// A place in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Span {
    /// Its first byte.
    pub start: usize,
    /// The byte after its last one.
    pub end: usize,
    /// The line of its first byte, counted from 1.
    pub line: usize,
    /// The page of its first byte, counted from 1; absent where the document has no pages. A form feed begins one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<usize>,
}

/// A document, made ready for finding many quotes in it.
#[derive(Debug)]
pub struct Resolver<'d> {
    document: &'d str,
    folded: String,
    /// Where document and folded text part: from this folded byte on, up to the next entry, both go on in
    /// step from this byte of the document.
    steps: Vec<Step>,
    line_starts: Vec<usize>,
    /// Where pages end; none where the document has no pages.
    form_feeds: Vec<usize>,
    /// Its rows and cells, once somebody has asked for them.
    layout: OnceLock<Layout>,
}

#[derive(Debug, Clone, Copy)]
struct Step {
    folded: usize,
    original: usize,
}

impl<'d> Resolver<'d> {
    /// Reads the document once.
    pub fn new(document: &'d str) -> Self {
        let mut folded = String::with_capacity(document.len());
        let mut steps: Vec<Step> = Vec::new();
        let mut in_step_until = (0, 0);
        for (original, char) in Folding::new(document) {
            if steps.is_empty() || in_step_until != (folded.len(), original) {
                steps.push(Step { folded: folded.len(), original });
            }
            folded.push(char);
            in_step_until = (folded.len(), original + char.len_utf8());
        }
        let line_starts =
            std::iter::once(0).chain(document.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let form_feeds = document.match_indices('\u{c}').map(|(at, _)| at).collect();
        Self { document, folded, steps, line_starts, form_feeds, layout: OnceLock::new() }
    }

    /// The document as rows of printed cells.
    pub(super) fn layout(&self) -> &Layout {
        self.layout.get_or_init(|| Layout::of(self.document))
    }

    /// The row that a byte of the document stands in, with the byte that it begins at.
    pub(super) fn row(&self, at: usize) -> (usize, &'d str) {
        let next = self.line_starts.partition_point(|line| *line <= at);
        let start = next.checked_sub(1).map_or(0, |line| self.line_starts[line]);
        let end = self.line_starts.get(next).map_or(self.document.len(), |next| next - 1);
        (start, self.document.get(start..end).unwrap_or_default())
    }

    /// The document.
    pub fn document(&self) -> &'d str {
        self.document
    }

    /// The first place of a quote. It begins and ends where a word or a number does: `4.11` is not found
    /// in `14.11`, nor `234,56` in `1.234,56`. A blank quote stands nowhere.
    pub fn find(&self, quote: &str) -> Option<Span> {
        self.find_from(quote, 0)
    }

    /// The first place of a quote that begins at or after this byte of the document.
    pub fn find_from(&self, quote: &str, from: usize) -> Option<Span> {
        let needle = fold(quote);
        let start = find_whole(&self.folded, &needle, self.folded_from(from))?;
        Some(self.span(start, start + needle.len()))
    }

    fn span(&self, folded_start: usize, folded_end: usize) -> Span {
        let start = self.original(folded_start);
        let last = self.folded[..folded_end].chars().next_back().map_or(0, char::len_utf8);
        let last = self.original(folded_end - last);
        let end = last + self.document[last..].chars().next().map_or(0, char::len_utf8);
        self.place(start, end)
    }

    /// A part of the document, by its bytes, as a place.
    pub(super) fn place(&self, start: usize, end: usize) -> Span {
        let line = self.line_starts.partition_point(|line| *line <= start);
        let page = self.form_feeds.partition_point(|form_feed| *form_feed < start) + 1;
        Span { start, end, line, page: (!self.form_feeds.is_empty()).then_some(page) }
    }

    /// The byte of the document that became this byte of the folded text.
    fn original(&self, folded: usize) -> usize {
        let next = self.steps.partition_point(|step| step.folded <= folded);
        self.steps.get(next.saturating_sub(1)).map_or(0, |step| step.original + (folded - step.folded))
    }

    /// The first byte of the folded text that comes from this byte of the document or a later one.
    fn folded_from(&self, original: usize) -> usize {
        let next = self.steps.partition_point(|step| step.original <= original);
        let Some(step) = next.checked_sub(1).and_then(|last| self.steps.get(last)) else { return 0 };
        let in_step = step.folded + (original - step.original);
        let until = self.steps.get(next).map_or(self.folded.len(), |step| step.folded);
        let at = in_step.min(until);
        (at..=until).find(|at| self.folded.is_char_boundary(*at)).unwrap_or(until)
    }
}

/// A text as quotes are compared: runs of white space are one space and none at the ends, invisible
/// characters are gone, and typographic quotation marks and dashes are the plain ones.
pub fn fold(text: &str) -> String {
    let folded: String = Folding::new(text).map(|(_, char)| char).collect();
    folded.trim_matches(' ').to_owned()
}

/// The folded characters of a text, each with the byte it comes from.
struct Folding<'t> {
    chars: std::str::CharIndices<'t>,
    in_space: bool,
}

impl<'t> Folding<'t> {
    fn new(text: &'t str) -> Self {
        Self { chars: text.char_indices(), in_space: false }
    }
}

impl Iterator for Folding<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<(usize, char)> {
        loop {
            let (at, char) = self.chars.next()?;
            if is_invisible(char) {
                continue;
            }
            if !char.is_whitespace() {
                self.in_space = false;
                return Some((at, plain(char)));
            }
            if !std::mem::replace(&mut self.in_space, true) {
                return Some((at, ' '));
            }
        }
    }
}

/// Soft hyphen, zero-width characters, byte order mark.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

fn plain(char: char) -> char {
    match char {
        '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{b4}' | '`' => '\'',
        '\u{201c}'..='\u{201f}' | '\u{2033}' | '«' | '»' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        _ => char,
    }
}

/// Where a part first stands in a text as whole words and numbers, at or after a byte of the text.
pub(super) fn find_whole(text: &str, part: &str, from: usize) -> Option<usize> {
    if part.is_empty() {
        return None;
    }
    let first = from + text.get(from..)?.find(part)?;
    let is_whole = |start: &usize| whole(text, *start, *start + part.len());
    if is_whole(&first) { Some(first) } else { occurrences(text, part, first).find(is_whole) }
}

/// Every place of a part from a byte of the text on, overlapping ones too, in linear time (Knuth, Morris and
/// Pratt, 1977): a document of one repeated letter must not cost its square.
fn occurrences<'t>(text: &'t str, part: &'t str, from: usize) -> impl Iterator<Item = usize> + 't {
    let part = part.as_bytes();
    let borders = borders(part);
    let mut matched = 0;
    text.bytes().enumerate().skip(from).filter_map(move |(at, byte)| {
        matched = longer(part, &borders, matched, byte);
        (matched == part.len()).then(|| at + 1 - part.len())
    })
}

/// For each beginning of the part: the length of its longest border, the end that is also its beginning.
fn borders(part: &[u8]) -> Vec<usize> {
    let mut borders = vec![0; part.len()];
    for at in 1..part.len() {
        borders[at] = longer(part, &borders, borders[at - 1], part[at]);
    }
    borders
}

/// How much of the part is matched after one more byte.
fn longer(part: &[u8], borders: &[usize], mut matched: usize, byte: u8) -> usize {
    while matched > 0 && part.get(matched) != Some(&byte) {
        matched = borders[matched - 1];
    }
    matched + usize::from(part.get(matched) == Some(&byte))
}

/// Whether a part of a text begins and ends where a word or a number does.
fn whole(text: &str, start: usize, end: usize) -> bool {
    let mut before = text[..start].chars().rev();
    let mut after = text[end..].chars();
    let part = &text[start..end];
    let first = part.chars().next();
    let last = part.chars().next_back();
    !joined(first, before.next(), before.next()) && !joined(last, after.next(), after.next())
}

/// Whether a character at the edge of a part belongs to the same word or number as its neighbours outside.
fn joined(edge: Option<char>, neighbour: Option<char>, beyond: Option<char>) -> bool {
    let (Some(edge), Some(neighbour)) = (edge, neighbour) else { return false };
    if edge.is_alphanumeric() && neighbour.is_alphanumeric() {
        return true;
    }
    let in_number = matches!(neighbour, '.' | ',' | '\'');
    edge.is_ascii_digit() && in_number && beyond.is_some_and(|char| char.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found<'d>(document: &'d str, quote: &str) -> Option<&'d str> {
        Resolver::new(document).find(quote).map(|span| &document[span.start..span.end])
    }

    #[test]
    fn layout_and_typography_do_not_matter() {
        let document = "Total\u{a0}:\n\t  € 717,97 — “paid” l’in\u{ad}voice";
        assert_eq!(found(document, "Total : € 717,97"), Some("Total\u{a0}:\n\t  € 717,97"));
        assert_eq!(found(document, "  717,97 - \"paid\" "), Some("717,97 — “paid”"));
        assert_eq!(found(document, "l'invoice"), Some("l’in\u{ad}voice"));
        assert_eq!(found(document, "total"), None, "case does matter");
    }

    #[test]
    fn a_quote_is_not_found_inside_a_word_or_a_number() {
        assert_eq!(found("14.11", "4.11"), None);
        assert_eq!(found("1.234,56", "234,56"), None);
        assert_eq!(found("234,567", "234"), None);
        assert_eq!(found("Amazon", "Am"), None);
        let span = Resolver::new("14.11 and 4.11").find("4.11").unwrap();
        assert_eq!((span.start, span.end), (10, 14), "the next place is taken");
    }

    #[test]
    fn overlapping_places_are_all_tried_in_linear_time() {
        assert_eq!(Resolver::new("xa a a").find("a a").map(|span| span.start), Some(3));
        assert_eq!(occurrences("aaaa", "aa", 1).collect::<Vec<_>>(), [1, 2]);
        let (document, quote) = ("a".repeat(400_000), "a".repeat(200_000));
        assert_eq!(Resolver::new(&document).find(&quote), None);
    }

    #[test]
    fn blank_quotes_stand_nowhere() {
        assert_eq!(found("a b", ""), None);
        assert_eq!(found("a b", " \u{ad}\n"), None);
        assert_eq!(found("", "a"), None);
    }

    #[test]
    fn lines_are_counted_from_one() {
        let resolver = Resolver::new("one\ntwo\r\n\nfour one");
        assert_eq!(resolver.find("one").unwrap().line, 1);
        assert_eq!(resolver.find("two four").unwrap().line, 2);
        assert_eq!(resolver.find("four").unwrap().line, 4);
        assert_eq!(resolver.find_from("one", 1).unwrap().start, 15);
        assert_eq!(resolver.find_from("one", 16), None);
    }

    #[test]
    fn pages_are_counted_where_there_are_any() {
        let resolver = Resolver::new("one\n\u{c}two\nthree\u{c}");
        let page = |quote| resolver.find(quote).unwrap().page;
        assert_eq!((page("one"), page("two"), page("three")), (Some(1), Some(2), Some(2)));
        assert_eq!(resolver.find("one two").unwrap().page, Some(1), "a place is where it begins");
        let without = Resolver::new("one\ntwo").find("two").unwrap();
        assert_eq!(
            serde_json::to_value(without).unwrap(),
            serde_json::json!({"start": 4, "end": 7, "line": 2})
        );
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![any::<String>(), "[ab1.,'\u{2019}\u{ad}\u{a0}\u{202f} \n\u{2014}é€-]{0,40}"]
    }

    proptest! {
        #[test]
        fn a_span_is_a_slice_that_reads_as_its_quote(document in text(), quote in text(), from in 0usize..50) {
            let resolver = Resolver::new(&document);
            if let Some(span) = resolver.find_from(&quote, from) {
                let slice = document.get(span.start..span.end).unwrap();
                prop_assert_eq!(fold(slice), fold(&quote));
                prop_assert!(span.start >= from);
                prop_assert_eq!(span.line, document[..span.start].matches('\n').count() + 1);
            }
        }

        #[test]
        fn what_stands_between_spaces_is_found(before in text(), quote in text(), after in text()) {
            let document = format!("{before} {quote} {after}");
            let found = Resolver::new(&document).find(&quote);
            prop_assert_eq!(found.is_some(), !fold(&quote).is_empty());
        }
    }
}
