//! Who may use the store, and what was done to it by whom.

use async_trait::async_trait;
use forebay_core::digest::Digest;
use forebay_core::id::KeyId;

use crate::StoreError;
use crate::record::{Actor, AuditPage, AuditQuery, KeyRecord, NewKey, TenantRecord, TenantSettings};

/// Tenants and their keys.
#[async_trait]
pub trait Access: Send + Sync {
    /// Makes a tenant or changes its settings.
    async fn put_tenant(
        &self,
        name: String,
        settings: TenantSettings,
        by: Actor,
    ) -> Result<TenantRecord, StoreError>;

    /// The tenant of that name.
    async fn tenant(&self, name: &str) -> Result<Option<TenantRecord>, StoreError>;

    /// All tenants by name.
    async fn tenants(&self) -> Result<Vec<TenantRecord>, StoreError>;

    /// Keeps a key's digest.
    async fn add_key(&self, key: NewKey, by: Actor) -> Result<KeyRecord, StoreError>;

    /// Keeps the digest of the first key with the scope `admin` that a tenant gets. `None` when it has had one, whoever
    /// was faster.
    async fn add_first_key(&self, key: NewKey, by: Actor) -> Result<Option<KeyRecord>, StoreError>;

    /// The key with that digest, whatever its state.
    async fn key_by_digest(&self, digest: Digest) -> Result<Option<KeyRecord>, StoreError>;

    /// A tenant's keys, newest first, revoked ones included.
    async fn keys(&self, tenant: i64) -> Result<Vec<KeyRecord>, StoreError>;

    /// Changes how many calls the jobs of a key may have at the same time. `None` when the tenant has no such key.
    async fn limit_key(
        &self,
        tenant: i64,
        key: KeyId,
        max_in_flight: Option<u64>,
        by: Actor,
    ) -> Result<Option<KeyRecord>, StoreError>;

    /// Revokes a key. `None` when the tenant has no such key.
    async fn revoke_key(&self, tenant: i64, key: KeyId, by: Actor) -> Result<Option<KeyRecord>, StoreError>;
}

/// Who changed what, and when. The verbs that change something for somebody write the record in their own
/// transaction; records are only ever added.
#[async_trait]
pub trait Audit: Send + Sync {
    /// A page of audit records, newest first.
    async fn audit(&self, query: AuditQuery) -> Result<AuditPage, StoreError>;
}
