//! Evidence: each value stands in a quote, and each quote stands in the document. The model names the quotes;
//! whether they are there is decided here, against the document itself and not against the model's copy.

use std::collections::{HashMap, HashSet};

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::extract::amounts::{Amount, Output};
use crate::extract::answer::Quote;
use crate::extract::currency::Standing;
use crate::extract::doubt::{Doubt, Other, Stand};
use crate::extract::finding::{Finding, FindingCode, Findings, shown};
use crate::extract::pointer::Pointer;
use crate::extract::policy::{Effect, EvidenceRule, Role};
use crate::extract::resolve::{Resolver, Span, find_whole, fold};
use crate::extract::{Case, currency, dates, derived, doubt, iban, number, written_date};
use crate::request::fault::escape;

/// Lines between two quotes that may continue each other: a description that wraps in its column.
const WRAP_LINES: usize = 5;

/// Words of a hyphenated line's end that are compared.
const WRAP_WORDS: usize = 32;

/// A quote that the model gave for a field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The field, as a JSON pointer into the output.
    pub field: String,
    /// The quote as the model wrote it.
    pub quote: String,
    /// Where it stands in the document; absent when it does not.
    pub span: Option<Span>,
}

/// Finds every quote. A further quote for the same field is looked for after the one before it first, so
/// that wrapped text is found where it goes on.
pub(super) fn resolve(quotes: Vec<Quote>, document: &Resolver<'_>) -> Vec<Evidence> {
    let mut first_places: HashMap<String, Option<Span>> = HashMap::new();
    let mut last_of_field: HashMap<String, usize> = HashMap::new();
    let mut resolved = Vec::with_capacity(quotes.len());
    for Quote { field, quote } in quotes {
        let next = last_of_field.get(&field).and_then(|end| document.find_from(&quote, *end));
        let span =
            next.or_else(|| *first_places.entry(quote.clone()).or_insert_with(|| document.find(&quote)));
        if let Some(span) = span {
            last_of_field.insert(field.clone(), span.end);
        }
        resolved.push(Evidence { field, quote, span });
    }
    resolved
}

/// Checks the quotes, and every value that needs one.
pub(super) fn check(case: &Case<'_>, findings: &mut Findings) {
    let Some(rule) = &case.policy.evidence else { return };
    let mut of_field: HashMap<&str, Vec<&Evidence>> = HashMap::new();
    for entry in case.evidence {
        check_quote(entry, case.output, findings);
        of_field.entry(&entry.field).or_default().push(entry);
    }
    let quoted: HashSet<&str> = of_field.keys().copied().collect();
    let (mut leaves, mut doubts) = (Vec::new(), Vec::new());
    collect_leaves(case.output.value, &mut String::new(), &mut leaves);
    for (pointer, value) in leaves.iter().filter(|(pointer, _)| !any_matches(&rule.exempt, pointer)) {
        if findings.is_full() {
            return;
        }
        let field = Field { case, rule, quoted: &quoted, pointer, value };
        let quotes = of_field.get(pointer.as_str()).map(Vec::as_slice).unwrap_or_default();
        if let Some(finding) = field.check(quotes, &mut doubts) {
            findings.push(finding);
        }
    }
    doubt::settle(&doubts, case, findings);
}

fn check_quote(entry: &Evidence, output: Output<'_>, findings: &mut Findings) {
    let Some(value) = output.value.pointer(&entry.field) else {
        let message = format!("a quote is given for {}, which the output does not have", shown(&entry.field));
        return findings.push(Finding::new(FindingCode::EvidenceFieldUnknown, "", message));
    };
    match entry.span {
        // Some models give a blank quote for what they do not find; that claims nothing.
        None if value.is_null() && fold(&entry.quote).is_empty() => {}
        None => {
            let message = format!("the quote {} does not stand in the document", shown(&entry.quote));
            findings.push(Finding::new(FindingCode::EvidenceNotFound, &entry.field, message));
        }
        Some(span) if value.is_null() => {
            let message =
                format!("the value is null, and yet the quote {} is given for it", shown(&entry.quote));
            findings.push(Finding::new(FindingCode::EvidenceValueMismatch, &entry.field, message).at(span));
        }
        Some(_) => {}
    }
}

/// The values that are no containers and not null, with their pointers.
fn collect_leaves<'v>(value: &'v Value, pointer: &mut String, leaves: &mut Vec<(String, &'v Value)>) {
    let outer = pointer.len();
    let mut enter = |segment: &str, value: &'v Value| {
        pointer.push('/');
        pointer.push_str(segment);
        collect_leaves(value, pointer, leaves);
        pointer.truncate(outer);
    };
    match value {
        Value::Null => {}
        Value::Object(members) => members.iter().for_each(|(name, value)| enter(&escape(name), value)),
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(index, value)| enter(&index.to_string(), value));
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => leaves.push((pointer.clone(), value)),
    }
}

fn any_matches(patterns: &[Pointer], pointer: &str) -> bool {
    patterns.iter().any(|pattern| pattern.matches(pointer))
}

/// A value that needs evidence.
struct Field<'a> {
    case: &'a Case<'a>,
    rule: &'a EvidenceRule,
    /// The fields that have a quote.
    quoted: &'a HashSet<&'a str>,
    pointer: &'a str,
    value: &'a Value,
}

/// As what a value is looked for in its quotes.
enum Sought<'a> {
    Number(Decimal),
    /// A number that may have a percent sign.
    Percent(Decimal),
    Currency(&'a str),
    Date(jiff::civil::Date),
    Text(&'a str),
    /// A text that is compared character by character, as a whole.
    Exact(&'a str),
    Iban(&'a str),
    /// A truth value does not stand in a text; its quote does.
    Anything,
}

impl Field<'_> {
    fn check(&self, quotes: &[&Evidence], doubts: &mut Vec<Doubt>) -> Option<Finding> {
        let sought = match self.sought() {
            Ok(sought) => sought?,
            Err(finding) => return Some(finding),
        };
        if quotes.is_empty() {
            let zero = matches!(sought, Sought::Number(number) | Sought::Percent(number) if number.is_zero());
            let derived =
                || self.rule.derived_amounts_exempt && derived::follows(self.pointer, self.quoted, self.case);
            let needed = (!zero || !self.rule.zero_amounts_exempt) && !derived();
            return needed.then(|| {
                let message = format!("the value {} has no quote from the document", self.shown_value());
                Finding::new(FindingCode::EvidenceMissing, self.pointer, message)
            });
        }
        // A quote that is not there has its own finding; what the others say proves nothing without it.
        let spans: Vec<Span> = quotes.iter().map(|quote| quote.span).collect::<Option<_>>()?;
        if let Sought::Currency(code) = sought
            && let Some(sign) = self.shared_sign(code, &spans)
        {
            let message = format!(
                "the document prints {sign}, which several currencies share, and nothing says that {code} is meant"
            );
            let finding = Finding::new(FindingCode::CurrencyAmbiguous, self.pointer, message);
            return Some(spans.first().map_or(finding.clone(), |span| finding.at(*span)));
        }
        match self.stand(&sought, &spans) {
            Stand::Yes => return None,
            Stand::Doubt((other, span), kind) => {
                doubts.push(Doubt { pointer: self.pointer.to_owned(), other, kind, span });
                return None;
            }
            Stand::No => {}
        }
        let quoted: Vec<_> = quotes.iter().take(3).map(|entry| shown(&entry.quote)).collect();
        let message =
            format!("the value {} does not stand in the quote {}", self.shown_value(), quoted.join(" + "));
        let finding = Finding::new(FindingCode::EvidenceValueMismatch, self.pointer, message);
        Some(spans.first().map_or(finding.clone(), |span| finding.at(*span)))
    }

    /// Nothing, when the value has the wrong form for its role and another rule says so.
    fn sought(&self) -> Result<Option<Sought<'_>>, Finding> {
        let text = self.value.as_str();
        match self.case.roles.role(self.pointer) {
            Role::Amount => {
                return match self.case.output.amount(self.pointer) {
                    Amount::Is(number) => Ok(Some(Sought::Number(number))),
                    Amount::Absent | Amount::Wrong(_) => Ok(None),
                };
            }
            Role::Date => return Ok(text.and_then(dates::iso).map(Sought::Date)),
            Role::Currency => return Ok(text.filter(|code| !code.trim().is_empty()).map(Sought::Currency)),
            Role::Number => return self.sought_number(),
            Role::Percent => {
                return self.sought_number().map(|sought| match sought {
                    Some(Sought::Number(number)) => Some(Sought::Percent(number)),
                    other => other,
                });
            }
            Role::DocumentType | Role::Structure => return Ok(None),
            Role::Iban | Role::Exact | Role::List | Role::Text => {}
        }
        match self.value {
            Value::String(text) if fold(text).is_empty() => {
                let message = "the text is blank: say null when the document does not say it";
                Err(Finding::new(FindingCode::EvidenceValueMismatch, self.pointer, message))
            }
            Value::String(text) => Ok(Some(match self.case.roles.role(self.pointer) {
                Role::Iban => Sought::Iban(text),
                Role::Exact => Sought::Exact(text),
                _ => Sought::Text(text),
            })),
            Value::Bool(_) => Ok(Some(Sought::Anything)),
            _ => self.sought_number(),
        }
    }

    fn sought_number(&self) -> Result<Option<Sought<'_>>, Finding> {
        match self.case.output.amount(self.pointer) {
            Amount::Is(number) => Ok(Some(Sought::Number(number))),
            Amount::Absent => Ok(None),
            Amount::Wrong(why) => Err(Finding::new(FindingCode::AmountFormat, self.pointer, why)),
        }
    }

    /// Whether the value stands in one of the spans; in doubt, what stands there otherwise.
    fn stand(&self, sought: &Sought<'_>, spans: &[Span]) -> Stand<(Other, Span)> {
        let Case { document, style, is_credit, .. } = self.case;
        let slice = |span: &Span| &document[span.start..span.end];
        let mut best = Stand::No;
        for span in spans {
            let stand = match sought {
                Sought::Number(value) => {
                    let stand = |value| number::stand(document, span, value, style);
                    let either = *is_credit || self.is_taken_off();
                    let stand =
                        if either && stand(*value) == Stand::No { stand(-*value) } else { stand(*value) };
                    stand.map(|other| (Other::Number(other), *span))
                }
                Sought::Date(date) => written_date::stand(slice(span), *date, style.day_first)
                    .map(|other| (Other::Date(other), *span)),
                Sought::Percent(value) if number::percents(with_sign(document, span)).contains(value) => {
                    Stand::Yes
                }
                Sought::Percent(value) => {
                    number::stand(document, span, *value, style).map(|other| (Other::Number(other), *span))
                }
                _ if self.stands_in(sought, spans) => Stand::Yes,
                _ => Stand::No,
            };
            match stand {
                Stand::Yes => return Stand::Yes,
                Stand::No => {}
                doubt @ Stand::Doubt(..) => best = doubt,
            }
        }
        best
    }

    fn stands_in(&self, sought: &Sought<'_>, spans: &[Span]) -> bool {
        let slice = |span: &Span| &self.case.document[span.start..span.end];
        match sought {
            Sought::Number(_) | Sought::Percent(_) | Sought::Date(_) => false,
            Sought::Currency(code) => self.standings(code, spans).any(|standing| standing == Standing::Yes),
            Sought::Text(text) => {
                let (text, pieces) =
                    (lower(text), spans.iter().map(|span| lower(slice(span))).collect::<Vec<_>>());
                pieces.iter().any(|piece| covered(&text, std::slice::from_ref(piece)))
                    || continues(spans) && covered(&text, &pieces)
            }
            Sought::Exact(text) => {
                let text = fold(text);
                spans.iter().any(|span| find_token(&fold(slice(span)), &text))
            }
            Sought::Iban(iban) => {
                let iban = iban::compact(iban);
                spans.iter().any(|span| iban::compact(slice(span)).contains(&iban))
            }
            Sought::Anything => true,
        }
    }

    /// Whether the field is what is taken off the whole document: with a sign or without, it is the same.
    fn is_taken_off(&self) -> bool {
        let amounts = self.case.policy.amounts.iter();
        let mut adjustments = amounts.flat_map(|rule| &rule.adjustments);
        adjustments.any(|it| it.effect == Effect::Subtract && it.field.as_str() == self.pointer)
    }

    fn standings(&self, code: &str, spans: &[Span]) -> impl Iterator<Item = Standing> {
        let rule = self.case.policy.currency.as_ref();
        rule.into_iter()
            .flat_map(move |rule| spans.iter().map(move |span| currency::stand(rule, self.case, span, code)))
    }

    /// The sign that is all that the quotes have of a currency, and that others share.
    fn shared_sign(&self, code: &str, spans: &[Span]) -> Option<&'static str> {
        let standings: Vec<_> = self.standings(code, spans).collect();
        let shared = standings.iter().find_map(|standing| match standing {
            Standing::Shared(sign) => Some(*sign),
            Standing::Yes | Standing::No => None,
        });
        shared.filter(|_| !standings.contains(&Standing::Yes))
    }

    fn shown_value(&self) -> String {
        match self.value {
            Value::String(text) => shown(text),
            other => shown(&other.to_string()),
        }
    }
}

/// Whether each quote stands after the one before it and near it. Words from all over a document can be
/// put together to anything.
fn continues(spans: &[Span]) -> bool {
    spans.windows(2).all(|pair| pair[1].start >= pair[0].end && pair[1].line - pair[0].line <= WRAP_LINES)
}

/// Whether the text stands there as a whole: not a part of a longer number such as `INV/2023/08`.
fn find_token(piece: &str, text: &str) -> bool {
    let is_mark = |char: char| matches!(char, '/' | '-' | '_' | '.' | ',' | '\\' | '+' | '&');
    let glue = |mark: Option<char>, beyond: Option<char>| {
        mark.is_some_and(is_mark) && beyond.is_some_and(char::is_alphanumeric)
    };
    piece.match_indices(text).any(|(start, _)| {
        let mut before = piece[..start].chars().rev();
        let mut after = piece[start + text.len()..].chars();
        let cut = text.ends_with(is_mark) && piece[start + text.len()..].starts_with(char::is_alphanumeric)
            || text.starts_with(is_mark) && piece[..start].ends_with(char::is_alphanumeric);
        let alone = find_whole(&piece[start..], text, 0) == Some(0)
            && !(text.starts_with(char::is_alphanumeric) && piece[..start].ends_with(char::is_alphanumeric));
        alone && !cut && !glue(before.next(), before.next()) && !glue(after.next(), after.next())
    })
}

/// A span with the percent sign that may follow it.
fn with_sign<'d>(document: &'d str, span: &Span) -> &'d str {
    let end = document.len().min(span.end + " %".len());
    &document[span.start..number::floor(document, end)]
}

/// A text as values are compared with quotes: as quotes are, and without regard to case.
fn lower(text: &str) -> String {
    fold(text).to_lowercase()
}

/// Whether the text is made of one part of each piece, in order. A word that is hyphenated at the end of a
/// piece may be whole in the text. All are given as [`lower`] makes them.
fn covered(text: &str, pieces: &[String]) -> bool {
    let mut rest = text;
    for piece in pieces {
        rest = match piece.strip_suffix('-').and_then(|stem| hyphenated_start(rest, stem)) {
            Some(taken) => &rest[taken..],
            None => rest[longest_start(rest, piece)..].trim_start(),
        };
    }
    rest.is_empty()
}

/// How much of the text's beginning, in whole words, stands in the piece.
fn longest_start(text: &str, piece: &str) -> usize {
    let spaces = text.match_indices(' ').map(|(at, _)| at).chain([text.len()]);
    let ends: Vec<usize> = spaces.take_while(|end| *end <= piece.len()).collect();
    // When a longer beginning stands in the piece, so does each shorter one.
    match ends.partition_point(|end| find_whole(piece, &text[..*end], 0).is_some()) {
        0 => 0,
        count => ends[count - 1],
    }
}

/// How much of the text's beginning is the end of a piece whose last word goes on in the next piece. In the
/// text that word has the hyphen or not.
fn hyphenated_start(text: &str, stem: &str) -> Option<usize> {
    let starts = stem.rmatch_indices(' ').take(WRAP_WORDS).map(|(at, _)| at + 1).chain([0]);
    let longest = starts.filter(|at| text.starts_with(&stem[*at..])).map(|at| stem.len() - at).max()?;
    let hyphen = usize::from(text[longest..].starts_with('-'));
    let goes_on = text[longest + hyphen..].starts_with(char::is_alphabetic);
    (goes_on && longest > 0).then_some(longest + hyphen)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::extract::policy::Policy;
    use crate::extract::references::References;

    const DOCUMENT: &str = "Sold By : WS Retail Services Pvt. Ltd.,\n\
        Invoice Date: 20-10-2015       Amount in Rs\n\
        Memory card    SanDisk Ultra 16 GB MicroSDHC Class    1   278.61   319.00\n\
        FSN:           10 48 MB/s Memory Card                              CST\n\n\n\n\n\n\n\
        Page 10 48 MB/s Memory Card";

    fn policy() -> Policy {
        serde_json::from_value(json!({
            "version": 1,
            "amounts": {"total": "/total"},
            "currency": {"field": "/currency", "allowed": ["INR"], "aliases": {"INR": ["Rs"]}},
            "dates": [{"field": "/date"}],
            "evidence": {"exempt": ["/notes/*"], "numbers": ["/quantity"], "zero_amounts_exempt": true},
        }))
        .unwrap()
    }

    fn codes(value: &Value, quotes: &[(&str, &str)]) -> Vec<(&'static str, String)> {
        let quotes = quotes
            .iter()
            .map(|(field, quote)| Quote { field: (*field).to_owned(), quote: (*quote).to_owned() })
            .collect();
        let evidence = resolve(quotes, &Resolver::new(DOCUMENT));
        let output = Output { value, inexact_numbers: &BTreeMap::new() };
        let mut findings = Findings::default();
        let (policy, references) = (policy(), References::on(jiff::civil::date(2024, 2, 29)));
        let resolver = Resolver::new(DOCUMENT);
        let case = Case::new(&policy, &references, output, &evidence, &resolver);
        check(&case, &mut findings);
        findings.into_vec().into_iter().map(|finding| (finding.code.name(), finding.pointer)).collect()
    }

    fn one(code: &'static str, pointer: &str) -> Vec<(&'static str, String)> {
        vec![(code, pointer.to_owned())]
    }

    #[test]
    fn each_role_is_compared_in_its_own_way() {
        let value = json!({
            "supplier": "ws retail  services Pvt. Ltd.", "date": "2015-10-20", "currency": "INR",
            "total": "319.00", "quantity": "1", "paid": true, "rate": 278.61, "due": null, "notes": ["free"],
        });
        let quotes = [
            ("/supplier", "Sold By : WS Retail Services Pvt. Ltd.,"),
            ("/date", "20-10-2015"),
            ("/currency", "Amount in Rs"),
            ("/total", "319.00"),
            ("/quantity", "1 278.61"),
            ("/paid", "CST"),
            ("/rate", "278.61"),
        ];
        assert_eq!(codes(&value, &quotes), []);
    }

    #[test]
    fn a_value_without_its_quote_is_a_finding() {
        assert_eq!(codes(&json!({"supplier": "WS"}), &[]), one("evidence_missing", "/supplier"));
        let invented = [("/supplier", "WS Retail GmbH")];
        assert_eq!(
            codes(&json!({"supplier": "WS Retail GmbH"}), &invented),
            one("evidence_not_found", "/supplier")
        );
        let other = [("/supplier", "Amount in Rs")];
        assert_eq!(
            codes(&json!({"supplier": "WS Retail"}), &other),
            one("evidence_value_mismatch", "/supplier")
        );
        let part = [("/supplier", "WS Retail Services")];
        assert_eq!(codes(&json!({"supplier": "WS Ret"}), &part), one("evidence_value_mismatch", "/supplier"));
        assert_eq!(codes(&json!({"supplier": " "}), &[]), one("evidence_value_mismatch", "/supplier"));
        assert_eq!(
            codes(&json!({"total": "319.00"}), &[("/total", "278.61")]),
            one("evidence_value_mismatch", "/total")
        );
        assert_eq!(
            codes(&json!({"date": "2015-10-15"}), &[("/date", "20-10-2015")]),
            one("evidence_value_mismatch", "/date")
        );
        assert_eq!(codes(&json!({"quantity": "1,0"}), &[]), one("amount_format", "/quantity"));
        assert_eq!(codes(&json!({}), &[("/total", "319.00")]), one("evidence_field_unknown", ""));
    }

    #[test]
    fn a_null_with_a_quote_is_in_doubt() {
        let null = json!({"due": null});
        assert_eq!(codes(&null, &[("/due", "tomorrow")]), one("evidence_not_found", "/due"));
        assert_eq!(codes(&null, &[("/due", "20-10-2015")]), one("evidence_value_mismatch", "/due"));
        assert_eq!(codes(&null, &[("/due", " ")]), []);
    }

    #[test]
    fn a_zero_that_is_not_printed_may_go_without() {
        assert_eq!(codes(&json!({"total": "0.00", "quantity": "0"}), &[]), []);
        assert_eq!(
            codes(&json!({"total": "0.00"}), &[("/total", "319.00")]),
            one("evidence_value_mismatch", "/total")
        );
    }

    #[test]
    fn wrapped_text_is_covered_by_several_quotes_near_each_other() {
        let value = json!({"description": "SanDisk Ultra 16 GB MicroSDHC Class 10 48 MB/s Memory Card"});
        let (first, second) = (
            ("/description", "SanDisk Ultra 16 GB MicroSDHC Class"),
            ("/description", "10 48 MB/s Memory Card"),
        );
        assert_eq!(codes(&value, &[first, second]), []);
        assert_eq!(codes(&value, &[first]), one("evidence_value_mismatch", "/description"));
        assert_eq!(codes(&value, &[second, first]), one("evidence_value_mismatch", "/description"));
        let far = [first, ("/description", "Page 10 48 MB/s Memory Card")];
        assert_eq!(codes(&value, &far), one("evidence_value_mismatch", "/description"));
    }

    fn is_covered(text: &str, pieces: &[&str]) -> bool {
        covered(&lower(text), &pieces.iter().map(|piece| lower(piece)).collect::<Vec<_>>())
    }

    #[test]
    fn words_hyphenated_at_a_line_end_may_be_whole() {
        assert!(is_covered("Jan Beispielmann", &["Aufsichtsrat: Jan Bei-", "spielmann (Vorsitz)"]));
        assert!(is_covered("Nintendo AC-adapter", &["Nintendo AC-", "adapter"]));
        assert!(!is_covered("Jan Beispielfrau", &["Jan Bei-", "spielmann"]));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), pieces in prop::collection::vec("[a-cé -]{0,12}", 0..4), near in "[a-cé -]{0,12}") {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            is_covered(&text, &pieces);
            is_covered(&near, &pieces);
            prop_assert!(is_covered(&near, &[&near]));
        }
    }
}
