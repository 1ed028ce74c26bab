//! A JSON Schema as a provider takes it. Answers are validated here in any case, by the schema as it is
//! written; what a provider is told may ask for less, so that the provider does not refuse the request.

use forebay_core::definition::ProviderKind;
use serde_json::{Map, Value, json};

/// Keywords that Anthropic refuses: bounds of numbers, lengths and counts.
const NOT_ANTHROPIC: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "uniqueItems",
    "contains",
    "minProperties",
    "maxProperties",
    "$schema",
];

/// Keywords that OpenAI's strict mode refuses and that can be left out.
const NOT_STRICT: [&str; 6] =
    ["minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties", "$schema"];

/// Keywords without which a schema would mean something else, and that strict mode does not have.
const NEVER_STRICT: [&str; 10] = [
    "patternProperties",
    "propertyNames",
    "allOf",
    "oneOf",
    "not",
    "if",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
    "prefixItems",
];

/// Keywords whose value is a schema, and those whose value is many.
const ONE: [&str; 9] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
];
const MANY: [&str; 8] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
    "anyOf",
    "allOf",
    "oneOf",
];

/// The schema for a server that speaks OpenAI's format, and whether it is strict.
///
/// OpenAI and Azure are strict only about objects that are closed and whose properties are all required. A
/// property that may be left out becomes required where it may be null instead; where it may not, the schema
/// is passed on as guidance only. Other servers take any schema as it is.
pub(crate) fn for_openai(schema: &Value, strict: bool, kind: ProviderKind) -> (Value, bool) {
    if !strict || !matches!(kind, ProviderKind::Openai | ProviderKind::Azure) {
        return (schema.clone(), strict);
    }
    let (mut closed, mut possible) = (schema.clone(), schema["type"] == "object");
    walk(&mut closed, &mut |schema| possible = close(schema) && possible);
    if possible { (closed, true) } else { (schema.clone(), false) }
}

/// The schema for Anthropic, which closes all objects and knows no bounds.
pub(crate) fn for_anthropic(schema: &Value) -> Value {
    let mut schema = schema.clone();
    walk(&mut schema, &mut |schema| {
        NOT_ANTHROPIC.iter().for_each(|keyword| drop(schema.remove(*keyword)));
        if schema.get("minItems").and_then(Value::as_u64).is_some_and(|least| least > 1) {
            schema.insert("minItems".to_owned(), json!(1));
        }
        let odd = |pattern: &str| pattern.contains("(?") || pattern.contains("\\b");
        if schema.get("pattern").and_then(Value::as_str).is_some_and(odd) {
            schema.remove("pattern");
        }
        if is_object(schema) {
            schema.insert("additionalProperties".to_owned(), json!(false));
        }
    });
    schema
}

/// Makes one schema strict; `false` when it can't be.
fn close(schema: &mut Map<String, Value>) -> bool {
    NOT_STRICT.iter().for_each(|keyword| drop(schema.remove(*keyword)));
    if NEVER_STRICT.iter().any(|keyword| schema.contains_key(*keyword)) {
        return false;
    }
    if !is_object(schema) {
        return true;
    }
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
    let possible = properties.iter().all(|(name, property)| is_required(name) || may_be_null(property));
    let all: Vec<Value> = properties.keys().map(|name| json!(name)).collect();
    schema.insert("required".to_owned(), Value::Array(all));
    let open = schema.insert("additionalProperties".to_owned(), json!(false));
    // A map from any name to a schema has no strict form.
    possible && !open.is_some_and(|open| open.is_object())
}

fn is_object(schema: &Map<String, Value>) -> bool {
    let typed = schema.get("type").is_some_and(|kind| names(kind, "object"));
    typed || schema.contains_key("properties")
}

/// Whether `type` is this type or names it among others.
fn names(kind: &Value, name: &str) -> bool {
    kind == name || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == name))
}

fn may_be_null(schema: &Value) -> bool {
    let any_of = schema["anyOf"].as_array().is_some_and(|any| any.iter().any(may_be_null));
    let listed = schema["enum"].as_array().is_none_or(|values| values.contains(&Value::Null));
    any_of || (names(&schema["type"], "null") && listed)
}

/// Visits a schema and all schemas in it, the inner ones first.
fn walk(schema: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    let Value::Object(members) = schema else { return };
    for (keyword, value) in members.iter_mut() {
        match value {
            one if ONE.contains(&keyword.as_str()) && one.is_object() => walk(one, visit),
            Value::Object(many) if MANY.contains(&keyword.as_str()) => {
                many.values_mut().for_each(|schema| walk(schema, visit));
            }
            Value::Array(many) if MANY.contains(&keyword.as_str()) || keyword == "prefixItems" => {
                many.iter_mut().for_each(|schema| walk(schema, visit));
            }
            _ => {}
        }
    }
    visit(members);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_left_out_becomes_required_where_it_may_be_null() {
        let schema = json!({"type": "object", "$schema": "x", "properties": {
            "total": {"type": "string", "minLength": 1, "pattern": "^[0-9]+$"},
            "iban": {"type": ["string", "null"], "maxLength": 34},
            "lines": {"type": "array", "items": {"type": "object", "properties": {
                "minLength": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}},
        }, "required": ["total", "lines"]});
        let strict = json!({"type": "object", "additionalProperties": false, "properties": {
            "total": {"type": "string", "pattern": "^[0-9]+$"},
            "iban": {"type": ["string", "null"]},
            "lines": {"type": "array", "items": {"type": "object", "additionalProperties": false, "properties": {
                "minLength": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "required": ["minLength"]}},
        }, "required": ["iban", "lines", "total"]});
        let (mut told, is_strict) = for_openai(&schema, true, ProviderKind::Openai);
        told["required"].as_array_mut().unwrap().sort_by_key(Value::to_string);
        assert_eq!((told, is_strict), (strict, true));
        for kind in [ProviderKind::Vllm, ProviderKind::LlamaCpp, ProviderKind::Compatible] {
            assert_eq!(for_openai(&schema, true, kind), (schema.clone(), true), "{kind:?}");
        }
        assert_eq!(for_openai(&schema, false, ProviderKind::Azure), (schema, false));
    }

    #[test]
    fn what_has_no_strict_form_is_passed_on_as_guidance() {
        let object =
            |members: Value| json!({"type": "object", "properties": {"a": members}, "required": ["a"]});
        for schema in [
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["b"]}}}),
            object(json!({"oneOf": [{"type": "string"}]})),
            object(json!({"type": "object", "additionalProperties": {"type": "string"}})),
            object(json!({"type": "array", "prefixItems": [{"type": "string"}]})),
            json!({"type": "array"}),
            json!(true),
        ] {
            assert_eq!(for_openai(&schema, true, ProviderKind::Azure), (schema.clone(), false), "{schema}");
        }
        let good = object(json!({"enum": ["b", null], "type": ["string", "null"]}));
        assert!(for_openai(&good, true, ProviderKind::Azure).1);
    }

    #[test]
    fn anthropic_is_told_no_bounds_and_closed_objects() {
        let schema = json!({"type": "object", "properties": {
            "minimum": {"type": "integer", "minimum": 1, "maximum": 9},
            "tags": {"type": "array", "minItems": 3, "items": {"type": "string", "pattern": "^(?i)a\\b"}},
        }, "required": ["tags"]});
        let told = json!({"type": "object", "additionalProperties": false, "properties": {
            "minimum": {"type": "integer"},
            "tags": {"type": "array", "minItems": 1, "items": {"type": "string"}},
        }, "required": ["tags"]});
        assert_eq!(for_anthropic(&schema), told);
    }
}
