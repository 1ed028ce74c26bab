//! Which places an output can have, by its schema.

use serde_json::Value;

use crate::extract::pointer::Pointer;

/// References and combinations that are followed below each other, and in all; what lies beyond may be anything.
const MAX_DEPTH: usize = 32;
const MAX_STEPS: usize = 10_000;

/// Whether an output of the schema can have something there. Where the schema does not say, it can.
pub(super) fn may_have(schema: &Value, pointer: &Pointer) -> bool {
    let mut at = vec![schema];
    let mut steps = MAX_STEPS;
    for segment in pointer.as_str().split('/').skip(1) {
        let name = segment.replace("~1", "/").replace("~0", "~");
        let below: Vec<_> = at.iter().map(|part| below(schema, part, &name, (0, &mut steps))).collect();
        if below.iter().any(|below| matches!(below, Below::Anything)) {
            return true;
        }
        at = below.into_iter().flat_map(Below::schemas).collect();
        if at.is_empty() {
            return false;
        }
    }
    true
}

/// What a schema says about a member or an element.
enum Below<'s> {
    /// That it can't be there.
    Nothing,
    /// Nothing: it may be there and be anything.
    Anything,
    /// What it is like, in one of these ways.
    These(Vec<&'s Value>),
}

impl<'s> Below<'s> {
    fn schemas(self) -> Vec<&'s Value> {
        match self {
            Below::These(schemas) => schemas,
            Below::Nothing | Below::Anything => Vec::new(),
        }
    }
}

fn below<'s>(
    root: &'s Value,
    schema: &'s Value,
    name: &str,
    (depth, steps): (usize, &mut usize),
) -> Below<'s> {
    *steps = steps.saturating_sub(1);
    if depth == MAX_DEPTH || *steps == 0 {
        return Below::Anything;
    }
    let members = match schema {
        Value::Object(members) => members,
        Value::Bool(false) => return Below::Nothing,
        _ => return Below::Anything,
    };
    let own = own(schema, name);
    if matches!(own, Below::Nothing) {
        return Below::Nothing;
    }
    let referred = members.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
    let referred = referred.and_then(|target| root.pointer(target)).into_iter();
    let combined = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|keyword| members.get(keyword));
    let combined = combined.filter_map(Value::as_array).flatten();
    let conditional = ["then", "else"].into_iter().filter_map(|keyword| members.get(keyword));
    let parts: Vec<_> = referred.chain(combined).chain(conditional).collect();
    let others: Vec<_> = parts.iter().map(|part| below(root, part, name, (depth + 1, &mut *steps))).collect();
    let none = !others.is_empty() && others.iter().all(|other| matches!(other, Below::Nothing));
    let known: Vec<_> = std::iter::once(own).chain(others).flat_map(Below::schemas).collect();
    match (known.is_empty(), none) {
        (false, _) => Below::These(known),
        (true, true) => Below::Nothing,
        (true, false) => Below::Anything,
    }
}

/// What a schema says by itself, without those that it refers to or combines.
fn own<'s>(schema: &'s Value, name: &str) -> Below<'s> {
    let types: Vec<_> = match schema.get("type") {
        Some(Value::String(name)) => vec![name.as_str()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => vec!["object", "array"],
    };
    let is_index = name == "*" || !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let as_member = types.contains(&"object").then(|| member(schema, name));
    let as_element = (is_index && types.contains(&"array")).then(|| element(schema, name));
    let ways: Vec<_> = as_member.filter(|_| name != "*").into_iter().chain(as_element).collect();
    if ways.iter().any(|way| matches!(way, Below::Anything)) {
        return Below::Anything;
    }
    let known: Vec<_> = ways.into_iter().flat_map(Below::schemas).collect();
    if known.is_empty() { Below::Nothing } else { Below::These(known) }
}

fn member<'s>(schema: &'s Value, name: &str) -> Below<'s> {
    if let Some(property) = schema.get("properties").and_then(|properties| properties.get(name)) {
        return Below::These(vec![property]);
    }
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) if schema.get("patternProperties").is_none() => Below::Nothing,
        Some(other @ Value::Object(_)) => Below::These(vec![other]),
        _ => Below::Anything,
    }
}

fn element<'s>(schema: &'s Value, index: &str) -> Below<'s> {
    let first = schema.get("prefixItems").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let rest = schema.get("items");
    let mut ways: Vec<_> = match index.parse::<usize>() {
        Ok(at) if at < first.len() => return Below::These(vec![&first[at]]),
        Ok(_) => Vec::new(),
        Err(_) => first.iter().collect(),
    };
    match rest {
        None => return Below::Anything,
        Some(Value::Bool(false)) => {}
        Some(items) => ways.push(items),
    }
    if ways.is_empty() { Below::Nothing } else { Below::These(ways) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_the_schema_rules_out_is_refused() {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "total": {"type": "string"},
                "a/b": true,
                "open": {"type": "object"},
                "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
                "pair": {"type": "array", "prefixItems": [{"properties": {"x": true}, "additionalProperties": false}], "items": false},
                "either": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/line"}]},
                "tree": {"properties": {"down": {"$ref": "#/properties/tree"}}, "additionalProperties": false},
            },
            "$defs": {
                "line": {"type": "object", "additionalProperties": false, "properties": {"amount": {}, "tags": {
                    "type": ["array", "null"], "items": {"type": "string"},
                }}},
            },
        });
        let may = |pointer: &str| may_have(&schema, &Pointer::new(pointer).unwrap());
        for there in [
            "/total",
            "/a~1b/any",
            "/open/x/y",
            "/lines/*/amount",
            "/lines/0/amount",
            "/lines/*/tags/*",
            "/pair/0/x",
            "/pair/*/x",
            "/either/amount",
            "/tree/down/down/down",
        ] {
            assert!(may(there), "{there}");
        }
        for not in [
            "/totals",
            "/total/x",
            "/lines/amount",
            "/lines/*/amounts",
            "/lines/*/tags/*/x",
            "/pair/1",
            "/pair/0/y",
            "/either/x",
            "/tree/down/up",
            "/open/*",
        ] {
            assert!(!may(not), "{not}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_does_not_hang() {
        let schema = json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]});
        assert!(may_have(&schema, &Pointer::new("/a").unwrap()));
    }
}
