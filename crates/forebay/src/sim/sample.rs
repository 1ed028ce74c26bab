//! A small instance of a JSON Schema, for requests that ask for structured output.

use serde_json::{Map, Number, Value};

/// Stands wherever a text is wanted.
const PLACEHOLDER: &str = "simulated";
/// Levels of a schema that are followed; below stands null.
const DEPTH: usize = 32;

/// An instance of the schema: the members that are required, the shortest lists, the first choice of each
/// enumeration, and texts that say that they are simulated. `pattern`, `not`, `if` and references to other
/// documents are not looked at.
pub(super) fn sample(schema: &Value) -> Value {
    Sampler { root: schema }.value(schema, 0)
}

struct Sampler<'a> {
    root: &'a Value,
}

impl Sampler<'_> {
    fn value(&self, schema: &Value, depth: usize) -> Value {
        if depth > DEPTH {
            return Value::Null;
        }
        if let Some(fixed) = fixed(schema) {
            return fixed;
        }
        if let Some(target) = self.target(schema) {
            return self.value(target, depth + 1);
        }
        if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
            return self.value(&merged(schema, parts.iter().map(|part| self.resolved(part))), depth + 1);
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(first) = schema.get(choice).and_then(|choices| choices.get(0)) {
                return self.value(first, depth + 1);
            }
        }
        match type_of(schema) {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            "string" => Value::String(text(schema)),
            "integer" => number(schema, true),
            "number" => number(schema, false),
            "boolean" => Value::Bool(false),
            _ => Value::Null,
        }
    }

    fn resolved<'b>(&'b self, schema: &'b Value) -> &'b Value {
        self.target(schema).unwrap_or(schema)
    }

    fn target(&self, schema: &Value) -> Option<&Value> {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }

    fn object(&self, schema: &Value, depth: usize) -> Value {
        let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let members = required.iter().filter_map(Value::as_str).map(|name| {
            let member = schema.get("properties").and_then(|properties| properties.get(name));
            (name.to_owned(), member.map_or(Value::Null, |member| self.value(member, depth + 1)))
        });
        Value::Object(members.collect())
    }

    fn array(&self, schema: &Value, depth: usize) -> Value {
        let count = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0).min(1_000);
        let item = schema.get("items").map_or(Value::Null, |items| self.value(items, depth + 1));
        let first = schema.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let items = (0..count as usize).map(|index| match first.get(index) {
            Some(schema) => self.value(schema, depth + 1),
            None => item.clone(),
        });
        Value::Array(items.collect())
    }
}

/// The value that a schema leaves no choice about, or its first.
fn fixed(schema: &Value) -> Option<Value> {
    schema.get("const").or_else(|| schema.get("enum")?.get(0)).cloned()
}

/// One schema with the members of all; later ones win, properties and required names add up.
fn merged<'a>(schema: &Value, parts: impl Iterator<Item = &'a Value>) -> Value {
    let mut all = schema.as_object().cloned().unwrap_or_default();
    all.remove("allOf");
    for part in parts.filter_map(Value::as_object) {
        for (name, value) in part {
            add(&mut all, name, value);
        }
    }
    Value::Object(all)
}

fn add(all: &mut Map<String, Value>, name: &str, value: &Value) {
    match (all.get_mut(name), value) {
        (Some(Value::Object(known)), Value::Object(more)) if name == "properties" => {
            known.extend(more.clone());
        }
        (Some(Value::Array(known)), Value::Array(more)) if name == "required" => {
            known.extend(more.iter().cloned());
        }
        _ => drop(all.insert(name.to_owned(), value.clone())),
    }
}

/// The type of a schema, or the first of its types; without one, what its members suggest.
fn type_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => names.first().and_then(Value::as_str).unwrap_or("null"),
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    }
}

fn text(schema: &Value) -> String {
    let known = match schema.get("format").and_then(Value::as_str) {
        Some("date") => "1970-01-01",
        Some("date-time") => "1970-01-01T00:00:00Z",
        Some("time") => "00:00:00Z",
        Some("duration") => "PT0S",
        Some("email") => "simulated@example.com",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("uri" | "uri-reference") => "https://example.com/simulated",
        Some("hostname") => "simulated.example.com",
        Some("ipv4") => "192.0.2.1",
        Some("ipv6") => "2001:db8::1",
        _ => return placeholder(schema),
    };
    known.to_owned()
}

fn placeholder(schema: &Value) -> String {
    let bound = |name| schema.get(name).and_then(Value::as_u64).and_then(|bound| usize::try_from(bound).ok());
    let length = PLACEHOLDER.len().max(bound("minLength").unwrap_or(0).min(100_000));
    let length = length.min(bound("maxLength").unwrap_or(usize::MAX));
    PLACEHOLDER.chars().chain(std::iter::repeat('-')).take(length).collect()
}

/// The number nearest to zero from above that the bounds allow.
fn number(schema: &Value, whole: bool) -> Value {
    let bound = |name| schema.get(name).and_then(Value::as_f64);
    let step = bound("multipleOf").filter(|step| *step > 0.0).unwrap_or(1.0);
    let mut value = bound("minimum").unwrap_or(0.0);
    if let Some(above) = bound("exclusiveMinimum") {
        value = value.max(above);
    }
    if let Some(highest) = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|below| below - step)) {
        value = value.min(highest);
    }
    value = (value / step).ceil() * step;
    if bound("exclusiveMinimum").is_some_and(|above| value <= above) {
        value += step;
    }
    if whole || value.fract() == 0.0 {
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_instance_fulfils_its_schema() {
        let schema = json!({
            "type": "object",
            "$defs": { "money": { "type": "object", "required": ["currency", "amount"], "properties": {
                "currency": { "enum": ["EUR", "USD"] }, "amount": { "type": "number", "minimum": 0.5 } } } },
            "required": ["number", "date", "total", "lines", "note", "paid", "kind", "count", "code"],
            "properties": {
                "number": { "type": "string" },
                "date": { "type": "string", "format": "date" },
                "total": { "$ref": "#/$defs/money" },
                "lines": { "type": "array", "minItems": 2, "items": { "type": "integer", "exclusiveMinimum": 3 } },
                "note": { "type": ["null", "string"] },
                "paid": { "type": "boolean" },
                "kind": { "const": "invoice" },
                "count": { "anyOf": [{ "type": "integer", "multipleOf": 5, "minimum": 7 }, { "type": "null" }] },
                "code": { "allOf": [{ "type": "string" }, { "minLength": 12 }] },
                "optional": { "type": "string" }
            }
        });
        assert_eq!(
            sample(&schema),
            json!({
                "number": "simulated", "date": "1970-01-01", "total": { "currency": "EUR", "amount": 1 },
                "lines": [4, 4], "note": null, "paid": false, "kind": "invoice", "count": 10,
                "code": "simulated---"
            })
        );
    }

    #[test]
    fn a_schema_that_contains_itself_ends() {
        let schema =
            json!({ "type": "object", "required": ["next"], "properties": { "next": { "$ref": "#" } } });
        assert!(sample(&schema).pointer("/next/next/next").is_some());
    }
}
