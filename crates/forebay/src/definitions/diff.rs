//! What is different between two definitions: by sections, names and members, and as text.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Map, Value};
use similar::TextDiff;

use super::source::quoted_key;
use super::{DefinitionFault, load, no_files};

/// Lines that a text diff shows around a change.
const CONTEXT: usize = 3;

/// What changes from one text to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Differences {
    /// What was added, removed or changed, by section and name.
    pub changes: Vec<Change>,
    /// Tasks of both texts whose results may differ: what the model is told, the model, or what an answer must
    /// pass. Absent when this build can't use one of the texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affected_tasks: Option<Vec<String>>,
    /// The texts line by line, as `diff -u` writes it; empty where they are the same.
    pub text: String,
}

/// One definition that is not the same in both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// `providers`, `pools`, `models`, `policies`, `tasks`, `retention` or `submit_limits`.
    pub section: String,
    /// What it is called.
    pub name: String,
    /// What happened to it.
    pub change: Kind,
    /// Its members that differ, by path.
    pub members: Vec<Member>,
}

/// What happened to a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It is only in the later text.
    Added,
    /// It is only in the earlier text.
    Removed,
    /// It is in both.
    Changed,
}

impl Kind {
    /// The name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Added => "added",
            Kind::Removed => "removed",
            Kind::Changed => "changed",
        }
    }
}

/// A member that is not the same in both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Member {
    /// Its path within the definition: `retry.max_attempts`.
    pub member: String,
    /// As it was written; absent where it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// As it is written; absent where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// A text with what it is called in a diff.
#[derive(Debug, Clone, Copy)]
pub struct Named<'t> {
    /// `revision 3`, or the name of a file.
    pub name: &'t str,
    /// The definitions, without files beside them.
    pub text: &'t str,
}

/// Compares what is written, member by member; a default that is written out counts as a change.
///
/// # Errors
///
/// When one of the texts is no TOML.
pub fn diff(before: Named<'_>, after: Named<'_>) -> Result<Differences, Vec<DefinitionFault>> {
    let (old, new) = (sections(before.text)?, sections(after.text)?);
    let changes = keys(&old, &new).into_iter().filter_map(|key| change(key, old.get(key), new.get(key)));
    Ok(Differences {
        changes: changes.collect(),
        affected_tasks: affected(before.text, after.text),
        text: unified(before, after),
    })
}

/// The lines that differ, as `diff -u` writes them.
pub fn unified(before: Named<'_>, after: Named<'_>) -> String {
    let diff = TextDiff::from_lines(before.text, after.text);
    diff.unified_diff().context_radius(CONTEXT).header(before.name, after.name).to_string()
}

type Sections = BTreeMap<(String, String), Value>;

/// Section and name of every definition, with what is written in it.
fn sections(text: &str) -> Result<Sections, Vec<DefinitionFault>> {
    let root = super::source::Source::parse(text)?.into_json();
    let named = root.into_iter().flat_map(|(section, names)| {
        let names = match names {
            Value::Object(names) => names,
            _ => Map::new(),
        };
        names.into_iter().map(move |(name, value)| ((section.clone(), name), value))
    });
    Ok(named.collect())
}

fn keys<'k, K: Ord, V>(one: &'k BTreeMap<K, V>, other: &'k BTreeMap<K, V>) -> BTreeSet<&'k K> {
    one.keys().chain(other.keys()).collect()
}

fn change(key: &(String, String), before: Option<&Value>, after: Option<&Value>) -> Option<Change> {
    let change = match (before, after) {
        (None, _) => Kind::Added,
        (_, None) => Kind::Removed,
        (Some(_), Some(_)) => Kind::Changed,
    };
    let (old, new) = (members(before), members(after));
    let members: Vec<Member> = keys(&old, &new)
        .into_iter()
        .filter(|path| old.get(*path) != new.get(*path))
        .map(|path| Member {
            member: path.clone(),
            before: old.get(path).map(|value| Value::clone(value)),
            after: new.get(path).map(|value| Value::clone(value)),
        })
        .collect();
    let differs = change != Kind::Changed || !members.is_empty();
    differs.then(|| Change { section: key.0.clone(), name: key.1.clone(), change, members })
}

/// The members of a definition by path, down to what is no table.
fn members(value: Option<&Value>) -> BTreeMap<String, &Value> {
    let mut found = BTreeMap::new();
    let mut open: Vec<(String, &Value)> = value.map(|value| (String::new(), value)).into_iter().collect();
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(members) => open.extend(members.iter().map(|(name, value)| {
                let name = quoted_key(name);
                (if path.is_empty() { name.into_owned() } else { format!("{path}.{name}") }, value)
            })),
            other => {
                found.insert(path, other);
            }
        }
    }
    found
}

/// Tasks of both texts that the same request would be another request for.
fn affected(before: &str, after: &str) -> Option<Vec<String>> {
    let (old, new) = (load(before, &no_files).ok()?, load(after, &no_files).ok()?);
    let differs = |name: &str, task: &forebay_core::definition::Task| {
        new.tasks.get(name).is_some_and(|now| now.digest != task.digest)
    };
    Some(old.tasks.iter().filter(|(name, task)| differs(name, task)).map(|(name, _)| name.clone()).collect())
}
