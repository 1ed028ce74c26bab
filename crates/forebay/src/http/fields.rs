//! Members of small JSON bodies, read one by one; all faults are told at once.

use forebay_core::request::fault::{MemberCode, MemberFault, child};
use forebay_core::request::whole_number;
use forebay_core::time::Timestamp;
use serde_json::{Map, Value};

use super::problem::Problem;

/// An object that is being read.
pub(super) struct Fields {
    pointer: String,
    members: Map<String, Value>,
    faults: Vec<MemberFault>,
}

impl Fields {
    /// Begins with the root of a body.
    pub(super) fn of(value: Value) -> Self {
        let mut fields = Self { pointer: String::new(), members: Map::new(), faults: Vec::new() };
        match value {
            Value::Object(members) => fields.members = members,
            _ => fields.fault(MemberCode::InvalidMember, String::new(), "expected an object"),
        }
        fields
    }

    fn fault(&mut self, code: MemberCode, pointer: String, message: impl Into<String>) {
        self.faults.push(MemberFault { code, pointer, message: message.into() });
    }

    /// Notes that a member is not allowed.
    pub(super) fn invalid(&mut self, name: &str, message: impl Into<String>) {
        let pointer = child(&self.pointer, name);
        self.fault(MemberCode::InvalidMember, pointer, message);
    }

    /// Notes that a member has to be there.
    pub(super) fn missing(&mut self, name: &str, message: impl Into<String>) {
        let pointer = child(&self.pointer, name);
        self.fault(MemberCode::MissingMember, pointer, message);
    }

    /// A member, where `read` understands it. `null` is a value that hardly anything understands: what is absent
    /// is left out.
    pub(super) fn optional<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.members.remove(name)?;
        let read = read(&value);
        if read.is_none() {
            self.invalid(name, format!("expected {expected}"));
        }
        read
    }

    /// A member that has to be there.
    pub(super) fn required<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        if !self.members.contains_key(name) {
            self.missing(name, format!("expected {expected}"));
            return None;
        }
        self.optional(name, expected, read)
    }

    /// A whole number that is not negative.
    pub(super) fn whole(&mut self, name: &str) -> Option<u64> {
        let read = |value: &Value| u64::try_from(whole_number(value)?).ok();
        self.optional(name, "a whole number of 0 or more", read)
    }

    /// A point in time.
    pub(super) fn time(&mut self, name: &str) -> Option<Timestamp> {
        self.optional(name, "a time as RFC 3339 writes it, with an offset", |value| {
            value.as_str()?.parse().ok()
        })
    }

    /// A text of up to so many characters.
    pub(super) fn text(&mut self, name: &str, most: usize) -> Option<String> {
        self.optional(name, &format!("a text of up to {most} characters"), |value| short_text(value, most))
    }

    /// An object inside; `read` takes its members.
    pub(super) fn object<T>(&mut self, name: &str, read: impl FnOnce(&mut Fields) -> T) -> Option<T> {
        let members = self.optional(name, "an object", |value| value.as_object().cloned())?;
        let mut inner = Fields { pointer: child(&self.pointer, name), members, faults: Vec::new() };
        let value = read(&mut inner);
        inner.refuse_unknown();
        self.faults.append(&mut inner.faults);
        Some(value)
    }

    fn refuse_unknown(&mut self) {
        for name in std::mem::take(&mut self.members).keys() {
            let pointer = child(&self.pointer, name);
            self.fault(MemberCode::UnknownMember, pointer, "nothing reads this member");
        }
    }

    /// Refuses the body when it has faults or members that nobody has read.
    pub(super) fn end(mut self) -> Result<(), Problem> {
        self.refuse_unknown();
        if self.faults.is_empty() { Ok(()) } else { Err(self.faults.into()) }
    }
}

/// A text for people: up to so many characters, at least one of them visible, and no control characters but line
/// breaks and tabs.
pub(super) fn short_text(value: &Value, most: usize) -> Option<String> {
    let hidden = |char: char| char.is_control() && !matches!(char, '\n' | '\r' | '\t');
    let blank = |char: char| char.is_whitespace() || char == '\u{feff}';
    let fits =
        |text: &&str| text.chars().count() <= most && !text.contains(hidden) && !text.chars().all(blank);
    value.as_str().filter(fits).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_faults_are_told_with_their_pointers() {
        let mut fields = Fields::of(json!({"limit": -1, "budget": {"limt": 3}, "x/y": 1, "note": null}));
        assert_eq!(fields.whole("limit"), None);
        assert_eq!(fields.text("note", 10), None);
        fields.required("name", "a name", |value| value.as_str().map(str::to_owned));
        fields.object("budget", |budget| budget.whole("limit_micros"));
        let problem = fields.end().unwrap_err();
        let told: Vec<_> = problem
            .errors()
            .iter()
            .map(|item| (item.code.unwrap_or_default(), item.pointer.as_deref().unwrap_or_default()))
            .collect();
        assert_eq!(
            told,
            [
                ("invalid_member", "/limit"),
                ("invalid_member", "/note"),
                ("missing_member", "/name"),
                ("unknown_member", "/budget/limt"),
                ("unknown_member", "/x~1y"),
            ]
        );
    }

    #[test]
    fn a_body_that_is_no_object_is_refused() {
        assert!(Fields::of(json!([])).end().is_err());
        assert!(Fields::of(json!({})).end().is_ok());
    }
}
