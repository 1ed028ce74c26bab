use forebay_core::digest::Digest;
use forebay_core::id::KeyId;
use forebay_core::time::Timestamp;
use forebay_store::record::{Actor, RevisionInfo, RevisionRecord};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::shapes;
use crate::definitions::diff;

/// Who asked for a change.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Actor)]
pub(in crate::http) struct ActorDto {
    /// The key; absent for the program itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(in crate::http) key_id: Option<KeyId>,
    /// What the key was called then; `forebay` for the program itself.
    pub(in crate::http) name: String,
}

impl From<Actor> for ActorDto {
    fn from(actor: Actor) -> Self {
        Self { key_id: actor.key, name: actor.name }
    }
}

/// A revision of the definitions, without their text.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct RevisionEntry {
    pub(in crate::http) number: u32,
    /// SHA-256 of the source.
    #[schema(value_type = String)]
    digest: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Who applied it.
    by: ActorDto,
    /// Whether new jobs run by it.
    active: bool,
}

impl RevisionEntry {
    /// A revision as callers see it, with the number of the active one.
    pub(in crate::http) fn new(info: RevisionInfo, active: u32) -> Self {
        Self {
            number: info.number,
            digest: info.digest,
            comment: info.comment,
            created_at: info.created_at,
            by: info.by.into(),
            active: info.number == active,
        }
    }
}

/// A revision of the definitions.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Revision {
    #[serde(flatten)]
    pub(in crate::http) entry: RevisionEntry,
    /// The definitions as they were written, TOML.
    source: String,
}

impl Revision {
    /// A revision as callers see it, with the number of the active one.
    pub(in crate::http) fn new(record: RevisionRecord, active: u32) -> Self {
        Self { entry: RevisionEntry::new(record.info, active), source: record.source }
    }
}

/// Revisions, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct RevisionList {
    pub(in crate::http) data: Vec<RevisionEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) next_cursor: Option<String>,
}

/// Definitions that are to be applied. Only its shape: the body is read by its own parser.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RevisionRequest)]
pub(in crate::http) struct RevisionBody {
    /// The definitions, TOML.
    #[schema(pattern = r"\S")]
    source: String,
    #[schema(schema_with = shapes::text::<1_000>, required = false)]
    comment: Option<String>,
}

/// Why an older revision is made the active one again. Only its shape: the body is read by its own parser.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RollbackRequest)]
pub(in crate::http) struct RollbackBody {
    #[schema(schema_with = shapes::text::<1_000>, required = false)]
    comment: Option<String>,
}

/// What changes from one text of definitions to another.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct RevisionDiff {
    /// The earlier revision.
    pub(in crate::http) from: u32,
    /// The later revision; absent where it is a text that was not applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) to: Option<u32>,
    /// What was added, removed or changed, by section and name.
    changes: Vec<ChangeDto>,
    /// Tasks of both whose results may differ: what the model is told, the model, or what an answer must pass.
    /// Absent when this build can't use one of the texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    affected_tasks: Option<Vec<String>>,
    /// The texts line by line, as `diff -u` writes it; empty where they are the same.
    text: String,
}

/// One definition that is not the same in both.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DefinitionChange)]
pub(in crate::http) struct ChangeDto {
    /// `providers`, `pools`, `models`, `policies` or `tasks`.
    section: String,
    name: String,
    /// `added`, `removed` or `changed`.
    #[schema(value_type = String)]
    change: &'static str,
    /// Its members that differ.
    members: Vec<MemberDto>,
}

/// A member that is not the same in both, as it was and is written.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DefinitionMember)]
pub(in crate::http) struct MemberDto {
    /// Its path within the definition.
    #[schema(example = "retry.max_attempts")]
    member: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Value>,
}

impl RevisionDiff {
    /// Differences as callers see them.
    pub(in crate::http) fn new(from: u32, to: Option<u32>, found: diff::Differences) -> Self {
        let changes = found.changes.into_iter().map(ChangeDto::from).collect();
        Self { from, to, changes, affected_tasks: found.affected_tasks, text: found.text }
    }
}

impl From<diff::Change> for ChangeDto {
    fn from(change: diff::Change) -> Self {
        let member = |member: diff::Member| MemberDto {
            member: member.member,
            before: member.before,
            after: member.after,
        };
        Self {
            section: change.section,
            name: change.name,
            change: change.change.name(),
            members: change.members.into_iter().map(member).collect(),
        }
    }
}

/// What would happen if definitions were applied; nothing was.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct RevisionTrial {
    /// Always: definitions with faults are refused as a problem that lists them.
    pub(in crate::http) valid: bool,
    /// The active revision.
    pub(in crate::http) active: u32,
    /// What would change.
    pub(in crate::http) diff: RevisionDiff,
}
