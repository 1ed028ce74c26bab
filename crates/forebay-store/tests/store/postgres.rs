//! PostgreSQL: put through every case, each with a database of its own on a real server.

mod database;

use std::sync::Arc;

use async_trait::async_trait;
use forebay_store::postgres::{PostgresStore, Settings};
use forebay_store::{ManualClock, Store, StoreError};

use crate::bundle::Backend;
use crate::conformance::cases;
use crate::sqlite::audit::FAULTS;
use database::Database;

#[async_trait]
impl Backend for Database {
    async fn open(&self, clock: Arc<ManualClock>) -> Result<Arc<dyn Store>, StoreError> {
        let settings = Settings { clock: Some(clock), ..Settings::of(self.target()) };
        Ok(Arc::new(PostgresStore::open(settings).await?))
    }

    async fn audit(&self) -> Vec<String> {
        self.faults(FAULTS)
    }
}

mod conformance {
    use super::*;

    cases!(Database::new());
}
