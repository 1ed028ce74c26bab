use forebay_core::digest::Digest;
use forebay_core::id::KeyId;
use forebay_core::time::Timestamp;
use forebay_store::record::DatasetRecord;
use serde::Serialize;
use utoipa::ToSchema;

/// A version of a dataset.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Dataset {
    #[schema(example = "suppliers")]
    name: String,
    /// Rises with each content that is not that of the version before.
    version: u32,
    /// SHA-256 of the content in its normal form, which is what `/content` gives.
    #[schema(value_type = String)]
    digest: Digest,
    /// The names of the columns.
    columns: Vec<String>,
    rows: u64,
    /// Of the content in its normal form.
    bytes: u64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// The key that it was sent with.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    created_by: Option<KeyId>,
}

impl From<DatasetRecord> for Dataset {
    fn from(record: DatasetRecord) -> Self {
        Self {
            name: record.name,
            version: record.version,
            digest: record.digest,
            columns: record.columns,
            rows: record.rows,
            bytes: record.bytes,
            created_at: record.created_at,
            created_by: record.created_by,
        }
    }
}

/// The latest version of each dataset, by name.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct DatasetList {
    pub(in crate::http) data: Vec<Dataset>,
}

/// A dataset: its latest version, and those before.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct DatasetHistory {
    #[serde(flatten)]
    pub(in crate::http) latest: Dataset,
    /// Newest first, the latest included; at most 200.
    pub(in crate::http) versions: Vec<Dataset>,
}
