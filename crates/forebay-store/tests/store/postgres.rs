//! PostgreSQL: put through every case, each with a database of its own on a real server; and again through PgBouncer,
//! which gives each transaction another connection.

mod database;
mod ended;
mod health;
mod leaders;
mod limits;
mod link;
mod order;
mod processes;
mod races;
mod rates;
mod snapshot;
mod together;
mod upgrades;
mod waits;

use std::sync::Arc;

use async_trait::async_trait;
use forebay_store::postgres::{PostgresStore, Settings, Target};
use forebay_store::{ManualClock, Store, StoreError};

use crate::bundle::Backend;
use crate::conformance::cases;
use crate::sqlite::audit::FAULTS;
use database::{Database, Pooled};

async fn opened(target: Target, clock: Arc<ManualClock>) -> Result<Arc<dyn Store>, StoreError> {
    let settings = Settings { clock: Some(clock), ..Settings::of(target) };
    Ok(Arc::new(PostgresStore::open(settings).await?))
}

#[async_trait]
impl Backend for Database {
    async fn open(&self, clock: Arc<ManualClock>) -> Result<Arc<dyn Store>, StoreError> {
        opened(self.target(), clock).await
    }

    async fn audit(&self) -> Vec<String> {
        self.faults(FAULTS)
    }

    async fn run_beside(&self, statement: &str) {
        Database::run(self, statement);
    }
}

#[async_trait]
impl Backend for Pooled {
    async fn open(&self, clock: Arc<ManualClock>) -> Result<Arc<dyn Store>, StoreError> {
        opened(self.target(), clock).await
    }

    async fn audit(&self) -> Vec<String> {
        self.database.audit().await
    }

    async fn run_beside(&self, statement: &str) {
        self.database.as_ref().run(statement);
    }
}

/// A database that a test looks into beside its store.
#[async_trait]
impl Backend for Arc<Database> {
    async fn open(&self, clock: Arc<ManualClock>) -> Result<Arc<dyn Store>, StoreError> {
        opened(self.target(), clock).await
    }

    async fn audit(&self) -> Vec<String> {
        self.faults(FAULTS)
    }

    async fn run_beside(&self, statement: &str) {
        Database::run(self, statement);
    }
}

mod conformance {
    use super::*;

    cases!(Database::new());
}

mod pooled {
    use super::*;

    cases!(Pooled::new());
}
