//! Takes the members of an object one by one, so that what is left over is unknown.

use serde_json::{Map, Value};

use crate::request::fault::{Faults, child};
use crate::text::storable;
use crate::time::Millis;

/// Characters that are kept of a caller's text in a message.
const QUOTED_CHARS: usize = 64;

/// The members of one object that nobody has taken yet, and the faults found so far.
pub(super) struct Members<'f> {
    rest: Map<String, Value>,
    pointer: String,
    pub(super) faults: &'f mut Faults,
}

impl<'f> Members<'f> {
    /// The members of the object at `pointer`; `None`, with a fault, when it is no object.
    pub(super) fn of(value: Value, pointer: &str, faults: &'f mut Faults) -> Option<Self> {
        match value {
            Value::Object(rest) => Some(Self { rest, pointer: pointer.to_owned(), faults }),
            other => {
                faults.invalid(pointer, format!("expected an object, not {}", kind(&other)));
                None
            }
        }
    }

    /// Where the member of that name stands.
    pub(super) fn at(&self, name: &str) -> String {
        child(&self.pointer, name)
    }

    /// Whether there are members that nobody has taken.
    pub(super) fn is_left_over(&self) -> bool {
        !self.rest.is_empty()
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.rest.remove(name)
    }

    /// Takes a string.
    pub(super) fn string(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) => Some(text),
            other => {
                let message = format!("`{name}` has to be a string, not {}", kind(&other));
                self.faults.invalid(self.at(name), message);
                None
            }
        }
    }

    /// Takes a string that identifies something: 1 to `most` characters, no control characters.
    pub(super) fn key(&mut self, name: &str, most: usize) -> Option<String> {
        let text = self.string(name)?;
        let length = text.chars().count();
        let message = if length == 0 || length > most {
            format!("`{name}` has to have 1 to {most} characters, not {length}")
        } else if text.chars().any(char::is_control) {
            format!("`{name}` must not contain control characters")
        } else {
            return Some(text);
        };
        self.faults.invalid(self.at(name), message);
        None
    }

    /// Takes a span of time of at least `least` milliseconds.
    pub(super) fn millis(&mut self, name: &str, least: i64) -> Option<Millis> {
        let value = self.take(name)?;
        let whole = whole_number(&value).filter(|millis| *millis >= least);
        if whole.is_none() {
            let message = format!("`{name}` has to be a whole number of milliseconds, at least {least}");
            self.faults.invalid(self.at(name), message);
        }
        whole.map(Millis::new)
    }

    /// Ends the reading: whatever was not taken has no meaning and is refused, a misspelt name above all.
    pub(super) fn refuse_rest(self, known: &[&str]) {
        for name in self.rest.keys() {
            let message = format!(
                "there is no member `{}` here; members are: {}",
                storable(name, QUOTED_CHARS),
                known.join(", ")
            );
            self.faults.unknown(child(&self.pointer, name), message);
        }
    }
}

/// The whole number that a value is, however it is written: `1`, `1.0` and `1e0` are the same request.
pub fn whole_number(value: &Value) -> Option<i64> {
    /// Beyond this, a double no longer knows every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    value.as_i64().or_else(|| {
        let double = value.as_f64().filter(|double| double.fract() == 0.0 && double.abs() <= EXACT)?;
        #[allow(clippy::cast_possible_truncation, reason = "whole and in range: the conversion is exact")]
        Some(double as i64)
    })
}

/// What a value is, in a message.
pub(super) const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A caller's text as a message quotes it.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", storable(text, QUOTED_CHARS))
}
