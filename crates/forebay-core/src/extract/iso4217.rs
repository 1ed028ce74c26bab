//! Currencies by ISO 4217: how many decimals they have, and which of them share a sign.

/// Codes in force, with those that were withdrawn lately and still stand on documents, by their decimals.
#[rustfmt::skip]
const DECIMALS: [(u32, &str); 4] = [
    (0, "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"),
    (3, "BHD IQD JOD KWD LYD OMR TND"),
    (4, "CLF UYW"),
    (
        2,
        "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY \
         COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HRK HTG HUF IDR \
         ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN \
         MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SLL \
         SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW \
         ZWG ZWL",
    ),
];

/// Signs, longer ones first, and the currencies that documents write with them.
const SIGNS: &[(&str, &str)] = &[
    ("US$", "USD"),
    ("CA$", "CAD"),
    ("AU$", "AUD"),
    ("NZ$", "NZD"),
    ("HK$", "HKD"),
    ("NT$", "TWD"),
    ("C$", "CAD NIO"),
    ("A$", "AUD"),
    ("S$", "SGD"),
    ("R$", "BRL"),
    (
        "$",
        "USD CAD AUD NZD HKD TWD SGD BRL MXN ARS CLP COP UYU DOP CUP BBD BMD BND BSD BZD FJD GYD JMD KYD LRD NAD SBD \
         SRD TTD XCD CVE TOP NIO",
    ),
    ("€", "EUR"),
    ("£", "GBP EGP FKP GIP LBP SDG SHP SSP SYP"),
    ("¥", "JPY CNY"),
    ("₹", "INR"),
    ("Rs", "INR PKR LKR NPR MUR SCR"),
    ("zł", "PLN"),
    ("Kč", "CZK"),
    ("kr", "SEK NOK DKK ISK"),
    ("Ft", "HUF"),
    ("CHF", "CHF"),
    ("Fr", "CHF XAF XOF XPF"),
    ("₽", "RUB"),
    ("₺", "TRY"),
    ("₩", "KRW KPW"),
    ("₪", "ILS"),
    ("₫", "VND"),
    ("฿", "THB"),
    ("₴", "UAH"),
    ("₦", "NGN"),
    ("₱", "PHP"),
    ("₸", "KZT"),
    ("₾", "GEL"),
];

/// The decimals of a currency; nothing where there is no such code.
pub(super) fn find(code: &str) -> Option<u32> {
    let known = |codes: &str| code.len() == 3 && codes.split(' ').any(|other| other == code);
    DECIMALS.iter().find(|(_, codes)| known(codes)).map(|(decimals, _)| *decimals)
}

/// The currency that is written at the end of a text, or at its beginning: a code, or a sign that several share.
/// The second value is what is written.
pub(super) fn at_edge(text: &str, at_end: bool) -> Option<(Vec<&str>, &str)> {
    let text = if at_end { text.trim_end() } else { text.trim_start() };
    let edge = |length: usize| -> Option<(&str, Option<char>)> {
        if at_end {
            let start = text.len().checked_sub(length)?;
            Some((text.get(start..)?, text.get(..start)?.chars().next_back()))
        } else {
            Some((text.get(..length)?, text.get(length..)?.chars().next()))
        }
    };
    let apart = |beyond: Option<char>| !beyond.is_some_and(char::is_alphanumeric);
    if let Some((code, beyond)) = edge(3)
        && apart(beyond)
        && find(code).is_some()
    {
        return Some((vec![code], code));
    }
    SIGNS.iter().find_map(|(sign, codes)| {
        let (written, beyond) = edge(sign.len())?;
        let is_word = sign.chars().all(char::is_alphabetic);
        let glued = beyond.is_some_and(|char| char.is_alphabetic() && (is_word || at_end));
        (written == *sign && !glued).then(|| (codes.split_whitespace().collect(), written))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn currencies_have_their_decimals_and_stand_once() {
        assert_eq!(
            (find("EUR"), find("JPY"), find("KWD"), find("CLF")),
            (Some(2), Some(0), Some(3), Some(4))
        );
        assert_eq!((find("EURO"), find("eur"), find("ZZZ"), find("")), (None, None, None, None));
        let mut all: Vec<_> = DECIMALS.iter().flat_map(|(_, codes)| codes.split_whitespace()).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!((all.len(), all.len() > 160), (count, true));
    }

    #[test]
    fn signs_belong_to_currencies_that_there_are() {
        for code in SIGNS.iter().flat_map(|(_, codes)| codes.split_whitespace()) {
            assert!(find(code).is_some(), "{code}");
        }
    }

    #[test]
    fn what_is_written_next_to_a_number_is_read() {
        let before = |text| at_edge(text, true).map(|(_, written)| written);
        let after = |text| at_edge(text, false).map(|(_, written)| written);
        assert_eq!(
            (before("Total € "), before("US$"), before("Total EUR"), before("in Rs")),
            (Some("€"), Some("US$"), Some("EUR"), Some("Rs"))
        );
        assert_eq!(
            (after(" PLN"), after("zł."), after("€"), after("EUROS")),
            (Some("PLN"), Some("zł"), Some("€"), None)
        );
        assert_eq!(
            (before("Offers"), before("XEUR"), after(" a $"), after("krone")),
            (None, None, None, None)
        );
    }
}
