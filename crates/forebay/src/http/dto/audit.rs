use forebay_core::time::Timestamp;
use forebay_store::record::AuditRecord;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::ActorDto;

/// One change that somebody asked for.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct AuditEntry {
    /// Rises with every change; unique in this store.
    pub(in crate::http) number: i64,
    #[schema(value_type = String, format = DateTime)]
    pub(in crate::http) at: Timestamp,
    /// Whose affair it is; absent where it is the whole installation's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) tenant: Option<String>,
    /// Who asked for it.
    pub(in crate::http) actor: ActorDto,
    /// What was done: `key.revoke`, `job.cancel`, ...
    #[schema(value_type = String)]
    pub(in crate::http) action: String,
    /// To what: an id, a name, a number.
    pub(in crate::http) subject: String,
    /// What was there before; absent where there was nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) before: Option<Value>,
    /// What is there now; absent where nothing is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) after: Option<Value>,
}

impl From<AuditRecord> for AuditEntry {
    fn from(record: AuditRecord) -> Self {
        Self {
            action: record.action_name().to_owned(),
            number: record.seq,
            at: record.at,
            tenant: record.tenant,
            actor: record.actor.into(),
            subject: record.subject,
            before: record.before,
            after: record.after,
        }
    }
}

/// Changes, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct AuditList {
    pub(in crate::http) data: Vec<AuditEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::http) next_cursor: Option<String>,
}
