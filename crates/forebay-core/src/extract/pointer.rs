//! JSON pointers (RFC 6901) as policies write them: `*` stands for every index of an array.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A JSON pointer, or a pattern of pointers in which the segment `*` stands for any array index.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pointer(String);

/// The text is not a JSON pointer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a JSON pointer: expected `/member`, `/member/inner` or `/list/*/member`")]
pub struct NotAPointer(String);

impl Pointer {
    /// Reads a pointer to something inside a document; the empty pointer to the whole is refused, and so is
    /// an escape other than `~0` and `~1`.
    ///
    /// # Errors
    ///
    /// When the text is not such a pointer.
    pub fn new(text: impl Into<String>) -> Result<Self, NotAPointer> {
        let text = text.into();
        let escapes_hold = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        if text.len() < 2 || !text.starts_with('/') || !escapes_hold {
            Err(NotAPointer(text))
        } else {
            Ok(Self(text))
        }
    }

    /// The pointer as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it stands for more than one place.
    pub fn is_pattern(&self) -> bool {
        self.segments().any(|segment| segment == "*")
    }

    /// What stands there. Nothing stands at a pattern; see [`Pointer::expand`].
    pub fn lookup<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        value.pointer(&self.0)
    }

    /// Whether a concrete pointer is the one that this pattern means, or one of them.
    pub fn matches(&self, concrete: &str) -> bool {
        let Some(concrete) = concrete.strip_prefix('/') else { return false };
        let mut theirs = concrete.split('/');
        let mut ours = self.segments();
        loop {
            match (ours.next(), theirs.next()) {
                (None, None) => return true,
                (Some("*"), Some(index)) if is_index(index) => {}
                (Some(ours), Some(theirs)) if ours == theirs => {}
                _ => return false,
            }
        }
    }

    /// The concrete pointers that the pattern stands for in a value. Only arrays make it several; where a
    /// part is missing, the pointer goes on as written, so that the caller can name what is absent.
    pub fn expand(&self, value: &Value) -> Vec<String> {
        let mut found = vec![String::new()];
        for segment in self.segments() {
            found = found.into_iter().flat_map(|prefix| step(value, &prefix, segment)).collect();
        }
        found
    }

    /// The pattern for a member of each element of the array at this pointer.
    #[must_use]
    pub fn each(&self, member: &Pointer) -> Pointer {
        Pointer(format!("{}/*{}", self.0, member.0))
    }

    fn segments(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').skip(1)
    }
}

fn step(value: &Value, prefix: &str, segment: &str) -> Vec<String> {
    match (segment, value.pointer(prefix)) {
        ("*", Some(Value::Array(elements))) => {
            (0..elements.len()).map(|index| format!("{prefix}/{index}")).collect()
        }
        ("*", _) => Vec::new(),
        (_, _) => vec![format!("{prefix}/{segment}")],
    }
}

fn is_index(segment: &str) -> bool {
    !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit())
}

impl TryFrom<String> for Pointer {
    type Error = NotAPointer;

    fn try_from(text: String) -> Result<Self, NotAPointer> {
        Self::new(text)
    }
}
impl From<Pointer> for String {
    fn from(pointer: Pointer) -> String {
        pointer.0
    }
}
impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl fmt::Debug for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_pointers_are_accepted() {
        for wrong in ["", "/", "total", "/a~2b", "/a~"] {
            assert!(Pointer::new(wrong).is_err(), "{wrong}");
        }
        assert!(Pointer::new("/a~1b/*/c").is_ok());
        assert!(serde_json::from_value::<Pointer>(json!("total")).is_err());
    }

    #[test]
    fn a_star_stands_for_indices_only() {
        let pattern = Pointer::new("/lines/*/amount").unwrap();
        assert!(pattern.matches("/lines/0/amount"));
        assert!(pattern.matches("/lines/12/amount"));
        for other in ["/lines/x/amount", "/lines/0", "/lines/0/amount/x", "/lines//amount", "lines/0/amount"]
        {
            assert!(!pattern.matches(other), "{other}");
        }
    }

    #[test]
    fn expansion_names_what_is_absent_in_an_element() {
        let value = json!({"lines": [{"amount": 1}, {}]});
        let pattern = Pointer::new("/lines/*/amount").unwrap();
        assert_eq!(pattern.expand(&value), ["/lines/0/amount", "/lines/1/amount"]);
        assert_eq!(pattern.expand(&json!({})), Vec::<String>::new());
        assert_eq!(Pointer::new("/a/b").unwrap().expand(&json!({})), ["/a/b"]);
    }
}
