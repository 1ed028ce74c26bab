use forebay_core::digest::DocumentId;
use forebay_core::id::{JobId, KeyId};
use forebay_core::time::Timestamp;
use forebay_store::record::{DocumentRecord, ReviewRecord};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A decision that a person owes or has made.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Review {
    #[schema(value_type = String)]
    job_id: JobId,
    generation: u32,
    #[schema(value_type = String, format = DateTime)]
    opened_at: Timestamp,
    /// When it should be decided.
    #[schema(value_type = String, format = DateTime)]
    due_at: Timestamp,
    /// What is doubtful, with pointers into the output and spans of the document.
    #[schema(value_type = Vec<Object>)]
    findings: Value,
    /// The output in doubt, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    /// Where the output comes from.
    #[schema(value_type = Object)]
    provenance: Value,
    /// The document that the job reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    document_id: Option<DocumentId>,
    /// The document's text, where it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    document_text: Option<String>,
    /// The version that a decision has to name.
    #[serde(skip_serializing_if = "Option::is_none")]
    state_version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    decided_at: Option<Timestamp>,
    /// `approve`, `correct`, `reject`, `rerun` or `cancelled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    decided_by: Option<KeyId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
}

impl From<ReviewRecord> for Review {
    fn from(record: ReviewRecord) -> Self {
        let read = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or(Value::Null);
        Self {
            job_id: record.job_id,
            generation: record.generation,
            opened_at: record.opened_at,
            due_at: record.due_at,
            findings: read(&record.findings),
            output: record.output.as_deref().map(read),
            provenance: read(&record.provenance),
            document_id: None,
            document_text: None,
            state_version: None,
            decided_at: record.decided_at,
            decision: record.decision,
            decided_by: record.decided_by,
            comment: record.comment,
        }
    }
}

impl Review {
    /// Adds what a person needs to decide.
    pub(in crate::http) fn with_job(mut self, state_version: u64, document: Option<DocumentId>) -> Self {
        self.state_version = Some(state_version);
        self.document_id = document;
        self
    }

    /// Adds the text that the output was read from.
    pub(in crate::http) fn with_text(mut self, text: Option<String>) -> Self {
        self.document_text = text;
        self
    }
}

/// Open reviews, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct ReviewList {
    pub(in crate::http) data: Vec<Review>,
}

/// A document of the tenant.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Document {
    /// `doc_` and the SHA-256 digest of the bytes.
    #[schema(value_type = String)]
    pub(in crate::http) document_id: DocumentId,
    bytes: u64,
    media_type: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl From<DocumentRecord> for Document {
    fn from(record: DocumentRecord) -> Self {
        Self {
            document_id: DocumentId(record.digest),
            bytes: record.bytes,
            media_type: record.media_type,
            created_at: record.created_at,
        }
    }
}

/// How many findings a stored list has.
pub(in crate::http) fn findings(stored: &[u8]) -> usize {
    serde_json::from_slice::<Vec<Value>>(stored).map_or(0, |findings| findings.len())
}
