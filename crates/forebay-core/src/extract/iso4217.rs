//! Currencies by ISO 4217: how many decimals they have, what documents write for them, and which share a sign.

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

/// Signs and words, longer ones first: what documents write, the currency that it means where nothing says
/// otherwise, and those that share it. Where there is no first one, the sign alone says nothing.
const SIGNS: &[(&str, &str, &str)] = &[
    ("US$", "USD", ""),
    ("CA$", "CAD", ""),
    ("AU$", "AUD", ""),
    ("NZ$", "NZD", ""),
    ("HK$", "HKD", ""),
    ("NT$", "TWD", ""),
    ("RD$", "DOP", ""),
    ("TT$", "TTD", ""),
    ("C$", "CAD", "NIO"),
    ("A$", "AUD", ""),
    ("S$", "SGD", ""),
    ("R$", "BRL", ""),
    ("S/", "PEN", ""),
    (
        "$",
        "",
        "USD CAD AUD NZD HKD TWD SGD BRL MXN ARS CLP COP UYU DOP CUP BBD BMD BND BSD BZD FJD GYD JMD KYD LRD NAD SBD \
         SRD TTD XCD CVE TOP NIO",
    ),
    ("€", "EUR", ""),
    ("£", "GBP", "EGP FKP GIP LBP SDG SHP SSP SYP"),
    ("¥", "", "JPY CNY"),
    ("￥", "", "JPY CNY"),
    ("円", "JPY", ""),
    ("元", "", "CNY TWD HKD"),
    ("人民币", "CNY", ""),
    ("RMB", "CNY", ""),
    ("₹", "INR", ""),
    ("Rs.", "", "INR PKR LKR NPR MUR SCR"),
    ("Rs", "", "INR PKR LKR NPR MUR SCR"),
    ("zł", "PLN", ""),
    ("Kč", "CZK", ""),
    ("kr.", "", "SEK NOK DKK ISK"),
    ("kr", "", "SEK NOK DKK ISK"),
    ("Kr", "", "SEK NOK DKK ISK"),
    ("Ft", "HUF", ""),
    ("лв.", "BGN", ""),
    ("лв", "BGN", ""),
    ("SFr.", "CHF", ""),
    ("CHF", "CHF", ""),
    ("Fr.", "CHF", "XAF XOF XPF"),
    ("Fr", "CHF", "XAF XOF XPF"),
    ("FCFA", "", "XOF XAF"),
    ("KD", "KWD", ""),
    ("BD", "BHD", ""),
    ("QR", "QAR", ""),
    ("SR", "SAR", ""),
    ("Dhs", "AED", "MAD"),
    ("RM", "MYR", ""),
    ("Rp", "IDR", ""),
    ("₽", "RUB", ""),
    ("₺", "TRY", ""),
    ("₩", "KRW", "KPW"),
    ("₪", "ILS", ""),
    ("₫", "VND", ""),
    ("฿", "THB", ""),
    ("₴", "UAH", ""),
    ("₦", "NGN", ""),
    ("₱", "PHP", "CUP"),
    ("₸", "KZT", ""),
    ("₾", "GEL", ""),
    ("₡", "CRC", ""),
    ("₲", "PYG", ""),
];

/// Names that are written out; they mean one currency.
const NAMES: &[(&str, &str)] = &[
    ("euro", "EUR"),
    ("euros", "EUR"),
    ("us dollar", "USD"),
    ("us dollars", "USD"),
    ("u.s. dollars", "USD"),
    ("canadian dollars", "CAD"),
    ("australian dollars", "AUD"),
    ("pounds sterling", "GBP"),
    ("swiss francs", "CHF"),
    ("schweizer franken", "CHF"),
    ("indian rupees", "INR"),
    ("złotych", "PLN"),
    ("złoty", "PLN"),
    ("japanese yen", "JPY"),
    ("kuwaiti dinars", "KWD"),
    ("svenska kronor", "SEK"),
    ("norske kroner", "NOK"),
    ("danske kroner", "DKK"),
    ("reais", "BRL"),
];

/// Codes that are words as well: in a text they mean a currency only beside a number.
const WORDS: &[&str] = &[
    "ALL", "BAM", "BOB", "COP", "CUP", "GEL", "LAK", "MAD", "MOP", "NAD", "PEN", "RON", "SOS", "TOP", "TRY",
];

/// What a document writes for a currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sign {
    /// As it is written.
    pub(super) written: &'static str,
    /// What it means where nothing says otherwise.
    pub(super) usual: Option<&'static str>,
    others: &'static str,
}

impl Sign {
    /// The currencies that are written so.
    pub(super) fn codes(self) -> impl Iterator<Item = &'static str> {
        self.usual.into_iter().chain(self.others.split_whitespace())
    }
}

/// The signs of a currency.
pub(super) fn signs_of(code: &str) -> impl Iterator<Item = Sign> {
    signs().filter(move |sign| sign.codes().any(|other| other == code))
}

/// The names of a currency, in lower case.
pub(super) fn names_of(code: &str) -> impl Iterator<Item = &'static str> {
    NAMES.iter().filter(move |(_, other)| *other == code).map(|(name, _)| *name)
}

/// Whether a code is an ordinary word, too.
pub(super) fn is_word(code: &str) -> bool {
    WORDS.contains(&code)
}

fn signs() -> impl Iterator<Item = Sign> {
    let usual = |code: &'static str| (!code.is_empty()).then_some(code);
    SIGNS.iter().map(move |(written, first, others)| Sign { written, usual: usual(first), others })
}

/// The decimals of a currency; nothing where there is no such code.
pub(super) fn find(code: &str) -> Option<u32> {
    let known = |codes: &str| code.len() == 3 && codes.split(' ').any(|other| other == code);
    DECIMALS.iter().find(|(_, codes)| known(codes)).map(|(decimals, _)| *decimals)
}

/// What stands at the edge of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge<'t> {
    Code(&'t str),
    Sign(Sign),
}

impl Edge<'_> {
    /// As it is written.
    pub(super) fn written(&self) -> &str {
        match self {
            Edge::Code(code) => code,
            Edge::Sign(sign) => sign.written,
        }
    }
}

/// The currency that is written at the end of a text, or at its beginning.
pub(super) fn at_edge(text: &str, at_end: bool) -> Option<Edge<'_>> {
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
        return Some(Edge::Code(code));
    }
    let stands = |sign: &Sign| {
        let Some((written, beyond)) = edge(sign.written.len()) else { return false };
        let is_word = sign.written.chars().any(char::is_alphabetic);
        written == sign.written && !beyond.is_some_and(|char| char.is_alphabetic() && (is_word || at_end))
    };
    signs().find(stands).map(Edge::Sign)
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
        let named = NAMES.iter().map(|(_, code)| *code);
        for code in signs().flat_map(|sign| sign.codes()).chain(named).chain(WORDS.iter().copied()) {
            assert!(find(code).is_some(), "{code}");
        }
    }

    #[test]
    fn what_is_written_next_to_a_number_is_read() {
        let before = |text| at_edge(text, true).map(|edge| edge.written().to_owned());
        let after = |text| at_edge(text, false).map(|edge| edge.written().to_owned());
        for (text, sign) in [("Total € ", "€"), ("US$", "US$"), ("Total EUR", "EUR"), ("in Rs", "Rs")] {
            assert_eq!(before(text).as_deref(), Some(sign), "{text}");
        }
        for (text, sign) in [(" PLN", "PLN"), ("zł.", "zł"), ("€", "€"), ("円", "円")] {
            assert_eq!(after(text).as_deref(), Some(sign), "{text}");
        }
        assert_eq!((before("Offers"), before("XEUR")), (None, None));
        assert_eq!((after(" a $"), after("krone"), after("EUROS")), (None, None, None));
    }
}
