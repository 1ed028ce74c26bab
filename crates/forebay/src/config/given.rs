//! A value as somebody wrote it, and where.

use std::fmt;
use std::path::PathBuf;

use toml::de::DeValue;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Origin {
    /// In the program's own defaults.
    Defaults,
    /// In a file.
    File {
        /// Which one, as it was named.
        path: PathBuf,
        /// From 1; absent when the file could not be read.
        line: Option<usize>,
    },
    /// In this variable.
    Environment(String),
    /// By this flag.
    Flag(String),
}

impl Origin {
    /// Whether every value is text there, numbers too.
    fn is_untyped(&self) -> bool {
        match self {
            Origin::Environment(_) | Origin::Flag(_) => true,
            Origin::Defaults | Origin::File { .. } => false,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Defaults => f.write_str("the defaults"),
            Origin::File { path, line: Some(line) } => write!(f, "{}:{line}", path.display()),
            Origin::File { path, line: None } => write!(f, "{}", path.display()),
            Origin::Environment(name) | Origin::Flag(name) => f.write_str(name),
        }
    }
}

/// A value before anybody knows what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Raw {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Yes or no.
    Bool(bool),
    /// A list of texts.
    List(Vec<String>),
    /// What no key takes, by the name of its kind.
    Other(&'static str),
}

impl Raw {
    /// Reads a value of a file.
    pub(super) fn of(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(text) => Raw::Text(text.to_string()),
            DeValue::Integer(number) => {
                let read = i64::from_str_radix(number.as_str(), number.radix());
                read.map_or(Raw::Other("a number that is too large"), Raw::Integer)
            }
            DeValue::Array(elements) => {
                let texts = elements.iter().map(|element| element.get_ref().as_str().map(str::to_owned));
                texts.collect::<Option<Vec<_>>>().map_or(Raw::Other("a list"), Raw::List)
            }
            DeValue::Float(_) => Raw::Other("a number with decimals"),
            DeValue::Boolean(value) => Raw::Bool(*value),
            DeValue::Datetime(_) => Raw::Other("a time"),
            DeValue::Table(_) => Raw::Other("a table"),
        }
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Raw::Text(text) => write!(f, "{text:?}"),
            Raw::Integer(number) => write!(f, "{number}"),
            Raw::Bool(value) => write!(f, "{value}"),
            Raw::List(texts) => write!(f, "{texts:?}"),
            Raw::Other(kind) => write!(f, "({kind})"),
        }
    }
}

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) raw: Raw,
    pub(super) origin: Origin,
}

impl Given {
    /// The value as text.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.raw {
            Raw::Text(text) => Some(text),
            Raw::Integer(_) | Raw::Bool(_) | Raw::List(_) | Raw::Other(_) => None,
        }
    }

    /// The value as a whole number; where everything is text, as a text of digits.
    pub(super) fn number(&self) -> Option<i64> {
        match &self.raw {
            Raw::Integer(number) => Some(*number),
            Raw::Text(text) if self.origin.is_untyped() => text.trim().replace('_', "").parse().ok(),
            Raw::Text(_) | Raw::Bool(_) | Raw::List(_) | Raw::Other(_) => None,
        }
    }

    /// The value as yes or no; where everything is text, as the words `true` and `false`.
    pub(super) fn flag(&self) -> Option<bool> {
        match &self.raw {
            Raw::Bool(value) => Some(*value),
            Raw::Text(text) if self.origin.is_untyped() => text.trim().parse().ok(),
            Raw::Text(_) | Raw::Integer(_) | Raw::List(_) | Raw::Other(_) => None,
        }
    }

    /// The value as a list; a text counts as one with commas.
    pub(super) fn list(&self) -> Option<Vec<String>> {
        match &self.raw {
            Raw::List(texts) => Some(texts.clone()),
            Raw::Text(text) => Some(text.split(',').map(|part| part.trim().to_owned()).collect()),
            Raw::Integer(_) | Raw::Bool(_) | Raw::Other(_) => None,
        }
    }
}
