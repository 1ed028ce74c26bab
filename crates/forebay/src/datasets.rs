//! Master data in memory: tables by digest, read once and shared, within a bound.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use forebay_core::dataset::{Dataset, Table};
use forebay_core::digest::Digest;
use forebay_core::extract::Policy;
use forebay_store::blob::Blobs;
use forebay_store::{Store, StoreError};
use tracing::error;

/// Bytes of tables that are kept, more or less. The one that was used last is kept in any case.
const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// Reads tables, and keeps those that were used last.
pub struct Tables {
    blobs: Arc<dyn Blobs>,
    kept: Mutex<Kept>,
    /// Held while a table is read: many jobs that ask for the same one read it once, and memory holds one at a
    /// time that is not in the bound.
    reading: tokio::sync::Mutex<()>,
}

impl Tables {
    /// Tables whose contents are here.
    pub fn new(blobs: Arc<dyn Blobs>) -> Self {
        Self { blobs, kept: Mutex::new(Kept::within(KEPT_BYTES)), reading: tokio::sync::Mutex::default() }
    }

    /// The latest version of a tenant's dataset, if there is one.
    ///
    /// # Errors
    ///
    /// When the store or the content of the version can't be read.
    pub async fn latest(
        &self,
        store: &dyn Store,
        tenant: i64,
        name: &str,
    ) -> Result<Option<Dataset>, StoreError> {
        let Some(record) = store.dataset(tenant, name, None).await? else { return Ok(None) };
        let table = self.table(record.digest).await?;
        Ok(Some(Dataset { name: record.name, version: record.version, table }))
    }

    /// The datasets that a policy names, as they are now, and the names of those that are there and can't be read: that
    /// is a finding, and a person's to decide.
    pub async fn of_policy(
        &self,
        store: &dyn Store,
        tenant: i64,
        policy: &Policy,
    ) -> (Vec<Dataset>, Vec<String>) {
        let (mut datasets, mut unreadable) = (Vec::new(), Vec::new());
        for name in policy.datasets() {
            match self.latest(store, tenant, name).await {
                Ok(dataset) => datasets.extend(dataset),
                Err(failure) => {
                    error!(%failure, dataset = name, "a dataset can't be read");
                    unreadable.push(name.to_owned());
                }
            }
        }
        (datasets, unreadable)
    }

    async fn table(&self, digest: Digest) -> Result<Arc<Table>, StoreError> {
        if let Some(table) = self.kept().get(digest) {
            return Ok(table);
        }
        let _alone = self.reading.lock().await;
        if let Some(table) = self.kept().get(digest) {
            return Ok(table);
        }
        let bytes = self.blobs.get(digest).await?;
        let bytes = bytes.ok_or_else(|| StoreError::Corrupt(format!("the dataset {digest} is gone")))?;
        let table = off_the_workers(move || Table::from_csv(&bytes)).await?;
        let table =
            Arc::new(table.map_err(|faults| StoreError::Corrupt(format!("the dataset {digest}: {faults}")))?);
        self.kept().put(digest, Arc::clone(&table));
        Ok(table)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads or searches tables away from the threads that serve everybody.
///
/// # Errors
///
/// When the process is stopping, or the work panicked.
pub async fn off_the_workers<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| StoreError::Unavailable(format!("a table could not be read: {error}")))
}

/// Tables, and when each was used last.
struct Kept {
    tables: HashMap<Digest, (Arc<Table>, u64)>,
    most_bytes: usize,
    uses: u64,
}

impl Kept {
    fn within(most_bytes: usize) -> Self {
        Self { tables: HashMap::new(), most_bytes, uses: 0 }
    }

    fn get(&mut self, digest: Digest) -> Option<Arc<Table>> {
        self.uses += 1;
        let (table, last) = self.tables.get_mut(&digest)?;
        *last = self.uses;
        Some(Arc::clone(table))
    }

    /// Keeps a table, and forgets those that were not used for longest where they are too many.
    fn put(&mut self, digest: Digest, table: Arc<Table>) {
        self.uses += 1;
        self.tables.insert(digest, (table, self.uses));
        while self.tables.len() > 1 && self.bytes() > self.most_bytes {
            let oldest = self.tables.iter().min_by_key(|(_, (_, last))| *last).map(|(digest, _)| *digest);
            oldest.and_then(|oldest| self.tables.remove(&oldest));
        }
    }

    fn bytes(&self) -> usize {
        self.tables.values().map(|(table, _)| table.memory()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> (Digest, Arc<Table>) {
        let table = Table::from_csv(format!("name\n{name}\n").as_bytes()).unwrap();
        (table.digest(), Arc::new(table))
    }

    #[test]
    fn what_was_used_last_stays() {
        let [(a, first), (b, second), (c, third)] = ["a", "b", "c"].map(table);
        let mut kept = Kept::within(2 * first.memory());
        kept.put(a, first);
        kept.put(b, second);
        assert!(kept.get(a).is_some());
        kept.put(c, third);
        assert!(kept.get(a).is_some() && kept.get(c).is_some() && kept.get(b).is_none());
        let (large, huge) = table(&"x".repeat(4_000));
        kept.put(large, huge);
        assert_eq!((kept.tables.len(), kept.get(large).is_some()), (1, true), "one is kept in any case");
    }

    #[tokio::test]
    async fn a_table_is_read_once_and_a_lost_one_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Arc::new(forebay_store::blob::FsBlobs::open(folder.path().to_owned()).unwrap());
        let tables = Tables::new(Arc::clone(&blobs) as Arc<dyn Blobs>);
        let (digest, sent) = table("Acme");
        assert!(matches!(tables.table(digest).await, Err(StoreError::Corrupt(_))));
        blobs.put(sent.to_csv()).await.unwrap();
        let read = tables.table(digest).await.unwrap();
        assert_eq!(read, sent);
        assert!(Arc::ptr_eq(&read, &tables.table(digest).await.unwrap()));
    }
}
