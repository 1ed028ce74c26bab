//! The reader behind [`repair`](super::repair): JSON by its grammar, plus the deviations that have one
//! meaning only. It notes every deviation, and equals `serde_json` on plain JSON.

use std::collections::{BTreeMap, BTreeSet};

use rust_decimal::Decimal;
use serde_json::{Map, Number, Value};

use crate::extract::repair::{Repair, Unreadable};
use crate::limits;
use crate::request::fault::escape;

/// Reads one value from a place in a text.
pub(super) struct Reader<'t> {
    text: &'t str,
    at: usize,
    depth: usize,
    pointer: String,
    repairs: BTreeSet<Repair>,
    inexact_numbers: BTreeMap<String, String>,
}

impl<'t> Reader<'t> {
    /// Starts at this byte, which is a character's first.
    pub(super) fn new(text: &'t str, at: usize) -> Self {
        Self {
            text,
            at,
            depth: 0,
            pointer: String::new(),
            repairs: BTreeSet::new(),
            inexact_numbers: BTreeMap::new(),
        }
    }

    /// The byte after what was read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// What was noted on the way.
    pub(super) fn notes(self) -> (BTreeSet<Repair>, BTreeMap<String, String>) {
        (self.repairs, self.inexact_numbers)
    }

    /// Reads a value.
    pub(super) fn value(&mut self) -> Result<Value, Unreadable> {
        self.skip_space()?;
        match self.peek() {
            None => Err(Unreadable::Truncated),
            Some('{') => self.nested(Self::object),
            Some('[') => self.nested(Self::array),
            Some('"' | '\'' | '“' | '„' | '”') => self.string().map(Value::String),
            Some('-' | '0'..='9') => self.number(),
            Some(char) if char.is_ascii_alphabetic() => self.word(),
            Some(_) => Err(self.expected("a value")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, Unreadable>) -> Result<Value, Unreadable> {
        if self.depth == limits::JSON_DEPTH {
            return Err(Unreadable::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, Unreadable> {
        let mut members = Map::new();
        while !self.closed_by('}', members.is_empty())? {
            let name = match self.peek() {
                Some('"' | '\'' | '“' | '„' | '”') => self.string()?,
                _ => return Err(self.expected("a member's name in quotation marks")),
            };
            let outer = self.enter(&escape(&name));
            if members.contains_key(&name) {
                return Err(Unreadable::DuplicateMember { pointer: self.pointer.clone() });
            }
            self.skip_space()?;
            self.expect(':', "`:` after the member's name")?;
            let value = self.value()?;
            members.insert(name, value);
            self.pointer.truncate(outer);
        }
        Ok(Value::Object(members))
    }

    fn array(&mut self) -> Result<Value, Unreadable> {
        let mut elements = Vec::new();
        while !self.closed_by(']', elements.is_empty())? {
            let outer = self.enter(&elements.len().to_string());
            elements.push(self.value()?);
            self.pointer.truncate(outer);
        }
        Ok(Value::Array(elements))
    }

    /// Reads up to the next element: true when the bracket closes instead. A comma right before the bracket
    /// is a trailing one; a comma without an element before it is an error.
    fn closed_by(&mut self, bracket: char, first: bool) -> Result<bool, Unreadable> {
        self.skip_space()?;
        let comma = !first && self.peek() == Some(',');
        if comma {
            self.at += 1;
            self.skip_space()?;
        }
        match self.peek() {
            None => Err(Unreadable::Truncated),
            Some(char) if char == bracket => {
                self.at += 1;
                if comma {
                    self.repairs.insert(Repair::TrailingComma);
                }
                Ok(true)
            }
            Some(_) if first || comma => Ok(false),
            Some(_) => Err(self.expected("`,` or the closing bracket")),
        }
    }

    fn enter(&mut self, segment: &str) -> usize {
        let outer = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(segment);
        outer
    }

    fn string(&mut self) -> Result<String, Unreadable> {
        let start = self.at;
        let quotes = match self.bump() {
            Some('"') => Quotes::Double,
            Some('\'') => Quotes::Single,
            _ => Quotes::Typographic,
        };
        let mut literal = String::from("\"");
        loop {
            let Some(char) = self.bump() else { return Err(Unreadable::Truncated) };
            match char {
                '\\' => self.escape(quotes, &mut literal)?,
                _ if quotes.close(char) => break,
                '"' if quotes == Quotes::Single => literal.push_str("\\\""),
                '"' => return Err(Unreadable::Syntax { at: start, expected: "one kind of quotation marks" }),
                '\u{0}'..='\u{1f}' => {
                    self.repairs.insert(Repair::RawControlCharacter);
                    literal.push_str(&format!("\\u{:04x}", u32::from(char)));
                }
                _ => literal.push(char),
            }
        }
        literal.push('"');
        self.note_quotes(quotes)?;
        serde_json::from_str(&literal)
            .map_err(|_| Unreadable::Syntax { at: start, expected: "a string with valid escapes" })
    }

    fn escape(&mut self, quotes: Quotes, literal: &mut String) -> Result<(), Unreadable> {
        match self.bump() {
            None => Err(Unreadable::Truncated),
            Some('\'') if quotes == Quotes::Single => {
                literal.push('\'');
                Ok(())
            }
            Some(char) => {
                literal.extend(['\\', char]);
                Ok(())
            }
        }
    }

    /// Marks other than `"` may also stand inside the text that they enclose. Only when JSON goes on after
    /// the mark was it the closing one.
    fn note_quotes(&mut self, quotes: Quotes) -> Result<(), Unreadable> {
        let repair = match quotes {
            Quotes::Double => return Ok(()),
            Quotes::Single => Repair::SingleQuotes,
            Quotes::Typographic => Repair::TypographicQuotes,
        };
        self.repairs.insert(repair);
        self.skip_space()?;
        match self.peek() {
            None | Some(',' | ':' | '}' | ']') => Ok(()),
            Some(_) => Err(self.expected("`,`, `:` or a bracket after the closing quotation mark")),
        }
    }

    fn number(&mut self) -> Result<Value, Unreadable> {
        let rest = &self.text[self.at..];
        let digits = |char: char| matches!(char, '0'..='9' | '+' | '-' | '.' | 'e' | 'E');
        let literal = &rest[..rest.find(|char| !digits(char)).unwrap_or(rest.len())];
        if literal.len() == rest.len() {
            return Err(Unreadable::Truncated);
        }
        let number: Number = serde_json::from_str(literal).map_err(|_| self.expected("a number"))?;
        if !keeps_its_form(literal, &number) {
            self.inexact_numbers.insert(self.pointer.clone(), literal.to_owned());
        }
        self.at += literal.len();
        Ok(Value::Number(number))
    }

    fn word(&mut self) -> Result<Value, Unreadable> {
        let rest = &self.text[self.at..];
        let word = &rest[..rest.find(|char: char| !char.is_ascii_alphanumeric()).unwrap_or(rest.len())];
        if word.len() == rest.len() {
            return Err(Unreadable::Truncated);
        }
        let (value, python) = match word {
            "null" => (Value::Null, false),
            "true" => (Value::Bool(true), false),
            "false" => (Value::Bool(false), false),
            "None" => (Value::Null, true),
            "True" => (Value::Bool(true), true),
            "False" => (Value::Bool(false), true),
            _ => return Err(self.expected("a value")),
        };
        if python {
            self.repairs.insert(Repair::PythonLiteral);
        }
        self.at += word.len();
        Ok(value)
    }

    /// Skips white space and comments.
    fn skip_space(&mut self) -> Result<(), Unreadable> {
        loop {
            let rest = self.text[self.at..].trim_start_matches([' ', '\t', '\r', '\n']);
            self.at = self.text.len() - rest.len();
            let length = if rest.starts_with("//") {
                rest.find('\n')
            } else if let Some(comment) = rest.strip_prefix("/*") {
                comment.find("*/").map(|end| end + "/**/".len())
            } else {
                return Ok(());
            };
            self.repairs.insert(Repair::Comment);
            self.at += length.ok_or(Unreadable::Truncated)?;
        }
    }

    fn expect(&mut self, char: char, expected: &'static str) -> Result<(), Unreadable> {
        match self.peek() {
            None => Err(Unreadable::Truncated),
            Some(found) if found == char => {
                self.at += char.len_utf8();
                Ok(())
            }
            Some(_) => Err(self.expected(expected)),
        }
    }

    fn expected(&self, expected: &'static str) -> Unreadable {
        Unreadable::Syntax { at: self.at, expected }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += char.len_utf8();
        Some(char)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Double,
    Single,
    Typographic,
}

impl Quotes {
    fn close(self, char: char) -> bool {
        match self {
            Quotes::Double => char == '"',
            Quotes::Single => char == '\'',
            Quotes::Typographic => matches!(char, '“' | '”'),
        }
    }
}

/// Whether the number that `serde_json` keeps is the number that was written, and written plainly.
fn keeps_its_form(literal: &str, number: &Number) -> bool {
    let written = Decimal::from_str_exact(literal);
    !literal.contains(['e', 'E'])
        && written.is_ok()
        && written == Decimal::from_str_exact(&number.to_string())
}
