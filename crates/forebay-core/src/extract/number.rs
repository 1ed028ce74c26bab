//! Numbers as people and their programs write them: `1.234,56`, `1,234.56`, `1 234,56`, `1'234.56`,
//! `(9.32)`, `9,32-`, `5,-`. A form that can be read in two ways is read in both.

use rust_decimal::Decimal;

use crate::extract::doubt::{Kind, Stand};
use crate::extract::resolve::Span;
use crate::extract::style::Style;

/// Bytes before and after a span that can belong to a number at its edge.
const CONTEXT_BYTES: usize = 64;

/// Whether a number that is written inside the span can be read as this value, as the document writes numbers. The
/// neighbourhood of the span counts: half of a longer number, a part of a date, a percentage or a part of a name is
/// no number.
pub(super) fn stand(document: &str, span: &Span, value: Decimal, style: &Style) -> Stand<Decimal> {
    let (from, to) = (floor(document, span.start.saturating_sub(CONTEXT_BYTES)), span.end + CONTEXT_BYTES);
    let context = &document[from..floor(document, to.min(document.len()))];
    let found = numbers(context);
    let inside = |written: &&Written| from + written.start >= span.start && from + written.end <= span.end;
    let mut best = Stand::No;
    for written in found.iter().filter(inside).filter(|written| written.readings.contains(&value)) {
        match written.stand(value, &found, style) {
            Stand::Yes => return Stand::Yes,
            Stand::No => {}
            doubt @ Stand::Doubt(..) => best = doubt,
        }
    }
    best
}

/// How each number of a text may be written.
pub(super) fn forms(text: &str) -> Vec<Form> {
    numbers(text).into_iter().flat_map(|written| written.forms).collect()
}

/// Every value that a number of the text can be read as.
pub(super) fn values(text: &str) -> Vec<Decimal> {
    numbers(text).into_iter().flat_map(|written| written.readings).collect()
}

/// Where a text prints a number that can be read as this value, or as its opposite.
pub(super) fn places(text: &str, value: Decimal) -> Vec<(usize, usize)> {
    let is = |written: &Written| written.readings.iter().any(|reading| reading.abs() == value.abs());
    numbers(text).into_iter().filter(is).map(|written| (written.start, written.end)).collect()
}

/// The percentages of a text: `21 %`, `14,50%`.
pub(super) fn percents(text: &str) -> Vec<Decimal> {
    let before = |(at, _): (usize, &str)| {
        let number = text[..at].trim_end_matches([' ', '\u{a0}', '\u{202f}']);
        let is_part = |char: char| char.is_ascii_digit() || matches!(char, '.' | ',');
        let digits = number.trim_end_matches(is_part).len();
        let plain = number[digits..].replace(',', ".");
        Decimal::from_str_exact(plain.trim_matches('.')).ok()
    };
    text.match_indices('%').filter_map(before).collect()
}

pub(super) fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A number in a text, from its sign to its last digit or mark.
#[derive(Debug, PartialEq, Eq)]
struct Written {
    start: usize,
    end: usize,
    /// Whether a plain space stands inside it, so that it may as well be several numbers.
    spaced: bool,
    readings: Vec<Decimal>,
    /// How each reading has it, without regard to the sign: when both signs are read, the list is gone through twice.
    forms: Vec<Form>,
}

/// How a number is written, in one of its readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    /// The mark before decimals, and how many there are.
    pub(super) decimal: Option<char>,
    pub(super) decimals: usize,
    /// The mark between thousands; a space stands for all of them.
    pub(super) grouping: Option<char>,
    pub(super) whole_digits: usize,
    /// Whether there is another reading.
    pub(super) ambiguous: bool,
    /// Whether the space between thousands is surely one, or the digits before the mark are padded with zeros, so
    /// that they go on from something before them.
    pub(super) certain_space: bool,
}

impl Written {
    fn stand(&self, value: Decimal, all: &[Written], style: &Style) -> Stand<Decimal> {
        let fits = |form: &Form| match style.decimal {
            Some(mark) => form.decimal.is_none_or(|own| own == mark) && form.grouping != Some(mark),
            None => true,
        };
        let ambiguous = self.forms.len() > 1;
        let readings = self.readings.iter().zip(self.forms.iter().cycle());
        let mut readings = readings.filter(|(_, form)| !ambiguous || fits(form)).map(|(reading, _)| *reading);
        let other = readings.clone().find(|reading| reading.abs() != value.abs());
        if !readings.any(|reading| reading == value) {
            return Stand::No;
        }
        if let Some(other) = other {
            return Stand::Doubt(other, Kind::Mark);
        }
        self.stand_between_spaces(all, style)
    }

    /// One number with a space in it, or several.
    fn stand_between_spaces(&self, all: &[Written], style: &Style) -> Stand<Decimal> {
        let overlaps = |other: &&Written| {
            other.spaced != self.spaced && other.start < self.end && self.start < other.end
        };
        let others: Vec<_> = all.iter().filter(overlaps).collect();
        match (others.last().and_then(|other| other.readings.first()), style.spaces_group) {
            (None, _) => Stand::Yes,
            (Some(_), Some(group)) => {
                if group == self.spaced {
                    Stand::Yes
                } else {
                    Stand::No
                }
            }
            (Some(other), None) => Stand::Doubt(*other, Kind::Space),
        }
    }
}

/// The numbers of a text. `2 150.00` may be one number or two: it is given as all three. After a currency
/// sign it is one.
fn numbers(text: &str) -> Vec<Written> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let scan = Scan { length: text.len(), chars };
    let spaced: Vec<Written> = scan.all(true).into_iter().filter(|written| written.spaced).collect();
    let is_part_of_one = |part: &Written| {
        let next = spaced.partition_point(|whole| whole.end <= part.start);
        spaced.get(next).is_some_and(|whole| whole.start < part.end && scan.follows_currency(whole.start))
    };
    let mut found: Vec<Written> = scan.all(false).into_iter().filter(|part| !is_part_of_one(part)).collect();
    found.extend(spaced);
    found
}

struct Scan {
    chars: Vec<(usize, char)>,
    length: usize,
}

/// Digits and the separators between them, by indices of characters.
struct Run {
    start: usize,
    end: usize,
    groups: Vec<String>,
    separators: Vec<char>,
    spaced: bool,
}

impl Scan {
    fn all(&self, across_spaces: bool) -> Vec<Written> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < self.chars.len() {
            if !self.digit(at) {
                at += 1;
                continue;
            }
            let run = self.run(at, across_spaces);
            at = run.end;
            found.extend(self.written(run));
        }
        found
    }

    fn run(&self, start: usize, across_spaces: bool) -> Run {
        let mut run =
            Run { start, end: start, groups: vec![String::new()], separators: Vec::new(), spaced: false };
        loop {
            while let Some(char) = self.char(run.end).filter(char::is_ascii_digit) {
                if let Some(group) = run.groups.last_mut() {
                    group.push(char);
                }
                run.end += 1;
            }
            match self.separator(&run, across_spaces) {
                Some(separator) => {
                    run.spaced |= self.char(run.end) == Some(' ');
                    run.separators.push(separator);
                    run.groups.push(String::new());
                    run.end += 1;
                }
                None => return run,
            }
        }
    }

    /// The separator after a run, in its plain form, when the number goes on after it.
    fn separator(&self, run: &Run, across_spaces: bool) -> Option<char> {
        if !self.digit(run.end + 1) {
            return None;
        }
        let three_digits = (1..=3).all(|offset| self.digit(run.end + offset)) && !self.digit(run.end + 4);
        let grouped_by = |mark: char| {
            let first = run.groups.first().map_or(0, String::len);
            three_digits
                && (1..=3).contains(&first)
                && !run.groups[0].starts_with('0')
                && run.separators.iter().all(|separator| *separator == mark)
        };
        match self.char(run.end)? {
            char @ ('.' | ',') => Some(char),
            '\'' | '\u{2019}' if grouped_by('\'') => Some('\''),
            '\u{a0}' | '\u{202f}' | '\u{2009}' if grouped_by(' ') => Some(' '),
            ' ' if across_spaces && grouped_by(' ') => Some(' '),
            _ => None,
        }
    }

    fn written(&self, mut run: Run) -> Option<Written> {
        if !self.free_before(run.start) || !self.free_after(run.end) {
            return None;
        }
        let (mut readings, mut forms): (Vec<_>, Vec<_>) =
            self.leading_fraction(&mut run).unwrap_or_else(|| readings(&run)).into_iter().unzip();
        let spaces = run.separators.iter().filter(|separator| **separator == ' ').count();
        let certain = spaces > 0 && (!run.spaced || spaces > 1 || self.before_currency(run.start).is_some());
        forms.iter_mut().for_each(|form: &mut Form| form.certain_space |= certain);
        let no_cents =
            matches!(self.char(run.end), Some('.' | ',')) && self.char(run.end + 1).is_some_and(is_dash);
        if no_cents {
            run.end += 2;
        }
        self.apply_sign(&mut run, no_cents, &mut readings);
        let start = self.chars.get(run.start)?.0;
        let end = self.chars.get(run.end).map_or(self.length, |(at, _)| *at);
        (!readings.is_empty()).then_some(Written { start, end, spaced: run.spaced, readings, forms })
    }

    /// `.50` is a fraction, never fifty.
    fn leading_fraction(&self, run: &mut Run) -> Option<Vec<(Decimal, Form)>> {
        let mark = run.start.checked_sub(1)?;
        let alone =
            mark.checked_sub(1).and_then(|at| self.char(at)).is_none_or(|char| !char.is_alphanumeric());
        if !matches!(self.char(mark), Some('.' | ',')) || !alone {
            return None;
        }
        run.start = mark;
        let [digits] = run.groups.as_slice() else { return Some(Vec::new()) };
        let form = Form { decimal: self.char(mark), decimals: digits.len(), ..Form::whole(1) };
        Some(decimal("0", digits).map(|number| (number, form)).into_iter().collect())
    }

    /// A sign next to the number (or next to its currency sign) is part of it. A dash with a space may be
    /// one, and so may parentheses: both signs are read.
    fn apply_sign(&self, run: &mut Run, no_cents: bool, readings: &mut Vec<Decimal>) {
        let (number, before) = (run.start, self.before_currency(run.start));
        for at in [Some(number), before].into_iter().flatten() {
            if at.checked_sub(1).is_some_and(|dash| self.is_sign(dash)) {
                run.start = at - 1;
                return negate(readings);
            }
        }
        if !no_cents && self.char(run.end).is_some_and(is_minus) && self.ends_word(run.end + 1) {
            run.end += 1;
            return negate(readings);
        }
        let outside = before.unwrap_or(number);
        let in_parentheses =
            outside > 0 && self.char(outside - 1) == Some('(') && self.char(run.end) == Some(')');
        let spaced_dash = outside > 1 && self.char(outside - 1) == Some(' ') && self.is_sign(outside - 2);
        if in_parentheses || spaced_dash {
            let mut negative = readings.clone();
            negate(&mut negative);
            readings.extend(negative);
        }
    }

    /// Where the currency sign before a number begins.
    fn before_currency(&self, number: usize) -> Option<usize> {
        let nearest = number.checked_sub(1)?;
        let sign = if self.char(nearest) == Some(' ') { nearest.checked_sub(1)? } else { nearest };
        self.char(sign).filter(|char| is_currency_sign(*char)).map(|_| sign)
    }

    fn follows_currency(&self, byte: usize) -> bool {
        let number = self.chars.partition_point(|(at, _)| *at < byte);
        self.before_currency(number).is_some() || self.char(number).is_some_and(is_currency_sign)
    }

    /// A minus before a number, not the hyphen of `2014-05` or `DE-63571`.
    fn is_sign(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.char(before));
        self.char(at).is_some_and(is_minus)
            && before.is_none_or(|char| !char.is_alphanumeric() && !matches!(char, ')' | '.' | ','))
    }

    fn ends_word(&self, at: usize) -> bool {
        self.char(at).is_none_or(|char| char.is_whitespace() || char == ')')
    }

    fn free_before(&self, start: usize) -> bool {
        let Some(at) = start.checked_sub(1) else { return true };
        let beyond = at.checked_sub(1).and_then(|before| self.char(before));
        match self.char(at) {
            Some(char) if is_letter(char) => self.is_unit_before(at),
            Some('/' | '_' | '\\') => !beyond.is_some_and(char::is_alphanumeric),
            Some(':' | '\'' | '\u{2019}' | '.' | ',') => !beyond.is_some_and(char::is_numeric),
            Some(char) if is_minus(char) => self.is_sign(at),
            Some(char) => !char.is_numeric(),
            None => true,
        }
    }

    fn free_after(&self, end: usize) -> bool {
        let beyond = self.char(end + 1);
        match self.char(end) {
            Some(char) if is_letter(char) => self.is_unit_after(end),
            Some('%' | '‰' | '年' | '月' | '日' | '号' | '番') => false,
            Some(' ' | '\u{a0}' | '\u{202f}') => !matches!(beyond, Some('%' | '‰')),
            Some('/' | '_' | '\\') => !beyond.is_some_and(char::is_alphanumeric),
            Some(':' | '\'' | '\u{2019}') => !beyond.is_some_and(char::is_numeric),
            Some(char) if is_minus(char) => !beyond.is_some_and(char::is_alphanumeric),
            Some(char) => !char.is_numeric(),
            None => true,
        }
    }

    /// `EUR5`, `Rs40`, `kr5`, `x2`; not `A4`, `CA6707`, `VF1005193039`.
    fn is_unit_before(&self, last: usize) -> bool {
        let letters: Vec<char> = self.chars[..=last]
            .iter()
            .rev()
            .map(|(_, char)| *char)
            .take_while(|char| char.is_alphabetic())
            .take(4)
            .collect();
        let beyond = last.checked_sub(letters.len()).and_then(|at| self.char(at));
        let connected = beyond.is_some_and(|char| char.is_alphanumeric() || matches!(char, '_' | '-' | '/'));
        let code = letters.len() == 3 && letters.iter().all(|char| char.is_uppercase());
        let word =
            (2..=3).contains(&letters.len()) && letters.first().is_some_and(|char| char.is_lowercase());
        !connected && (code || word || letters == ['x'])
    }

    /// `5kg`, `29.99EUR`; not `3DS`, `16GB`.
    fn is_unit_after(&self, first: usize) -> bool {
        let rest = self.chars.iter().skip(first).map(|(_, char)| *char);
        let letters: Vec<char> = rest.take_while(|char| char.is_alphabetic()).take(4).collect();
        let connected =
            self.char(first + letters.len()).is_some_and(|char| char.is_alphanumeric() || char == '_');
        let code = letters.len() == 3 && letters.iter().all(|char| char.is_uppercase());
        let unit = (1..=3).contains(&letters.len()) && letters.iter().all(|char| char.is_lowercase());
        !connected && (code || unit)
    }

    fn digit(&self, at: usize) -> bool {
        self.char(at).is_some_and(|char| char.is_ascii_digit())
    }

    fn char(&self, at: usize) -> Option<char> {
        self.chars.get(at).map(|(_, char)| *char)
    }
}

/// A letter of a script that sets words apart. Others have no capital letters: `1,250円`.
fn is_letter(char: char) -> bool {
    char.is_lowercase() || char.is_uppercase()
}

fn is_minus(char: char) -> bool {
    matches!(char, '-' | '\u{2212}' | '\u{2010}'..='\u{2013}')
}

fn is_dash(char: char) -> bool {
    is_minus(char) || matches!(char, '\u{2014}' | '\u{2015}')
}

fn is_currency_sign(char: char) -> bool {
    matches!(char, '$' | '¢'..='¥' | '\u{20a0}'..='\u{20cf}' | '\u{ffe0}'..='\u{ffe6}')
}

fn negate(readings: &mut [Decimal]) {
    for reading in readings {
        *reading = -*reading;
    }
}

impl Form {
    fn whole(digits: usize) -> Self {
        Self {
            decimal: None,
            decimals: 0,
            grouping: None,
            whole_digits: digits,
            ambiguous: false,
            certain_space: false,
        }
    }
}

/// What a run can mean: with its last separator as the decimal one, and with all separators grouping.
fn readings(run: &Run) -> Vec<(Decimal, Form)> {
    let Some((fraction, whole)) = run.groups.split_last() else { return Vec::new() };
    let digits = |groups: &[String]| groups.iter().map(String::len).sum();
    let Some((last, grouping)) = run.separators.split_last() else {
        return decimal(fraction, "")
            .map(|number| (number, Form::whole(fraction.len())))
            .into_iter()
            .collect();
    };
    let one_kind = |separators: &[char]| separators.windows(2).all(|pair| pair[0] == pair[1]);
    let as_decimal = matches!(last, '.' | ',')
        && one_kind(grouping)
        && !grouping.contains(last)
        && (grouping.is_empty() || grouped(whole, grouping[0]));
    let as_groups = one_kind(&run.separators) && grouped(&run.groups, *last);
    let decimal_reading = as_decimal.then(|| decimal(&whole.concat(), fraction)).flatten();
    let grouped_reading = as_groups.then(|| decimal(&run.groups.concat(), "")).flatten();
    let ambiguous = decimal_reading.is_some() && grouped_reading.is_some();
    let padded = whole.len() == 1 && whole[0].len() == 3 && whole[0].starts_with('0');
    let with_decimals = Form {
        decimal: Some(*last),
        decimals: fraction.len(),
        grouping: grouping.first().copied(),
        ambiguous,
        certain_space: padded,
        ..Form::whole(digits(whole))
    };
    let with_groups = Form { grouping: Some(*last), ambiguous, ..Form::whole(digits(&run.groups)) };
    let decimal_reading = decimal_reading.map(|number| (number, with_decimals));
    decimal_reading.into_iter().chain(grouped_reading.map(|number| (number, with_groups))).collect()
}

/// Groups of three after one to three digits that do not begin with zero; `1,00,000` as in India too.
fn grouped(groups: &[String], separator: char) -> bool {
    let [first, middle @ .., last] = groups else { return false };
    let size = if separator == ',' { 2..=3 } else { 3..=3 };
    (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && middle.iter().all(|group| size.contains(&group.len()))
        && last.len() == 3
}

fn decimal(whole: &str, fraction: &str) -> Option<Decimal> {
    let text = if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") };
    Decimal::from_str_exact(&text).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut found: Vec<String> = numbers(text)
            .iter()
            .flat_map(|written| &written.readings)
            .map(|d| d.normalize().to_string())
            .collect();
        found.dedup();
        found
    }

    #[test]
    fn separators_of_many_countries_are_understood() {
        for text in
            ["1.234,56", "1,234.56", "1\u{a0}234,56", "1\u{202f}234,56", "1'234.56", "1’234.56", "€ 1 234,56"]
        {
            assert_eq!(all(text), ["1234.56"], "{text}");
        }
        assert_eq!(all("12.345.678"), ["12345678"]);
        assert_eq!(all("1,00,000.50"), ["100000.5"]);
        assert_eq!(all("717,97"), ["717.97"]);
        assert_eq!(all(".50"), ["0.5"]);
        assert_eq!(all("0,900"), ["0.9"]);
    }

    #[test]
    fn ambiguous_forms_are_read_both_ways() {
        assert_eq!(all("1,234"), ["1.234", "1234"]);
        assert_eq!(all("54.910"), ["54.91", "54910"]);
        assert_eq!(all("2 150.00"), ["2", "150", "2150"]);
        assert_eq!(all("(9.32)"), ["9.32", "-9.32"]);
        assert_eq!(all("Total - 5.00"), ["5", "-5"]);
    }

    #[test]
    fn signs_belong_to_their_number() {
        for text in
            ["-9,32", "€ -9,32", "-€ 9,32", "€-9,32", "9,32-", "\u{2212}9,32", "9,32- EUR", "Rs -9.32,"]
        {
            assert_eq!(all(text), ["-9.32"], "{text}");
        }
        assert_eq!(all("5,- 7.–"), ["5", "7"], "a dash in place of cents is no sign");
    }

    #[test]
    fn currencies_and_units_may_touch_a_number() {
        for text in ["$4.11", "EUR4.11", "4.11€", "4.11EUR", "4.11kg", "Rs4.11", "(Total:4.11)", "4.11."] {
            assert!(all(text).contains(&"4.11".to_owned()), "{text}");
        }
    }

    #[test]
    fn what_only_contains_digits_is_no_number() {
        for text in [
            "21%",
            "21 %",
            "0.2%",
            "2023-03-20",
            "03/20/2023",
            "01.05.14",
            "12:30",
            "3DS",
            "CA6707/10",
            "A4",
            "VF1005193039",
            "INV_12",
            "83/100",
            "1.2.3.4",
            "DE-63571",
            "1.23,45.6",
            "12345678901234567890123456789012",
        ] {
            assert_eq!(all(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn only_whole_numbers_inside_the_span_count() {
        let stands = |document: &str, part: &str, value: &str| {
            let start = document.find(part).unwrap();
            let span = Span { start, end: start + part.len(), line: 1, page: None };
            stand(document, &span, value.parse().unwrap(), &Style::default()) == Stand::Yes
        };
        assert!(stands("Totaal € 717,97", "€ 717,97", "717.97"));
        assert!(!stands("Totaal € 1.717,97", "717,97", "717.97"));
        assert!(!stands("Totaal € 717,97-", "€ 717,97", "717.97"));
        assert!(!stands("Korting € -9,32", "9,32", "9.32"));
        assert!(!stands("BTW 21%", "BTW 21", "21"));
        assert!(stands(&format!("{} 5.00", "é".repeat(100)), "5.00", "5"));
    }

    #[test]
    fn the_documents_style_decides_or_there_is_doubt() {
        let stands = |text: &str, value: &str, style: &Style| {
            let span = Span { start: 0, end: text.len(), line: 1, page: None };
            stand(text, &span, value.parse().unwrap(), style)
        };
        let comma = Style { decimal: Some(','), ..Style::default() };
        let point = Style { decimal: Some('.'), ..Style::default() };
        let (small, large) = ("54.910".parse().unwrap(), "54910".parse().unwrap());
        assert_eq!(stands("54,910", "54.91", &comma), Stand::Yes);
        assert_eq!(stands("54,910", "54910", &comma), Stand::No);
        assert_eq!(stands("54,910", "54910", &point), Stand::Yes);
        assert_eq!(stands("54,910", "54910", &Style::default()), Stand::Doubt(small, Kind::Mark));
        assert_eq!(stands("54,910", "54.91", &Style::default()), Stand::Doubt(large, Kind::Mark));
        assert_eq!(stands("12.50", "12.50", &comma), Stand::Yes, "what has one reading has it in any style");
        let (grouping, apart) =
            (Style { spaces_group: Some(true), ..comma }, Style { spaces_group: Some(false), ..comma });
        assert_eq!(stands("1 234,56", "1234.56", &grouping), Stand::Yes);
        assert_eq!(stands("1 234,56", "234.56", &grouping), Stand::No);
        assert_eq!(stands("1 234,56", "1", &apart), Stand::Yes);
        assert_eq!(stands("1 234,56", "1234.56", &apart), Stand::No);
        assert!(matches!(stands("1 234,56", "234.56", &comma), Stand::Doubt(_, Kind::Space)));
        assert_eq!(stands("€ 1 234,56", "1234.56", &comma), Stand::Yes);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), marks in "[0-9., '\u{a0}()€x%/:_-]{0,40}", start in 0usize..40, length in 0usize..40) {
            numbers(&text);
            for written in numbers(&marks) {
                prop_assert!(marks.get(written.start..written.end).is_some());
            }
            let start = floor(&marks, start.min(marks.len()));
            let end = floor(&marks, (start + length).min(marks.len()));
            stand(&marks, &Span { start, end, line: 1, page: None }, Decimal::ONE, &Style::default());
        }
    }
}
