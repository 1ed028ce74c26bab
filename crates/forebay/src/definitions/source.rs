//! The text of definitions, and where each member stands in it.

use std::borrow::Cow;
use std::ops::Range;

use forebay_core::request::json::place::line_and_column;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::{DefinitionFault, Faults};
use reader::Reader;

mod reader;

/// The sections that definitions have.
const SECTIONS: [&str; 7] =
    ["providers", "pools", "models", "policies", "tasks", "retention", "submit_limits"];

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
            DefinitionFault { file: None, line, column, key: String::new(), value: None, message }
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

    /// Reads one table as its type says, with all that stops that. What is read in spite of faults lacks only members
    /// that there are not.
    pub(super) fn read<T: DeserializeOwned>(&self, path: &[&str]) -> (Option<T>, Vec<DefinitionFault>) {
        match self.find(path) {
            Some(Place { value: Some(value), .. }) => Reader::new(self, path, value).read(),
            _ => (None, vec![self.fault(path, "this is missing".to_owned())]),
        }
    }

    /// Whether the member is written.
    pub(super) fn has(&self, path: &[&str]) -> bool {
        self.find(path).is_some_and(|place| place.value.is_some())
    }

    /// The text that is written at `path`, if one is.
    pub(super) fn text_at(&self, path: &[&str]) -> Option<&str> {
        self.find(path)?.value?.get_ref().as_str()
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
        DefinitionFault { file: None, line, column, key, value, message }
    }

    /// The place at `path`; where nothing is written there, the place of what encloses it. Elements of arrays go by
    /// their number.
    fn find(&self, path: &[&str]) -> Option<Place<'_, 's>> {
        let (first, rest) = path.split_first()?;
        let (key, value) = self.root.get_key_value(*first)?;
        let (mut key, mut value) = (key.span(), value);
        for name in rest {
            let inner = match value.get_ref() {
                DeValue::Table(table) => table.get_key_value(*name).map(|(key, value)| (key.span(), value)),
                DeValue::Array(elements) => {
                    let element = name.parse().ok().and_then(|nth: usize| elements.get(nth));
                    element.map(|element| (element.span(), element))
                }
                _ => None,
            };
            let Some(inner) = inner else { return Some(Place { key, value: None }) };
            (key, value) = inner;
        }
        Some(Place { key, value: Some(value) })
    }

    /// Where a place inside a text stands that is the value of a member; absent where the text is not written as it
    /// reads.
    pub(super) fn place_inside(
        &self,
        path: &[&str],
        (line, column): (usize, usize),
    ) -> Option<(usize, usize)> {
        let span = self.find(path)?.value?.span();
        let written = self.text.get(span.clone())?;
        let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| written.starts_with(quotes))?;
        if quotes.starts_with('"') && written.contains('\\') {
            return None;
        }
        let inner = &written[quotes.len()..];
        // A line break right behind the quotes is none of the text's.
        let start = ["\n", "\r\n"].into_iter().find(|end| inner.starts_with(end)).map_or(0, str::len);
        let (first_line, first_column) = self.position(span.start + quotes.len() + start);
        Some(if line == 1 {
            (first_line, first_column + column - 1)
        } else {
            (first_line + line - 1, column)
        })
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
        line_and_column(self.text, at)
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

/// Whether a value may be a key that somebody wrote where its place should stand. Messages go to logs.
fn may_be_secret(path: &[&str], value: &str) -> bool {
    let name = path.last().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
    ["key", "secret", "password"].iter().any(|word| name.contains(word)) || value.contains('@')
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
