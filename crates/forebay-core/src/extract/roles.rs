//! What each field of an output is to the policy.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::extract::pointer::Pointer;
use crate::extract::policy::{Policy, Role};

/// The roles that a policy gives, found by a field's pointer.
#[derive(Debug, Default)]
pub(super) struct Roles {
    by_pattern: HashMap<String, Role>,
    /// Patterns that have both an index and a star, which no other form of a pointer leads to.
    mixed: Vec<(Pointer, Role)>,
}

impl Roles {
    pub(super) fn of(policy: &Policy) -> Self {
        let mut roles = Self::default();
        for named in policy.fields().into_iter().filter(|named| named.role != Role::Text) {
            let is_general = generalised(named.field.as_str()) == named.field.as_str();
            if named.field.is_pattern() && !is_general {
                roles.mixed.push((named.field, named.role));
            } else {
                roles.by_pattern.entry(named.field.into()).or_insert(named.role);
            }
        }
        roles
    }

    pub(super) fn role(&self, pointer: &str) -> Role {
        let known = self.by_pattern.get(pointer).or_else(|| self.by_pattern.get(&*generalised(pointer)));
        let mixed = || self.mixed.iter().find(|(pattern, _)| pattern.matches(pointer)).map(|(_, role)| *role);
        known.copied().or_else(mixed).unwrap_or(Role::Text)
    }
}

/// A pointer with a star for each index.
fn generalised(pointer: &str) -> Cow<'_, str> {
    let is_index = |segment: &str| !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
    if !pointer.split('/').any(is_index) {
        return Cow::Borrowed(pointer);
    }
    let starred = pointer.split('/').map(|segment| if is_index(segment) { "*" } else { segment });
    Cow::Owned(starred.collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_found_by_its_pattern() {
        let policy = json!({
            "version": 1,
            "amounts": {"total": "/total", "lines": "/lines", "line_amount": "/amount"},
            "evidence": {"numbers": ["/lines/*/quantity", "/rates/0/*/rate", "/first/0"]},
        });
        let roles = Roles::of(&serde_json::from_value(policy).unwrap());
        for (pointer, role) in [
            ("/total", Role::Amount),
            ("/lines/12/amount", Role::Amount),
            ("/lines/12/quantity", Role::Number),
            ("/rates/0/7/rate", Role::Number),
            ("/rates/1/7/rate", Role::Text),
            ("/first/0", Role::Number),
            ("/first/1", Role::Text),
            ("/lines/x/amount", Role::Text),
        ] {
            assert_eq!(roles.role(pointer), role, "{pointer}");
        }
    }
}
