//! The schemas of the document: those of the types, and what only a request's schema says.

use std::collections::BTreeMap;

use forebay_core::extract::FindingCode;
use forebay_core::failure::FailureClass;
use forebay_core::limits::{DATASET_COLUMNS, DATASET_ROWS};
use forebay_store::record::AuditAction;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::submit::{self, LINES};
use crate::http::dto::{by_decision, jobs_or_filter};
use crate::http::problem::Code;

/// The names of definitions and tenants, as `forebay_core::request::submission::is_name` reads them.
pub(super) const NAME: &str = "^[a-z0-9][a-z0-9._-]{0,63}$";

/// The schemas that the document refers to, by name.
#[derive(Default)]
pub(in crate::http) struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    /// A reference to a type's schema, which is kept with all that it refers to.
    pub(in crate::http) fn reference<T: ToSchema>(&mut self) -> Value {
        let mut found = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut found);
        for (name, schema) in found {
            self.0.entry(name).or_insert_with_key(|name| {
                let mut schema =
                    by_hand(name).unwrap_or_else(|| serde_json::to_value(schema).unwrap_or_default());
                without_null(&mut schema);
                schema
            });
        }
        json!({"$ref": format!("#/components/schemas/{}", T::name())})
    }

    /// The same for the body of a request: what it does not name is refused.
    pub(in crate::http) fn request<T: ToSchema>(&mut self) -> Value {
        let before: Vec<String> = self.0.keys().cloned().collect();
        let reference = self.reference::<T>();
        for (name, schema) in &mut self.0 {
            if *name == T::name() || !before.contains(name) {
                close(schema);
            }
        }
        reference
    }

    /// The schema of that name.
    pub(super) fn named(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub(super) fn into_value(self) -> Value {
        self.0.into_iter().collect()
    }

    /// Any bytes, but not none.
    pub(in crate::http) fn binary(&mut self) -> Value {
        json!({"type": "string", "format": "binary", "minLength": 1})
    }

    /// Plain text, not empty.
    pub(in crate::http) fn text(&mut self) -> Value {
        json!({"type": "string", "minLength": 1})
    }

    /// The rows of a dataset.
    pub(in crate::http) fn rows(&mut self) -> Value {
        let value = json!({"type": ["string", "number", "null"], "pattern": LINES});
        let name = json!({"pattern": r"^[!-~]([ -~]{0,62}[!-~])?$"});
        let row = json!({"type": "object", "minProperties": 1, "maxProperties": DATASET_COLUMNS,
                         "propertyNames": name, "additionalProperties": value});
        json!({"type": "array", "minItems": 1, "maxItems": DATASET_ROWS, "items": row})
    }

    /// A form with one file.
    pub(in crate::http) fn file_part(&mut self) -> Value {
        let file = self.binary();
        json!({"type": "object", "required": ["file"], "properties": {"file": file}, "additionalProperties": false})
    }
}

/// Schemas that say more than a type can.
fn by_hand(name: &str) -> Option<Value> {
    match name {
        submit::SUBMIT => Some(submit::schema()),
        "LettersBody" => Some(jobs_or_filter()),
        "ReviewDecisionRequest" => Some(by_decision()),
        "BatchJob" => {
            let mut schema = submit::schema();
            let key = "Makes the same job in a later call find this one's.";
            schema["description"] = "One job of a batch.".into();
            schema["properties"]["idempotency_key"] =
                json!({"type": "string", "pattern": "^[!-~]{1,255}$", "description": key});
            Some(schema)
        }
        _ => None,
    }
}

/// The form of a part of the path, by its name. Ids have theirs from the contract.
pub(super) fn of_path(name: &str) -> Option<Value> {
    let id = |prefix: &str, digits: u32| json!({"type": "string", "pattern": format!("^{prefix}_[0-9a-f]{{{digits}}}$")});
    match name {
        "document_id" => Some(id("doc", 64)),
        "job_id" => Some(id("job", 32)),
        "key_id" => Some(id("key", 32)),
        "batch_id" => Some(id("batch", 32)),
        "task" | "tenant" | "name" => Some(json!({"type": "string", "pattern": NAME})),
        "number" => Some(json!({"type": "integer", "minimum": 1, "maximum": u32::MAX})),
        "code" => Some(json!({"type": "string", "enum": Code::ALL.map(Code::name)})),
        _ => None,
    }
}

/// The form of a header that is refused when it has another one.
pub(super) fn of_header(name: &str) -> Option<Value> {
    match name {
        "Idempotency-Key" => {
            let pattern = r#"^([!#-~][!-~]{0,254}|"[!#-\[\]-~]{1,255}")$"#;
            Some(json!({"type": "string", "pattern": pattern}))
        }
        "If-Match" => Some(json!({"type": "string", "pattern": r#"^"[1-9][0-9]{0,8}"$"#})),
        "Last-Event-ID" => Some(json!({"type": "string", "pattern": "^[A-Za-z0-9_-]+$"})),
        _ => None,
    }
}

/// The form of a query parameter that is one of a list of the code's.
pub(super) fn of_query(name: &str) -> Option<Value> {
    match name {
        "action" => Some(json!({"type": "string", "enum": AuditAction::ALL.map(AuditAction::name)})),
        "class" => Some(json!({"type": "string", "enum": FailureClass::ALL.map(FailureClass::name)})),
        "finding" => {
            Some(json!({"type": "string", "enum": FindingCode::ALL.map(FindingCode::name).to_vec()}))
        }
        "key" => of_path("key_id"),
        _ => None,
    }
}

/// Whole numbers of parameters are read into 32 bits.
pub(super) fn within_bounds(mut schema: Value) -> Value {
    if schema["type"] == "integer" && schema.get("maximum").is_none() {
        schema["maximum"] = u32::MAX.into();
    }
    schema
}

/// Refuses members that a request's schema does not name.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            let is_shape = members.get("properties").is_some_and(Value::is_object);
            if is_shape && !members.contains_key("additionalProperties") {
                members.insert("additionalProperties".to_owned(), false.into());
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// An optional member is absent where it has no value, never `null`.
fn without_null(schema: &mut Value) {
    let required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    if let Some(members) = schema["properties"].as_object_mut() {
        for (name, member) in members {
            if !required.iter().any(|required| required == name) {
                drop_null(member);
            }
        }
    }
    // Indexing made the members that it did not find.
    if let Some(object) = schema.as_object_mut() {
        object.retain(|_, value| !value.is_null());
    }
}

fn drop_null(member: &mut Value) {
    let is_null = |kind: &Value| kind == "null" || *kind == json!({"type": "null"});
    for (key, single) in [("type", true), ("oneOf", false), ("anyOf", false)] {
        let Some(kinds) = member.get_mut(key).and_then(Value::as_array_mut) else { continue };
        kinds.retain(|kind| !is_null(kind));
        let Some(only) = kinds.first().cloned().filter(|_| kinds.len() == 1) else { continue };
        if single {
            member["type"] = only;
        } else if let (Some(member), Value::Object(only)) = (member.as_object_mut(), only) {
            member.remove(key);
            member.extend(only);
        }
    }
}
