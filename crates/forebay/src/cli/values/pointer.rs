//! Members set by pointer: `--set /params/temperature=0.2`.

use std::str::FromStr;

use serde_json::{Map, Value};

/// A member of a request and what it shall be.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The reference tokens of the JSON Pointer (RFC 6901), unescaped.
    tokens: Vec<String>,
    /// JSON where the text is JSON, else the text.
    value: Value,
    /// The value as it was written.
    text: String,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = || "expected a JSON Pointer and a value: /params/temperature=0.2".to_owned();
        let (pointer, value) = text.split_once('=').ok_or_else(refuse)?;
        let path = pointer.strip_prefix('/').ok_or_else(refuse)?;
        let tokens = path.split('/').map(unescape).collect::<Option<Vec<_>>>();
        let tokens =
            tokens.ok_or_else(|| "in a JSON Pointer `~` is written ~0 and `/` is written ~1".to_owned())?;
        let text = value.to_owned();
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(text.clone()));
        Ok(Self { tokens, value, text })
    }
}

impl Assignment {
    /// Sets the member. Objects on the way are made; in an array the token is an index, or `-` for a new
    /// element at its end.
    ///
    /// # Errors
    ///
    /// When the way leads through something that is neither.
    pub fn apply(&self, target: &mut Value) -> Result<(), String> {
        *self.place(target)? = self.value.clone();
        Ok(())
    }

    /// The same, for a value that is there: where a text stands, a number or a truth value is one more text.
    ///
    /// # Errors
    ///
    /// As above.
    pub fn correct(&self, target: &mut Value) -> Result<(), String> {
        let place = self.place(target)?;
        let is_text = place.is_string() && (self.value.is_number() || self.value.is_boolean());
        *place = if is_text { Value::String(self.text.clone()) } else { self.value.clone() };
        Ok(())
    }

    fn place<'t>(&self, target: &'t mut Value) -> Result<&'t mut Value, String> {
        let mut place = target;
        for token in &self.tokens {
            if place.is_null() {
                *place = Value::Object(Map::new());
            }
            place = step(place, token).ok_or_else(|| {
                format!("/{} leads nowhere: `{token}` can't be reached", self.tokens.join("/"))
            })?;
        }
        Ok(place)
    }
}

fn step<'a>(place: &'a mut Value, token: &str) -> Option<&'a mut Value> {
    match place {
        Value::Object(members) => Some(members.entry(token).or_insert(Value::Null)),
        Value::Array(elements) => {
            if token == "-" {
                elements.push(Value::Null);
                return elements.last_mut();
            }
            elements.get_mut(token.parse::<usize>().ok()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn unescape(token: &str) -> Option<String> {
    let parts = token.split('~');
    let mut text = String::with_capacity(token.len());
    for (index, part) in parts.enumerate() {
        if index > 0 {
            let escaped = match part.as_bytes().first()? {
                b'0' => '~',
                b'1' => '/',
                _ => return None,
            };
            text.push(escaped);
            text.push_str(part.get(1..)?);
        } else {
            text.push_str(part);
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(mut target: Value, assignments: &[&str]) -> Result<Value, String> {
        for text in assignments {
            text.parse::<Assignment>()?.apply(&mut target)?;
        }
        Ok(target)
    }

    #[test]
    fn values_are_json_or_text() {
        let set = set(json!({}), &["/a=0.2", "/b=text", "/c=\"1\"", "/d=", "/e=[1]", "/f=x=y", "/g=null"]);
        let expected = json!({ "a": 0.2, "b": "text", "c": "1", "d": "", "e": [1], "f": "x=y", "g": null });
        assert_eq!(set, Ok(expected));
    }

    #[test]
    fn objects_on_the_way_are_made() {
        let target = json!({ "input": { "prompt": "hi" } });
        let expected = json!({ "input": { "prompt": "hi" }, "params": { "temperature": 0 } });
        assert_eq!(set(target, &["/params/temperature=0"]), Ok(expected));
    }

    #[test]
    fn arrays_take_an_index_or_a_dash() {
        let target = json!({ "messages": [{ "role": "user" }] });
        let expected = json!({ "messages": [{ "role": "user", "content": "a" }, { "role": "system" }] });
        assert_eq!(set(target, &["/messages/0/content=a", "/messages/-/role=system"]), Ok(expected));
    }

    #[test]
    fn tilde_and_slash_are_escaped() {
        assert_eq!(set(json!({}), &["/metadata/a~1b~0c=1"]), Ok(json!({ "metadata": { "a/b~c": 1 } })));
    }

    #[test]
    fn a_text_stays_a_text_when_it_is_corrected() {
        let mut output = json!({ "total": "1.00", "count": 1, "due": "2026-12-01" });
        for text in ["/total=49.98", "/count=2", "/due=null", "/name=5"] {
            text.parse::<Assignment>().unwrap().correct(&mut output).unwrap();
        }
        assert_eq!(output, json!({ "total": "49.98", "count": 2, "due": null, "name": 5 }));
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        for text in ["a=1", "=1", "/a", "/a~2=1", "/a~=1"] {
            assert!(text.parse::<Assignment>().is_err(), "{text}");
        }
        assert!(set(json!({ "task": "invoice" }), &["/task/name=x"]).is_err());
        assert!(set(json!({ "list": [] }), &["/list/0=x"]).is_err());
        assert!(set(json!({ "list": [] }), &["/list/x=x"]).is_err());
    }
}
