//! What is wrong with definitions, with the place in the text.

use std::fmt;

use super::source::Source;

/// One thing that is wrong with definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionFault {
    /// The file that line and column count in, as the definitions name it; absent where that is their own text.
    pub file: Option<String>,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The path of the member: `tasks.invoice.model`. Empty where the text is no TOML at all.
    pub key: String,
    /// The value as written, where it is short; absent for a table or where nothing is written.
    pub value: Option<String>,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl fmt::Display for DefinitionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, key, value, message } = self;
        match value {
            _ if file.is_some() => {
                let file = file.as_deref().unwrap_or_default();
                write!(f, "{key} in {file}, line {line}, column {column}: {message}")
            }
            _ if key.is_empty() => write!(f, "line {line}, column {column}: {message}"),
            Some(value) => write!(f, "{key} = {value} at line {line}: {message}"),
            None => write!(f, "{key} at line {line}: {message}"),
        }
    }
}

impl std::error::Error for DefinitionFault {}

/// The most faults of one text that are told.
pub const MOST_FAULTS: usize = 100;

/// A text that stands in the definitions, or in a file that they name.
#[derive(Debug, Clone)]
pub(super) struct Inside<'t> {
    /// The member: `prompt`, or `prompt_file`.
    pub(super) path: Vec<&'t str>,
    pub(super) file: Option<&'t str>,
    pub(super) text: String,
}

/// The faults of one text, collected so that its author reads all of them at once.
pub(super) struct Faults<'s> {
    pub(super) source: &'s Source<'s>,
    /// Each with the place in the definitions where it is to be told.
    found: Vec<((usize, usize), DefinitionFault)>,
    /// Tables, by section and name, that can't be read as a whole.
    unread: Vec<(&'static str, String)>,
}

impl<'s> Faults<'s> {
    pub(super) fn new(source: &'s Source<'s>) -> Self {
        Self { source, found: Vec::new(), unread: Vec::new() }
    }

    /// Adds a fault of the member at `path`; where nothing is written there, it stands at what encloses it.
    pub(super) fn at(&mut self, path: &[&str], message: impl Into<String>) {
        let fault = self.source.fault(path, message.into());
        self.push(fault);
    }

    /// Adds a fault of the member at `path`, if the condition holds.
    pub(super) fn when(&mut self, wrong: bool, path: &[&str], message: impl Into<String>) {
        if wrong {
            self.at(path, message);
        }
    }

    /// Adds a fault at a line and column inside a text.
    pub(super) fn inside(&mut self, inside: &Inside<'_>, place: (usize, usize), message: impl Into<String>) {
        let mut fault = self.source.fault(&inside.path, message.into());
        let told_at = (fault.line, fault.column);
        fault.file = inside.file.map(str::to_owned);
        let place = match inside.file {
            Some(_) => Some(place),
            None => self.source.place_inside(&inside.path, place),
        };
        if let Some(place) = place {
            (fault.line, fault.column) = place;
        }
        self.found.push((told_at, fault));
    }

    /// How a message begins that repeats a number which may be nobody's but the default.
    pub(super) fn whose(&self, path: &[&str]) -> &'static str {
        if self.source.has(path) { "" } else { "the default of " }
    }

    pub(super) fn push(&mut self, fault: DefinitionFault) {
        self.found.push(((fault.line, fault.column), fault));
    }

    /// Notes that nothing but its faults is known of a table.
    pub(super) fn unread(&mut self, section: &'static str, name: &str) {
        self.unread.push((section, name.to_owned()));
    }

    /// Those tables of a section.
    pub(super) fn unread_in(&self, section: &str) -> Vec<String> {
        let of = self.unread.iter().filter(|(of, _)| *of == section);
        of.map(|(_, name)| name.clone()).collect()
    }

    /// How many there are: a part that adds some while it is read is not ready to use.
    pub(super) fn count(&self) -> usize {
        self.found.len()
    }

    pub(super) fn into_result(mut self) -> Result<(), Vec<DefinitionFault>> {
        self.found.sort_by_key(|(told_at, fault)| (*told_at, fault.line, fault.column));
        self.found.truncate(MOST_FAULTS);
        let found: Vec<_> = self.found.into_iter().map(|(_, fault)| fault).collect();
        if found.is_empty() { Ok(()) } else { Err(found) }
    }
}
