//! Documents by tenant and digest.

use async_trait::async_trait;
use forebay_core::digest::Digest;

use super::columns::{Columns, int};
use super::transaction::Tx;
use super::{Backend, Ledger, Needs, sql};
use crate::record::{DocumentRecord, NewDocument};
use crate::{Documents, StoreError};

#[async_trait]
impl<B: Backend> Documents for Ledger<B> {
    async fn add_document(&self, document: NewDocument) -> Result<(DocumentRecord, bool), StoreError> {
        self.write("add_document", Needs::nothing(), move |tx| add(tx, &document)).await
    }

    async fn document(&self, tenant: i64, digest: Digest) -> Result<Option<DocumentRecord>, StoreError> {
        self.read(move |tx| find(tx, tenant, digest)).await
    }
}

fn add(tx: &Tx<'_>, document: &NewDocument) -> Result<(DocumentRecord, bool), StoreError> {
    let row = (
        document.tenant,
        document.digest.as_bytes(),
        int(document.bytes),
        &document.media_type,
        tx.now.as_millis(),
    );
    let added = tx.execute(sql!("documents/insert"), row)? == 1;
    let again = (document.tenant, document.digest.as_bytes(), tx.now.as_millis());
    if !added && tx.execute(sql!("documents/use"), again)? == 0 {
        // Retention has deleted it in between.
        return add(tx, document);
    }
    let record = find(tx, document.tenant, document.digest)?;
    let record =
        record.ok_or_else(|| StoreError::Corrupt("the document just written is not there".to_owned()))?;
    Ok((record, added))
}

fn find(tx: &Tx<'_>, tenant: i64, digest: Digest) -> Result<Option<DocumentRecord>, StoreError> {
    tx.row(sql!("documents/find"), (tenant, digest.as_bytes()), record)
}

fn record(c: &mut Columns<'_>) -> Result<DocumentRecord, StoreError> {
    Ok(DocumentRecord { digest: c.digest()?, bytes: c.count()?, media_type: c.get()?, created_at: c.time()? })
}
