//! Countries that a document has to do with, by what only their papers print: an address, a tax number, an account.
//! They say what a sign means that several currencies share, and which of day and month comes first.

use std::collections::BTreeSet;

use crate::extract::iban;
use crate::extract::layout::words;

/// Names and words of a country's papers, each between spaces as [`words`] makes them, and its currency. Only
/// countries whose currency shares its sign with others matter.
#[rustfmt::skip]
const MARKS: &[(&str, &str)] = &[
    ("united states", "USD"), ("usa", "USD"), ("u s a", "USD"),
    ("canada", "CAD"), ("hst", "CAD"), ("qst", "CAD"),
    ("australia", "AUD"), ("abn", "AUD"),
    ("new zealand", "NZD"), ("nzbn", "NZD"),
    ("hong kong", "HKD"), ("singapore", "SGD"), ("taiwan", "TWD"),
    ("mexico", "MXN"), ("méxico", "MXN"), ("cfdi", "MXN"),
    ("argentina", "ARS"), ("chile", "CLP"), ("colombia", "COP"), ("uruguay", "UYU"),
    ("jamaica", "JMD"), ("barbados", "BBD"), ("bahamas", "BSD"), ("fiji", "FJD"), ("namibia", "NAD"),
    ("egypt", "EGP"), ("lebanon", "LBP"), ("sudan", "SDG"), ("gibraltar", "GIP"),
    ("sverige", "SEK"), ("sweden", "SEK"), ("bankgiro", "SEK"), ("plusgiro", "SEK"), ("momsreg", "SEK"),
    ("norge", "NOK"), ("norway", "NOK"), ("mva", "NOK"),
    ("danmark", "DKK"), ("denmark", "DKK"), ("cvr", "DKK"),
    ("ísland", "ISK"), ("iceland", "ISK"),
    ("japan", "JPY"), ("china", "CNY"),
    ("india", "INR"), ("gstin", "INR"), ("pakistan", "PKR"), ("sri lanka", "LKR"), ("nepal", "NPR"),
    ("mauritius", "MUR"), ("seychelles", "SCR"),
    ("senegal", "XOF"), ("sénégal", "XOF"), ("cameroun", "XAF"), ("cameroon", "XAF"),
];

/// Marks of scripts that set no words apart.
const PARTS: &[(&str, &str)] =
    &[("日本", "JPY"), ("消費税", "JPY"), ("中国", "CNY"), ("发票", "CNY"), ("台灣", "TWD")];

/// Countries whose accounts say which of the currencies with one sign is meant.
const ACCOUNTS: &[(&str, &str)] = &[
    ("SE", "SEK"),
    ("NO", "NOK"),
    ("DK", "DKK"),
    ("IS", "ISK"),
    ("EG", "EGP"),
    ("PK", "PKR"),
    ("MU", "MUR"),
];

#[rustfmt::skip]
const US_STATES: &[&str] = &[
    "AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "DC", "FL", "GA", "HI", "ID", "IL", "IN", "IA", "KS", "KY", "LA", "ME",
    "MD", "MA", "MI", "MN", "MS", "MO", "MT", "NE", "NV", "NH", "NJ", "NM", "NY", "NC", "ND", "OH", "OK", "OR", "PA", "PR",
    "RI", "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA", "WV", "WI", "WY",
];

const AU_STATES: &[&str] = &["NSW", "VIC", "QLD", "WA", "SA", "TAS", "ACT", "NT"];

/// The currencies of the countries that a document names, as far as their signs are shared.
pub(super) fn currencies(document: &str) -> BTreeSet<&'static str> {
    let plain = words(document);
    let named = MARKS.iter().filter(|(mark, _)| plain.contains(&format!(" {mark} ")));
    let parts = PARTS.iter().filter(|(part, _)| document.contains(part));
    let mut found: BTreeSet<_> = named.chain(parts).map(|(_, currency)| *currency).collect();
    found.extend(addresses(document));
    for account in document.lines().flat_map(iban::found_in) {
        found.extend(
            ACCOUNTS.iter().filter(|(code, _)| account.starts_with(code)).map(|(_, currency)| *currency),
        );
    }
    found
}

/// Whether the document is one of the United States and of nowhere else: an address of theirs, and a sales tax.
pub(super) fn is_american(document: &str) -> bool {
    let plain = words(document);
    plain.contains(" sales tax ") && currencies(document).into_iter().eq(["USD"])
}

/// `OR 97210`, `NSW 2000`, `M5V 3L9`.
fn addresses(document: &str) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    for line in document.lines() {
        let words: Vec<_> = line
            .split(|char: char| char.is_whitespace() || char == ',')
            .filter(|word| !word.is_empty())
            .collect();
        found.extend(words.windows(2).filter_map(|pair| match pair {
            [state, code] if US_STATES.contains(state) && is_zip(code) => Some("USD"),
            [state, code] if AU_STATES.contains(state) && digits(code, 4) => Some("AUD"),
            [first, last]
                if alternates(first, char::is_alphabetic)
                    && alternates(last, |char| char.is_ascii_digit()) =>
            {
                Some("CAD")
            }
            _ => None,
        }));
    }
    found
}

fn is_zip(word: &str) -> bool {
    match word.split_once('-') {
        Some((zip, more)) => digits(zip, 5) && digits(more, 4),
        None => digits(word, 5),
    }
}

fn digits(word: &str, count: usize) -> bool {
    word.len() == count && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Three characters: one of a kind, one of the other, one of the first, capital letters and digits.
fn alternates(word: &str, first: impl Fn(char) -> bool) -> bool {
    word.len() == 3
        && word.chars().all(|char| char.is_ascii_digit() || char.is_ascii_uppercase())
        && word.chars().enumerate().all(|(at, char)| first(char) == (at != 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn countries_are_known_by_their_papers() {
        for (text, codes) in [
            ("Springfield, IL 62704", &["USD"] as &[_]),
            ("Seattle, WA 98109-5210, US", &["USD"]),
            ("Perth WA 6000\nABN 51 824 753 556", &["AUD"]),
            ("Toronto ON M5V 3L9", &["CAD"]),
            ("IBAN NO93 8601 1117 947", &["NOK"]),
            ("IBAN: DK5000400440116243.", &["DKK"]),
            ("IBAN NO93 8601 1117 948", &[]),
            ("New Zealand and Sverige", &["NZD", "SEK"]),
            ("Usage of 12345 OR 7 IN 99", &[]),
            ("12 chemin 69002 Lyon", &[]),
            ("消費税 10%", &["JPY"]),
        ] {
            assert_eq!(currencies(text).into_iter().collect::<Vec<_>>(), codes, "{text}");
        }
    }

    #[test]
    fn american_papers_have_an_address_and_a_sales_tax() {
        assert!(is_american("Springfield, IL 62704\nSales tax 8.25%  $215.27"));
        assert!(!is_american("Springfield, IL 62704\nTotal $215.27"));
        assert!(!is_american("Springfield, IL 62704\nSales tax\nBill to: Vancouver BC V6B 1A1"));
        assert!(!is_american("Sales tax 8.25%"));
    }

    #[test]
    fn marks_are_words_and_currencies() {
        for (mark, currency) in MARKS {
            assert_eq!(words(mark).trim(), *mark);
            assert!(crate::extract::iso4217::find(currency).is_some(), "{currency}");
        }
    }
}
