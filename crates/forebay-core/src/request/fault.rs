//! What is wrong with a member of a request, and where.

use std::borrow::Cow;

/// What kind of fault a member has; the `code` of the problem that the caller gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemberCode {
    /// It is there and its value is not allowed.
    InvalidMember,
    /// It has to be there and is not.
    MissingMember,
    /// Nothing has that name.
    UnknownMember,
}

impl MemberCode {
    /// The name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            MemberCode::InvalidMember => "invalid_member",
            MemberCode::MissingMember => "missing_member",
            MemberCode::UnknownMember => "unknown_member",
        }
    }
}

/// One fault of a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {message}")]
pub struct MemberFault {
    /// What kind of fault it is.
    pub code: MemberCode,
    /// Where, as a JSON pointer; of a missing member, where it should stand.
    pub pointer: String,
    /// What is wrong and what is allowed, for the caller; storable text.
    pub message: String,
}

/// How many faults of one request are told; the rest is as wrong as these.
const MOST_FAULTS: usize = 50;

/// The faults of one request, collected so that the caller reads all of them at once.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<MemberFault>);

impl Faults {
    pub(crate) fn invalid(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.push(MemberCode::InvalidMember, pointer.into(), message.into());
    }

    pub(crate) fn missing(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.push(MemberCode::MissingMember, pointer.into(), message.into());
    }

    pub(crate) fn unknown(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.push(MemberCode::UnknownMember, pointer.into(), message.into());
    }

    fn push(&mut self, code: MemberCode, pointer: String, message: String) {
        if self.0.len() < MOST_FAULTS {
            self.0.push(MemberFault { code, pointer, message });
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn into_vec(self) -> Vec<MemberFault> {
        self.0
    }
}

/// Escapes a member's name for a JSON pointer (RFC 6901): `~` becomes `~0` and `/` becomes `~1`.
pub fn escape(name: &str) -> Cow<'_, str> {
    if name.contains(['~', '/']) {
        Cow::Owned(name.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(name)
    }
}

/// The JSON pointer to a member or an element of what `parent` points to.
pub fn child(parent: &str, name: &str) -> String {
    format!("{parent}/{}", escape(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_rfc_6901_says() {
        assert_eq!(escape("plain"), "plain");
        assert_eq!(escape("a/b"), "a~1b");
        assert_eq!(escape("m~n"), "m~0n");
        assert_eq!(escape("~1"), "~01");
        assert_eq!(child("/a", "b/c"), "/a/b~1c");
        let value = serde_json::json!({"a/b": {"~1": 7}});
        assert_eq!(value.pointer(&child(&child("", "a/b"), "~1")), Some(&serde_json::json!(7)));
    }
}
