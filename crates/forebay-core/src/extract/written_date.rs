//! Dates as documents print them, in a dozen languages: `2023-03-20`, `03/20/2023`, `20.3.23`, `7. Mai 2014`,
//! `August 3 , 2014`, `le 1er août 2015`. When day and month could be exchanged, the document's other dates decide.

use jiff::civil::Date;

use crate::extract::doubt::{Kind, Stand};

/// Whether the text prints this date, as the document orders day and month.
pub(super) fn stand(text: &str, date: Date, day_first: Option<bool>) -> Stand<Date> {
    let tokens = tokens(text);
    if compact(&tokens, date) || named(&tokens).windows(3).any(|three| with_month_name(three, date)) {
        return Stand::Yes;
    }
    let mut best = Stand::No;
    for stand in tokens.windows(5).map(|five| numeric(five, date, day_first)) {
        match stand {
            Stand::Yes => return Stand::Yes,
            Stand::No => {}
            doubt @ Stand::Doubt(..) => best = doubt,
        }
    }
    best
}

/// Whether the text prints any date.
pub(super) fn has_date(text: &str) -> bool {
    use Token::{Mark, Number, Word};
    let tokens = tokens(text);
    let of_numbers = |five: &[Token]| match five {
        [Number(4, _), Word(year), Number(1..=2, _), Word(month), Number(1..=2, _)] => is_of_han(year, month),
        [Number(1..=4, a), Mark(one), Number(1..=2, b), Mark(other), Number(1..=4, c)] => {
            separator(*one).is_some()
                && separator(*one) == separator(*other)
                && [*a, *b, *c].iter().all(|part| *part > 0)
        }
        _ => false,
    };
    let with_name = |three: &[&Token]| match three {
        [Number(1..=4, _), Word(name), Number(1..=4, _)]
        | [Word(name), Number(1..=2, _), Number(2 | 4, _)] => month(name).is_some(),
        _ => false,
    };
    tokens.windows(5).any(of_numbers) || named(&tokens).windows(3).any(with_name)
}

/// Of each date of numbers that can be read in one order only: whether its day comes first.
pub(super) fn orders(text: &str) -> Vec<bool> {
    use Token::{Mark, Number};
    let order = |five: &[Token]| match five {
        [Number(1..=2, a), Mark(one), Number(1..=2, b), Mark(other), Number(2 | 4, _)]
            if one == other && matches!(separator(*one), Some('/' | '-')) =>
        {
            match (*a, *b) {
                (13..=31, 1..=12) => Some(true),
                (1..=12, 13..=31) => Some(false),
                _ => None,
            }
        }
        _ => None,
    };
    if !text.contains(['/', '-', '\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2212}']) {
        return Vec::new();
    }
    tokens(text).windows(5).filter_map(order).collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// Digits: how many, and their value.
    Number(usize, u32),
    Word(String),
    Mark(char),
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first.is_ascii_digit() {
            rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len())
        } else if first.is_alphabetic() {
            rest.find(|char: char| !char.is_alphabetic()).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (part, after) = rest.split_at(length);
        rest = after;
        if first.is_ascii_digit() {
            // A number too long for a day or a year is none of them, whatever its value.
            tokens.push(Token::Number(length, part.parse().unwrap_or(0)));
        } else if first.is_alphabetic() {
            tokens.push(Token::Word(part.to_lowercase()));
        } else if !first.is_whitespace() {
            tokens.push(Token::Mark(first));
        }
    }
    tokens
}

/// `20230320`.
fn compact(tokens: &[Token], date: Date) -> bool {
    let (Ok(year), Ok(month), Ok(day)) =
        (u32::try_from(date.year()), u32::try_from(date.month()), u32::try_from(date.day()))
    else {
        return false;
    };
    tokens.contains(&Token::Number(8, year * 10_000 + month * 100 + day))
}

/// Three numbers with the same separator twice. With full stops the day comes first wherever that is written.
fn numeric(five: &[Token], date: Date, day_first: Option<bool>) -> Stand<Date> {
    use Token::{Mark, Number, Word};
    if let [Number(4, year), Word(after_year), Number(1..=2, month), Word(after_month), Number(1..=2, day)] =
        five
        && is_of_han(after_year, after_month)
    {
        return if is(date, (4, *year), *month, *day) { Stand::Yes } else { Stand::No };
    }
    let [Number(a_len, a), Mark(one), Number(b_len, b), Mark(other), Number(c_len, c)] = five else {
        return Stand::No;
    };
    let Some(mark) = separator(*one).filter(|mark| separator(*other) == Some(*mark) && *b_len <= 2) else {
        return Stand::No;
    };
    if *a_len == 4 && *c_len <= 2 {
        return if is(date, (4, *a), *b, *c) { Stand::Yes } else { Stand::No };
    }
    let day_first = if mark == '.' { Some(true) } else { day_first };
    let (by_day, by_month) = (is(date, (*c_len, *c), *b, *a), is(date, (*c_len, *c), *a, *b));
    let may_be_month_first = *a <= 12 && *b <= 31 && *b >= 1;
    let may_be_day_first = *b <= 12 && *a <= 31 && *a >= 1;
    if *a_len > 2 || !(by_day || by_month) {
        return Stand::No;
    }
    let stands = |right: bool| if right { Stand::Yes } else { Stand::No };
    match day_first {
        _ if a == b || !may_be_month_first || !may_be_day_first => Stand::Yes,
        Some(true) => stands(by_day),
        Some(false) => stands(by_month),
        None => match Date::new(date.year(), date.day(), date.month()) {
            Ok(other) => Stand::Doubt(other, Kind::Day),
            Err(_) => Stand::Yes,
        },
    }
}

/// `2025年3月14日`, `2025년 3월 14일`.
fn is_of_han(year: &str, month: &str) -> bool {
    matches!((year, month), ("年", "月") | ("년", "월"))
}

fn separator(mark: char) -> Option<char> {
    match mark {
        '.' | '/' => Some(mark),
        '-' | '\u{2010}'..='\u{2013}' | '\u{2212}' => Some('-'),
        _ => None,
    }
}

/// The tokens that a date with a month's name consists of: marks, ordinal endings and articles are gone.
fn named(tokens: &[Token]) -> Vec<&Token> {
    let fillers = ["st", "nd", "rd", "th", "er", "re", "de", "del", "of", "the", "den", "e", "o", "r", "d"];
    tokens
        .iter()
        .filter(|token| match token {
            Token::Number(..) => true,
            Token::Word(word) => !fillers.contains(&word.as_str()),
            Token::Mark(mark) => !matches!(mark, '.' | ',' | '-' | '/' | '\'' | '’' | 'º' | '°'),
        })
        .collect()
}

fn with_month_name(three: &[&Token], date: Date) -> bool {
    use Token::{Number, Word};
    match three {
        [Number(first_len, first), Word(name), Number(last_len, last)] => month(name).is_some_and(|month| {
            (*first_len <= 2 && is(date, (*last_len, *last), month, *first))
                || (*first_len == 4 && *last_len <= 2 && is(date, (4, *first), month, *last))
        }),
        [Word(name), Number(day_len, day), Number(year_len, year)] => {
            *day_len <= 2 && month(name).is_some_and(|month| is(date, (*year_len, *year), month, *day))
        }
        _ => false,
    }
}

/// Two-digit years are those of 1970 to 2069.
fn is(date: Date, (year_len, year): (usize, u32), month: u32, day: u32) -> bool {
    let year = match (year_len, year) {
        (4, year) => year,
        (2, 70..) => 1900 + year,
        (2, _) => 2000 + year,
        _ => return false,
    };
    let same = |part: i64, number: u32| part == i64::from(number);
    same(date.year().into(), year) && same(date.month().into(), month) && same(date.day().into(), day)
}

/// Names and abbreviations of months, lower case and without accents, in English, German, Dutch, French,
/// Spanish, Italian, Polish (both cases), Portuguese, Czech, Danish, Norwegian and Swedish.
const MONTHS: [&[&str]; 12] = [
    &[
        "january", "jan", "januar", "janner", "jaenner", "januari", "janvier", "janv", "enero", "ene",
        "gennaio", "gen", "stycznia", "styczen", "sty", "janeiro", "ledna",
    ],
    &[
        "february",
        "feb",
        "februar",
        "februari",
        "fevrier",
        "fevr",
        "fev",
        "febrero",
        "febbraio",
        "lutego",
        "luty",
        "lut",
        "fevereiro",
        "unora",
    ],
    &[
        "march", "mar", "marz", "maerz", "mrz", "maart", "mrt", "mars", "marzo", "marca", "marzec", "marco",
        "marts", "brezna",
    ],
    &["april", "apr", "avril", "avr", "abril", "abr", "aprile", "kwietnia", "kwiecien", "kwi", "dubna"],
    &["may", "mai", "mei", "mayo", "maggio", "mag", "maja", "maj", "maio", "kvetna"],
    &[
        "june", "jun", "juni", "juin", "junio", "giugno", "giu", "czerwca", "czerwiec", "cze", "junho",
        "cervna",
    ],
    &[
        "july", "jul", "juli", "juillet", "juil", "julio", "luglio", "lug", "lipca", "lipiec", "lip",
        "julho", "cervence",
    ],
    &[
        "august", "aug", "augustus", "aout", "agosto", "ago", "sierpnia", "sierpien", "sie", "augusti",
        "srpna",
    ],
    &[
        "september",
        "sep",
        "sept",
        "septembre",
        "septiembre",
        "setiembre",
        "settembre",
        "set",
        "sett",
        "wrzesnia",
        "wrzesien",
        "wrz",
        "setembro",
        "zari",
    ],
    &[
        "october",
        "oct",
        "oktober",
        "okt",
        "octobre",
        "octubre",
        "ottobre",
        "ott",
        "pazdziernika",
        "pazdziernik",
        "paz",
        "outubro",
        "out",
        "rijna",
    ],
    &["november", "nov", "novembre", "noviembre", "listopada", "listopad", "lis", "novembro", "listopadu"],
    &[
        "december",
        "dec",
        "dezember",
        "dez",
        "decembre",
        "diciembre",
        "dic",
        "dicembre",
        "grudnia",
        "grudzien",
        "gru",
        "dezembro",
        "desember",
        "des",
        "prosince",
    ],
];

fn month(name: &str) -> Option<u32> {
    let plain: String = name.chars().map(without_accent).collect();
    (1..).zip(MONTHS).find(|(_, names)| names.contains(&plain.as_str())).map(|(number, _)| number)
}

fn without_accent(char: char) -> char {
    match char {
        'à' | 'á' | 'â' | 'ä' | 'ã' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'è' | 'é' | 'ê' | 'ë' | 'ę' | 'ě' => 'e',
        'í' => 'i',
        'ń' | 'ñ' => 'n',
        'ó' | 'ô' | 'ö' => 'o',
        'ř' => 'r',
        'ś' => 's',
        'ù' | 'ú' | 'û' | 'ü' | 'ů' => 'u',
        'ź' | 'ż' | 'ž' => 'z',
        _ => char,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::extract::dates::iso;

    fn stands(text: &str, date: &str) -> bool {
        stand(text, iso(date).unwrap(), None) != Stand::No
    }

    #[test]
    fn numeric_dates_are_read_in_every_order_that_fits() {
        for text in [
            "2023-04-03",
            "3-4-2023",
            "04/03/2023",
            "3.4.23",
            "03. 04. 2023",
            "on 3/4/23.",
            "20230403",
            "2023/4/3",
        ] {
            assert!(stands(text, "2023-04-03"), "{text}");
        }
        assert!(
            stands("03/04/2023", "2023-03-04") && stands("03/04/2023", "2023-04-03"),
            "both are possible"
        );
        let date = |text| iso(text).unwrap();
        let april = || date("2023-04-03");
        assert_eq!(stand("03/04/2023", april(), Some(true)), Stand::Yes);
        assert_eq!(stand("03/04/2023", april(), Some(false)), Stand::No);
        assert_eq!(stand("03/04/2023", april(), None), Stand::Doubt(date("2023-03-04"), Kind::Day));
        assert_eq!(
            stand("03.04.2023", date("2023-03-04"), None),
            Stand::No,
            "with full stops the day comes first"
        );
        assert_eq!(
            stand("03/20/2023", date("2023-03-20"), Some(true)),
            Stand::Yes,
            "there is no other reading"
        );
        assert!(!stands("2023-04-03", "2023-03-04"), "the ISO form has one order");
        assert!(!stands("03/20/2023", "2023-03-21"));
        assert!(!stands("3-4/2023", "2023-04-03"));
        assert!(!stands("3 4 2023", "2023-04-03"));
        assert!(!stands("103.4.2023", "2023-04-03"));
        assert!(stands("1.1.99", "1999-01-01") && !stands("1.1.99", "2099-01-01"));
    }

    #[test]
    fn month_names_of_many_languages_are_known() {
        for (text, date) in [
            ("August 3 , 2014", "2014-08-03"),
            ("Jan. 1st, 2022", "2022-01-01"),
            ("03-Aug-14", "2014-08-03"),
            ("2nd of June 2020", "2020-06-02"),
            ("7. Mai 2014", "2014-05-07"),
            ("1. März 2020", "2020-03-01"),
            ("19 april 2014", "2014-04-19"),
            ("5 mrt. 2019", "2019-03-05"),
            ("du 02 Juillet 2015", "2015-07-02"),
            ("le 1er août 2015", "2015-08-01"),
            ("15 de septiembre de 2021", "2021-09-15"),
            ("9 dicembre 2018", "2018-12-09"),
            ("10 października 2022 r.", "2022-10-10"),
            ("2 de março de 2022", "2022-03-02"),
            ("2014 August 3", "2014-08-03"),
            ("OCTOBER 31, 2022", "2022-10-31"),
            ("5. marts 2025", "2025-03-05"),
            ("24 desember 2024", "2024-12-24"),
            ("3 augusti 2025", "2025-08-03"),
            ("1. října 2025", "2025-10-01"),
            ("発行日:2025年3月14日", "2025-03-14"),
            ("2025 년 3 월 14 일", "2025-03-14"),
        ] {
            assert!(stands(text, date), "{text}");
        }
        assert!(!stands("August 3 , 2014", "2014-03-08"), "a month's name has one meaning");
        assert!(!stands("August 2014", "2014-08-01"));
        assert!(!stands("3 Foo 2014", "2014-08-03"));
    }

    #[test]
    fn no_abbreviation_means_two_months() {
        let mut all: Vec<&str> = MONTHS.concat();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), datelike in "[0-9]{1,9}[ .,/-]{0,2}([0-9]{1,4}|mai|É)[ .,/-]{0,2}[0-9]{1,12}") {
            stands(&text, "2023-04-03");
            stands(&datelike, "2023-04-03");
        }
    }
}
