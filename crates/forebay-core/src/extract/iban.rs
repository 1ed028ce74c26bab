//! Bank accounts by ISO 13616: the country's length, and check digits that leave 1 when divided by 97.

use serde_json::Value;

use crate::extract::finding::{Finding, FindingCode, Findings, shown};
use crate::extract::pointer::Pointer;

/// How long the IBANs of a country are, as the registry of ISO 13616 says.
#[rustfmt::skip]
const LENGTHS: &[(&str, usize)] = &[
    ("AD", 24), ("AE", 23), ("AL", 28), ("AT", 20), ("AZ", 28), ("BA", 20), ("BE", 16), ("BG", 22), ("BH", 22),
    ("BI", 27), ("BR", 29), ("BY", 28), ("CH", 21), ("CR", 22), ("CY", 28), ("CZ", 24), ("DE", 22), ("DJ", 27),
    ("DK", 18), ("DO", 28), ("EE", 20), ("EG", 29), ("ES", 24), ("FI", 18), ("FK", 18), ("FO", 18), ("FR", 27),
    ("GB", 22), ("GE", 22), ("GI", 23), ("GL", 18), ("GR", 27), ("GT", 28), ("HN", 28), ("HR", 21), ("HU", 28),
    ("IE", 22), ("IL", 23), ("IQ", 23), ("IS", 26), ("IT", 27), ("JO", 30), ("KW", 30), ("KZ", 20), ("LB", 28),
    ("LC", 32), ("LI", 21), ("LT", 20), ("LU", 20), ("LV", 21), ("LY", 25), ("MC", 27), ("MD", 24), ("ME", 22),
    ("MK", 19), ("MN", 20), ("MR", 27), ("MT", 31), ("MU", 30), ("NI", 28), ("NL", 18), ("NO", 15), ("OM", 23),
    ("PK", 24), ("PL", 28), ("PS", 29), ("PT", 25), ("QA", 29), ("RO", 24), ("RS", 22), ("RU", 33), ("SA", 24),
    ("SC", 31), ("SD", 18), ("SE", 24), ("SI", 19), ("SK", 24), ("SM", 27), ("SO", 23), ("ST", 25), ("SV", 28),
    ("TL", 23), ("TN", 24), ("TR", 26), ("UA", 29), ("VA", 22), ("VG", 24), ("XK", 20), ("YE", 30),
];

/// Checks every bank account that the policy names; null and blank are none.
pub(super) fn check(fields: &[Pointer], output: &Value, findings: &mut Findings) {
    for pointer in fields.iter().flat_map(|pattern| pattern.expand(output)) {
        if findings.is_full() {
            return;
        }
        let wrong = match output.pointer(&pointer) {
            None | Some(Value::Null) => continue,
            Some(Value::String(text)) => fault(text).map(|why| format!("{} {why}", shown(text))),
            Some(other) => {
                Some(format!("{} is not an IBAN: write it as a string", shown(&other.to_string())))
            }
        };
        if let Some(message) = wrong {
            findings.push(Finding::new(FindingCode::IbanInvalid, pointer, message));
        }
    }
}

/// An account's letters and digits, in capitals.
pub(super) fn compact(text: &str) -> String {
    text.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_uppercase).collect()
}

/// The accounts that a printed row has, without the spaces in them.
pub(super) fn found_in(row: &str) -> Vec<String> {
    let starts = |at: &usize| {
        let bytes = &row.as_bytes()[*at..];
        let apart = row[..*at].chars().next_back().is_none_or(|char| !char.is_alphanumeric());
        apart && matches!(bytes, [b'A'..=b'Z', b'A'..=b'Z', b'0'..=b'9', b'0'..=b'9', ..])
    };
    let account = |at: usize| {
        let (_, length) = LENGTHS.iter().find(|(code, _)| row[at..].starts_with(code))?;
        let iban: String = row[at..].chars().filter(|char| !char.is_whitespace()).take(*length).collect();
        fault(&iban).is_none().then_some(iban)
    };
    row.char_indices().map(|(at, _)| at).filter(starts).filter_map(account).collect()
}

/// What is wrong with an IBAN. Spaces between its groups do not matter.
fn fault(text: &str) -> Option<String> {
    let iban: String = text.chars().filter(|char| !char.is_whitespace()).collect();
    if iban.is_empty() {
        return None;
    }
    if !iban.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()) {
        return Some("is not an IBAN: it has capital letters and digits only".to_owned());
    }
    let country = iban.get(..2).unwrap_or_default();
    let Some((_, length)) = LENGTHS.iter().find(|(code, _)| *code == country) else {
        return Some("is not an IBAN: it begins with no country that has them".to_owned());
    };
    if iban.len() != *length {
        return Some(format!("has {} characters, and an IBAN of {country} has {length}", iban.len()));
    }
    (remainder(&iban) != 1).then(|| "has wrong check digits: it is no account of any bank".to_owned())
}

/// The whole by 97, with the first four characters at the end and letters as two digits, `A` being 10.
fn remainder(iban: &str) -> u32 {
    let moved = iban[4..].bytes().chain(iban[..4].bytes());
    moved.fold(0, |remainder, byte| match byte {
        b'0'..=b'9' => (remainder * 10 + u32::from(byte - b'0')) % 97,
        _ => (remainder * 100 + u32::from(byte - b'A') + 10) % 97,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RIGHT: [&str; 5] = [
        "NL91ABNA0417164300",
        "DE89 3704 0044 0532 0130 00",
        "GB29 NWBK 6016 1331 9268 19",
        "NO9386011117947",
        "MT84MALT011000012345MTLCAST001S",
    ];

    #[test]
    fn accounts_that_can_not_be_are_named() {
        for right in RIGHT {
            assert_eq!(fault(right), None, "{right}");
        }
        for (wrong, why) in [
            ("NL91ABNA0417164301", "check digits"),
            ("NL91ABNA041716430", "has 17 characters"),
            ("US0000000000", "no country"),
            ("nl91abna0417164300", "capital letters"),
            ("NL91-ABNA-0417164300", "capital letters"),
            ("N", "no country"),
        ] {
            assert!(fault(wrong).is_some_and(|message| message.contains(why)), "{wrong}: {:?}", fault(wrong));
        }
    }

    #[test]
    fn accounts_are_found_in_a_row() {
        assert_eq!(found_in("Konto 1234.56  IBAN NO93 8601 1117 947, BIC X"), ["NO9386011117947"]);
        assert_eq!(found_in("GB82 WEST 1234 5698 7654 32"), ["GB82WEST12345698765432"]);
        assert_eq!(found_in("ÄDE89370400440532013000 DE89 3704 004 NO"), Vec::<String>::new());
    }

    #[test]
    fn lengths_are_in_order_and_once() {
        assert!(LENGTHS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    proptest! {
        #[test]
        fn one_other_digit_is_always_found(which in 0usize..RIGHT.len(), at in 2usize..15, digit in 0u8..10) {
            let iban = compact(RIGHT[which]);
            let mut other = iban.clone().into_bytes();
            prop_assume!(other[at].is_ascii_digit() && other[at] != b'0' + digit);
            other[at] = b'0' + digit;
            prop_assert!(fault(&String::from_utf8(other).unwrap()).is_some());
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            fault(&text);
        }
    }
}
