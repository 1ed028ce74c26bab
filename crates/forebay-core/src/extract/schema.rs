//! A task's JSON Schema, compiled once.

use std::fmt;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use crate::digest::Digest;
use crate::extract::finding::{Finding, FindingCode};
use crate::extract::pointer::Pointer;
use crate::extract::reach;
use crate::limits;
use crate::request::fault::escape;
use crate::text;

/// Findings that one check returns at most.
pub const MAX_SCHEMA_FINDINGS: usize = 50;

/// Bytes that a compiled pattern may take.
const PATTERN_BYTES: usize = 1024 * 1024;

/// A compiled JSON Schema. Draft 2020-12 unless the schema names another.
pub struct Schema {
    source: Value,
    digest: Digest,
    validator: Validator,
}

/// Why a schema is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// It is larger than [`limits::SCHEMA_BYTES`].
    #[error("the schema has {0} bytes, and at most {max} are allowed", max = limits::SCHEMA_BYTES)]
    TooLarge(usize),
    /// It refers to something outside itself.
    #[error("the schema refers to `{0}`: only references inside the schema (`#...`) are allowed")]
    RemoteReference(String),
    /// A reference leads back to itself, so that a check would not end.
    #[error("the reference `{0}` leads back to itself")]
    CircularReference(String),
    /// It is not a valid schema, or has a pattern that needs backtracking.
    #[error("the schema is not valid: {0}")]
    Invalid(String),
}

impl Schema {
    /// Compiles a schema. Nothing is fetched, and patterns are matched in linear time, so look-around and
    /// back-references are refused.
    ///
    /// # Errors
    ///
    /// When the schema is too large, refers outside itself, or is not valid.
    pub fn compile(source: &Value) -> Result<Self, SchemaError> {
        let bytes = source.to_string();
        if bytes.len() > limits::SCHEMA_BYTES {
            return Err(SchemaError::TooLarge(bytes.len()));
        }
        let mut strangers = Vec::new();
        references(source, source, "", &mut strangers);
        if let Some((_, error)) = strangers.into_iter().next() {
            return Err(error);
        }
        let validator = jsonschema::options()
            .with_draft(draft(source))
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_BYTES))
            .build(source)
            .map_err(|error| invalid(&error))?;
        Ok(Self { source: source.clone(), digest: Digest::of(bytes.as_bytes()), validator })
    }

    /// Everything that is wrong with a schema, each with a JSON pointer to its place in it: at most
    /// [`MAX_SCHEMA_FINDINGS`].
    pub fn faults(source: &Value) -> Vec<(String, SchemaError)> {
        let mut faults = Vec::new();
        references(source, source, "", &mut faults);
        let metaschema = match draft(source) {
            Draft::Draft7 => jsonschema::draft7::meta::validator(),
            Draft::Draft201909 => jsonschema::draft201909::meta::validator(),
            _ => jsonschema::draft202012::meta::validator(),
        };
        let errors = metaschema.iter_errors(source).take(MAX_SCHEMA_FINDINGS);
        faults.extend(errors.map(|error| (error.instance_path().as_str().to_owned(), invalid(&error))));
        if let (true, Err(error)) = (faults.is_empty(), Self::compile(source)) {
            faults.push((String::new(), error));
        }
        faults.truncate(MAX_SCHEMA_FINDINGS);
        faults
    }

    /// The schema as written.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// The digest of the schema's compact text: part of the request hash and of a result's provenance.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether a value of this schema can have something there; where the schema does not say, it can.
    pub fn may_have(&self, pointer: &Pointer) -> bool {
        reach::may_have(&self.source, pointer)
    }

    /// What is wrong with a value: at most [`MAX_SCHEMA_FINDINGS`] findings.
    pub fn check(&self, value: &Value) -> Vec<Finding> {
        self.validator.iter_errors(value).take(MAX_SCHEMA_FINDINGS).map(|error| finding(&error)).collect()
    }
}

fn finding(error: &ValidationError<'_>) -> Finding {
    let place = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::Required { property: Value::String(name) } => {
            let pointer = format!("{place}/{}", escape(name));
            Finding::new(FindingCode::Schema, pointer, "the schema requires this member, and it is absent")
        }
        _ => Finding::new(FindingCode::Schema, place, error.to_string()),
    }
}

fn draft(source: &Value) -> Draft {
    match source.get("$schema").and_then(Value::as_str).map(|uri| uri.trim_end_matches('#')) {
        Some("http://json-schema.org/draft-07/schema") => Draft::Draft7,
        Some("https://json-schema.org/draft/2019-09/schema") => Draft::Draft201909,
        _ => Draft::Draft202012,
    }
}

/// References that leave the schema, and chains of references without anything between them, with their places.
fn references(root: &Value, part: &Value, place: &str, found: &mut Vec<(String, SchemaError)>) {
    match part {
        Value::Object(members) => {
            for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
                if let Some(Value::String(target)) = members.get(keyword) {
                    let error = refuse_reference(root, target).err();
                    found.extend(error.map(|error| (format!("{place}/{keyword}"), error)));
                }
            }
            for (name, member) in members {
                references(root, member, &format!("{place}/{}", escape(name)), found);
            }
        }
        Value::Array(elements) => {
            for (nth, element) in elements.iter().enumerate() {
                references(root, element, &format!("{place}/{nth}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What the library says, or better words where it has few.
fn invalid(error: &ValidationError<'_>) -> SchemaError {
    let types = "array, boolean, integer, null, number, object, string";
    SchemaError::Invalid(match error.instance_path().as_str().rsplit('/').next() {
        Some("type") => text::storable(&format!("{} is no type; types are: {types}", error.instance()), 400),
        _ => text::storable(&error.to_string(), 400),
    })
}

fn refuse_reference(root: &Value, target: &str) -> Result<(), SchemaError> {
    let mut at = target;
    for _ in 0..limits::JSON_DEPTH {
        let Some(fragment) = at.strip_prefix('#') else {
            return Err(SchemaError::RemoteReference(text::storable(at, 200)));
        };
        match root.pointer(fragment).and_then(|part| part.get("$ref")).and_then(Value::as_str) {
            Some(next) => at = next,
            None => return Ok(()),
        }
    }
    Err(SchemaError::CircularReference(text::storable(target, 200)))
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("digest", &self.digest).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(source: Value) -> SchemaError {
        Schema::compile(&source).unwrap_err()
    }

    #[test]
    fn findings_point_at_the_member() {
        let schema = Schema::compile(&json!({
            "type": "object",
            "required": ["a/b"],
            "additionalProperties": false,
            "properties": {"a/b": {}, "lines": {"items": {"properties": {"amount": {"pattern": "^[0-9]+$"}}}}},
        }))
        .unwrap();
        assert_eq!(schema.check(&json!({"a/b": 1, "lines": [{"amount": "1"}]})), []);
        let pointers: Vec<_> =
            schema.check(&json!({"lines": [{"amount": "1,0"}]})).into_iter().map(|f| f.pointer).collect();
        assert!(pointers.contains(&"/a~1b".to_owned()), "{pointers:?}");
        assert!(pointers.contains(&"/lines/0/amount".to_owned()), "{pointers:?}");
    }

    #[test]
    fn all_faults_of_a_schema_are_told_with_their_places() {
        let schema = json!({
            "type": "objekt",
            "properties": {"a/b": {"minLength": "1"}, "c": {"$ref": "other.json"}},
            "required": "a",
        });
        let mut places: Vec<_> = Schema::faults(&schema).into_iter().map(|(place, _)| place).collect();
        places.sort();
        assert_eq!(places, ["/properties/a~1b/minLength", "/properties/c/$ref", "/required", "/type"]);
        assert_eq!(Schema::faults(&json!({"pattern": "(?=a)"})).len(), 1);
        assert_eq!(Schema::faults(&json!({"type": "object"})), []);
    }

    #[test]
    fn findings_are_bounded_in_number_and_length() {
        let schema = Schema::compile(&json!({"items": {"type": "string"}})).unwrap();
        let huge: Vec<_> = (0..200).map(|_| json!(["x".repeat(10_000)])).collect();
        let findings = schema.check(&json!(huge));
        assert_eq!(findings.len(), MAX_SCHEMA_FINDINGS);
        assert!(findings.iter().all(|finding| finding.message.chars().count() <= 401));
    }

    #[test]
    fn references_stay_inside() {
        assert!(Schema::compile(&json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}})).is_ok());
        for target in ["https://example.com/s.json", "other.json#/a", "file:///etc/passwd", ""] {
            let nested = json!({"properties": {"a": {"items": {"$ref": target}}}});
            assert_eq!(refused(nested), SchemaError::RemoteReference(target.to_owned()));
        }
        assert!(matches!(refused(json!({"$ref": "#"})), SchemaError::CircularReference(_)));
        let ring = json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
        assert!(matches!(refused(ring), SchemaError::CircularReference(_)));
        let tree = json!({"properties": {"children": {"items": {"$ref": "#"}}}});
        assert!(Schema::compile(&tree).is_ok(), "a schema may describe a tree");
    }

    #[test]
    fn a_schema_that_applies_itself_does_not_hang_a_check() {
        for source in [json!({"allOf": [{"$ref": "#"}]}), json!({"not": {"anyOf": [{"$ref": "#"}]}})] {
            let schema = Schema::compile(&source).unwrap();
            assert!(schema.check(&json!({"a": 1})).len() <= MAX_SCHEMA_FINDINGS);
        }
    }

    #[test]
    fn patterns_that_need_backtracking_are_refused() {
        assert!(matches!(refused(json!({"pattern": "(a)\\1"})), SchemaError::Invalid(_)));
        assert!(matches!(refused(json!({"pattern": "(?=a)b"})), SchemaError::Invalid(_)));
        assert!(matches!(refused(json!({"type": "nonsense"})), SchemaError::Invalid(_)));
    }

    #[test]
    fn sixty_four_kilobytes_and_not_one_more() {
        let overhead = json!({"description": ""}).to_string().len();
        let of = |bytes: usize| json!({"description": "x".repeat(bytes - overhead)});
        assert!(Schema::compile(&of(limits::SCHEMA_BYTES)).is_ok());
        assert_eq!(refused(of(limits::SCHEMA_BYTES + 1)), SchemaError::TooLarge(limits::SCHEMA_BYTES + 1));
    }

    #[test]
    fn the_digest_does_not_depend_on_spacing_and_the_schema_crosses_threads() {
        fn crosses<T: Send + Sync>(_: &T) {}
        let compact = Schema::compile(&serde_json::from_str(r#"{"type":"object"}"#).unwrap()).unwrap();
        let spaced = Schema::compile(&serde_json::from_str("{ \"type\" :\n\"object\" }").unwrap()).unwrap();
        assert_eq!(compact.digest(), spaced.digest());
        crosses(&compact);
    }
}
