//! Reads one table as its type says, and goes on behind what is wrong: what can't be read is taken away, what is missing
//! is made up, and reading begins again, so that its author is told everything at once.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::Source;
use crate::definitions::fault::{DefinitionFault, MOST_FAULTS};

/// Where nothing of the text stands: what was made up.
const NOWHERE: Range<usize> = usize::MAX..usize::MAX;

/// What stands in for a missing member, one after the other, until it is taken.
const STAND_INS: [&str; 4] = ["'/x'", "1", "[]", "{}"];

/// Reads one table.
pub(super) struct Reader<'r, 's> {
    source: &'r Source<'s>,
    path: &'r [&'r str],
    value: &'r Spanned<DeValue<'s>>,
    /// What is left of it to read.
    rest: Spanned<DeValue<'s>>,
    faults: Vec<DefinitionFault>,
    /// Members that were taken away: that they are missing is no fault of its own.
    taken: Vec<Vec<String>>,
    /// The member that was made up last, and with what.
    made_up: Option<(Vec<String>, usize)>,
    /// Whether something is missing that the type needs.
    is_partial: bool,
}

impl<'r, 's> Reader<'r, 's> {
    pub(super) fn new(source: &'r Source<'s>, path: &'r [&'r str], value: &'r Spanned<DeValue<'s>>) -> Self {
        let rest = value.clone();
        Self {
            source,
            path,
            value,
            rest,
            faults: Vec::new(),
            taken: Vec::new(),
            made_up: None,
            is_partial: false,
        }
    }

    pub(super) fn read<T: DeserializeOwned>(mut self) -> (Option<T>, Vec<DefinitionFault>) {
        while self.faults.len() < MOST_FAULTS {
            let error = match T::deserialize(ValueDeserializer::from(self.rest.clone())) {
                Ok(read) => return (Some(read).filter(|_| !self.is_partial), self.faults),
                Err(error) => error,
            };
            let span = self.narrow::<T>(&error);
            if !self.mend(span, error.message()) {
                break;
            }
        }
        (None, self.faults)
    }

    /// Where the fault is. Of a list of plain values the library names the list: the element is the one that is wrong
    /// also alone.
    fn narrow<T: DeserializeOwned>(&mut self, error: &toml::de::Error) -> Range<usize> {
        let span = error.span().unwrap_or(self.value.span());
        let here = path_of(&self.rest, &span).unwrap_or_default();
        let list = inner(&mut self.rest, &here).filter(|value| value.span() == span);
        let Some(DeValue::Array(elements)) = list.map(|value| value.get_ref().clone()) else { return span };
        let is_wrong = |element: &&Spanned<DeValue<'s>>| {
            let mut alone = self.rest.clone();
            if let Some(DeValue::Array(only)) = inner(&mut alone, &here).map(Spanned::get_mut) {
                *only = std::iter::once((*element).clone()).collect();
            }
            let again = T::deserialize(ValueDeserializer::from(alone)).err();
            again.is_some_and(|again| again.message() == error.message())
        };
        elements.iter().find(is_wrong).map_or(span, Spanned::span)
    }

    /// Notes what is wrong and takes it out of the way; says whether that can be done.
    fn mend(&mut self, span: Range<usize>, message: &str) -> bool {
        if span == NOWHERE {
            return self.make_up_otherwise();
        }
        let here = path_of(&self.rest, &span).unwrap_or_default();
        let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        if let Some(name) = missing {
            let whole: Vec<String> = here.iter().cloned().chain([name.to_owned()]).collect();
            if !self.taken.contains(&whole) {
                self.note(&span, message);
            }
            self.is_partial = true;
            self.made_up = None;
            return self.make_up(whole, 0);
        }
        self.note(&span, message);
        self.is_partial |= !message.starts_with("unknown field");
        self.taken.push(here.clone());
        take_away(&mut self.rest, &here)
    }

    fn note(&mut self, span: &Range<usize>, message: &str) {
        // Its path as it is written, before anything was taken away.
        let inner = path_of(self.value, span).unwrap_or_default();
        let whole: Vec<&str> = self.path.iter().copied().chain(inner.iter().map(String::as_str)).collect();
        self.faults.push(self.source.fault(&whole, in_words(message)));
    }

    /// Tries the next thing for a missing member; when nothing is taken, the table that misses it is taken away.
    fn make_up_otherwise(&mut self) -> bool {
        let Some((path, nth)) = self.made_up.take() else { return false };
        let table = path.split_last().map(|(_, table)| table.to_vec()).unwrap_or_default();
        self.make_up(path, nth + 1) || take_away(&mut self.rest, &table)
    }

    fn make_up(&mut self, path: Vec<String>, nth: usize) -> bool {
        let value = STAND_INS.get(nth).and_then(|text| DeValue::parse(text).ok());
        let (Some(value), Some((name, table))) = (value, path.split_last()) else { return false };
        let Some(DeValue::Table(table)) = inner(&mut self.rest, table).map(Spanned::get_mut) else {
            return false;
        };
        table.insert(Spanned::new(NOWHERE, name.clone().into()), Spanned::new(NOWHERE, value.into_inner()));
        self.made_up = Some((path, nth));
        true
    }
}

fn inner<'v, 's>(
    value: &'v mut Spanned<DeValue<'s>>,
    path: &[String],
) -> Option<&'v mut Spanned<DeValue<'s>>> {
    path.iter().try_fold(value, |value, name| match value.get_mut() {
        DeValue::Table(table) => table.get_mut(name.as_str()),
        DeValue::Array(elements) => elements.get_mut(name.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Takes a member out of its table, or an element out of its array.
fn take_away(value: &mut Spanned<DeValue<'_>>, path: &[String]) -> bool {
    let Some((name, outer)) = path.split_last() else { return false };
    match inner(value, outer).map(Spanned::get_mut) {
        Some(DeValue::Table(table)) => table.remove(name.as_str()).is_some(),
        Some(DeValue::Array(elements)) => {
            let nth = name.parse::<usize>().ok();
            let others = elements.iter().enumerate().filter(|(at, _)| Some(*at) != nth);
            *elements = others.map(|(_, element)| element.clone()).collect();
            true
        }
        _ => false,
    }
}

/// A member of a table, or an element of an array.
struct Member<'v, 's> {
    name: String,
    /// Where its key stands; elements have none.
    key: Option<Range<usize>>,
    value: &'v Spanned<DeValue<'s>>,
}

/// The members of a value, if it has any: tables name them, arrays number them.
fn members<'v, 's>(value: &'v Spanned<DeValue<'s>>) -> Vec<Member<'v, 's>> {
    match value.get_ref() {
        DeValue::Table(table) => table
            .iter()
            .map(|(key, value)| Member { name: key.get_ref().to_string(), key: Some(key.span()), value })
            .collect(),
        DeValue::Array(elements) => elements
            .iter()
            .enumerate()
            .map(|(index, value)| Member { name: index.to_string(), key: None, value })
            .collect(),
        _ => Vec::new(),
    }
}

/// The path to the innermost member whose key or value covers `span`.
fn path_of(members_of: &Spanned<DeValue<'_>>, span: &Range<usize>) -> Option<Vec<String>> {
    let covers = |outer: &Range<usize>| outer.start <= span.start && span.end <= outer.end;
    members(members_of).into_iter().find_map(|Member { name, key, value }| {
        let here = key.as_ref().is_some_and(covers) || covers(&value.span());
        match path_of(value, span) {
            Some(inner) => Some(std::iter::once(name).chain(inner).collect()),
            None => here.then(|| vec![name]),
        }
    })
}

/// What serde says, in the words of whoever writes definitions.
fn in_words(message: &str) -> String {
    const WORDS: [(&str, &str); 6] = [
        ("unknown field", "there is no member"),
        (", expected one of ", "; it has to be one of "),
        ("missing field", "this member is missing:"),
        ("unknown variant", "there is no choice"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number from 0 on"),
    ];
    WORDS.iter().fold(message.to_owned(), |message, (theirs, ours)| message.replacen(theirs, ours, 1))
}
