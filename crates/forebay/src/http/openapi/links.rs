//! Where the members of an answer lead: an answer with a `job_id` links to every route that takes one.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Schemas, operation_id};
use crate::http::route::Route;

/// Members beside ids by which paths name things: schema, member, part of the path.
const NAMES: [(&str, &str, &str); 4] = [
    ("Dataset", "name", "name"),
    ("Revision", "number", "number"),
    ("Task", "name", "task"),
    ("Tenant", "name", "tenant"),
];

/// Adds links to the answers of routes that make what other routes take by its id.
pub(super) fn add(paths: &mut BTreeMap<&str, Map<String, Value>>, routes: &[Route], schemas: &Schemas) {
    for route in routes {
        let method = route.method.as_str().to_ascii_lowercase();
        let Some(operation) = paths.get_mut(route.path).and_then(|methods| methods.get_mut(&method)) else {
            continue;
        };
        for answer in &route.doc.answers {
            let response = &mut operation["responses"][answer.status.to_string()];
            let links = links(route, &response["content"]["application/json"]["schema"], routes, schemas);
            if !links.is_empty() {
                response["links"] = links.into();
            }
        }
    }
}

fn links(from: &Route, schema: &Value, routes: &[Route], schemas: &Schemas) -> Map<String, Value> {
    let mut links = Map::new();
    for (part, place) in known_parts(schema, schemas) {
        let mark = format!("{{{part}}}");
        if from.path.contains(&mark) {
            continue;
        }
        for to in routes.iter().filter(|route| route.path.contains(&mark)) {
            let id = operation_id(to);
            let link = json!({"operationId": id, "parameters": {&part: format!("$response.body#{place}")}});
            links.insert(id, link);
        }
    }
    links
}

/// The parts of paths that an answer of this schema knows, each with the pointer to it. A list knows none: it may be
/// empty.
fn known_parts(schema: &Value, schemas: &Schemas) -> Vec<(String, String)> {
    let Some((name, schema)) = named(schema, schemas) else { return Vec::new() };
    let part = |member: &Value| {
        let member = member.as_str()?;
        let named = NAMES.iter().find(|(schema, other, _)| *schema == name && *other == member);
        let part = named
            .map(|(_, _, part)| (*part).to_owned())
            .or(member.ends_with("_id").then(|| member.to_owned()));
        Some((part?, format!("/{member}")))
    };
    // What may be absent leads nowhere.
    schema["required"].as_array().into_iter().flatten().filter_map(part).collect()
}

/// A schema that is referred to, with its name.
fn named<'s>(reference: &'s Value, schemas: &'s Schemas) -> Option<(&'s str, &'s Value)> {
    let name = reference["$ref"].as_str()?.rsplit('/').next()?;
    Some((name, schemas.named(name)?))
}
