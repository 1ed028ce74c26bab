//! The text of definitions, and where each member stands in it.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::fault::{DefinitionFault, Faults};

/// The sections that definitions have.
const SECTIONS: [&str; 5] = ["providers", "pools", "models", "policies", "tasks"];

/// Characters of a value that a message repeats.
const VALUE_CHARS: usize = 60;

/// A text that is TOML.
pub(super) struct Source<'s> {
    text: &'s str,
    root: DeTable<'s>,
}

/// Where a member stands: its key, and its value where it is written.
struct Place<'v, 's> {
    key: Range<usize>,
    value: Option<&'v Spanned<DeValue<'s>>>,
}

impl<'s> Source<'s> {
    /// Reads a text as TOML; finds as many breaks of its grammar as it can.
    pub(super) fn parse(text: &'s str) -> Result<Self, Vec<DefinitionFault>> {
        let (root, errors) = DeTable::parse_recoverable(text);
        let source = Self { text, root: root.into_inner() };
        if errors.is_empty() {
            return Ok(source);
        }
        let fault = |error: &toml::de::Error| {
            let (line, column) = source.position(error.span().map_or(0, |span| span.start));
            let message = format!("not TOML: {}", error.message());
            DefinitionFault { line, column, key: String::new(), value: None, message }
        };
        Err(errors.iter().map(fault).collect())
    }

    /// Refuses what stands at the top and is no section.
    pub(super) fn refuse_other_sections(&self, faults: &mut Faults<'_>) {
        for (name, value) in &self.root {
            let name = name.get_ref().as_ref();
            if !SECTIONS.contains(&name) {
                faults
                    .at(&[name], format!("there is no such section; sections are: {}", SECTIONS.join(", ")));
            } else if value.get_ref().as_table().is_none() {
                faults.at(&[name], format!("a section is written as tables: [{name}.NAME]"));
            }
        }
    }

    /// The names that a section defines.
    pub(super) fn names(&self, section: &str) -> Vec<String> {
        let table = self.root.get(section).and_then(|value| value.get_ref().as_table());
        table.map(|table| table.keys().map(|key| key.get_ref().to_string()).collect()).unwrap_or_default()
    }

    /// Reads one table as its type says; the fault is what stops that.
    pub(super) fn read<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T, DefinitionFault> {
        let Some(Place { value: Some(value), .. }) = self.find(path) else {
            return Err(self.fault(path, "this is missing".to_owned()));
        };
        T::deserialize(ValueDeserializer::from(value.clone())).map_err(|error| {
            let inner = error.span().and_then(|span| path_of(value, &span));
            let inner = inner.unwrap_or_default();
            let whole: Vec<&str> = path.iter().copied().chain(inner.iter().map(String::as_str)).collect();
            self.fault(&whole, in_words(error.message()))
        })
    }

    /// Whether the member is written.
    pub(super) fn has(&self, path: &[&str]) -> bool {
        self.find(path).is_some_and(|place| place.value.is_some())
    }

    /// The member at `path`, if it is written: where its key and where its value stands.
    pub(super) fn spans(&self, path: &[&str]) -> Option<(Range<usize>, Range<usize>)> {
        let place = self.find(path)?;
        Some((place.key, place.value?.span()))
    }

    /// What is written, as JSON; numbers and dates that JSON can't say become texts.
    pub(super) fn into_json(self) -> Map<String, Value> {
        self.root
            .into_iter()
            .map(|(key, value)| (key.into_inner().into_owned(), json(value.into_inner())))
            .collect()
    }

    pub(super) fn text(&self) -> &'s str {
        self.text
    }

    pub(super) fn fault(&self, path: &[&str], message: String) -> DefinitionFault {
        let place = self.find(path);
        let (line, column) = self.position(place.as_ref().map_or(0, |place| place.key.start));
        let value = place.and_then(|place| place.value).and_then(|value| self.shown(value));
        let value = value.filter(|value| !may_be_secret(path, value));
        let key = path.iter().map(|name| quoted_key(name)).collect::<Vec<_>>().join(".");
        DefinitionFault { line, column, key, value, message }
    }

    /// The place at `path`; where nothing is written there, the place of what encloses it.
    fn find(&self, path: &[&str]) -> Option<Place<'_, 's>> {
        let mut table = &self.root;
        let mut enclosing = None;
        for (depth, name) in path.iter().enumerate() {
            let Some((key, value)) = table.get_key_value(*name) else { break };
            enclosing = Some(Place { key: key.span(), value: None });
            if depth + 1 == path.len() {
                return Some(Place { key: key.span(), value: Some(value) });
            }
            let Some(inner) = value.get_ref().as_table() else { break };
            table = inner;
        }
        enclosing
    }

    /// A value as written, where it fits one line of a message.
    fn shown(&self, value: &Spanned<DeValue<'_>>) -> Option<String> {
        if value.get_ref().is_table() {
            return None;
        }
        let written = self.text.get(value.span())?;
        let first = written.lines().next()?;
        let cut: String = first.chars().take(VALUE_CHARS).collect();
        Some(if cut.len() < written.len() { format!("{cut}...") } else { cut })
    }

    fn position(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (1 + before.matches('\n').count(), 1 + before[line_start..].chars().count())
    }
}

fn json(value: DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Boolean(truth) => Value::Bool(truth),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            parsed.map_or_else(|_| Value::String(number.to_string()), Value::from)
        }
        DeValue::Float(number) => {
            let parsed = number.as_str().parse().ok().and_then(serde_json::Number::from_f64);
            parsed.map_or_else(|| Value::String(number.to_string()), Value::Number)
        }
        DeValue::Datetime(at) => Value::String(at.to_string()),
        DeValue::Array(elements) => elements.into_iter().map(|element| json(element.into_inner())).collect(),
        DeValue::Table(table) => {
            let members = table.into_iter();
            members.map(|(key, value)| (key.into_inner().into_owned(), json(value.into_inner()))).collect()
        }
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

/// Whether a value may be a key that somebody wrote where its place should stand. Messages go to logs.
fn may_be_secret(path: &[&str], value: &str) -> bool {
    let name = path.last().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
    ["key", "secret", "password"].iter().any(|word| name.contains(word)) || value.contains('@')
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

/// A name as a path shows it: in quotation marks where it could be misread.
pub(super) fn quoted_key(name: &str) -> Cow<'_, str> {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !name.is_empty() && name.bytes().all(bare) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(format!("{name:?}"))
    }
}
