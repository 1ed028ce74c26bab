//! Master data by tenant, name and version.

use async_trait::async_trait;
use serde_json::{Value, json};

use super::columns::{Columns, int, limit};
use super::transaction::Tx;
use super::values::params;
use super::{Backend, Ledger, Needs, audit, sql};
use crate::record::{AuditAction, DatasetPut, DatasetRecord, NewDataset};
use crate::{Datasets, StoreError};

#[async_trait]
impl<B: Backend> Datasets for Ledger<B> {
    async fn put_dataset(&self, dataset: NewDataset) -> Result<DatasetPut, StoreError> {
        self.write("put_dataset", Needs::nothing(), move |tx| put(tx, &dataset)).await
    }

    async fn dataset(
        &self,
        tenant: i64,
        name: &str,
        version: Option<u32>,
    ) -> Result<Option<DatasetRecord>, StoreError> {
        let name = name.to_owned();
        self.read(move |tx| find(tx, tenant, &name, version)).await
    }

    async fn dataset_versions(
        &self,
        tenant: i64,
        name: &str,
        most: usize,
    ) -> Result<Vec<DatasetRecord>, StoreError> {
        let name = name.to_owned();
        self.read(move |tx| tx.rows(sql!("datasets/versions"), (tenant, &name, limit(most)), record)).await
    }

    async fn datasets(&self, tenant: i64) -> Result<Vec<DatasetRecord>, StoreError> {
        self.read(move |tx| tx.rows(sql!("datasets/latest"), [tenant], record)).await
    }
}

fn put(tx: &Tx<'_>, dataset: &NewDataset) -> Result<DatasetPut, StoreError> {
    // One at a time for a tenant.
    tx.row(sql!("tenants/lock"), [dataset.tenant], |_| Ok(()))?;
    let latest = find(tx, dataset.tenant, &dataset.name, None)?;
    let version = latest.as_ref().map_or(0, |latest| latest.version);
    if dataset.expected.is_some_and(|expected| expected != version) {
        return Ok(DatasetPut::Moved(latest));
    }
    let latest = match latest {
        Some(latest) if latest.digest == dataset.digest => return Ok(DatasetPut::Same(latest)),
        Some(latest) => Some(latest),
        None if count(tx, dataset.tenant)? >= dataset.most => return Ok(DatasetPut::TooMany),
        None => None,
    };
    tx.execute(
        sql!("datasets/insert"),
        params! {
            ":tenant": dataset.tenant,
            ":name": dataset.name,
            ":version": version + 1,
            ":digest": dataset.digest.as_bytes(),
            ":columns": json!(dataset.columns).to_string(),
            ":rows": int(dataset.rows),
            ":bytes": int(dataset.bytes),
            ":created_at": tx.now.as_millis(),
            ":created_by": dataset.by.key.as_ref().map(|key| key.as_bytes()),
        },
    )?;
    let record = find(tx, dataset.tenant, &dataset.name, None)?
        .ok_or_else(|| StoreError::Corrupt("the dataset just written is not there".to_owned()))?;
    let entry = audit::Entry {
        tenant: Some(dataset.tenant),
        by: &dataset.by,
        action: AuditAction::DatasetPut,
        subject: dataset.name.clone(),
        before: latest.as_ref().map(shown),
        after: Some(shown(&record)),
    };
    audit::append(tx, &entry)?;
    Ok(DatasetPut::New(record))
}

fn find(
    tx: &Tx<'_>,
    tenant: i64,
    name: &str,
    version: Option<u32>,
) -> Result<Option<DatasetRecord>, StoreError> {
    tx.row(sql!("datasets/find"), (tenant, name, version), record)
}

fn count(tx: &Tx<'_>, tenant: i64) -> Result<u64, StoreError> {
    let count = tx.row(sql!("datasets/count"), [tenant], |c| c.count())?;
    Ok(count.unwrap_or_default())
}

/// A version as the audit shows it: its content is kept under its digest.
fn shown(record: &DatasetRecord) -> Value {
    json!({ "version": record.version, "digest": record.digest, "rows": record.rows })
}

fn record(c: &mut Columns<'_>) -> Result<DatasetRecord, StoreError> {
    Ok(DatasetRecord {
        name: c.get()?,
        version: c.count()?,
        digest: c.digest()?,
        columns: c.json()?,
        rows: c.count()?,
        bytes: c.count()?,
        created_at: c.time()?,
        created_by: c.maybe_id()?,
    })
}
