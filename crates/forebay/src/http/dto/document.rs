use forebay_core::digest::DocumentId;
use forebay_core::time::Timestamp;
use forebay_store::record::DocumentRecord;
use serde::Serialize;
use utoipa::ToSchema;

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
