//! The part of a submission that a worker needs: its input and its parameters, as the store keeps them.

use serde_json::{Map, Value};

use crate::request::canonical;
use crate::request::fault::MemberFault;
use crate::request::input::Input;
use crate::request::json::{self, JsonFault, JsonLimits};

/// What a worker reads of a job's request.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRequest {
    /// What the job works on.
    pub input: Input,
    /// The parameters that the request set; checked against the task when it was accepted.
    pub params: Map<String, Value>,
}

/// The stored bytes are no request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotStored {
    /// They are no JSON.
    #[error("the stored request can't be read: {0}")]
    Json(#[from] JsonFault),
    /// They do not have the members of a request.
    #[error("the stored request can't be read: {0}")]
    Members(MemberFault),
    /// They are no object with `input` and `params`.
    #[error("the stored request can't be read: expected an object with `input` and `params`")]
    Shape,
}

impl StoredRequest {
    /// Reads what [`Submission::stored`](crate::request::Submission::stored) wrote, or this type's own
    /// [`StoredRequest::to_bytes`].
    ///
    /// # Errors
    ///
    /// When the bytes are something else.
    pub fn read(bytes: &[u8]) -> Result<Self, NotStored> {
        // The limits were held when it was accepted. The normal form may have a few members more than what
        // the caller wrote, and a lower limit in a later release must not strand what was accepted before.
        let accepted = JsonLimits { depth: usize::MAX, members: usize::MAX };
        let Value::Object(mut members) = json::parse_within(bytes, accepted)? else {
            return Err(NotStored::Shape);
        };
        let (Some(input), Some(Value::Object(params)), true) =
            (members.remove("input"), members.remove("params"), members.is_empty())
        else {
            return Err(NotStored::Shape);
        };
        let input = Input::parse(input, "/input")
            .map_err(|faults| faults.into_iter().next().map_or(NotStored::Shape, NotStored::Members))?;
        Ok(Self { input, params })
    }

    /// The normal form of `{"input": ..., "params": ...}`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(512);
        out.push(b'{');
        write_members(&mut out, &self.input, &self.params);
        out.push(b'}');
        out
    }
}

/// Appends the two members, without the braces: the hash has more members in the same object.
pub(super) fn write_members(out: &mut Vec<u8>, input: &Input, params: &Map<String, Value>) {
    out.extend_from_slice(b"\"input\":");
    input.write(out);
    out.extend_from_slice(b",\"params\":");
    canonical::write_object(out, params);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        for text in [
            r#"{"input":{"messages":[{"content":"hi","role":"user"}]},"params":{"temperature":0.2}}"#,
            r#"{"input":{"embed":["a","b"]},"params":{}}"#,
            r#"{"input":{"text":"\u0000é"},"params":{}}"#,
        ] {
            let request = StoredRequest::read(text.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(request.to_bytes()).unwrap(), text);
        }
    }

    #[test]
    fn other_bytes_are_named() {
        let said = |text: &str| StoredRequest::read(text.as_bytes()).unwrap_err().to_string();
        assert!(said("{").contains("at line 1"));
        assert!(said("[]").contains("expected an object with `input` and `params`"));
        assert!(said(r#"{"input":{"text":"a"},"params":{},"more":1}"#).contains("expected an object"));
        assert!(said(r#"{"input":{},"params":{}}"#).contains("/input: give one of"));
    }
}
