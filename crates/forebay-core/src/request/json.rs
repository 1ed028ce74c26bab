//! Strict JSON: one reading, or none.
//!
//! The checker, the hasher and the provider must not read different values from the same bytes. So what
//! RFC 8259 leaves to the reader is refused here: duplicate members, numbers that a double or a 64-bit integer
//! can't hold, lone surrogates, a byte order mark. Size in every direction is bounded while reading, not
//! afterwards, so that neither the stack nor the memory depends on the sender.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use crate::limits;
use crate::request::fault::child;
use crate::request::json::numbers::Numbers;
use crate::text::storable;

pub(crate) mod numbers;
pub mod place;

/// How much a JSON text may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonLimits {
    /// Levels of arrays and objects; `[]` has one. Default [`limits::JSON_DEPTH`]; more than 127 are refused
    /// whatever stands here.
    pub depth: usize,
    /// Members of objects and elements of arrays, over all levels. Default [`limits::JSON_MEMBERS`].
    pub members: usize,
}

impl Default for JsonLimits {
    fn default() -> Self {
        Self { depth: limits::JSON_DEPTH, members: limits::JSON_MEMBERS }
    }
}

/// What kind of fault a JSON text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JsonFaultKind {
    /// It breaks the grammar of RFC 8259, or ends too early.
    Syntax,
    /// It is not UTF-8.
    InvalidUtf8,
    /// It starts with a byte order mark.
    ByteOrderMark,
    /// An object has two members of one name.
    DuplicateMember,
    /// It has more levels than allowed.
    TooDeep,
    /// It has more members and elements than allowed.
    TooManyMembers,
    /// An integer is outside what 64 bits hold.
    InexactInteger,
    /// A number is outside what a double holds.
    NumberOutOfRange,
    /// A string escapes one half of a surrogate pair.
    LoneSurrogate,
    /// Something follows the value.
    TrailingText,
}

/// Why a text was refused as JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} at line {line} column {column}")]
pub struct JsonFault {
    /// What kind of fault it is.
    pub kind: JsonFaultKind,
    /// Where in the value, as a JSON pointer; absent where the text did not get as far as a value.
    pub pointer: Option<String>,
    /// The line, counted from 1.
    pub line: usize,
    /// The column where reading stopped, in bytes, counted from 1.
    pub column: usize,
    /// What is wrong, naming the thing; storable text.
    pub message: String,
}

/// Characters that are kept of a member's name in a message.
const NAME_CHARS: usize = 64;

/// Reads one JSON value within the published limits.
///
/// # Errors
///
/// The first fault of the text.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonFault> {
    parse_within(bytes, JsonLimits::default())
}

/// Reads one JSON value within these limits.
///
/// # Errors
///
/// The first fault of the text.
pub fn parse_within(bytes: &[u8], limits: JsonLimits) -> Result<Value, JsonFault> {
    let text = utf8(bytes)?;
    let mut walk = Walk { limits, members: 0, numbers: Numbers::new(text), fault: None, trail: Vec::new() };
    let mut reader = serde_json::Deserializer::from_str(text);
    let value =
        Node { walk: &mut walk, depth: 0 }.deserialize(&mut reader).map_err(|error| walk.explain(&error))?;
    reader.end().map_err(|error| walk.explain(&error))?;
    Ok(value)
}

/// The text of bytes that can be JSON.
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, JsonFault> {
    if bytes.starts_with(b"\xef\xbb\xbf") {
        return Err(JsonFault {
            kind: JsonFaultKind::ByteOrderMark,
            pointer: None,
            line: 1,
            column: 1,
            message: "the text starts with a byte order mark; send UTF-8 without one".to_owned(),
        });
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        JsonFault {
            kind: JsonFaultKind::InvalidUtf8,
            pointer: None,
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            column: 1 + before.len() - line_start,
            message: "the text is not UTF-8".to_owned(),
        }
    })
}

/// What reading keeps in mind beside the value.
struct Walk<'t> {
    limits: JsonLimits,
    members: usize,
    numbers: Numbers<'t>,
    /// The fault that this module found; `serde_json` found it where this is absent.
    fault: Option<(JsonFaultKind, String)>,
    /// The way back from the fault to the root, innermost first; only written after a fault.
    trail: Vec<String>,
}

impl Walk<'_> {
    /// Remembers the fault; the error only carries it out through `serde_json`, which adds the position.
    fn refuse<E: serde::de::Error>(&mut self, kind: JsonFaultKind, message: String) -> E {
        self.fault = Some((kind, message));
        E::custom("refused")
    }

    fn count<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.members += 1;
        if self.members <= self.limits.members {
            return Ok(());
        }
        let message = format!("more than {} members and elements in all", self.limits.members);
        Err(self.refuse(JsonFaultKind::TooManyMembers, message))
    }

    /// The number that the text says, where `serde_json` has rounded it.
    fn float<E: serde::de::Error>(&mut self) -> Result<Value, E> {
        let token = self.numbers.next_float().unwrap_or_default();
        if !token.contains(['.', 'e', 'E']) && token != "-0" {
            let message = format!(
                "the integer {} does not fit 64 bits and would lose digits; send it as a string",
                storable(token, NAME_CHARS)
            );
            return Err(self.refuse(JsonFaultKind::InexactInteger, message));
        }
        let exact = token.parse().ok().and_then(Number::from_f64);
        exact.map(Value::Number).ok_or_else(|| self.refuse(JsonFaultKind::NumberOutOfRange, out_of_range()))
    }

    fn explain(&mut self, error: &serde_json::Error) -> JsonFault {
        let (kind, message) = self.fault.take().unwrap_or_else(|| foreign_fault(error, self.limits));
        let located = match kind {
            JsonFaultKind::DuplicateMember
            | JsonFaultKind::TooDeep
            | JsonFaultKind::TooManyMembers
            | JsonFaultKind::InexactInteger
            | JsonFaultKind::NumberOutOfRange
            | JsonFaultKind::LoneSurrogate => true,
            JsonFaultKind::Syntax
            | JsonFaultKind::InvalidUtf8
            | JsonFaultKind::ByteOrderMark
            | JsonFaultKind::TrailingText => false,
        };
        let pointer = located
            .then(|| self.trail.iter().rev().fold(String::new(), |parent, segment| child(&parent, segment)));
        JsonFault { kind, pointer, line: error.line(), column: error.column(), message }
    }
}

/// A fault of the grammar, where nothing but that is read.
pub(super) fn syntax(error: &serde_json::Error) -> JsonFault {
    let (kind, message) = foreign_fault(error, JsonLimits::default());
    JsonFault { kind, pointer: None, line: error.line(), column: error.column(), message }
}

fn out_of_range() -> String {
    "a number is larger than a double can hold".to_owned()
}

/// Names a fault that `serde_json` found. Its errors have no kinds finer than "syntax", so its words are read;
/// a test holds each of them.
pub(crate) fn foreign_fault(error: &serde_json::Error, limits: JsonLimits) -> (JsonFaultKind, String) {
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    match said {
        "number out of range" => (JsonFaultKind::NumberOutOfRange, out_of_range()),
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            let message = "a string escapes one half of a surrogate pair; escape both, or write UTF-8";
            (JsonFaultKind::LoneSurrogate, message.to_owned())
        }
        "trailing characters" => (JsonFaultKind::TrailingText, "something follows the JSON value".to_owned()),
        "recursion limit exceeded" => (JsonFaultKind::TooDeep, too_deep(limits.depth)),
        other => (JsonFaultKind::Syntax, format!("not JSON: {}", storable(other, limits::MESSAGE_CHARS))),
    }
}

fn too_deep(depth: usize) -> String {
    format!("more than {depth} levels of arrays and objects")
}

/// One value that is about to be read, `depth` levels below the root.
struct Node<'w, 't> {
    walk: &'w mut Walk<'t>,
    depth: usize,
}

impl<'t> Node<'_, 't> {
    fn enter<E: serde::de::Error>(&mut self) -> Result<(), E> {
        self.depth += 1;
        if self.depth <= self.walk.limits.depth {
            return Ok(());
        }
        let message = too_deep(self.walk.limits.depth);
        Err(self.walk.refuse(JsonFaultKind::TooDeep, message))
    }

    fn inner(&mut self) -> Node<'_, 't> {
        Node { walk: self.walk, depth: self.depth }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, _rounded: f64) -> Result<Value, E> {
        self.walk.float()
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut elements = Vec::new();
        loop {
            match access.next_element_seed(self.inner()) {
                Ok(Some(element)) => elements.push(element),
                Ok(None) => return Ok(Value::Array(elements)),
                Err(error) => {
                    self.walk.trail.push(elements.len().to_string());
                    return Err(error);
                }
            }
            self.walk.count()?;
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut members = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            self.walk.count()?;
            match members.entry(name) {
                Entry::Vacant(place) => match access.next_value_seed(self.inner()) {
                    Ok(value) => {
                        place.insert(value);
                    }
                    Err(error) => {
                        self.walk.trail.push(place.key().clone());
                        return Err(error);
                    }
                },
                Entry::Occupied(place) => {
                    let name = place.key();
                    let message = format!("the member `{}` is given twice", storable(name, NAME_CHARS));
                    self.walk.trail.push(name.clone());
                    return Err(self.walk.refuse(JsonFaultKind::DuplicateMember, message));
                }
            }
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests;
